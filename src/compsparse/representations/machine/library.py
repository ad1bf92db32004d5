"""Small machines that decide well-known sets of strings."""

from __future__ import annotations

from compsparse.representations.machine.turing import ACCEPT, BLANK, TuringMachine


def parity_machine() -> TuringMachine:
    """Accepts strings with an odd number of ones, in one pass.

    >>> parity_machine().run([[1, 0, 1, 1]], time_bound=5).accepts.tolist()
    [True]
    """
    return TuringMachine(
        {
            ("even", "0"): ("even", "0", 1),
            ("even", "1"): ("odd", "1", 1),
            ("odd", "0"): ("odd", "0", 1),
            ("odd", "1"): ("even", "1", 1),
            ("odd", BLANK): (ACCEPT, BLANK, 0),
        },
        "even",
    )


def palindrome_machine() -> TuringMachine:
    """Accepts strings that read the same backwards: takes the first bit away, compares the last, about n^2/2 steps.

    >>> palindrome_machine().run([[0, 1, 0], [0, 1, 1]], time_bound=20).accepts.tolist()
    [True, False]
    """
    rules = {
        ("take", BLANK): (ACCEPT, BLANK, 0),
        ("back", "0"): ("back", "0", -1),
        ("back", "1"): ("back", "1", -1),
        ("back", BLANK): ("take", BLANK, 1),
    }
    for bit in "01":
        rules |= {
            ("take", bit): (f"carry {bit}", BLANK, 1),
            (f"carry {bit}", "0"): (f"carry {bit}", "0", 1),
            (f"carry {bit}", "1"): (f"carry {bit}", "1", 1),
            (f"carry {bit}", BLANK): (f"compare {bit}", BLANK, -1),
            (f"compare {bit}", bit): ("back", BLANK, -1),
            (f"compare {bit}", BLANK): (ACCEPT, BLANK, 0),
        }
    return TuringMachine(rules, "take")


def balance_machine() -> TuringMachine:
    """Accepts strings with as many zeros as ones: crosses off one of each, and goes back; where it walks depends on
    what it reads.

    >>> balance_machine().run([[0, 1, 1, 0], [0, 1, 1, 1]], time_bound=40).accepts.tolist()
    [True, False]
    """
    rules = {
        ("seek", "x"): ("seek", "x", 1),
        ("seek", BLANK): (ACCEPT, BLANK, 0),
        ("back", "0"): ("back", "0", -1),
        ("back", "1"): ("back", "1", -1),
        ("back", "x"): ("back", "x", -1),
        ("back", BLANK): ("seek", BLANK, 1),
    }
    for bit, other in ("01", "10"):
        rules |= {
            ("seek", bit): (f"want {other}", "x", 1),
            (f"want {other}", bit): (f"want {other}", bit, 1),
            (f"want {other}", "x"): (f"want {other}", "x", 1),
            (f"want {other}", other): ("back", "x", -1),
        }
    return TuringMachine(rules, "seek")

"""Counting: there are more Boolean functions than small circuits, so most functions have none (Shannon 1949)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import count, islice

from compsparse.certificate import Certificate, Rigour
from compsparse.checks import MOST_VARIABLES, check_count, check_number

_GATES = 10
"""Functions of two arguments that depend on both."""
_MOST_GATES = 100_000


def circuits_log2(n_inputs: int, n_gates: int) -> float:
    """Base-2 logarithm of a bound on the functions of n bits that at most so many gates of two arguments compute.

    A gate reads two of the inputs and of the gates before it; constants, inputs and complements need none.
    """
    n = check_count("n_inputs", n_inputs, most=MOST_VARIABLES)
    s = check_count("n_gates", n_gates, least=0, most=_MOST_GATES)
    return next(islice(_totals(n), s, None))


def least_gates(n_inputs: int, share: float = 0.5) -> Certificate:
    """Gates of two arguments that at least this share of all functions of n bits need.

    The bound grows as 2^n/(2 n): without structure there is no small circuit, whatever its shape.

    >>> least_gates(10).lower, least_gates(20).lower
    (79.0, 35344.0)
    """
    n = check_count("n_inputs", n_inputs, most=24)
    share = check_number("share", share, above=0, below=1)
    wanted = 2.0**n + math.log2(1 - share)  # with fewer circuits than these, the share has none of them
    s = next(s for s, total in enumerate(_totals(n)) if total >= wanted)
    return Certificate(
        f"gates that {share:.0%} of all functions of {n} bits need",
        float(s),
        float(s),
        math.inf,
        Rigour.PROVED,
        (),
        "there are fewer circuits of fewer gates than such functions",
    )


def _totals(n: int) -> Iterator[float]:
    """For 0, 1, 2, … gates: the logarithm of the number of circuits of at most so many."""
    total, exactly = math.log2(2 * n + 2), 0.0
    for s in count():
        yield total
        exactly += math.log2(_GATES * max(1, math.comb(n + s, 2)))
        high, low = max(total, exactly), min(total, exactly)
        total = high + math.log2(1 + 2.0 ** max(low - high, -1000))

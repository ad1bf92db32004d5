"""Turing machines: simulation against a loop, unrolled graphs and networks against simulation."""

from xml.etree import ElementTree

import numpy as np
import pytest
import torch

from compsparse.construct import compile_circuit
from compsparse.errors import ConfigError, DataError
from compsparse.representations.boolean.reading import all_rows
from compsparse.representations.machine import (
    TuringMachine,
    balance_machine,
    draw_tableau,
    palindrome_machine,
    parity_machine,
    unroll,
)

MACHINES = {
    "parity": (parity_machine(), lambda x: sum(x) % 2 == 1, lambda n: n + 1),
    "palindrome": (palindrome_machine(), lambda x: list(x) == list(x)[::-1], lambda n: (n + 1) * (n + 2) // 2),
    "balance": (balance_machine(), lambda x: 2 * sum(x) == len(x), lambda n: (n + 1) ** 2),
}


def by_hand(machine, x, time):
    """One input after the other, the tape as a dict."""
    tape, state, head = dict(enumerate(map(str, x))), machine.start, 0
    for step in range(time):
        if state in ("accept", "reject"):
            return state == "accept", step
        state, tape[head], move = machine.rules.get((state, tape.get(head, " ")), ("reject", " ", 0))
        head += move
    return state == "accept", time


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("n", [1, 2, 3, 6, 7])
def test_simulation_decides_what_the_machine_is_for(name, n):
    machine, truth, time = MACHINES[name]
    X = all_rows(n)
    run = machine.run(X, time(n))
    assert run.halts.all()
    assert run.accepts.tolist() == [truth(x) for x in X.tolist()]
    assert list(zip(run.accepts, run.halted_after, strict=True)) == [by_hand(machine, x, time(n)) for x in X.tolist()]


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("n", [1, 2, 3, 5, 8])
def test_simulation_graph_and_network_agree_on_every_input(name, n):
    machine, _, time = MACHINES[name]
    unrolled, X = unroll(machine, n, time(n)), all_rows(n)
    expected = machine.run(X, time(n)).accepts
    assert unrolled.graph.max_arity <= 3
    assert np.array_equal(unrolled(X), expected)
    network = compile_circuit(unrolled.graph, torch.float32)
    assert np.array_equal(network(torch.tensor(X, dtype=torch.float32)).numpy()[:, 0], expected)
    # one ReLU a gate of two arguments, at most four for one of three
    assert network.size.units <= sum(4 if node.arity == 3 else 1 for node in unrolled.graph.nodes)


def random_machine(rng):
    """Rules at random over three states and up to five symbols; some are missing."""
    symbols, states = ["0", "1", " ", "x", "y"][: rng.integers(3, 6)], ["p", "q", "r"]
    targets = [*states, "accept", "reject"]
    rules = {
        (q, s): (targets[rng.integers(5)], symbols[rng.integers(len(symbols))], int(rng.integers(-1, 2)))
        for q in states
        for s in symbols
        if rng.random() < 0.9
    }
    starts = {q for q, _ in rules}
    return TuringMachine({k: r if r[0] in starts else ("reject", r[1], r[2]) for k, r in rules.items()}, min(starts))


@pytest.mark.parametrize("seed", range(60))
def test_random_machines_that_need_not_halt(seed):
    rng = np.random.default_rng(seed)
    machine, n, time = random_machine(rng), int(rng.integers(1, 5)), int(rng.integers(1, 15))
    unrolled, run = unroll(machine, n, time), machine.run(all_rows(n), time)
    assert np.array_equal(unrolled(all_rows(n)), run.accepts)
    assert run.halts.all() or not unrolled.always_halts
    assert unrolled.graph.max_arity <= 3


def palindromes(n_rows, n, rng):
    """A third palindromes, a third that miss by one bit, a third random."""
    X = rng.integers(0, 2, (n_rows, n)).astype(np.uint8)
    X[: 2 * n_rows // 3, n - n // 2 :] = X[: 2 * n_rows // 3, : n // 2][:, ::-1]
    X[np.arange(n_rows // 3), rng.integers(0, n, n_rows // 3)] ^= 1
    return X


@pytest.mark.parametrize("name", ["parity", "palindrome"])
def test_64_bits_on_ten_thousand_inputs(name):
    machine, _, time = MACHINES[name]
    unrolled = unroll(machine, 64)  # the time is found from the rules
    assert unrolled.always_halts
    assert unrolled.time_bound == time(64)
    X = palindromes(10_000, 64, np.random.default_rng(0))
    expected = machine.run(X, unrolled.time_bound).accepts
    assert 0.2 < expected.mean() < 0.8
    assert np.array_equal(unrolled(X), expected)
    network = compile_circuit(unrolled.graph)
    assert np.array_equal(network(torch.tensor(X, dtype=torch.float64)).numpy()[:, 0], expected)


def test_what_is_certain_needs_no_gate():
    assert [unroll(parity_machine(), n).n_gates for n in (2, 9, 40)] == [1, 8, 39]
    sizes = [unroll(palindrome_machine(), n).n_gates for n in (8, 16, 32)]
    assert sizes[2] - sizes[1] == 2 * (sizes[1] - sizes[0])  # linear in n though the time is quadratic
    walks = unroll(balance_machine(), 6, 49)
    assert walks.n_places < walks.n_tableau
    assert walks.n_gates < 10 * walks.n_tableau


def test_a_trace_is_the_tableau():
    trace = parity_machine().trace([1, 0, 1], time_bound=10)
    assert trace.states == ("even", "odd", "odd", "even", "reject")
    assert trace.head.tolist() == [0, 1, 2, 3, 3]
    assert ["".join(row) for row in trace.tape] == ["101 "] * 5
    back = palindrome_machine().trace([1, 1], time_bound=10)
    assert back.states[-1] == "accept"


def test_a_tableau_is_drawn_with_every_head_and_state():
    trace = palindrome_machine().trace([1, 0, 1], time_bound=20)
    drawing = ElementTree.fromstring(draw_tableau(trace))
    boxes = [e.get("class") for e in drawing.iter("{http://www.w3.org/2000/svg}rect")]
    assert boxes.count("head") == len(trace.states) == 11
    assert sum(c.startswith("cell") for c in boxes) == trace.tape.size
    texts = [e.text for e in drawing.iter("{http://www.w3.org/2000/svg}text")]
    assert texts.count("accept") == 1
    assert "… 9 more steps" in draw_tableau(trace, most_rows=2)


@pytest.mark.parametrize(
    ("rules", "start", "sentence"),
    [
        ({("a", "0"): ("b", "0", 1)}, "a", "leads to 'b'"),
        ({("a", "0"): ("a", "0", 2)}, "a", "move of -1, 0 or 1"),
        ({("a", "00"): ("a", "0", 1)}, "a", "symbols of one character"),
        ({("a", "0"): ("a", "0", 1)}, "b", "no rule starts in the state 'b'"),
        ({("accept", "0"): ("a", "0", 1)}, "a", "has halted"),
        ([], "a", "must be a mapping"),
    ],
)
def test_machines_that_make_no_sense(rules, start, sentence):
    with pytest.raises(ConfigError, match=sentence):
        TuringMachine(rules, start)


def test_bad_questions():
    forever = TuringMachine({("a", s): ("a", s, 1) for s in "01 "}, "a")
    assert not forever.run([[0, 1]], 5).halts.any()
    assert not unroll(forever, 2, 5).always_halts
    with pytest.raises(ConfigError, match="give time_bound="):
        unroll(forever, 2)
    with pytest.raises(ConfigError, match="must be a TuringMachine"):
        unroll("parity", 3)
    with pytest.raises(DataError, match="0 and 1 alone"):
        parity_machine().run([[0, 2]], 3)
    with pytest.raises(ConfigError, match="one input"):
        parity_machine().trace([[0], [1]], 3)

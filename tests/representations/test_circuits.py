"""Circuits: folded gates, packed evaluation against the graph's own, and what is no circuit."""

import numpy as np
import pytest

from compsparse.errors import ConfigError, GraphError
from compsparse.graph import Constituent, FunctionGraph, Node
from compsparse.representations.boolean import CircuitBuilder, boolean_program, circuit_of, evaluate_bits
from compsparse.representations.boolean.gates import constituent
from compsparse.representations.boolean.reading import all_rows


def values(graph):
    """Outputs over all inputs by the graph's own evaluation, (rows, outputs)."""
    found = graph(all_rows(graph.n_inputs))
    return found[:, None] if found.ndim == 1 else found


def random_circuit(rng, n_inputs, n_gates, n_outputs):
    b = CircuitBuilder([f"x{i}" for i in range(n_inputs)])
    wires, rows = [0, 1, *(b[name] for name in b.inputs)], all_rows(n_inputs).astype(bool)
    truth = {0: np.zeros(1 << n_inputs, bool), 1: np.ones(1 << n_inputs, bool)}
    truth |= {b[f"x{i}"]: rows[:, i] for i in range(n_inputs)}
    for _ in range(n_gates):
        arity = int(rng.integers(1, 4))
        chosen = [int(w) ^ int(rng.integers(2)) for w in rng.choice(wires, arity)]
        table = rng.integers(0, 2, 1 << arity)
        columns = [truth.get(w, ~truth[w ^ 1] if w ^ 1 in truth else None) for w in chosen]
        wire = b.gate(table.tolist(), *chosen)
        truth[wire] = table[sum(c.astype(int) << (arity - 1 - i) for i, c in enumerate(columns))].astype(bool)
        wires.append(wire)
    ends = {f"y{k}": wires[int(rng.integers(len(wires)))] ^ int(rng.integers(2)) for k in range(n_outputs)}
    expected = np.stack([truth.get(w, ~truth[w ^ 1] if w ^ 1 in truth else None) for w in ends.values()], axis=1)
    return b.build(ends), expected


@pytest.mark.parametrize("seed", range(40))
def test_random_circuits_compute_what_their_gates_say(seed):
    rng = np.random.default_rng(seed)
    graph, expected = random_circuit(rng, int(rng.integers(1, 7)), int(rng.integers(0, 30)), int(rng.integers(1, 4)))
    assert graph.max_arity <= 3
    assert np.array_equal(values(graph), expected)
    assert np.array_equal(evaluate_bits(graph, all_rows(graph.n_inputs)), expected)


def test_constants_copies_and_complements_cost_no_gate():
    b = CircuitBuilder(["a", "b"])
    a, c = b["a"], b["b"]
    assert b.all_of(a, 1) == a
    assert b.all_of(a, b.negation(a)) == 0
    assert b.any_of() == 0
    assert b.all_of() == 1
    assert b.parity_of(a, a) == 0
    assert b.choose(a, c, c) == c
    assert b.choose(1, a, c) == a
    assert b.n_gates == 0
    assert b.parity_of(a, c) == b.negation(b.parity_of(b.negation(c), a))
    assert b.any_of(a, c) == b.negation(b.all_of(b.negation(a), b.negation(c)))
    assert b.n_gates == 2


def test_outputs_may_be_inputs_constants_and_shared_complements():
    def wiring(b):
        both = b.all_of(b["a"], b["b"])
        return {
            "same": b["a"], "not": b["b"] ^ 1, "zero": 0, "one": 1, "and": both, "again": both, "nand": both ^ 1,
            "more": b.parity_of(both, b["c"]),
        }  # fmt: skip

    graph = circuit_of(["a", "b", "c"], wiring)
    a, b, c = all_rows(3).T
    expected = [a, 1 - b, 0 * a, 0 * a + 1, a & b, a & b, 1 - (a & b), (a & b) ^ c]
    assert np.array_equal(values(graph), np.stack(expected, axis=1))
    assert graph["not"].constituent.name == "not"


def test_gates_nobody_needs_are_left_out_and_names_do_not_clash():
    b = CircuitBuilder(["g0", "g1"])
    b.any_of(b["g0"], b["g1"])  # not needed
    left = b.all_of(b["g0"], b["g1"])
    graph = b.build({"y": b.parity_of(left, b["g0"])})
    assert graph.size == 1  # (a and b) xor a is a and not b
    assert graph.outputs == ("y",)
    clash = CircuitBuilder(["g0", "a", "b"])
    inner = clash.all_of(clash["g0"], clash["a"], clash["b"])
    assert {n.name for n in clash.build({"y": inner}).nodes} == {"g_0", "y"}


def test_packed_evaluation_of_wide_nodes_and_any_number_of_rows():
    rng = np.random.default_rng(0)
    gate = rng.integers(0, 2, (2,) * 9).astype(bool)
    names = [f"x{i}" for i in range(9)]
    graph = FunctionGraph(names, [Node("y", tuple(names), constituent(gate))])
    program = boolean_program(graph)
    for n in (0, 1, 63, 64, 65, 1000):
        X = rng.integers(0, 2, (n, 9))
        assert np.array_equal(program(X)[:, 0], gate[tuple(X.T)])
    many = rng.integers(0, 2, (40_000, 9)).astype(bool)
    assert np.array_equal(program(many)[:, 0], gate[tuple(many.T.astype(int))])


def test_slots_are_used_again():
    b = CircuitBuilder(["a", "b"])
    wire = b["a"]
    for i in range(500):
        wire = b.gate([0, 0, 1, 0] if i % 2 else [0, 1, 1, 0], wire, b["b"])
    chain = FunctionGraph(
        ["a", "b"], [Node(f"v{i}", ("b" if i == 0 else f"v{i - 1}", "a"), constituent(np.array([[0, 1], [1, 0]]) > 0))
                     for i in range(500)]
    )  # fmt: skip
    assert boolean_program(chain).n_slots <= 4
    assert np.array_equal(evaluate_bits(chain, all_rows(2)), values(chain))


def test_what_is_no_circuit_is_named():
    with pytest.raises(GraphError, match=r"node '\w+' is no Boolean function: it has the value 2"):
        evaluate_bits(FunctionGraph.from_expression("a + b"), [[0, 1]])
    with pytest.raises(GraphError, match="structure alone"):
        evaluate_bits(FunctionGraph(["a"], [Node("y", ("a",))]), [[0]])
    wide = Constituent.from_callable(lambda *x: x[0], 17)
    with pytest.raises(GraphError, match="17 parents"):
        evaluate_bits(FunctionGraph([f"x{i}" for i in range(17)], [Node("y", tuple(f"x{i}" for i in range(17)), wide)]),
                      np.zeros((1, 17)))  # fmt: skip


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (lambda b: b.gate([0, 1], b["a"], b["a"]), ConfigError, "a gate has 1 to 3"),
        (lambda b: b.gate(16, b["a"], b["a"]), ConfigError, "a gate has 1 to 3"),
        (lambda b: b.gate(3), ConfigError, "a gate has 1 to 3"),
        (lambda b: b.gate(3, 40), ConfigError, "a wire must be at most"),
        (lambda b: b["z"], GraphError, "no input 'z'"),
        (lambda b: b.build({"a": 0}), GraphError, "the name of an input"),
        (lambda b: b.build({}), GraphError, "at least one output"),
        (lambda b: CircuitBuilder([]), GraphError, "at least one input"),
    ],
)
def test_bad_circuits(call, error, sentence):
    with pytest.raises(error, match=sentence):
        call(CircuitBuilder(["a"]))

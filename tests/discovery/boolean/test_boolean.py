"""Boolean discovery against brute force over all subsets, closed forms, and the tables themselves."""

import math
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compsparse.discovery import Discovery, DiscoveryStatus
from compsparse.discovery.boolean import column_multiplicity, from_boolean_callable, from_truth_table, wires
from compsparse.errors import CompsparseError, ConfigError, DataError
from compsparse.graph import FunctionGraph
from compsparse.representations.boolean.decomposition import decompose


def rows(n):
    return np.array(list(product([0, 1], repeat=n)))


# ---- the slow reference: every subset of the inputs ----------------------------------------


def cofactor_labels(table, members):
    """The number of each assignment's cofactor, in order of first appearance."""
    x = rows(len(table).bit_length() - 1)
    seen = {}
    for assignment, value in zip(x, table, strict=True):
        seen.setdefault(tuple(assignment[list(members)]), []).append(int(value))
    numbers = {}
    return tuple(numbers.setdefault(tuple(seen[key]), len(numbers)) for key in sorted(seen))


def reference(table):
    """Strong modules of two or more inputs -> (kind or None for two children, function up to complement)."""
    n = len(table).bit_length() - 1
    active = [i for i in range(n) if len(set(cofactor_labels(table, [i]))) > 1]
    labels = {}
    for size in range(1, len(active) + 1):
        for members in combinations(active, size):
            found = cofactor_labels(table, members)
            if max(found) <= 1:
                labels[frozenset(members)] = found

    def overlap(a, b):
        return bool(a & b and a - b and b - a)

    strong = [a for a in labels if not any(overlap(a, b) for b in labels)]
    tree = {}
    for module in strong:
        if len(module) > 1:
            children = [c for c in strong if c < module and not any(c < d < module for d in strong)]
            regroups = any(m < module and not any(m <= c for c in children) for m in labels)
            kind = None if len(children) == 2 else "complete" if regroups else "prime"
            tree[module] = kind, labels[module]
    return tree


def found_tree(table):
    cube = np.asarray(table, dtype=bool)
    root, _ = decompose(cube.reshape((2,) * (len(cube).bit_length() - 1)))
    tree, waiting = {}, [root]
    while waiting:
        module = waiting.pop()
        waiting += module.children
        if module.children:
            tree[frozenset(module.members)] = module.kind if len(module.children) > 2 else None
    return tree


def structure(reference_tree):
    return {members: kind for members, (kind, _) in reference_tree.items()}


def random_gates(rng, n, n_outputs=1):
    """Outputs of a random circuit of gates with two or three arguments; no output is constant."""
    while True:
        values = list(rows(n).T)
        free = list(range(n))
        outputs = []
        while len(outputs) < n_outputs:
            arity = int(rng.integers(2, 4))
            taken = [free.pop(int(rng.integers(len(free)))) for _ in range(min(arity, len(free)))]
            gate = rng.integers(0, 2, 1 << len(taken))
            index = sum(values[i] << k for k, i in enumerate(taken))
            values.append(gate[index])
            free.append(len(values) - 1)
            if len(free) == 1:
                outputs.append(values[-1])
                reused = rng.permutation(np.arange(n, len(values) - 1))[: rng.integers(0, 3)]
                used = {int(i) for i in reused}
                free = sorted({*used, *rng.permutation(n)[: rng.integers(2, n + 1)].tolist()})
        if all(0 < o.sum() < len(o) for o in outputs):
            return np.stack(outputs, axis=1)


def test_equals_brute_force_on_all_functions_of_three_inputs():
    for values in product([0, 1], repeat=8):
        if 0 < sum(values) < 8:
            assert found_tree(values) == structure(reference(values))


@pytest.mark.parametrize(("n", "n_functions"), [(4, 600), (5, 200), (6, 60)])
def test_equals_brute_force_on_random_tables(n, n_functions):
    # few ones leave many constant contexts, where contexts that disagree are far apart
    rng = np.random.default_rng(n)
    for _ in range(n_functions):
        table = rng.random(1 << n) < rng.choice([2 / 2**n, 4 / 2**n, 0.2, 0.5])
        if 0 < table.sum() < len(table):
            assert found_tree(table) == structure(reference(table))


@pytest.mark.parametrize(("n", "n_functions"), [(5, 200), (6, 100), (7, 20)])
def test_equals_brute_force_on_random_circuits(n, n_functions):
    rng = np.random.default_rng(n)
    for _ in range(n_functions):
        table = random_gates(rng, n)[:, 0]
        assert found_tree(table) == structure(reference(table))
        table[rng.integers(len(table))] ^= 1  # nearly a circuit
        if 0 < table.sum() < len(table):
            assert found_tree(table) == structure(reference(table))


def test_contexts_that_disagree_may_be_two_inputs_apart():
    def f(x):  # a&b under c=d=0, a|b under c=d=1, constant between
        a, b, c, d, e = x.T
        return (a & b & (1 - c) & (1 - d) | (a | b) & c & d) ^ e

    found = from_boolean_callable(f, 5, list("abcde"))
    assert found.modules == {frozenset("abcd")}


def test_several_outputs_share_what_the_reference_shares():
    rng = np.random.default_rng(0)
    shared = 0
    for _ in range(40):
        table = random_gates(rng, 5, n_outputs=int(rng.integers(2, 5)))
        found = from_truth_table(table, list("abcde"))
        true = {}
        for k, column in enumerate(table.T):
            for members, (kind, labels) in reference(column).items():
                named = frozenset("abcde"[i] for i in members)
                true.setdefault((named, labels), (kind, []))[1].append(f"y{k}")
        want = sorted((sorted(members), users) for (members, _), (_, users) in true.items())
        assert sorted((sorted(e.members), list(e.outputs)) for e in found.evidence) == want
        shared += sum(len(users) > 1 for _, users in want)
        kinds = {(members, tuple(users)): kind for (members, _), (kind, users) in true.items()}
        assert all(kinds[e.members, e.outputs] in (None, e.kind) for e in found.evidence)
        np.testing.assert_array_equal(found.graph(rows(5)), table)
    assert shared > 10


# ---- closed forms --------------------------------------------------------------------------


def tree_of(found):
    return {"".join(sorted(e.members)): e.kind for e in found.evidence}


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (lambda a, b, c, d, e: (a + b + c >= 2) & d & e, {"abcde": "complete", "abc": "prime"}),
        (lambda a, b, c, d, e: a ^ b ^ c ^ d ^ e, {"abcde": "complete"}),
        (lambda a, b, c, d, e: a ^ 1 ^ b ^ (c & d & (1 - e)), {"abcde": "complete", "cde": "complete"}),
        (lambda a, b, c, d, e: (a | b) & (c | d | e), {"abcde": "complete", "ab": "complete", "cde": "complete"}),
        (
            lambda a, b, c, d, e: (a | b) & ((1 - c) & (d ^ e)),
            {"abcde": "complete", "ab": "complete", "de": "complete"},
        ),
        (lambda a, b, c, d, e: np.where(a, b & c, d ^ e), {"abcde": "prime", "bc": "complete", "de": "complete"}),
        (lambda a, b, c, d, e: a + b + c + d + e >= 3, {"abcde": "prime"}),
        (lambda a, b, c, d, e: (a & b) ^ (b & a) ^ c ^ d, {"cd": "complete"}),
    ],
)
def test_closed_forms(f, expected):
    found = from_boolean_callable(lambda x: f(*x.T), 5, list("abcde"))
    assert tree_of(found) == expected
    assert all(e.value == 2 and e.channels == 1 for e in found.evidence)
    assert found.status is DiscoveryStatus.FINISHED
    assert found.source == "truth table"
    tree = found.graph.module_tree
    kinds = {"".join(sorted(m.members)): m.kind for m in tree.inner if len(m.children) > 2}
    assert kinds == {members: kind for members, kind in expected.items() if members in kinds}
    assert {"".join(sorted(m)) for m in tree.modules} == {m for m in expected if m != "".join(sorted(tree.members))}


@pytest.mark.parametrize(
    ("f", "label"),
    [
        (lambda a, b, c: a & b & (1 - c), "a*(b*(1 - c))"),
        (lambda a, b, c: a | b | c, "1 - (1 - a)*((1 - b)*(1 - c))"),
        (lambda a, b, c: a ^ b ^ c, "(1 - (1 - 2*a)*((1 - 2*b)*(1 - 2*c)))/2"),
        (lambda a, b, c: 1 - (a ^ b ^ c), "(1 + (1 - 2*a)*((1 - 2*b)*(1 - 2*c)))/2"),
        (np.where, "(1 - a)*c + a*b"),
        (lambda a, b, c: 1 - b, "1 - b"),
    ],
)
def test_gates_are_written_in_factored_form(f, label):
    found = from_boolean_callable(lambda x: f(*x.T), 3, list("abc"))
    assert found.graph["y"].label == label


def test_multiplexer_is_prime_with_a_formula():
    def mux(x):
        return x[np.arange(len(x)), 3 + x[:, 0] * 4 + x[:, 1] * 2 + x[:, 2]]

    found = from_boolean_callable(mux, 11)
    assert [(len(e.members), e.kind) for e in found.evidence] == [(11, "prime")]
    assert found.graph["y"].constituent.formula is not None
    np.testing.assert_array_equal(found.graph(rows(11)), mux(rows(11)))


def test_a_gate_and_its_complement_are_one_node():
    def f(x):
        a, b, c, d = x.T
        return np.stack([(a & b) ^ c, 1 - (a & b & d), 1 - (a & b)], axis=1)

    found = from_boolean_callable(f, 4, list("abcd"), ["p", "q", "r"])
    assert [e.outputs for e in found.evidence_for({"a", "b"})] == [("p", "r")]  # within q it is a part of a|b|d
    (node,) = (n for n in found.graph.nodes if n.parents == ("a", "b"))
    assert found.graph["r"].parents == (node.name,)
    np.testing.assert_array_equal(found.graph(rows(4)), f(rows(4)))


def test_an_output_may_be_an_input_or_its_complement():
    x = rows(3)
    found = from_truth_table(np.stack([x[:, 1], 1 - x[:, 1]], axis=1))
    assert [n.parents for n in found.graph.nodes] == [("x1",), ("x1",)]
    assert found.inert == ("x0", "x2")
    assert found.evidence == ()
    np.testing.assert_array_equal(found.graph(x), np.stack([x[:, 1], 1 - x[:, 1]], axis=1))


def test_equal_outputs_share_everything():
    table = rows(3).sum(1) >= 2
    found = from_truth_table(np.stack([table, ~table], axis=1))
    assert [e.outputs for e in found.evidence] == [("y0", "y1")]
    assert found.graph.size == 3


def test_multiplicity_and_wires_in_closed_form():
    total = rows(6).sum(1)
    for size in range(1, 6):
        # what the rest must still add up to; None where it cannot
        still = {3 - ones if 0 <= 3 - ones <= 6 - size else None for ones in range(size + 1)}
        assert column_multiplicity(total == 3, range(size)) == len(still)
        assert column_multiplicity(total % 2, range(size)) == 2
    assert wires(total == 3, [0, 1, 2]) == 2
    assert wires(total % 2, [0, 1, 2, 3]) == 1
    assert column_multiplicity(total == 3, []) == 1
    big = np.random.default_rng(0).integers(0, 2, 1 << 12)
    assert column_multiplicity(big, [3, 7, 1]) == 8  # rows wider than a word
    assert column_multiplicity(big, range(11)) == 4
    pairs = rows(8).reshape(-1, 4, 2).prod(2).sum(1) % 2
    assert [column_multiplicity(pairs, [i, i + 1]) for i in range(7)] == [2, 4] * 3 + [2]


# ---- the graph computes the table ----------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 7), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_graph_is_exact_before_and_after_json(n, n_outputs, seed):
    table = random_gates(np.random.default_rng(seed), n, n_outputs)
    found = from_truth_table(table)
    again = Discovery.from_json(found.to_json())
    assert again.evidence == found.evidence
    for graph in (found.graph, again.graph):
        np.testing.assert_array_equal(graph(rows(n)).reshape(table.shape), table)
    for output in found.graph.outputs:
        alone = FunctionGraph(found.graph.inputs, found.graph.nodes, output).pruned()
        evidence = [e for e in found.evidence if output in e.outputs]
        assert {e.members for e in evidence} == {m.members for m in alone.module_tree.inner}
        kinds = {m.members: m.kind for m in alone.module_tree.inner if len(m.children) > 2}
        assert all(kinds.get(e.members, e.kind) == e.kind for e in evidence)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_complementing_and_permuting_inputs_moves_the_modules_along(seed):
    rng = np.random.default_rng(seed)
    n = 6
    cube = random_gates(rng, n).reshape((2,) * n)
    order, flipped = rng.permutation(n), np.flatnonzero(rng.integers(0, 2, n))
    moved = np.flip(cube, flipped).transpose(order) ^ rng.integers(0, 2)
    names = np.array(list("abcdef"))
    one, other = from_truth_table(cube.ravel(), names.tolist()), from_truth_table(moved.ravel(), names[order].tolist())
    assert tree_of(one) == tree_of(other)


def test_long_prime_gates_keep_their_table_and_say_so():
    table = np.random.default_rng(0).integers(0, 2, 1 << 12)
    found = from_truth_table(table)
    assert found.kind == {"y": "prime"}
    assert "kept as its table" in found.caveats[0]
    np.testing.assert_array_equal(found.graph(rows(12)), table)
    torch = pytest.importorskip("torch")
    assert (found.graph(torch.tensor(rows(12))).numpy() == table).all()
    assert Discovery.from_json(found.to_json()).graph["y"].constituent.name == "table"


def test_graph_is_differentiable():
    torch = pytest.importorskip("torch")
    found = from_boolean_callable(lambda x: np.where(x[:, 0], x[:, 1], x[:, 2] ^ x[:, 3]), 4)
    x = torch.rand(5, 4, dtype=torch.double, requires_grad=True)
    a, b, c, d = x.unbind(1)
    torch.testing.assert_close(found.graph(x), a * b + (1 - a) * (c + d - 2 * c * d))
    found.graph(x).sum().backward()
    assert x.grad.abs().min() > 0


# ---- limits and bad input ------------------------------------------------------------------


def test_out_of_time_is_coarser_but_exact():
    def f(x):
        return (x[:, 0] & x[:, 1]) ^ (x[:, 2] | x[:, 3]) ^ x[:, 4]

    found = from_boolean_callable(f, 5, time_limit=1e-9)
    assert found.status is DiscoveryStatus.OUT_OF_TIME
    assert found.modules == frozenset()
    np.testing.assert_array_equal(found.graph(rows(5)), f(rows(5)))


def test_an_interrupt_returns_what_there_is(monkeypatch):
    calls = []

    def interrupted_once(cube, stop):
        calls.append(stop())
        if len(calls) == 2:
            raise KeyboardInterrupt
        return decompose(cube, stop)

    monkeypatch.setattr("compsparse.discovery.boolean.circuits.decompose", interrupted_once)
    table = np.stack([rows(3)[:, 0] ^ (rows(3).sum(1) == 3)] * 3, axis=1)
    found = from_truth_table(table)
    assert found.status is DiscoveryStatus.INTERRUPTED
    assert calls == [False, False, True, True]
    np.testing.assert_array_equal(found.graph(rows(3)), table)


def test_progress_is_heard():
    class Listener:
        def __init__(self):
            self.heard = []

        def update(self, done, total, message=""):
            self.heard.append((done, total))

    listener = Listener()
    from_truth_table(np.stack([rows(3).sum(1) >= 2, rows(3).sum(1) % 2], axis=1), progress=listener)
    assert listener.heard == [(0, 2), (1, 2), (2, 2)]


def test_default_names_keep_apart():
    table = [0, 1, 1, 0]
    assert from_truth_table(table, ["y", "b"]).graph.outputs == ("y_",)
    assert from_truth_table(table, outputs="x1").graph.inputs == ("x0_", "x1_")
    assert from_truth_table(table, ["m0", "b"], ["m1"]).graph.inputs == ("m0", "b")
    assert from_truth_table(np.array([table, table]).T).graph.outputs == ("y0", "y1")


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        ([0, 1, 1], {}, r"must have 2\^n rows.*got 3"),
        ([1], {}, r"must have 2\^n rows.*got 1"),
        ([], {}, r"must have 2\^n rows.*got 0"),
        ([0, 1, 2, 0], {}, "0 and 1 alone, got 2 in row 3 .counted from 1"),
        ([0, 1, math.nan, 0], {}, "0 and 1 alone, got nan in row 3 "),
        ([[0, 1], [1, 5]], {}, r"got 5 in row 2 \(counted from 1\) of output 'y1'"),
        ([0, 0.5], {}, "got 0.5 in row 2 "),
        (["a", "b"], {}, "0 and 1 alone, got values of type"),
        ([0, None], {}, "got nan in row 2 "),
        ([0, {}], {}, "0 and 1 alone"),
        ([[0, 1], [1]], {}, "not an array of 0 and 1"),
        (np.zeros((2, 2, 2)), {}, "must have shape"),
        (np.zeros((4, 0)), {}, "has no outputs"),
        (np.zeros(1 << 21, dtype=bool), {}, "21 inputs has 2.21 rows; at most 20"),
        ([1, 1, 1, 1], {}, "output 'y' is 1 in every row"),
        ([[0, 0], [1, 0]], {}, "output 'y1' is 0 in every row"),
        ([0, 1, 1, 0], {"names": ["a"]}, "2 inputs need as many names, got 1"),
        ([0, 1, 1, 0], {"names": "ab"}, "2 inputs need as many names, got 1"),
        ([0, 1, 1, 0], {"names": 5}, "sequence of 2 input names, got 5"),
        ([0, 1, 1, 0], {"time_limit": "soon"}, "time_limit must be"),
        ([0, 10**400], {}, "0 and 1 alone"),
        ([0, 1, 1, 0], {"names": ["a", "a"]}, "two inputs are named 'a'"),
        ([0, 1, 1, 0], {"names": ["a", 3]}, "non-empty text, got 3"),
        ([0, 1, 1, 0], {"outputs": ["a", "b"]}, "1 output need as many names, got 2"),
        ([0, 1, 1, 0], {"names": ["a", "b"], "outputs": ["b"]}, "'b' is both"),
        ([0, 1, 1, 0], {"time_limit": 0}, "time_limit must be"),
    ],
)
def test_bad_tables_get_one_sentence(table, options, message):
    with pytest.raises(CompsparseError, match=message) as caught:
        from_truth_table(table, **options)
    assert isinstance(caught.value, ConfigError if options else DataError)
    assert "\n" not in str(caught.value)


def test_a_bad_value_names_its_output():
    with pytest.raises(DataError, match=r"got 5 in row 2 \(counted from 1\) of output 'alarm'"):
        from_truth_table([[0, 1], [1, 5]], outputs=["light", "alarm"])


def _fails(x):
    raise ZeroDivisionError("by hand")


@pytest.mark.parametrize(
    ("f", "n", "message"),
    [
        (_fails, 3, "failed on the 8 rows of its truth table: ZeroDivisionError: by hand"),
        (lambda x: x[0], 3, r"answer 8 rows with shape \(8,\)"),
        (lambda x: 1, 3, r"answer 8 rows.*got \(\)"),
        (lambda x: ~x[:, 0], 3, "got -1 in row 1 "),
        (lambda x: x, 0, "n_inputs must be a whole number >= 1, got 0"),
        (lambda x: x, 2.5, "n_inputs must be a whole number >= 1, got 2.5"),
        (lambda x: x, 40, "n_inputs must be at most 20"),
        ([0, 1], 1, "expected a callable, got list"),
    ],
)
def test_bad_callables_get_one_sentence(f, n, message):
    with pytest.raises(ConfigError if "n_inputs" in message else DataError, match=message):
        from_boolean_callable(f, n)


@pytest.mark.parametrize("members", [[0, 0], [3], [-1], ["a"]])
def test_multiplicity_wants_positions_of_inputs(members):
    with pytest.raises(ConfigError, match="different positions from 0 to 2"):
        column_multiplicity([0, 0, 0, 1, 0, 1, 1, 1], members)
    with pytest.raises(DataError, match="one output, got 2"):
        wires(np.zeros((4, 2)), [0])

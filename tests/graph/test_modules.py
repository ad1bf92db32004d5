import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compsparse.errors import GraphError
from compsparse.graph import (
    Constituent,
    FunctionGraph,
    Node,
    balanced_tree,
    chain,
    compare_graphs,
    complete,
    random_tree,
)


def inner(text, inputs=None):
    tree = FunctionGraph.from_expression(text, inputs).module_tree
    return {"".join(sorted(m.members)): m.kind for m in tree.inner}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tanh(a*b + sin(c*d))", {"abcd": "complete", "ab": "complete", "cd": "complete"}),
        ("a + b + c + d", {"abcd": "complete"}),
        ("sin((a + b) + 2*(c - d))", {"abcd": "complete"}),
        ("a*b/c", {"abc": "complete"}),
        ("a + b*c + d", {"abcd": "complete", "bc": "complete"}),
        ("exp(a + b)*c", {"abc": "complete"}),
        ("log(a*b) + c", {"abc": "complete"}),
        ("sqrt(a**2 + b**2)**2 + c", {"abc": "complete"}),
        ("sqrt(a**2 + b**2) + c", {"abc": "complete", "ab": "complete"}),
        ("sin(a + b) + c", {"abc": "complete", "ab": "complete"}),
        ("max(max(a, b), c)", {"abc": "complete"}),
        ("max(exp(max(a, b)), -c)", {"abc": "complete"}),
        ("max(-max(a, b), c)", {"abc": "complete", "ab": "complete"}),
        ("max(-min(a, b), c)", {"abc": "complete"}),
        ("a*b + d + b*c + e", {"abcde": "complete", "abc": "prime"}),
        ("sin(a*b + c) + cos(a*b)*d", {"abcd": "prime", "ab": "complete"}),
        ("tanh(a)*b + a*c", {"abc": "prime"}),
    ],
)
def test_strong_modules_of_known_functions(text, expected):
    assert inner(text) == expected


def test_shared_sub_expressions_with_private_variables_are_found():
    from compsparse.tasks import shared_dag

    graph = shared_dag().graph
    found = {"".join(sorted(m)) for m in graph.modules}
    assert found == {"x0x1", "x0x1x2", "x3x4", "x5x6", "x5x6x7"}
    assert graph.module_tree.kind == "prime"


def test_several_outputs_meet_above_all():
    tree = FunctionGraph.from_expression(["sin(a*b) + c", "a*b*d"]).module_tree
    assert {m.members for m in tree.inner} == {frozenset("abcd"), frozenset("ab")}
    assert tree.kind == "prime"


def test_inert_inputs_stand_in_no_module():
    graph = FunctionGraph.from_expression("a + b", ["a", "b", "z"])
    assert graph.module_tree.members == frozenset("ab")


def test_one_variable_and_identity():
    assert FunctionGraph.from_expression("sin(cos(a))").module_tree.members == frozenset("a")
    assert FunctionGraph.from_expression("a").modules == frozenset()


def test_long_chains_and_wide_trees_are_no_trouble():
    assert len(chain(1500).modules) == 1498
    assert len(balanced_tree(1024).modules) == 1022


@settings(max_examples=40, deadline=None)
@given(n=st.integers(2, 12), seed=st.integers(0, 10**6), arity=st.integers(2, 4))
def test_the_tree_of_a_tree_is_itself(n, seed, arity):
    graph = random_tree(n, arity, random_state=seed)
    expected = {frozenset(a for a in graph.ancestors(v.name) if a in graph.inputs) for v in graph.nodes}
    assert graph.modules | {frozenset(graph.inputs)} == expected
    again = graph.module_tree.to_graph(graph.inputs)
    assert again.modules == graph.modules


def test_modules_are_true_of_the_function():
    """Swapping what a module holds for anything with the same inner value leaves f unchanged."""
    graph = FunctionGraph.from_expression("sin(a*b + d + b*c) * (e + f)", list("abcdef"))
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 6))
    a, b, c, d = x[:, 0], x[:, 1], x[:, 2], x[:, 3]
    for module, inner_value in ((frozenset("abc"), a * b + b * c), (frozenset("abcd"), a * b + b * c + d)):
        assert module in graph.modules
        other = x.copy()
        other[:, 0], other[:, 1], other[:, 2] = inner_value - (d if module == frozenset("abcd") else 0), 1.0, 0.0
        np.testing.assert_allclose(graph(other), graph(x), atol=1e-12)


def test_comparison_counts_what_is_missing_and_what_is_false():
    true = FunctionGraph.from_groups([[complete("a", "b", "c"), "d"], ["e", "f"]], list("abcdefg"))
    assert compare_graphs(true, true).exact
    found = FunctionGraph.from_groups([["a", "b", "c"], ["d", "e"], "f", "g"], list("abcdefg"))
    result = compare_graphs(found, true)
    assert not result.exact
    assert result.missing == {frozenset("abcd"), frozenset("ef")}
    assert result.extra == {frozenset("de")}
    assert result.inert_missing == {"g"}
    assert result.precision == pytest.approx(1 / 2)
    assert result.recall == pytest.approx(1 / 3)
    assert result.f1 == pytest.approx(0.4)
    assert result.kind_accuracy == 0.0
    with pytest.raises(GraphError, match="different inputs"):
        compare_graphs(true, FunctionGraph.from_expression("a + b"))


def test_regrouped_sums_are_the_same_graph():
    a = FunctionGraph.from_expression("(a + b) + (c + d)")
    b = FunctionGraph.from_expression("a + (b + (c + d))")
    assert compare_graphs(a, b).exact


def test_a_wire_of_several_numbers_makes_no_module():
    nodes = [Node("g", ("a", "b", "c"), channels=2), Node("y", ("g", "d"))]
    graph = FunctionGraph("abcd", nodes, ["y"])
    assert graph.modules == frozenset()
    assert FunctionGraph("abcd", [Node("g", ("a", "b", "c")), nodes[1]], ["y"]).modules == {frozenset("abc")}


def test_a_declared_kind_goes_before_the_outermost_operation():
    switch = Constituent.from_expression("(1 - a)*c + a*b", ["a", "b", "c"])
    free = FunctionGraph("abc", [Node("y", ("a", "b", "c"), switch, kind="prime")], ["y"])
    assert free.module_tree.kind == "prime"

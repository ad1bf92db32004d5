import json
import pickle
import subprocess
import sys

import numpy as np
import pytest
import torch

from compsparse.errors import ConfigError, DataError, GraphError
from compsparse.graph import (
    Constituent,
    FunctionGraph,
    GraphBuilder,
    Node,
    balanced_tree,
    chain,
    complete,
    draw_svg,
    equivalent,
    pyramid,
    random_dag,
    random_tree,
    single_node,
    trace,
)


def test_a_graph_knows_its_structure():
    graph = FunctionGraph.from_expression("tanh(a*b + sin(c*d)) * e", ["a", "b", "c", "d", "e", "f"])
    assert (graph.n_inputs, graph.depth, graph.max_arity, graph.size) == (6, 3, 2, 4)
    assert graph.inert == ("f",)
    assert graph.is_tree
    root = graph.outputs[0]
    assert graph.ancestors(root) >= {"a", "b", "c", "d", "e"}
    assert root in graph.descendants("a")
    assert graph.descendants(root) == frozenset()
    assert graph.is_sparse(2)
    assert not graph.is_sparse(1)
    assert not graph.is_sparse(6)


def test_smooth_sparsity_needs_declared_smoothness():
    assert FunctionGraph.from_expression("sin(a*b) + c").is_smoothly_sparse(2)
    assert not FunctionGraph.from_expression("sign(a*b) + c").is_smoothly_sparse(2)
    with pytest.raises(GraphError, match="not declared"):
        balanced_tree(4).is_smoothly_sparse(2)


@pytest.mark.parametrize(
    ("inputs", "nodes", "outputs", "message"),
    [
        (["a"], [Node("u", ("v",)), Node("v", ("u",))], ["u"], "cycle"),
        (["a"], [Node("u", ("b",))], ["u"], "unknown parent 'b'"),
        (["a", "a"], [], ["a"], "'a' is used twice"),
        (["a"], [Node("a", ("a",))], ["a"], "'a' is used twice"),
        ([], [], ["a"], "at least one input"),
        (["a"], [Node("u", ("a",))], ["w"], "output 'w'"),
        (["a"], [Node("u", ("a",))], ["u", "u"], "named twice"),
        (["a"], [Node("u", ("a",)), Node("v", ("a",))], None, "name the outputs"),
        (["a"], [Node("u", ("a",))], [], "at least one output"),
    ],
)
def test_bad_graphs_are_refused_with_the_culprit_named(inputs, nodes, outputs, message):
    with pytest.raises(GraphError, match=message):
        FunctionGraph(inputs, nodes, outputs)


def test_bad_nodes_are_refused():
    with pytest.raises(GraphError, match="no parents"):
        Node("u", ())
    with pytest.raises(GraphError, match="twice"):
        Node("u", ("a", "a"))
    with pytest.raises(GraphError, match="2 parents but its constituent"):
        Node("u", ("a", "b"), Constituent.from_expression("sin(a)", ["a"]))
    with pytest.raises(GraphError, match="at least one channel"):
        Node("u", ("a",), channels=0)


def test_nodes_may_come_in_any_order():
    nodes = [Node("y", ("u", "c")), Node("u", ("a", "b"))]
    assert [n.name for n in FunctionGraph(["a", "b", "c"], nodes).nodes] == ["u", "y"]


def test_evaluation_agrees_with_plain_numpy_and_torch_and_has_gradients():
    graph = FunctionGraph.from_expression(["tanh(a*b + sin(c))", "a*b"])
    X = np.random.default_rng(0).normal(size=(50, 3))
    a, b, c = X.T
    np.testing.assert_allclose(graph(X), np.stack([np.tanh(a * b + np.sin(c)), a * b], axis=1))
    T = torch.tensor(X, requires_grad=True)
    out = graph(T)
    np.testing.assert_allclose(out.detach().numpy(), graph(X))
    (gradient,) = torch.autograd.grad(out[:, 1].sum(), T)
    np.testing.assert_allclose(gradient.numpy(), np.stack([b, a, 0 * a], axis=1))
    assert graph(X.astype(np.float32)).dtype == np.float32
    assert graph(np.ones((2, 3), dtype=int)).dtype == np.float64


def test_evaluation_refuses_wrong_widths_and_wrong_functions():
    with pytest.raises(DataError, match=r"shape \(n, 2\), got \(3, 5\)"):
        FunctionGraph.from_expression("a + b")(np.zeros((3, 5)))
    with pytest.raises(GraphError, match="structure alone"):
        balanced_tree(4)(np.zeros((1, 4)))
    b = GraphBuilder(["a"])
    b.node("u", ["a"], lambda a: a.sum())
    with pytest.raises(GraphError, match="function of node 'u'"):
        b.build()(np.zeros((3, 1)))


def test_opaque_functions_are_evaluated():
    b = GraphBuilder(["a", "b"])
    b.node("u", ["a", "b"], lambda a, b: a**b, smoothness=1, value_range=(0, 1))
    assert b.build()(np.array([[2.0, 3.0]]))[0] == 8
    assert b.build()["u"].constituent.smoothness == 1


def test_json_keeps_everything_a_formula_graph_has():
    for graph in (
        FunctionGraph.from_expression(["tanh(1.25*a*b + pi*sin(c)/3)", "a*b - 1e-17"]),
        FunctionGraph.from_groups([complete("a", "b", "c"), ["d", "e"]]),
        pyramid(15, 3, 2),
        FunctionGraph(["a b"], [Node("weird name", ("a b",), channels=3)]),
    ):
        again = FunctionGraph.from_json(graph.to_json())
        assert again == graph
        assert hash(again) == hash(graph)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not a graph in JSON"),
        ("[]", "not a graph"),
        ('{"format": "compsparse.graph", "version": 99}', "version 99"),
        ('{"format": "compsparse.graph", "version": 1, "inputs": ["a"]}', "incomplete"),
    ],
)
def test_bad_json_is_refused(text, message):
    with pytest.raises(GraphError, match=message):
        FunctionGraph.from_json(text)


BY_HAND = {
    "format": "compsparse.graph",
    "version": 1,
    "inputs": ["a", "b"],
    "nodes": [{"name": "y", "parents": ["a", "b"], "constituent": {"name": "product", "expression": "a*b"}}],
    "outputs": ["y"],
}


def test_a_graph_may_be_written_by_hand_but_not_changed_unseen():
    graph = FunctionGraph.from_json(json.dumps(BY_HAND))
    assert graph["y"].label == "a*b"
    again = json.loads(graph.to_json())
    assert again["version"] == 2
    node = BY_HAND["nodes"][0]
    for change, message in (
        ({"digest": "0" * 64}, "its digest does not fit"),
        ({"version": 2}, "it has no digest"),
        ({"output": ["y"]}, "a graph has no entry 'output'; did you mean 'outputs'"),
        ({"nodes": [node | {"kinb": "prime"}]}, "a node has no entry 'kinb'; did you mean 'kind'"),
        ({"nodes": [node | {"constituent": {"name": "f", "expresion": "a"}}]}, "no entry 'expresion'"),
    ):
        with pytest.raises(GraphError, match=message):
            FunctionGraph.from_json(json.dumps(BY_HAND | change))
    for key in again:
        with pytest.raises(GraphError, match=r"expected a JSON object|version|digest"):
            FunctionGraph.from_json(json.dumps({k: v for k, v in again.items() if k != key}))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"inputs": ["a"], "inputs": ["b"]}', "the key 'inputs' stands twice in one object"),
        ('{"nodes": [{"kind": "prime", "kind": "complete"}]}', "the key 'kind' stands twice"),
        ('{"version": NaN}', "NaN is no number"),
        ('{"version": -Infinity}', "-Infinity is no number"),
        ('{"version": 1e999}', "1e999 is no number"),
        ("[" * 100_000, "it nests too deep"),
        ('{"version": ' + "9" * 5000 + "}", "not a graph in JSON"),
        (b"\xff\xfe\xff", "not a graph in JSON"),
    ],
)
def test_json_that_says_two_things_or_none_is_refused(text, message):
    with pytest.raises(GraphError, match=message):
        FunctionGraph.from_json(text)


def test_pickles_are_equal_in_another_process():
    graph = FunctionGraph.from_expression("tanh(a*b) + c")
    hash(graph)
    code = (
        "import pickle, sys; g = pickle.loads(sys.stdin.buffer.read());"
        "from compsparse.graph import FunctionGraph;"
        "assert {g: 1}[FunctionGraph.from_expression('tanh(a*b) + c')] == 1"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, input=pickle.dumps(graph), capture_output=True)
    assert done.returncode == 0, done.stderr


def test_equality_up_to_renaming():
    graph = FunctionGraph.from_expression("tanh(a*b + c)")
    renamed = graph.rename({graph.outputs[0]: "y", graph.nodes[0].name: "product"})
    assert renamed != graph
    assert equivalent(renamed, graph)
    swapped = graph.rename({"a": "c", "c": "a"})
    assert not equivalent(swapped, graph)
    assert equivalent(swapped, graph, rename_inputs=True)
    assert not equivalent(graph, FunctionGraph.from_expression("tanh(a*b - c)"))
    assert not equivalent(balanced_tree(4), chain(4), rename_inputs=True)


@pytest.mark.parametrize("seed", range(5))
def test_generators_use_every_input_and_keep_the_arity(seed):
    tree = random_tree(9, max_arity=3, random_state=seed)
    assert tree.is_tree
    assert not tree.inert
    dag = random_dag(6, 12, max_arity=3, random_state=seed)
    assert dag.size == 12
    assert dag.max_arity <= 3
    assert not dag.inert
    assert all(dag.consumers[n.name] for n in dag.nodes if n.name not in dag.outputs)
    assert random_dag(6, 12, 3, random_state=seed) == dag


def test_generator_shapes():
    assert balanced_tree(8).depth == 3
    assert balanced_tree(9, arity=3).size == 4
    assert balanced_tree(5).n_edges == 8
    assert chain(6).depth == 5
    assert pyramid(15, 3, 2).levels[pyramid(15, 3, 2).outputs[0]] == 3
    assert pyramid(8, 2, 2).modules == balanced_tree(8).modules
    assert single_node(4).max_arity == 4


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: balanced_tree(0), "n_inputs must be a whole number >= 1, got 0"),
        (lambda: single_node(1.5), "n_inputs must be a whole number >= 1, got 1.5"),
        (lambda: balanced_tree(4, arity=1), "arity must be a whole number >= 2"),
        (lambda: chain(1), "n_inputs must be a whole number >= 2"),
        (lambda: random_dag(10, 2, 2), "2 nodes of at most 2 parents cannot join 10 inputs: at least 9"),
        (lambda: random_dag(4, 5, random_state=-1), "random_state must be a whole number >= 0, got -1"),
        (lambda: random_tree(4, random_state=0.5), "random_state must be a whole number >= 0, got 0.5"),
        (lambda: pyramid(10, 3, 4), "stride 4 is larger than the kernel 3"),
        (lambda: pyramid(10, 4, 3, 2), "do not cover a level of 3 exactly"),
        (lambda: pyramid(10, 4, 3, 0), "n_levels must be a whole number >= 1"),
        (lambda: trace(lambda x: x[0], 0), "inputs must be a whole number >= 1"),
        (lambda: draw_svg(chain(3), direction="down"), "direction must be one of 'right', 'up'"),
        (lambda: Constituent.from_callable(max, 2, smothness=1), "did you mean 'smoothness'"),
    ],
)
def test_impossible_families_are_refused(make, message):
    with pytest.raises(ConfigError, match=message):
        make()


@pytest.mark.parametrize(
    ("groups", "inputs", "message"),
    [
        ("ab", None, "expected nested groups"),
        ([["a", "b"], ["a"]], None, "input 'a' stands in two groups"),
        ([[0, 9]], ["a", "b"], "group member 9"),
        ([[], "a"], None, "a group of inputs is empty"),
    ],
)
def test_bad_groups_are_refused(groups, inputs, message):
    with pytest.raises(GraphError, match=message):
        FunctionGraph.from_groups(groups, inputs)


def test_groups_by_position():
    graph = FunctionGraph.from_groups([[0, 1], 3])
    assert graph.inputs == ("x0", "x1", "x2", "x3")
    assert graph.inert == ("x2",)

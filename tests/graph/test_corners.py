"""Corners that were wrong once, or easily could be."""

import copy
import math
import pickle

import numpy as np
import pytest
import torch

from compsparse.errors import ConfigError, ExpressionError, GraphError, TraceError
from compsparse.graph import (
    Constituent,
    FunctionGraph,
    GraphBuilder,
    Node,
    complete,
    equivalent,
    pyramid,
    to_expression,
    trace,
)

TWO = np.array([[1.0, 1.0], [1.0, -1.0], [-2.0, 3.0]])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(a > 0) + (b > 0)", [2, 1, 1]),
        ("(a > 0) - (b > 0)", [0, 1, -1]),
        ("-(a >= b)", [-1, -1, 0]),
        ("where(a > b, 1, 0) + 0*a", [0, 1, 0]),
        ("where(a, b, 1)", [1, -1, 3]),
        ("(1 > a) * b", [0, 0, 3]),
    ],
)
def test_comparisons_are_numbers_on_numpy_and_torch(text, expected):
    graph = FunctionGraph.from_expression(text, ["a", "b"])
    np.testing.assert_array_equal(graph(TWO), expected)
    np.testing.assert_array_equal(graph(torch.tensor(TWO)).numpy(), expected)
    assert graph(TWO.astype(np.float32)).dtype == np.float32


def test_equal_outputs_stay_apart():
    for graph in (
        FunctionGraph.from_expression(["a*b", "a*b", "a*b"]),
        trace(lambda a, b: (a * b, a * b, a * b)),
        FunctionGraph(["a", "b"], [_product("u"), _product("v")], ["u", "v"]),
    ):
        assert graph.modules == frozenset()
        assert len(set(graph.outputs)) == len(graph.outputs)
        np.testing.assert_array_equal(graph(TWO), (TWO[:, :1] * TWO[:, 1:]).repeat(len(graph.outputs), axis=1))


def _product(name):
    return Node(name, ("a", "b"), Constituent.from_expression("a*b", ["a", "b"]))


def test_an_output_may_be_an_input_or_feed_another():
    graph = FunctionGraph(
        ["a", "b"], [_product("u"), Node("v", ("u",), Constituent.from_expression("sin(a)", ["a"]))], ["u", "v", "a"]
    )
    np.testing.assert_allclose(graph(TWO)[:, 1], np.sin(TWO[:, 0] * TWO[:, 1]))
    assert FunctionGraph.from_json(graph.to_json()) == graph
    alone = FunctionGraph(["a", "b"], [], ["a"])
    X = np.asfortranarray(TWO.copy())
    assert not np.shares_memory(alone(X), X)


def test_long_sums_are_read():
    text = "+".join(f"x{i}" for i in range(1200))
    graph = FunctionGraph.from_expression(text)
    assert graph(np.ones((1, 1200)))[0] == 1200
    assert len(graph.module_tree.children) == 1200
    deep = trace(lambda x: sum((math.sin(x) for _ in range(3)), x), 1)
    assert to_expression(deep)
    with pytest.raises(GraphError, match=r"too deep|longer than"):
        to_expression(trace(_deep, 1))


def _deep(x):
    for _ in range(2000):
        x = np.sin(x)
    return x


def test_groups_keep_names_order_and_kind():
    assert FunctionGraph.from_groups([["x1", "x2"], "x3"]).inputs == ("x1", "x2", "x3")
    assert FunctionGraph.from_groups([[np.int64(0), np.int64(2)]]).inputs == ("x0", "x1", "x2")
    assert FunctionGraph.from_groups([["g0", "b"], "c"], ["g0", "b", "c"]).n_inputs == 3
    group = complete("a", "b", "c")
    for again in (copy.deepcopy(group), pickle.loads(pickle.dumps(group))):
        assert again == group
        assert isinstance(again, complete)
    for bad in ([[-1, 0]], [["", "b"]]):
        with pytest.raises(GraphError):
            FunctionGraph.from_groups(bad)


def test_even_powers_lose_the_sign():
    tree = FunctionGraph.from_expression("sqrt((a + b)**2) + c").module_tree
    assert tree.modules == {frozenset("ab")}
    assert FunctionGraph.from_expression("sqrt(a**2 + b**2)**2 + c").modules == frozenset()


def test_equivalence_heeds_the_order_of_inputs_and_outputs():
    assert not equivalent(
        FunctionGraph.from_expression("a - b", ["a", "b"]), FunctionGraph.from_expression("a - b", ["b", "a"])
    )
    one, other = FunctionGraph.from_expression(["a*b", "a + b"]), FunctionGraph.from_expression(["a + b", "a*b"])
    assert not equivalent(one, other, rename_inputs=True)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x, y: np.maximum(x, np.inf) + y, "infinite"),
        (lambda x, y: x.real_if_close() + y, "not supported on a traced value"),
        (lambda x, y: math.log(x, 10, y), "cannot trace"),
    ],
)
def test_what_would_be_traced_wrongly_is_refused(function, message):
    with pytest.raises(TraceError, match=message):
        trace(function)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: y if x == 0 else x * y,
        lambda x, y: x if x in (1, 2) else y,
        lambda x, y: math.log(x, 10) + y,
        lambda x, y: np.maximum(x, -np.inf) + y,
        lambda x, y: np.max([x, y], initial=0.75),
    ],
)
def test_comparisons_bases_and_infinite_limits_are_traced(function):
    X = np.array([[1.0, 0.5], [2.0, 0.25], [0.5, 0.75], [1.5, 1.0]])
    np.testing.assert_allclose(trace(function)(X), [function(*map(float, row)) for row in X])


def test_options_of_reductions_are_refused():
    with pytest.raises(TraceError, match="where"):
        trace(lambda x: np.max(x, where=[True, False], initial=0), 2)


def test_relu_of_torch_functional_is_traced():
    assert trace(lambda a, b: torch.nn.functional.relu(a) + b)(TWO)[2] == 3


def test_constituents_take_lists_numpy_numbers_and_odd_callables():
    constituent = Constituent.from_expression("a + b", ["a", "b"], lipschitz=[1, 1], smoothness=np.int64(3))
    assert hash(constituent)
    b = GraphBuilder(["a", "b"])
    b.node("p", ["a"], np.polynomial.Polynomial([1.0, 2.0]))
    b.node("y", ["p", "b"], "2")
    np.testing.assert_array_equal(b.build()(TWO), [2, 2, 2])
    graph = FunctionGraph(["a", "b"], [Node("y", ("a", "b"), constituent)])
    assert FunctionGraph.from_json(graph.to_json()) == graph
    with pytest.raises(ExpressionError, match="too large"):
        FunctionGraph.from_expression("a + 1e999*b")


@pytest.mark.parametrize(
    "text",
    [
        '{"format": "compsparse.graph", "version": "1", "inputs": ["a"], "nodes": [], "outputs": ["a"]}',
        '{"format": "compsparse.graph", "version": 1, "inputs": ["a"], "outputs": ["y"], "nodes": '
        '[{"name": "y", "parents": ["a"], "constituent": {"name": "f", "range": [1]}}]}',
        '{"format": "compsparse.graph", "version": 1, "inputs": ["a"], "outputs": ["y"], "nodes": '
        '[{"name": "y", "parents": ["a"], "constituent": {"name": "f", "smoothness": "abc"}}]}',
        '{"format": "compsparse.graph", "version": 1, "inputs": ["a"], "outputs": ["y"], "nodes": '
        '[{"name": "y", "parents": ["a"], "constituent": {"name": "f", "expression": 5}}]}',
    ],
)
def test_odd_json_is_refused(text):
    with pytest.raises(GraphError, match=r"version|incomplete"):
        FunctionGraph.from_json(text)


def test_a_kernel_wider_than_the_input_is_refused():
    with pytest.raises(ConfigError, match="fewer than the kernel"):
        pyramid(1, 2, 1)

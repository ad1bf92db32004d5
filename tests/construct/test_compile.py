"""Compilation: exact nodes, certificates, splits, files, functions without a formula, and bad input."""

import json

import numpy as np
import onnxruntime
import pytest
import torch

import compsparse as cs
from compsparse.certificate import Rigour
from compsparse.construct import DeclaredBounds, ExplicitReLU, largest_error, load_explicit, path_factors
from compsparse.errors import ConfigError, GraphError
from compsparse.graph import Constituent, FunctionGraph, Node


def one_node(text, names):
    return FunctionGraph(names, [Node("f", tuple(names), Constituent.from_expression(text, names))])


def test_max_and_abs_trees_are_exact():
    built = cs.compile("max(abs(a - b), min(c, d)) - relu(a + 2*c)", (-1, 1), tol=1e-9)
    assert built.bound == 0
    assert built.certificate.upper < 1e-12
    assert built.size.units == 4
    rng = np.random.default_rng(0)
    for point in rng.integers(-64, 65, (20, 4)) / 64:
        a, b, c, d = point
        exact = max(abs(a - b), min(c, d)) - max(a + 2 * c, 0)
        assert built.network.exact(point.tolist()) == [exact]


def test_min_is_half_the_sum_minus_half_the_difference():
    """Correction 1: (x + y)/2 - |x - y|/2; with the printed plus it is the maximum."""
    built = cs.compile("min(x, y)", (-4, 4), tol=1e-9)
    for x, y in [(1, 3), (3, 1), (-2, 2), (0.5, 0.5)]:
        assert built.network.exact([x, y]) == [min(x, y)] == [(x + y) / 2 - abs(x - y) / 2]
    assert (1 + 3) / 2 + abs(1 - 3) / 2 == max(1, 3)
    # the line above it in the memo is right: (x)_+ - (-x)_+ - (x - y)_+
    assert built.size.units == 1


def test_affine_graphs_need_no_units():
    built = cs.compile(FunctionGraph.from_expression(["2*a - b/3 + 1", "b - a"]), (-1, 1))
    assert built.size.units == 0
    np.testing.assert_allclose(built([[0.5, -1.0]]), [[2 + 1 / 3, -1.5]], atol=1e-14)


@pytest.mark.parametrize("method", ["auto", "steps", "uniform", "kuhn"])
def test_every_method_keeps_its_bound(method):
    tol = 0.05 if method == "kuhn" else 1e-3
    built = cs.compile("tanh(a*b + sin(c))", {"a": (-1, 2), "b": (0, 1), "c": (-2, 2)}, tol, method)
    found = largest_error(built.network, built.graph, built.domain, n_points=5000, random_state=1)
    assert found.value <= built.certificate.upper <= tol
    assert built.certificate.rigour is Rigour.RIGOROUS
    assert built.certificate.lower > 0.3 * built.certificate.upper or method == "kuhn"


@pytest.mark.parametrize(
    ("text", "domain", "tol"),
    [
        ("sqrt(a**2 + b**2)", (-1, 1), 1e-3),
        ("hypot(a, b) * c", (-1, 1), 1e-2),
        ("arcsin(a*b)", (-1, 1), 1e-2),
        ("a**b", {"a": (0.5, 2), "b": (-1, 3)}, 1e-3),
        ("log(a)/b - a**(-1.5)", (0.5, 2), 1e-3),
        ("arctan2(a, b)", {"a": (-1, 1), "b": (0.5, 2)}, 1e-3),
        ("where(a > 2, a, b*b) + sign(a + 5)", (-1, 1), 1e-3),
        ("2**a + log10(b + 2)", (-1, 1), 1e-4),
        ("(a + b)**7", (-1, 1), 1e-3),
        ("(a*a - a)*(a + 1) - exp(-a)", (-2, 2), 1e-5),
        ("exp(3) * a + sin(2)", (-1, 1), 1e-6),
        ("tanh(abs(a - sqrt(1 + abs(b)**2)))", (-1, 1), 1e-3),
    ],
)
def test_hard_operations_keep_their_bound(text, domain, tol):
    built = cs.compile(text, domain, tol, n_points=3000)
    found = largest_error(built.network, built.graph, built.domain, n_points=4000, random_state=3)
    assert found.value <= built.certificate.upper <= tol


def test_linear_nodes_with_offsets_attain_the_sum_over_paths():
    """e_out = sum_v a_v eps_v, with a_v over all paths: the facts' oracle."""
    graph = FunctionGraph.from_expression("3*(a - 2*b) + 5*(a + b)", fuse=False)
    weights = {n.name: np.abs([1.0] * n.arity) for n in graph.nodes}
    for node in graph.nodes:
        weights[node.name] = np.abs([_slope(node, i) for i in range(node.arity)])
    factors = path_factors(graph, weights)
    offset = 0.01
    shifted = [
        Node(n.name, n.parents, Constituent.from_callable(_shifted(n.constituent, offset), n.arity))
        for n in graph.nodes
    ]
    x = np.array([[0.3, -0.4]])
    moved = FunctionGraph(graph.inputs, shifted, graph.outputs)(x) - graph(x)
    assert abs(moved[0]) <= offset * sum(factors[n.name] for n in graph.nodes) + 1e-12
    assert factors["a"] == pytest.approx(8)


def _slope(node, i):
    zero, one = np.zeros((2, node.arity, 1))
    one[i] = 1
    return float((node.constituent(*one) - node.constituent(*zero))[0])


def _shifted(constituent, offset):
    return lambda *args: constituent(*args) + offset


def test_every_node_has_a_record():
    built = cs.compile("tanh(a*b + sin(c*d))", (-1, 1), 1e-3)
    assert [n.name for n in built.nodes] == [n.name for n in built.graph.nodes]
    assert sum(n.units for n in built.nodes) == built.size.units
    root = built.nodes[-1]
    assert root.path_factor == 1
    assert root.error == pytest.approx(built.bound, rel=1e-9)
    assert root.range[0] <= -0.9 <= 0.9 <= root.range[1]
    assert all(n.own_error <= n.error * (1 + 1e-12) for n in built.nodes)
    data = json.loads(built.to_json())
    assert data["size"]["units"] == built.size.units
    assert "tanh" in str(built)


def test_inputs_of_a_node_stay_in_its_box():
    """The seen failure: a tree of |a - b| leaves [-1, 1]; ranges are part of the certificate here."""
    built = cs.compile("sin(abs(a - b) - abs(c - d))", (-1, 1), 1e-3)
    assert built.nodes[0].range[1] >= 2
    found = largest_error(built.network, built.graph, built.domain, n_points=8000)
    assert found.value <= built.certificate.upper <= 1e-3


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_exported_networks_keep_the_certificate(tmp_path, dtype):
    built = cs.compile("sin(2*a - b + a*b) * exp(-c)", (-1, 1), 1e-2, dtype=dtype)
    built.to_onnx(tmp_path / "net.onnx")
    built.save(tmp_path / "net.safetensors")
    x = np.random.default_rng(0).uniform(-1, 1, (2000, 3)).astype(dtype)
    right = built.graph(x.astype(float))
    elsewhere = onnxruntime.InferenceSession(tmp_path / "net.onnx").run(None, {"x": x})[0][:, 0]
    here = load_explicit(tmp_path / "net.safetensors")(torch.from_numpy(x))[:, 0].numpy()
    for answers in (elsewhere, here):
        assert answers.dtype == dtype
        assert np.abs(answers.astype(float) - right).max() <= built.certificate.upper <= 1e-2
    exact = [float(built.network.exact(p)[0]) for p in x[:5].astype(float).tolist()]
    assert np.abs(here[:5] - exact).max() <= built.rounding
    assert built.rounding < (1e-3 if dtype == "float32" else 1e-12)


def test_python_functions_are_traced():
    built = cs.compile(lambda x: np.maximum(x[0], x[1]) * np.exp(x[2]), [(-1, 1)] * 3, 1e-3)
    assert built.graph.n_inputs == 3
    named = cs.compile(lambda a, b: a * np.cos(b), {"a": (0, 1), "b": (0, 3)}, 1e-3)
    assert named.graph.inputs == ("a", "b")
    assert named.certificate.holds


def untraceable(a, b):
    return np.array([float(x) * float(y) if x > 0 else 0.0 for x, y in zip(a, b, strict=True)])


def test_functions_without_a_formula_need_bounds_or_an_estimate():
    with pytest.raises(GraphError, match="declared bounds, or estimate=True"):
        cs.compile(untraceable, [(-1, 1)] * 2, 0.1)
    declared = cs.compile(untraceable, [(-1, 1)] * 2, 0.1, declared={"f": DeclaredBounds((1, 1))})
    assert declared.certificate.rigour is Rigour.DECLARED
    assert not declared.certificate.holds
    assert "if the declared bounds of f hold" in str(declared.certificate).splitlines()[0]
    assert declared.observed.value <= declared.certificate.upper <= 0.1
    guessed = cs.compile(untraceable, [(-1, 1)] * 2, 0.1, estimate=True)
    assert guessed.certificate.rigour is Rigour.ESTIMATED
    assert not guessed.certificate.holds
    assert guessed.nodes[0].rigour is Rigour.ESTIMATED


def test_declared_curvature_makes_fewer_pieces():
    graph = FunctionGraph(["x"], [Node("f", ("x",), Constituent.from_callable(np.sin, 1, lipschitz=(1.0,)))])
    steep = cs.compile(graph, (0, 3), 1e-2)
    curved = cs.compile(graph, (0, 3), 1e-2, declared={"f": DeclaredBounds((1.0,), 1.0)})
    assert curved.size.units < steep.size.units / 5
    for built in (steep, curved):
        assert built.observed.value <= built.certificate.upper <= 1e-2


@pytest.mark.parametrize(
    ("function", "domain", "options", "sentence"),
    [
        ("log(a)", (-1, 1), {}, "node 'log_0' takes log of a, which may lie anywhere from -1 to 1"),
        ("b/(a - b)", (-1, 1), {}, "divides by sub_0"),
        ("tan(2*a)", (-1, 1), {}, "takes tan of"),
        ("a**-2", (-1, 1), {}, "takes the power -2 of a, which may lie anywhere from -1 to 1"),
        ("a**b", (0, 1), {}, "takes the power b of a, which may lie anywhere from 0 to 1"),
        ("floor(3*a)", (-1, 1), {}, "jumps on this domain"),
        ("where(a > b, a, -b)", (-1, 1), {}, "jumps on this domain"),
        ("arctan2(a, b)", (-1, 1), {}, "jumps on this domain"),
        ("a", (1, 0), {}, "must have low < high"),
        ("a", (0, np.inf), {}, "must be a finite number"),
        ("a*b", {"a": (0, 1)}, {}, "no side for input 'b'"),
        ("a*b", {"a": (0, 1), "c": (0, 1)}, {}, "names 'c', which is no input"),
        ("a*b", [(0, 1)], {}, "each of the 2 inputs, got 1"),
        ("a*b", 3, {}, "bounds must be"),
        ("sin(a*b)", (-1, 1), {"tol": 1e-16}, "tol|double precision"),
        ("a*b", (-1, 1), {"tol": 0}, "tol must be a finite number > 0"),
        ("a*b", (-1, 1), {"method": "magic"}, "method"),
        (5, (-1, 1), {}, "expected a function graph"),
        ("a", (0, 1), {"declared": {"g": DeclaredBounds((1,))}}, "which is no node"),
    ],
)
def test_bad_input_meets_one_sentence(function, domain, options, sentence):
    with pytest.raises((ConfigError, GraphError), match=sentence):
        cs.compile(function, domain, **options)


def test_structure_alone_cannot_be_compiled():
    with pytest.raises(GraphError, match="has no formula"):
        cs.compile(cs.balanced_tree(4), (-1, 1))


def test_one_pair_serves_all_inputs():
    assert cs.compile("a + b", (0, 2)).domain == ((0.0, 2.0), (0.0, 2.0))
    assert cs.compile("a + b", [(0, 2), (1, 3)]).domain == ((0.0, 2.0), (1.0, 3.0))
    assert cs.compile("a + b", bounds={"b": (1, 3), "a": (0, 2)}).domain == ((0.0, 2.0), (1.0, 3.0))


def test_kuhn_units_follow_half_the_arity_and_need_a_bounded_second_derivative():
    """Correction 19: interpolation uses bounded second derivatives; with a bounded first one alone the rate halves."""
    smooth, kinked = one_node("sin(a + b*b)", ["a", "b"]), one_node("abs(a - b)*1.0 + sin(a*b)", ["a", "b"])
    slopes = []
    for graph in (smooth, kinked):
        units = [cs.compile(graph, (-1, 1), tol, "kuhn", n_points=50).size.units for tol in (0.16, 0.04)]
        slopes.append(np.log(units[1] / units[0]) / np.log(4))
    assert slopes[0] == pytest.approx(1.0, abs=0.25)
    assert slopes[1] == pytest.approx(2.0, abs=0.35)


def test_auto_takes_a_grid_where_steps_fail():
    graph = one_node("(a*b)**2 / (0.5 + abs(a - b))", ["a", "b"])
    built = cs.compile(graph, (-1, 1), 0.02)
    assert built.observed.value <= built.certificate.upper <= 0.02
    assert isinstance(built.network, ExplicitReLU)

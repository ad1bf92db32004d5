"""Graphs of callables: closed forms, random functions of known graph, budgets, noise, bad input."""

import itertools
import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.discovery.queries.callables import SYMMETRIC, UNIT, ask, by_values, kinked_tree, smooth_in_torch, tree_of

from compsparse.discovery import DiscoveryStatus
from compsparse.discovery.queries import from_queries
from compsparse.discovery.queries.calibration import StepCheck, exact_differences, remeasured
from compsparse.discovery.queries.oracle import Oracle
from compsparse.discovery.queries.sheets import draw_sheet
from compsparse.discovery.structure.closure import close
from compsparse.graph import Constituent, FunctionGraph, chain, compare_graphs, input_names, random_tree
from compsparse.tasks import (
    borehole,
    friedman1,
    friedman2,
    friedman3,
    random_target,
    shared_dag,
    sincos_tree,
    tanh_tree,
)

# ---- closed forms ----------------------------------------------------------------------

CLOSED_FORMS = {
    "a product in a sum": ("a*b + sin(c)", {("abc", None), ("ab", None)}),
    "three summands": ("exp(a + b**2 + sin(3*c))", {("abc", "complete")}),
    "a product of sums": ("(a + b)*(c + d)*e", {("abcde", "complete"), ("ab", None), ("cd", None)}),
    "a norm": ("sqrt(a**2 + b**2 + c**2) * d", {("abcd", None), ("abc", "complete")}),
    "a shared input": ("a*b + b*c + sin(c*a)", {("abc", "prime")}),
    "a chain": ("tanh(sin(a*b + a) * c + c**2) + c*d*d + d", None),
    "alternating maxima": ("max(min(a, b), min(c, d))", {("abcd", None), ("ab", None), ("cd", None)}),
    "one maximum": ("max(max(a, b + 0.1), c)", {("abc", "complete")}),
    "a quotient": ("a / (1 + b*c)", {("abc", None), ("bc", None)}),
    "inert inputs": ("a*c", {("ac", None)}),
    "a weak interaction": ("a + b + c + 1e-6*a*b", {("abc", None), ("ab", None)}),
    "one input": ("sin(3*b)", set()),
}


@pytest.mark.parametrize(("text", "expected"), CLOSED_FORMS.values(), ids=CLOSED_FORMS.keys())
@pytest.mark.parametrize("autograd", [False, True], ids=["differences", "autograd"])
def test_closed_forms(text, expected, autograd):
    graph = FunctionGraph.from_expression(text, ["a", "b", "c", "d", "e"])
    found = ask(graph if autograd else by_values(graph), 5)
    if expected is None:
        assert compare_graphs(found.graph, graph).exact
    else:
        assert tree_of(found) == expected
    used = set().union(*(m for m, _ in expected)) if expected else None
    if expected:
        assert set(found.inert) == set("abcde") - used
    assert found.status is DiscoveryStatus.FINISHED
    assert found.source == "queries"


@pytest.mark.parametrize(
    "task", [tanh_tree(), sincos_tree(), shared_dag(), friedman1(), friedman2(), friedman3()], ids=lambda t: t.name
)
@pytest.mark.parametrize("autograd", [False, True], ids=["differences", "autograd"])
def test_benchmark_functions(task, autograd):
    f = task.graph if autograd else by_values(task.graph)
    found = from_queries(f, task.inputs.bounds, task.graph.inputs, random_state=1)
    assert compare_graphs(found.graph, task.graph).exact
    assert found.cost.evaluations <= (1000 if autograd else 5000)


def test_the_borehole_holds_a_module_that_its_formula_hides():
    task = borehole()
    found = from_queries(by_values(task.graph), task.inputs.bounds, task.graph.inputs, random_state=0)
    # flow = 2 pi (Hu - Hl) / (log(r/rw) (1/Tu + 1/Tl) + 2 L / (Kw rw^2))
    expected = task.graph.modules | {frozenset({"Tu", "Tl"})}
    assert found.graph.modules == expected


def test_one_input():
    found = from_queries(lambda x: np.exp(x[:, 0]), [(0, 1)], random_state=0)
    assert [(n.name, n.parents) for n in found.graph.nodes] == [("y", ("x0",))]
    assert found.inert == ()


# ---- random functions of known graph ---------------------------------------------------


def summed_tree(d, seed):
    rng = np.random.default_rng(seed)
    shapes = ["sin(1.3*{} + 0.4)", "tanh(1.2*{})", "{}**2 + 0.7*{}"]

    def make(arity):
        terms = [shapes[rng.integers(3)].replace("{}", "abcd"[i]) for i in range(arity)]
        return Constituent.from_expression(" + ".join(terms), "abcd"[:arity])

    return random_tree(d, 4, make, random_state=seed)


RANDOM = {
    "smooth": lambda d, s: random_target(random_tree(d, random_state=s), s).graph,
    "ternary": lambda d, s: random_target(random_tree(d, 3, random_state=s), s).graph,
    "chain": lambda d, s: random_target(chain(d), s).graph,
    "kinked": kinked_tree,
    "sum": summed_tree,
}


@pytest.mark.parametrize("kind", RANDOM)
@settings(max_examples=8, deadline=None, derandomize=True)
@given(d=st.integers(2, 10), seed=st.integers(0, 10_000))
def test_random_functions(kind, d, seed):
    graph = RANDOM[kind](d, seed)
    found = from_queries(by_values(graph), [SYMMETRIC] * d, random_state=seed)
    assert compare_graphs(found.graph, graph).exact, (found, found.status)


@settings(max_examples=10, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10_000))
def test_scales_of_inputs_and_answers_do_not_matter(seed):
    rng = np.random.default_rng(seed)
    graph = random_target(random_tree(6, random_state=seed), seed).graph
    half, middle = 10 ** rng.uniform(-6, 6, 6), 10 ** rng.uniform(-6, 6, 6)
    middle = np.minimum(middle, 100 * half)
    found = from_queries(
        lambda x: 1e-7 * graph((np.asarray(x) - middle) / half), np.c_[middle - half, middle + half], random_state=seed
    )
    assert compare_graphs(found.graph, graph).exact


@settings(max_examples=10, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10_000))
def test_renamed_inputs_give_the_renamed_graph(seed):
    graph = random_target(random_tree(6, random_state=seed), seed).graph
    order = np.random.default_rng(seed).permutation(6)
    found = from_queries(
        lambda x: graph(np.asarray(x)[:, np.argsort(order)]),
        [SYMMETRIC] * 6,
        [graph.inputs[i] for i in order],
        random_state=0,
    )
    assert found.graph.modules == graph.modules


def test_closures_against_all_subsets():
    """The tree of a random set of turns that comes from a tree is that tree, by the definition of a module."""
    graph = random_tree(7, 3, random_state=5)
    names = graph.inputs
    modules = [m.members for m in graph.module_tree.inner]
    turned = np.zeros((7, 7, 7), dtype=bool)
    for i, j, k in itertools.permutations(range(7), 3):
        smallest = min((m for m in modules if {names[i], names[j]} <= m), key=len)
        turned[i, j, k] = names[k] in smallest
    closure = close(turned, names)
    assert closure.consistent
    assert closure.tree.modules == graph.modules
    for size in range(2, 7):
        for subset in itertools.combinations(range(7), size):
            outside = [k for k in range(7) if k not in subset]
            is_module = not turned[np.ix_(subset, subset, outside)].any()
            assert is_module == (frozenset(names[i] for i in subset) in graph.modules)


def test_missed_turns_leave_doubtful_triples():
    turned = np.ones((3, 3, 3), dtype=bool)
    turned[np.arange(3), np.arange(3)] = False
    turned[0, 1, 2] = turned[1, 0, 2] = turned[0, 2, 1] = turned[2, 0, 1] = False
    closure = close(turned, ("a", "b", "c"))
    assert not closure.consistent
    assert {tuple(t) for t in closure.doubtful.tolist()} == {(0, 1, 2), (0, 2, 1)}


# ---- gradients -------------------------------------------------------------------------


def test_autograd_costs_fewer_rows_and_finds_the_same():
    exact = ask(smooth_in_torch, 4)
    differences = ask(lambda x: smooth_in_torch(x).detach(), 4)
    assert exact.graph == differences.graph
    assert exact.cost.evaluations < differences.cost.evaluations / 3


@pytest.mark.parametrize(
    "cut",
    [
        lambda x: smooth_in_torch(torch.cat([x[:, :1].detach(), x[:, 1:]], 1)),
        torch.no_grad()(smooth_in_torch),
        lambda x: smooth_in_torch(x).detach().requires_grad_(),
    ],
    ids=["one input detached", "no graph", "a graph of its own"],
)
def test_gradients_that_are_wrong_are_not_used(cut):
    assert ask(cut, 4).graph == ask(smooth_in_torch, 4).graph


def test_numpy_functions_need_no_torch():
    code = (
        "import sys; from compsparse.discovery.queries import from_queries;"
        "from_queries(lambda x: x[:, 0] * x[:, 1] + x[:, 2], [(0, 1)] * 3); assert 'torch' not in sys.modules"
    )
    result = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def test_a_cut_that_shows_at_few_points_is_found_out():
    """x0 is detached and rarely on top: a comparison at a few points does not see it."""

    def f(x):
        first = torch.relu(x[:, 0].detach() + x[:, 1].detach() - 1.9)
        return first + x[:, 2] * x[:, 3]

    whole = ask(lambda x: torch.relu(x[:, 0] + x[:, 1] - 1.9) + x[:, 2] * x[:, 3], 4)
    assert ask(f, 4).graph.modules == whole.graph.modules


def test_answers_in_single_precision():
    torch.manual_seed(0)
    inner, outer = (torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)) for _ in "ab")

    def f(x):
        return outer(torch.cat([inner(x[:, :2]), x[:, 2:]], dim=1))

    expected = {("abc", None), ("ab", None)}
    assert tree_of(ask(f, 3, bounds=(-2, 2))) == expected
    rounded = ask(lambda x: f(torch.tensor(np.asarray(x), dtype=torch.float32)).detach().numpy(), 3, bounds=(-2, 2))
    assert tree_of(rounded) == expected


SMOOTH = {
    "vanishing slopes": "tanh(x0*x1) + sin(x2 - x3)",
    "a product": "tanh(x0*x1) * exp(x2 - x3**2)",
    "vanishing curvature": "(x0*x1)**4 + x2**4",
    "a steep step": "tanh(30*(x0 - x1))*x2 + x3**2",
}


@pytest.mark.parametrize("text", SMOOTH.values(), ids=SMOOTH.keys())
@pytest.mark.parametrize("d", [4, 5])
def test_curvature_is_not_taken_for_a_kink(text, d):
    """At d = 5 one input is swapped at a single point of a sheet: what bends there says little of elsewhere."""
    graph = FunctionGraph.from_expression(text, input_names(d))
    for seed in range(20):
        found = from_queries(by_values(graph), [SYMMETRIC] * d, random_state=seed)
        assert found.status is DiscoveryStatus.FINISHED
        assert compare_graphs(found.graph, graph).exact
        assert found.cost.evaluations <= 5000, seed


def test_a_kink_inside_the_stencil_is_withheld():
    oracle = Oracle(lambda x: np.maximum(x[:, 0] - 0.3, 0) + 3 * x[:, 1] ** 2, np.array([UNIT, UNIT]), 10_000)
    slopes = exact_differences(oracle, np.ones(1), np.random.default_rng(0))
    h = slopes.step
    beside = np.array([0.3, 0.5]) + np.array(
        [[0, 0], [0.9 * h[0], 0], [-0.9 * h[0], 0], [1.1 * h[0], 0], [0.2, -0.5 + h[1]]]
    )
    found = slopes(beside, np.arange(2)).gradients[0, :, 0]
    assert np.isnan(found).tolist() == [[True, False]] * 3 + [[False, False]] * 2
    assert found[3:] == pytest.approx(np.c_[[1, 1], 6 * beside[3:, 1]], abs=1e-6)


def test_steps_are_shortened_where_an_input_wakes_up():
    """At the points of the calibration, far from the corner, x0 and x1 have no slope to speak of."""
    oracle = Oracle(lambda x: np.exp(60 * (x[:, 0] + x[:, 1] - 1.97)) + x[:, 2], np.array([UNIT] * 3), 10_000)
    slopes = exact_differences(oracle, np.ones(1), np.random.default_rng(0))
    sheet = draw_sheet(np.array([2]), np.array([0.98, 0.99, 0.5]), slopes.margin, np.random.default_rng(0))
    expected = np.array([60, 60, 1])

    def check(differences):
        measured = differences(sheet.points, np.arange(3))
        return measured, (np.abs(measured.gradients[0, :, 0] - expected) / measured.errors[:, 0]).max(axis=0)

    step_check = StepCheck(slopes, tolerated := 60)
    before, wrong = check(slopes)
    assert (wrong[:2] > 50 * tolerated).all()
    assert step_check.shortened([(sheet, before)]).tolist() == [0, 1]
    after, wrong = check(step_check.differences)
    assert (wrong < tolerated).all()  # a steep function multiplies the rounding of its arguments
    assert not len(step_check.shortened([(sheet, after)]))
    again = remeasured(step_check.differences, sheet.points, before, np.arange(2))
    np.testing.assert_array_equal(again.gradients, after.gradients)
    np.testing.assert_array_equal(again.errors, after.errors)


def test_an_input_that_sleeps_during_calibration():
    """Three inputs of this function are saturated at the five points by which their step is chosen."""
    graph = RANDOM["ternary"](16, 39)
    found = from_queries(by_values(graph), [SYMMETRIC] * 16, random_state=39)
    assert found.status is DiscoveryStatus.FINISHED
    assert compare_graphs(found.graph, graph).exact
    assert found.cost.evaluations <= 12_000


# ---- channels --------------------------------------------------------------------------


def two_channels(x):
    x = np.asarray(x).T
    one = np.sin(x[0] * x[1] + x[2] * x[3] ** 2 + x[0])
    other = x[0] + np.exp(x[1] * x[2]) * x[3] - x[2] * x[0]
    return np.tanh(one * x[4] + other * np.cos(2 * x[5] + one) + x[5] * x[4])


def test_a_module_of_two_channels():
    found = ask(two_channels, 6, bounds=SYMMETRIC)
    (node,) = (n for n in found.graph.nodes if n.channels > 1)
    assert (node.channels, set(node.parents)) == (2, set("abcd"))
    (evidence,) = found.evidence_for(set("abcd"))
    assert evidence.channels == 2
    assert evidence.value < evidence.threshold


def test_prime_nodes_are_not_split_into_channels():
    def quadratic(x):
        x = np.asarray(x)
        rng = np.random.default_rng(0)
        return np.tanh(np.einsum("ni,ij,nj->n", x, rng.uniform(-1, 1, (6, 6)), x) + x @ rng.uniform(-1, 1, 6))

    found = ask(quadratic, 6, bounds=SYMMETRIC)
    assert [(n.arity, n.channels) for n in found.graph.nodes] == [(6, 1)]
    assert any("one prime node" in caveat for caveat in found.caveats)


# ---- several outputs -------------------------------------------------------------------


@pytest.mark.parametrize("autograd", [False, True], ids=["differences", "autograd"])
def test_outputs_share_the_modules_they_have_in_common(autograd):
    graph = FunctionGraph.from_expression(
        ["tanh(a*b + a) + c", "(a*b + a)**3 * d + d", "a*b + b + c*d", "exp(a*b + a)"], ["a", "b", "c", "d"]
    )
    found = ask(graph if autograd else by_values(graph), 4)
    assert found.graph.outputs == ("y0", "y1", "y2", "y3")
    with_both = [n.name for n in found.graph.nodes if set(n.parents) == {"a", "b"}]
    assert len(with_both) == 2  # a*b + a once for three outputs, a*b + b once
    users = {e.outputs for e in found.evidence if e.members == {"a", "b"}}
    assert users == {("y0", "y1", "y3"), ("y2",)}


def test_outputs_that_depend_on_different_inputs():
    found = ask(lambda x: np.stack([x[:, 0], x[:, 1] * x[:, 2]], axis=1), 4, outputs=["p", "q"])
    assert found.inputs_of("p") == {"a"}
    assert found.inputs_of("q") == {"b", "c"}
    assert found.inert == ("d",)

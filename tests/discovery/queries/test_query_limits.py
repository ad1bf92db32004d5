"""Graphs of callables: budgets, interruptions, evidence, noise, bad input."""

import time

import numpy as np
import pytest
from tests.discovery.queries.callables import SYMMETRIC, UNIT, ask, by_values, kinked_tree, smooth_in_torch, tree_of

from compsparse.discovery import Discovery, DiscoveryStatus
from compsparse.discovery.queries import from_queries
from compsparse.errors import ConfigError, DataError
from compsparse.graph import FunctionGraph, compare_graphs, input_names
from compsparse.tasks import (
    sincos_tree,
    tanh_tree,
)

# ---- budget, time, interruption --------------------------------------------------------


class Counted:
    def __init__(self, f, stop_after=None):
        self.f, self.rows, self.stop_after = f, 0, stop_after

    def __call__(self, x):
        self.rows += len(x)
        if self.stop_after is not None and self.rows > self.stop_after:
            raise KeyboardInterrupt
        return self.f(np.asarray(x))


@pytest.mark.parametrize("budget", [1000, 1777, 4000, None])
def test_the_budget_is_kept(budget):
    graph = kinked_tree(6, 3)
    f = Counted(graph)
    found = from_queries(f, [SYMMETRIC] * 6, random_state=0, budget=budget)
    # the trial call with a tensor is refused by the counter after its row is counted
    assert f.rows == found.cost.evaluations <= found.cost.budget
    assert found.cost.budget == (100_000 if budget is None else budget)


def test_a_budget_that_ends_early_gives_the_best_graph_so_far():
    alternating = FunctionGraph.from_expression(
        "max(min(max(a, b), max(c, d)), min(max(e, f), max(g, h)))", list("abcdefgh")
    )
    found = ask(by_values(alternating), 8, budget=3000)
    assert found.status is DiscoveryStatus.OUT_OF_QUERIES
    assert found.caveats
    assert Discovery.from_json(found.to_json()).graph == found.graph


def test_too_small_a_budget_says_how_much_is_needed():
    f = by_values(tanh_tree().graph)
    with pytest.raises(ConfigError, match=r"budget of 100 .* at least (\d+) are needed") as error:
        from_queries(f, [SYMMETRIC] * 8, budget=100)
    needed = int(str(error.value).split("at least ")[1].split()[0])
    assert from_queries(f, [SYMMETRIC] * 8, budget=needed).cost.evaluations <= needed


@pytest.mark.parametrize("rows", [1, 300, 1500, 4000])
def test_interruption_gives_the_best_graph_so_far(rows):
    alternating = FunctionGraph.from_expression("max(min(a, b), min(c, d)) + max(e, f)", list("abcdef"))
    found = ask(Counted(alternating, stop_after=rows), 6)
    assert found.status in (DiscoveryStatus.INTERRUPTED, DiscoveryStatus.FINISHED)
    assert rows > 1000 or found.status is DiscoveryStatus.INTERRUPTED
    assert found.graph.inputs == tuple("abcdef")
    assert found.evidence


def test_a_time_limit_that_is_over_at_once():
    found = ask(by_values(tanh_tree().graph), 8, time_limit=1e-9)
    assert found.status is DiscoveryStatus.OUT_OF_TIME
    assert found.graph.size == 1
    assert "nothing is known" in found.caveats[0]


def test_outputs_keep_their_names_when_nothing_is_known():
    found = ask(by_values(tanh_tree().graph), 8, time_limit=1e-9, outputs=["p", "q"])
    assert found.graph.outputs == ("p", "q")
    assert [(e.outputs, e.sentence) for e in found.evidence] == [
        (("p",), "were not put to the test"),
        (("q",), "were not put to the test"),
    ]


def test_a_time_limit_in_the_middle():
    asked = []

    def slow(x):
        asked.append(len(x))
        if len(asked) > 40:
            time.sleep(0.02)
        return tanh_tree().graph(np.asarray(x))

    found = ask(slow, 8, time_limit=0.2, budget=10**6, noise=0.5)  # noise assumed so high that it cannot finish
    assert found.status is DiscoveryStatus.OUT_OF_TIME
    assert found.cost.evaluations >= sum(asked)


def test_the_same_seed_gives_the_same_answer():
    one, other = (from_queries(by_values(kinked_tree(6, 1)), [SYMMETRIC] * 6, random_state=3) for _ in range(2))
    assert (one.graph, one.evidence, one.cost.evaluations) == (other.graph, other.evidence, other.cost.evaluations)


def test_progress_hears_how_much_of_the_budget_is_spent():
    heard = []

    class Listener:
        def update(self, done, total, message=""):
            heard.append((done, total))

    found = ask(by_values(tanh_tree().graph), 8, progress=Listener(), budget=9000)
    assert heard == sorted(heard)
    assert heard[-1][0] <= found.cost.evaluations
    assert {total for _, total in heard} == {9000}


# ---- evidence --------------------------------------------------------------------------


def test_evidence_for_every_module():
    found = ask(by_values(tanh_tree().graph), 8, names=input_names(8), bounds=SYMMETRIC)
    assert {e.members for e in found.evidence} == found.graph.modules | {frozenset(input_names(8))}
    assert all(e.statistic == "direction change" and e.value < e.threshold for e in found.evidence)
    assert all(e.recurrence == 1 for e in found.evidence)


def test_jumps_are_named_in_a_caveat():
    found = ask(lambda x: np.tanh(x[:, 0] * x[:, 1]) + (x[:, 2] > 0.5), 3)
    assert tree_of(found) == {("abc", None), ("ab", None)}
    assert any("along c" in caveat for caveat in found.caveats)


def test_an_input_that_rarely_acts_is_not_inert():
    found = ask(lambda x: x[:, 0] * x[:, 1] + np.maximum(x[:, 2] + x[:, 0] - 1.8, 0), 4)
    assert found.inert == ("d",)


# ---- noise -----------------------------------------------------------------------------


def with_noise(task, level, seed):
    rng = np.random.default_rng(seed)

    def f(x):
        clean = task.graph(np.asarray(x))
        return clean + level * task.scale * rng.standard_normal(clean.shape)

    return f


@pytest.mark.parametrize("task", [tanh_tree(), sincos_tree()], ids=lambda t: t.name)
@pytest.mark.parametrize("noise", [None, 1e-3], ids=["estimated", "assumed"])
def test_noise_in_the_answers(task, noise):
    found = from_queries(with_noise(task, 1e-3, 5), task.inputs.bounds, noise=noise, random_state=5)
    assert compare_graphs(found.graph, task.graph).exact
    assert found.noise.origin == ("estimated" if noise is None else "assumed")
    assert found.noise.level == pytest.approx(1e-3, rel=0.3)


def test_outputs_share_modules_in_noise():
    rng = np.random.default_rng(1)

    def f(x):
        g = np.sin(3 * x[:, 0] * x[:, 1] + x[:, 0])
        clean = np.stack([g + x[:, 2], g * x[:, 2] + x[:, 3]], axis=1)
        return clean + 1e-4 * rng.standard_normal(clean.shape)

    found = ask(f, 4)
    assert {e.outputs for e in found.evidence if e.members == {"a", "b"}} == {("y0", "y1")}


def test_inert_inputs_in_noise():
    rng = np.random.default_rng(1)
    found = ask(lambda x: np.sin(3 * x[:, 0] * x[:, 1]) + x[:, 2] + 1e-3 * rng.standard_normal(len(x)), 5)
    assert tree_of(found) == {("abc", None), ("ab", None)}
    assert found.inert == ("d", "e")


def test_noise_that_hides_interactions_is_said_to():
    rng = np.random.default_rng(1)
    found = ask(lambda x: x[:, 0] * x[:, 1] + x[:, 2] + 0.1 * rng.standard_normal(len(x)), 3, budget=20_000)
    assert found.status is DiscoveryStatus.OUT_OF_QUERIES
    assert any("radians" in caveat for caveat in found.caveats)


def test_exact_answers_have_no_noise():
    assert ask(smooth_in_torch, 4).noise is None
    assert ask(smooth_in_torch, 4, noise=0).noise is None


# ---- bad input -------------------------------------------------------------------------


def first(x):
    return np.asarray(x)[:, 0]


BAD_REQUESTS = {
    "zero width": ({"bounds": [(0, 1), (2, 2)]}, ConfigError, r"input 'x1' .* low < high, got \(2, 2\)"),
    "not finite": ({"bounds": [(0, np.inf)]}, ConfigError, "bounds of input 'x0' must be a finite number"),
    "infinite width": ({"bounds": [(-1.7e308, 1.7e308)]}, ConfigError, "input 'x0' must be a finite distance apart"),
    "too narrow": ({"bounds": [(1e12, 1e12 + 1)]}, ConfigError, "closer than floats can resolve"),
    "shape": ({"bounds": [0, 1]}, ConfigError, r"sequence of \(low, high\)"),
    "no bounds": ({"bounds": []}, ConfigError, r"sequence of \(low, high\)"),
    "words": ({"bounds": ["ab", "cd"]}, ConfigError, "bounds of input 'x0' must be a finite number"),
    "twice": ({"names": ["a", "a"]}, ConfigError, "two inputs are named 'a'"),
    "too few names": ({"names": ["a"]}, ConfigError, "2 inputs need as many names, got 1"),
    "name of a number": ({"names": ["a", 3]}, ConfigError, "non-empty text, got 3"),
    "an output like an input": ({"names": ["a", "b"], "outputs": ["a"]}, ConfigError, "'a' is both"),
    "too many outputs": ({"outputs": ["p", "q"]}, ConfigError, "1 output need as many names, got 2"),
    "budget": ({"budget": 0}, ConfigError, "budget must be a whole number >= 1, got 0"),
    "noise": ({"noise": -0.1}, ConfigError, "noise, a share of the answers' standard deviation, must be"),
    "seed": ({"random_state": -1}, ConfigError, "random_state must be a whole number >= 0, got -1"),
    "time": ({"time_limit": 0}, ConfigError, "time_limit must be a finite number > 0, got 0"),
    "not callable": ({"f": 3}, DataError, "expected a callable, got int"),
    "raises": ({"f": lambda x: 1 / 0}, DataError, "raised ZeroDivisionError: division by zero"),
    "too few rows": ({"f": lambda x: first(x)[:3]}, DataError, r"shape \(48,\) or \(48, k\), got shape \(3,\)"),
    "three axes": ({"f": lambda x: np.zeros((len(x), 1, 1))}, DataError, r"got shape \(48, 1, 1\)"),
    "words for numbers": ({"f": lambda x: ["a"] * len(x)}, DataError, "real numbers, got list"),
    "complex": ({"f": lambda x: 1j * first(x)}, DataError, "complex128"),
    "nothing": ({"f": lambda x: None}, DataError, "real numbers, got NoneType"),
    "nan": ({"f": lambda x: np.where(first(x) > 0.5, np.nan, first(x))}, DataError, r"the function is nan at \("),
    "inf": ({"f": lambda x: np.where(first(x) > 0.5, np.inf, first(x))}, DataError, r"the function is inf at \("),
    "constant": ({"f": lambda x: 0 * first(x) + 3}, DataError, "output 'y' is constant over the bounds"),
    "steps": ({"f": lambda x: np.floor(9 * first(x))}, DataError, "changes by jumps alone"),
}


@pytest.mark.parametrize(("changes", "error", "message"), BAD_REQUESTS.values(), ids=BAD_REQUESTS.keys())
def test_bad_requests_get_one_sentence(changes, error, message):
    request = {"f": first, "bounds": [UNIT, UNIT], "random_state": 0} | changes
    with pytest.raises(error, match=message):
        from_queries(**request)


def test_an_error_inside_the_function_is_chained():
    with pytest.raises(DataError) as caught:
        from_queries(lambda x: {}["no such key"], [UNIT])
    assert isinstance(caught.value.__cause__, KeyError)


def test_nothing_but_noise():
    rng = np.random.default_rng(0)
    with pytest.raises(DataError, match="all inputs are inert"):
        ask(lambda x: rng.standard_normal(len(x)), 3, budget=20_000)


def test_default_names_stay_apart():
    found = from_queries(lambda x: x[:, 0] * x[:, 1], [UNIT] * 2, ["y", "y_"], random_state=0)
    assert found.graph.outputs == ("y__",)
    found = from_queries(lambda x: x[:, 0] * x[:, 1], [UNIT] * 2, outputs="x1", random_state=0)
    assert found.graph.inputs == ("x0_", "x1_")

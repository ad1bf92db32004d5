import numpy as np
import pytest
from sklearn.datasets import make_friedman1, make_friedman2, make_friedman3

from compsparse.errors import ConfigError
from compsparse.graph import balanced_tree, random_dag
from compsparse.tasks import (
    Task,
    borehole,
    box,
    friedman1,
    friedman2,
    friedman3,
    glued_joints,
    random_target,
    shared_dag,
    sincos_tree,
    tanh_tree,
)

ALL = [tanh_tree(), sincos_tree(), shared_dag(), friedman1(), friedman2(), friedman3(), borehole(), glued_joints()]


@pytest.mark.parametrize(
    ("task", "make"), [(friedman1(), make_friedman1), (friedman2(), make_friedman2), (friedman3(), make_friedman3)]
)
def test_friedmans_functions_are_scikit_learns(task, make):
    X, y = make(200, random_state=0)
    np.testing.assert_allclose(task.graph(X), y, rtol=1e-10)


def test_the_benchmark_targets_by_hand():
    x = np.random.default_rng(0).uniform(-1, 1, (100, 8))

    def tree(h):
        level = list(x.T)
        while len(level) > 1:
            level = [h(a, b) for a, b in zip(level[::2], level[1::2], strict=True)]
        return level[0]

    np.testing.assert_allclose(tanh_tree().graph(x), tree(lambda a, b: np.tanh(1.2 * a * b + a - 0.8 * b + 0.3)))
    np.testing.assert_allclose(
        sincos_tree().graph(x), tree(lambda a, b: np.sin(2 * a + 1) * np.cos(1.5 * b) + 0.5 * a * b)
    )
    u, v = np.sin(2 * x[:, 0] * x[:, 1] + x[:, 2]), np.exp(-((x[:, 3] - x[:, 4]) ** 2))
    w = x[:, 5] * np.sqrt(1 + x[:, 6] ** 2) + x[:, 7]
    np.testing.assert_allclose(shared_dag().graph(x), np.tanh(2 * u * v) + 0.5 * np.cos(2 * w * u))


def test_the_borehole_by_hand():
    rw, r, Tu, Hu, Tl, Hl, L, Kw = 0.1, 25_000, 90_000, 1050, 90, 760, 1400, 11_000
    log = np.log(r / rw)
    expected = 2 * np.pi * Tu * (Hu - Hl) / (log * (1 + 2 * L * Tu / (log * rw**2 * Kw) + Tu / Tl))
    assert borehole().graph(np.array([[rw, r, Tu, Hu, Tl, Hl, L, Kw]]))[0] == pytest.approx(expected)
    assert {frozenset({"Hu", "Hl"}), frozenset({"L", "Kw"})} <= borehole().graph.modules


def test_the_glued_joints_by_hand():
    task = glued_joints()
    best = dict.fromkeys(task.graph.inputs, 1.0) | {
        "resin_flow": 200, "hardener_flow": 100, "cure_temperature": 150, "cure_time": 20, "humidity": 30
    }  # fmt: skip
    hotter = best | {"cure_temperature": 170, "cure_time": 20 / np.e}
    off = best | {"resin_flow": 220, "cure_temperature": 164}
    rows = np.array([list(row.values()) for row in (best, hotter, off)])
    np.testing.assert_allclose(task.graph(rows), [29, 29, 12 + 9 / np.e + 8 / np.e])
    assert task.graph.modules == {
        frozenset({"resin_flow", "hardener_flow"}),
        frozenset({"cure_temperature", "cure_time"}),
    }
    assert len(task.graph.inputs) == 60
    assert len(task.graph.inert) == 55


@pytest.mark.parametrize("task", ALL, ids=lambda t: t.name)
def test_samples_repeat_and_noise_is_what_it_says(task):
    a, b = task.sample(50, random_state=1), task.sample(50, random_state=1)
    np.testing.assert_array_equal(a.y, b.y)
    np.testing.assert_array_equal(a.y, a.clean)
    low, high = np.array(task.inputs.bounds).T
    assert ((low <= a.X) & (high >= a.X)).all()
    noisy = task.with_noise(0.1).sample(20_000, random_state=1)
    np.testing.assert_array_equal(task.with_noise(0.1).sample(50, random_state=1).X, a.X)
    ratio = (noisy.y - noisy.clean).std() / noisy.clean.std()
    assert ratio == pytest.approx(0.1, rel=0.05)


def test_correlated_inputs_are_correlated_and_stay_in_their_range():
    sample = tanh_tree().with_correlation(0.5).sample(20_000, random_state=0)
    correlation = np.corrcoef(sample.X.T)
    assert correlation[0, 1] == pytest.approx(6 / np.pi * np.arcsin(0.25), abs=0.02)
    assert sample.X.min() >= -1
    assert sample.X.std() == pytest.approx(1 / np.sqrt(3), rel=0.02)


@pytest.mark.parametrize("graph", [balanced_tree(6, arity=3), random_dag(5, 9, 3, random_state=0)])
def test_random_targets_live_on_the_given_graph(graph):
    task = random_target(graph, random_state=0)
    assert task.graph.structure() == graph.structure()
    assert task.graph == random_target(graph, random_state=0).graph
    assert task.sample(500, random_state=0).y.std() > 0.05


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tanh_tree().sample(0), "n must be a whole number >= 1, got 0"),
        (lambda: tanh_tree().sample(1.5), "n must be a whole number >= 1, got 1.5"),
        (lambda: tanh_tree().sample(5, random_state=-1), "random_state must be a whole number >= 0, got -1"),
        (lambda: tanh_tree().sample(5, random_state=0.5), "random_state must be a whole number >= 0, got 0.5"),
        (lambda: random_target(balanced_tree(4), random_state="one"), "random_state must be"),
        (lambda: tanh_tree(noise=-1), "noise must be a finite number >= 0"),
        (lambda: friedman1(4), "n_inputs must be a whole number >= 5, got 4"),
        (lambda: tanh_tree(0), "n_inputs must be a whole number >= 1"),
        (lambda: Task("t", balanced_tree(4), box(4)), "needs a graph whose constituents are known"),
        (lambda: Task("t", tanh_tree().graph, box(4)), "8 inputs need as many bounds, got 4"),
        (lambda: tanh_tree().with_correlation(1.0), "correlation must be a finite number >= 0 and < 1"),
        (lambda: box(2, 1, 0), "low < high"),
        (lambda: box(0), "d must be a whole number >= 1"),
    ],
)
def test_impossible_tasks_are_refused(make, message):
    with pytest.raises(ConfigError, match=message):
        make()

import numpy as np
import pytest

from compsparse.discovery import discover
from compsparse.errors import ConfigError
from compsparse.tasks import dense_target

KINDS = ("quadratic", "waves", "network", "cycle", "quotient")


@pytest.mark.parametrize("kind", KINDS)
def test_queries_find_no_module_and_nothing_inert(kind):
    for seed in (0, 1):
        task = dense_target(kind, random_state=seed)
        found = discover(task.graph, bounds=task.inputs.bounds, random_state=seed)
        assert found.graph.modules == task.graph.modules == frozenset()
        assert found.inert == ()
        root = found.graph.module_tree
        assert (root.kind, len(root.children)) == ("prime", 8)


@pytest.mark.parametrize("kind", KINDS)
def test_the_seed_decides_the_function(kind):
    a, b = dense_target(kind, random_state=3), dense_target(kind, random_state=3)
    assert a.graph == b.graph != dense_target(kind, random_state=4).graph
    y = a.sample(1000, random_state=0).y
    assert np.isfinite(y).all()
    assert y.std() > 0.05


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: dense_target("round"), "kind"),
        (lambda: dense_target("cycle", 4), "n_inputs must be a whole number >= 5, got 4"),
        (lambda: dense_target("cycle", 26), "n_inputs"),
        (lambda: dense_target("cycle", noise=-1), "noise must be"),
    ],
)
def test_impossible_dense_targets_are_refused(make, message):
    with pytest.raises(ConfigError, match=message):
        make()

import numpy as np
import pytest

import compsparse as cs
from compsparse.errors import ConfigError, DataError
from compsparse.training import TrainingConfig, sparse_fit

RNG = np.random.default_rng(0)
X = 3 + 2 * RNG.standard_normal((500, 12))
Y = 10 * np.abs(X[:, 0] - X[:, 1]) + 5
QUICK = TrainingConfig(n_steps=200, batch_size=64, learning_rate=1e-2, weight_decay=0)


@pytest.mark.parametrize("method", ["l1", "l2", "group_inputs", "prune", "regrow"])
def test_every_method_predicts_and_shows_its_wires(method):
    config = (
        TrainingConfig(n_steps=60, batch_size=64, learning_rate=3e-2, weight_decay=0) if method == "prune" else QUICK
    )
    fit = sparse_fit(X, Y, method, width=24, config=config, random_state=0)
    unexplained = np.mean((fit.predict(X) - Y) ** 2) / Y.var()
    assert unexplained < 0.25
    assert fit.path[fit.chosen].validation_loss == min(p.validation_loss for p in fit.path)
    assert {"x0", "x1"} <= set(fit.graph.ancestors("y"))
    n_wires = sum(len([p for p in n.parents if p.startswith("x")]) for n in fit.graph.nodes)
    assert n_wires <= round(fit.density * 24 * 12)


def test_l1_leaves_out_what_does_not_matter():
    names = [f"c{i}" for i in range(12)]
    fit = sparse_fit(X, Y, strengths=[1.0], width=24, config=QUICK, names=names, random_state=0)
    assert set(fit.graph.inputs) == set(names)
    assert len(fit.graph.inert) >= 6
    assert not {"c0", "c1"} & set(fit.graph.inert)


def test_classes_can_be_fitted():
    y = (X[:, 0] > X[:, 1]).astype(int)
    fit = cs.sparse_fit(X, y, "l1", classification=True, width=16, config=QUICK, random_state=0)
    assert (fit.predict(X) == y).mean() > 0.93


def test_the_same_seed_gives_the_same_fit():
    one, two = (sparse_fit(X, Y, width=8, config=QUICK, random_state=3).predict(X[:5]) for _ in range(2))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: sparse_fit(X, Y, "l3"), ConfigError, "method must be one of"),
        (lambda: sparse_fit(X, Y, "prune", strengths=[0.1]), ConfigError, "give no strengths"),
        (lambda: sparse_fit(X, Y, strengths=[]), ConfigError, "at least one number"),
        (lambda: sparse_fit(X[:3], Y[:3]), DataError, "at least 5 rows"),
        (lambda: sparse_fit(X, Y[:9]), DataError, "X has 500 rows but y has 9"),
        (lambda: sparse_fit(X, Y, validation_fraction=1.0), ConfigError, "validation_fraction"),
    ],
)
def test_bad_requests_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()

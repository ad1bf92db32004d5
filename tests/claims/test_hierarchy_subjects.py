"""The rules by which claims on hierarchies are judged, and the data they make."""

from dataclasses import replace

import numpy as np
import pytest

from compsparse.claims import Outcome, all_claims
from compsparse.claims.subjects import hierarchy_laws, hierarchy_transfer
from compsparse.measures import Threshold, fit_law
from compsparse.sweeps.kinds.hierarchy import HierarchyRun


def measured(value: float, natural: int = 64) -> object:
    class Point:
        p_star = Threshold(value, value, value, 0.9, True)

    Point.natural = natural
    return Point()


@pytest.mark.parametrize(
    ("exponent", "noise", "outcome"),
    [(2.0, 0.01, Outcome.SUPPORTED), (3.0, 0.01, Outcome.REFUTED), (2.0, 1.5, Outcome.INCONCLUSIVE)],
)
def test_laws_are_judged_by_exponent_and_interval(exponent, noise, outcome):
    rng = np.random.default_rng(0)
    x = np.array([1.0, 2.0, 3.0, 4.0])
    y = 5 * x**exponent * np.exp(noise * rng.standard_normal(4))
    law = fit_law({"x": x}, y)
    finding = hierarchy_laws._finding(law, {"x": (2.0, 0.3)}, [measured(v) for v in y], figure=None)
    assert finding.outcome is outcome


def test_what_was_not_bracketed_supports_nothing():
    law = fit_law({"x": [1.0, 2.0, 4.0]}, [1.0, 4.0, 16.1])
    point = measured(4.0)
    point.p_star = replace(point.p_star, bracketed=False)
    finding = hierarchy_laws._finding(law, {"x": (2.0, 0.3)}, [point], figure=None)
    assert finding.outcome is Outcome.INCONCLUSIVE


def test_spread_data_keep_to_the_first_slots_and_to_the_rules():
    spec = HierarchyRun(n_train=150, n_features=4, n_empty=2, n_test=500)
    train, test = hierarchy_transfer._spread(spec, narrow=1, n_train=200)
    assert all(set((level % 3).ravel()) == {0, 1} for level in train.slots)
    np.testing.assert_array_equal(spec.model.read(train.X).y, train.y)
    assert not {row.tobytes() for row in train.X} & {row.tobytes() for row in test.X}


def test_hierarchies_have_their_claims():
    names = set(all_claims())
    assert {"hierarchy-sample-complexity", "sparse-hierarchy-cnn", "sparse-hierarchy-lcn"} <= names
    assert all(set(c.profiles) == {"quick", "full"} for n, c in all_claims().items() if "hierarchy" in n)

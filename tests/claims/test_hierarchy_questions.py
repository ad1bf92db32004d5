"""Rules of the claims on open questions of the sparse hierarchy, and the data they make."""

import numpy as np
import pytest

from compsparse.claims import Outcome
from compsparse.claims.subjects import hierarchy_questions as questions
from compsparse.tasks import SparseRandomHierarchy, one_hot

S, R, U = Outcome.SUPPORTED, Outcome.REFUTED, Outcome.INCONCLUSIVE
SIZES = [100.0 * 2**k for k in range(8)]


def curve(p_star, noise=0.0):
    """Errors of three seeds that fall through 0.1 at P*."""
    return {n: [float(np.clip(0.1 * (p_star * (1 + e) / n) ** 2, 0, 0.8)) for e in (-noise, 0, noise)] for n in SIZES}


def moves(p_star, sensitivity=0.02):
    values = sensitivity + np.array([-0.005, 0.0, 0.005])
    return questions._Moves(curve(p_star), values, values)


@pytest.mark.parametrize(
    ("real", "sensitivity", "outcome"),
    [(900, 0.02, S), (900, 0.5, R), (9000, 0.02, R), (4000, 0.02, U), (1e9, 0.02, R)],
)
def test_real_moves_are_judged_by_data_and_sensitivity(real, sensitivity, outcome):
    finding = questions.judge_moves({"whole": moves(450), "real": moves(real, sensitivity)}, 3)
    assert finding.outcome is outcome


@pytest.mark.parametrize(("whole", "says"), [(1e9, "more than the largest size"), (50, "at most 100")])
def test_where_whole_moves_were_not_learned_or_at_once_real_ones_refute_nothing(whole, says):
    finding = questions.judge_moves({"whole": moves(whole), "real": moves(1e9, 0.8)}, 3)
    assert finding.outcome is U
    assert says in finding.measured_under_premises()


def test_both_kinds_of_move_are_seen_by_the_same_sensors():
    sample = SparseRandomHierarchy(4, n_empty=1).sample(30, random_state=0)
    whole, real = (questions._seen(sample, kind, 0) for kind in (False, True))
    assert whole.shape == real.shape == (30, 16, 4)
    assert set(np.unique(whole)) == {0.0, 1.0}
    assert not np.array_equal(whole, one_hot(sample.X, 4))  # the places are drawn anew
    assert np.array_equal(whole.sum(1), real.sum(1).round(5))


def row(error, sensitivity, fitted=1.0):
    return {"P": 1, "error": error, "fitted": fitted, "synonym": sensitivity, "move": 0.01, "labels": "right"}


@pytest.mark.parametrize(
    ("rows", "outcome"),
    [
        ([row(0.01, 0.8)] * 8 + [row(0.02, 0.1)] * 5 + [row(0.6, 0.9)], S),
        ([row(0.01, 0.8)] + [row(0.02, 0.1)] * 12 + [row(0.6, 0.9)], U),  # one of thirteen decides nothing
        ([row(0.02, 0.1)] * 13 + [row(0.6, 0.9)], R),
        ([row(0.01, 0.45)] * 8 + [row(0.02, 0.2)] * 5 + [row(0.6, 0.9)], U),
        ([row(0.01, 0.8, fitted=0.5)] * 13 + [row(0.6, 0.9)], U),
    ],
)
def test_networks_that_fitted_their_data_are_counted(rows, outcome):
    assert questions.judge_overfitting(rows).outcome is outcome


def test_wrong_labels_are_wrong_and_as_many_as_asked_for():
    sample = SparseRandomHierarchy(4, n_empty=1).sample(5000, random_state=0)
    changed = questions._with_wrong_labels(sample, 0.1, 3)
    assert (changed.y != sample.y).mean() == pytest.approx(0.1, abs=0.015)
    assert np.array_equal(questions._with_wrong_labels(sample, 0.0, 3).y, sample.y)
    assert changed.y.max() < 4


@pytest.mark.parametrize(("other", "outcome"), [(2500, S), (300, R), (700, U), (1e9, S)])
def test_shapes_are_judged_by_their_p_star(other, outcome):
    curves = {"deep": curve(450), "wide": curve(other)}
    assert questions.judge_shapes(curves, 3, 2.0, "wide ones", "a").outcome is outcome


def test_a_curve_that_begins_below_the_level_supports_nothing():
    assert questions.judge_shapes({"deep": curve(1), "wide": curve(450)}, 3, 2.0, "b", "a").outcome is U


def test_shapes_have_about_equally_many_weights():
    def weights(shape):
        network = questions.HierarchicalCNN(16, 3, 3, shape.patch, shape.n_layers, shape.width)
        return sum(p[0].numel() for p in network.parameters())

    counts = [weights(questions._Shape(*s)) for s in ((2, 4, 32), (16, 1, 128), (4, 2, 40))]
    assert max(counts) < 1.1 * min(counts)

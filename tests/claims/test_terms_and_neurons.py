"""Claims on terms, dictionaries, pieces and few neurons: their rules, worlds with nothing in them, and their parts."""

import numpy as np
import pytest
from tests.claims.declared import outcome_of

from compsparse.claims import Outcome
from compsparse.claims.subjects import few_neurons, terms_and_pieces

S, R, U = Outcome.SUPPORTED, Outcome.REFUTED, Outcome.INCONCLUSIVE
JITTER = np.array([0.99, 1.0, 1.01, 1.0])


@pytest.mark.parametrize(
    ("best", "first", "smooth", "outcome"),
    [(-1, -0.5, -1, S), (-0.5, -0.5, -1, R), (-1, -1, -1, R), (-0.5, -0.5, -0.5, R)],
)
def test_best_terms_must_be_ahead_where_there_are_jumps(best, first, smooth, outcome):
    values = {
        "best Haar terms, jumps": best, "first Haar terms, jumps": first, "first cosines, jumps": first,
        "first Haar terms, smooth": smooth,
    }  # fmt: skip
    assert outcome_of("best-terms-beat-first-terms", {n: v * JITTER for n, v in values.items()}) is outcome


@pytest.mark.parametrize(("ours", "without", "outcome"), [(1.0, 0.0, S), (0.0, 0.0, R), (1.0, 1.0, R)])
def test_a_dictionary_must_be_found_and_not_in_noise(ours, without, outcome):
    values = {"ours": np.full(3, ours), "signals without atoms": np.full(3, without)}
    assert outcome_of("planted-dictionary-is-recovered", values) is outcome


@pytest.mark.parametrize(("learned", "outcome"), [(0.1, S), (0.5, R), (0.6, R), (0.28, U)])
def test_learned_atoms_must_leave_less_than_both_fixed_bases(learned, outcome):
    values = {"learned": learned * JITTER, "cosines": np.full(4, 0.5), "principal": np.full(4, 0.3)}
    assert outcome_of("learned-atoms-fit-digits", values) is outcome


@pytest.mark.parametrize(
    ("width", "error", "outcome"), [(1.05, 5.0, S), (4.0, 5.0, R), (1.05, 0.1, R), (1.05, 0.4, U), (np.inf, 5.0, U)]
)
def test_linear_features_must_fit_at_n_over_d_and_say_little(width, error, outcome):
    values = {"least width times d over n, d=4": width * JITTER, "test error at that width": error * JITTER}
    name = "linear-regime-memorises-and-generalises-poorly"
    assert outcome_of(name, values | {"that of the mean": 1.0}) is outcome


@pytest.mark.parametrize(("constant", "outcome"), [(0.99, R), (0.3, S), (0.6, U)])
def test_cells_are_judged_by_two_columns(constant, outcome):
    assert outcome_of("cells-are-isometric", {"isometry constant of 2 columns, n=6, d=1": constant * JITTER}) is outcome


@pytest.mark.parametrize("d", [1, 2, 5])
def test_slabs_go_through_their_points(d):
    rng = np.random.default_rng(d)
    X, y, side = rng.standard_normal((23, d)), rng.standard_normal(23), rng.integers(0, 2, 23)
    smooth = few_neurons._relu_slabs(X, y)
    assert smooth.n_units == 4 * -(-23 // d)
    np.testing.assert_allclose(smooth(X), y, atol=1e-7)
    for classes in (side, 1 - side):
        np.testing.assert_array_equal(few_neurons._threshold_slabs(X, classes)(X), classes)


def test_features_are_derivatives_of_a_network():
    rng = np.random.default_rng(0)
    X, W, V = (rng.standard_normal(shape) for shape in ((6, 3), (4, 3), (4, 3)))
    step = 1e-6
    moved = (np.maximum(X @ (W + step * V).T, 0) - np.maximum(X @ W.T, 0)).sum(1) / step
    np.testing.assert_allclose(few_neurons._tangents(X, W) @ V.ravel(), moved, atol=1e-6)
    features = few_neurons._tangents(X, W)
    np.testing.assert_allclose(few_neurons._kernel(X, X, W), features @ features.T)


@pytest.mark.parametrize(("n_pieces", "least"), [(1, 3), (2, 2), (3, 1), (4, 0)])
def test_signs_of_few_pieces_against_all_labellings(n_pieces, least):
    """By trial of every way in which the signs of eight points can fall into at most so many runs."""
    teeth = np.arange(8) % 2
    wrong = [
        int((signs != teeth).sum())
        for signs in ((np.arange(256)[:, None] >> np.arange(8)) & 1)
        if (np.diff(signs) != 0).sum() + 1 <= 2 * n_pieces
    ]
    assert min(wrong) == least
    assert terms_and_pieces.least_wrong(8, n_pieces) * 8 == least

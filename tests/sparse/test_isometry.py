"""Dictionaries, their coherence and their isometry constants, against brute force and closed forms."""

from itertools import combinations

import numpy as np
import pytest

from compsparse.certificate import Rigour
from compsparse.errors import ConfigError, DataError
from compsparse.sparse import (
    SparseCodes,
    check_dictionary,
    coherence,
    equiangular_frame,
    gaussian_dictionary,
    isometry_constant,
    isometry_lower_bound,
    isometry_upper_bound,
    recoverable_sparsity,
    spikes_and_dct,
    spikes_and_hadamard,
    weak_threshold,
    welch_bound,
)

DICTIONARIES = {
    "gaussian": gaussian_dictionary(6, 11, random_state=0),
    "hadamard": spikes_and_hadamard(4),
    "dct": spikes_and_dct(5),
    "equiangular": equiangular_frame(5, 10),
    "not unit": gaussian_dictionary(5, 9, random_state=1) * np.linspace(0.5, 1.4, 9),
}
each = pytest.mark.parametrize("W", DICTIONARIES.values(), ids=DICTIONARIES)


def by_hand(W: np.ndarray, k: int) -> float:
    """Singular values of every submatrix, one at a time."""
    worst = 0.0
    for support in combinations(range(W.shape[1]), k):
        s = np.linalg.svd(W[:, support], compute_uv=False)
        least = s[-1] ** 2 if k <= W.shape[0] else 0.0
        worst = max(worst, s[0] ** 2 - 1, 1 - least)
    return worst


@each
@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_exact_constant_is_that_of_brute_force(W, k):
    found = isometry_constant(W, k)
    assert found.certificate.is_exact
    assert found.certificate.holds
    assert found.value == pytest.approx(by_hand(W, k), abs=1e-10)
    assert by_hand(W[:, found.support], k) == pytest.approx(found.value, abs=1e-10)


@each
def test_bounds_enclose_the_constant(W):
    for k in (2, 3, 4):
        low, exact, high = (
            isometry_lower_bound(W, k, random_state=0),
            isometry_constant(W, k),
            isometry_upper_bound(W, k),
        )
        assert (low.certificate.lower, low.certificate.upper) == (low.value, np.inf)
        assert (high.certificate.lower, high.certificate.upper) == (0, high.value)
        assert all(found.certificate.rigour is Rigour.RIGOROUS for found in (low, exact, high))
        assert low.value <= exact.value + 1e-12 <= high.value + 1e-11
        assert low.value == pytest.approx(exact.value)  # the search is not promised to, but does at such sizes


@pytest.mark.parametrize("name", [n for n in DICTIONARIES if n != "not unit"])
def test_of_two_columns_it_is_the_coherence(name):
    W = DICTIONARIES[name]
    mu = coherence(W)
    assert isometry_constant(W, 2).value == pytest.approx(mu)
    for k in (2, 3, 4):
        assert isometry_upper_bound(W, k).value <= (k - 1) * mu + 1e-12


def test_local_search_reaches_what_enumeration_finds():
    W = gaussian_dictionary(12, 24, random_state=3)
    assert isometry_lower_bound(W, 4, random_state=0).value == pytest.approx(isometry_constant(W, 4).value)


def test_orthonormal_columns_are_an_isometry():
    assert isometry_constant(np.eye(4), 3).value == pytest.approx(0)
    assert coherence(np.eye(4)) == 0
    assert recoverable_sparsity(np.eye(4)) == 4
    assert coherence(np.ones((3, 1))) == 0


@pytest.mark.parametrize("d", [4, 16, 64])
def test_spikes_and_hadamard(d):
    W = spikes_and_hadamard(d)
    assert coherence(W) == pytest.approx(d**-0.5)
    assert recoverable_sparsity(W) < (1 + d**0.5) / 2 <= recoverable_sparsity(W) + 1


def test_spikes_and_dct_are_two_bases():
    W = spikes_and_dct(7)
    assert np.allclose(W @ W.T, 2 * np.eye(7))
    assert coherence(W) <= (2 / 7) ** 0.5


@pytest.mark.parametrize(
    ("d", "n"),
    [(4, 5), (3, 6), (5, 10), (7, 14), (13, 26), (6, 16), (10, 16), (7, 28), (21, 28), (28, 64), (35, 120)],
)
def test_equiangular_frames_meet_the_welch_bound(d, n):
    W = equiangular_frame(d, n)
    cosines = np.abs(W.T @ W)[~np.eye(n, dtype=bool)]
    assert W.shape == (d, n)
    assert np.allclose(np.linalg.norm(W, axis=0), 1)
    assert np.allclose(cosines, welch_bound(d, n))


def test_approximate_frames_are_less_coherent_than_random_ones():
    with pytest.raises(ConfigError, match="approximate=True"):
        equiangular_frame(8, 16)
    W = equiangular_frame(8, 16, approximate=True, random_state=0)
    assert np.allclose(np.linalg.norm(W, axis=0), 1)
    assert welch_bound(8, 16) < coherence(W) < 1.4 * welch_bound(8, 16) < coherence(gaussian_dictionary(8, 16, 0))


@pytest.mark.parametrize("amplitudes", ["gaussian", "signs", "uniform", "sphere"])
def test_codes_have_k_entries_and_make_their_signals(amplitudes):
    task = SparseCodes(gaussian_dictionary(6, 10, 0), k=3, amplitudes=amplitudes)
    drawn = task.sample(2000, random_state=0)
    assert (np.count_nonzero(drawn.Z, axis=1) == 3).all()
    assert np.allclose(drawn.X, drawn.Z @ task.dictionary.T)
    assert np.allclose((drawn.Z != 0).mean(axis=0), 0.3, atol=0.05)
    if amplitudes == "sphere":
        assert np.allclose(np.linalg.norm(drawn.Z, axis=1), 1)
    again = task.sample(2000, random_state=0)
    assert np.array_equal(drawn.X, again.X)


def test_noise_has_the_size_asked_for():
    W = gaussian_dictionary(6, 10, 0)
    drawn = SparseCodes(W, k=2, noise=0.1).sample(5000, random_state=0)
    assert (drawn.X - drawn.Z @ W.T).std() == pytest.approx(0.1, rel=0.05)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: check_dictionary([[1.0, np.nan]]), "column 1"),
        (lambda: check_dictionary([[1.0, 0.0], [1.0, 0.0]]), "column 1 of the dictionary is zero"),
        (lambda: check_dictionary([1.0, 2.0]), "shape"),
        (lambda: check_dictionary([["a", "b"]]), "table of numbers"),
        (lambda: check_dictionary([[2.0, 1.0]], unit=True), "norm 2, not 1"),
        (lambda: spikes_and_hadamard(6), "powers of two"),
        (lambda: gaussian_dictionary(0, 3), "d must be a whole number >= 1"),
        (lambda: equiangular_frame(4, 4), "more vectors than dimensions"),
        (lambda: isometry_constant(np.eye(3), 4), "k must be at most the number of atoms, 3, got 4"),
        (lambda: isometry_constant(gaussian_dictionary(20, 40, 0), 12), "isometry_lower_bound"),
        (lambda: isometry_lower_bound(np.eye(3), 2, n_starts=0), "n_starts must be a whole number >= 1"),
        (lambda: SparseCodes(np.eye(3), 4), "k must be at most the number of atoms, 3, got 4"),
        (lambda: SparseCodes(np.eye(3), 1, amplitudes="loud"), "one of"),
        (lambda: SparseCodes(np.eye(3), 1, noise=-1), "noise"),
    ],
)
def test_what_is_wrong_is_said(call, message):
    with pytest.raises((ConfigError, DataError), match=message):
        call()


@pytest.mark.parametrize(("delta", "rho"), [(0.1, 0.18943), (0.25, 0.26738), (0.5, 0.38569), (0.75, 0.53371)])
def test_weak_threshold_is_that_of_donoho_and_tanner(delta, rho):
    assert weak_threshold(delta) == pytest.approx(rho, abs=5e-6)


def test_weak_threshold_needs_fewer_rows_than_columns():
    with pytest.raises(ConfigError, match="delta = d/n must be a finite number > 0 and < 1"):
        weak_threshold(1.0)

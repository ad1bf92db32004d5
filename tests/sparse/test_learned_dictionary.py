"""A planted dictionary is found again, what has none is not, and what cannot be learned is refused."""

import numpy as np
import pytest

from compsparse.errors import CompsparseError
from compsparse.sparse import SparseCodes, gaussian_dictionary, learn_dictionary, matched_atoms


@pytest.mark.parametrize("seed", [0, 1])
def test_a_planted_dictionary_is_found_again(seed):
    W = gaussian_dictionary(12, 18, random_state=seed)
    X = SparseCodes(W, 2, noise=0.02).sample(1000, random_state=seed).X
    found = learn_dictionary(X, 18, 2, random_state=seed)
    assert matched_atoms(found.dictionary, W) == 1.0
    assert found.error < 0.02
    np.testing.assert_allclose(np.linalg.norm(found.dictionary, axis=0), 1)
    assert (np.count_nonzero(found.codes, axis=1) <= 2).all()


def test_noise_has_no_atoms_to_find():
    W = gaussian_dictionary(12, 18, random_state=0)
    X = np.random.default_rng(0).standard_normal((500, 12))
    assert matched_atoms(learn_dictionary(X, 18, 2, n_iterations=5, random_state=0).dictionary, W) < 0.2


def test_one_seed_gives_one_dictionary_and_equal_signals_are_no_trouble():
    X = np.repeat(np.random.default_rng(0).standard_normal((4, 6)), 10, axis=0)
    first, second = (learn_dictionary(X, 5, 1, n_iterations=3, random_state=7) for _ in range(2))
    np.testing.assert_array_equal(first.dictionary, second.dictionary)
    assert first.dictionary.shape == (6, 5)
    assert first.error < 1e-6


def test_an_atom_matches_one_other_at_most():
    W = np.eye(4)
    assert matched_atoms(np.repeat(W[:, :1], 4, axis=1), W) == 0.25
    assert matched_atoms(W[:, ::-1] * [1, -1, 2, -3], W) == 1.0


@pytest.mark.parametrize(
    ("X", "atoms", "entries"), [(np.zeros((5, 3)), 2, 1), (np.ones((5, 3)), 9, 1), (np.ones((5, 3)), 2, 3)]
)
def test_what_cannot_be_learned_is_refused(X, atoms, entries):
    with pytest.raises(CompsparseError):
        learn_dictionary(X, atoms, entries, random_state=0)

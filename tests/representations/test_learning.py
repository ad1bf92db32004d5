"""Learning on the Boolean cube: what is promised is kept, and what cannot be known is said."""

import numpy as np
import pytest

from compsparse.errors import ConfigError, DataError
from compsparse.representations.boolean import (
    WalshPolynomial,
    junta_from_samples,
    learn_heavy_terms,
    learn_junta,
    learn_low_degree,
    spectrum,
)
from compsparse.representations.boolean.reading import all_rows


class Counted:
    def __init__(self, f):
        self.f, self.n = f, 0

    def __call__(self, x):
        self.n += len(x)
        return self.f(x)


# ---- sparse spectra by queries ---------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_all_heavy_terms_of_a_random_function_are_found(seed):
    rng = np.random.default_rng(seed)
    n = 7
    table = rng.random(1 << n) < 0.5 + 0.4 * (1 - 2 * all_rows(n)[:, 2]) * (1 - 2 * all_rows(n)[:, 5])
    truth = spectrum(table)
    f = Counted(lambda x: table[x.astype(int) @ (1 << np.arange(n)[::-1])])
    learned = learn_heavy_terms(f, n, 0.35, failure=0.01, random_state=seed)
    found = learned.polynomial.terms
    assert f.n == learned.n_values
    for s in range(1 << n):
        members = tuple(i for i in range(n) if s >> (n - 1 - i) & 1)
        exact = truth.coefficients[s]
        if abs(exact) >= 0.35:
            assert members in found
        if members in found:
            assert abs(exact) >= 0.175
            assert abs(found[members] - exact) <= learned.accuracy


def test_a_parity_of_64_inputs_is_found_among_two_to_the_64_sets():
    members = [0, 13, 31, 40, 63]
    learned = learn_heavy_terms(lambda x: x[:, members].sum(1) % 2, 64, 0.9, random_state=1)
    assert learned.polynomial.terms == {tuple(members): 1.0}
    assert learned.n_values < 20_000


def test_a_sparse_real_polynomial_is_learned():
    p = WalshPolynomial.of(30, {(): 0.1, (4, 9): 0.5, (0, 15, 29): -0.4})
    learned = learn_heavy_terms(p, 30, 0.35, random_state=0)
    assert set(learned.polynomial.terms) == {(4, 9), (0, 15, 29)}
    x = np.random.default_rng(0).integers(0, 2, (500, 30))
    assert np.abs(learned(x) - p(x)).max() <= 0.1 + 2 * learned.accuracy


def test_thresholds_that_would_never_end_are_refused():
    with pytest.raises(ConfigError, match="raise the threshold"):
        learn_heavy_terms(lambda x: x[:, 0], 64, 0.005)
    with pytest.raises(ConfigError, match="threshold"):
        learn_heavy_terms(lambda x: x[:, 0], 8, 0.0)


@pytest.mark.parametrize("f", [lambda x: x, lambda x: 3.0 * x[:, 0], lambda x: 1 / 0, lambda x: ["a"] * len(x)])
def test_answers_that_cannot_be_used(f):
    with pytest.raises(DataError):
        learn_heavy_terms(f, 4, 0.5)


# ---- low degrees from samples ----------------------------------------------------------------------


def test_low_degree_coefficients_are_within_their_accuracy():
    n, rng = 8, np.random.default_rng(0)
    table = rng.integers(0, 2, 1 << n)
    exact = spectrum(table)
    rows = rng.integers(0, 1 << n, 20_000)
    learned = learn_low_degree(all_rows(n)[rows], table[rows], degree=3, failure=0.01)
    assert learned.polynomial.n_terms == 1 + 8 + 28 + 56
    for members, value in learned.polynomial.terms.items():
        assert abs(value - exact.coefficient(members)) <= learned.accuracy
    assert learned.accuracy < 0.04


def test_a_majority_is_learned_from_degree_one():
    rng = np.random.default_rng(1)
    x, fresh = rng.integers(0, 2, (8000, 11)), rng.integers(0, 2, (4000, 11))
    learned = learn_low_degree(x, x.sum(1) > 5, degree=1)
    assert np.mean(learned.truth(fresh) == (fresh.sum(1) > 5)) > 0.95
    assert "degree 1" in learned.caveats[1]


def test_bad_samples():
    x = np.zeros((4, 3), dtype=int)
    for X, y in ((x, [0, 1]), (x, [0, 1, 5, 0]), (x[:0], []), (x + 2, [0, 0, 0, 0])):
        with pytest.raises(DataError):
            learn_low_degree(X, y, 1)
    with pytest.raises(ConfigError, match="lower degree"):
        learn_low_degree(np.zeros((2, 64), dtype=int), [0, 1], 20)


# ---- juntas ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(10))
def test_random_juntas_by_queries(seed):
    rng = np.random.default_rng(seed)
    n, k = 200, int(rng.integers(0, 6))
    members = np.sort(rng.choice(n, k, replace=False))
    table = rng.integers(0, 2, (2,) * k)
    f = Counted(lambda x: table[tuple(x[:, members].astype(int).T)] if k else np.full(len(x), int(table)))
    found = learn_junta(f, n, 5, failure=1e-4, random_state=seed)
    matter = [m for i, m in enumerate(members) if (table.take(0, i) != table.take(1, i)).any()]
    assert list(found.members) == matter
    assert found.n_values == f.n < 8000
    x = rng.integers(0, 2, (300, n))
    assert np.array_equal(found(x), f.f(x).astype(bool))
    assert np.array_equal(found.graph(x), f.f(x))
    assert set(found.graph.inert) == {f"x{i}" for i in range(n)} - {f"x{i}" for i in matter} - (
        {"x0"} if not matter else set()
    )


def test_more_inputs_than_allowed_are_named():
    with pytest.raises(DataError, match=r"more than 2 inputs: \[1, 4, 6\] all matter"):
        learn_junta(lambda x: x[:, 1] ^ x[:, 4] ^ x[:, 6], 8, 2, random_state=0)
    with pytest.raises(DataError, match="0 and 1 alone"):
        learn_junta(lambda x: 0.5 * x[:, 1], 8, 2, random_state=0)


def test_the_type_of_an_answer_decides_what_it_means():
    """Signs as whole numbers would be misread where a few of them are all 1."""
    signs = Counted(lambda x: 1 - 2 * x[:, 2].astype(int))
    for learn in (lambda: learn_junta(signs, 5, 1, random_state=0), lambda: learn_heavy_terms(signs, 5, 0.9)):
        with pytest.raises(DataError, match="0 and 1 alone"):
            learn()
    as_floats = learn_heavy_terms(lambda x: 1.0 - 2.0 * x[:, 2], 5, 0.9, random_state=0)
    as_truth = learn_heavy_terms(lambda x: x[:, 2], 5, 0.9, random_state=0)
    assert as_floats.polynomial.terms == as_truth.polynomial.terms == {(2,): 1.0}
    assert learn_junta(lambda x: x[:, 2].astype(float), 5, 1, random_state=0).members == (2,)


def test_juntas_in_samples_say_when_they_are_not_sure():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, (300, 20))
    found = junta_from_samples(x, x[:, 2] ^ (x[:, 7] | x[:, 11]), 4)
    assert found.members == (2, 7, 11)
    assert found.is_certain
    few = junta_from_samples(x[:4], x[:4, 2], 3)
    assert len(few.members) == 1
    assert few.n_consistent > 1
    assert not few.is_certain
    constant = junta_from_samples(x, np.ones(300, dtype=int), 2)
    assert constant.members == ()
    assert constant(x).all()
    with pytest.raises(DataError, match="no 2 inputs explain"):
        junta_from_samples(x, x[:, :3].sum(1) % 2, 2)
    with pytest.raises(ConfigError, match="ask for fewer inputs"):
        junta_from_samples(rng.integers(0, 2, (5, 200)), [0, 1, 0, 1, 1], 5)

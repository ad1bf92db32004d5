"""Walsh transforms and spectra against closed forms and sums written out."""

from itertools import product

import numpy as np
import pytest
from scipy.linalg import hadamard

from compsparse.errors import ConfigError, DataError
from compsparse.representations.boolean import WalshPolynomial, kernels, spectrum, walsh_transform
from compsparse.representations.boolean.bits import as_bits, as_numbers, check_bits, mask_of, members_of, ones
from compsparse.representations.boolean.reading import all_rows


def inner_product(k):
    """x1 y1 + … + xk yk modulo 2."""
    x = all_rows(2 * k)
    return (x[:, :k] * x[:, k:]).sum(1) % 2


def multiplexed(k):
    """The data bit that k address bits name."""
    x = all_rows(k + 2**k)
    address = x[:, :k] @ (1 << np.arange(k)[::-1])
    return x[np.arange(len(x)), k + address]


# ---- the transform ---------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 7, 10])
@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.float32, np.float64])
def test_the_transform_is_a_product_with_hadamards_matrix(n, dtype):
    values = np.random.default_rng(n).integers(-9, 10, 1 << n).astype(dtype)
    found = walsh_transform(values)
    assert np.array_equal(found, hadamard(1 << n) @ values.astype(np.int64))
    assert found.dtype == (np.int32 if np.dtype(dtype).kind == "i" else np.float64)


@pytest.mark.parametrize(("n", "threads"), [(15, 1), (16, 1), (17, 3), (18, 2), (20, 1)])
def test_large_tables_transform_as_their_halves(n, threads):
    values = np.random.default_rng(n).integers(-3, 4, 1 << n).astype(np.int32)
    low, high = (walsh_transform(half) for half in np.split(values, 2))
    assert 1 << n >= kernels.BLOCK
    assert np.array_equal(walsh_transform(values, n_threads=threads), np.concatenate([low + high, low - high]))


def test_the_transform_is_its_own_inverse_in_place():
    values = np.random.default_rng(0).standard_normal(1 << 17)
    work = values.copy()
    assert walsh_transform(work, overwrite=True) is work
    walsh_transform(work, overwrite=True, n_threads=2)
    assert np.allclose(work / len(work), values, atol=1e-12)


def test_whole_numbers_that_need_64_bits_get_them():
    large = np.full(8, 2**30)
    assert walsh_transform(large).tolist() == [2**33] + [0] * 7
    with pytest.raises(DataError, match="pass 64 bits"):
        walsh_transform(np.full(8, 2**61))


@pytest.mark.parametrize("bad", [[1, 2, 3], [[1, 2], [3, 4]], [], "ab", [1j, 1]])
def test_what_is_no_table_is_refused(bad):
    with pytest.raises(DataError):
        walsh_transform(bad)


def test_overwriting_needs_an_array_that_can_hold_the_answer():
    for bad in ([1, 2], np.ones(4, dtype=np.int8), np.ones(8)[::2]):
        with pytest.raises(ConfigError, match="overwrite=True needs"):
            walsh_transform(bad, overwrite=True)


# ---- spectra ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 5, 12])
def test_the_conjunction_has_all_coefficients(n):
    table = np.zeros(1 << n, dtype=bool)
    table[-1] = True
    s = spectrum(table)
    expected = np.full(1 << n, 2.0 ** (1 - n)) * np.where(ones(np.arange(1 << n)) % 2, 1, -1)
    expected[0] = 1 - 2.0 ** (1 - n)
    assert np.array_equal(s.coefficients, expected)
    assert (s.sparsity, s.degree) == (1 << n, n)
    assert np.allclose(s.influences, 2.0 ** (1 - n))


@pytest.mark.parametrize("k", [1, 3, 5])
def test_the_inner_product_is_flat(k):
    s = spectrum(inner_product(k))
    assert set(np.abs(s.coefficients)) == {2.0**-k}
    assert s.sparsity == 4**k


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_multiplexer_has_four_to_the_k_terms(k):
    s = spectrum(multiplexed(k))
    assert s.sparsity == 4**k
    assert s.degree == k + 1


def test_majority_and_parity():
    majority = spectrum([0, 0, 0, 1, 0, 1, 1, 1], ["a", "b", "c"])
    assert majority.polynomial().terms == {(0,): 0.5, (1,): 0.5, (2,): 0.5, (0, 1, 2): -0.5}
    assert majority.coefficient(["a"]) == majority.coefficient([1]) == 0.5
    assert majority.coefficient(["a", "b", "c"]) == -0.5
    assert majority.largest(1) == [(("c",), 0.5)]
    parity = spectrum(all_rows(6).sum(1) % 2)
    assert parity.polynomial().terms == {tuple(range(6)): 1.0}
    assert (parity.degree, parity.sparsity, parity.total_influence) == (6, 1, 6.0)
    assert np.allclose(parity.influences, 1)


@pytest.mark.parametrize("n", [4, 17])
def test_figures_are_what_counting_says(n):
    rng = np.random.default_rng(n)
    table = rng.random(1 << n) < 0.3
    s = spectrum(table)
    cube = table.reshape((2,) * n)
    flips = [np.mean(cube != np.flip(cube, axis)) for axis in range(n)]
    assert np.allclose(s.influences, flips, atol=1e-12)
    assert s.total_influence == pytest.approx(sum(flips))
    assert s.mean == pytest.approx(1 - 2 * table.mean())
    assert s.energy == pytest.approx(1)
    assert s.parseval_gap < 1e-12
    assert s.variance == pytest.approx(1 - s.mean**2)
    assert s.stability(1) == pytest.approx(1)
    assert s.stability(0) == pytest.approx(s.mean**2)


def test_noise_sensitivity_is_how_often_noise_changes_the_value():
    n, delta = 4, 0.15
    table = np.random.default_rng(1).integers(0, 2, 1 << n)
    rows = list(product([0, 1], repeat=n))
    exact = sum(
        (table[i] != table[j]) * np.prod([delta if a != b else 1 - delta for a, b in zip(x, y, strict=True)])
        for i, x in enumerate(rows)
        for j, y in enumerate(rows)
    )
    assert spectrum(table).noise_sensitivity(delta) == pytest.approx(exact / len(rows))


def test_real_functions_keep_their_values():
    values = np.random.default_rng(2).standard_normal(1 << 9)
    s = spectrum(values)
    assert not s.is_boolean
    assert s.mean_square == pytest.approx(np.mean(values**2))
    assert s.parseval_gap < 1e-12
    assert np.allclose(s.polynomial()(all_rows(9)), values, atol=1e-12)
    two = spectrum(2.0 * all_rows(5)[:, 1] - all_rows(5)[:, 3])
    assert two.polynomial().terms == pytest.approx({(): 0.5, (3,): 0.5, (1,): -1.0})
    assert (two.sparsity, two.degree) == (3, 1)


def test_rounding_is_not_taken_for_a_coefficient():
    x = all_rows(12)
    noisy = 0.1 * (1 - 2 * x[:, 0]) + 0.7 * (1 - 2 * x[:, 5]) / 3.0
    s = spectrum(noisy)
    assert s.sparsity == 2
    assert s.tolerance < 1e-14


def test_whole_numbers_0_and_1_are_truth_values_unless_said():
    assert spectrum([0, 1]).is_boolean
    assert not spectrum([0.0, 1.0]).is_boolean
    assert not spectrum([0, 1], values="numbers").is_boolean
    assert spectrum([0.0, 1.0], values="truth").is_boolean
    assert not spectrum([0, 2]).is_boolean
    with pytest.raises(DataError, match="0 and 1 alone"):
        spectrum([0, 2], values="truth")


def test_parts_of_a_spectrum():
    s = spectrum(np.random.default_rng(3).integers(0, 2, 64))
    low = s.polynomial(degree=2)
    assert low.degree <= 2
    assert low.energy == pytest.approx(s.weights[:3].sum())
    assert s.polynomial(n_terms=5).n_terms == 5
    assert min(abs(s.polynomial(n_terms=5).coefficients)) >= np.sort(np.abs(s.coefficients))[-5]
    assert s.degree_of_energy(1.0) == s.degree
    assert s.degree_of_energy(0.0) == 0


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        ([0, 1, 1], "needs a table of shape"),
        ([0.0, np.nan], "NaN"),
        (["a", "b"], "must hold numbers"),
        (np.zeros(1 << 27, dtype=bool), "at most 26"),
    ],
)
def test_bad_tables(bad, sentence):
    with pytest.raises(DataError, match=sentence):
        spectrum(bad)


def test_unknown_inputs_are_named():
    with pytest.raises(ConfigError, match="no input 'z'"):
        spectrum([0, 1]).coefficient(["z"])
    with pytest.raises(ConfigError, match="at most 0"):
        spectrum([0, 1]).coefficient([1])


# ---- polynomials and bits --------------------------------------------------------------------------


def test_polynomials_of_64_inputs():
    p = WalshPolynomial.of(64, {(0,): 2.0, (0, 63): -1.0, (): 0.25})
    x = np.zeros((3, 64), dtype=int)
    x[1, 0] = x[2, 63] = 1
    assert p(x).tolist() == [1.25, -0.75, 3.25]
    assert (p.degree, p.n_terms, p.energy) == (2, 3, 5.0625)
    assert p.largest(1).terms == {(0,): 2.0}
    assert p.text([f"v{i}" for i in range(64)], most_terms=2) == "2 v0 - 1 v0 v63 + 1 more terms"


def test_bits_and_numbers():
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, (50, 37)).astype(np.uint8)
    assert np.array_equal(as_bits(as_numbers(bits), 37), bits)
    assert as_numbers(bits)[0] == int("".join(map(str, bits[0])), 2)
    assert members_of(mask_of([2, 0], 5), 5) == (0, 2)
    assert ones(np.array([2**64 - 1, 0], dtype=np.uint64)).tolist() == [64, 0]


@pytest.mark.parametrize("bad", [[[0, 2]], [[0.5, 1]], [[np.nan, 0]], [0, 1], [["0", "1"]], [[-1, 0]]])
def test_rows_must_be_bits(bad):
    with pytest.raises(DataError):
        check_bits("X", bad, 2)

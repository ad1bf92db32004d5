"""Claims on Boolean functions judge every outcome, and measure what they say."""

import numpy as np
import pytest

from compsparse.claims import Outcome
from compsparse.claims.subjects import circuits
from compsparse.claims.subjects.circuits import _Size, _Spectral, _Unrolled
from compsparse.progress import Silent

SIZES = (16, 32, 64, 128)


def sizes(easy=1.0, random=1.0, units=1, exact=True, noise=0.0):
    wobble = [1 + noise, 1 - noise, 1 + noise, 1 - noise]
    found = [
        _Size("sum", n, round(n**easy * w), units * round(n**easy * w), exact)
        for n, w in zip(SIZES, wobble, strict=True)
    ]
    return found + [
        _Size("random", n, round(10 * 2 ** (random * n) * w), 10, True)
        for n, w in zip((7, 9, 11, 12), wobble, strict=True)
    ]


@pytest.mark.parametrize(
    ("found", "outcome"),
    [
        (sizes(), Outcome.SUPPORTED),
        (sizes(easy=3.0), Outcome.REFUTED),
        (sizes(random=0.3), Outcome.REFUTED),
        (sizes(units=9), Outcome.REFUTED),
        (sizes(exact=False), Outcome.REFUTED),
        (sizes(easy=1.95, noise=0.3), Outcome.INCONCLUSIVE),
        (sizes(random=0.62, noise=0.4), Outcome.INCONCLUSIVE),
    ],
)
def test_equivalence_is_judged_by_growth(found, outcome):
    assert circuits.judge_equivalence(found).outcome is outcome


def machines(exponent=1.0, arity=3, agrees=True, noise=0.0):
    wobble = [1 + noise, 1 - noise, 1 + noise, 1 - noise]
    return [
        _Unrolled("parity", n, 10 * n, round((10 * n) ** exponent * w), arity, agrees)
        for n, w in zip(SIZES, wobble, strict=True)
    ]


@pytest.mark.parametrize(
    ("found", "outcome"),
    [
        (machines(), Outcome.SUPPORTED),
        (machines(exponent=2.5), Outcome.REFUTED),
        (machines(arity=4), Outcome.REFUTED),
        (machines(agrees=False), Outcome.REFUTED),
        (machines(exponent=1.95, noise=0.3), Outcome.INCONCLUSIVE),
    ],
)
def test_machines_are_judged_by_their_exponent_in_time(found, outcome):
    assert circuits.judge_machines(found).outcome is outcome


@pytest.mark.parametrize(
    ("gates", "terms", "outcome"),
    [
        (lambda n: n, lambda n: 2**n, Outcome.REFUTED),
        (lambda n: 2**n, lambda n: 2**n, Outcome.SUPPORTED),
        (lambda n: n, lambda n: 1, Outcome.INCONCLUSIVE),
    ],
)
def test_full_spectra_are_judged_by_the_gates_of_those_that_are_full(gates, terms, outcome):
    found = [_Spectral("f", n, terms(n), gates(n)) for n in (4, 8, 12, 16)]
    assert circuits.judge_spectra(found).outcome is outcome


def test_correction_5_full_spectra_of_easy_functions():
    """The memo's argument for Theorem 9 fails: all 2^n monomials (not C(2n, n)), and n - 1 gates."""
    finding = circuits.full_spectra("quick", Silent())
    assert finding.outcome is Outcome.REFUTED
    for n in (4, 8, 12, 16):
        assert finding.numbers[f"terms, conjunction, n={n}"] == 2**n
        assert finding.numbers[f"gates, conjunction, n={n}"] == n - 1
        assert finding.numbers[f"terms, inner product modulo 2, n={n}"] == 2**n
        assert finding.numbers[f"gates, inner product modulo 2, n={n}"] == n - 1


def test_machines_and_sizes_are_measured():
    for name, n in (("parity", 16), ("palindrome", 7), ("as many zeros as ones", 6)):
        found = circuits._unrolled(name, n)
        assert found.agrees
        assert found.arity <= 3
    assert circuits._easy_size("majority", 16).exact
    assert circuits._random_size(7).exact
    X = circuits._strings(12, 30)
    assert set(np.unique(X)) == {0, 1}
    assert (X[30:].sum(1) == 6).all()
    assert (X[20:30] == X[20:30, ::-1]).all()


@pytest.mark.parametrize(
    ("exponent", "bound", "noise", "outcome"),
    [
        (-1.0, np.inf, 0.02, Outcome.SUPPORTED),
        (-0.4, np.inf, 0.02, Outcome.REFUTED),
        (-2.0, np.inf, 0.02, Outcome.REFUTED),
        (-1.0, 1e-6, 0.02, Outcome.REFUTED),
        (-0.8, np.inf, 0.6, Outcome.INCONCLUSIVE),
    ],
)
def test_errors_on_bits_are_judged_by_their_exponent(exponent, bound, noise, outcome):
    found = [
        circuits._Error("f", k, float(k**exponent * (1 + noise * (-1) ** i)), k**2, bound)
        for i, k in enumerate((8, 16, 32, 64, 128))
    ]
    assert circuits.judge_bits(found).outcome is outcome


def test_the_walsh_expansion_is_exact():
    assert circuits.walsh_expansion("quick", Silent()).outcome is Outcome.SUPPORTED

r"""Which sparse codes a dictionary lets one recover: coherence, near-isometry, and the phase transition of l1.

The restricted isometry constant :math:`\delta_k` is the least :math:`\delta` for which

.. math:: (1 - \delta) \|z\|^2 \le \|W z\|^2 \le (1 + \delta) \|z\|^2 \quad\text{for all } k\text{-sparse } z,

the largest of :math:`|\lambda - 1|` over the eigenvalues of all k x k Gram matrices of columns. To find it is
NP-hard in general, so each answer carries a certificate: exact, or a bound from below or above.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from compsparse.certificate import Certificate, Rigour
from compsparse.checks import RandomState, check_count, check_number, generator_from
from compsparse.errors import ConfigError
from compsparse.sparse.dictionaries import check_dictionary
from compsparse.sparse.signals import check_n_atoms
from compsparse.sparse.supports import supports_of

_MOST_SUPPORTS = 5_000_000
_AT_ONCE = 20_000
_MOST_STARTS = 100_000


@dataclass(frozen=True)
class Isometry:
    """A restricted isometry constant, or a bound of it.

    Attributes:
        certificate: between which bounds the constant lies.
        support: the columns that attain the value; None for an upper bound.
    """

    k: int
    certificate: Certificate
    support: tuple[int, ...] | None = None

    @property
    def value(self) -> float:
        """The constant, or the bound."""
        return self.certificate.value


def coherence(W: ArrayLike) -> float:
    """The largest cosine, without its sign, between two columns.

    >>> from compsparse.sparse import spikes_and_hadamard
    >>> coherence(spikes_and_hadamard(16))
    0.25
    """
    array = check_dictionary(W)
    if array.shape[1] < 2:
        return 0.0
    unit = array / np.linalg.norm(array, axis=0)
    gram = np.abs(unit.T @ unit)
    np.fill_diagonal(gram, 0)
    return float(gram.max())


def recoverable_sparsity(W: ArrayLike) -> int:
    """The largest k < (1 + 1/mu)/2: codes of so many entries are found by l1, l0 and OMP alike (Tropp 2004).

    >>> from compsparse.sparse import spikes_and_hadamard
    >>> recoverable_sparsity(spikes_and_hadamard(16))
    2
    """
    array = check_dictionary(W)
    mu = coherence(array)
    if mu < 1e-12:
        return int(array.shape[1])
    return math.ceil((1 + 1 / mu) / 2 - 1e-9) - 1


def isometry_constant(W: ArrayLike, k: int, *, most_supports: int = _MOST_SUPPORTS) -> Isometry:
    """The exact constant, by the eigenvalues of every support of k columns.

    Args:
        most_supports: refuse to look at more.

    >>> from compsparse.sparse import equiangular_frame
    >>> isometry_constant(equiangular_frame(3, 6), k=2).certificate.is_exact
    True
    """
    gram = _gram(W, k)
    most_supports = check_count("most_supports", most_supports)
    n = len(gram)
    count = math.comb(n, k)
    if count > most_supports:
        raise ConfigError(
            f"{n} columns have {count:,} supports of {k}, more than {most_supports:,}: use isometry_lower_bound and "
            "isometry_upper_bound, or raise most_supports"
        )
    best, support = -math.inf, np.arange(k)
    for supports in supports_of(n, k, _AT_ONCE):
        values = _deviations(gram, supports)
        if values.max() > best:
            best, support = float(values.max()), supports[values.argmax()]
    return Isometry(k, _certified(k, best, best, best, f"all {count:,} supports were looked at"), _names(support))


def isometry_lower_bound(W: ArrayLike, k: int, *, n_starts: int = 32, random_state: RandomState = None) -> Isometry:
    """The worst support that a local search finds: random ones, improved by the best swap of a column for another.

    Args:
        n_starts: how many supports to start from.
    """
    gram = _gram(W, k)
    n, n_starts, rng = len(gram), check_count("n_starts", n_starts, most=_MOST_STARTS), generator_from(random_state)
    supports = np.argpartition(rng.random((n_starts, n)), k - 1, axis=1)[:, :k]
    values = _deviations(gram, supports)
    climbs = np.arange(n_starts) if k < n else np.arange(0)
    while len(climbs):
        found = [_best_swap(gram, supports[i]) for i in climbs]
        better = [(i, s, v) for i, (s, v) in zip(climbs, found, strict=True) if v > values[i] + 1e-12]
        for i, swapped, value in better:
            supports[i], values[i] = swapped, value
        climbs = np.array([i for i, _, _ in better], dtype=int)
    best = int(values.argmax())
    value = float(values[best])
    return Isometry(k, _certified(k, value, value, math.inf, "the worst support that was met"), _names(supports[best]))


def isometry_upper_bound(W: ArrayLike, k: int) -> Isometry:
    """Gershgorin's bound: the k - 1 largest inner products of a column, and how far its norm is from 1.

    For unit columns it is at most (k - 1) times the coherence.
    """
    gram = np.abs(_gram(W, k) - np.eye(np.shape(W)[1]))
    own = np.diag(gram).copy()
    np.fill_diagonal(gram, -1)
    largest = -np.sort(-gram, axis=1)[:, : k - 1]
    value = float((own + largest.sum(axis=1)).max())
    return Isometry(k, _certified(k, value, 0.0, value, "Gershgorin's circles of all columns"))


def _certified(k: int, value: float, lower: float, upper: float, obtained: str) -> Certificate:
    """Rigorous in each case: a support is a witness from below, all of them or all circles bound from above."""
    quantity = f"restricted isometry constant of {k} columns"
    return Certificate(quantity, value, lower, upper, Rigour.RIGOROUS, obtained=obtained)


def _gram(W: ArrayLike, k: int) -> np.ndarray:
    array = check_dictionary(W)
    check_n_atoms("k", k, array)
    return np.asarray(array.T @ array)


def _deviations(gram: np.ndarray, supports: np.ndarray) -> np.ndarray:
    """max(largest eigenvalue - 1, 1 - smallest) of the Gram matrix of each support."""
    values = [
        np.linalg.eigvalsh(gram[part[:, :, None], part[:, None, :]])
        for part in np.array_split(supports, math.ceil(len(supports) / _AT_ONCE))
    ]
    eigenvalues = np.concatenate(values)
    return np.asarray(np.maximum(eigenvalues[:, -1] - 1, 1 - eigenvalues[:, 0]))


def _best_swap(gram: np.ndarray, support: np.ndarray) -> tuple[np.ndarray, float]:
    """The worst of all supports that differ in one column."""
    n, k = len(gram), len(support)
    outside = np.setdiff1d(np.arange(n), support)
    swapped = np.broadcast_to(support, (k, len(outside), k)).copy()
    swapped[np.arange(k), :, np.arange(k)] = outside
    swapped = swapped.reshape(-1, k)
    values = _deviations(gram, swapped)
    return swapped[values.argmax()], float(values.max())


def _names(support: np.ndarray) -> tuple[int, ...]:
    return tuple(sorted(int(i) for i in support))


# ---- large random dictionaries -----------------------------------------------------------


def weak_threshold(delta: float) -> float:
    r"""The Donoho-Tanner weak threshold :math:`\rho(\delta)` of Gaussian dictionaries.

    With :math:`\delta = d/n` and :math:`\rho = k/d`, l1 finds almost all codes below it and almost none above, as n
    grows (Donoho and Tanner 2009). In the parametrisation of Donoho, Maleki and Montanari (2009),

    .. math:: \rho(\delta) = \max_{t \ge 0} \frac{1 - \frac2\delta g(t)}{1 + t^2 - 2 g(t)},
       \quad g(t) = (1 + t^2) \Phi(-t) - t \varphi(t).

    >>> round(weak_threshold(0.5), 5)
    0.38569
    """
    from scipy.optimize import minimize_scalar

    delta = check_number("delta = d/n", delta, above=0, below=1)

    def rho(t: float) -> float:
        tail, density = math.erfc(t / math.sqrt(2)) / 2, math.exp(-t * t / 2) / math.sqrt(2 * math.pi)
        g = (1 + t * t) * tail - t * density
        return (1 - 2 / delta * g) / (1 + t * t - 2 * g)

    # the maximum is the only one; a grid brackets it
    grid = np.linspace(0.001, 8.0, 401)
    at = int(np.argmax([rho(t) for t in grid]))
    found = minimize_scalar(
        lambda t: -rho(t), bounds=(grid[max(at - 1, 0)], grid[min(at + 1, 400)]), method="bounded",
        options={"xatol": 1e-10},
    )  # fmt: skip
    return rho(float(found.x))

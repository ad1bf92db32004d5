r"""How near a dictionary is to an isometry on sparse codes.

The restricted isometry constant :math:`\delta_k` is the least :math:`\delta` for which

.. math:: (1 - \delta) \|z\|^2 \le \|W z\|^2 \le (1 + \delta) \|z\|^2 \quad\text{for all } k\text{-sparse } z,

the largest of :math:`|\lambda - 1|` over the eigenvalues of all k x k Gram matrices of columns. To find it is
NP-hard in general, so each answer says what it is: exact, or a bound from below or above.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, combinations, islice
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from compsparse.errors import ConfigError
from compsparse.sparse.dictionaries import check_dictionary

IsometryStatus = Literal["exact", "lower bound", "upper bound"]
_MOST_SUPPORTS = 5_000_000
_AT_ONCE = 20_000


@dataclass(frozen=True)
class Isometry:
    """A restricted isometry constant, or a bound of it.

    Attributes:
        support: the columns that attain the value; None for an upper bound.
    """

    k: int
    value: float
    status: IsometryStatus
    support: tuple[int, ...] | None = None


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
    >>> isometry_constant(equiangular_frame(3, 6), k=2).status
    'exact'
    """
    gram = _gram(W, k)
    n = len(gram)
    count = math.comb(n, k)
    if count > most_supports:
        raise ConfigError(
            f"{n} columns have {count:,} supports of {k}, more than {most_supports:,}: use isometry_lower_bound and "
            "isometry_upper_bound, or raise most_supports"
        )
    best, support = -math.inf, np.arange(k)
    for supports in _all_supports(n, k):
        values = _deviations(gram, supports)
        if values.max() > best:
            best, support = float(values.max()), supports[values.argmax()]
    return Isometry(k, best, "exact", _names(support))


def isometry_lower_bound(
    W: ArrayLike, k: int, *, starts: int = 32, random_state: int | np.random.Generator | None = None
) -> Isometry:
    """The worst support that a local search finds: random ones, improved by the best swap of a column for another.

    Args:
        starts: how many supports to start from.
    """
    gram = _gram(W, k)
    n = len(gram)
    if starts < 1:
        raise ConfigError(f"starts must be at least 1, got {starts}")
    rng = np.random.default_rng(random_state)
    supports = np.argpartition(rng.random((starts, n)), k - 1, axis=1)[:, :k]
    values = _deviations(gram, supports)
    climbs = np.arange(starts) if k < n else np.arange(0)
    while len(climbs):
        found = [_best_swap(gram, supports[i]) for i in climbs]
        better = [(i, s, v) for i, (s, v) in zip(climbs, found, strict=True) if v > values[i] + 1e-12]
        for i, swapped, value in better:
            supports[i], values[i] = swapped, value
        climbs = np.array([i for i, _, _ in better], dtype=int)
    best = int(values.argmax())
    return Isometry(k, float(values[best]), "lower bound", _names(supports[best]))


def isometry_upper_bound(W: ArrayLike, k: int) -> Isometry:
    """Gershgorin's bound: the k - 1 largest inner products of a column, and how far its norm is from 1.

    For unit columns it is at most (k - 1) times the coherence.
    """
    gram = np.abs(_gram(W, k) - np.eye(np.shape(W)[1]))
    own = np.diag(gram).copy()
    np.fill_diagonal(gram, -1)
    largest = -np.sort(-gram, axis=1)[:, : k - 1]
    return Isometry(k, float((own + largest.sum(axis=1)).max()), "upper bound")


def _gram(W: ArrayLike, k: int) -> np.ndarray:
    array = check_dictionary(W)
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or not 1 <= k <= array.shape[1]:
        raise ConfigError(f"k must be an integer from 1 to the {array.shape[1]} columns, got {k!r}")
    return np.asarray(array.T @ array)


def _all_supports(n: int, k: int) -> Iterator[np.ndarray]:
    """All supports in chunks (m, k)."""
    every = combinations(range(n), k)
    while chunk := list(islice(every, _AT_ONCE)):
        yield np.fromiter(chain.from_iterable(chunk), dtype=np.intp, count=len(chunk) * k).reshape(-1, k)


def _deviations(gram: np.ndarray, supports: np.ndarray) -> np.ndarray:
    """max(largest eigenvalue - 1, 1 - smallest) of the Gram matrix of each support."""
    values = [
        np.linalg.eigvalsh(gram[part[:, :, None], part[:, None, :]])
        for part in np.array_split(supports, math.ceil(len(supports) / _AT_ONCE))
    ]
    eigenvalues = np.concatenate(values)
    return np.maximum(eigenvalues[:, -1] - 1, 1 - eigenvalues[:, 0])


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

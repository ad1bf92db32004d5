"""A dictionary learned from signals: codes by greedy search and atoms by K-SVD (Aharon, Elad, Bruckstein 2006) in turn.

A single search ends with a few atoms that mix true ones. Which these are differs from start to start, so the atoms of
several searches are put together and those that are needed least are dropped, until as many as were asked for are left.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment

from compsparse.checks import RandomState, check_count, check_number, check_numbers, generator_from
from compsparse.errors import DataError
from compsparse.sparse.pursuit import omp
from compsparse.text import in_a_line

_SAME, _ALIKE = 0.99, 0.95
"""Cosines above which two atoms are one: of one search, and of several."""
_LAST_TURNS, _MOST_TURNS = 10, 10_000


@in_a_line
@dataclass(frozen=True)
class LearnedDictionary:
    """What was learned.

    Attributes:
        dictionary: ``(d, n_atoms)``, columns of norm 1.
        codes: of the signals, by that dictionary.
        error: the share of the signals' squares that these leave.
    """

    dictionary: np.ndarray
    codes: np.ndarray
    error: float


def learn_dictionary(
    X: ArrayLike,
    n_atoms: int,
    n_nonzero: int,
    *,
    n_iterations: int = 30,
    n_restarts: int = 3,
    random_state: RandomState = None,
) -> LearnedDictionary:
    """Learns atoms of which every signal needs few.

    Args:
        X: signals as rows.
        n_nonzero: atoms a signal may use.
        n_restarts: searches whose atoms are put together.

    >>> X = np.repeat(np.eye(3), 5, axis=0)
    >>> learn_dictionary(X, 3, 1, n_iterations=5, random_state=0).error < 1e-12
    True
    """
    signals = check_numbers("X", X, shape=(None, None))
    check_count("n_atoms", n_atoms, most=len(signals))
    check_count("n_nonzero", n_nonzero, most=min(n_atoms, signals.shape[1]))
    check_count("n_iterations", n_iterations, most=_MOST_TURNS)
    check_count("n_restarts", n_restarts, most=_MOST_TURNS)
    if not signals.any():
        raise DataError("all signals are zero: there is no atom to learn")
    rng = generator_from(random_state)
    starts = [_turns(signals, _drawn(signals, n_atoms, rng), n_nonzero, n_iterations, rng) for _ in range(n_restarts)]
    W = _turns(signals, _needed(signals, np.hstack(starts), n_atoms, n_nonzero), n_nonzero, _LAST_TURNS, rng)
    codes = omp(signals, W, n_nonzero=n_nonzero).codes
    return LearnedDictionary(W, codes, float(((signals - codes @ W.T) ** 2).sum() / (signals**2).sum()))


def _turns(X: np.ndarray, W: np.ndarray, k: int, n: int, rng: np.random.Generator) -> np.ndarray:
    for _ in range(n):
        W = _better_atoms(X, W, omp(X, W, n_nonzero=k).codes, rng)
    return W


def _needed(X: np.ndarray, W: np.ndarray, n_atoms: int, k: int) -> np.ndarray:
    """The atoms of several searches, each once, without those that carry least: a third of what is too much a turn."""
    kept: list[int] = []
    for j in range(W.shape[1]):
        if not np.any(np.abs(W[:, kept].T @ W[:, j]) > _ALIKE):
            kept.append(j)
    # atoms that are alike are kept where there would be too few without them
    spare = [j for j in range(W.shape[1]) if j not in kept][: max(n_atoms - len(kept), 0)]
    W = W[:, [*kept, *spare]]
    while W.shape[1] > n_atoms:
        carried = (omp(X, W, n_nonzero=k).codes ** 2).sum(0)
        left = max(n_atoms, W.shape[1] - max(1, (W.shape[1] - n_atoms) // 3))
        W = W[:, np.sort(np.argsort(-carried)[:left])]
    return W


def _better_atoms(X: np.ndarray, W: np.ndarray, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Every atom fitted to what the others leave; one that nobody needs becomes the signal that is explained worst."""
    W, rest = W.copy(), X - codes @ W.T
    for j in range(W.shape[1]):
        users = np.flatnonzero(codes[:, j])
        others = np.delete(np.abs(W.T @ W[:, j]), j)
        mine = rest[users] + np.outer(codes[users, j], W[:, j])
        if len(users) < 2 or (len(others) and others.max() > _SAME):
            rest[users] = mine
            W[:, j] = _unit(rest[[int(np.argmax((rest**2).sum(1)))]] + 1e-6 * rng.standard_normal((1, len(W))))[:, 0]
            continue
        # one step of the power method from the old entries, which is all that a turn needs
        W[:, j] = _unit((codes[users, j] @ mine)[None])[:, 0]
        rest[users] = mine - np.outer(mine @ W[:, j], W[:, j])
    return W


def matched_atoms(found: ArrayLike, true: ArrayLike, cosine: float = 0.95) -> float:
    """The share of true atoms that a found one matches up to its sign, each at most once.

    >>> matched_atoms(-np.eye(3)[:, ::-1], np.eye(3))
    1.0
    """
    ours, theirs = (_unit(check_numbers(n, W, shape=(None, None)).T) for n, W in (("found", found), ("true", true)))
    if len(ours) != len(theirs):
        raise DataError(f"atoms of one length are matched, got {len(ours)} and {len(theirs)} entries")
    near = np.abs(theirs.T @ ours) >= check_number("cosine", cosine, least=0, most=1)
    rows, columns = linear_sum_assignment(near, maximize=True)
    return float(near[rows, columns].sum() / theirs.shape[1])


def _drawn(X: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """Signals that are not zero as atoms, each once as long as they last."""
    some = np.flatnonzero(np.linalg.norm(X, axis=1))
    return _unit(X[rng.choice(some, n, replace=n > len(some))] + 1e-6 * rng.standard_normal((n, X.shape[1])))


def _unit(rows: np.ndarray) -> np.ndarray:
    """Rows as columns of norm 1."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    units: np.ndarray = (rows / np.where(norms > 0, norms, 1.0)).T
    return units

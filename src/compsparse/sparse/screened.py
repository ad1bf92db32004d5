"""The Lasso for arrays: which search suits how many signals, in which precision, and what is left to mend."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from compsparse.clock import now
from compsparse.sparse.batches import in_batches, most_steps
from compsparse.sparse.solution import lasso_gap

LARGEST_GRAM = 8_192
"""Atoms up to which the whole Gram matrix may pay."""
_CACHED = 2**22  # bytes of a dictionary that stays in the cache: its signals are searched one by one
_TOGETHER = 16
_MOST_MENDING = 12


class LassoTask(NamedTuple):
    """Signals and dictionary of one precision, penalties and tolerances of each signal (scaling with 1/2)."""

    X: np.ndarray
    W: np.ndarray
    squares: np.ndarray  # |x|^2
    longest: float  # column of W, or more: the error of a correlation is in proportion to it
    lam: np.ndarray
    tol: np.ndarray
    positive: bool = False
    max_iter: int | None = None
    n_threads: int | None = None
    deadline: float = np.inf

    def part(self, rows: np.ndarray) -> LassoTask:
        """The same for some of the signals."""
        return self._replace(X=self.X[rows], squares=self.squares[rows], lam=self.lam[rows], tol=self.tol[rows])


class Found(NamedTuple):
    """Codes in the precision of the signals; objectives and gaps are of those codes, in double precision."""

    codes: Any  # an array, or a tensor where signals were tensors
    objective: np.ndarray
    gap: np.ndarray
    steps: np.ndarray
    left: np.ndarray


def solve_arrays(task: LassoTask, start: np.ndarray | None = None) -> Found:
    """Codes of all signals: by a search, again in double precision where single was too coarse, then by mending."""
    n, m = len(task.X), task.W.shape[1]
    found = _nothing(n, m, task.W.dtype)
    if start is None and _gram_pays(task):
        _search(task, found, by_gram=True)
        rows = _unmet(task, found)
        if len(rows):
            other = _nothing(len(rows), m, task.W.dtype)
            _search(task.part(rows), other, by_gram=False)
            _keep_better(found, rows, other)
    else:
        _search(task, found, by_gram=False, start=start)
    if task.W.dtype != np.float64:
        _in_double_precision(task, found)
    elif task.max_iter is None:
        _mend(task, found)
    return found


def _nothing(n: int, m: int, dtype: Any) -> Found:
    return Found(np.zeros((n, m), dtype), np.zeros(n), np.zeros(n), np.zeros(n, np.int64), np.zeros(n, bool))


def _unmet(task: LassoTask, found: Found) -> np.ndarray:
    """Signals whose gap is not met, though neither time nor steps ran out."""
    met = 2 * found.gap <= task.tol * task.squares
    if met.all():
        return np.zeros(0, np.int64)
    met |= found.left
    return np.flatnonzero(~(met if task.max_iter is None else met | (found.steps >= task.max_iter)))


# ---- searches ----------------------------------------------------------------------------


def _gram_pays(task: LassoTask) -> bool:
    """Whether so many signals use so many Gram rows that computing all of them at once is cheaper."""
    n, m = len(task.X), task.W.shape[1]
    if m > LARGEST_GRAM or 40 * n < m:
        return False
    if 8 * n >= m:
        return True
    first = slice(0, 4)
    return bool((np.abs(task.X[first] @ task.W).max(axis=1) > 30 * task.lam[first]).all())


def _search(task: LassoTask, found: Found, *, by_gram: bool, start: np.ndarray | None = None) -> None:
    """Writes codes of all signals; those that time left out keep their start, or the code of zeros."""
    from compsparse.sparse.searches import search_by_columns, search_by_gram

    W, none = task.W, np.zeros((0, task.W.shape[1]))
    G = W.T @ W if by_gram else none
    limits = min(W.shape[1], 4 * min(W.shape) + 64), most_steps(W, task.max_iter)
    together = 1 if W.nbytes <= _CACHED else _TOGETHER

    def work(a: slice) -> None:
        settings = task.lam[a], task.tol[a], task.positive, task.longest, *limits
        out = found.codes[a], found.objective[a], found.gap[a], found.steps[a]
        if by_gram:
            search_by_gram(task.X[a], W, G, *settings, *out)
        else:
            search_by_columns(task.X[a], W, none if start is None else start[a], *settings, together, *out)

    left = found.left
    left[:] = in_batches(len(task.X), work, task.n_threads, task.deadline)
    if left.any():
        if start is not None:
            found.codes[left] = np.maximum(start[left], 0) if task.positive else start[left]
        X, wide, codes = (v.astype(np.float64, copy=False) for v in (task.X[left], W, found.codes[left]))
        found.objective[left], found.gap[left] = lasso_gap(X, wide, codes, task.lam[left], task.positive)


# ---- what a search left ------------------------------------------------------------------


def _keep_better(found: Found, rows: np.ndarray, other: Found) -> None:
    keep = other.gap <= found.gap[rows]
    found.codes[rows[keep]] = other.codes[keep]
    found.objective[rows[keep]], found.gap[rows[keep]] = other.objective[keep], other.gap[keep]
    found.steps[rows] += other.steps
    found.left[rows] |= other.left


def _in_double_precision(task: LassoTask, found: Found) -> None:
    """Goes on in double precision; codes are rounded at the end, and the rounding is counted in their gap."""
    rows = _unmet(task, found)
    if not len(rows):
        return
    wide = task.part(rows)._replace(X=task.X[rows].astype(np.float64), W=task.W.astype(np.float64))
    other = solve_arrays(wide, found.codes[rows].astype(np.float64))
    rounded = other.codes.astype(task.W.dtype)
    above, _ = lasso_gap(wide.X, wide.W, rounded.astype(np.float64), wide.lam, wide.positive)
    gap = other.gap + np.maximum(above - other.objective, 0)
    _keep_better(found, rows, other._replace(codes=rounded, objective=above, gap=gap))


def _mend(task: LassoTask, found: Found) -> None:
    """Goes on, in place, where the gap is too large, because of ties or atoms that nearly repeat.

    The atoms whose correlation is near the bound are a small dictionary, on which the dual program is solved; atoms
    that were missing join until the gap on the whole dictionary is met.
    """
    for i in _unmet(task, found):
        one, latest = task.part(np.array([i])), found.codes[i]
        atoms = np.flatnonzero(latest)
        for _ in range(_MOST_MENDING):
            correlation = (one.X[0] - task.W @ latest) @ task.W
            near = (correlation if task.positive else np.abs(correlation)) >= 0.9 * one.lam[0]
            atoms = np.union1d(atoms, np.flatnonzero(near))
            if not len(atoms) or now() > task.deadline:
                found.left[i] |= bool(len(atoms))
                break
            latest = np.zeros(task.W.shape[1])
            latest[atoms] = _by_projection(one.X[0], task.W[:, atoms], float(one.lam[0]), task.positive)
            judged = lasso_gap(one.X, task.W, latest[None], one.lam, task.positive)
            _keep_better(found, np.array([i]), Found(latest[None], *judged, np.ones(1, np.int64), np.zeros(1, bool)))
            if not len(_unmet(one, Found(*(v[i : i + 1] for v in found)))):
                break


def _by_projection(x: np.ndarray, W: np.ndarray, lam: float, positive: bool) -> np.ndarray:
    """The code from the dual program, the projection of x on V'theta <= lam, V = (W, -W) or W.

    With G = -V' and h = V'x - lam, the shortest u with G u >= h is G'p / (1 - h'p), p the nonnegative least squares
    of (G', h) against (0, ..., 0, 1) (Lawson and Hanson 1974, LDP). It works on W itself, not on its Gram matrix, so
    that nearly parallel columns do not square their condition. Zeros where the least squares do not end.
    """
    V = W if positive else np.hstack([W, -W])
    scale = float(np.linalg.norm(x)) or 1.0
    h = (x / scale) @ V - lam / scale
    try:
        p = nonnegative_solution(np.vstack([-V, h]), np.eye(len(x) + 1)[-1])
    except RuntimeError:
        return np.zeros(W.shape[1])
    share = 1 - h @ p
    p = p * (scale / share) if share > 0 else 0 * p
    return np.asarray(p if positive else p[: W.shape[1]] - p[W.shape[1] :])


def nonnegative_solution(A: np.ndarray, b: np.ndarray, most_iterations: int | None = None) -> np.ndarray:
    """The nonnegative least squares of (A, b), which whoever asks must check.

    Some versions of scipy warn on the way of systems that are ill-conditioned.

    Raises:
        RuntimeError: it takes more iterations.
    """
    from scipy.linalg import LinAlgWarning
    from scipy.optimize import nnls

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LinAlgWarning)
        return np.asarray(nnls(A, b, maxiter=most_iterations)[0])

"""The Lasso for arrays: which search suits how many signals, in which precision, and what is left to mend."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from compsparse.sparse.batches import Gram, Paths, continued, descended, in_batches
from compsparse.sparse.solution import lasso_gap

LARGEST_GRAM = 8_192
"""Atoms up to which the whole Gram matrix may pay."""
_CACHED = 2**22  # bytes of a dictionary that stays in the cache: its signals are searched one by one
_TOGETHER = 16
_ROUNDS = (1.0, 1e-2, 1e-4)  # coordinate descent asks more of itself until the gap is met
_SWEEPS = 20_000
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

    codes: np.ndarray
    objective: np.ndarray
    gap: np.ndarray
    steps: np.ndarray
    left: np.ndarray


def solve_arrays(task: LassoTask, start: np.ndarray | None = None) -> Found:
    """Codes of all signals: by a search, again in double precision where single was too coarse, then by mending."""
    n, m = len(task.X), task.W.shape[1]
    found = _nothing(n, m, task.W.dtype)
    if start is None and _gram_pays(task):
        _search_by_gram(task, found)
        _again(task, found, _unmet(task, found), None)
    else:
        _search_by_columns(task, found, start)
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


def _most_candidates(task: LassoTask) -> int:
    return int(min(task.W.shape[1], 4 * min(task.W.shape) + 64))


def _most_steps(task: LassoTask) -> int:
    return 20 * (sum(task.W.shape) + 50) if task.max_iter is None else task.max_iter


def _search_by_gram(task: LassoTask, found: Found) -> None:
    from compsparse.sparse.searches import search_by_gram

    G = task.W.T @ task.W
    most, steps = _most_candidates(task), _most_steps(task)

    def work(a: slice) -> None:
        search_by_gram(
            task.X[a], task.W, G, task.lam[a], task.tol[a], task.positive, task.longest, most, steps,
            found.codes[a], found.objective[a], found.gap[a], found.steps[a],
        )  # fmt: skip

    found.left[:] = in_batches(len(task.X), work, task.n_threads, task.deadline)
    _judge_left(task, found)


def _search_by_columns(task: LassoTask, found: Found, start: np.ndarray | None) -> None:
    from compsparse.sparse.searches import search_by_columns

    starts = np.zeros((0, task.W.shape[1])) if start is None else start
    together = 1 if task.W.nbytes <= _CACHED else _TOGETHER
    most, steps = _most_candidates(task), _most_steps(task)

    def work(a: slice) -> None:
        search_by_columns(
            task.X[a], task.W, starts[a] if len(starts) else starts, task.lam[a], task.tol[a], task.positive,
            task.longest, most, together, steps,
            found.codes[a], found.objective[a], found.gap[a], found.steps[a],
        )  # fmt: skip

    found.left[:] = in_batches(len(task.X), work, task.n_threads, task.deadline)
    if start is not None:
        found.codes[found.left] = np.maximum(start[found.left], 0) if task.positive else start[found.left]
    _judge_left(task, found)


def _judge_left(task: LassoTask, found: Found) -> None:
    """Signals that were left out keep their start, or the code of zeros, with its true objective and gap."""
    if found.left.any():
        _judge(task, found, np.flatnonzero(found.left))


def _judge(task: LassoTask, found: Found, rows: np.ndarray) -> None:
    """Objectives and gaps of the codes as they are, in double precision."""
    X, W, codes = (v.astype(np.float64, copy=False) for v in (task.X[rows], task.W, found.codes[rows]))
    found.objective[rows], found.gap[rows] = lasso_gap(X, W, codes, task.lam[rows], task.positive)


# ---- what a search left ------------------------------------------------------------------


def _again(task: LassoTask, found: Found, rows: np.ndarray, start: np.ndarray | None) -> None:
    """Searches some signals by columns and keeps what is better."""
    if not len(rows):
        return
    other = _nothing(len(rows), task.W.shape[1], task.W.dtype)
    _search_by_columns(task.part(rows), other, start)
    _keep_better(found, rows, other)


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

    The atoms whose correlation is near the bound are a small dictionary. On it, in turn, the dual program on the
    columns themselves, homotopy from the code that was found, and coordinate descent; atoms that were missing join
    until the gap on the whole dictionary is met.
    """
    for i in _unmet(task, found):
        one, latest = task.part(np.array([i])), found.codes[i]
        atoms = np.flatnonzero(latest)
        for attempt in range(_MOST_MENDING):
            correlation = (one.X[0] - task.W @ latest) @ task.W
            near = (correlation if task.positive else np.abs(correlation)) >= 0.9 * one.lam[0]
            atoms = np.union1d(atoms, np.flatnonzero(near))
            if not len(atoms):
                break
            latest = _mended(one, found, i, atoms, attempt)
            if found.left[i] or not len(_unmet(one, Found(*(v[i : i + 1] for v in found)))):
                break


def _mended(one: LassoTask, found: Found, i: int, atoms: np.ndarray, attempt: int) -> np.ndarray:
    """Solves signal i on some atoms, keeps the code if its gap is smaller, and returns it."""
    few = Gram(one.X, np.ascontiguousarray(one.W[:, atoms]), one.positive, 1, one.deadline)
    start = found.codes[i : i + 1, atoms]
    if attempt % 2 == 0:
        code = _by_projection(one.X[0], few.W, float(one.lam[0]), one.positive)
        again = Paths(code[None, None], one.lam[:, None], np.zeros(1, np.int64), np.zeros(1, bool))
    elif attempt == 1:
        again = continued(few, one.lam, start)
    else:
        again = descended(few, one.lam, _ROUNDS[(attempt // 2 - 1) % len(_ROUNDS)] * one.tol, start, _SWEEPS)
    code = np.zeros((1, one.W.shape[1]))
    code[0, atoms] = again.codes[0, 0]
    objective, gap = lasso_gap(one.X, one.W, code, one.lam, one.positive)
    _keep_better(found, np.array([i]), Found(code, objective, gap, again.steps, again.left))
    return np.asarray(code[0])


def _by_projection(x: np.ndarray, W: np.ndarray, lam: float, positive: bool) -> np.ndarray:
    """The code from the dual program, the projection of x on V'theta <= lam, V = (W, -W) or W.

    With G = -V' and h = V'x - lam, the shortest u with G u >= h is G'p / (1 - h'p), p the nonnegative least squares
    of (G', h) against (0, ..., 0, 1) (Lawson and Hanson 1974, LDP). It works on W itself, not on its Gram matrix, so
    that nearly parallel columns do not square their condition. Zeros where the least squares do not end.
    """
    from scipy.optimize import nnls

    V = W if positive else np.hstack([W, -W])
    scale = float(np.linalg.norm(x)) or 1.0
    h = (x / scale) @ V - lam / scale
    try:
        p, _ = nnls(np.vstack([-V, h]), np.eye(len(x) + 1)[-1])
    except RuntimeError:
        return np.zeros(W.shape[1])
    share = 1 - h @ p
    p = p * (scale / share) if share > 0 else 0 * p
    return np.asarray(p if positive else p[: W.shape[1]] - p[W.shape[1] :])

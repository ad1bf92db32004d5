"""Runs the compiled kernels over batches of signals, on all cores, until a deadline."""

from __future__ import annotations

import copy
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np

from compsparse import blas
from compsparse.clock import Deadline, now

_BATCH = 32  # signals between two looks at the clock
_SINGLE = 1e-8  # relative gaps down to this are met with correlations in single precision


def deadline_of(time_limit: float | None) -> float:
    """When a limit of so many seconds from now is over; infinite without one."""
    return Deadline.after(time_limit).at


def in_batches(
    n: int, work: Callable[[slice], None], n_threads: int | None = None, deadline: float = np.inf
) -> np.ndarray:
    """Calls ``work`` with batches of n signals, on all cores; returns a mask of those that the deadline left out."""
    left = np.zeros(n, dtype=bool)

    def run(first: int) -> None:
        batch = slice(first, first + _BATCH)
        if now() > deadline:
            left[batch] = True
        else:
            work(batch)

    if n <= _BATCH and deadline == np.inf:
        work(slice(0, n))
        return left
    firsts = range(0, n, _BATCH)
    threads = 1 if len(firsts) == 1 else n_threads or blas.n_threads()
    with blas.one_blas_thread():
        if threads == 1:
            for first in firsts:
                run(first)
        else:
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(run, firsts))
    return left


@dataclass(frozen=True, eq=False)
class Gram:
    """Signals against a dictionary, as the kernels want them: G = W'W, B = XW."""

    X: np.ndarray
    W: np.ndarray
    positive: bool = False
    n_threads: int | None = None
    deadline: float = np.inf
    G: np.ndarray = field(init=False)
    B: np.ndarray = field(init=False)
    squares: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "G", self.W.T @ self.W)
        object.__setattr__(self, "B", self.X @ self.W)
        object.__setattr__(self, "squares", np.einsum("ij,ij->i", self.X, self.X))

    @property
    def rank(self) -> int:
        """Most atoms that can be independent."""
        return int(min(self.W.shape))

    def part(self, rows: np.ndarray) -> Gram:
        """The same for some of the signals."""
        few = copy.copy(self)
        for name in ("X", "B", "squares"):
            object.__setattr__(few, name, np.ascontiguousarray(getattr(self, name)[rows]))
        return few

    def each_batch(self, work: Callable[[slice], None]) -> np.ndarray:
        """Calls ``work`` with batches of signals; returns a mask of those that the deadline left out."""
        return in_batches(len(self.X), work, self.n_threads, self.deadline)


@dataclass(frozen=True, eq=False)
class Paths:
    """codes (n, n_stops, n_atoms), the lam each stop was reached at (n, n_stops), steps, signals left out."""

    codes: np.ndarray
    ends: np.ndarray
    steps: np.ndarray
    left: np.ndarray


def paths(
    gram: Gram, stops: np.ndarray, tol: np.ndarray, *, noise: np.ndarray | None = None, max_iter: int | None = None
) -> Paths:
    """Homotopy from lam_max through every stop of every signal (n, n_stops), falling."""
    from compsparse.sparse.homotopy import follow_paths

    n, n_atoms = gram.B.shape
    H = gram.G.astype(np.float32) if len(tol) and tol.min() >= _SINGLE and gram.G.max() < 1e30 else gram.G
    codes, ends = np.zeros((n, stops.shape[1], n_atoms)), np.full(stops.shape, np.inf)
    steps, status = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    eps, squares = np.zeros(n) if noise is None else noise**2, gram.squares

    def work(a: slice) -> None:
        follow_paths(
            gram.G, H, gram.B[a], squares[a], stops[a], eps[a], tol[a], gram.positive, gram.rank,
            most_steps(gram, max_iter), codes[a], ends[a], status[a], steps[a], np.zeros((0, 1)),
        )  # fmt: skip

    return Paths(codes, ends, steps, gram.each_batch(work))


def continued(gram: Gram, lam: np.ndarray, start: np.ndarray, *, max_iter: int | None = None) -> Paths:
    """Homotopy from the problems that the starts solve."""
    from compsparse.sparse.homotopy import follow_starts

    n, n_atoms = gram.B.shape
    codes, steps, status = np.zeros((n, 1, n_atoms)), np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)

    def work(a: slice) -> None:
        follow_starts(
            gram.G, gram.B[a], lam[a], start[a], gram.positive, gram.rank,
            most_steps(gram, max_iter), codes[a], status[a], steps[a],
        )  # fmt: skip

    left = gram.each_batch(work)
    codes[left, 0] = start[left]
    return Paths(codes, lam[:, None].copy(), steps, left)


def descended(gram: Gram, lam: np.ndarray, tol: np.ndarray, start: np.ndarray, sweeps: int) -> Paths:
    """Coordinate descent from the starts."""
    from compsparse.sparse.kernels import coordinate_descent

    # a pass that moves no correlation by more than this has a gap of at most about tol
    accuracy = 0.1 * np.minimum(tol, np.sqrt(tol) * 1e-2) * np.abs(gram.B).max(axis=1)
    codes, steps = start[:, None].copy(), np.zeros(len(start), dtype=np.int64)

    def work(a: slice) -> None:
        coordinate_descent(gram.G, gram.B[a], lam[a], accuracy[a], gram.positive, sweeps, codes[a, 0], steps[a])

    return Paths(codes, lam[:, None].copy(), steps, gram.each_batch(work))


def most_steps(gram: Gram, max_iter: int | None) -> int:
    """Steps of a path that are allowed; far more than paths have where nothing is said."""
    return 20 * (sum(gram.W.shape) + 50) if max_iter is None else max_iter

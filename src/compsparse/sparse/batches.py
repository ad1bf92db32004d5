"""Runs the compiled kernels over batches of signals, on all cores, until a deadline."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from compsparse import blas
from compsparse.clock import now

_BATCH = 32  # signals between two looks at the clock


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


def most_steps(W: np.ndarray, max_iter: int | None = None) -> int:
    """Steps of a path that are allowed; far more than paths have where nothing is said."""
    return 20 * (sum(W.shape) + 50) if max_iter is None else max_iter


class Gram(NamedTuple):
    """Signals against a dictionary, as the kernels want them: G = W'W, B = XW, |x|^2."""

    X: np.ndarray
    W: np.ndarray
    G: np.ndarray
    B: np.ndarray
    squares: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray, W: np.ndarray) -> Gram:
        """All products at once."""
        return cls(X, W, W.T @ W, X @ W, np.einsum("ij,ij->i", X, X))


class Paths(NamedTuple):
    """codes (n, n_stops, n_atoms), the lam each stop was reached at (n, n_stops), steps, signals left out, log."""

    codes: np.ndarray
    ends: np.ndarray
    steps: np.ndarray
    left: np.ndarray
    log: np.ndarray


def paths(
    gram: Gram,
    stops: np.ndarray,
    *,
    positive: bool = False,
    noise: np.ndarray | None = None,
    n_threads: int | None = None,
    deadline: float = np.inf,
    logged: bool = False,
) -> Paths:
    """Homotopy from lam_max through every stop of every signal (n, n_stops), falling.

    Args:
        logged: whether lam and the code at every breakpoint are kept, for one signal.
    """
    from compsparse.sparse.homotopy import follow_paths

    (n, n_atoms), most = gram.B.shape, most_steps(gram.W)
    codes, ends, steps = np.zeros((n, stops.shape[1], n_atoms)), np.full(stops.shape, np.inf), np.zeros(n, np.int64)
    eps = np.zeros(n) if noise is None else noise**2
    log, rows = np.zeros((most if logged else 0, 1 + n_atoms)), 0

    def work(a: slice) -> None:
        nonlocal rows
        rows = follow_paths(
            gram.G, gram.B[a], gram.squares[a], stops[a], eps[a], positive, min(gram.W.shape), most,
            codes[a], ends[a], steps[a], log,
        )  # fmt: skip

    left = in_batches(n, work, n_threads, deadline)
    return Paths(codes, ends, steps, left, log[:rows])

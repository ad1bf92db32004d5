r"""The Lasso for many signals at once, each with its own penalty, tolerance and certificate.

Scaling: ``full`` is :math:`\min_z \|x - W z\|^2 + \lambda \|z\|_1`, without 1/2, as Bruna's slide on the Lasso
writes it and all of this package. ``half`` is the usual :math:`\tfrac12 \|x - W z\|^2 + \lambda \|z\|_1`; its
:math:`\lambda` is half as large. scikit-learn's ``alpha`` is :math:`\lambda_{full} / (2 d)`.
"""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from compsparse.checks import check_choice, check_count, check_flag, check_numbers, check_threads, suggests_options
from compsparse.clock import Deadline, now
from compsparse.errors import ConfigError
from compsparse.sizes import check_size
from compsparse.sparse.batches import Gram, paths
from compsparse.sparse.dictionaries import check_dictionary
from compsparse.sparse.screened import LARGEST_GRAM, LassoTask, solve_arrays
from compsparse.sparse.signals import check_signals, check_start, per_signal
from compsparse.sparse.solution import Breakpoints, CodeSolution, PathSolution, lasso_gap, statuses

LassoScaling = Literal["full", "half"]
LassoMethod = Literal["auto", "homotopy", "proximal"]
_SCALINGS, _METHODS = get_args(LassoScaling), get_args(LassoMethod)
_PATH_TOLERANCE = 1e-12
_SMALL = 1e6  # numbers that fit everywhere
_FEWER = "solve fewer at a time"


@suggests_options
def lasso(
    X: Any,
    W: Any,
    lam: Any,
    tol: ArrayLike = 1e-6,
    *,
    scaling: LassoScaling = "full",
    positive: bool = False,
    start: Any = None,
    method: LassoMethod = "auto",
    max_iter: int | None = None,
    time_limit: float | None = None,
    n_threads: int | None = None,
) -> CodeSolution:
    r"""Codes that minimise :math:`\|x - W z\|^2 + \lambda \|z\|_1`, one for each signal.

    Arrays are solved by a compiled homotopy, in float32 where both X and W are and in float64 otherwise; the codes have
    that precision, gaps are always of double precision. Many signals share the Gram matrix; for few of them, or a wide
    dictionary, only the columns that matter are multiplied out. Tensors are solved by accelerated proximal gradient on
    their device, and codes are differentiable in whichever of X, W and lam requires a gradient.

    Args:
        X: signals (n_signals, d).
        W: dictionary (d, n_atoms); columns need not have norm 1, and may repeat.
        lam: penalty, one for all or one per signal.
        tol: largest duality gap over the objective of the zero code, one for all or one per signal.
        scaling: ``full`` as above; ``half`` has 1/2 before the square, so that its lam is half as large.
        positive: codes must not be negative.
        start: codes to start from, (n_signals, n_atoms), for instance of a penalty nearby.
        method: ``homotopy`` or ``proximal``; ``auto`` is homotopy, and proximal for tensors.
        max_iter: most steps (homotopy) or iterations (proximal) for a signal.
        time_limit: seconds; signals not done by then have status TIME_LIMIT and their true gap.
        n_threads: cores for arrays; by default as many as torch uses, or BLAS where torch is not loaded.

    Raises:
        ConfigError: a penalty, tolerance or option makes no sense.
        DataError: signals and dictionary do not fit, hold NaN, or a column is zero.

    >>> solution = lasso(np.array([[3.0, -0.2]]), np.eye(2), lam=1.0)
    >>> solution.codes, solution.support_sizes
    (array([[2.5, 0. ]]), array([1]))
    """
    started = now()
    _check_options(scaling, positive, method=method, max_iter=max_iter, n_threads=n_threads)
    factor, deadline = _factor(scaling), Deadline.after(time_limit).at
    are_tensors = type(X).__module__.startswith("torch") or type(W).__module__.startswith("torch")
    if are_tensors and method not in ("auto", "proximal"):
        raise ConfigError(f"tensors are solved by method 'proximal', not {method!r}; pass arrays for that")
    if not are_tensors:
        arrays = _arrays(X, W)
        X, W, squares, _ = arrays
        start = check_start(start, len(X), W.shape[1])
    if are_tensors or method == "proximal":
        from compsparse.sparse.proximal import solve_tensors

        found, squares, lams, tols = solve_tensors(
            X, W, lam, tol, factor=factor, positive=positive, start=start, max_iter=max_iter, deadline=deadline
        )
        found = found if are_tensors else found._replace(codes=found.codes.numpy())
    else:
        lams, tols = per_signal("lam", lam, len(X)), per_signal("tol", tol, len(X))
        found = solve_arrays(LassoTask(*arrays, lams / factor, tols, positive, max_iter, n_threads, deadline), start)
    relative = _relative(found.gap, squares)
    status = statuses(relative, tols, found.left)
    objective, gap = factor * found.objective, factor * found.gap
    return CodeSolution(found.codes, objective, gap, relative, lams, status, found.steps, now() - started)


def lasso_path(
    X: ArrayLike,
    W: ArrayLike,
    lams: ArrayLike,
    *,
    scaling: LassoScaling = "full",
    positive: bool = False,
    n_threads: int | None = None,
) -> PathSolution:
    """Codes at several falling penalties, for little more than the last of them costs.

    Args:
        lams: falling penalties, (n_lams,) for all signals or (n_signals, n_lams).

    >>> path = lasso_path(np.array([[3.0, -1.0]]), np.eye(2), [4.0, 1.0])
    >>> path.codes[0]
    array([[ 1. ,  0. ],
           [ 2.5, -0.5]])
    """
    started = now()
    _check_options(scaling, positive, n_threads=n_threads)
    dictionary = check_dictionary(W)
    signals, dictionary = check_signals(X, dictionary, gram=dictionary.shape[1] <= LARGEST_GRAM)
    stops = _falling(lams, len(signals))
    factor = _factor(scaling)
    if dictionary.shape[1] <= LARGEST_GRAM:
        codes = paths(Gram.of(signals, dictionary), stops / factor, positive=positive, n_threads=n_threads).codes
    else:
        codes = _path_by_starts(_arrays(signals, dictionary), stops / factor, positive, n_threads)
    objective, gap = np.zeros(stops.shape), np.zeros(stops.shape)
    for p in range(stops.shape[1]):
        objective[:, p], gap[:, p] = lasso_gap(signals, dictionary, codes[:, p], stops[:, p] / factor, positive)
    return PathSolution(
        lams=stops,
        codes=codes,
        objective=factor * objective,
        gap=factor * gap,
        relative_gap=_relative(gap, np.einsum("ij,ij->i", signals, signals)[:, None]),
        seconds=now() - started,
    )


def lasso_breakpoints(
    x: ArrayLike, W: ArrayLike, lam_min: float = 0.0, *, scaling: LassoScaling = "full", positive: bool = False
) -> Breakpoints:
    """Every penalty at which the support of one signal's code changes, and the codes there, down to lam_min.

    >>> path = lasso_breakpoints([3.0, -1.0], np.eye(2))
    >>> path.lams, path.code_at(4.0)
    (array([6., 2., 0.]), array([1., 0.]))
    """
    _check_options(scaling, positive)
    signals, dictionary = check_signals(check_numbers("x", x, finite=False)[None], W)
    stop = per_signal("lam_min", lam_min, 1, zero=True)[:, None] / _factor(scaling)
    gram = Gram.of(signals, dictionary)
    log = paths(gram, stop, positive=positive, logged=True).log
    top = max(float((gram.B if positive else np.abs(gram.B)).max()), float(stop[0, 0]))
    lams = np.concatenate([[top], log[:, 0]]) * _factor(scaling)
    return Breakpoints(lams, np.vstack([np.zeros(dictionary.shape[1]), log[:, 1:]]))


# ---- solvers -----------------------------------------------------------------------------


def _path_by_starts(arrays: _Arrays, stops: np.ndarray, positive: bool, n_threads: int | None) -> np.ndarray:
    """Codes at every stop, each from the one before, without the Gram matrix."""
    n, n_stops = stops.shape
    codes = np.zeros((n, n_stops, arrays.W.shape[1]))
    tight, start = np.full(n, _PATH_TOLERANCE), None
    for p in range(n_stops):
        found = solve_arrays(
            LassoTask(*arrays, np.ascontiguousarray(stops[:, p]), tight, positive, None, n_threads), start
        )
        start = codes[:, p] = found.codes
    return codes


# ---- checks ------------------------------------------------------------------------------


class _Arrays(NamedTuple):
    X: np.ndarray
    W: np.ndarray
    squares: np.ndarray
    longest: float


def _arrays(X: Any, W: Any) -> _Arrays:
    """Signals and dictionary as they are where both are arrays of one precision, as float64 otherwise."""
    from compsparse.sparse.kernels import sizes_of

    if not (_is_table(X) and _is_table(W) and X.dtype == W.dtype and X.shape[1] == W.shape[0]):
        X, W = check_signals(X, W, gram=False)
    elif 3.0 * len(X) * W.shape[1] > _SMALL:
        check_size(f"the codes of {len(X):,} signals over {W.shape[1]:,} atoms", 3.0 * len(X) * W.shape[1], _FEWER)
    X = X if X.flags.c_contiguous else np.ascontiguousarray(X)
    W = W if W.flags.f_contiguous else np.ascontiguousarray(W)
    squares, total, least, largest = sizes_of(X, W)
    # a sum of squares that is out of range is looked at in double precision, entry by entry
    low, high = (1e-300, 1e300) if X.dtype == np.float64 else (1e-20, 1e20)
    if not (low < least and largest < high and total < high):
        X, W = check_signals(X, W, gram=False)
        squares, _, _, largest = sizes_of(X, W)
    return _Arrays(X, W, squares, math.sqrt(largest))


def _is_table(value: Any) -> bool:
    return type(value) is np.ndarray and value.ndim == 2 and value.dtype in (np.float64, np.float32) and value.size > 0


def _check_options(
    scaling: str, positive: bool, *, method: str = "auto", max_iter: int | None = None, n_threads: int | None = None
) -> None:
    check_choice("scaling", scaling, _SCALINGS)
    check_choice("method", method, _METHODS)
    check_flag("positive", positive)
    check_threads(n_threads)
    if max_iter is not None:
        check_count("max_iter", max_iter, most=2**31 - 1)


def _falling(lams: ArrayLike, n: int) -> np.ndarray:
    values = check_numbers("lams", lams, finite=False, error=ConfigError)
    if values.ndim == 1:
        values = np.broadcast_to(values, (n, len(values)))
    if values.ndim != 2 or values.shape[0] != n or values.shape[1] == 0:
        raise ConfigError(f"lams must be falling penalties, (n_lams,) or ({n}, n_lams), got shape {values.shape}")
    if not (np.isfinite(values).all() and (values > 0).all() and (np.diff(values, axis=1) <= 0).all()):
        raise ConfigError("lams must be finite, positive, and fall along the path")
    return np.ascontiguousarray(values)


def _factor(scaling: LassoScaling) -> float:
    """The full objective is twice the one with 1/2, at half its lam."""
    return 2.0 if scaling == "full" else 1.0


def _relative(gap: np.ndarray, squares: np.ndarray) -> np.ndarray:
    return np.asarray(2 * gap / np.maximum(squares, 1e-300))

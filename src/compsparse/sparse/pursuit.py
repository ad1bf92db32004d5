r"""Codes of least norm that explain a signal: basis pursuit, with or without noise, and orthogonal matching pursuit.

Basis pursuit, :math:`\min \|z\|_1` s.t. :math:`\|x - W z\| \le \epsilon`, is where the Lasso's path ends: at
:math:`\lambda \to 0` without noise, at the penalty whose residual is :math:`\epsilon` with noise.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from compsparse.checks import check_choice, check_threads, row_text
from compsparse.clock import Deadline, now
from compsparse.errors import ConfigError, DataError
from compsparse.sparse.batches import Gram, Paths, in_batches, paths
from compsparse.sparse.signals import check_n_atoms, check_signals, per_signal
from compsparse.sparse.solution import CodeSolution, GreedySolution, pursuit_gap, statuses

PursuitMethod = Literal["homotopy", "highs"]
_NEAR_END = (1e-5, 1e-7)  # of lam_max: the first is known better, the second is nearer
_ROUNDING = 1e-12  # entries of a code that are smaller than this part of its largest are zero
_FEASIBLE = 1e-7  # relative residual up to which x counts as in the range of W


def basis_pursuit(
    X: ArrayLike,
    W: ArrayLike,
    *,
    method: PursuitMethod = "homotopy",
    noise: ArrayLike = 0.0,
    tol: ArrayLike = 1e-6,
    time_limit: float | None = None,
    n_threads: int | None = None,
) -> CodeSolution:
    r"""Codes of least :math:`\|z\|_1` with :math:`\|x - W z\| \le` noise, one for each signal.

    Args:
        X: signals (n_signals, d).
        W: dictionary (d, n_atoms).
        method: ``homotopy``, compiled; or ``highs``, linear programs one by one, for noise 0 only.
        noise: largest norm of the residual, one for all or one per signal.
        tol: largest duality gap over the norm of the code.

    Returns:
        The solution; its ``lam`` is the penalty of the Lasso (in the full scaling) with the same code.

    Raises:
        DataError: no code explains a signal that well.

    >>> W = np.array([[1.0, 0.0, 0.6], [0.0, 1.0, 0.8]])
    >>> basis_pursuit(np.array([[1.2, 1.6]]), W).codes.round(6)
    array([[0., 0., 2.]])
    """
    started = now()
    deadline = Deadline.after(time_limit).at
    check_choice("method", method, get_args(PursuitMethod))
    signals, dictionary = check_signals(X, W)
    check_threads(n_threads)
    tols, eps = per_signal("tol", tol, len(signals)), per_signal("noise", noise, len(signals), zero=True)
    if method == "highs":
        if eps.any():
            raise ConfigError("method 'highs' solves linear programs, which allow no noise; use method 'homotopy'")
        return _by_linear_programs(signals, dictionary, tols, deadline, started)
    gram = Gram.of(signals, dictionary)
    # the residual over lam just before the end is the vector of multipliers
    stops = np.abs(gram.B).max(axis=1)[:, None] * np.array([*_NEAR_END, 0.0])
    found = paths(gram, stops, noise=eps, n_threads=n_threads, deadline=deadline)
    codes, lam = found.codes[:, -1], found.ends[:, -1]
    codes[np.abs(codes) < _ROUNDING * np.abs(codes).max(axis=1, keepdims=True)] = 0
    _refine(gram, codes, eps)
    allowed = eps * (1 + 1e-6) + _FEASIBLE * np.sqrt(gram.squares)
    short = np.linalg.norm(gram.X - codes @ gram.W.T, axis=1) > allowed
    for i in map(int, np.flatnonzero(short & ~found.left)):
        _check_feasible(gram, i, eps[i], allowed[i])
    objective, gap = _certified(gram, found, codes, eps)
    gap[short] = np.inf
    for i in map(int, np.flatnonzero((gap > tols * objective) & (eps == 0) & ~found.left)):
        solved = _mended(gram, found, i, tols[i], allowed[i], deadline)
        if solved is None:
            found.left[i] = deadline < np.inf
        elif solved[2] < gap[i]:
            codes[i], objective[i], gap[i] = solved
    lam = np.where(np.isfinite(lam), lam, 0)
    return _solution(codes, objective, gap, found.left, found.steps, 2 * lam, tols, started)


def omp(
    X: ArrayLike,
    W: ArrayLike,
    n_nonzero: int | None = None,
    *,
    residual: ArrayLike | None = None,
    n_threads: int | None = None,
) -> GreedySolution:
    """Orthogonal matching pursuit: the atom that correlates most with the residual, then least squares, and again.

    Args:
        n_nonzero: most atoms of a code.
        residual: norm of the residual at which a code is done, one for all or one per signal.

    >>> solution = omp(np.array([[3.0, 0.1]]), np.eye(2), n_nonzero=1)
    >>> solution.codes, solution.residual
    (array([[3., 0.]]), array([0.1]))
    """
    from compsparse.sparse.kernels import pursue

    started = now()
    signals, dictionary = check_signals(X, W)
    check_threads(n_threads)
    most = _most_atoms(n_nonzero, residual, dictionary)
    eps = per_signal("residual", 0.0 if residual is None else residual, len(signals), zero=True)
    gram = Gram.of(signals, dictionary)
    codes, counts = np.zeros(gram.B.shape), np.zeros(len(signals), dtype=np.int64)
    squares = np.zeros(len(signals))

    def work(a: slice) -> None:
        pursue(gram.G, gram.B[a], gram.squares[a], most, eps[a] ** 2, codes[a], counts[a], squares[a])

    in_batches(len(signals), work, n_threads)
    norms = np.linalg.norm(signals - codes @ dictionary.T, axis=1)
    return GreedySolution(codes, residual=norms, support_sizes=counts, seconds=now() - started)


# ---- homotopy ----------------------------------------------------------------------------


def _refine(gram: Gram, codes: np.ndarray, eps: np.ndarray) -> None:
    """One step against the squared condition of the Gram matrix, in place, where the residual shows it."""
    residual = gram.X - codes @ gram.W.T
    size = np.linalg.norm(residual, axis=1)
    for i in np.flatnonzero((eps == 0) & (size > 1e-12 * np.sqrt(gram.squares))):
        support = np.flatnonzero(codes[i])
        if len(support):
            codes[i, support] += np.linalg.lstsq(gram.W[:, support], residual[i], rcond=1e-12)[0]


def _check_feasible(gram: Gram, i: int, eps: float, allowed: float) -> None:
    least = np.linalg.norm(gram.X[i] - gram.W @ np.linalg.lstsq(gram.W, gram.X[i], rcond=None)[0])
    if least > allowed:
        raise DataError(
            f"no code explains the signal in {row_text(i)} to within noise {eps:g}: the nearest point in the "
            f"range of W is {least:.3g} away; give noise >= {least:.3g}, or use lasso"
        )


def _certified(gram: Gram, found: Paths, codes: np.ndarray, eps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The norm of the codes, and its distance from the best bound that multipliers give."""
    tried = [pursuit_gap(gram.X, gram.W, codes, theta, eps) for theta in _multipliers(gram, found, eps)]
    return tried[0][0], np.min([gap for _, gap in tried], axis=0)


def _multipliers(gram: Gram, found: Paths, eps: np.ndarray) -> Iterator[np.ndarray]:
    """theta = r / lam, at the end of the path with noise, near it without."""
    rows = np.arange(len(eps))
    for near in range(len(_NEAR_END)):
        which = np.where(eps > 0, len(_NEAR_END), near)
        lam = found.ends[rows, which]
        residual = gram.X - found.codes[rows, which] @ gram.W.T
        usable = np.isfinite(lam) & (lam > 0)
        yield np.where(usable, 1 / np.where(usable, lam, 1), 0)[:, None] * residual


def _mended(
    gram: Gram, found: Paths, i: int, tol: float, allowed: float, deadline: float
) -> tuple[np.ndarray, float, float] | None:
    """Another code, its norm and gap, for a signal whose path ended without a certificate (ties; rounding).

    Rounding spoils the last stretch first, so least squares on the support just before it is tried, then a linear
    program; None where there was no time for that.
    """
    one, zero = np.array([i]), np.zeros(1)
    few = gram._replace(X=gram.X[one])
    code = _before_the_end(few, found.codes[i, -2])
    near = found._replace(codes=found.codes[one], ends=found.ends[one])
    value, distance = _certified(few, near, code[None], zero)
    if np.linalg.norm(gram.X[i] - code @ gram.W.T) > allowed or distance[0] > tol * value[0]:
        solved = None if now() > deadline else _linear_program(gram.X[i], gram.W, deadline)
        if solved is None:
            return None
        code, theta = solved
        value, distance = pursuit_gap(few.X, gram.W, code[None], theta[None], zero)
    return code, float(value[0]), float(distance[0])


def _before_the_end(gram: Gram, near: np.ndarray) -> np.ndarray:
    """Least squares on the support of the code at the last stop but one."""
    code, support = np.zeros_like(near), np.flatnonzero(near)
    if len(support):
        code[support] = np.linalg.lstsq(gram.W[:, support], gram.X[0], rcond=None)[0]
    return code


def _solution(
    codes: np.ndarray,
    objective: np.ndarray,
    gap: np.ndarray,
    left: np.ndarray,
    steps: np.ndarray,
    lam: np.ndarray,
    tols: np.ndarray,
    started: float,
) -> CodeSolution:
    # a code of zeros is the answer for a signal of zeros, and for no other
    unknown = np.where(gap > 0, np.inf, 0.0)
    relative = np.divide(gap, objective, out=unknown, where=objective > 0)
    relative[left] = np.maximum(relative[left], 1.0)
    status, quantity = statuses(relative, tols, left), "least l1 norm of a code"
    return CodeSolution(codes, objective, gap, relative, lam, status, steps, now() - started, quantity)


# ---- linear programs ---------------------------------------------------------------------


def _by_linear_programs(
    X: np.ndarray, W: np.ndarray, tols: np.ndarray, deadline: float, started: float
) -> CodeSolution:
    codes, theta = np.zeros((len(X), W.shape[1])), np.zeros_like(X)
    left, unsolved = np.zeros(len(X), dtype=bool), np.zeros(len(X), dtype=bool)
    for i, x in enumerate(X):
        solved = None if now() > deadline else _linear_program(x, W, deadline)
        if solved is None:
            unsolved[i], left[i] = True, deadline < np.inf
        else:
            codes[i], theta[i] = solved
    objective, gap = pursuit_gap(X, W, codes, theta, np.zeros(len(X)))
    gap[unsolved] = np.inf
    return _solution(codes, objective, gap, left, np.zeros(len(X), np.int64), np.zeros(len(X)), tols, started)


def _linear_program(x: np.ndarray, W: np.ndarray, deadline: float) -> tuple[np.ndarray, np.ndarray] | None:
    """min 1'(p + q) s.t. W(p - q) = x, p, q >= 0, by HiGHS: the code and the multipliers; None if it was cut off."""
    from scipy.optimize import linprog

    n = W.shape[1]
    limit = {} if deadline == np.inf else {"time_limit": max(deadline - now(), 1e-3)}
    scale = float(np.abs(x).max()) or 1.0
    result = linprog(np.ones(2 * n), A_eq=np.hstack([W, -W]), b_eq=x / scale, method="highs", options=limit)
    if result.status == 2:
        raise DataError("no code explains a signal without noise: it is not in the range of W; give noise > 0")
    if result.x is None or result.status != 0:
        return None
    return scale * (result.x[:n] - result.x[n:]), np.asarray(result.eqlin.marginals)


def _most_atoms(n_nonzero: int | None, residual: ArrayLike | None, W: np.ndarray) -> int:
    if n_nonzero is None and residual is None:
        raise ConfigError("omp needs n_nonzero (most atoms), residual (norm to reach), or both")
    if n_nonzero is None:
        return int(min(W.shape))
    return int(min(check_n_atoms("n_nonzero", n_nonzero, W), *W.shape))

"""The cone program over blocks: one convex cone of neurons for each (cell, sign) in play.

min sum_b norm(R_b u_b)  subject to  sum_b sign_b D_b Z u_b (+ constant) = y,  (2 D_b - I) Z u_b >= 0
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from compsparse.clock import now
from compsparse.sparse.memorisation.problem import Problem, factors
from compsparse.sparse.memorisation.record import MemoriseStatus

_WAYS = ((1e-8, True), (1e-12, True), (1e-8, False))  # static regularisation, equilibration: the solver's, then others
_PRECISE = 1e-9
BlockKey = tuple[int, int, bytes]
"""The chart, the sign and the pattern of a block, to tell it from others."""


@dataclass(frozen=True, eq=False)
class ConeBlock:
    """Neurons of one sign in one closed cell.

    Attributes:
        chart: number of the problem's chart.
        pattern: (n,) the active points.
        sign: +1 or -1.
        facets: points whose hyperplanes bound the cell; a superset does no harm.
    """

    chart: int
    pattern: np.ndarray
    sign: int
    facets: np.ndarray

    @property
    def key(self) -> BlockKey:
        """What tells the block from others."""
        return self.chart, self.sign, np.packbits(self.pattern).tobytes()


@dataclass(frozen=True, eq=False)
class ConeSolution:
    """Optimal neurons of each block and the multipliers lam of f(x_i) = y_i.

    Attributes:
        solved: whether the solver reached full or nearly full accuracy.
    """

    u: list[np.ndarray]
    multipliers: np.ndarray
    value: float
    constant: float
    solved: bool


@dataclass(frozen=True, eq=False)
class Generated:
    """Where column generation ended.

    Attributes:
        lower: best lower bound; ``rigorous`` if it comes from multipliers whose every price is known.
        ended: why no more cells were added.
    """

    blocks: list[ConeBlock]
    cone: ConeSolution | None
    lower: float
    rigorous: bool
    rounds: int
    ended: MemoriseStatus


def solve_cone(
    problem: Problem, blocks: list[ConeBlock], time_limit: float | None = None, accuracy: float = 1e-12
) -> ConeSolution:
    """Solves the program over the given blocks with Clarabel."""
    import clarabel

    started = now()
    scale = float(np.abs(problem.differences @ problem.y).max()) if problem.goal == "interpolate" else 1.0
    program, sizes = _program(problem, blocks, scale)
    answer: Any = None
    for regularisation, equilibrate in _WAYS:
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.max_threads = 1
        settings.static_regularization_constant, settings.equilibrate_enable = regularisation, equilibrate
        settings.tol_gap_abs = settings.tol_gap_rel = accuracy
        settings.tol_feas = 10 * accuracy
        if time_limit is not None:
            settings.time_limit = max(time_limit - (now() - started), 0.05)
        other = clarabel.DefaultSolver(*program, settings).solve()
        if answer is None or _residual(other) < _residual(answer):
            answer = other
        out_of_time = time_limit is not None and now() - started > time_limit / 4
        if _residual(answer) < max(_PRECISE, accuracy) or accuracy > _PRECISE or out_of_time:
            break
    x, z = np.asarray(answer.x), np.asarray(answer.z)
    ends = np.cumsum(sizes)
    u = [scale * x[end - p : end] for end, p in zip(ends, sizes - 1, strict=True)]
    lam = -z[: problem.n] @ problem.differences if problem.goal == "interpolate" else problem.y * z[: problem.n]
    constant = scale * float(x[ends[-1]]) if problem.has_constant else 0.0
    solved = str(answer.status) in ("Solved", "AlmostSolved", "InsufficientProgress")
    finite = bool(np.isfinite(x).all() and np.isfinite(z).all())
    unit = problem.unit_cost
    return ConeSolution(u, unit * lam, unit * scale * answer.obj_val, constant, solved and finite)


def n_entries(problem: Problem, blocks: list[ConeBlock]) -> int:
    """How many numbers the matrix of the program holds, about."""
    return sum((problem.n + len(b.facets) + 1) * problem.charts[b.chart].Z.shape[1] for b in blocks)


def _residual(answer: Any) -> float:
    """How far the answer is from feasible, in both programs."""
    worst = max(answer.r_prim, answer.r_dual)
    return float(worst) if np.isfinite(worst) else np.inf


def _program(problem: Problem, blocks: list[ConeBlock], scale: float) -> tuple[tuple[Any, ...], np.ndarray]:
    """Clarabel's (P, q, A, b, cones) and the number of variables of each block: its bound t and its u."""
    import clarabel

    sizes = np.array([1 + problem.charts[b.chart].Z.shape[1] for b in blocks])
    fits, bounds, norms, cones = [], [], [], []
    for block, size in zip(blocks, sizes, strict=True):
        chart = problem.charts[block.chart]
        signed = np.where(block.pattern, 1.0, -1.0)[block.facets, None] * chart.Z[block.facets]
        root = factors(chart, block.pattern[None], problem.norm)[0][0] / problem.unit_cost
        fits.append(_with_zero_column(block.sign * block.pattern[:, None] * chart.Z))
        bounds.append(_with_zero_column(-signed))
        norm = np.zeros((size, size))
        norm[0, 0] = -1.0
        norm[1:, 1:] = -root
        norms.append(norm)
        cones.append(clarabel.SecondOrderConeT(int(size)))
    fit = sparse.csc_array(np.concatenate(fits, axis=1))
    lower = sparse.vstack([_diagonal(bounds), _diagonal(norms)])
    if problem.has_constant:
        fit = sparse.hstack([fit, sparse.csc_array(np.ones((problem.n, 1)))])
        lower = sparse.hstack([lower, sparse.csc_array((lower.shape[0], 1))])
    margin = problem.goal == "margin"
    top = sparse.diags_array(-problem.y) @ fit if margin else problem.differences @ fit
    labels = -np.ones(problem.n) if margin else problem.differences @ problem.y / scale
    right = np.concatenate([labels, np.zeros(lower.shape[0])])
    A = sparse.csc_array(sparse.vstack([top, lower]))
    q = np.zeros(A.shape[1])
    q[np.cumsum(sizes) - sizes] = 1.0
    first = clarabel.NonnegativeConeT(problem.n) if margin else clarabel.ZeroConeT(problem.n)
    n_bounds = sum(len(b) for b in bounds)
    kinds = [first, *([clarabel.NonnegativeConeT(n_bounds)] if n_bounds else []), *cones]
    return (sparse.csc_array((A.shape[1], A.shape[1])), q, A, right, kinds), sizes


def _diagonal(blocks: list[np.ndarray]) -> Any:
    return sparse.block_diag([sparse.coo_array(block) for block in blocks])  # of dense ones scipy makes a matrix


def _with_zero_column(A: np.ndarray) -> np.ndarray:
    return np.concatenate([np.zeros((len(A), 1)), A], axis=1)

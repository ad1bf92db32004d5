"""Atoms: single neurons of cost one, and the linear program over them whose basic solutions have at most n."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr, solve_triangular
from scipy.optimize import linprog

from compsparse.sparse.memorisation.norms import costs
from compsparse.sparse.memorisation.problem import Chart, Problem

ON_HYPERPLANE = 1e-7
_ACTIVE = 1e-12
_TIGHT = 1e-6
_CORRECTIONS = 3
_MOST_AT_START = 2000


@dataclass(frozen=True, eq=False)
class Atoms:
    """Neurons (z_i . u)_+ of unit cost.

    Attributes:
        chart: (K,) the chart of each.
        u: its direction there.
        columns: (n, K) values at the data.
    """

    chart: np.ndarray
    u: list[np.ndarray]
    columns: np.ndarray

    def directions(self, problem: Problem, chosen: np.ndarray) -> np.ndarray:
        """(w, b) of some of the neurons."""
        lifted = [self.u[j] @ problem.charts[self.chart[j]].lift for j in chosen]
        return np.array(lifted).reshape(len(chosen), problem.X.shape[1] + 1)


def make_atoms(problem: Problem, candidates: Sequence[tuple[int, np.ndarray]]) -> Atoms:
    """Scales neurons (chart, (K, p) directions) to unit cost; those without effect on the data are left out."""
    chart, kept, columns = [], [], []
    for number, u in candidates:
        Z = problem.charts[number].Z
        values = np.maximum(u @ Z.T, 0.0)
        size = np.linalg.norm(u, axis=1, keepdims=True) * np.linalg.norm(Z, axis=1)
        # a neuron that only rounding makes active at a point pays nothing for it
        values[values < _ACTIVE * size] = 0.0
        cost = costs(problem.charts[number], values > 0, u, problem.norm)
        good = (cost > 0) & (values.max(1, initial=0.0) > 0)
        kept += list(u[good] / cost[good, None])
        columns.append((values[good] / cost[good, None]).T)
        chart.append(np.full(int(good.sum()), number))
    n = problem.n
    return Atoms(np.concatenate([*chart, np.zeros(0, int)]), kept, np.concatenate([*columns, np.zeros((n, 0))], axis=1))


@dataclass(frozen=True, eq=False)
class AtomSolution:
    """A basic solution: coefficients of the atoms, the constant, and multipliers."""

    z: np.ndarray
    constant: float
    multipliers: np.ndarray

    @property
    def value(self) -> float:
        """The cost of the network."""
        return float(np.abs(self.z).sum())


def solve_atoms(problem: Problem, atoms: Atoms, time_limit: float | None = None) -> AtomSolution | None:
    """min norm(z)_1 over the atoms; None if HiGHS finds no answer."""
    K, unit = atoms.columns.shape[1], problem.unit_cost
    constant = [np.ones((problem.n, 1))] if problem.has_constant else []
    signed = np.concatenate([unit * atoms.columns, -unit * atoms.columns, *constant], axis=1)
    cost = np.concatenate([np.ones(2 * K), np.zeros(len(constant))])
    labels = problem.differences @ problem.y
    scale = float(np.abs(labels).max()) if problem.goal == "interpolate" else 1.0
    if problem.goal == "interpolate":
        program = {"A_eq": problem.differences @ signed, "b_eq": labels / scale}
    else:
        program = {"A_ub": -problem.y[:, None] * signed, "b_ub": -np.ones(problem.n)}
    options = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    if time_limit is not None:
        options["time_limit"] = max(time_limit, 0.05)
    bounds = [(0.0, None)] * (2 * K) + [(None, None)] * len(constant)
    try:
        found = linprog(cost, **program, bounds=bounds, method="highs-ds", options=options)
    except ValueError:  # entries beyond what the solver takes
        return None
    if found.x is None or found.status != 0:
        return None
    if problem.goal == "interpolate":
        lam = unit * (problem.differences.T @ np.asarray(found.eqlin.marginals))
    else:
        lam = -unit * np.asarray(found.ineqlin.marginals) * problem.y
    z = scale * unit * (found.x[:K] - found.x[K : 2 * K])
    return AtomSolution(z, scale * float(found.x[2 * K]) if constant else 0.0, lam)


def polished(
    problem: Problem, atoms: Atoms, solution: AtomSolution, near: float = ON_HYPERPLANE
) -> tuple[Atoms, AtomSolution]:
    """The support alone, moved by the least change within its cells that meets the data to rounding."""
    support = np.flatnonzero(np.abs(solution.z) > 1e-12 * max(solution.value, 1e-300))
    u = [np.abs(solution.z[j]) * atoms.u[j] for j in support]
    final, exact = fitted(problem, atoms.chart[support], u, np.sign(solution.z[support]), solution.constant, near)
    return final, AtomSolution(exact.z, exact.constant, solution.multipliers)


def fitted(
    problem: Problem, chart: np.ndarray, u: list[np.ndarray], sign: np.ndarray, constant: float, near: float
) -> tuple[Atoms, AtomSolution]:
    """Neurons sign (z_i . u)_+ corrected to meet the data; kinks ``near`` a point go through it.

    In a cell the network is linear in u, so the least correction is one least-squares problem.
    """
    best = (short_of(problem, _values(problem, chart, u, sign, constant)), u, constant)
    for _ in range(_CORRECTIONS):
        u, constant = _corrected(problem, chart, u, sign, constant, near)
        short = short_of(problem, _values(problem, chart, u, sign, constant))
        if short < best[0]:
            best = (short, u, constant)
    _, u, constant = best
    moved = [make_atoms(problem, [(int(k), v[None])]) for k, v in zip(chart, u, strict=True)]
    kept = [j for j, m in enumerate(moved) if m.u]
    z = np.array([sign[j] * _cost_ratio(u[j], moved[j]) for j in kept])
    columns = np.concatenate([np.zeros((problem.n, 0)), *(moved[j].columns for j in kept)], axis=1)
    final = Atoms(chart[kept], [moved[j].u[0] for j in kept], columns)
    return final, _scaled(problem, final, AtomSolution(z, constant, np.zeros(problem.n)))


def joined(one: Atoms, other: Atoms) -> Atoms:
    """The neurons of both."""
    return Atoms(
        np.concatenate([one.chart, other.chart]), [*one.u, *other.u], np.concatenate([one.columns, other.columns], 1)
    )


def misfit(problem: Problem, atoms: Atoms, solution: AtomSolution) -> float:
    """How far the data are from being met."""
    return short_of(problem, atoms.columns @ solution.z + solution.constant)


def short_of(problem: Problem, f: np.ndarray) -> float:
    """How far values at the data are from what is asked of them."""
    if problem.goal == "interpolate":
        return float(np.abs(f - problem.y).max())
    return float(np.maximum(1 - problem.y * f, 0).max())


def _cost_ratio(u: np.ndarray, atom: Atoms) -> float:
    return float(np.linalg.norm(u) / np.linalg.norm(atom.u[0]))


def _values(problem: Problem, chart: np.ndarray, u: list[np.ndarray], sign: np.ndarray, constant: float) -> np.ndarray:
    parts = [s * np.maximum(problem.charts[k].Z @ v, 0.0) for k, v, s in zip(chart, u, sign, strict=True)]
    return np.asarray(sum(parts, np.full(problem.n, constant)))


def _corrected(
    problem: Problem, chart: np.ndarray, u: list[np.ndarray], sign: np.ndarray, constant: float, near: float
) -> tuple[list[np.ndarray], float]:
    if not len(chart) and not problem.has_constant:
        return u, constant
    maps, f = [], np.full(problem.n, constant)
    for k, v, s in zip(chart, u, sign, strict=True):
        Z = problem.charts[k].Z
        on = touched(problem.charts[k], v, near)
        active = (Z @ v > 0) & ~on
        face = np.eye(len(v)) - np.linalg.pinv(Z[on]) @ Z[on] if on.any() else np.eye(len(v))
        # larger neurons move more, so that directions turn least
        maps.append(np.linalg.norm(v) * s * active[:, None] * (Z @ face))
        f += s * active * (Z @ v)
    free = [np.ones((problem.n, 1))] if problem.has_constant else []
    tight = np.ones(problem.n, bool) if problem.goal == "interpolate" else problem.y * f < 1 + _TIGHT
    rows = problem.differences[tight]
    step, *_ = np.linalg.lstsq(rows @ np.concatenate([*maps, *free], axis=1), rows @ (problem.y - f), rcond=1e-13)
    at = np.cumsum([0, *(len(v) for v in u)])
    moved = []
    for j, (k, v) in enumerate(zip(chart, u, strict=True)):
        delta = np.linalg.norm(v) * step[at[j] : at[j + 1]]
        moved.append(snapped(problem.charts[k], v + delta, near))
    return moved, constant + float(step[-1]) * problem.has_constant


def _scaled(problem: Problem, atoms: Atoms, solution: AtomSolution) -> AtomSolution:
    """For margins: enlarged so that no margin falls short by rounding."""
    if problem.goal == "interpolate":
        return solution
    least = float((problem.y * (atoms.columns @ solution.z + solution.constant)).min())
    factor = 1 / least if 0.5 < least < 1 else 1.0
    return AtomSolution(factor * solution.z, factor * solution.constant, solution.multipliers)


def touched(chart: Chart, u: np.ndarray, near: float) -> np.ndarray:
    """Points whose hyperplanes the direction nearly lies on."""
    size = np.linalg.norm(chart.Z, axis=1)
    return np.asarray((size > 0) & (np.abs(chart.Z @ u) < near * size * np.linalg.norm(u)))


def snapped(chart: Chart, u: np.ndarray, near: float) -> np.ndarray:
    """The direction moved onto the hyperplanes that it nearly touches."""
    on = touched(chart, u, near)
    if not on.any():
        return u
    return np.asarray(u - np.linalg.pinv(chart.Z[on]) @ (chart.Z[on] @ u))


def merged(u: np.ndarray, same: float) -> list[np.ndarray]:
    """Adds up neurons of one direction, as cells that share a face give them.

    >>> [sum.tolist() for sum in merged(np.array([[1.0, 0.0], [0.0, 0.0], [2.0, 0.0], [0.0, 1.0]]), 1e-6)]
    [[3.0, 0.0], [0.0, 1.0]]
    """
    u = u[u.any(axis=1)]
    order = np.argsort(-np.linalg.norm(u, axis=1))
    unit = u[order] / np.linalg.norm(u[order], axis=1, keepdims=True)
    sums: list[np.ndarray] = []
    kept: list[int] = []
    for j in range(len(unit)):
        apart = np.linalg.norm(unit[kept] - unit[j], axis=1) if kept else np.array([np.inf])
        nearest = int(apart.argmin())
        if apart[nearest] > same:
            kept.append(j)
            sums.append(u[order[j]].copy())
        else:
            sums[nearest] += u[order[j]]
    return sums


def reduced(problem: Problem, atoms: Atoms, solution: AtomSolution) -> AtomSolution:
    """At most n atoms by Caratheodory's argument: moves along dependencies, never at a higher cost.

    The dependencies are found once; each move takes an atom away, and one of them.
    """
    support, constant = np.flatnonzero(solution.z), solution.constant
    kept = solution.z[support].copy()
    A = atoms.columns[:, support]
    A = np.column_stack([A, np.ones(problem.n)]) if problem.has_constant else A
    moves = np.linalg.svd(A)[2][problem.n :].T
    while moves.shape[1] and np.count_nonzero(kept) > problem.n - problem.has_constant:
        move = moves[:, -1] if np.sign(kept) @ moves[: len(kept), -1] <= 0 else -moves[:, -1]
        step = move[: len(kept)]
        shrinks = step * kept < 0
        if not shrinks.any():
            break
        ratio = np.where(shrinks, -kept / np.where(shrinks, step, 1.0), np.inf)
        first = int(ratio.argmin())
        kept += ratio[first] * step
        constant += ratio[first] * float(move[-1]) * problem.has_constant
        kept[first] = 0.0
        moves = _without(moves, first)
    z = np.zeros_like(solution.z)
    z[support] = kept
    return AtomSolution(z, constant, solution.multipliers)


def _without(moves: np.ndarray, row: int) -> np.ndarray:
    """A basis of those combinations of the columns whose entry in the row is zero, by one reflection."""
    reflection = moves[row].copy()
    reflection[-1] += np.copysign(np.linalg.norm(reflection), reflection[-1])
    size = float(reflection @ reflection)
    if size > 0:
        moves = moves - np.outer(moves @ reflection, 2 / size * reflection)
    moves = moves[:, :-1]
    moves[row] = 0.0
    return moves


def eliminated(problem: Problem, atoms: Atoms, pivots: bool) -> AtomSolution | None:
    """A solution of n atoms by one QR factorisation: dearer than the least, and fast.

    Args:
        pivots: whether they choose the atoms; else the first n are taken.
    """
    if len(atoms.u) < problem.n:
        return None
    constant = float(problem.y.mean()) if problem.has_constant else 0.0
    if pivots:
        Q, R, order = qr(atoms.columns, mode="economic", pivoting=True)
        chosen = order[: problem.n]
    else:
        chosen = np.arange(problem.n)
        Q, R = qr(atoms.columns[:, chosen], mode="economic")
    z = np.zeros(len(atoms.u))
    try:
        z[chosen] = solve_triangular(R[:, : problem.n], Q.T @ (problem.y - constant))
    except (np.linalg.LinAlgError, ValueError):  # the atoms cannot tell all points apart
        return None
    return AtomSolution(z, constant, np.zeros(problem.n)) if np.isfinite(z).all() else None


def n_starting_atoms(problem: Problem) -> int:
    """How many there are."""
    lines = problem.n if problem.bias == "penalised" else len(problem.charts)
    return 2 * (min(30 * problem.n, _MOST_AT_START) + lines)


def starting_atoms(problem: Problem, rng: np.random.Generator, most: int | None = None) -> Atoms:
    """Random neurons with kinks among the data, and a staircase along one line that fits any data.

    Args:
        most: so many at most, and all of them random.
    """
    line = _line(problem, rng)
    candidates = []
    wanted = min(30 * problem.n, _MOST_AT_START) if most is None else most
    count = max(1, wanted // len(problem.charts))
    for k, chart in enumerate(problem.charts):
        u = rng.normal(size=(count, chart.Z.shape[1]))
        if problem.bias == "penalised":
            share = rng.uniform(size=(count, 1))
            through = share * chart.Z[rng.integers(problem.n, size=count)]
            through += (1 - share) * chart.Z[rng.integers(problem.n, size=count)]
            u -= ((u * through).sum(1) / np.maximum((through**2).sum(1), 1e-300))[:, None] * through
            u = np.concatenate([u, _staircase(problem.X, line) @ chart.embed]) if most is None else u
        elif most is None:
            u = np.concatenate([u, line[None] @ chart.embed[:-1]])
        candidates.append((k, np.concatenate([u, -u]) if most is None else u))
    return make_atoms(problem, candidates)


def _line(problem: Problem, rng: np.random.Generator) -> np.ndarray:
    spread = np.ptp(problem.X, axis=0)
    return np.asarray(rng.normal(size=problem.X.shape[1]) / np.where(spread > 0, spread, 1.0))


def _staircase(X: np.ndarray, line: np.ndarray) -> np.ndarray:
    """Neurons (line, -t) with one kink below all points and one between each two in turn."""
    at = np.sort(X @ line)
    spread = max(float(at[-1] - at[0]), 1e-3 * float(np.abs(at).max()), 1e-12)
    kinks = np.append(at[0] - spread / len(at), (at[1:] + at[:-1]) / 2)
    return np.column_stack([np.tile(line, (len(kinks), 1)), -kinks])

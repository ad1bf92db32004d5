"""Networks of neurons of cost one: a linear program over given ones, and the best network of a cone program's.

The basic solutions of the linear program have at most n neurons. A network is corrected to meet the data within the
cells of its neurons, and kept with what it proves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr, solve_triangular
from scipy.optimize import linprog

from compsparse.sparse.memorisation.certificate import PrimalBound, primal_bound, some_lines
from compsparse.sparse.memorisation.cone import Generated
from compsparse.sparse.memorisation.problem import Chart, Problem, balanced_label_noise_penalty, costs, neuron_costs
from compsparse.sparse.memorisation.stopping import StoppingRule, seconds_of_atoms, seconds_of_check, seconds_of_fit

_ON_HYPERPLANE = 1e-7
_ACTIVE = 1e-12
_TIGHT = 1e-6
_CORRECTIONS = 3
_MOST_AT_START = 2000
_SNAPS = (_ON_HYPERPLANE, 1e-9, 1e-11, 0.0)
_FITS = 1e-8
_GOOD_ENOUGH = 2e-9  # relative gap of a network beside which no other is tried


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


def _polished(problem: Problem, atoms: Atoms, solution: AtomSolution, near: float) -> tuple[Atoms, AtomSolution]:
    """The support alone, moved by the least change within its cells that meets the data to rounding."""
    support = np.flatnonzero(np.abs(solution.z) > 1e-12 * max(solution.value, 1e-300))
    u = [np.abs(solution.z[j]) * atoms.u[j] for j in support]
    final, exact = _fitted(problem, atoms.chart[support], u, np.sign(solution.z[support]), solution.constant, near)
    return final, AtomSolution(exact.z, exact.constant, solution.multipliers)


def _fitted(
    problem: Problem, chart: np.ndarray, u: list[np.ndarray], sign: np.ndarray, constant: float, near: float
) -> tuple[Atoms, AtomSolution]:
    """Neurons sign (z_i . u)_+ corrected to meet the data; kinks ``near`` a point go through it.

    In a cell the network is linear in u, so the least correction is one least-squares problem.
    """
    best = (_short_of(problem, _values(problem, chart, u, sign, constant)), u, constant)
    for _ in range(_CORRECTIONS):
        u, constant = _corrected(problem, chart, u, sign, constant, near)
        short = _short_of(problem, _values(problem, chart, u, sign, constant))
        if short < best[0]:
            best = (short, u, constant)
    _, u, constant = best
    moved = [make_atoms(problem, [(int(k), v[None])]) for k, v in zip(chart, u, strict=True)]
    kept = [j for j, m in enumerate(moved) if m.u]
    z = np.array([sign[j] * float(np.linalg.norm(u[j]) / np.linalg.norm(moved[j].u[0])) for j in kept])
    columns = np.concatenate([np.zeros((problem.n, 0)), *(moved[j].columns for j in kept)], axis=1)
    final = Atoms(chart[kept], [moved[j].u[0] for j in kept], columns)
    return final, _scaled(problem, final, AtomSolution(z, constant, np.zeros(problem.n)))


def _short_of(problem: Problem, f: np.ndarray) -> float:
    """How far values at the data are from what is asked of them."""
    if problem.goal == "interpolate":
        return float(np.abs(f - problem.y).max())
    return float(np.maximum(1 - problem.y * f, 0).max())


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
        on = _touched(problem.charts[k], v, near)
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
        moved.append(_snapped(problem.charts[k], v + delta, near))
    return moved, constant + float(step[-1]) * problem.has_constant


def _scaled(problem: Problem, atoms: Atoms, solution: AtomSolution) -> AtomSolution:
    """For margins: enlarged so that no margin falls short by rounding."""
    if problem.goal == "interpolate":
        return solution
    least = float((problem.y * (atoms.columns @ solution.z + solution.constant)).min())
    factor = 1 / least if 0.5 < least < 1 else 1.0
    return AtomSolution(factor * solution.z, factor * solution.constant, solution.multipliers)


def _touched(chart: Chart, u: np.ndarray, near: float) -> np.ndarray:
    """Points whose hyperplanes the direction nearly lies on."""
    size = np.linalg.norm(chart.Z, axis=1)
    return np.asarray((size > 0) & (np.abs(chart.Z @ u) < near * size * np.linalg.norm(u)))


def _snapped(chart: Chart, u: np.ndarray, near: float) -> np.ndarray:
    """The direction moved onto the hyperplanes that it nearly touches."""
    on = _touched(chart, u, near)
    if not on.any():
        return u
    return np.asarray(u - np.linalg.pinv(chart.Z[on]) @ (chart.Z[on] @ u))


def _merged(u: np.ndarray, same: float) -> list[np.ndarray]:
    """Adds up neurons of one direction, as cells that share a face give them.

    >>> [sum.tolist() for sum in _merged(np.array([[1.0, 0.0], [0.0, 0.0], [2.0, 0.0], [0.0, 1.0]]), 1e-6)]
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


# ---- from the answer of the cone program -------------------------------------------------


@dataclass(frozen=True, eq=False)
class AssembledNetwork:
    """A network, its cost and what it proves."""

    theta: np.ndarray
    z: np.ndarray
    constant: float
    value: float
    proved: PrimalBound
    multipliers: np.ndarray

    @classmethod
    def constant_alone(cls, problem: Problem, constant: float) -> AssembledNetwork:
        """A constant that costs nothing and meets the data."""
        theta = np.zeros((0, problem.X.shape[1] + 1))
        return cls(theta, np.zeros(0), constant, 0.0, PrimalBound(0.0, 0.0), np.zeros(problem.n))


def best_network(
    problem: Problem, atoms: Atoms, start: AtomSolution | None, done: Generated, rule: StoppingRule
) -> AssembledNetwork:
    """The basic solution of least upper bound, over the cone program's neurons or, if they do not fit, with others.

    Kinks nearly at a point go through it, which gives the sparsest network; where points are that close to each other
    less is moved. What there is no time for is left out.
    """
    tried, pool = [], atoms
    if done.cone is not None and done.cone.solved:
        for near in _SNAPS:
            if not rule.has_time_for(_seconds(problem, len(done.blocks))):
                break
            neurons, answer = _basic(problem, done, near, rule)
            tried.append(_summed_up(problem, *answer))
            is_best = tried[-1].proved.upper <= done.lower * (1 + _GOOD_ENOUGH)
            if (is_best or done.ended.is_cut_short) and meets_labels(problem, tried[-1]):
                return tried[-1]
            charts, columns = zip((neurons.chart, neurons.columns), (pool.chart, pool.columns), strict=True)
            pool = Atoms(np.concatenate(charts), [*neurons.u, *pool.u], np.concatenate(columns, axis=1))
        if rule.has_time_for(seconds_of_atoms(problem.n, len(pool.u))):
            start = solve_atoms(problem, pool, rule.deadline.time_limit) or start
    if start is not None:
        of = pool if len(start.z) == len(pool.u) else atoms
        if rule.deadline.is_set:
            tried.append(_summed_up(problem, of, start))
        for near in _SNAPS:
            if rule.has_time_for(_seconds(problem, int(np.count_nonzero(start.z)))):
                tried.append(_summed_up(problem, *_polished(problem, of, start, near)))
    if not any(meets_labels(problem, network) for network in tried):
        tried.append(_along_a_line(problem))
    return min(tried, key=lambda network: (not meets_labels(problem, network), network.proved.upper))


def _seconds(problem: Problem, n_neurons: int) -> float:
    """To correct so many neurons, as often as is done, and to sum them up."""
    return 6 * seconds_of_fit(problem.n, n_neurons * problem.charts[0].Z.shape[1]) + seconds_of_check(problem.n)


def _summed_up(problem: Problem, atoms: Atoms, solution: AtomSolution) -> AssembledNetwork:
    chosen = np.flatnonzero(solution.z)
    theta, z = atoms.directions(problem, chosen), solution.z[chosen]
    value = solution.value if problem.norm == "label-noise" else float(np.abs(z) @ neuron_costs(theta, problem.bias))
    proved = primal_bound(problem, theta, z, solution.constant, value)
    return AssembledNetwork(theta, z, solution.constant, value, proved, solution.multipliers)


def _along_a_line(problem: Problem) -> AssembledNetwork:
    """The values along the line on which the points are most apart, joined by straight lines: a last resort."""
    lines = some_lines(problem.X)
    places = np.sort(problem.X @ lines.T, axis=0)
    line = lines[int(np.argmax(np.diff(places, axis=0).min(0, initial=np.inf)))]
    at = problem.X @ line
    order = np.argsort(at)
    with np.errstate(all="ignore"):
        slopes = np.nan_to_num(np.diff(problem.y[order]) / np.diff(at[order]), posinf=0.0, neginf=0.0)
    theta = np.column_stack([np.tile(line, (len(slopes), 1)), -at[order[:-1]]])
    z = np.diff(slopes, prepend=0.0)
    if not problem.has_constant:
        theta = np.concatenate([np.eye(problem.X.shape[1] + 1)[-1:], theta])
        z = np.concatenate([problem.y[order[:1]], z])
    constant = float(problem.y[order[0]]) if problem.has_constant else 0.0
    if problem.norm == "label-noise":
        cost = np.array([balanced_label_noise_penalty(problem.X, t[None], np.ones(1)) for t in theta])
    else:
        cost = neuron_costs(theta, problem.bias)
    kept = (cost > 0) & (z != 0)
    theta, z = theta[kept] / cost[kept, None], z[kept] * cost[kept]
    value = float(np.abs(z).sum())
    proved = primal_bound(problem, theta, z, constant, value)
    return AssembledNetwork(theta, z, constant, value, proved, np.zeros(problem.n))


def _basic(
    problem: Problem, done: Generated, near: float, rule: StoppingRule
) -> tuple[Atoms, tuple[Atoms, AtomSolution]]:
    """The neurons of the cone program, and a basic solution over them."""
    assert done.cone is not None
    final, feasible = _fitted(problem, *_in_use(problem, done, near), done.cone.constant, near)
    basic = solve_atoms(problem, final, rule.deadline.time_limit)
    if basic is None or basic.value > feasible.value * (1 + 1e-9):
        basic = reduced(problem, final, feasible)
    return final, _polished(problem, final, basic, near)


def _in_use(problem: Problem, done: Generated, near: float) -> tuple[np.ndarray, list[np.ndarray], np.ndarray]:
    """Charts, directions and signs that the cone program uses, moved onto the hyperplanes they nearly touch."""
    assert done.cone is not None
    largest = max(float(np.linalg.norm(u)) for u in done.cone.u)
    found: dict[tuple[int, int], list[np.ndarray]] = {}
    for block, u in zip(done.blocks, done.cone.u, strict=True):
        if float(np.linalg.norm(u)) > (near / 10 or 1e-13) * largest:
            found.setdefault((block.chart, block.sign), []).append(_snapped(problem.charts[block.chart], u, near))
    sums = [(k, sign, u) for (k, sign), us in found.items() for u in _merged(np.array(us), 10 * near)]
    return np.array([k for k, _, _ in sums]), [u for *_, u in sums], np.array([s for _, s, _ in sums], float)


def meets_labels(problem: Problem, network: AssembledNetwork) -> bool:
    """Whether the residual is small beside the differences of labels."""
    size = float(np.ptp(problem.y)) or float(np.abs(problem.y).max())
    return network.proved.residual <= _FITS * (1.0 if problem.goal == "margin" else size)

"""From the answer of the cone program to a network with few neurons that meets the data, and what it proves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from compsparse.sparse.memorisation.atoms import (
    ON_HYPERPLANE,
    Atoms,
    AtomSolution,
    fitted,
    joined,
    merged,
    polished,
    reduced,
    snapped,
    solve_atoms,
)
from compsparse.sparse.memorisation.checking import PrimalBound, primal_bound, some_lines
from compsparse.sparse.memorisation.columns import Generated
from compsparse.sparse.memorisation.norms import balanced_label_noise_penalty, neuron_costs
from compsparse.sparse.memorisation.problem import Problem
from compsparse.sparse.memorisation.stopping import (
    StoppingRule,
    seconds_of_atoms,
    seconds_of_check,
    seconds_of_fit,
)

_SNAPS = (ON_HYPERPLANE, 1e-9, 1e-11, 0.0)
_FITS = 1e-8
_GOOD_ENOUGH = 2e-9  # relative gap of a network beside which no other is tried


@dataclass(frozen=True, eq=False)
class AssembledNetwork:
    """A network, its cost and what it proves."""

    theta: np.ndarray
    z: np.ndarray
    constant: float
    value: float
    proved: PrimalBound
    multipliers: np.ndarray


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
            pool = joined(neurons, pool)
        if rule.has_time_for(seconds_of_atoms(problem.n, len(pool.u))):
            start = solve_atoms(problem, pool, rule.seconds_left) or start
    if start is not None:
        of = pool if len(start.z) == len(pool.u) else atoms
        if rule.deadline is not None:
            tried.append(_summed_up(problem, of, start))
        for near in _SNAPS:
            if rule.has_time_for(_seconds(problem, int(np.count_nonzero(start.z)))):
                tried.append(_summed_up(problem, *polished(problem, of, start, near)))
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
    final, feasible = fitted(problem, *_in_use(problem, done, near), done.cone.constant, near)
    basic = solve_atoms(problem, final, rule.seconds_left)
    if basic is None or basic.value > feasible.value * (1 + 1e-9):
        basic = reduced(problem, final, feasible)
    return final, polished(problem, final, basic, near)


def _in_use(problem: Problem, done: Generated, near: float) -> tuple[np.ndarray, list[np.ndarray], np.ndarray]:
    """Charts, directions and signs that the cone program uses, moved onto the hyperplanes they nearly touch."""
    assert done.cone is not None
    largest = max(float(np.linalg.norm(u)) for u in done.cone.u)
    found: dict[tuple[int, int], list[np.ndarray]] = {}
    for block, u in zip(done.blocks, done.cone.u, strict=True):
        if float(np.linalg.norm(u)) > (near / 10 or 1e-13) * largest:
            found.setdefault((block.chart, block.sign), []).append(snapped(problem.charts[block.chart], u, near))
    sums = [(k, sign, u) for (k, sign), us in found.items() for u in merged(np.array(us), 10 * near)]
    return np.array([k for k, _, _ in sums]), [u for *_, u in sums], np.array([s for _, s, _ in sums], float)


def meets_labels(problem: Problem, network: AssembledNetwork) -> bool:
    """Whether the residual is small beside the differences of labels."""
    size = float(np.ptp(problem.y)) or float(np.abs(problem.y).max())
    return network.proved.residual <= _FITS * (1.0 if problem.goal == "margin" else size)

"""memorise: the smallest shallow ReLU network through given data, with a certificate."""

from __future__ import annotations

import time
from typing import Literal, get_args

import numpy as np

from compsparse.errors import ConfigError, TrainingError
from compsparse.sparse.memorisation.atoms import (
    Atoms,
    AtomSolution,
    fitted,
    joined,
    merged,
    misfit,
    polished,
    reduced,
    short_of,
    snapped,
    solve_atoms,
    starting_atoms,
    values,
)
from compsparse.sparse.memorisation.cells import MOST_INCIDENCES, cells_of, incidences
from compsparse.sparse.memorisation.certificate import admissible, lower_bound
from compsparse.sparse.memorisation.columns import Generated, Pricer, Warm, generate
from compsparse.sparse.memorisation.cone import Block, solve_cone
from compsparse.sparse.memorisation.pricing import ExhaustivePricing, Prices, price_all
from compsparse.sparse.memorisation.problem import Bias, Norm, Problem, Task, make_problem, with_one
from compsparse.sparse.memorisation.record import Memorised
from compsparse.sparse.memorisation.search import price_by_search

Method = Literal["auto", "exact", "columns"]
_MOST_EXACT_CELLS = 300
_ABOVE_ONE = 1e-10
_FITS = 1e-8
_ENDS = {
    "gap": "solved: the gap is below the tolerance",
    "stalled": "solved to the accuracy of the cone solver: no cell is left to add",
    "time": "the time limit ended it: the best network so far, with its gap",
    "rounds": "the limit of rounds ended it: the best network so far, with its gap",
}


def memorise(
    X: object,
    y: object,
    *,
    norm: Norm = "weight-decay",
    bias: Bias = "penalised",
    task: Task = "interpolate",
    method: Method = "auto",
    time_limit: float | None = None,
    max_rounds: int = 200,
    tol: float = 1e-9,
    random_state: int | None = 0,
) -> Memorised:
    r"""The shallow ReLU network of least cost that memorises the data.

    With :math:`\tilde x = (x, 1)` it solves

    .. math:: V = \min \sum_j |z_j| \quad\text{s.t.}\quad \sum_j z_j (\theta_j \cdot \tilde x_i)_+ = y_i,
              \quad \|\theta_j\| = 1,

    over any number of neurons; at most n are needed (de Dios and Bruna 2020). Within a cell, where a
    fixed set of points is active, neurons add up to one, so this is a finite cone program.

    Args:
        norm: ``weight-decay``, or ``label-noise``: the implicit penalty (1/n) sum_i norm(grad f(x_i))^2
            of SGD with noisy labels, which is ``value`` itself.
        bias: ``penalised`` counts b in the norm of (w, b); ``free`` does not, and adds a free constant.
        task: ``interpolate``, or ``margin``: y in {-1, +1} and y_i f(x_i) >= 1.
        method: ``exact`` takes all cells into one program, ``columns`` adds them as needed; ``auto`` chooses.
        time_limit: seconds after which the best network so far is taken, if there is one.
        max_rounds: the same in rounds of column generation, which gives the same network on any machine.
        tol: relative gap to reach.

    >>> net = memorise([[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0], bias="free")
    >>> net.n_neurons, round(net.value, 9)
    (2, 2.0)
    """
    started = time.perf_counter()
    if method not in get_args(Method):
        raise ConfigError(f"method must be one of {', '.join(map(repr, get_args(Method)))}, got {method!r}")
    if time_limit is not None and not time_limit > 0:
        raise ConfigError(f"time_limit must be positive, got {time_limit}")
    if max_rounds < 1:
        raise ConfigError(f"max_rounds must be at least 1, got {max_rounds}")
    problem = make_problem(X, y, norm, bias, task)
    if _costs_nothing(problem):
        return _free_of_charge(problem, time.perf_counter() - started)
    deadline = None if time_limit is None else started + time_limit
    return _solve(problem, method, deadline, max_rounds, tol, np.random.default_rng(random_state), started)


def _costs_nothing(problem: Problem) -> bool:
    if problem.has_constant:
        return bool(np.ptp(problem.y) == 0)
    return not problem.y.any()


def _free_of_charge(problem: Problem, seconds: float) -> Memorised:
    d, none = problem.X.shape[1], np.zeros(0)
    constant = float(problem.y[0])
    return Memorised(np.zeros((0, d + 1)), none, constant, 0.0, 0.0, 0.0, "rigorous", 0.0, "solved: a constant will do",
                     "none", problem.norm, problem.bias, problem.task, None, 0, seconds,
                     np.zeros(problem.n), none)  # fmt: skip


def _solve(
    problem: Problem,
    method: Method,
    deadline: float | None,
    max_rounds: int,
    tol: float,
    rng: np.random.Generator,
    started: float,
) -> Memorised:
    pricings = _enumerated(problem)
    if method == "exact" and pricings is None:
        raise ConfigError(
            f"{problem.n} points in {problem.X.shape[1]} dimensions have too many cells for method='exact': "
            "use method='columns', whose gap is then heuristic"
        )
    n_cells = None if pricings is None else sum(p.cells.count for p in pricings)
    exact = method == "exact" or (method == "auto" and n_cells is not None and n_cells <= _MOST_EXACT_CELLS)
    atoms = starting_atoms(problem, rng)
    start = solve_atoms(problem, atoms)
    if exact and pricings is not None:
        done, used = _all_at_once(problem, pricings, deadline), "cone program over all cells"
    else:
        blocks, pricer = _support(problem, atoms, start, pricings), _pricer(problem, pricings, rng)
        done = generate(problem, blocks, pricer, tol, deadline, max_rounds, exhaustible=pricings is not None)
        used = "column generation, " + ("every cell priced" if pricings is not None else "cells found by search")
    return _finished(problem, atoms, done, used, n_cells, tol, started)


def _enumerated(problem: Problem) -> list[ExhaustivePricing] | None:
    if sum(map(incidences, problem.charts)) > MOST_INCIDENCES:
        return None
    return [ExhaustivePricing(k, cells_of(chart), problem.norm) for k, chart in enumerate(problem.charts)]


def _support(
    problem: Problem, atoms: Atoms, start: AtomSolution | None, pricings: list[ExhaustivePricing] | None
) -> list[Block]:
    """Blocks of the cells in which a first network of random neurons has its neurons."""
    chosen = range(len(atoms.u)) if start is None else np.flatnonzero(start.z)
    blocks = {}
    for j in chosen:
        chart = problem.charts[atoms.chart[j]]
        for sign in (1, -1) if start is None else (int(np.sign(start.z[j])),):
            pattern = atoms.columns[:, j] > 0
            cell = None if pricings is None else pricings[atoms.chart[j]].cells.find(pattern)
            facets = chart.rows if pricings is None or cell is None else pricings[atoms.chart[j]].cells.facets(cell[0])
            block = Block(int(atoms.chart[j]), pattern, sign, facets)
            blocks[block.key] = block
    return list(blocks.values())


def _pricer(problem: Problem, pricings: list[ExhaustivePricing] | None, rng: np.random.Generator) -> Pricer:
    most = max(20, int(1.5 * problem.n))

    def listed(lam: np.ndarray, warm: Warm, full: bool) -> Prices:
        assert pricings is not None
        return price_all(pricings, lam, 1 + _ABOVE_ONE, full, most)

    def searched(lam: np.ndarray, warm: Warm, full: bool) -> Prices:
        n_starts = 8000 if full else 1500
        return price_by_search(problem, lam, warm, rng, threshold=1 + _ABOVE_ONE, n_starts=n_starts, most_blocks=most)

    return searched if pricings is None else listed


def _all_at_once(problem: Problem, pricings: list[ExhaustivePricing], deadline: float | None) -> Generated:
    blocks = [b for pricing in pricings for b in pricing.all_blocks() if b.pattern.any()]
    left = None if deadline is None else deadline - time.perf_counter()
    cone = solve_cone(problem, blocks, left)
    lam = admissible(problem, cone.multipliers)
    lower = lower_bound(problem, lam, price_all(pricings, lam, 1.0, True, 0).most) if cone.solved else 0.0
    return Generated(blocks, cone, lower, True, 1, "stalled" if cone.solved else "time")


def _finished(
    problem: Problem,
    atoms: Atoms,
    done: Generated,
    used: str,
    n_cells: int | None,
    tol: float,
    started: float,
) -> Memorised:
    """The basic solution over the directions of the cone program, as a record."""
    of, best = _network(problem, atoms, done)
    chosen = np.flatnonzero(best.z)
    theta, z = of.directions(problem, chosen), best.z[chosen]
    gap = max(0.0, best.value - done.lower) / max(best.value, 1e-300)
    f = values(problem.X, theta, z, best.constant)
    ended = "gap" if gap <= tol else {"gap": "stalled"}.get(done.ended, done.ended)
    lam = done.cone.multipliers if done.cone is not None else best.multipliers
    return Memorised(
        theta, z, best.constant, best.value, done.lower, gap, "rigorous" if done.rigorous else "heuristic",
        short_of(problem, f), _sentence(ended, done.rigorous), used, problem.norm, problem.bias, problem.task,
        n_cells, done.rounds, time.perf_counter() - started, lam, _balance(problem, theta),
    )  # fmt: skip


def _network(problem: Problem, atoms: Atoms, done: Generated) -> tuple[Atoms, AtomSolution]:
    """A basic solution over the directions of the cone program; with random ones if those alone do not fit."""
    pool = atoms
    if done.cone is not None and done.cone.solved:
        final, feasible = fitted(problem, *_in_use(problem, done), done.cone.constant)
        basic = solve_atoms(problem, final)
        if basic is None or basic.value > feasible.value * (1 + 1e-9):
            basic = reduced(problem, final, feasible)
        answer = polished(problem, final, basic)
        if misfit(problem, *answer) <= _FITS * np.abs(problem.y).max():
            return answer
        pool = joined(final, atoms)
    start = solve_atoms(problem, pool)
    if start is None:
        raise TrainingError("the linear program over random neurons failed: the data may be too badly scaled")
    return polished(problem, pool, start)


def _sentence(ended: str, rigorous: bool) -> str:
    proof = "" if rigorous else "; there are too many cells to list, so the bound is from a search and may be too high"
    return _ENDS[ended] + proof


def _in_use(problem: Problem, done: Generated) -> tuple[np.ndarray, list[np.ndarray], np.ndarray]:
    """Charts, directions and signs that the cone program uses, moved onto the hyperplanes they nearly touch."""
    assert done.cone is not None
    largest = max(float(np.linalg.norm(u)) for u in done.cone.u)
    found: dict[tuple[int, int], list[np.ndarray]] = {}
    for block, u in zip(done.blocks, done.cone.u, strict=True):
        if float(np.linalg.norm(u)) > 1e-8 * largest:
            found.setdefault((block.chart, block.sign), []).append(snapped(problem.charts[block.chart], u))
    sums = [(k, sign, u) for (k, sign), us in found.items() for u in merged(np.array(us))]
    return np.array([k for k, _, _ in sums]), [u for *_, u in sums], np.array([s for _, s, _ in sums], float)


def _balance(problem: Problem, theta: np.ndarray) -> np.ndarray:
    """(outer / inner) squared scale of each neuron at which the penalty is least: 1 for weight decay."""
    if problem.norm == "weight-decay":
        return np.ones(len(theta))
    points = with_one(problem.X)
    pre = points @ theta.T
    active = pre > 1e-12 * np.linalg.norm(points, axis=1)[:, None] * np.linalg.norm(theta, axis=1)
    return np.sqrt(active.T @ (points**2).sum(1) / np.maximum((np.where(active, pre, 0.0) ** 2).sum(0), 1e-300))

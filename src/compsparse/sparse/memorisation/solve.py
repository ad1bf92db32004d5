"""memorise: the smallest shallow ReLU network through given data, with a certificate."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Literal, get_args

import numpy as np

from compsparse.certificate import Certificate, Rigour
from compsparse.checks import (
    RandomState,
    check_choice,
    check_count,
    check_number,
    deadline_in,
    generator_from,
)
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
from compsparse.sparse.memorisation.columns import (
    Generated,
    Pricer,
    StoppingRule,
    Warm,
    admissible,
    generate,
    lower_bound,
)
from compsparse.sparse.memorisation.cone import ConeBlock, solve_cone
from compsparse.sparse.memorisation.pricing import ExhaustivePricing, Prices, price_all
from compsparse.sparse.memorisation.problem import Bias, Goal, Norm, Problem, make_problem, with_one
from compsparse.sparse.memorisation.record import Memorised, MemoriseStatus
from compsparse.sparse.memorisation.search import price_by_search

MemoriseMethod = Literal["auto", "exact", "columns"]
_MOST_EXACT_CELLS = 300
_ABOVE_ONE = 1e-10
_FITS = 1e-8
_QUANTITY = "least cost of a shallow ReLU network that memorises the data"


def memorise(
    X: object,
    y: object,
    *,
    norm: Norm = "weight-decay",
    bias: Bias = "penalised",
    goal: Goal = "interpolate",
    method: MemoriseMethod = "auto",
    time_limit: float | None = 20.0,
    max_rounds: int = 200,
    tol: float = 1e-9,
    random_state: RandomState = 0,
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
        goal: ``interpolate``, or ``margin``: y in {-1, +1} and y_i f(x_i) >= 1.
        method: ``exact`` takes all cells into one program, ``columns`` adds them as needed; ``auto`` chooses.
        time_limit: seconds after which the best network so far is taken, with a status that says so; None takes as
            long as it takes.
        max_rounds: the same in rounds of column generation, which gives the same network on any machine.
        tol: relative gap to reach.
        random_state: seed of the first neurons, and of the search for cells where they are too many to list.

    >>> net = memorise([[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0], bias="free")
    >>> net.n_neurons, round(net.value, 9)
    (2, 2.0)
    """
    started = time.perf_counter()
    check_choice("method", method, get_args(MemoriseMethod))
    rule = StoppingRule(
        check_number("tol", tol, above=0), deadline_in(time_limit), check_count("max_rounds", max_rounds)
    )
    rng = generator_from(random_state)
    problem = make_problem(X, y, norm, bias, goal)
    if _costs_nothing(problem):
        return _free_of_charge(problem, time.perf_counter() - started)
    return _solve(problem, method, rule, rng, started)


def _costs_nothing(problem: Problem) -> bool:
    if problem.has_constant:
        return bool(np.ptp(problem.y) == 0)
    return not problem.y.any()


def _free_of_charge(problem: Problem, seconds: float) -> Memorised:
    d, none = problem.X.shape[1], np.zeros(0)
    constant = float(problem.y[0])
    return Memorised(
        theta=np.zeros((0, d + 1)),
        z=none,
        constant=constant,
        certificate=Certificate.exact(_QUANTITY, 0.0, Rigour.RIGOROUS, obtained="no cost is negative"),
        residual=0.0,
        status=MemoriseStatus.CONSTANT,
        method="none",
        norm=problem.norm,
        bias=problem.bias,
        goal=problem.goal,
        n_cells=None,
        rounds=0,
        seconds=seconds,
        multipliers=np.zeros(problem.n),
        balance=none,
    )


def _solve(
    problem: Problem, method: MemoriseMethod, rule: StoppingRule, rng: np.random.Generator, started: float
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
        done, used = _all_at_once(problem, pricings, rule), "cone program over all cells"
    else:
        blocks, pricer = _support(problem, atoms, start, pricings), _pricer(problem, pricings, rng)
        done = generate(problem, blocks, pricer, rule, exhaustible=pricings is not None)
        used = "column generation, " + ("every cell priced" if pricings is not None else "cells found by search")
    return _finished(problem, (atoms, start), done, used, n_cells=n_cells, tol=rule.tol, started=started)


def _enumerated(problem: Problem) -> list[ExhaustivePricing] | None:
    if sum(map(incidences, problem.charts)) > MOST_INCIDENCES:
        return None
    return [ExhaustivePricing(k, cells_of(chart), problem.norm) for k, chart in enumerate(problem.charts)]


def _support(
    problem: Problem, atoms: Atoms, start: AtomSolution | None, pricings: list[ExhaustivePricing] | None
) -> list[ConeBlock]:
    """Blocks of the cells in which a first network of random neurons has its neurons."""
    chosen = range(len(atoms.u)) if start is None else np.flatnonzero(start.z)
    blocks = {}
    for j in chosen:
        chart = problem.charts[atoms.chart[j]]
        for sign in (1, -1) if start is None else (int(np.sign(start.z[j])),):
            pattern = atoms.columns[:, j] > 0
            cell = None if pricings is None else pricings[atoms.chart[j]].cells.find(pattern)
            facets = chart.rows if pricings is None or cell is None else pricings[atoms.chart[j]].cells.facets(cell[0])
            block = ConeBlock(int(atoms.chart[j]), pattern, sign, facets)
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


def _all_at_once(problem: Problem, pricings: list[ExhaustivePricing], rule: StoppingRule) -> Generated:
    blocks = [b for pricing in pricings for b in pricing.all_blocks() if b.pattern.any()]
    cone = solve_cone(problem, blocks, rule.seconds_left)
    lam = admissible(problem, cone.multipliers)
    lower = lower_bound(problem, lam, price_all(pricings, lam, 1.0, True, 0).most) if cone.solved else 0.0
    ended = MemoriseStatus.STALLED if cone.solved else MemoriseStatus.TIME
    return Generated(blocks, cone, lower, rigorous=True, rounds=1, ended=ended)


def _finished(
    problem: Problem,
    first: tuple[Atoms, AtomSolution | None],
    done: Generated,
    used: str,
    *,
    n_cells: int | None,
    tol: float,
    started: float,
) -> Memorised:
    """The basic solution over the directions of the cone program, as a record."""
    of, best = _network(problem, *first, done)
    chosen = np.flatnonzero(best.z)
    theta, z = of.directions(problem, chosen), best.z[chosen]
    residual = short_of(problem, values(problem.X, theta, z, best.constant))
    found = Memorised(
        theta=theta,
        z=z,
        constant=best.constant,
        certificate=_certificate(best.value, done, residual),
        residual=residual,
        status=MemoriseStatus.STALLED if done.ended is MemoriseStatus.GAP else done.ended,
        method=used,
        norm=problem.norm,
        bias=problem.bias,
        goal=problem.goal,
        n_cells=n_cells,
        rounds=done.rounds,
        seconds=time.perf_counter() - started,
        multipliers=done.cone.multipliers if done.cone is not None else best.multipliers,
        balance=_balance(problem, theta),
    )
    return replace(found, status=MemoriseStatus.GAP) if found.gap <= tol else found


def _certificate(value: float, done: Generated, residual: float) -> Certificate:
    """The network that was found bounds the least cost from above, the multipliers bound it from below."""
    if done.rigorous:
        rigour, obtained = Rigour.RIGOROUS, "every cell was priced"
    else:
        obtained = "there are too many cells to list, so the lower bound is from a search and may be too high"
        rigour = Rigour.HEURISTIC
    assumes = (f"labels that are met to within {residual:.0e} are met",)
    return Certificate(_QUANTITY, value, done.lower, value, rigour, assumes, obtained)


def _network(problem: Problem, atoms: Atoms, start: AtomSolution | None, done: Generated) -> tuple[Atoms, AtomSolution]:
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
    inputs, outputs = active.T @ (points**2).sum(1), (np.where(active, pre, 0.0) ** 2).sum(0)
    return np.asarray(np.sqrt(inputs / np.maximum(outputs, 1e-300)))

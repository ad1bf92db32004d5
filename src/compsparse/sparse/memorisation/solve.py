"""memorise: the smallest shallow ReLU network through given data, with a certificate."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, get_args

import numpy as np

from compsparse.certificate import Certificate, Rigour
from compsparse.checks import RandomState, check_choice, check_count, check_number, generator_from, suggests_options
from compsparse.clock import Deadline, now
from compsparse.errors import ConfigError, DataError
from compsparse.sparse.memorisation import stopping
from compsparse.sparse.memorisation.cells import MOST_INCIDENCES, ListingCutShort, cells_of, incidences
from compsparse.sparse.memorisation.certificate import admissible, lipschitz_bound, lower_bound
from compsparse.sparse.memorisation.cone import BlockKey, ConeBlock, ConeSolution, Generated, n_entries, solve_cone
from compsparse.sparse.memorisation.network import (
    AssembledNetwork,
    Atoms,
    AtomSolution,
    best_network,
    eliminated,
    meets_labels,
    n_starting_atoms,
    solve_atoms,
    starting_atoms,
)
from compsparse.sparse.memorisation.pricing import ExhaustivePricing, Pricer, Prices, Warm, make_pricer
from compsparse.sparse.memorisation.problem import Bias, Goal, Norm, Problem, make_problem, with_one
from compsparse.sparse.memorisation.record import Memorised, MemoriseStatus
from compsparse.sparse.memorisation.stopping import StoppingRule, has_memory_for

MemoriseMethod = Literal["auto", "exact", "columns"]
_MOST_EXACT_CELLS = 300
_FEW_POINTS, _FEW_INCIDENCES = 60, 50_000
_FEWER = ((2.0, True), (1.2, True), (1.2, False))  # neurons for a point, and whether the best are picked, in a hurry
_NO_TIME_FOR_MORE = "random neurons that fit, for there was no time to look for better ones"
_IDLE_ROUNDS = 3
_ROUGH, _FINE = 1e-6, 1e-12
_QUANTITY = "least cost of a shallow ReLU network that memorises the data"


@suggests_options
def memorise(
    X: object,
    y: object,
    *,
    norm: Norm = "weight-decay",
    bias: Bias = "penalised",
    goal: Goal = "interpolate",
    method: MemoriseMethod = "auto",
    time_limit: float | None = None,
    max_rounds: int = 200,
    tol: float = 1e-9,
    random_state: RandomState = None,
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
            long as it takes. Compiling kernels does not count. Half as long again may pass while it is finished.
        max_rounds: the same in rounds of column generation, which gives the same network on any machine.
        tol: relative gap to reach.
        random_state: seed of the first neurons, and of the search for cells where they are too many to list.

    >>> net = memorise([[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0], bias="free")
    >>> net.n_neurons, round(net.value, 9)
    (2, 2.0)
    """
    started = now()
    check_choice("method", method, get_args(MemoriseMethod))
    tol, max_rounds = check_number("tol", tol, above=0), check_count("max_rounds", max_rounds)
    rule = StoppingRule(tol, Deadline.after(time_limit), max_rounds, stopping.OVERTIME * (time_limit or 0.0))
    rng = generator_from(random_state)
    problem = make_problem(X, y, norm, bias, goal)
    if np.ptp(problem.y) == 0 if problem.has_constant else not problem.y.any():
        nothing = AssembledNetwork.constant_alone(problem, float(problem.y[0]))
        certificate = Certificate.exact(_QUANTITY, 0.0, Rigour.RIGOROUS, obtained="no cost is negative")
        return _record(problem, nothing, certificate, MemoriseStatus.CONSTANT, "none", started)
    seconds = stopping.seconds_of_check(problem.n)
    if not rule.has_time_for(seconds):
        raise ConfigError(
            f"to hold a network of {problem.n:,} neurons against as many labels takes about {seconds:.1g} s, more than "
            f"the time limit of {time_limit:g} s: give more time or fewer points"
        )
    return _solve(problem, method, rule, rng, started)


def _solve(
    problem: Problem, method: MemoriseMethod, rule: StoppingRule, rng: np.random.Generator, started: float
) -> Memorised:
    pricings = _enumerated(problem, method, rule)
    if method == "exact" and sum(map(incidences, problem.charts)) > MOST_INCIDENCES:
        raise ConfigError(
            f"{problem.n} points in {problem.X.shape[1]} dimensions have too many cells for method='exact': "
            "use method='columns'"
        )
    n_cells = None if pricings is None else sum(p.cells.count for p in pricings)
    exact = method == "exact" or (method == "auto" and n_cells is not None and n_cells <= _MOST_EXACT_CELLS)
    atoms, start = _start(problem, rng, rule)
    pricer = make_pricer(problem, pricings, rng, rule)
    if exact and pricings is not None:
        done, used = _all_at_once(problem, pricings, pricer, rule), "cone program over all cells"
    else:
        done = _generate(
            problem,
            [] if start is None and rule.deadline.is_set else _support(problem, atoms, start, pricings),
            pricer,
            rule,
        )
        is_priced = done.rigorous and done.lower > 0
        used = "column generation, " + ("every neuron priced" if is_priced else "cells found by search")
    if done.cone is None:
        used = _NO_TIME_FOR_MORE
    best = best_network(problem, atoms, start, done, rule.finishing)
    done = _sharpened(problem, done, best, pricer, rule)
    certificate = _certificate(problem, best, done, rule.finishing)
    status: MemoriseStatus = MemoriseStatus.STALLED if done.ended is MemoriseStatus.GAP else done.ended
    if not status.is_cut_short and certificate.relative_gap <= rule.tol:
        status = MemoriseStatus.GAP
    if not meets_labels(problem, best):
        status = MemoriseStatus.UNMET
    best = best if done.cone is None else replace(best, multipliers=done.cone.multipliers)
    return _record(problem, best, certificate, status, used, started, n_cells, done.rounds)


def _start(problem: Problem, rng: np.random.Generator, rule: StoppingRule) -> tuple[Atoms, AtomSolution | None]:
    """A first network of random neurons: the least of many, of as many as there is time for, or any that fits."""
    n, all_atoms = problem.n, n_starting_atoms(problem)
    affordable = all_atoms
    if not rule.has_time_for(2 * stopping.seconds_of_atoms(n, all_atoms)):
        affordable = int(rule.deadline.left / (2 * stopping.seconds_of_atoms(n, 1)))
    if affordable >= 2 * n:
        atoms = starting_atoms(problem, rng, None if affordable == all_atoms else affordable)
        start = solve_atoms(problem, atoms, rule.deadline.time_limit)
        if start is not None or not rule.is_late:
            return atoms, start
    for times, pivots in _FEWER:
        most = int(times * n) + 1
        if rule.finishing.has_time_for(2 * stopping.seconds_of_elimination(n, most, pivots)):
            atoms = starting_atoms(problem, rng, most)
            return atoms, eliminated(problem, atoms, pivots)
    return starting_atoms(problem, rng, 1), None


def _enumerated(problem: Problem, method: MemoriseMethod, rule: StoppingRule) -> list[ExhaustivePricing] | None:
    """The cells of every chart, if they are not too many; for few points the other way is faster."""
    needed = method == "exact" or problem.norm == "label-noise" or problem.n > _FEW_POINTS
    count = sum(map(incidences, problem.charts))
    if count > (MOST_INCIDENCES if needed else _FEW_INCIDENCES):
        return None
    if not rule.has_time_for(2 * stopping.seconds_of_listing(count, problem.n)) or not has_memory_for(
        count * problem.n
    ):
        return None
    try:
        return [
            ExhaustivePricing(k, cells_of(chart, lambda: rule.is_late), problem.norm)
            for k, chart in enumerate(problem.charts)
        ]
    except ListingCutShort:
        return None
    except DataError:
        if method == "exact":
            raise
        return None


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


def _all_at_once(problem: Problem, pricings: list[ExhaustivePricing], pricer: Pricer, rule: StoppingRule) -> Generated:
    blocks = [b for pricing in pricings for b in pricing.all_blocks() if b.pattern.any()]
    if not _can_be_solved(problem, blocks, rule):
        return Generated([], None, 0.0, rigorous=True, rounds=0, ended=MemoriseStatus.TIME)
    cone = solve_cone(problem, blocks, rule.deadline.time_limit)
    if not cone.solved:
        return Generated(blocks, cone, 0.0, rigorous=True, rounds=1, ended=MemoriseStatus.TIME)
    lam = admissible(problem, cone.multipliers)
    prices = pricer(lam, [], True)
    lower = lower_bound(problem, lam, prices.most)
    ended = MemoriseStatus.STALLED if prices.exhaustive or not rule.is_late else MemoriseStatus.TIME
    return Generated(blocks, cone, lower, rigorous=prices.exhaustive, rounds=1, ended=ended)


def _sharpened(
    problem: Problem, done: Generated, best: AssembledNetwork, pricer: Pricer, rule: StoppingRule
) -> Generated:
    """The better of two lower bounds, the other from the multipliers of the linear program over the network's neurons.

    Its neurons are off by the accuracy of the cone program, their prices by the square of that.
    """
    if done.ended.is_cut_short or best.proved.upper - done.lower <= rule.tol * best.proved.upper:
        return done
    lam = admissible(problem, best.multipliers)
    prices = pricer(lam, [], True)
    lower = lower_bound(problem, lam, prices.most)
    return replace(done, lower=lower, rigorous=True) if prices.exhaustive and lower > done.lower else done


def _record(
    problem: Problem,
    best: AssembledNetwork,
    certificate: Certificate,
    status: MemoriseStatus,
    used: str,
    started: float,
    n_cells: int | None = None,
    rounds: int = 0,
) -> Memorised:
    return Memorised(
        theta=best.theta,
        z=best.z,
        constant=best.constant,
        certificate=certificate,
        residual=best.proved.residual,
        status=status,
        method=used,
        norm=problem.norm,
        bias=problem.bias,
        goal=problem.goal,
        n_cells=n_cells,
        rounds=rounds,
        seconds=now() - started,
        multipliers=best.multipliers,
        balance=_balance(problem, best.theta),
    )


def _balance(problem: Problem, theta: np.ndarray) -> np.ndarray:
    """(outer / inner) squared scale of each neuron at which the penalty is least: 1 for weight decay."""
    if problem.norm == "weight-decay":
        return np.ones(len(theta))
    points = with_one(problem.X)
    pre = points @ theta.T
    active = pre > 1e-12 * np.linalg.norm(points, axis=1)[:, None] * np.linalg.norm(theta, axis=1)
    inputs, outputs = active.T @ (points**2).sum(1), (np.where(active, pre, 0.0) ** 2).sum(0)
    return np.asarray(np.sqrt(inputs / np.maximum(outputs, 1e-300)))


# ---- column generation -------------------------------------------------------------------


def _generate(problem: Problem, blocks: list[ConeBlock], pricer: Pricer, rule: StoppingRule) -> Generated:
    """Adds blocks until the gap is below the tolerance."""
    used = {b.key: 0 for b in blocks}
    cone, proved, guessed, ended, rounds, rough = None, 0.0, 0.0, MemoriseStatus.ROUNDS, 0, True
    known: tuple[list[ConeBlock], ConeSolution] | None = None
    for rounds in range(1, rule.max_rounds + 1):
        if not blocks or not _can_be_solved(problem, blocks, rule):
            ended = MemoriseStatus.TIME
            blocks, cone = (blocks, cone) if known is None else known
            break
        cone = solve_cone(problem, blocks, rule.deadline.time_limit, _ROUGH if rough else _FINE)
        if not cone.solved:
            ended = MemoriseStatus.TIME if rule.is_late else MemoriseStatus.STALLED
            blocks, cone = (blocks, cone) if known is None else known
            break
        known = blocks, cone
        if rule.is_late:
            ended = MemoriseStatus.TIME
            break
        if rough and rounds == rule.max_rounds:  # prices of rough multipliers bound nothing
            break
        lam = admissible(problem, cone.multipliers)
        warm = [(b.chart, u) for b, u, on in zip(blocks, cone.u, _in_use(cone), strict=True) if on]
        prices, fresh = _fresh(pricer, lam, warm, used, rough)
        if prices.exhaustive:
            proved = max(proved, lower_bound(problem, lam, prices.most))
        elif not fresh and not rough:
            guessed = max(guessed, lower_bound(problem, lam, prices.most))
        is_closed = not rough and cone.value - max(proved, guessed) <= rule.tol * max(cone.value, 1e-300)
        if is_closed and (proved >= guessed or not rule.is_late):  # a guess may be for want of time alone
            ended = MemoriseStatus.GAP
        elif rule.is_late:
            ended = MemoriseStatus.TIME
        elif not fresh and not rough:
            ended = MemoriseStatus.STALLED
        if ended is not MemoriseStatus.ROUNDS or rounds == rule.max_rounds:
            break
        rough = rough and bool(fresh) and prices.most > 1 + 1e-3
        blocks = _kept(problem, blocks, cone, used, rounds) + fresh
        used.update({b.key: rounds for b in fresh})
    rigorous = guessed == 0 or proved >= guessed
    return Generated(blocks, cone, proved if rigorous else guessed, rigorous, rounds, ended)


def _can_be_solved(problem: Problem, blocks: list[ConeBlock], rule: StoppingRule) -> bool:
    """Whether the program can be set up in the time that is left, and in memory, where its factors take most."""
    entries = n_entries(problem, blocks)
    return not rule.deadline.is_set or (
        rule.has_time_for(2 * stopping.seconds_of_cone(entries)) and has_memory_for(16.0 * entries)
    )


def _fresh(
    pricer: Pricer, lam: np.ndarray, warm: Warm, used: dict[BlockKey, int], rough: bool
) -> tuple[Prices, list[ConeBlock]]:
    """Prices, and of the blocks that are too cheap those not in play; all cells are priced if none are found."""
    prices = pricer(lam, warm, False)
    fresh = [b for b in prices.blocks if used.get(b.key, -1) < 0]
    if fresh or rough or prices.exhaustive:
        return prices, fresh
    prices = pricer(lam, warm, True)
    return prices, [b for b in prices.blocks if used.get(b.key, -1) < 0]


def _in_use(cone: ConeSolution) -> np.ndarray:
    size = np.array([np.linalg.norm(u) for u in cone.u])
    return np.asarray(size > 1e-4 * size.max())


def _kept(
    problem: Problem, blocks: list[ConeBlock], cone: ConeSolution, used: dict[BlockKey, int], now: int
) -> list[ConeBlock]:
    """Drops blocks that have long been idle; ``used`` is -1 for those and else the last round of use."""
    kept = []
    for block, on in zip(blocks, _in_use(cone), strict=True):
        if on:
            used[block.key] = now
        if now - used[block.key] < _IDLE_ROUNDS or len(blocks) < 3 * problem.n:
            kept.append(block)
        else:
            used[block.key] = -1
    return kept


def _certificate(problem: Problem, best: AssembledNetwork, done: Generated, rule: StoppingRule) -> Certificate:
    """The network that was found bounds the least cost from above, the multipliers bound it from below."""
    rigour, lower, upper = Rigour.RIGOROUS, done.lower, best.proved.upper
    obtained = "multipliers give no neuron a price above one, and the network was summed up again at the data"
    steepest = lipschitz_bound(problem, lambda: rule.is_late)
    if steepest >= lower:
        lower = steepest
        obtained = "no network is steeper than its cost, and the network was summed up again at the data"
    elif not done.rigorous:
        rigour = Rigour.HEURISTIC
        obtained = "the lower bound is from a search over neurons that may lack the dearest, and may be too high"
        if done.ended is MemoriseStatus.TIME:
            obtained = f"time ran out before every neuron was priced; {obtained}"
    if lower > upper * (1 + 1e-12):
        rigour, obtained = Rigour.HEURISTIC, "the bounds contradict each other, so one of them was computed wrongly"
    return Certificate(_QUANTITY, best.value, lower, upper, rigour, (), obtained)

"""memorise: the smallest shallow ReLU network through given data, with a certificate."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, get_args

import numpy as np

from compsparse.certificate import Certificate, Rigour
from compsparse.checks import (
    RandomState,
    check_choice,
    check_count,
    check_number,
    generator_from,
)
from compsparse.clock import Deadline, now
from compsparse.errors import ConfigError, DataError
from compsparse.sparse.memorisation.assembly import AssembledNetwork, best_network, meets_labels
from compsparse.sparse.memorisation.atoms import (
    Atoms,
    AtomSolution,
    eliminated,
    n_starting_atoms,
    solve_atoms,
    starting_atoms,
)
from compsparse.sparse.memorisation.cells import MOST_INCIDENCES, ListingCutShort, cells_of, incidences
from compsparse.sparse.memorisation.checking import admissible, dual_bound, lipschitz_bound, lower_bound
from compsparse.sparse.memorisation.columns import Generated, Pricer, Warm, can_be_solved, generate
from compsparse.sparse.memorisation.cone import BlockKey, ConeBlock, solve_cone
from compsparse.sparse.memorisation.largest_price import nodes_at_once
from compsparse.sparse.memorisation.pricing import ExhaustivePricing, Prices, price_all
from compsparse.sparse.memorisation.problem import Bias, Goal, Norm, Problem, make_problem, with_one
from compsparse.sparse.memorisation.record import Memorised, MemoriseStatus
from compsparse.sparse.memorisation.search import cell_price, price_by_search
from compsparse.sparse.memorisation.stopping import (
    StoppingRule,
    has_memory_for,
    seconds_of_atoms,
    seconds_of_check,
    seconds_of_elimination,
    seconds_of_listing,
)

MemoriseMethod = Literal["auto", "exact", "columns"]
_MOST_EXACT_CELLS = 300
_MOST_NODES = 3_000_000
_MANY_CELLS = 20_000
_FEW_POINTS, _FEW_INCIDENCES = 60, 50_000
_ABOVE_ONE = 1e-10
_COARSER = (1e-8, 1e-6, 1e-4)
_FEWER = ((2.0, True), (1.2, True), (1.2, False))  # neurons for a point, and whether the best are picked, in a hurry
_NO_TIME_FOR_MORE = "random neurons that fit, for there was no time to look for better ones"
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
    rule = StoppingRule(
        check_number("tol", tol, above=0),
        None if time_limit is None else Deadline.after(time_limit).at,
        check_count("max_rounds", max_rounds),
        time_limit,
    )
    rng = generator_from(random_state)
    problem = make_problem(X, y, norm, bias, goal)
    if _costs_nothing(problem):
        return _free_of_charge(problem, now() - started)
    _check_time(problem, rule)
    return _solve(problem, method, rule, rng, started)


def _check_time(problem: Problem, rule: StoppingRule) -> None:
    """A network that there is no time to hold against its labels is none."""
    seconds = seconds_of_check(problem.n)
    if not rule.has_time_for(seconds):
        raise ConfigError(
            f"to hold a network of {problem.n:,} neurons against as many labels takes about {seconds:.1g} s, more than "
            f"the time limit of {rule.time_limit:g} s: give more time or fewer points"
        )


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
    pricings = _enumerated(problem, method, rule)
    if method == "exact" and sum(map(incidences, problem.charts)) > MOST_INCIDENCES:
        raise ConfigError(
            f"{problem.n} points in {problem.X.shape[1]} dimensions have too many cells for method='exact': "
            "use method='columns'"
        )
    n_cells = None if pricings is None else sum(p.cells.count for p in pricings)
    exact = method == "exact" or (method == "auto" and n_cells is not None and n_cells <= _MOST_EXACT_CELLS)
    atoms, start = _start(problem, rng, rule)
    pricer = _pricer(problem, pricings, rng, rule)
    if exact and pricings is not None:
        done, used = _all_at_once(problem, pricings, pricer, rule), "cone program over all cells"
    else:
        done = generate(
            problem, [] if start is None and rule.deadline else _support(problem, atoms, start, pricings), pricer, rule
        )
        is_priced = done.rigorous and done.lower > 0
        used = "column generation, " + ("every neuron priced" if is_priced else "cells found by search")
    if done.cone is None:
        used = _NO_TIME_FOR_MORE
    best = best_network(problem, atoms, start, done, rule.finishing)
    done = _sharpened(problem, done, best, pricer, rule)
    return _record(problem, best, done, used, n_cells=n_cells, rule=rule, started=started)


def _start(problem: Problem, rng: np.random.Generator, rule: StoppingRule) -> tuple[Atoms, AtomSolution | None]:
    """A first network of random neurons: the least of many, of as many as there is time for, or any that fits."""
    n, all_atoms = problem.n, n_starting_atoms(problem)
    affordable = all_atoms
    if not rule.has_time_for(2 * seconds_of_atoms(n, all_atoms)):
        affordable = int((rule.seconds_left or 0.0) / (2 * seconds_of_atoms(n, 1)))
    if affordable >= 2 * n:
        atoms = starting_atoms(problem, rng, None if affordable == all_atoms else affordable)
        start = solve_atoms(problem, atoms, rule.seconds_left)
        if start is not None or not rule.is_late:
            return atoms, start
    for times, pivots in _FEWER:
        most = int(times * n) + 1
        if rule.finishing.has_time_for(2 * seconds_of_elimination(n, most, pivots)):
            atoms = starting_atoms(problem, rng, most)
            return atoms, eliminated(problem, atoms, pivots)
    return starting_atoms(problem, rng, 1), None


def _enumerated(problem: Problem, method: MemoriseMethod, rule: StoppingRule) -> list[ExhaustivePricing] | None:
    """The cells of every chart, if they are not too many; for few points the other way is faster."""
    needed = method == "exact" or problem.norm == "label-noise" or problem.n > _FEW_POINTS
    count = sum(map(incidences, problem.charts))
    if count > (MOST_INCIDENCES if needed else _FEW_INCIDENCES):
        return None
    if not rule.has_time_for(2 * seconds_of_listing(count, problem.n)) or not has_memory_for(count * problem.n):
        return None
    try:
        return [
            ExhaustivePricing(k, cells_of(chart, rule.is_out_of_time), problem.norm)
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


def _pricer(
    problem: Problem, pricings: list[ExhaustivePricing] | None, rng: np.random.Generator, rule: StoppingRule
) -> Pricer:
    """Prices by search while that finds something, then by one of the ways that leave nothing out."""
    most = max(20, int(1.5 * problem.n))

    def listed(lam: np.ndarray, warm: Warm, full: bool) -> Prices:
        assert pricings is not None
        return price_all(pricings, lam, 1 + _ABOVE_ONE, full, most, rule.is_out_of_time)

    def searched(lam: np.ndarray, warm: Warm, full: bool) -> Prices:
        n_starts = 8000 if full else 1500
        return price_by_search(
            problem, lam, warm, rng, rule, threshold=1 + _ABOVE_ONE, n_starts=n_starts, most_blocks=most
        )

    first = searched if pricings is None else listed
    if problem.norm == "label-noise" or (pricings is not None and _is_a_sure_long_list(pricings)):
        return first

    def branched(lam: np.ndarray, warm: Warm, full: bool) -> Prices:
        found = _branched(problem, lam, rule) if full else None
        if found is not None and (found.exhaustive or found.blocks):
            return found
        return replace(first(lam, warm, full), exhaustive=False)

    return branched


def _is_a_sure_long_list(pricings: list[ExhaustivePricing]) -> bool:
    """Whether every cell is known for sure, and there are so many that going through them beats branch and bound."""
    return sum(p.cells.count for p in pricings) > _MANY_CELLS and not any(p.cells.doubtful for p in pricings)


def _branched(problem: Problem, lam: np.ndarray, rule: StoppingRule) -> Prices:
    """The largest price of all directions, and the cells of those that are too dear.

    Multipliers that are only as good as the cone solver's accuracy make hundreds of neurons too dear by that little:
    then the largest price is told less finely.
    """
    budget = iter(range(_MOST_NODES // nodes_at_once(problem.charts[0].Z)))
    blocks: dict[BlockKey, ConeBlock] = {}
    bound = None
    for tol in (rule.tol / 4, *(t for t in _COARSER if t > rule.tol)):
        bound = dual_bound(problem, lam, tol, lambda: rule.is_late or next(budget, None) is None)
        dearest = 1.0
        for theta, k, sign in zip(bound.neurons, bound.through, bound.signs, strict=True):
            chart = problem.charts[k]
            u = theta @ chart.embed
            pattern = chart.Z @ u > 1e-12 * np.linalg.norm(chart.Z, axis=1) * np.linalg.norm(u)
            price = cell_price(problem, chart, sign * lam, pattern)[0]
            dearest = max(dearest, price)
            if price > 1 + _ABOVE_ONE:
                block = ConeBlock(int(k), pattern, int(sign), chart.rows)
                blocks[block.key] = block
        if bound.is_complete or rule.is_late or dearest > 1 + _COARSER[1]:
            break
    assert bound is not None
    return Prices(bound.most, list(blocks.values()), exhaustive=bound.is_complete)


def _all_at_once(problem: Problem, pricings: list[ExhaustivePricing], pricer: Pricer, rule: StoppingRule) -> Generated:
    blocks = [b for pricing in pricings for b in pricing.all_blocks() if b.pattern.any()]
    if not can_be_solved(problem, blocks, rule):
        return Generated([], None, 0.0, rigorous=True, rounds=0, ended=MemoriseStatus.TIME)
    cone = solve_cone(problem, blocks, rule.seconds_left)
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
    done: Generated,
    used: str,
    *,
    n_cells: int | None,
    rule: StoppingRule,
    started: float,
) -> Memorised:
    certificate = _certificate(problem, best, done, rule.finishing)
    status: MemoriseStatus = MemoriseStatus.STALLED if done.ended is MemoriseStatus.GAP else done.ended
    if not status.is_cut_short and certificate.relative_gap <= rule.tol:
        status = MemoriseStatus.GAP
    if not meets_labels(problem, best):
        status = MemoriseStatus.UNMET
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
        rounds=done.rounds,
        seconds=now() - started,
        multipliers=done.cone.multipliers if done.cone is not None else best.multipliers,
        balance=_balance(problem, best.theta),
    )


def _certificate(problem: Problem, best: AssembledNetwork, done: Generated, rule: StoppingRule) -> Certificate:
    """The network that was found bounds the least cost from above, the multipliers bound it from below."""
    rigour, lower, upper = Rigour.RIGOROUS, done.lower, best.proved.upper
    obtained = "multipliers give no neuron a price above one, and the network was summed up again at the data"
    steepest = lipschitz_bound(problem, rule.is_out_of_time)
    if steepest >= lower:
        lower, obtained = (
            steepest,
            "no network is steeper than its cost, and the network was summed up again at the data",
        )
    elif not done.rigorous:
        rigour = Rigour.HEURISTIC
        obtained = "the lower bound is from a search over neurons that may lack the dearest, and may be too high"
        if done.ended is MemoriseStatus.TIME:
            obtained = f"time ran out before every neuron was priced; {obtained}"
    if lower > upper * (1 + 1e-12):
        rigour, obtained = Rigour.HEURISTIC, "the bounds contradict each other, so one of them was computed wrongly"
    return Certificate(_QUANTITY, best.value, lower, upper, rigour, (), obtained)


def _balance(problem: Problem, theta: np.ndarray) -> np.ndarray:
    """(outer / inner) squared scale of each neuron at which the penalty is least: 1 for weight decay."""
    if problem.norm == "weight-decay":
        return np.ones(len(theta))
    points = with_one(problem.X)
    pre = points @ theta.T
    active = pre > 1e-12 * np.linalg.norm(points, axis=1)[:, None] * np.linalg.norm(theta, axis=1)
    inputs, outputs = active.T @ (points**2).sum(1), (np.where(active, pre, 0.0) ** 2).sum(0)
    return np.asarray(np.sqrt(inputs / np.maximum(outputs, 1e-300)))

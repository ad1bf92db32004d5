"""Column generation: a small cone program, to which the cells that its multipliers find too cheap are added.

Any multipliers, scaled to be dual feasible, bound the optimum from below.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from compsparse.sparse.memorisation.checking import admissible, lower_bound
from compsparse.sparse.memorisation.cone import BlockKey, ConeBlock, ConeSolution, n_entries, solve_cone
from compsparse.sparse.memorisation.pricing import Prices
from compsparse.sparse.memorisation.problem import Problem
from compsparse.sparse.memorisation.record import MemoriseStatus
from compsparse.sparse.memorisation.stopping import StoppingRule, has_memory_for, seconds_of_cone

_IDLE_ROUNDS = 3
_ROUGH, _FINE = 1e-6, 1e-12

Warm = list[tuple[int, np.ndarray]]
"""Charts and directions in them that are worth starting from."""
Pricer = Callable[[np.ndarray, Warm, bool], Prices]
"""From multipliers, good directions, and whether nothing may be left out, to prices."""


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


def generate(problem: Problem, blocks: list[ConeBlock], pricer: Pricer, rule: StoppingRule) -> Generated:
    """Adds blocks until the gap is below the tolerance."""
    used = {b.key: 0 for b in blocks}
    cone, proved, guessed, ended, rounds, rough = None, 0.0, 0.0, MemoriseStatus.ROUNDS, 0, True
    known: tuple[list[ConeBlock], ConeSolution] | None = None
    for rounds in range(1, rule.max_rounds + 1):
        if not blocks or not can_be_solved(problem, blocks, rule):
            ended = MemoriseStatus.TIME
            blocks, cone = (blocks, cone) if known is None else known
            break
        cone = solve_cone(problem, blocks, rule.seconds_left, _ROUGH if rough else _FINE)
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


def can_be_solved(problem: Problem, blocks: list[ConeBlock], rule: StoppingRule) -> bool:
    """Whether the program can be set up in the time that is left, and in memory, where its factors take most."""
    entries = n_entries(problem, blocks)
    return rule.deadline is None or (rule.has_time_for(2 * seconds_of_cone(entries)) and has_memory_for(16.0 * entries))


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

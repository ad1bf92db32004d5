"""Column generation: a small cone program, to which the cells that its multipliers find too cheap are added."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from compsparse.sparse.memorisation.certificate import admissible, lower_bound
from compsparse.sparse.memorisation.cone import Block, ConeSolution, solve_cone
from compsparse.sparse.memorisation.pricing import Prices
from compsparse.sparse.memorisation.problem import Problem

_IDLE_ROUNDS = 3
_ROUGH, _FINE = 1e-6, 1e-12

Warm = list[tuple[int, np.ndarray]]
Pricer = Callable[[np.ndarray, Warm, bool], Prices]
"""From multipliers, good directions, and whether nothing may be skipped, to prices."""


@dataclass(frozen=True)
class Generated:
    """Where column generation ended.

    Attributes:
        lower: best lower bound; ``rigorous`` if it comes from multipliers whose every price is known.
        ended: ``gap``, ``stalled`` (no cell left to add at the solver's accuracy), ``time`` or ``rounds``.
    """

    blocks: list[Block]
    cone: ConeSolution | None
    lower: float
    rigorous: bool
    rounds: int
    ended: str


def generate(
    problem: Problem,
    blocks: list[Block],
    pricer: Pricer,
    tol: float,
    deadline: float | None,
    max_rounds: int,
    exhaustible: bool,
) -> Generated:
    """Adds blocks until the gap is below ``tol``."""
    used = {b.key: 0 for b in blocks}
    cone, lower, ended, rounds, rough = None, 0.0, "rounds", 0, True
    for rounds in range(1, max_rounds + 1):
        cone, ended = solve_cone(problem, blocks, _left(deadline), _ROUGH if rough else _FINE), "rounds"
        if not cone.solved:
            return Generated(blocks, cone, lower, exhaustible, rounds, "time" if _late(deadline) else "stalled")
        lam = admissible(problem, cone.multipliers)
        warm = [(b.chart, u) for b, u, on in zip(blocks, cone.u, _in_use(cone), strict=True) if on]
        prices = pricer(lam, warm, False)
        fresh = [b for b in prices.blocks if b.key not in used or used[b.key] < 0]
        if not fresh and not prices.exhaustive:
            prices = pricer(lam, warm, True)
            fresh = [b for b in prices.blocks if b.key not in used or used[b.key] < 0]
        if prices.exhaustive or (not exhaustible and not fresh):
            lower = max(lower, lower_bound(problem, lam, prices.most))
        if not rough and cone.value - lower <= tol * max(cone.value, 1e-300):
            ended = "gap"
        elif not fresh and not rough:
            ended = "stalled"
        elif _late(deadline):
            ended = "time"
        if ended != "rounds" or rounds == max_rounds:
            break
        rough = rough and prices.most > 1 + 1e-3
        blocks = _kept(problem, blocks, cone, used, rounds) + fresh
        used.update({b.key: rounds for b in fresh})
    return Generated(blocks, cone, lower, exhaustible, rounds, ended)


def _in_use(cone: ConeSolution) -> np.ndarray:
    size = np.array([np.linalg.norm(u) for u in cone.u])
    return size > 1e-4 * size.max()


def _kept(problem: Problem, blocks: list[Block], cone: ConeSolution, used: dict, now: int) -> list[Block]:
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


def _late(deadline: float | None) -> bool:
    return deadline is not None and time.perf_counter() > deadline


def _left(deadline: float | None) -> float | None:
    return None if deadline is None else deadline - time.perf_counter()

"""A last look at inputs that seem inert: values alone, all of the inputs swapped at once."""

from __future__ import annotations

import numpy as np

from compsparse.discovery.queries.design import random_points
from compsparse.discovery.queries.oracle import Oracle
from compsparse.discovery.queries.pool import Pool

_PAIRS = 256


def rare_effects(
    oracle: Oracle, pool: Pool, idle: np.ndarray, active: float, rng: np.random.Generator
) -> dict[int, np.ndarray]:
    """Swaps the idle inputs together at many points, then one by one where that changed an answer.

    Returns:
        For each input that acts after all, a point at which it does; its effect is noted in the pool.
    """
    if not len(idle):
        return {}
    u = random_points(_PAIRS, np.zeros(oracle.d), rng)
    swapped = u.copy()
    swapped[:, idle] = random_points(_PAIRS, np.zeros(oracle.d), rng)[:, idle]
    change = pool.change(oracle(u), oracle(swapped))
    changed = np.flatnonzero((change > active).any(axis=1))[:8]
    found: dict[int, np.ndarray] = {}
    for p in changed:
        singly = np.repeat(u[p][None], len(idle), axis=0)
        singly[np.arange(len(idle)), idle] = swapped[p, idle]
        effects = pool.change(oracle(u[p][None]), oracle(singly))
        pool.note_effects(idle, effects)
        found |= {int(i): u[p] for i in idle[(effects > active).any(axis=1)]}
    return found

"""Whether two outputs use one and the same function of some inputs."""

from __future__ import annotations

import numpy as np

from compsparse.discovery.queries.directions import turn_errors, turns
from compsparse.discovery.queries.pool import Pool


def turn_between_outputs(pool: Pool, members: np.ndarray, one: int, other: int) -> float:
    """How far grad_S of two outputs are from parallel at the same points, as a z.

    If both outputs pass S through one number, g for one and g' for the other, their gradients are
    parallel everywhere exactly when g' is a function of g.
    """
    sums = np.zeros((len(members), len(members)))
    counts, largest = np.zeros_like(sums), np.zeros_like(sums)
    for slopes in (slopes for unit in pool.units for _, slopes in unit.sheets):
        a, b = (slopes.gradients[:, :, o][..., members] for o in (one, other))
        error = turn_errors(
            a.mean(axis=0), b.mean(axis=0), slopes.errors[:, one][:, members], slopes.errors[:, other][:, members]
        )
        z = turns(a, b) / error
        product = z[0] * z[-1]
        sums += np.nansum(product, axis=0)
        counts += np.isfinite(product).sum(axis=0)
        largest = np.maximum(largest, np.nan_to_num(np.abs(z[0])).max(axis=0))
    if not pool.noisy:
        return float(largest.max())
    return float(np.sqrt(np.maximum(sums / np.sqrt(np.maximum(counts, 1)), 0)).max())

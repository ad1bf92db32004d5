"""Whether two outputs use one and the same function of some inputs."""

from __future__ import annotations

import numpy as np

from compsparse.discovery.queries.directions import turn_errors, turns
from compsparse.discovery.queries.pool import Pool, confirmed, pooled


def turn_between_outputs(pool: Pool, members: np.ndarray, one: int, other: int) -> float:
    """How far grad_S of two outputs are from parallel at the same points, as a z.

    If both outputs pass S through one number, g for one and g' for the other, their gradients are
    parallel everywhere exactly when g' is a function of g.
    """
    products, counts, sizes = [], [], []
    for slopes in (slopes for unit in pool.units for _, slopes in unit.sheets):
        a, b = (slopes.gradients[:, :, o][..., members] for o in (one, other))
        errors = (slopes.errors[:, o][:, members] for o in (one, other))
        with np.errstate(invalid="ignore"):  # 0/0 where neither gradient moves
            z = turns(a, b) / turn_errors(a.mean(axis=0), b.mean(axis=0), *errors)
        products.append(np.nansum(z[0] * z[-1], axis=0))
        counts.append(np.isfinite(z[0] * z[-1]).sum(axis=0))
        sizes.append(np.nan_to_num(np.abs(z[0])).max(axis=0))
    return float((pooled(products, counts) if pool.noisy else confirmed(sizes)).max())

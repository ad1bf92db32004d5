"""Where l1 stops finding sparse codes in large random dictionaries."""

from __future__ import annotations

import math

import numpy as np

from compsparse.errors import ConfigError


def weak_threshold(delta: float) -> float:
    r"""The Donoho-Tanner weak threshold :math:`\rho(\delta)` of Gaussian dictionaries.

    With :math:`\delta = d/n` and :math:`\rho = k/d`, l1 finds almost all codes below it and almost none above, as n
    grows (Donoho and Tanner 2009). In the parametrisation of Donoho, Maleki and Montanari (2009),

    .. math:: \rho(\delta) = \max_{t \ge 0} \frac{1 - \frac2\delta g(t)}{1 + t^2 - 2 g(t)},
       \quad g(t) = (1 + t^2) \Phi(-t) - t \varphi(t).

    >>> round(weak_threshold(0.5), 5)
    0.38569
    """
    from scipy.optimize import minimize_scalar

    if not 0 < delta < 1:
        raise ConfigError(f"delta = d/n must be between 0 and 1, got {delta!r}")

    def rho(t: float) -> float:
        tail, density = math.erfc(t / math.sqrt(2)) / 2, math.exp(-t * t / 2) / math.sqrt(2 * math.pi)
        g = (1 + t * t) * tail - t * density
        return (1 - 2 / delta * g) / (1 + t * t - 2 * g)

    # the maximum is the only one; a grid brackets it
    grid = np.linspace(0.001, 8.0, 401)
    at = int(np.argmax([rho(t) for t in grid]))
    found = minimize_scalar(
        lambda t: -rho(t), bounds=(grid[max(at - 1, 0)], grid[min(at + 1, 400)]), method="bounded",
        options={"xatol": 1e-10},
    )  # fmt: skip
    return rho(float(found.x))

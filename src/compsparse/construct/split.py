r"""How a tolerance is split among the steps of a computation.

The error at the output is at most :math:`\sum_v a_v \varepsilon_v`, where the path factor :math:`a_v` is the sum, over
all paths from v to the output, of the products of Lipschitz constants along them. A step with error
:math:`\varepsilon` costs about :math:`c_v \varepsilon^{-p_v}` units; the cheapest split has
:math:`\varepsilon_v = (c_v p_v / (\lambda a_v))^{1/(p_v + 1)}` for one :math:`\lambda`, found by bisection.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Price:
    """A cost law c eps^-p; p = 0 stands for c log(1/eps), where depth buys accuracy."""

    scale: float
    power: float

    @property
    def weight(self) -> float:
        """The factor of eps^-(p+1) in the derivative of the cost."""
        return float(self.scale) * float(self.power or 1.0)

    def units(self, eps: float) -> float:
        """The cost itself, up to lower terms."""
        return float(self.scale * (eps**-self.power if self.power else max(np.log(1 / eps), 0.0)))


def cheapest_split(prices: Sequence[Price], factors: Sequence[float], tol: float) -> np.ndarray:
    """The errors of the steps that minimise the total price subject to sum a_v eps_v = tol.

    >>> cheapest_split([Price(1.0, 0.5), Price(1.0, 0.5)], [1.0, 1.0], 0.2).round(6).tolist()
    [0.1, 0.1]
    """
    if not len(prices):
        return np.zeros(0)
    a = np.asarray(factors, dtype=float)
    weight = np.maximum([p.weight for p in prices], 1e-12)
    exponent = 1 / (np.array([p.power for p in prices]) + 1)

    def errors(log_lam: float) -> np.ndarray:
        return np.asarray(np.exp(exponent * (np.log(weight / a) - log_lam)))

    low, high = -800.0, 800.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        if float(a @ errors(middle)) > tol:
            low = middle
        else:
            high = middle
    found = errors(high)
    return found * min(tol / float(a @ found), 1 + 1e-9)

r"""The implicit penalty of SGD with label noise, computed directly from a network's weights.

For f(x) = sum_j c_j (w_j . x~)_+, Blanc et al. (2020) show that SGD with fresh noise on the labels
minimises, among networks that fit, :math:`\frac1n \sum_i \|\nabla_\Theta f(x_i)\|^2`.
"""

from __future__ import annotations

import numpy as np

from compsparse.sparse.memorisation.problem import with_one


def penalty(X: np.ndarray, theta: np.ndarray, c: np.ndarray) -> float:
    """(1/n) sum_i norm(grad f(x_i))^2 of the network with inner weights theta (M, d+1) and outer c."""
    outputs, inputs = _moments(X, theta)
    return float((outputs + c**2 * inputs).sum())


def balanced_penalty(X: np.ndarray, theta: np.ndarray, c: np.ndarray) -> float:
    """The least penalty among the rescalings (a w_j, c_j / a) that leave the function as it is."""
    outputs, inputs = _moments(X, theta)
    return float(2 * (np.abs(c) * np.sqrt(outputs * inputs)).sum())


def _moments(X: np.ndarray, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """w^T Sigma_s w and tr Sigma_s of each neuron."""
    points = with_one(np.asarray(X, dtype=np.float64))
    values = points @ theta.T
    active = values > 0
    outputs = np.where(active, values, 0.0) ** 2
    return outputs.mean(0), (active * (points**2).sum(1)[:, None]).mean(0)

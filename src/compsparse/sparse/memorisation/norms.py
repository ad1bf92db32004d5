r"""What a neuron costs: norm(R_s u) in the cell s.

Weight decay: R_s = I. Label noise: with Sigma_s = (1/n) sum_{i in s} x~_i x~_i^T, the penalty
(1/n) sum_i norm(grad f(x_i))^2 of neurons c (w.x~)_+ is w^T Sigma_s w + c^2 tr Sigma_s; at fixed
u = |c| w its least value over the scale of c is 2 sqrt(tr Sigma_s) sqrt(u^T Sigma_s u).

Blanc et al. (2020) show that SGD with fresh noise on the labels minimises, among networks that fit,
:math:`\frac1n \sum_i \|\nabla_\Theta f(x_i)\|^2`; here it is also computed directly from a network's weights.
"""

from __future__ import annotations

import numpy as np

from compsparse.checks import check_numbers
from compsparse.errors import DataError
from compsparse.sparse.memorisation.problem import Bias, Chart, Norm, with_one

_SMALL = 1e-13


def factors(chart: Chart, patterns: np.ndarray, norm: Norm) -> tuple[np.ndarray, np.ndarray]:
    """R_s of each pattern, (S, p, p), and its pseudo-inverse transposed.

    With rank k the last k rows of R_s count and the others are zero.
    """
    S, p = len(patterns), chart.Z.shape[1]
    if norm == "weight-decay":
        inverse = np.broadcast_to(chart.whitening.T, (S, p, p))
        return np.broadcast_to(chart.metric, (S, p, p)), inverse
    outer = (chart.Z[:, :, None] * chart.Z[:, None, :]).reshape(len(chart.Z), -1)
    sigma = (patterns.astype(np.float64) @ outer).reshape(S, p, p) / len(chart.Z)
    e, v = np.linalg.eigh(sigma)
    e = np.where(e > _SMALL * np.maximum(e[:, -1:], 1e-300), e, 0.0)
    scale = 2 * np.sqrt(patterns @ chart.squares / len(chart.Z))
    size = scale[:, None] * np.sqrt(e)
    inverse = np.divide(1.0, size, out=np.zeros_like(size), where=size > 0)
    across = v.transpose(0, 2, 1)
    return size[:, :, None] * across, inverse[:, :, None] * across


def costs(chart: Chart, patterns: np.ndarray, u: np.ndarray, norm: Norm) -> np.ndarray:
    """The cost of each neuron u (K, p) in its cell."""
    if norm == "weight-decay":
        return np.asarray(np.linalg.norm(u @ chart.metric.T, axis=1))
    n = len(chart.Z)
    trace = patterns @ chart.squares / n
    square = (patterns * (u @ chart.Z.T) ** 2).sum(1) / n
    return np.asarray(2 * np.sqrt(trace * square))


def neuron_costs(theta: np.ndarray, bias: Bias) -> np.ndarray:
    """norm(w, b) of each neuron (K, d+1), or norm(w) if the bias is free."""
    return np.asarray(np.linalg.norm(theta if bias == "penalised" else theta[:, :-1], axis=1))


# ---- the penalty of label noise ----------------------------------------------------------


def label_noise_penalty(X: np.ndarray, theta: np.ndarray, c: np.ndarray) -> float:
    """(1/n) sum_i norm(grad f(x_i))^2 of the network with inner weights theta (M, d+1) and outer c."""
    theta, c = _checked(theta, c)
    outputs, inputs = _moments(X, theta)
    return float((outputs + c**2 * inputs).sum())


def balanced_label_noise_penalty(X: np.ndarray, theta: np.ndarray, c: np.ndarray) -> float:
    """The least penalty among the rescalings (a w_j, c_j / a) that leave the function as it is."""
    theta, c = _checked(theta, c)
    outputs, inputs = _moments(X, theta)
    return float(2 * (np.abs(c) * np.sqrt(outputs * inputs)).sum())


def _checked(theta: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    inner = check_numbers("theta", theta, shape=(None, None))
    if not inner.shape[1]:
        raise DataError("theta must have a column for the bias")
    return inner, check_numbers("c", c, shape=(len(inner),))


def _moments(X: np.ndarray, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """w^T Sigma_s w and tr Sigma_s of each neuron."""
    points = with_one(check_numbers("X", X, shape=(None, theta.shape[1] - 1)))
    if not len(points):
        raise DataError("X has no rows")
    values = points @ theta.T
    active = values > 0
    outputs = np.where(active, values, 0.0) ** 2
    return outputs.mean(0), (active * (points**2).sum(1)[:, None]).mean(0)

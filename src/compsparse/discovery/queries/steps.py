"""The step of central differences, from the function's own rounding, noise and curvature."""

from __future__ import annotations

import numpy as np

from compsparse.discovery.queries.design import random_points
from compsparse.discovery.queries.directions import turn_errors, turns
from compsparse.discovery.queries.gradients import CentralDifferences
from compsparse.discovery.queries.oracle import Oracle

_POINTS, _NULL_POINTS, _POINTS_IN_NOISE = 5, 8, 24
SHORTEST = 1e-8
# round-off is alike everywhere and easily told from a turn, truncation is not: stay well below the balance
BELOW_BALANCE = 8.0
# noise has less room, unless it is faint: then errors may grow to this share of the slopes
_BELOW_BALANCE_IN_NOISE = 1.5
_AFFORDABLE_ERROR = 0.02


def calibration_cost(d: int, noisy: bool = False) -> int:
    """Evaluations that finding the step takes."""
    return _POINTS_IN_NOISE * d * 8 if noisy else _POINTS * d * 8 + _NULL_POINTS * d * 4


def exact_differences(oracle: Oracle, spread: np.ndarray, rng: np.random.Generator) -> CentralDifferences:
    """Differences for answers without noise: round-off B/h is measured on two short steps.

    Args:
        spread: standard deviation of each output.
    """
    long, short = np.array([2e-2, 1e-2]), np.array([2e-6, 1e-6])
    slopes, size = _slopes(oracle, np.r_[long, short], _POINTS, rng)
    round_off = np.abs(slopes[:, 2] - slopes[:, 3]).max(axis=0) * short[1]
    round_off = np.maximum(round_off, np.finfo(float).eps * np.maximum(size, spread)[:, None])
    step = (_balanced(slopes[:, :2], long, round_off, spread) / BELOW_BALANCE).clip(SHORTEST, 2e-2)
    differences = CentralDifferences(oracle, step, round_off / step, size, usual=_root_mean_square(slopes[:, 1]))
    differences.null_turn = _null_turn(oracle, step, differences.error, rng)
    return differences


def noisy_differences(
    oracle: Oracle, noise: np.ndarray, spread: np.ndarray, rng: np.random.Generator
) -> CentralDifferences:
    """Differences for answers with noise of the given standard deviation, in two readings."""
    long = np.array([0.12, 0.06])
    slopes, _ = _slopes(oracle, np.r_[long, long], _POINTS_IN_NOISE, rng)
    mean = (slopes[:, :2] + slopes[:, 2:]) / 2
    balance = _balanced(mean, long, noise[:, None] / np.sqrt(2), spread)
    usual = _root_mean_square(mean[:, 1])
    error = (noise[:, None] / (np.sqrt(2) * balance * usual)).max(axis=0)
    step = balance / np.clip(_AFFORDABLE_ERROR / error, _BELOW_BALANCE_IN_NOISE, BELOW_BALANCE)
    step = step.clip(1e-6, 0.1)
    error = noise[:, None] / (np.sqrt(2) * step)
    return CentralDifferences(oracle, step, error, np.full(len(noise), np.inf), usual, readings=2)


def _null_turn(oracle: Oracle, step: np.ndarray, error: np.ndarray, rng: np.random.Generator) -> float:
    """How far gradients by two steps, h and 2h, at the same points seem turned: what truncation and rounding do.

    The largest of the points is left out, for a kink may lie between the two stencils.
    """
    one, other = _at_points(oracle, np.stack([step, 2 * step]), _NULL_POINTS, rng)[0].swapaxes(0, 1)
    z = np.abs(turns(one, other)) / turn_errors(one, other, error, error / 2)
    return float(np.sort(np.nan_to_num(z).max(axis=(1, 2, 3)))[-2])


def _balanced(slopes: np.ndarray, long: np.ndarray, round_off: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """The h that balances round-off B/h and truncation A h^2, the smallest over the outputs.

    A is taken to be at least the size of the slopes, so that steps stay short where kinks may hide.
    """
    size = np.maximum(np.median(np.abs(slopes[:, 1]), axis=0), 1e-3 * spread[:, None])
    truncation = np.sqrt(np.mean((slopes[:, 0] - slopes[:, 1]) ** 2, axis=0)) / (long[0] ** 2 - long[1] ** 2)
    return np.cbrt(round_off / (2 * np.maximum(truncation, size))).min(axis=0)


def _root_mean_square(slopes: np.ndarray) -> np.ndarray:
    return np.sqrt(np.mean(slopes**2, axis=0))


def _slopes(oracle: Oracle, steps: np.ndarray, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    return _at_points(oracle, np.repeat(steps[:, None], oracle.d, axis=1), n, rng)


def _at_points(oracle: Oracle, steps: np.ndarray, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Central differences ``(n, steps, k, d)`` at random points, and the largest \\|f\\| seen.

    Args:
        steps: ``(steps, d)``.
    """
    d = oracle.d
    u = random_points(n, steps.max(axis=0), rng)
    shift = steps[:, :, None] * np.eye(d)
    stencil = u[:, None, None, None] + np.stack([shift, -shift])[None]
    values = oracle(stencil.reshape(-1, d)).reshape(n, 2, len(steps), d, -1)
    apart = oracle.distance(u[:, None] - steps, u[:, None] + steps)
    slopes = (values[:, 0] - values[:, 1]) / apart[..., None]
    return slopes.swapaxes(2, 3), np.abs(values).max(axis=(0, 1, 2, 3))

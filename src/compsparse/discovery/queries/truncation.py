"""A second look at the step of differences, where slopes are far steeper than those it was chosen by.

An input may be asleep at all the points of the calibration, where a saturated function hides it, and
awake in a corner of the box. There its step is too long. The truncation passes for turns, and no later
measurement takes them back, for a score is the largest of all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

import numpy as np

from compsparse.discovery.queries.design import Sheet
from compsparse.discovery.queries.gradients import CentralDifferences, Slopes
from compsparse.discovery.queries.steps import BELOW_BALANCE, SHORTEST

_BELOW_WORST = 2.0  # the steepest points are close to the worst, so the margin to the balance may be small


class StepCheck:
    """Compares the step with its half at the steepest points so far, input by input.

    The step lies so far below the balance that slopes up to eight times the usual need no check: where
    a function is that much steeper because all of it happens on an eighth of the length, truncation
    grows by 8^3 and just reaches the round-off.

    Args:
        tolerated: truncation in units of the round-off that does no harm.

    Attributes:
        differences: what to measure with.
    """

    def __init__(self, differences: CentralDifferences, tolerated: float):
        self.differences, self._tolerated = differences, tolerated
        self._steepest = BELOW_BALANCE * np.maximum(differences.usual, differences.error)

    def shortened(self, measured: Sequence[tuple[Sheet, Slopes]]) -> np.ndarray:
        """Inputs whose step was too long at one of the points measured, and is shorter from now on."""
        truncation = reduce(np.maximum, [self._truncation(sheet.points, slopes) for sheet, slopes in measured])
        balance = self.differences.step / np.cbrt(np.maximum(truncation, 1))
        step = np.where(truncation > self._tolerated, balance / _BELOW_WORST, self.differences.step).clip(SHORTEST)
        changed = np.flatnonzero(step < self.differences.step)
        if len(changed):
            self.differences = self.differences.with_step(step)
        return changed

    def _truncation(self, points: np.ndarray, slopes: Slopes) -> np.ndarray:
        """Per input, in units of the round-off; zero where no point is steeper than those checked before."""
        steepness = np.nan_to_num(np.abs(slopes.gradients[0]) / self._steepest).max(axis=1)
        truncation = np.zeros(points.shape[1])
        for i in np.flatnonzero(steepness.max(axis=0) > 1).tolist():
            p = int(steepness[:, i].argmax())
            slope, error = slopes.gradients[0, p, :, i], slopes.errors[p, :, i]
            truncation[i] = self._truncation_at(points[p], i, slope, error)
            self._steepest[:, i] = np.fmax(self._steepest[:, i], np.abs(slope))
        return truncation

    def _truncation_at(self, point: np.ndarray, i: int, slope: np.ndarray, error: np.ndarray) -> float:
        """From slopes by a half and a quarter of the step, which keep 1/4 and 1/16 of the truncation.

        Round-off doubles where the step is halved, and cancels at most.
        """
        half, quarter = (self._slope(point, i, part) for part in (0.5, 0.25))
        excess = np.abs(slope - half) - 2 * np.abs(half - quarter)
        return float(np.nan_to_num(excess / (3 / 8 * error)).max(initial=0.0))

    def _slope(self, point: np.ndarray, i: int, part: float) -> np.ndarray:
        shorter = self.differences.with_step(part * self.differences.step)
        return shorter(point[None], np.array([i])).gradients[0, 0, :, i]


def remeasured(differences: CentralDifferences, points: np.ndarray, slopes: Slopes, inputs: np.ndarray) -> Slopes:
    """The slopes, with those by some inputs taken anew, as far as they were taken."""
    taken = inputs[np.isfinite(slopes.gradients[..., inputs]).any(axis=(0, 1, 2))]
    if not len(taken):
        return slopes
    new = differences(points, taken)
    gradients = slopes.gradients.copy()
    gradients[..., taken] = new.gradients[..., taken]
    return replace(slopes, gradients=gradients, errors=new.errors)

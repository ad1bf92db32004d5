"""Calibration: which arrays the callable takes, whether its answers repeat, and how its gradients are taken."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from compsparse.discovery.queries.gradients import Autograd, CentralDifferences, Differentiator, Slopes
from compsparse.discovery.queries.limits import (
    ABOVE_LARGEST_NORMAL,
    ABOVE_NULL_TURN,
    ACTIVE_SCORE,
    AFFORDABLE_ERROR,
    AUTOGRAD_MAY_DIFFER,
    AUTOGRAD_OF_LARGEST,
    AUTOGRAD_ROUNDING,
    BELOW_BALANCE,
    BELOW_BALANCE_IN_NOISE,
    BELOW_WORST,
    CLEAR_GAP,
    CLEAR_GAP_IN_NOISE,
    COMPARED_POINTS,
    LEAST_NULL_SCORE,
    LEAST_SLOPE,
    LONG_STEPS,
    LONG_STEPS_IN_NOISE,
    LONGEST_STEP,
    LONGEST_STEP_IN_NOISE,
    NOISE_POINTS,
    NULL_POINTS_OF_AUTOGRAD,
    NULL_POINTS_OF_DIFFERENCES,
    REPEATED,
    ROUNDED_STEPS,
    ROUNDING_SHARE,
    SAMPLED,
    SHORTEST_STEP,
    SHORTEST_STEP_IN_NOISE,
    STEP_POINTS,
    STEP_POINTS_IN_NOISE,
)
from compsparse.discovery.queries.oracle import Oracle
from compsparse.discovery.queries.sheets import Sheet, random_points, turn_errors, turns
from compsparse.discovery.structure.closure import Limits
from compsparse.errors import DataError
from compsparse.graph import FunctionGraph
from compsparse.graph.operations import is_torch
from compsparse.surroundings import callers_settings

# ---- first answers -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Answers:
    """What the first answers showed, per output.

    Attributes:
        spread: standard deviation over the box.
        size: largest absolute value.
        noise: standard deviation between repeated answers.
    """

    spread: np.ndarray
    size: np.ndarray
    noise: np.ndarray


def prelude_cost(d: int, noisy: bool = False) -> int:
    """Most evaluations that the first questions take."""
    return 2 + SAMPLED + REPEATED + (2 * NOISE_POINTS if noisy else COMPARED_POINTS * (2 * d + 1))


def first_answers(oracle: Oracle, f: Any, rng: np.random.Generator) -> Answers:
    """Finds out how to ask, then asks a sample of points, some of them twice."""
    u = random_points(SAMPLED, np.zeros(oracle.d), rng)
    oracle.tensor = _tensor_kind(oracle, f, u[:1])
    values = oracle(u)
    again = oracle(u[:REPEATED])
    noise = np.sqrt(np.mean((values[:REPEATED] - again) ** 2, axis=0) / 2)
    return Answers(values.std(axis=0), np.abs(values).max(axis=0), noise)


def measured_noise(oracle: Oracle, rng: np.random.Generator) -> np.ndarray:
    """Standard deviation of the noise per output, to a few percent."""
    u = random_points(NOISE_POINTS, np.zeros(oracle.d), rng)
    noise: np.ndarray = np.sqrt(np.mean((oracle(u) - oracle(u)) ** 2, axis=0) / 2)
    return noise


def is_noisy(answers: Answers, noise: np.ndarray) -> bool:
    """Whether repeated answers differ by more than rounding."""
    return bool((noise > ROUNDING_SHARE * answers.spread).any())


def _tensor_kind(oracle: Oracle, f: Any, u: np.ndarray) -> Callable[[np.ndarray], Any] | None:
    """How to make the tensors that ``f`` takes, or None where it takes numpy arrays.

    Torch is not imported to find out: a function that needs it has done so.
    """
    if "torch" not in sys.modules and not isinstance(f, FunctionGraph):
        return None
    kinds = _tensor_kinds()
    x = oracle.points(u)
    for tensor in kinds:
        oracle.evaluations += 1
        if is_torch(_answer_or_none(f, tensor(x).requires_grad_())):
            return tensor
    return None


def _tensor_kinds() -> list[Callable[[np.ndarray], Any]]:
    import torch

    return [
        lambda x: torch.as_tensor(x, dtype=torch.float64),
        lambda x: torch.as_tensor(x, dtype=torch.float32),
    ]


def _answer_or_none(f: Any, x: Any) -> Any:
    """The answer to a trial call; numpy functions may warn about tensors before they fail."""
    try:
        with warnings.catch_warnings(), callers_settings():
            warnings.simplefilter("ignore")
            return f(x)
    except Exception:
        return None


# ---- which gradients -----------------------------------------------------------------------------


def exact_differentiator(oracle: Oracle, answers: Answers, rng: np.random.Generator) -> Differentiator:
    """Autograd where it agrees with differences, central differences otherwise."""
    if oracle.tensor is not None and _autograd_agrees(oracle, answers, rng):
        autograd = Autograd(oracle, _precision(oracle))
        autograd.null_turn = _null_turn_of_autograd(oracle, autograd, rng)
        return autograd
    return exact_differences(oracle, answers.spread, rng)


def _null_turn_of_autograd(oracle: Oracle, autograd: Autograd, rng: np.random.Generator) -> float:
    """How far gradients at points a rounding apart seem turned: what cancellation inside the function does."""
    close = 2 * _precision(oracle)
    u = random_points(NULL_POINTS_OF_AUTOGRAD, np.full(oracle.d, close), rng)
    everything = np.arange(oracle.d)
    here, there = autograd(u, everything), autograd(u + close * rng.choice([-1, 1], u.shape), everything)
    a, b = here.gradients[0], there.gradients[0]
    with np.errstate(invalid="ignore"):
        z = np.abs(turns(a, b)) / turn_errors(a, b, here.errors, there.errors)
    return float(np.sort(np.nan_to_num(z).max(axis=(1, 2, 3)))[-2])


def _precision(oracle: Oracle) -> float:
    import torch

    assert oracle.tensor is not None
    return float(torch.finfo(oracle.tensor(np.zeros(1)).dtype).eps)


def _autograd_agrees(oracle: Oracle, answers: Answers, rng: np.random.Generator) -> bool:
    """Whether autograd gives what differences give, for every input at most of a few points where it has a slope.

    A graph that was cut (detach, numpy inside, a custom backward) shows as a partial derivative
    that is wrong everywhere; a kink near one of the points does not.
    """
    step = np.cbrt(_precision(oracle))
    u = random_points(COMPARED_POINTS, np.full(oracle.d, step), rng)
    try:
        _, slopes = oracle.gradients(u)
    except (DataError, RuntimeError, TypeError, AttributeError):
        return False
    shift = step * np.eye(oracle.d)
    stencil = np.stack([u[:, None] + shift, u[:, None] - shift])
    up, down = oracle(stencil.reshape(-1, oracle.d)).reshape(2, COMPARED_POINTS, oracle.d, -1)
    differences = ((up - down) / (2 * step)).swapaxes(1, 2)
    rounding = AUTOGRAD_ROUNDING * _precision(oracle) * answers.size[:, None] / step
    size = np.abs(differences)
    allowed = AUTOGRAD_MAY_DIFFER * size + rounding + AUTOGRAD_OF_LARGEST * size.max(axis=2, keepdims=True)
    wrong = (np.abs(slopes - differences) > allowed).sum(axis=0)
    sloping = (np.abs(differences) > rounding).sum(axis=0)
    return bool(((wrong == 0) | (2 * wrong < sloping)).all())


# ---- the step of differences, from the function's own rounding, noise and curvature --------------


def calibration_cost(d: int, noisy: bool = False) -> int:
    """Evaluations that finding the step takes."""
    return STEP_POINTS_IN_NOISE * d * 8 if noisy else STEP_POINTS * d * 8 + NULL_POINTS_OF_DIFFERENCES * d * 4


def exact_differences(oracle: Oracle, spread: np.ndarray, rng: np.random.Generator) -> CentralDifferences:
    """Differences for answers without noise: round-off B/h is measured on two short steps.

    Args:
        spread: standard deviation of each output.
    """
    long, short = np.array(LONG_STEPS), np.array(ROUNDED_STEPS)
    slopes, size = _slopes(oracle, np.r_[long, short], STEP_POINTS, rng)
    round_off = np.abs(slopes[:, 2] - slopes[:, 3]).max(axis=0) * short[1]
    round_off = np.maximum(round_off, np.finfo(float).eps * np.maximum(size, spread)[:, None])
    step = (_balanced(slopes[:, :2], long, round_off, spread) / BELOW_BALANCE).clip(SHORTEST_STEP, LONGEST_STEP)
    differences = CentralDifferences(oracle, step, round_off / step, size, usual=_root_mean_square(slopes[:, 1]))
    differences.null_turn = _null_turn_of_differences(oracle, step, differences.error, rng)
    return differences


def noisy_differences(
    oracle: Oracle, noise: np.ndarray, spread: np.ndarray, rng: np.random.Generator
) -> CentralDifferences:
    """Differences for answers with noise of the given standard deviation, in two readings."""
    long = np.array(LONG_STEPS_IN_NOISE)
    slopes, _ = _slopes(oracle, np.r_[long, long], STEP_POINTS_IN_NOISE, rng)
    mean = (slopes[:, :2] + slopes[:, 2:]) / 2
    balance = _balanced(mean, long, noise[:, None] / np.sqrt(2), spread)
    usual = _root_mean_square(mean[:, 1])
    error = (noise[:, None] / (np.sqrt(2) * balance * usual)).max(axis=0)
    step = balance / np.clip(AFFORDABLE_ERROR / error, BELOW_BALANCE_IN_NOISE, BELOW_BALANCE)
    step = step.clip(SHORTEST_STEP_IN_NOISE, LONGEST_STEP_IN_NOISE)
    error = noise[:, None] / (np.sqrt(2) * step)
    return CentralDifferences(oracle, step, error, np.full(len(noise), np.inf), usual, readings=2)


def _null_turn_of_differences(oracle: Oracle, step: np.ndarray, error: np.ndarray, rng: np.random.Generator) -> float:
    """How far gradients by two steps, h and 2h, at the same points seem turned: what truncation and rounding do.

    The largest of the points is left out, for a kink may lie between the two stencils.
    """
    one, other = _at_points(oracle, np.stack([step, 2 * step]), NULL_POINTS_OF_DIFFERENCES, rng)[0].swapaxes(0, 1)
    z = np.abs(turns(one, other)) / turn_errors(one, other, error, error / 2)
    return float(np.sort(np.nan_to_num(z).max(axis=(1, 2, 3)))[-2])


def _balanced(slopes: np.ndarray, long: np.ndarray, round_off: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """The h that balances round-off B/h and truncation A h^2, the smallest over the outputs.

    A is taken to be at least the size of the slopes, so that steps stay short where kinks may hide.
    """
    size = np.maximum(np.median(np.abs(slopes[:, 1]), axis=0), LEAST_SLOPE * spread[:, None])
    truncation = np.sqrt(np.mean((slopes[:, 0] - slopes[:, 1]) ** 2, axis=0)) / (long[0] ** 2 - long[1] ** 2)
    balance: np.ndarray = np.cbrt(round_off / (2 * np.maximum(truncation, size))).min(axis=0)
    return balance


def _root_mean_square(slopes: np.ndarray) -> np.ndarray:
    usual: np.ndarray = np.sqrt(np.mean(slopes**2, axis=0))
    return usual


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


# ---- what passes for no turn ---------------------------------------------------------------------


def limits_of_exact_answers(null_turn: float) -> Limits:
    """Above what was seen without a turn, with room for the many more triples to come."""
    return Limits(low=max(LEAST_NULL_SCORE, ABOVE_NULL_TURN * null_turn), active=ACTIVE_SCORE, clear_gap=CLEAR_GAP)


def limits_in_noise(d: int) -> Limits:
    """The largest of d^3 normal scores, with room for many looks at them; the scores here are roots of such."""
    largest = float(np.sqrt(np.sqrt(2 * np.log(max(d, 2) ** 3)) + ABOVE_LARGEST_NORMAL))
    return Limits(low=largest, active=largest, clear_gap=CLEAR_GAP_IN_NOISE)


# ---- a second look at the step, where slopes are far steeper than those it was chosen by ----------


class StepCheck:
    """Compares the step with its half at the steepest points so far, input by input.

    An input may be asleep at all the points of the calibration, where a saturated function hides it, and
    awake in a corner of the box. There its step is too long. The truncation passes for turns, and no later
    measurement takes them back, for a score is the largest of all.

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
        step = np.where(truncation > self._tolerated, balance / BELOW_WORST, self.differences.step).clip(SHORTEST_STEP)
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

"""What turns the direction of a pair of slopes, and how sure that is.

A set of inputs is a module when nothing outside it turns the direction of its gradient. For a pair (i, j)
and an input k the cross product of (f_i, f_j) before and after a swap of x_k is zero everywhere exactly
when x_k does not turn the pair. The posterior's draws say how far from zero the fit may be by chance.

Where a module is nearly true, every single cross product may drown in its error. But what turns slopes goes with what
moves the function: summed over points, each times the change of the function, small turns of one sign add up and
errors do not. That *trend* sees turns a tenth as large; it misses those that have no sign.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from compsparse.discovery.data.smooth.limits import POINTS, TREND_POINTS
from compsparse.discovery.data.smooth.process import SmoothFit
from compsparse.discovery.structure.links import LinkedSum, Swaps


@dataclass(frozen=True)
class Turns:
    """What swaps of one input were seen to do, over many points.

    Attributes:
        pairs: (inputs, inputs, inputs): how much x_k turns the slopes by x_i and x_j, as a root mean square in
            units of the standard error.
        blur: the same shape: the standard error itself, in radians, at a usual point.
        trend: the same shape: how much the turns go with the change of the function, all points together, in units
            of its standard error.
        changes: (inputs,) how much the function changes with each, as a root mean square.
    """

    pairs: np.ndarray
    blur: np.ndarray
    trend: np.ndarray
    changes: np.ndarray

    def between(self, one: Sequence[int], other: Sequence[int]) -> float:
        """The largest turn of a slope by one set of inputs against one by another, by any input outside both."""
        outside = [k for k in range(len(self.pairs)) if k not in one and k not in other]
        return float(self.pairs[np.ix_(one, other, outside)].max(initial=0.0))


Asked = tuple[Tensor, Tensor]
"""What the mean says, and what each draw says along a last dimension."""


def measured_turns(fit: SmoothFit, inflation: float, seed: int) -> Turns:
    """Asks the fit at rows of the table and at the same rows with one input swapped for another row's.

    Args:
        inflation: by which the variance of the draws falls short of the errors on fresh rows.
    """
    rng = np.random.default_rng(seed)
    n, d = fit.rows.shape
    base = some_rows(fit, rng, POINTS)
    before, height = fit.slopes(base), fit.values(base)[0]
    usual = before[0].square().mean(0).sqrt().clamp_min(torch.finfo(base.dtype).tiny)
    pairs, blur, trend = np.zeros((3, d, d, d))
    changes = np.zeros(d)
    for k in range(d):
        swapped = base.clone()
        swapped[:, k] = fit.rows[torch.as_tensor(rng.permutation(n)[: len(base)], device=base.device), k]
        after = fit.slopes(swapped)
        crossed = _crossed(before, after)
        turn, error = measured(crossed, inflation)
        pairs[:, :, k] = root_mean(turn.square() / error)
        change = fit.values(swapped)[0] - height
        trend[:, :, k] = _trend(crossed, error, change, inflation)
        changes[k] = float(change.square().mean().sqrt())
        longest = _lengths(before[0] / usual) * _lengths(after[0] / usual) * usual[:, None] * usual
        blur[:, :, k] = (error.sqrt() / longest).median(0).values.cpu().numpy()
        for values in (pairs, trend):
            values[k, :, k] = values[:, k, k] = 0.0
    return Turns(pairs, blur, trend, changes)


def measured_effects(fit: SmoothFit, inflation: float, seed: int) -> np.ndarray:
    """How much every input acts, (inputs,): its slopes as a root mean square in units of their standard error."""
    effect, error = measured(fit.slopes(some_rows(fit, np.random.default_rng(seed), POINTS)), inflation)
    return root_mean(effect.square() / error)


def largest_changes(fit: SmoothFit, inflation: float, seed: int) -> list[float]:
    """How much the function may change with every input, with two standard errors, as a root mean square."""
    rng = np.random.default_rng(seed)
    base = some_rows(fit, rng, POINTS)
    before, found = fit.values(base), []
    for k in range(base.shape[1]):
        swapped = base.clone()
        swapped[:, k] = some_rows(fit, rng, POINTS)[:, k]
        mean, draws = (b - a for a, b in zip(before, fit.values(swapped), strict=True))
        change, error = measured((mean, draws), inflation)
        found.append(float((change.square() + 4 * error).mean().sqrt()))
    return found


def trend_of(fit: SmoothFit, inside: Sequence[int], inflation: float, seed: int) -> float:
    """The largest trend in the turns of some inputs' slopes when all others are swapped at once.

    The function changes more than by one swap, and one set can be asked about at more points than all triples.
    """
    rng = np.random.default_rng(seed)
    base, swapped = some_rows(fit, rng, TREND_POINTS), some_rows(fit, rng, TREND_POINTS)
    swapped[:, inside] = base[:, inside]
    crossed = _crossed(fit.slopes(base, inside), fit.slopes(swapped, inside))
    _, error = measured(crossed, inflation)
    trend = _trend(crossed, error, fit.values(swapped)[0] - fit.values(base)[0], inflation)
    return float(trend[~np.eye(len(inside), dtype=bool)].max())


def measured_swaps(fit: SmoothFit, inflation: float, children: Sequence[Sequence[int]], seed: int) -> Swaps:
    """What swaps of one child of a node do to the slopes along the others.

    Args:
        children: the inputs of each.
    """
    rng = np.random.default_rng(seed)
    base = some_rows(fit, rng, POINTS)
    before, height = fit.slopes(base), fit.values(base)[0]
    parts = []
    for by, swapped_inputs in enumerate(children):
        swapped, other = base.clone(), some_rows(fit, rng, POINTS)
        swapped[:, list(swapped_inputs)] = other[:, list(swapped_inputs)]
        after, change = fit.slopes(swapped), fit.values(swapped)[0]
        for of, watched in enumerate(children):
            for i in watched if of != by else ():
                (slope, draws), (slope_after, draws_after) = ((m[:, i], d[:, i]) for m, d in (before, after))
                ratio = slope_after / slope
                _, error = measured((ratio, draws_after / draws), inflation)
                columns = (height, change, slope, slope_after, error.sqrt() / ratio.abs())
                parts.append((np.full(len(base), of), np.full(len(base), by), *(c.cpu().numpy() for c in columns)))
    return Swaps(*(np.concatenate(values) for values in zip(*parts, strict=True)))


def acts_by_three(
    fit: SmoothFit, inflation: float, linked: LinkedSum, children: Sequence[Sequence[int]], seed: int
) -> bool:
    """Whether three children of a sum act together by more than pairs of them, or that would not be seen.

    Without a term of all three, swaps of two of them change a slope of the sum along the third by as much together as
    one after the other.
    """
    rng = np.random.default_rng(seed)
    base, other = some_rows(fit, rng, POINTS), some_rows(fit, rng, POINTS)
    watched, *swapped = (list(child) for child in children)
    corners = []
    for chosen in ((), swapped[:1], swapped[1:], swapped):
        point = base.clone()
        inputs = [i for child in chosen for i in child]
        point[:, inputs] = other[:, inputs]
        (height, heights), (slope, slopes) = fit.values(point), fit.slopes(point, watched)
        corners.append((_of_sum(linked, height, slope), _of_sum(linked, heights, slopes)))
    (mean, draws), (one, _), (two, _), (both, of_both) = corners
    change, error = measured((both - one - two + mean, of_both - corners[1][1] - corners[2][1] + draws), inflation)
    size = (one - mean).abs() + (two - mean).abs()
    is_seen = float((change.abs() / error.sqrt()).median()) > linked.limits.free
    return is_seen or float((error.sqrt() / size).median()) > linked.limits.known


def _of_sum(linked: LinkedSum, values: Tensor, slopes: Tensor) -> Tensor:
    """Slopes of the sum below the link, for the mean or for draws along a last dimension."""
    found = linked.scale.slopes(values.cpu().numpy()[:, None], slopes.cpu().numpy())
    return torch.as_tensor(found, device=slopes.device)


def some_rows(fit: SmoothFit, rng: np.random.Generator, n: int) -> Tensor:
    """Some rows of the table, at most so many, in a random order."""
    return fit.rows[torch.as_tensor(rng.permutation(len(fit.rows))[:n], device=fit.rows.device)]


def _crossed(before: Asked, after: Asked) -> Asked:
    mean, draws = (a[:, :, None] * b[:, None] - a[:, None] * b[:, :, None] for a, b in zip(before, after, strict=True))
    return mean, draws


def measured(asked: Asked, inflation: float) -> tuple[Tensor, Tensor]:
    """The mean's answer, and the variance of its error."""
    mean, draws = asked
    error = inflation * (draws - mean[..., None]).square().mean(-1)
    return mean, error.clamp_min(torch.finfo(error.dtype).tiny)


def _trend(crossed: Asked, error: Tensor, change: Tensor, inflation: float) -> np.ndarray:
    """The sum of turns, each times the change of the function and the less the less it is known, over its error."""
    weight = change[:, None, None] / (error + error.median(0).values)
    mean, draws = (torch.einsum("pij,pij...->ij...", weight, c) for c in crossed)
    total, errors = measured((mean, draws), inflation)
    size: np.ndarray = (total.abs() / errors.sqrt()).cpu().numpy()
    return size


def _lengths(slopes: Tensor) -> Tensor:
    """Length of every pair of slopes, (points, inputs, inputs)."""
    squares = slopes.square()
    return (squares[:, :, None] + squares[:, None]).sqrt().clamp_min(torch.finfo(slopes.dtype).tiny)


def root_mean(values: Tensor) -> np.ndarray:
    """Root of the mean over the first dimension."""
    root: np.ndarray = values.mean(0).sqrt().cpu().numpy()
    return root

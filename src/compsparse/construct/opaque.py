"""Functions without a formula: what is known of them is what was declared, or estimated from samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compsparse.boxes import Side
from compsparse.checks import RandomState, check_number, check_numbers, generator_from
from compsparse.construct.intervals import IntervalArray
from compsparse.errors import ConfigError, DataError

_SAMPLES = 2000
_SAFETY = 1.5
"""Sampled derivatives are multiplied by it; they remain estimates."""


@dataclass(frozen=True)
class DeclaredBounds:
    """What a user says of a function that cannot be traced.

    Attributes:
        lipschitz: the largest slope by each argument.
        curvature: the largest absolute value of any second derivative; None where there may be kinks.
    """

    lipschitz: tuple[float, ...]
    curvature: float | None = None

    def __post_init__(self) -> None:
        found = check_numbers("lipschitz", self.lipschitz, shape=(None,), error=ConfigError)
        if (found < 0).any():
            raise ConfigError("Lipschitz constants must not be negative")
        object.__setattr__(self, "lipschitz", tuple(found.tolist()))
        if self.curvature is not None:
            check_number("curvature", self.curvature, least=0)


@dataclass(frozen=True, eq=False)
class Opaque:
    """A function of arrays with bounds on its derivatives, in the place of a formula."""

    name: str
    function: Callable[..., Any]
    bounds: DeclaredBounds
    is_estimated: bool

    def values(self, columns: Sequence[np.ndarray]) -> np.ndarray:
        """The function at points, checked."""
        found = np.asarray(self.function(*columns), dtype=float)
        if found.shape != columns[0].shape or not np.isfinite(found).all():
            raise DataError(f"the function of node {self.name!r} must answer one finite number for each point")
        return found

    def enclosure(
        self, boxes: Sequence[IntervalArray], order: int
    ) -> tuple[IntervalArray, dict[int, IntervalArray], dict[tuple[int, int], IntervalArray]]:
        """Value, slopes and second derivatives on boxes, from the middle and the declared bounds."""
        middles = [np.clip(0.5 * (b.lower + b.upper), b.lower, b.upper) for b in boxes]
        value = IntervalArray.of(self.values([np.atleast_1d(m) for m in middles]).reshape(np.shape(middles[0])))
        for box, middle, slope in zip(boxes, middles, self.bounds.lipschitz, strict=True):
            value = value + (box - IntervalArray.of(middle)) * IntervalArray.of(-slope, slope)
        d = len(boxes)
        first = {i: IntervalArray.of(-s, s) for i, s in enumerate(self.bounds.lipschitz)} if order else {}
        bend = np.inf if self.bounds.curvature is None else self.bounds.curvature
        second = {(i, j): IntervalArray.of(-bend, bend) for i in range(d) for j in range(i, d)} if order > 1 else {}
        return value, first, second


def estimated_bounds(
    name: str, function: Callable[..., Any], box: Sequence[Side], random_state: RandomState
) -> DeclaredBounds:
    """Slopes and second derivatives by differences at random points, half as large again."""
    rng = generator_from(random_state)
    low, high = np.array(box, dtype=float).T
    step = 1e-4 * (high - low)
    x = rng.uniform(low + 2 * step, high - 2 * step, (_SAMPLES, len(box)))
    plain = Opaque(name, function, DeclaredBounds((0.0,) * len(box)), is_estimated=True)

    def at(shift: np.ndarray) -> np.ndarray:
        return plain.values(list((x + shift).T))

    e = np.diag(step)
    middle = at(np.zeros(len(box)))
    slopes = [np.abs(at(e[i]) - at(-e[i])).max() / (2 * step[i]) for i in range(len(box))]
    bends = [np.abs(at(e[i]) - 2 * middle + at(-e[i])).max() / step[i] ** 2 for i in range(len(box))]
    for i in range(len(box)):
        for j in range(i):
            mixed = at(e[i] + e[j]) - at(e[i] - e[j]) - at(e[j] - e[i]) + at(-e[i] - e[j])
            bends.append(np.abs(mixed).max() / (4 * step[i] * step[j]))
    return DeclaredBounds(tuple(_SAFETY * s for s in slopes), _SAFETY * float(max(bends)))

"""Gradients of the callable in the unit cube: by autograd, or by central differences with a measured step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from compsparse.discovery.queries.limits import CANCELLED_SHARE, KINKED, ROUNDINGS_OF_GRADIENT
from compsparse.discovery.queries.oracle import Oracle


@dataclass(frozen=True)
class Slopes:
    """Values and gradients at n points, from one or more independent readings of the answers.

    Attributes:
        values: ``(readings, n, k)``.
        gradients: ``(readings, n, k, d)``; a partial derivative that was not asked for or cannot
            be trusted is NaN.
        errors: size of the gradients' error in one reading, ``(n, k, d)``.
    """

    values: np.ndarray
    gradients: np.ndarray
    errors: np.ndarray


class Differentiator(Protocol):
    """Anything that gives slopes at points of the unit cube.

    Attributes:
        margin: how far from the faces of the cube points must stay, per input.
        readings: how many independent readings each point gets.
        null_turn: the largest z that was seen without a turn.
        usual, error: usual size of every partial derivative, and its error at such points, ``(k, d)``.
    """

    margin: np.ndarray
    readings: int
    null_turn: float

    @property
    def usual(self) -> np.ndarray: ...

    @property
    def error(self) -> np.ndarray: ...

    def cost(self, n_coordinates: int) -> int:
        """Evaluations per point."""
        ...

    def value_error(self, size: np.ndarray) -> np.ndarray:
        """Rounding error of values of that size, per output."""
        ...

    def __call__(self, u: np.ndarray, coordinates: np.ndarray) -> Slopes: ...


class Autograd:
    """Slopes of a function that torch differentiates, exact up to rounding.

    Rounding is relative to the partial derivative itself, and to a share of its usual size where
    large terms cancel.
    """

    readings = 1

    def __init__(self, oracle: Oracle, precision: float):
        self._oracle = oracle
        self._precision = ROUNDINGS_OF_GRADIENT * precision
        self._usual: np.ndarray | None = None
        self.margin = np.zeros(oracle.d)
        self.null_turn = 0.0

    def cost(self, n_coordinates: int) -> int:
        """Evaluations per point."""
        return 1

    def value_error(self, size: np.ndarray) -> np.ndarray:
        """Rounding error of values of that size, per output."""
        return self._precision * size

    @property
    def usual(self) -> np.ndarray:
        """Usual size of every partial derivative, ``(k, d)``: that of the first points asked."""
        assert self._usual is not None
        return self._usual

    @property
    def error(self) -> np.ndarray:
        """Error of every partial derivative where it has its usual size, ``(k, d)``."""
        return self._precision * (1 + CANCELLED_SHARE) * self.usual

    def __call__(self, u: np.ndarray, coordinates: np.ndarray) -> Slopes:
        values, gradients = self._oracle.gradients(u)
        if self._usual is None:
            self._usual = np.sqrt(np.mean(gradients**2, axis=0))
        errors = self._precision * (np.abs(gradients) + CANCELLED_SHARE * self._usual) + np.finfo(float).tiny
        return Slopes(values[None], gradients[None], errors)


class CentralDifferences:
    """(f(u + h e_i) - f(u - h e_i)) / 2h, with the value between them to give kinks away.

    Half the difference of the two one-sided slopes is their bend, and the error of the derivative
    where a kink lies inside the stencil; that partial derivative is then withheld. Curvature bends
    by h/2 times itself. So a bend is taken for a kink if it is far above rounding, above what the
    usual size of the derivative lets expect of curvature, and a share sqrt(h) of the derivative
    itself: halfway, on the log scale, between that of curvature, h, and that of a kink, 1.

    Args:
        step: h per input.
        error: error of each partial derivative, ``(k, d)``, at points where \\|f\\| is at most ``size``.
        usual: usual size of each partial derivative, ``(k, d)``.
    """

    def __init__(
        self,
        oracle: Oracle,
        step: np.ndarray,
        error: np.ndarray,
        size: np.ndarray,
        usual: np.ndarray,
        readings: int = 1,
    ):
        self._oracle = oracle
        self.step = self.margin = step
        self.error, self._size, self.readings = error, size, readings
        self.usual = usual
        self._usual_bend = step * usual / 2
        self.null_turn = 0.0

    def with_step(self, step: np.ndarray) -> CentralDifferences:
        """The same with another step; round-off is inverse to it."""
        error = self.error * self.step / step
        other = CentralDifferences(self._oracle, step, error, self._size, self.usual, self.readings)
        other.null_turn = self.null_turn
        return other

    def cost(self, n_coordinates: int) -> int:
        """Evaluations per point."""
        return (2 * n_coordinates + 1) * self.readings

    def value_error(self, size: np.ndarray) -> np.ndarray:
        """Rounding error of values of that size, per output."""
        error: np.ndarray = np.maximum(
            (self.error * self.step).max(axis=1), ROUNDINGS_OF_GRADIENT * np.finfo(float).eps * size
        )
        return error

    def __call__(self, u: np.ndarray, coordinates: np.ndarray) -> Slopes:
        (n, d), c = u.shape, len(coordinates)
        shift = np.zeros((c, d))
        shift[np.arange(c), coordinates] = self.step[coordinates]
        step = self._oracle.distance(u - self.step, u + self.step)[:, None, coordinates] / 2
        stencil = np.concatenate([u[:, None] + shift, u[:, None] - shift, u[:, None]], axis=1)
        asked = np.broadcast_to(stencil, (self.readings, *stencil.shape)).reshape(-1, d)
        values = self._oracle(asked).reshape(self.readings, n, 2 * c + 1, -1).swapaxes(2, 3)
        up, down, here = values[..., :c], values[..., c : 2 * c], values[..., 2 * c :]
        errors = self.error * np.maximum(1, np.abs(here).max(axis=0) / self._size[:, None])
        slope, bend = (up - down) / (2 * step), np.abs(up - 2 * here + down) / (2 * step)
        kinked = self._kinked(bend.max(axis=0), np.abs(slope).min(axis=0), errors[..., coordinates], coordinates)
        gradients = np.full((*here.shape[:-1], d), np.nan)
        gradients[..., coordinates] = np.where(kinked, np.nan, slope)
        return Slopes(here[..., 0], gradients, errors)

    def _kinked(self, bend: np.ndarray, slope: np.ndarray, error: np.ndarray, coordinates: np.ndarray) -> np.ndarray:
        by_curvature = KINKED * np.maximum(self._usual_bend[:, coordinates], error)
        kinked: np.ndarray = (bend > by_curvature) & (bend > np.sqrt(self.step[coordinates]) * slope)
        return kinked

"""Grids on boxes: where tensors of functions take their entries, and what lies between the points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np

from compsparse.boxes import Bounds, read_box
from compsparse.checks import MOST_VARIABLES, brief, check_choice, check_count, check_list, check_numbers
from compsparse.errors import ConfigError, DataError
from compsparse.sizes import check_size

GridRule = Literal["chebyshev", "linear"]
"""How values between the points of a grid are read; see :class:`Grid`."""

MOST_POINTS = 10_000
"""Most points of a grid in one direction: interpolation weights are tables of their square."""


@dataclass(frozen=True)
class Grid:
    """Points in every direction of a box, with interpolation between them and integration over them.

    Attributes:
        bounds: (low, high) of every input.
        shape: number of points in every direction, at least two.
        rule: ``chebyshev`` puts the points closer together near the ends and interpolates by one polynomial, which
            suits smooth functions; ``linear`` spaces them evenly and joins them by straight lines.

    >>> grid = Grid.of([(0, 1), (-1, 1)], 5)
    >>> grid.shape
    (5, 5)
    >>> round(float(grid.weights(1) @ grid.points(1) ** 2), 12)  # the integral of x^2 over [-1, 1]
    0.666666666667
    """

    bounds: tuple[tuple[float, float], ...]
    shape: tuple[int, ...]
    rule: GridRule = "chebyshev"

    def __post_init__(self) -> None:
        box = read_box(self.bounds)
        check_count("the number of inputs", len(box), most=MOST_VARIABLES)
        object.__setattr__(self, "bounds", box)
        sizes = check_list("shape", self.shape)
        if len(sizes) != len(box):
            raise ConfigError(f"{len(box)} inputs need as many numbers of points, got {len(sizes)}")
        what = "the number of points in one direction"
        object.__setattr__(self, "shape", tuple(check_count(what, n, 2, MOST_POINTS) for n in sizes))
        check_choice("rule", self.rule, get_args(GridRule))

    @classmethod
    def of(cls, bounds: Bounds, n_points: int = 17, rule: GridRule = "chebyshev") -> Grid:
        """A grid with equally many points in every direction."""
        box = read_box(bounds)
        return cls(box, (n_points,) * len(box), rule)

    @property
    def n_inputs(self) -> int:
        """Number of directions."""
        return len(self.bounds)

    @cached_property
    def _unit(self) -> tuple[np.ndarray, ...]:
        if self.rule == "linear":
            return tuple(np.linspace(-1, 1, n) for n in self.shape)
        return tuple(-np.cos(np.pi * np.arange(n) / (n - 1)) for n in self.shape)

    def points(self, direction: int) -> np.ndarray:
        """The points in one direction, in increasing order."""
        low, high = self.bounds[self._direction(direction)]
        return np.clip(low + (self._unit[direction] + 1) / 2 * (high - low), low, high)

    def _direction(self, direction: int) -> int:
        return check_count("direction", direction, 0, self.n_inputs - 1)

    def at(self, indices: Any) -> np.ndarray:
        """The points with the given indices, one row each."""
        rows = check_positions("indices", indices, self.shape)
        return np.stack([self.points(i)[rows[:, i]] for i in range(self.n_inputs)], axis=1)

    def sample(self, function: Callable[[np.ndarray], Any]) -> np.ndarray:
        """The whole tensor of a function's values; cross approximation exists because this is often too large."""
        check_size(f"{'x'.join(map(str, self.shape))} values", 3.0 * np.prod(self.shape, dtype=float) * self.n_inputs,
                   "take fewer points, or cross approximation (tucker_from_function)")  # fmt: skip
        mesh = np.meshgrid(*[self.points(i) for i in range(self.n_inputs)], indexing="ij")
        X = np.stack([m.reshape(-1) for m in mesh], axis=1)
        return function_values(function, X).reshape(self.shape)

    def basis(self, direction: int, x: Any) -> np.ndarray:
        """Weights of the points in the interpolated value at each ``x``, one row each; every row sums to 1.

        Raises:
            DataError: a value lies outside the box.
        """
        low, high = self.bounds[self._direction(direction)]
        values = check_numbers(f"values of input {direction}", x, shape=(None,))
        outside = (values < low) | (values > high)
        if outside.any():
            raise DataError(
                f"input {direction} has the value {values[np.argmax(outside)]:g}, "
                f"outside the grid's [{low:g}, {high:g}]"
            )
        unit = np.clip(2 * (values - low) / (high - low) - 1, -1, 1)
        nodes = self._unit[direction]
        return _barycentric(nodes, unit) if self.rule == "chebyshev" else _hats(nodes, unit)

    def weights(self, direction: int) -> np.ndarray:
        """Weights of the points in the integral over the interval: Clenshaw-Curtis, or trapezoids."""
        low, high = self.bounds[self._direction(direction)]
        n = self.shape[direction]
        if self.rule == "linear":
            unit = np.full(n, 2 / (n - 1))
            unit[[0, -1]] /= 2
        else:
            k = np.arange(0, n, 2)
            unit = chebyshev_coefficients(n)[::2].T @ (2 / (1 - k**2))
        return np.asarray(unit * (high - low) / 2)


def chebyshev_coefficients(n: int) -> np.ndarray:
    """The matrix from values at the n Chebyshev points (increasing) to the coefficients of T_0 … T_{n-1}."""
    N = n - 1
    k = np.arange(n)
    halves = np.where((k == 0) | (k == N), 0.5, 1.0)
    signs = np.where(k % 2, -1.0, 1.0)
    return np.asarray(2 / N * (signs * halves)[:, None] * halves * np.cos(np.pi * np.outer(k, k) / N))


def function_values(function: Callable[[np.ndarray], Any], X: np.ndarray) -> np.ndarray:
    """Values of a user's function at the rows of X, one finite number each."""
    if not callable(function):
        raise ConfigError(f"function must be callable on an array of rows, got {brief(function)}")
    return check_numbers("the values of the function", function(X), shape=(len(X),))


def check_positions(what: str, indices: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Rows of whole numbers within a tensor's shape."""
    rows = check_numbers(what, indices, shape=(None, len(shape)))
    whole = rows.astype(np.int64)
    if (whole != rows).any() or (whole < 0).any() or (whole >= np.array(shape)).any():
        raise DataError(f"{what} must be whole numbers from 0 up to the tensor's shape {shape}, that left out")
    return whole


def _barycentric(nodes: np.ndarray, x: np.ndarray) -> np.ndarray:
    signs = np.where(np.arange(len(nodes)) % 2, -1.0, 1.0)
    signs[[0, -1]] /= 2
    apart = x[:, None] - nodes
    on_node = apart == 0
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        terms = signs / apart
        rows = terms / terms.sum(axis=1, keepdims=True)
    hit = on_node.any(axis=1)
    rows[hit] = on_node[hit]
    return np.asarray(rows)


def _hats(nodes: np.ndarray, x: np.ndarray) -> np.ndarray:
    n = len(nodes)
    place = (x + 1) / 2 * (n - 1)
    left = np.minimum(place.astype(np.int64), n - 2)
    rows = np.zeros((len(x), n))
    each = np.arange(len(x))
    rows[each, left + 1] = place - left
    rows[each, left] = 1 - (place - left)
    return rows

"""A search for the point where a network is farthest from the function it stands for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product as all_choices

import numpy as np
import torch

from compsparse.checks import RandomState, generator_from
from compsparse.construct.explicit import ExplicitReLU
from compsparse.construct.splines import held_by, numbers_between

_NUMBERS_AT_ONCE = 4_000_000
_KEPT = 24
_MOST_CORNERS = 256


@dataclass(frozen=True)
class LargestError:
    """The largest error that was seen, where, and at how many points.

    Attributes:
        answers: what the network answered there.
    """

    value: float
    point: tuple[float, ...]
    n_points: int
    answers: tuple[float, ...] = ()


def largest_error(
    network: ExplicitReLU | Callable[[np.ndarray], np.ndarray],
    function: Callable[[np.ndarray], np.ndarray],
    domain: Sequence[tuple[float, float]],
    *,
    n_points: int = 20_000,
    random_state: RandomState = 0,
    dtype: torch.dtype | None = None,
) -> LargestError:
    """Corners and random points, then closer and closer to the worst of them.

    Args:
        dtype: points are numbers of this type; by default of the one in which the network computes.
    """
    rng = generator_from(random_state)
    kind = dtype or (next(network.parameters()).dtype if isinstance(network, ExplicitReLU) else torch.float64)
    sides = [numbers_between(*side, kind) or side for side in domain]
    low, high = np.array(sides, dtype=float).T
    d = len(low)
    corners = np.array(list(all_choices(*sides)) if 2**d <= _MOST_CORNERS else [low, high], dtype=float)
    share = rng.random((max(n_points // 2, 1), d))
    x = np.vstack([corners, _inside(low * (1 - share) + high * share, low, high, kind)])
    seen = _Points(x, *_errors(network, function, x))
    count, width = len(x), 0.1
    while count < n_points:
        best = seen.worst(_KEPT)
        more = min(max(n_points // 16, 1), n_points - count)
        start = best.x[rng.integers(len(best.x), size=more)]
        move = rng.standard_normal((more, d)) * (rng.random((more, d)) < max(2 / d, 0.3))
        near = _inside(start + width * move * high - width * move * low, low, high, kind)
        seen = best.joined(_Points(near, *_errors(network, function, near)))
        count, width = count + more, 0.6 * width
    found = seen.worst(1)
    return LargestError(float(found.errors[0]), tuple(found.x[0].tolist()), count, tuple(found.answers[0].tolist()))


@dataclass(frozen=True, eq=False)
class _Points:
    x: np.ndarray
    errors: np.ndarray
    answers: np.ndarray

    def worst(self, count: int) -> _Points:
        kept = np.argsort(self.errors)[-count:]
        return _Points(self.x[kept], self.errors[kept], self.answers[kept])

    def joined(self, other: _Points) -> _Points:
        pairs = (self.x, other.x), (self.errors, other.errors), (self.answers, other.answers)
        return _Points(*(np.concatenate(pair) for pair in pairs))


def _inside(x: np.ndarray, low: np.ndarray, high: np.ndarray, dtype: torch.dtype) -> np.ndarray:
    """The nearest points of the box whose coordinates are numbers of the type; its corners are such points."""
    return np.asarray(np.clip(held_by(x, dtype), low, high))


def _errors(
    network: ExplicitReLU | Callable[[np.ndarray], np.ndarray],
    function: Callable[[np.ndarray], np.ndarray],
    x: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """The largest error of any output at each point, and the answers."""
    answers = network_values(network, x) if isinstance(network, ExplicitReLU) else network(x)
    right = np.asarray(function(x)).reshape(answers.shape)
    errors = np.abs(answers - right).max(axis=1)
    return np.where(np.isnan(errors), np.inf, errors), answers


def network_values(network: ExplicitReLU, x: np.ndarray) -> np.ndarray:
    """The network's outputs, (points, outputs), in portions that fit in memory."""
    widest = max(len(network.get_parameter(f"bias_{i}")) for i in range(network.n_layers))
    portion = max(_NUMBERS_AT_ONCE // widest, 1)
    weight = next(network.parameters())
    with torch.no_grad():
        parts = [
            network(torch.as_tensor(x[i : i + portion], dtype=weight.dtype, device=weight.device)).cpu()
            for i in range(0, len(x), portion)
        ]
    return torch.cat(parts).double().numpy()

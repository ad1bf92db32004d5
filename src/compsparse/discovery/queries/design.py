"""Where to ask: small factorial blocks of points, all of whose edges are swaps of one input."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_BLOCK = 4
_END = 0.1


@dataclass(frozen=True)
class Sheet:
    """Points around one base; edge (p, q, k) joins points that differ in input k alone.

    The inputs are dealt into blocks of four. A block's points take, in every combination, the
    base's value or another one: 15 new points with 32 swaps, where swapping one input at a time
    gives 4 points with 4 swaps.

    Attributes:
        points: ``(n, d)`` in the unit cube.
        edges: ``(e, 3)``.
        inputs: the inputs that are swapped.
    """

    points: np.ndarray
    edges: np.ndarray
    inputs: np.ndarray


def n_points(n_inputs: int) -> int:
    """Points of one sheet that swaps so many inputs."""
    whole, rest = divmod(n_inputs, _BLOCK)
    return whole * (2**_BLOCK - 1) + 2**rest


def swaps_per_input(n_inputs: int) -> int:
    return int(2 ** (min(n_inputs, _BLOCK) - 1))


def random_points(n: int, margin: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Points of the unit cube, ``margin`` away from its faces."""
    return margin + rng.random((n, len(margin))) * (1 - 2 * margin)


def draw_sheet(inputs: np.ndarray, base: np.ndarray, margin: np.ndarray, rng: np.random.Generator) -> Sheet:
    """A sheet that swaps ``inputs`` of the base for values near the far end of their range.

    Long swaps carry an input past the values at which a maximum or a kink changes hands.
    """
    to_the_end = margin + _END * (1 - 2 * margin) * rng.random(len(base))
    other = np.where(base < 0.5, 1 - to_the_end, to_the_end)
    order = rng.permutation(inputs)
    points, edges = [base[None]], []
    for start in range(0, len(order), _BLOCK):
        block = order[start : start + _BLOCK]
        corners = np.arange(2 ** len(block))
        chosen = (corners[:, None] >> np.arange(len(block))) & 1
        corner_points = np.repeat(base[None], len(corners), axis=0)
        corner_points[:, block] = np.where(chosen == 1, other[block], base[block])
        number = np.r_[0, sum(map(len, points)) + corners[:-1]]
        points.append(corner_points[1:])
        for position, k in enumerate(block):
            without = np.flatnonzero(chosen[:, position] == 0)
            edges.append(np.c_[number[without], number[without | 1 << position], np.full(len(without), k)])
    return Sheet(np.concatenate(points), np.concatenate(edges), np.sort(inputs))

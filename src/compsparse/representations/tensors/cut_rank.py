"""Ranks of a function's modules: as a matrix (what tensor formats pay for) and in channels (what a graph pays for).

A set S of inputs splits the inputs in two. As a matrix, rows x_S against columns x_rest, the function has a
*matricisation rank*; f(x) = F(g_1(x_S), …, g_c(x_S), x_rest) needs c *channels*. A strong module needs one channel,
while its matricisation rank is that of F(g, x_rest) as a function of two groups, which is as large as F is curved.
Both are measured here on samples, to a tolerance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compsparse.boxes import Bounds, read_box
from compsparse.checks import RandomState, check_count, check_indices, check_list, check_number, generator_from
from compsparse.errors import ConfigError
from compsparse.graph import FunctionGraph
from compsparse.graph.function_graph import check_graph
from compsparse.representations.tensors.grid import Grid, function_values
from compsparse.representations.tensors.tensor_train import rank_within

_STEP = 1e-5
"""Step of the central differences, as a share of an input's range."""
_CHANNEL_TOL = 1e-4
"""Singular values of gradients below this share of the largest are differences' errors."""
_SIDES = 16


@dataclass(frozen=True)
class CutRank:
    """Ranks of a function at one split of its inputs.

    Attributes:
        members: positions of the inputs on one side.
        matricisation: numerical rank of the sampled matrix, these inputs against the rest, at the tolerance.
        channels: most dimensions that gradients in these inputs span while the rest varies.
        singular_values: of the sampled matrix, the largest 1.
    """

    members: tuple[int, ...]
    matricisation: int
    channels: int
    singular_values: tuple[float, ...]


def cut_ranks(
    function: Callable[[np.ndarray], Any],
    bounds: Bounds,
    cuts: Iterable[Sequence[int]],
    *,
    tol: float = 1e-6,
    n_samples: int = 200,
    random_state: RandomState = None,
) -> list[CutRank]:
    """Ranks of a function at splits of its inputs, from ``n_samples`` squared values for each.

    Args:
        cuts: sets of input positions, each one side of a split.
        tol: relative error (root of mean squares over the samples) up to which the matricisation rank counts.

    >>> import numpy as np
    >>> [cut] = cut_ranks(lambda X: np.sin(X[:, 0] + X[:, 1] + X[:, 2]), [(0, 1)] * 3, [[0, 1]], random_state=0)
    >>> cut.matricisation, cut.channels
    (2, 1)
    """
    grid = Grid.of(bounds, 2)
    tol, n = check_number("tol", tol, above=0, below=1), check_count("n_samples", n_samples, least=2, most=5000)
    rng = generator_from(random_state)
    found = []
    for cut in check_list("cuts", cuts):
        members = sorted(set(check_indices("a cut", cut, grid.n_inputs)))
        if not 0 < len(members) < grid.n_inputs:
            raise ConfigError(f"a cut must leave inputs on both sides, got {members} of {grid.n_inputs} inputs")
        low, high = np.array(grid.bounds).T
        points = low + rng.random((2, n, grid.n_inputs)) * (high - low)
        matrix = function_values(function, _crossed(points[0], points[1], members)).reshape(n, n)
        s = np.linalg.svd(matrix, compute_uv=False)
        rank = rank_within(s, tol * float(np.linalg.norm(s)))
        channels = _channels(function, points, members, (high - low) * _STEP)
        found.append(CutRank(tuple(members), rank, channels, tuple((s / s[0]).tolist()) if s[0] else ()))
    return found


def module_ranks(
    graph: FunctionGraph,
    bounds: Bounds,
    *,
    tol: float = 1e-6,
    n_samples: int = 200,
    random_state: RandomState = None,
) -> list[CutRank]:
    """The ranks of every strong module of a graph with functions; see :func:`cut_ranks`."""
    check_graph("graph", graph)
    position = {name: i for i, name in enumerate(graph.inputs)}
    cuts = sorted(sorted(position[name] for name in module) for module in graph.modules)
    return cut_ranks(
        graph, read_box(bounds, graph.inputs), cuts, tol=tol, n_samples=n_samples, random_state=random_state
    )


def _crossed(rows: np.ndarray, columns: np.ndarray, members: list[int]) -> np.ndarray:
    """Every point of the rows in the members' inputs, with every one of the columns in the others."""
    X = np.tile(columns, (len(rows), 1))
    X[:, members] = np.repeat(rows[:, members], len(columns), axis=0)
    return X


def _channels(function: Callable[[np.ndarray], Any], points: np.ndarray, members: list[int], steps: np.ndarray) -> int:
    rows, columns = points[0][:_SIDES], points[1][:_SIDES]
    X = _crossed(rows, columns, members)
    gradients = []
    for i in members:
        step = np.zeros(X.shape[1])
        step[i] = steps[i]
        ahead, behind = function_values(function, X + step), function_values(function, X - step)
        gradients.append((ahead - behind).reshape(len(rows), len(columns)))
    spectra = np.linalg.svd(np.stack(gradients, axis=2), compute_uv=False)
    return int(max(np.count_nonzero(s > _CHANNEL_TOL * spectra.max()) for s in spectra)) if spectra.max() else 0

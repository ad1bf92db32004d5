"""Targets on images that are sums over patches: local graphs, and the same with scattered pixels."""

from __future__ import annotations

import numpy as np

from compsparse.checks import RandomState, check_count, check_flag, generator_from
from compsparse.errors import ConfigError
from compsparse.graph import Constituent, FunctionGraph, input_names
from compsparse.graph.formula import Apply, Argument, Constant, Formula
from compsparse.graph.function_graph import Node
from compsparse.sizes import check_work
from compsparse.tasks.task import GaussianInputs, Task

_MOST_PIXELS = 10_000


def patch_pixels(size: int, patch: int, stride: int | None = None) -> np.ndarray:
    """The pixels of every square patch of a square image, ``(n_patches, patch^2)``, row by row.

    >>> patch_pixels(4, 2).tolist()
    [[0, 1, 4, 5], [2, 3, 6, 7], [8, 9, 12, 13], [10, 11, 14, 15]]
    """
    size, patch = check_count("size", size), check_count("patch", patch)
    stride = patch if stride is None else check_count("stride", stride)
    check_work("the number of pixels", size**2, _MOST_PIXELS, "take a smaller image")
    if patch > size or (size - patch) % stride:
        raise ConfigError(f"patches of {patch} at stride {stride} do not cover a side of {size} exactly")
    pixels = np.arange(size**2).reshape(size, size)
    starts = range(0, size - patch + 1, stride)
    return np.array([pixels[i : i + patch, j : j + patch].ravel() for i in starts for j in starts])


def patch_sum(
    size: int = 12,
    patch: int = 3,
    noise: float = 0.0,
    random_state: RandomState = 0,
    *,
    scattered: bool = False,
) -> Task:
    """Sum over disjoint patches p of abs(w_p . x_p), on white Gaussian images of ``size`` by ``size`` pixels.

    A dense network sees no trace of the patches in its inputs: only the target is local.

    Args:
        random_state: of the weights w_p.
        scattered: every pixel is moved to a random place, so that the graph is as sparse but not local.

    >>> task = patch_sum(4, 2)
    >>> task.graph.max_arity, task.graph.depth, task.sample(3, random_state=0).y.shape
    (4, 2, (3,))
    """
    rng = generator_from(random_state)
    groups = patch_pixels(size, patch)
    weights = rng.standard_normal(groups.shape)
    if check_flag("scattered", scattered):
        groups = rng.permutation(groups.size)[groups]
    names = input_names(groups.size)
    nodes = [
        Node(f"p{i}", tuple(names[j] for j in pixels), _projection(w))
        for i, (pixels, w) in enumerate(zip(groups, weights, strict=True))
    ]
    graph = FunctionGraph(names, [*nodes, Node("y", tuple(n.name for n in nodes), _sum(len(nodes)))])
    return Task("scattered sum" if scattered else "patch sum", graph, GaussianInputs(groups.size), noise)


def _projection(w: np.ndarray) -> Constituent:
    terms: list[Formula] = [Apply("mul", (Constant(float(c)), Argument(i))) for i, c in enumerate(w)]
    return Constituent.from_formula(Apply("abs", (_added(terms),)), len(w))


def _sum(arity: int) -> Constituent:
    return Constituent.from_formula(_added([Argument(i) for i in range(arity)]), arity)


def _added(terms: list[Formula]) -> Formula:
    """A balanced sum, so that formulas of many terms do not nest deeply."""
    while len(terms) > 1:
        pairs = [Apply("add", tuple(terms[i : i + 2])) for i in range(0, len(terms) - 1, 2)]
        terms = [*pairs, *terms[2 * len(pairs) :]]
    return terms[0]

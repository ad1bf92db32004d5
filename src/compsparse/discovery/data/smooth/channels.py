"""Modules of several channels by a smooth fit: volumes that gradients span, in units of their errors.

r + 1 slopes in r + 1 contexts span a volume: their determinant. It is zero everywhere exactly when they pass r numbers
or fewer, as a pair's cross product is zero when the pair passes one; the posterior's draws say how far from zero it may
be by chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import combinations

import numpy as np
import torch
from torch import Tensor

from compsparse.discovery.data.smooth.limits import PARTS_OF_BUNDLES, POINTS, SURELY_SPANNED
from compsparse.discovery.data.smooth.process import SmoothFit
from compsparse.discovery.data.smooth.turning import Asked, measured, root_mean, some_rows
from compsparse.discovery.structure.bundles import CHANNELS_TRIED, Bundle, PrimeNode, prime_nodes
from compsparse.graph.modules import ModuleTree


def bundles_of_fit(
    fit: SmoothFit, tree: ModuleTree, names: Sequence[str], inflation: float, threshold: float, seed: int
) -> tuple[Bundle, ...]:
    """Bundles in all prime nodes of a tree that have enough children to save wires.

    Args:
        inflation: by which the variance of the draws falls short of the errors on fresh rows.
        threshold: volumes up to it, in standard errors, pass for none.
    """
    nodes = prime_nodes(tree, PARTS_OF_BUNDLES)
    asked = (_AskedNode(fit, node, names, inflation, threshold, seed) for node in nodes)
    return tuple(bundle for node in asked for bundle in node.bundles())


class _AskedNode(PrimeNode):
    """Each child is watched through the member whose slope is known best."""

    def __init__(
        self, fit: SmoothFit, node: ModuleTree, names: Sequence[str], inflation: float, threshold: float, seed: int
    ):
        self._fit, self._inflation, self._threshold = fit, inflation, threshold
        self.children = node.children
        self._rng = np.random.default_rng(seed)
        self._inputs = [[i for i, name in enumerate(names) if name in child.members] for child in node.children]
        self._base = self._rows()
        effect, error = measured(fit.slopes(self._base), inflation)
        known = root_mean(effect.square() / error)
        self._watched = [max(own, key=lambda i: known[i]) for own in self._inputs]
        here = fit.slopes(self._base, self._watched)
        self._along = [[here, *(self._slopes(own) for _ in range(max(CHANNELS_TRIED)))] for own in self._inputs]

    def raises(self, starts: np.ndarray) -> np.ndarray:
        volumes = [self._volumes(contexts[: starts.shape[1]]) for contexts in self._along]
        return np.stack(volumes, axis=1) > self._threshold

    def verified(self, members: np.ndarray, rank: int) -> Bundle | None:
        inside = np.flatnonzero(members)
        outside = [i for child in np.flatnonzero(~members) for i in self._inputs[child]]
        contexts = [_of_columns(self._slopes(outside), inside) for _ in range(rank + 1)]
        beyond, last = (float(self._volumes(contexts[:n]).max()) for n in (rank + 1, rank))
        if beyond > self._threshold or last < SURELY_SPANNED * self._threshold:
            return None
        return Bundle(tuple(self.children[c] for c in inside), rank, beyond, self._threshold, last)

    def _rows(self) -> Tensor:
        return some_rows(self._fit, self._rng, POINTS)

    def _slopes(self, swapped: Sequence[int]) -> Asked:
        """Slopes by the watched inputs where others are swapped for those of other rows."""
        points = self._base.clone()
        points[:, swapped] = self._rows()[:, swapped]
        return self._fit.slopes(points, self._watched)

    def _volumes(self, contexts: Sequence[Asked]) -> np.ndarray:
        """Over all points, of the slopes by every set of as many columns as there are contexts: (sets,)."""
        volume, error = measured(_minors(contexts), self._inflation)
        return root_mean((volume.square() / error).T)


def _of_columns(asked: Asked, columns: np.ndarray) -> Asked:
    mean, draws = (values[:, columns] for values in asked)
    return mean, draws


def _minors(contexts: Sequence[Asked]) -> Asked:
    """Determinants of every set of as many columns as there are contexts: (sets, points), draws along a last dimension.

    Each is expanded along the last context, so that larger sets are made of what smaller ones gave.
    """
    slopes = [torch.cat([mean[..., None], draws], dim=-1).transpose(0, 1) for mean, draws in contexts]
    n_columns, found = len(slopes[0]), slopes[0]
    for size, own in enumerate(slopes[1:], start=2):
        place = {columns: i for i, columns in enumerate(combinations(range(n_columns), size - 1))}
        sets = list(combinations(range(n_columns), size))
        terms = (
            (-1) ** (size - 1 + j) * own[[s[j] for s in sets]] * found[[place[s[:j] + s[j + 1 :]] for s in sets]]
            for j in range(size)
        )
        found = reduce(torch.add, terms)
    return found[..., 0], found[..., 1:]

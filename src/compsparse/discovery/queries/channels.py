"""Modules of several channels by queries: singular values of gradients, in units of their errors."""

from __future__ import annotations

import numpy as np

from compsparse.discovery.queries.limits import BUNDLE_BASES, BUNDLE_VALUES, CHILDREN_OF_BUNDLES, CLEARLY_SPANNED
from compsparse.discovery.queries.search import QuerySearch
from compsparse.discovery.queries.sheets import random_points
from compsparse.discovery.structure.bundles import Bundle, PrimeNode, prime_nodes
from compsparse.graph.modules import ModuleTree


def find_bundles(search: QuerySearch, output: int) -> list[Bundle]:
    """Bundles in all prime nodes of an output's tree that have enough children to save wires."""
    nodes = prime_nodes(search.decisions[output].tree, CHILDREN_OF_BUNDLES)
    return [bundle for node in nodes for bundle in _QueriedNode(search, output, node).bundles()]


class _QueriedNode(PrimeNode):
    """Each child is watched through the member whose derivative is known best."""

    def __init__(self, search: QuerySearch, output: int, node: ModuleTree):
        self._search, self._output = search, output
        self.children = node.children
        position = {name: i for i, name in enumerate(search.names)}
        self.inputs = [np.array(sorted(position[m] for m in c.members)) for c in node.children]
        error = search.relative_errors(output)
        self.watched = np.array([min(members, key=lambda i: error[i]) for members in self.inputs])
        # halfway between the least score that can mean something and the one that surely does
        self.threshold = float(np.sqrt(search.limits.low * search.decisions[output].threshold))
        self._slopes = self._slopes_along_children()

    def _slopes_along_children(self) -> np.ndarray:
        """Gradients in units of their error, ``(bases, children, values, children)``: each child takes some values."""
        blocks = []
        for _ in range(BUNDLE_BASES):
            base = self._base()
            points = np.repeat(base[None], self.n * BUNDLE_VALUES, axis=0).reshape(self.n, BUNDLE_VALUES, -1)
            for child, members in enumerate(self.inputs):
                points[child][:, members] = self._random(BUNDLE_VALUES)[:, members]
            blocks.append(self._whitened(points.reshape(self.n * BUNDLE_VALUES, -1), np.arange(self.n)))
        return np.stack(blocks).reshape(BUNDLE_BASES, self.n, BUNDLE_VALUES, self.n)

    def raises(self, starts: np.ndarray) -> np.ndarray:
        columns = self._slopes[..., starts].transpose(0, 1, 3, 2, 4)
        smallest = np.linalg.svd(columns, compute_uv=False)[..., -1].max(axis=0)
        raised: np.ndarray = np.greater(smallest.T, self.threshold)
        return raised

    def verified(self, members: np.ndarray, rank: int) -> Bundle | None:
        kept = np.concatenate([self.inputs[c] for c in np.flatnonzero(members)])
        last, beyond = [], []
        for _ in range(BUNDLE_BASES):
            points = self._random(3 * rank + 4)
            points[:, kept] = self._base()[kept]
            values = np.linalg.svd(self._whitened(points, np.flatnonzero(members)), compute_uv=False)
            last.append(values[rank - 1])
            beyond.append(values[rank])
        if max(beyond) > self.threshold or max(last) < CLEARLY_SPANNED * self.threshold:
            return None
        children = tuple(c for c, chosen in zip(self.children, members, strict=True) if chosen)
        return Bundle(children, rank, float(max(beyond)), self.threshold, float(max(last)))

    def _whitened(self, points: np.ndarray, children: np.ndarray) -> np.ndarray:
        watched = self.watched[children]
        slopes = self._search.slopes(points, np.sort(watched))
        whitened = slopes.gradients[0, :, self._output, watched] / slopes.errors[:, self._output, watched].T
        usable = np.isfinite(whitened).all(axis=0)
        return np.where(usable, whitened, 0.0).T

    def _base(self) -> np.ndarray:
        everything = np.concatenate(self.inputs)
        return self._search.lively_base(everything, self.watched)

    def _random(self, n: int) -> np.ndarray:
        return random_points(n, self._search.slopes.margin, self._search.rng)

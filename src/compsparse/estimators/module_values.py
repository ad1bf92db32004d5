"""Values of the modules of a discovered graph as columns, for any other estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from compsparse.estimators.base import whole_or_not_at_all
from compsparse.estimators.compositional import _CompositionalEstimator
from compsparse.models.constituents import Constituents
from compsparse.models.fitted_graph import FittedGraph
from compsparse.networks.nodes import node_values
from compsparse.tables.inputs import NumberColumn, readable


class ModuleValues(TransformerMixin, _CompositionalEstimator):
    """Turns a table into the numbers that its modules pass on: few columns that say what the many say together.

    Fitting discovers the graph of a numeric target. Every inner node that passes on one number becomes a column, with
    mean 0 and spread 1 over the rows of the fit, rising with the target; numbers that the output reads directly are
    passed on as they are. Arguments are those of :class:`CompositionalRegressor`.

    Attributes:
        discovery_: the :class:`~compsparse.discovery.Discovery`.

    >>> from compsparse.tasks import tanh_tree
    >>> sample = tanh_tree(4).sample(300, random_state=0)
    >>> values = ModuleValues(n_restarts=4, n_steps=300, random_state=0).fit(sample.X, sample.y)
    >>> list(values.get_feature_names_out()), values.transform(sample.X).shape
    (['m0(x0, x1)', 'm1(x2, x3)'], (300, 2))
    """

    @whole_or_not_at_all
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ModuleValues:
        """Finds the graph of the rows and fits the networks to them."""
        self._discover(X, y, sample_weight, classification=False)
        table = self._table(X, reset=False)
        nodes = Constituents(self.model_, table)
        inner = [n.name for n in nodes.graph.nodes if n.name not in nodes.graph.outputs and n.channels == 1]
        self.scales_ = {name: _scale(nodes, name) for name in inner}
        return self

    def transform(self, X: Any) -> np.ndarray:
        """(rows, columns) values of the modules, then inputs that the output reads directly."""
        check_is_fitted(self, "discovery_")
        table = self._rows_to_predict(X)
        model = self.model_
        codes = torch.as_tensor(model.code.encoded(table, model.graph.unread))
        carried = node_values(model.network, codes)
        columns = [(carried[name][0].numpy() - centre) / spread for name, (centre, spread) in self.scales_.items()]
        for column in _read_directly(model):
            columns.append(carried[column.name][0].numpy() * column.scale + column.mean)
        if not columns:
            return np.zeros((table.n_rows, 0))
        return np.stack(columns, axis=1)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names such as ``m0(x0, x1)``."""
        check_is_fitted(self, "discovery_")
        graph = self.graph_
        names = []
        for name in self.scales_:
            below = graph.ancestors(name)
            names.append(f"{name}({', '.join(i for i in graph.inputs if i in below)})")
        return np.array([*names, *(c.name for c in _read_directly(self.model_))], dtype=object)


def _scale(nodes: Constituents, name: str) -> tuple[float, float]:
    """What is taken away and divided by, so that the value is standardised and rises with the output."""
    own = nodes.values[name][0]
    centre, spread = float(own.mean()), float(own.std()) or 1.0
    rises = float(nodes.readable(name, 0, np.array([centre + spread]))[0]) > 0
    return centre, spread if rises else -spread


def _read_directly(model: FittedGraph) -> list[NumberColumn]:
    """Numbers without missing cells that an output reads."""
    graph = model.graph
    read = {parent for output in graph.outputs if output in graph and output not in graph.inputs
            for parent in graph[output].parents}  # fmt: skip
    known = [readable(c) for c in model.code.inputs if c.name in read and c.width == 1]
    return [c for c in known if isinstance(c, NumberColumn)]

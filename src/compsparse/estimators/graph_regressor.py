"""Regression with a network that mirrors a given function graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from sklearn.base import RegressorMixin
from sklearn.preprocessing import StandardScaler

from compsparse.errors import DataError
from compsparse.estimators.base import GraphEstimator


class GraphRegressor(RegressorMixin, GraphEstimator):
    """Fits networks that mirror a known function graph, and averages the best few.

    Many restarts train at once, the worse ones leave, and the best are finished by a second-order
    method; see :mod:`compsparse.training.recipes`.

    Parameters:
        graph: a :class:`~compsparse.graph.FunctionGraph`, an expression, or nested groups of
            columns. Inputs are matched to the columns of a data frame by name. None means one
            node over all columns: an ordinary dense network.
        width, depth, activation: shape of each node's network.
        channels: numbers that each inner wire carries.
        share: ``none``, ``level`` or ``all``: which nodes share weights.
        n_restarts: networks that start; n_keep: most networks that are averaged in the end.
        n_steps, batch_size, learning_rate, weight_decay: settings of the training loop.
        refine_iterations: most Levenberg-Marquardt steps at the end; 0 leaves them out.
        layerwise: learn the lower levels of the graph first.
        validation_fraction: share of the rows that choose among restarts; tables of fewer than
            20 rows train on all.
        time_limit: seconds after which the best network so far is taken, with a warning.
        device: where to train, for instance ``cuda``; prediction runs on the CPU.
        random_state: an integer gives the same numbers twice.
        verbose: show progress.

    Attributes:
        graph_: the graph that was mirrored.
        network_: the fitted network; its replicas are the members of the ensemble.
        validation_loss_: squared error of the standardised target on the validation rows.

    >>> from compsparse.tasks import tanh_tree
    >>> sample = tanh_tree(4).sample(300, random_state=0)
    >>> model = GraphRegressor([[0, 1], [2, 3]], n_restarts=4, n_steps=200, random_state=0)
    >>> bool(model.fit(sample.X, sample.y).score(sample.X, sample.y) > 0.99)
    True
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> GraphRegressor:
        X, y, weight = self._checked(X, y, sample_weight, multi_output=True, y_numeric=True)
        y = np.asarray(y, dtype=np.float64)
        self.flat_target_ = y.ndim == 1
        columns = y[:, None] if self.flat_target_ else y
        constant = np.flatnonzero(np.ptp(columns, axis=0) == 0)
        if len(constant):
            which = "" if self.flat_target_ else f" (column {constant[0]})"
            raise DataError(f"the target{which} is constant: there is nothing to learn")
        out_channels = self._out_channels(columns.shape[1])
        self.y_scaler_ = StandardScaler().fit(columns, sample_weight=weight)
        target = torch.as_tensor(self.y_scaler_.transform(columns), dtype=torch.float32)
        self._fit_network(X, target, weight, None, out_channels)
        return self

    def _out_channels(self, k: int) -> int:
        n_outputs = len(self.graph_.outputs)
        if n_outputs == k:
            return 1
        if n_outputs == 1:
            return k
        raise DataError(f"the graph has {n_outputs} outputs but the target has {k} columns")

    def predict(self, X: Any) -> np.ndarray:
        """Predicted values, shaped like the target of ``fit``."""
        outputs = self._outputs(X)
        values = self.y_scaler_.inverse_transform(outputs)
        return values[:, 0] if self.flat_target_ else values

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

"""Regression with a network that mirrors a given function graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from compsparse.estimators.base import GraphEstimator, PredictsNumbers, whole_or_not_at_all


class GraphRegressor(PredictsNumbers, GraphEstimator):
    """Fits networks that mirror a known function graph, and averages the best few.

    Many restarts train at once, the worse ones leave, and the best are finished by a second-order
    method; see :mod:`compsparse.training.recipes`.

    Parameters:
        graph: a :class:`~compsparse.graph.FunctionGraph`, an expression, or nested groups of
            columns. Inputs are matched to the columns of a data frame by name. None means one
            node over all columns: an ordinary dense network. Columns of texts are categories.
        width, depth, activation: shape of each node's network.
        channels: numbers that each inner wire carries.
        share: ``none``, ``level`` or ``all``: which nodes share weights.
        n_restarts: networks that start; n_keep: most networks that are averaged in the end.
        n_steps, batch_size, learning_rate, weight_decay: settings of the training loop; without ``n_steps`` it
            takes 4000, or 20 for every row where that is less.
        refine_iterations: most Levenberg-Marquardt steps at the end; 0 leaves them out.
        layerwise: learn the lower levels of the graph first.
        penalties: strengths by name, such as ``{"l1": 1e-3}`` (:data:`compsparse.training.PENALTIES`), or penalties;
            with any, the Levenberg-Marquardt steps are left out.
        validation_fraction: share of the rows that choose among restarts, 5,000 at most; tables of fewer
            than 20 rows train on all.
        time_limit: seconds after which the best network so far is taken, with a warning.
        device: where to train, for instance ``cuda``; prediction runs on the CPU.
        random_state: an integer gives the same numbers twice.
        verbose: show progress.

    Attributes:
        model_: the :class:`~compsparse.models.FittedGraph`, which can be saved.
        graph_: the graph that was mirrored.
        network_: the fitted network; its replicas are the members of the ensemble.
        n_iter_, fit_seconds_: training steps and seconds.
        validation_loss_: squared error of the standardised target on the validation rows.

    >>> from compsparse.tasks import tanh_tree
    >>> sample = tanh_tree(4).sample(300, random_state=0)
    >>> model = GraphRegressor([[0, 1], [2, 3]], n_restarts=4, n_steps=200, random_state=0)
    >>> bool(model.fit(sample.X, sample.y).score(sample.X, sample.y) > 0.99)
    True
    """

    @whole_or_not_at_all
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> GraphRegressor:
        """Fits the networks to rows of numbers."""
        self._fit(X, y, sample_weight, classification=False)
        self.flat_target_ = np.asarray(y).ndim == 1
        return self

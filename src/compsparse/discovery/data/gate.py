"""The last gate: a finished tree against a free fit by the same recipe, on rows that only the gate looks at.

A false module may well predict better than a short free fit, because it cuts variance. A tree that loses to a
strong one is wrong somewhere: it is relaxed until it does not, and what still costs something is marked.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from compsparse.discovery.data.settings import (
    GATE_RESTARTS,
    GATE_STEPS,
    GATE_WIDTH,
    LOSES,
    MOST_RELAXATIONS,
    REGRET,
    TRIAL_BATCH,
)
from compsparse.discovery.data.trees import replaced, with_children
from compsparse.discovery.data.trials import Halted, t_statistic
from compsparse.discovery.forest import Members
from compsparse.discovery.record import DiscoveryStatus
from compsparse.graph import FunctionGraph
from compsparse.graph.modules import ModuleTree
from compsparse.training.loop import TrainingConfig
from compsparse.training.recipes import FitConfig, fit_graph
from compsparse.training.record import TrainingStatus

_RECIPE = FitConfig(
    n_restarts=GATE_RESTARTS,
    n_keep=GATE_RESTARTS // 2,
    training=TrainingConfig(n_steps=GATE_STEPS, batch_size=TRIAL_BATCH),
    refine_iterations=0,
)
_log = logging.getLogger("compsparse.discovery")


@dataclass(frozen=True)
class GateRows:
    """The rows of the gate, and how a graph is fitted to the others.

    Attributes:
        outer: rows that chose nothing.
        over_columns: a graph of inputs as a graph of the table's columns.
    """

    X: Tensor
    y: Tensor
    weight: Tensor | None
    outer: np.ndarray
    over_columns: Callable[[FunctionGraph], FunctionGraph]
    seed: int
    deadline: float | None

    def errors(self, graph: FunctionGraph, width: int) -> np.ndarray:
        """Squared errors on the outer rows, as a share of what their mean leaves.

        Raises:
            Halted: the time is up, or Ctrl-C was pressed.
        """
        left = None if self.deadline is None else max(self.deadline - time.perf_counter(), 1e-3)
        fit = fit_graph(
            self.over_columns(graph),
            self.X,
            self.y,
            _RECIPE,
            validation=self.outer,
            sample_weight=self.weight,
            width=width,
            out_channels=self.y.shape[1],
            random_state=self.seed,
            time_limit=left,
        )
        if fit.status is TrainingStatus.INTERRUPTED:
            raise Halted(DiscoveryStatus.INTERRUPTED)
        if fit.status is TrainingStatus.OUT_OF_TIME:
            raise Halted(DiscoveryStatus.OUT_OF_TIME)
        rows = torch.as_tensor(self.outer, device=self.X.device)
        with torch.no_grad():
            predicted = fit.network(self.X[rows].expand(fit.network.n_replicas, -1, -1)).mean(0)
        true = self.y[rows]
        errors = (predicted - true).square().sum(1) / (true - true.mean(0)).square().sum(1).mean()
        return np.asarray(errors.double().cpu())


@dataclass(frozen=True)
class Gated:
    """A tree that passed.

    Attributes:
        cost: share of the variance of the outer rows that the tree explains less than the free fit; negative
            where it explains more.
        is_approximate: whether that cost is more than chance.
        given_up: modules that had to go.
    """

    tree: ModuleTree
    cost: float
    is_approximate: bool
    given_up: tuple[Members, ...]


def gated(tree: ModuleTree, weakest_first: Sequence[Members], rows: GateRows) -> Gated:
    """The tree relaxed until it does not lose to the free fit: the weaker half of its modules goes, and again."""
    inputs = tuple(sorted(tree.members))
    plain = with_children([ModuleTree(frozenset([name])) for name in inputs])
    if not tree.modules:
        return Gated(tree, 0.0, False, ())
    free = rows.errors(plain.to_graph(inputs), GATE_WIDTH)
    given_up: list[Members] = []
    for attempt in range(MOST_RELAXATIONS + 1):
        difference = rows.errors(tree.to_graph(inputs), GATE_WIDTH // 2) - free
        cost, t = float(difference.mean()), float(t_statistic(difference, np.ones(len(difference))))
        _log.debug("gate: %d modules cost %.5f, t %.1f", len(tree.modules), cost, t)
        if not (cost > REGRET and t > LOSES):
            return Gated(tree, cost, t > LOSES and cost > 0, tuple(given_up))
        left = [m for m in weakest_first if m in tree.modules]
        n_gone = len(left) if attempt == MOST_RELAXATIONS - 1 else (len(left) + 1) // 2
        for members in left[:n_gone]:
            tree = _without(tree, members)
            given_up.append(members)
        if not tree.modules:
            break
    return Gated(tree, 0.0, False, tuple(given_up))


def _without(tree: ModuleTree, members: Members) -> ModuleTree:
    """The tree with one module dissolved; its parent's kind is not known any more."""
    module = next(m for m in tree.inner if m.members == members)
    (without,) = replaced(tree, module, module.children)
    return without

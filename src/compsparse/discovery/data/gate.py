"""The last gate: a finished tree against a free fit by the same recipe, on rows that only the gate looks at.

A false module may well predict better than a short free fit, because it cuts variance. A tree that loses to a
strong one is wrong somewhere: it is relaxed until it does not, and what still costs something is marked.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from compsparse.clock import Deadline
from compsparse.discovery.data import limits
from compsparse.discovery.data.limits import GATE_RESTARTS, GATE_STEPS, GATE_WIDTH, TRIAL_BATCH, USUAL_EFFORT
from compsparse.discovery.data.tree_surgery import replaced, with_children
from compsparse.discovery.data.trials import check_ended
from compsparse.discovery.structure.forest import Members
from compsparse.discovery.structure.statistics import MAY_BE_CHANCE, t_statistic
from compsparse.graph import FunctionGraph
from compsparse.graph.modules import ModuleTree
from compsparse.training.config import TrainingConfig
from compsparse.training.recipes import FitConfig, fit_graph

_RECIPE = FitConfig(
    n_restarts=GATE_RESTARTS,
    n_keep=GATE_RESTARTS // 2,
    training=TrainingConfig(n_steps=GATE_STEPS, batch_size=TRIAL_BATCH),
    refine_iterations=0,
)
_log = logging.getLogger("compsparse.discovery")


@dataclass(frozen=True)
class GateFit:
    """How a fitted graph does on the outer rows, as shares of what their mean leaves.

    Attributes:
        errors: squared errors of the mean prediction, one a row.
        scatter: variance of single networks around it. Noise of the target is no part of it: where it is small
            beside the errors, these are noise; where it is not, more rows or steps would lower them.
    """

    errors: np.ndarray
    scatter: float


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
    deadline: Deadline
    effort: float = USUAL_EFFORT

    def fit(self, graph: FunctionGraph, width: int) -> GateFit:
        """Trains a graph by the recipe of the gate.

        Raises:
            TimeIsOver, KeyboardInterrupt: the time is up, or Ctrl-C was pressed.
        """
        batches = math.ceil((len(self.X) - len(self.outer)) / TRIAL_BATCH)
        most = min(_RECIPE.training.n_steps, limits.MOST_GATE_EPOCHS * batches)
        n_steps = max(limits.FEWEST_STEPS, round(self.effort * most))
        fit = fit_graph(
            self.over_columns(graph),
            self.X,
            self.y,
            replace(_RECIPE, training=replace(_RECIPE.training, n_steps=n_steps)),
            validation=self.outer,
            sample_weight=self.weight,
            width=width,
            out_channels=self.y.shape[1],
            random_state=self.seed,
            time_limit=self.deadline.time_limit,
        )
        check_ended(fit.status)
        rows = torch.as_tensor(self.outer, device=self.X.device)
        with torch.no_grad():
            each = fit.network(self.X[rows].expand(fit.network.n_replicas, -1, -1))
        true = self.y[rows]
        scale = (true - true.mean(0)).square().sum(1).mean()
        errors = (each.mean(0) - true).square().sum(1) / scale
        scatter = each.var(0, correction=1 if len(each) > 1 else 0).sum(1).mean() / scale
        return GateFit(np.asarray(errors.double().cpu()), float(scatter))


@dataclass(frozen=True)
class Gated:
    """A tree that passed.

    Attributes:
        cost: share of the variance of the outer rows that the tree explains less than the free fit; negative
            where it explains more.
        loses: whether that cost is more than chance.
        given_up: modules that had to go.
        unexplained: share of the variance of the outer rows that the tree leaves.
        scatter: the part of it by which single networks differ from each other.
        lacks: whether inputs that were left out explain more than chance when every node may read them.
    """

    tree: ModuleTree
    cost: float
    loses: bool
    given_up: tuple[Members, ...]
    unexplained: float = 0.0
    scatter: float = 0.0
    lacks: bool = False

    @property
    def is_unresolved(self) -> bool:
        """Whether much is left unexplained that is no noise, so that inputs may act beside a module unseen."""
        return self.unexplained > limits.UNRESOLVED and self.scatter > limits.SCATTERED * self.unexplained


def pass_gate(
    tree: ModuleTree, weakest_first: Sequence[Members], rows: GateRows, left_out: Sequence[str] = ()
) -> Gated:
    """The tree relaxed until it does not lose to the free fit: the weaker half of its modules goes, and again.

    Args:
        left_out: inputs that seem inert, and are offered once more.
    """
    inputs = tuple(sorted(tree.members))
    plain = with_children([ModuleTree(frozenset([name])) for name in inputs])
    if not tree.modules:
        return Gated(tree, 0.0, False, (), lacks=_lacks(tree, left_out, rows))
    free = rows.fit(plain.to_graph(inputs), GATE_WIDTH)
    given_up: list[Members] = []
    for attempt in range(limits.MOST_RELAXATIONS + 1):
        fit = rows.fit(tree.to_graph(inputs), GATE_WIDTH // 2)
        difference, left = fit.errors - free.errors, float(fit.errors.mean())
        cost, t = float(difference.mean()), float(t_statistic(difference, np.ones(len(difference))))
        _log.debug("gate: %d modules cost %.5f, t %.1f", len(tree.modules), cost, t)
        _log.debug("gate: left %.5f, scatter %.5f (free %.5f)", left, fit.scatter, free.scatter)
        if not (cost > limits.REGRET and t > MAY_BE_CHANCE):
            lacks = _lacks(tree, left_out, rows, fit)
            return Gated(tree, cost, t > MAY_BE_CHANCE and cost > 0, tuple(given_up), left, fit.scatter, lacks)
        modules = [m for m in weakest_first if m in tree.modules]
        n_gone = len(modules) if attempt == limits.MOST_RELAXATIONS - 1 else (len(modules) + 1) // 2
        for members in modules[:n_gone]:
            tree = _without(tree, members)
            given_up.append(members)
        if not tree.modules:
            break
    return Gated(tree, 0.0, False, tuple(given_up), lacks=_lacks(tree, left_out, rows))


def _lacks(tree: ModuleTree, left_out: Sequence[str], rows: GateRows, without: GateFit | None = None) -> bool:
    """Whether the tree predicts better when every node of it reads the inputs that were left out."""
    if not left_out:
        return False
    extra = tuple(ModuleTree(frozenset([name])) for name in left_out)

    def widened(node: ModuleTree) -> ModuleTree:
        return with_children([*map(widened, node.children), *extra]) if node.children else node

    without, with_them = (
        fit or rows.fit(t.to_graph(tuple(sorted(t.members))), GATE_WIDTH // 2)
        for t, fit in ((tree, without), (widened(tree), None))
    )
    t = float(t_statistic(with_them.errors - without.errors, np.ones(len(without.errors))))
    _log.debug("gate: with %s everywhere %.5f, t %.1f", list(left_out), float(with_them.errors.mean()), t)
    return t < limits.READMITTED


def _without(tree: ModuleTree, members: Members) -> ModuleTree:
    """The tree with one module dissolved; its parent's kind is not known any more."""
    module = next(m for m in tree.inner if m.members == members)
    (without,) = replaced(tree, module, module.children)
    return without

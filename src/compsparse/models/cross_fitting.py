"""Networks fitted to parts of the rows in turn: members that predict together, and honest predictions of every row."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from compsparse.graph import FunctionGraph
from compsparse.models.fitted_graph import FittedGraph, over_columns
from compsparse.networks.mirroring import MirrorConfig, MirrorNetwork
from compsparse.networks.replicas import replica_seeds, select
from compsparse.progress import Progress, begin_stage
from compsparse.tables.coded import CodedTable
from compsparse.tables.inputs import NumberColumn, between_knots, changed_numbers, readable
from compsparse.tables.scaling import scale_of
from compsparse.tables.targets import Target
from compsparse.training.config import TrainingConfig
from compsparse.training.data import TrainingData
from compsparse.training.loop import train
from compsparse.training.losses import CrossEntropy, Loss, SquaredLoss
from compsparse.training.record import Training

N_FOLDS = 8
_FEWEST_TO_CUT = 3
"""Different numbers from which a column is cut into pieces."""
_MOST_PIECES = 320
"""Pieces of all columns together: of many columns each has fewer."""


@dataclass(frozen=True)
class Recipe:
    """How the members of every fold are fitted.

    Attributes:
        pieces: into how many of equally many rows each numeric column is cut; 0 leaves numbers as they are.
        restarts, kept: networks that start for every fold, and those of them that predict. Where fewer are kept than
            start, one more fold is spared: its rows choose among them, and among the steps of each.
    """

    name: str
    training: TrainingConfig
    pieces: int = 0
    width: int = 24
    depth: int = 2
    restarts: int = 2
    kept: int = 2

    def with_steps(self, n_steps: int) -> Recipe:
        """The same with other steps."""
        return replace(self, training=replace(self.training, n_steps=n_steps))

    @property
    def chooses(self) -> bool:
        """Whether rows are spared to choose by."""
        return self.kept < self.restarts


@dataclass(frozen=True)
class CrossFit:
    """Members of all folds as one model, and what each row is said to be by members that have not seen it.

    Attributes:
        out_of_fold: (rows, outputs) standardised numbers, or logits.
    """

    model: FittedGraph
    out_of_fold: np.ndarray


def fold_numbers(target: Target, seed: int, n_folds: int = N_FOLDS) -> np.ndarray:
    """The fold of every row; of every class each fold has as many rows as any other."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(target.values))
    if target.classes is not None:
        order = order[np.argsort(target.values[order], kind="stable")]
    fold = np.empty(len(order), dtype=int)
    fold[order] = np.arange(len(order)) % n_folds
    return fold


def standardised(table: CodedTable) -> tuple[Tensor, tuple[float, ...], tuple[float, ...]]:
    """The target as a network learns it, with what was taken away and divided by."""
    values, weight = table.target.values, table.sample_weight
    if table.target.classes is not None:
        n = len(table.target.classes)
        return torch.as_tensor(values, dtype=torch.long), (0.0,) * n, (1.0,) * n
    scales = [scale_of(column, weight) for column in values.T]
    columns = [scale.standardised(column) for scale, column in zip(scales, values.T, strict=True)]
    target = torch.as_tensor(np.stack(columns, axis=1), dtype=torch.float32)
    return target, tuple(s.centre for s in scales), tuple(s.spread for s in scales)


def training_data_of(table: CodedTable, device: torch.device | None) -> TrainingData:
    """A table as networks learn from it."""
    weight = None
    if table.sample_weight is not None:
        weight = torch.as_tensor(table.sample_weight / table.sample_weight.mean(), dtype=torch.float32, device=device)
    X = torch.as_tensor(table.X, dtype=torch.float32, device=device)
    return TrainingData(X, standardised(table)[0].to(device), weight)


def cross_fit(
    graph: FunctionGraph,
    table: CodedTable,
    fold: np.ndarray,
    recipe: Recipe,
    *,
    out_channels: int,
    seed: int,
    device: torch.device | None,
    progress: Progress,
    time_limit: float | None = None,
) -> CrossFit:
    """Fits the members of every fold to the other folds, all of them in one program."""
    table = in_pieces(table, recipe.pieces, graph.unread) if recipe.pieces else table
    data = training_data_of(table, device)
    shape = MirrorConfig(recipe.width, recipe.depth, out_channels=out_channels)
    owner = np.repeat(np.unique(fold), recipe.restarts)
    seeds = replica_seeds(seed, len(owner))
    network = MirrorNetwork(over_columns(graph, table.code), shape, len(owner), seeds).to(device)
    train_rows, judging = _parts(fold, owner, recipe)
    data = replace(data, train=train_rows, validation=judging)
    loss: Loss = SquaredLoss() if table.target.classes is None else CrossEntropy()
    begin_stage(progress, f"fitting {len(owner)} networks, each to a part of the rows")
    training = train(network, data, recipe.training, loss=loss, seeds=seeds, progress=progress, time_limit=time_limit)
    chosen = _best_of_each(training, owner, recipe.kept)
    members = select(network, chosen)
    _, centre, scale = standardised(table)
    model = FittedGraph(
        graph=graph,
        code=table.code,
        network=members.double().cpu(),
        targets=table.target.outputs,
        centre=centre,
        scale=scale,
        classes=table.target.classes,
        status=training.status,
        seconds=training.seconds,
        n_iter=training.n_steps,
    )
    return CrossFit(model, _out_of_fold(model.network, table.X, fold, owner[chosen]))


def _parts(fold: np.ndarray, owner: np.ndarray, recipe: Recipe) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...] | None]:
    """The rows that every replica learns from, and those that choose where some are spared for that."""
    judges = (owner + 1) % (int(fold.max()) + 1)
    learned = [(fold != k) & ~(recipe.chooses & (fold == j)) for k, j in zip(owner, judges, strict=True)]
    return _numbers(learned), _numbers([fold == j for j in judges]) if recipe.chooses else None


def _numbers(masks: list[np.ndarray]) -> tuple[Tensor, ...]:
    return tuple(torch.as_tensor(np.flatnonzero(mask)) for mask in masks)


def _best_of_each(training: Training, owner: np.ndarray, kept: int) -> list[int]:
    """The best replicas of every fold, fold after fold."""
    rank = np.argsort(training.ranking)
    each = [sorted(np.flatnonzero(owner == k), key=lambda r: rank[r])[:kept] for k in np.unique(owner)]
    return [int(r) for best in each for r in best]


@torch.no_grad()
def _out_of_fold(network: MirrorNetwork, X: np.ndarray, fold: np.ndarray, owner: np.ndarray) -> np.ndarray:
    found = np.empty((len(X), network.n_outputs))
    for k in np.unique(fold):
        members = select(network, np.flatnonzero(owner == k).tolist())
        found[fold == k] = members(torch.as_tensor(X[fold == k])).mean(0).numpy()
    return found


# ---- columns in pieces -----------------------------------------------------------------------------


def in_pieces(table: CodedTable, n_pieces: int, unused: Collection[str] = ()) -> CodedTable:
    """The table with numeric columns cut at their quantiles, so that a node is a sum of steps in each of them.

    Args:
        unused: inputs that stay as they are, because nobody reads them.
    """
    inputs, parts, place = [], [], 0
    cut = [isinstance(readable(column), NumberColumn) and column.name not in unused for column in table.code.inputs]
    n_pieces = max(2, min(n_pieces, _MOST_PIECES // max(sum(cut), 1)))
    for column, is_cut in zip(table.code.inputs, cut, strict=True):
        own = table.X[:, place : place + column.width]
        place += column.width
        knots = _quantiles(own[:, 0], n_pieces) if is_cut else ()
        inputs.append(changed_numbers(column, partial(replace, knots=knots)) if is_cut else column)
        parts.append(np.column_stack([own, *between_knots(own[:, 0], knots)]) if is_cut else own)
    return replace(table, code=replace(table.code, inputs=tuple(inputs)), X=np.concatenate(parts, axis=1))


def _quantiles(values: np.ndarray, n_pieces: int) -> tuple[float, ...]:
    if len(np.unique(values)) < _FEWEST_TO_CUT:
        return ()
    return tuple(np.unique(np.quantile(values, np.linspace(0, 1, n_pieces + 1))).tolist())

"""The rows of a table as a search needs them: as tensors, in parts, with standardised targets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from compsparse.clock import Deadline, TimeIsOver
from compsparse.discovery.data import limits
from compsparse.discovery.data.gate import GateRows
from compsparse.discovery.data.left_out import LeftOut, examine_left_out, explained_by_boosting
from compsparse.discovery.data.request import TableRequest
from compsparse.discovery.data.smooth.limits import (
    FEWEST_LEVELS,
    MOST_COLUMNS,
    RESAMPLED_SHARE,
)
from compsparse.discovery.data.trials import TrialTable
from compsparse.discovery.data.units import Units
from compsparse.graph.modules import ModuleTree
from compsparse.models.fitted_graph import over_columns
from compsparse.tables.inputs import NumberColumn
from compsparse.tables.scaling import Scale
from compsparse.tables.splitting import spared_rows


class SearchRows:
    """The table of a request as the search needs it: as tensors, in parts, with standardised targets.

    Attributes:
        outer: rows that choose no structure: those by which the final fit chooses among its restarts.
    """

    def __init__(self, request: TableRequest):
        table = request.table
        self.request, self.n = request, len(table.X)
        self.X = torch.as_tensor(table.X, dtype=torch.float32, device=request.device)
        self.weight: Tensor | None = None
        if table.sample_weight is not None:
            weight = table.sample_weight / table.sample_weight.mean()
            self.weight = torch.as_tensor(weight, dtype=torch.float32, device=request.device)
        self._outer = spared_rows(self.n, limits.OUTER_SHARE, request.seed)

    @property
    def outer(self) -> np.ndarray:
        assert self._outer is not None
        return self._outer

    def units(self, without: Sequence[str] = ()) -> Units:
        """Every input that is searched as a unit by itself, but for some."""
        columns = self.request.table.code.columns
        gone = self.request.left_out.union(without)
        searched = Units.raw({name: own for name, own in columns.items() if name not in gone})
        return Units(columns, (), {}).with_trees(searched.trees)

    def smooth_columns(self, i: int) -> tuple[np.ndarray, np.ndarray, tuple[str, ...], list[Scale]] | None:
        """Inputs, target i, names and scales for a smooth fit; None where inputs or target are not smooth."""
        request = self.request
        target, code = request.table.target, request.table.code
        columns = {name: own for name, own in code.columns.items() if name not in request.left_out}
        if target.classes is not None or len(columns) > MOST_COLUMNS or any(len(own) > 1 for own in columns.values()):
            return None
        place = {c: k for k, c in enumerate(c for own in code.columns.values() for c in own)}
        X = request.table.X[:, [place[own[0]] for own in columns.values()]]
        y = target.values[:, i]
        is_smooth = all(len(np.unique(column)) >= FEWEST_LEVELS for column in (*X.T, y))
        numbers = {c.name: c for c in code.inputs if isinstance(c, NumberColumn)}
        if not is_smooth or not numbers.keys() >= columns.keys():
            return None
        return X, y, tuple(columns), [Scale(numbers[name].mean, numbers[name].scale) for name in columns]

    def trials(self, outputs: Sequence[int], deadline: Deadline, part: int | None = None) -> TrialTable:
        """Trials of some outputs; all tables share their folds, so that what one learned stays honest in another.

        Args:
            part: number of a random part of the rows; None takes all.
        """
        request, rows = self.request, np.arange(self.n)
        if self.n >= limits.ROWS_TO_SPARE:
            rows = np.setdiff1d(rows, self.outer)
        if len(rows) > limits.MOST_ROWS_OF_TRIALS:
            some = np.random.default_rng(request.seed).permutation(len(rows))[: limits.MOST_ROWS_OF_TRIALS]
            rows = rows[np.sort(some)]
        if part is not None:
            rows = np.random.default_rng([request.seed, part]).permutation(rows)[: round(RESAMPLED_SHARE * len(rows))]
        index = torch.as_tensor(rows, device=self.X.device)
        weight = None if self.weight is None else self.weight[index]
        y = self._targets(outputs)[index]
        return TrialTable(self.X[index], y, weight, seed=request.seed, effort=request.effort, deadline=deadline)

    def of_gate(self, outputs: Sequence[int], deadline: Deadline) -> GateRows:
        """All rows, for the gate."""
        request = self.request
        return GateRows(
            self.X,
            self._targets(outputs),
            self.weight,
            self.outer,
            lambda graph: over_columns(graph, request.table.code),
            request.seed,
            deadline,
            request.effort,
        )

    def examined(self, i: int, tree: ModuleTree, deadline: Deadline, predicts: bool) -> LeftOut:
        """What the rows say of inputs that a tree does without, or of all where it predicts nothing, if time allows."""
        request = self.request
        searched = {name: own for name, own in request.columns().items() if name not in request.left_out}
        y, seed = request.targets([i]), request.seed
        try:
            if not predicts:
                return LeftOut(explained=explained_by_boosting(searched, y, seed, deadline))
            return examine_left_out(searched, y, tree.members, seed, deadline)
        except TimeIsOver:
            return LeftOut()

    def _targets(self, outputs: Sequence[int]) -> Tensor:
        return torch.as_tensor(self.request.targets(outputs), dtype=torch.float32, device=self.X.device)

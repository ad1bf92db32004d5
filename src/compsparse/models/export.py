"""Fitted graphs for other programs, as ONNX."""

from __future__ import annotations

import os

import torch
from torch import Tensor, nn

from compsparse.errors import ConfigError
from compsparse.models.fitted_graph import FittedGraph
from compsparse.networks.export import write_onnx
from compsparse.tables.inputs import DateColumn, Input, LeftOutColumn, NumberColumn


class _WholeModel(nn.Module):
    """From columns in their own units to predictions in theirs.

    NaN is a missing cell; a column that was left out may hold anything.
    """

    mean: Tensor
    spread: Tensor
    low: Tensor
    high: Tensor
    centre: Tensor
    scale: Tensor

    def __init__(self, model: FittedGraph):
        super().__init__()
        columns = [column for column in model.code.inputs if isinstance(column, NumberColumn)]
        self.read = [i for i, column in enumerate(model.code.inputs) if isinstance(column, NumberColumn)]
        self.network, self.gives_classes = model.network, model.classes is not None
        self.marked = [i for i, column in enumerate(columns) if column.marks_missing]
        # where the encoded columns stand among the numbers and, behind them, their marks
        marks = {i: len(columns) + k for k, i in enumerate(self.marked)}
        self.order = [place for i in range(len(columns)) for place in (i, *([marks[i]] if i in marks else []))]
        for name, values in (
            ("mean", [column.mean for column in columns]),
            ("spread", [column.scale for column in columns]),
            ("low", [column.low for column in columns]),
            ("high", [column.high for column in columns]),
            ("centre", model.centre),
            ("scale", model.scale),
        ):
            self.register_buffer(name, torch.tensor(values, dtype=torch.float64))

    def forward(self, x: Tensor) -> Tensor:
        """From (rows, inputs) to (rows, targets), or to probabilities of the classes."""
        x = x[:, self.read]
        gone = torch.isnan(x)
        inside = torch.where(torch.isinf(x), torch.clamp(x, self.low, self.high), x)
        codes = torch.where(gone, torch.zeros_like(x), (inside - self.mean) / self.spread)
        if self.marked:
            codes = torch.cat([codes, 2.0 * gone[:, self.marked].to(x.dtype) - 1.0], 1)[:, self.order]
        outputs: Tensor = self.network(codes).mean(0) * self.scale + self.centre
        return torch.softmax(outputs, -1) if self.gives_classes else outputs


def model_to_onnx(model: FittedGraph, path: str | os.PathLike[str]) -> None:
    """Writes a model whose columns are all numbers as an ONNX file."""
    for column in model.code.inputs:
        if not isinstance(column, (NumberColumn, LeftOutColumn)):
            raise ConfigError(
                f"column {column.column!r} {_held(column)}, and an ONNX model takes numbers alone: "
                "code the column before the fit, leave it out, or save the model as JSON"
            )
    write_onnx(_WholeModel(model), len(model.code.inputs), path)


def _held(column: Input) -> str:
    return "holds dates" if isinstance(column, DateColumn) else "holds categories"

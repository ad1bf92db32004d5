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
        self.marked = [column.marks_missing for column in columns]
        self.is_cut = [len(column.knots) > 1 for column in columns]
        self.is_plain = not any((*self.marked, *self.is_cut))
        self.clips = [column.clips for column in columns]
        for i, column in enumerate(columns):
            self.register_buffer(f"knots_{i}", torch.tensor(column.knots, dtype=torch.float64))
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
        moved = torch.isinf(x) | torch.tensor(self.clips)
        inside = torch.where(moved, torch.clamp(x, self.low, self.high), x)
        codes = torch.where(gone, torch.zeros_like(x), (inside - self.mean) / self.spread)
        if not self.is_plain:
            codes = torch.cat([part for i in range(len(self.marked)) for part in self._codes(codes, gone, i)], 1)
        outputs: Tensor = self.network(codes).mean(0) * self.scale + self.centre
        return torch.softmax(outputs, -1) if self.gives_classes else outputs

    def _codes(self, standardised: Tensor, gone: Tensor, i: int) -> list[Tensor]:
        """The encoded columns of a number: itself, whether it is missing, and how far it has come in each piece."""
        own, parts = standardised[:, i : i + 1], [standardised[:, i : i + 1]]
        if self.marked[i]:
            parts.append(2.0 * gone[:, i : i + 1].to(own.dtype) - 1.0)
        if self.is_cut[i]:
            knots = self.get_buffer(f"knots_{i}")
            parts.append(torch.clamp(2 * (own - knots[:-1]) / (knots[1:] - knots[:-1]) - 1, -1.0, 1.0))
        return parts


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

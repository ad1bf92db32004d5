"""Fitted graphs for other programs, as ONNX."""

from __future__ import annotations

import os

import torch
from torch import Tensor, nn

from compsparse.errors import ConfigError
from compsparse.models.fitted_graph import FittedGraph
from compsparse.networks.export import write_onnx
from compsparse.tables.coding import NumberColumn


class _WholeModel(nn.Module):
    """From columns in their own units to predictions in theirs."""

    mean: Tensor
    spread: Tensor
    centre: Tensor
    scale: Tensor

    def __init__(self, model: FittedGraph):
        super().__init__()
        columns = [column for column in model.code.inputs if isinstance(column, NumberColumn)]
        self.network, self.gives_classes = model.network, model.classes is not None
        for name, values in (
            ("mean", [column.mean for column in columns]),
            ("spread", [column.scale for column in columns]),
            ("centre", model.centre),
            ("scale", model.scale),
        ):
            self.register_buffer(name, torch.tensor(values, dtype=torch.float64))

    def forward(self, x: Tensor) -> Tensor:
        """From (rows, inputs) to (rows, targets), or to probabilities of the classes."""
        outputs: Tensor = self.network((x - self.mean) / self.spread).mean(0)
        return torch.softmax(outputs, -1) if self.gives_classes else outputs * self.scale + self.centre


def model_to_onnx(model: FittedGraph, path: str | os.PathLike[str]) -> None:
    """Writes a model whose columns are all numbers as an ONNX file."""
    texts = [column.name for column in model.code.inputs if not isinstance(column, NumberColumn)]
    if texts:
        raise ConfigError(
            f"column {texts[0]!r} holds categories, and an ONNX model takes numbers alone: "
            "code the column before the fit, or save the model as JSON"
        )
    write_onnx(_WholeModel(model), len(model.code.inputs), path)

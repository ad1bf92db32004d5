"""Explicit networks on disk: safetensors for compsparse itself, ONNX for everything else."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from compsparse.checks import check_device, check_kind
from compsparse.construct.explicit import ExplicitReLU, SparseLayer
from compsparse.digest import parse_json
from compsparse.errors import ConfigError, DataError
from compsparse.files import check_place
from compsparse.networks.onnx_files import read_program, write_program
from compsparse.networks.tensor_files import read_tensors, write_tensors
from compsparse.optional import needs

_FORMAT = "compsparse.explicit/1"
_STATEMENT = "compsparse.statement"
_OPSET = 18
_DENSE_ENTRIES = 250_000
"""A layer with at most so many entries, zeros included, is written as a matrix product."""


def save_explicit(
    network: ExplicitReLU, path: str | os.PathLike[str], statement: Mapping[str, Any] | None = None
) -> None:
    """Writes an explicit network to one safetensors file, which appears whole or not at all.

    Args:
        statement: what is known of the network, as JSON values; the file's digest ties it to these weights.
    """
    needs("safetensors", "saved networks", "export")
    check_kind("network", network, ExplicitReLU)
    place = check_place("path", path)
    about = {"format": _FORMAT, "n_inputs": str(network.n_inputs), "n_layers": str(network.n_layers)}
    if statement is not None:
        about[_STATEMENT] = json.dumps(dict(statement), allow_nan=False)
    write_tensors(network, about, place)


def load_explicit(path: str | os.PathLike[str], device: str | torch.device | None = None) -> ExplicitReLU:
    """Reads the network that :func:`save_explicit` wrote."""
    return read_explicit(path, device)[0]


def read_explicit(
    path: str | os.PathLike[str], device: str | torch.device | None = None
) -> tuple[ExplicitReLU, dict[str, Any] | None]:
    """The network that :func:`save_explicit` wrote, and what the file says of it."""
    needs("safetensors", "saved networks", "export")
    place = check_device(device)
    source = check_place("path", path)
    about, tensors = read_tensors(source)
    if about.get("format") != _FORMAT:
        raise DataError(f"{source} holds no explicit network of a format this version reads")
    try:
        width, layers = int(about["n_inputs"]), []
        for i in range(int(about["n_layers"])):
            rows, columns = tensors[f"indices_{i}"].numpy()
            weights, bias = (tensors[f"{name}_{i}"].double().numpy() for name in ("weights", "bias"))
            layers.append(SparseLayer(width, rows, columns, weights, bias, tensors[f"floor_{i}"].numpy() == 0))
            width = layers[-1].n_outputs
        network = ExplicitReLU(layers, tensors["bias_0"].dtype).to(place)
    except (KeyError, ValueError, TypeError, AttributeError):
        raise DataError(f"the network in {source} is damaged or incomplete") from None
    return network, _statement(about, source)


def explicit_to_onnx(
    network: ExplicitReLU, path: str | os.PathLike[str], statement: Mapping[str, Any] | None = None
) -> None:
    """Writes the network as an ONNX model with a free batch size: ``x`` (batch, inputs) -> ``y``.

    Small layers become matrix products. ONNX has no sparse product, so in a large layer the entries are gathered and
    multiplied, and rows of about equal length are summed together: the file grows with the weights that are not zero
    alone. To add products into their rows by an index would be shorter, but programs do so in parallel and lose some.

    Args:
        statement: what is known of the network, as JSON values; the file's digest ties it to this program.
    """
    onnx = needs("onnx", "ONNX models", "export")
    check_kind("network", network, ExplicitReLU)
    place = check_place("path", path)
    kind = next(network.parameters()).dtype
    if kind not in (torch.float32, torch.float64):
        raise ConfigError(f"ONNX models are written in float32 or float64, got {kind}")
    model = _Program(onnx, np.float32 if kind == torch.float32 else np.float64).model(network)
    onnx.checker.check_model(model)
    words = {} if statement is None else {_STATEMENT: json.dumps(dict(statement), allow_nan=False)}
    write_program(model, words, place)


def read_onnx_statement(path: str | os.PathLike[str]) -> tuple[Any, dict[str, Any] | None]:
    """The ONNX model that :func:`explicit_to_onnx` wrote, and what the file says of it."""
    source = check_place("path", path)
    about, model = read_program(source)
    return model, _statement(about, source)


def _statement(about: Mapping[str, str], source: Path) -> dict[str, Any] | None:
    if _STATEMENT not in about:
        return None
    try:
        found = parse_json(about[_STATEMENT])
    except DataError as error:
        raise DataError(f"the statement in {source} is damaged: {error}") from None
    if not isinstance(found, dict):
        raise DataError(f"the statement in {source} must be a JSON object")
    return found


# ---- ONNX ---------------------------------------------------------------------------------------


class _Program:
    """Nodes and constants of an ONNX graph; values between layers are (rows, batch)."""

    def __init__(self, onnx: Any, kind: type[np.floating]):
        self.onnx, self.kind = onnx, kind
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, values: np.ndarray) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def apply(self, operation: str, *inputs: str, to: str | None = None, **attributes: Any) -> str:
        name = to or f"v{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operation, list(inputs), [name], **attributes))
        return name

    def model(self, network: ExplicitReLU) -> Any:
        value = ""
        for layer in network.layers:
            value = self.affine(layer, value)
            floor = np.where(layer.relu, 0.0, -np.inf)[:, None].astype(self.kind)
            value = self.apply("Max", value, self.constant(floor))
        self.apply("Transpose", value, to="y", perm=[1, 0])
        helper, kind = self.onnx.helper, self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(self.kind))
        graph = helper.make_graph(
            self.nodes,
            "explicit",
            [helper.make_tensor_value_info("x", kind, ["batch", network.n_inputs])],
            [helper.make_tensor_value_info("y", kind, ["batch", network.n_outputs])],
            self.constants,
        )
        opset = [helper.make_opsetid("", _OPSET)]
        return helper.make_model(graph, opset_imports=opset, ir_version=8, producer_name="compsparse")

    def affine(self, layer: SparseLayer, value: str) -> str:
        """A layer on the values before it; without a name it is on the inputs, which are (batch, inputs)."""
        bias = self.constant(layer.bias[:, None].astype(self.kind))
        if layer.n_inputs * layer.n_outputs <= _DENSE_ENTRIES:
            matrix = layer.matrix.toarray().astype(self.kind)
            if not value:  # the product of a transposed input becomes one that onnxruntime lacks in float64
                product = self.apply("Transpose", self.apply("MatMul", "x", self.constant(matrix.T)), perm=[1, 0])
            else:
                product = self.apply("MatMul", self.constant(matrix), value)
            return self.apply("Add", product, bias)
        value = value or self.apply("Transpose", "x", perm=[1, 0])
        rows, order = [], []
        for chosen, columns, values in _rows_of_like_length(layer):
            entries = self.apply("Gather", value, self.constant(columns), axis=0)  # (rows, entries, batch)
            products = self.apply("Mul", entries, self.constant(values[..., None].astype(self.kind)))
            rows.append(self.apply("ReduceSum", products, self.constant(np.array([1])), keepdims=0))
            order.append(chosen)
        back = self.constant(np.argsort(np.concatenate(order)))
        return self.apply("Add", self.apply("Gather", self.apply("Concat", *rows, axis=0), back, axis=0), bias)


def _rows_of_like_length(layer: SparseLayer) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Rows whose numbers of entries round up to one power of two: which, columns, and weights filled up with zeros."""
    W = layer.matrix
    counts = np.diff(W.indptr)
    sizes = 2 ** np.ceil(np.log2(np.maximum(counts, 1))).astype(int)
    for size in np.unique(sizes):
        chosen = np.flatnonzero(sizes == size)
        columns, values = np.zeros((len(chosen), size), dtype=np.int64), np.zeros((len(chosen), size))
        inside = np.arange(size) < counts[chosen][:, None]
        entries = (W.indptr[chosen][:, None] + np.arange(size))[inside]
        columns[inside], values[inside] = W.indices[entries], W.data[entries]
        yield chosen, columns, values

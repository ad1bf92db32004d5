"""Networks whose every weight is written down: sparse affine layers with ReLU on marked rows.

Constructions (compiled function graphs, circuits, hat compositions) produce these; nothing here is trained.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor, nn

from compsparse.checks import brief, check_array, check_count, check_dtype, check_kind, check_list, check_numbers
from compsparse.errors import ConfigError, DataError
from compsparse.networks.replicas import check_tensor
from compsparse.text import in_a_line

_NUMBERS_AT_ONCE = 4_000_000


@in_a_line
@dataclass(frozen=True, eq=False)
class SparseLayer:
    r"""One affine map, with ReLU on some of its rows: :math:`y_i = \max(0, W_i x + b_i)` or :math:`W_i x + b_i`.

    A row without ReLU whose only weight is 1 carries a number past the layer (a *wire*).

    Attributes:
        n_inputs: length of x.
        rows, columns, values: the non-zero entries of W, by row and then by column.
        bias: one number per row.
        relu: which rows have a ReLU.

    >>> hat = SparseLayer.of([[1], [1]], [0, -0.5], [False, True])  # x and relu(x - 1/2)
    >>> hat.n_outputs, hat.n_units
    (2, 1)
    """

    n_inputs: int
    rows: np.ndarray
    columns: np.ndarray
    values: np.ndarray
    bias: np.ndarray
    relu: np.ndarray

    def __post_init__(self) -> None:
        check_count("n_inputs of a layer", self.n_inputs)
        bias = check_numbers("the bias of a layer", self.bias, shape=(None,))
        entries = [
            check_numbers(f"the {name} of a layer", getattr(self, name), shape=(None,))
            for name in ("rows", "columns", "values")
        ]
        relu = np.asarray(self.relu, dtype=bool)
        if len({len(e) for e in entries}) > 1 or relu.shape != bias.shape or not len(bias):
            raise ConfigError("a layer needs as many rows as columns and weights, a bias and a ReLU mark for each row")
        rows, columns = entries[0].astype(np.int64), entries[1].astype(np.int64)
        inside = (rows >= 0) & (rows < len(bias)) & (columns >= 0) & (columns < self.n_inputs)
        if not inside.all():
            raise ConfigError(f"a weight lies outside the layer of {len(bias)} rows and {self.n_inputs} columns")
        matrix = sparse.csr_matrix((entries[2], (rows, columns)), shape=(len(bias), self.n_inputs))
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        tidy = matrix.tocoo()
        for name, values in (
            ("rows", tidy.row.astype(np.int64)),
            ("columns", tidy.col.astype(np.int64)),
            ("values", tidy.data),
            ("bias", bias),
            ("relu", relu),
        ):
            object.__setattr__(self, name, values)

    @classmethod
    def of(cls, W: Any, b: Any, relu: Any = True) -> SparseLayer:
        """From a matrix (dense or of scipy.sparse), a bias and marks, one for all rows or one each."""
        matrix = sparse.coo_matrix(W if sparse.issparse(W) else check_numbers("W", W, shape=(None, None)))
        bias = check_numbers("b", b, shape=(matrix.shape[0],))
        marks = check_array("relu", relu)
        if marks.dtype != bool or marks.shape not in ((), bias.shape):
            raise ConfigError(
                f"relu must be True, False or one of them for each of {len(bias)} rows, got {brief(relu)}"
            )
        return cls(matrix.shape[1], matrix.row, matrix.col, matrix.data, bias, np.broadcast_to(marks, bias.shape))

    @property
    def n_outputs(self) -> int:
        """Number of rows."""
        return len(self.bias)

    @property
    def n_units(self) -> int:
        """Number of rows with a ReLU."""
        return int(self.relu.sum())

    @property
    def matrix(self) -> sparse.csr_matrix:
        """W."""
        return sparse.csr_matrix((self.values, (self.rows, self.columns)), shape=(self.n_outputs, self.n_inputs))


@dataclass(frozen=True)
class ExplicitSize:
    """How large an explicit network is.

    Attributes:
        units: rows with a ReLU.
        wires: rows without one, outputs of the network left out: sums and numbers that are carried past a layer.
        parameters: weights and biases that are not zero.
        depth: layers that hold a ReLU.
        strict_units: units where layers may hold nothing but ReLUs: a wire is then a pair of them.
    """

    units: int
    wires: int
    parameters: int
    depth: int

    @property
    def strict_units(self) -> int:
        """Units if every wire is written as relu(x) - relu(-x)."""
        return self.units + 2 * self.wires


class ExplicitReLU(nn.Module):
    """A stack of sparse affine layers with ReLU on marked rows: (batch, inputs) -> (batch, outputs).

    Weights are parameters that need no gradient (``requires_grad_(True)`` lets an optimiser move them).

    >>> first = SparseLayer.of([[1], [1]], [0, -0.5], [False, True])
    >>> hat = ExplicitReLU([first, SparseLayer.of([[2, -4]], [0], False)])
    >>> hat(torch.tensor([[0.25], [0.5], [1.0]], dtype=torch.float64)).ravel().tolist()
    [0.5, 1.0, 0.0]
    >>> hat.size
    ExplicitSize(units=1, wires=1, parameters=5, depth=1)
    >>> hat.exact([Fraction(1, 3)])
    [Fraction(2, 3)]
    """

    def __init__(self, layers: Sequence[SparseLayer], dtype: torch.dtype = torch.float64):
        super().__init__()
        found = [check_kind("a layer", layer, SparseLayer) for layer in check_list("layers", layers)]
        if not found:
            raise ConfigError("a network needs at least one layer")
        for i, (before, layer) in enumerate(pairwise(found)):
            if layer.n_inputs != before.n_outputs:
                raise ConfigError(f"layer {i + 1} reads {layer.n_inputs} numbers, layer {i} gives {before.n_outputs}")
        self.n_inputs, self.n_outputs, self.n_layers = found[0].n_inputs, found[-1].n_outputs, len(found)
        kind = check_dtype(dtype)
        for i, layer in enumerate(found):
            indices = np.stack([layer.rows, layer.columns])
            floor = np.where(layer.relu, 0.0, -np.inf)
            self.register_buffer(f"indices_{i}", torch.from_numpy(indices))
            self.register_buffer(f"floor_{i}", torch.from_numpy(floor).to(kind))
            for name, values in (("weights", layer.values), ("bias", layer.bias)):
                weights = nn.Parameter(torch.tensor(values, dtype=kind), requires_grad=False)
                self.register_parameter(f"{name}_{i}", weights)

    def layer(self, i: int) -> SparseLayer:
        """The layer at position i with the weights of now, in double precision."""
        rows, columns = self.get_buffer(f"indices_{i}").cpu().numpy()
        weights, bias = (self.get_parameter(f"{n}_{i}").detach().cpu().double().numpy() for n in ("weights", "bias"))
        relu = self.get_buffer(f"floor_{i}").cpu().numpy() == 0
        n_inputs = self.n_inputs if i == 0 else len(self.get_parameter(f"bias_{i - 1}"))
        return SparseLayer(n_inputs, rows, columns, weights, bias, relu)

    @property
    def layers(self) -> list[SparseLayer]:
        """All layers, from the inputs on."""
        return [self.layer(i) for i in range(self.n_layers)]

    def forward(self, x: Tensor) -> Tensor:
        """From (batch, inputs) to (batch, outputs)."""
        check_tensor(x)
        if x.ndim != 2 or x.shape[1] != self.n_inputs:
            raise DataError(f"expected an array of shape (batch, {self.n_inputs}), got {tuple(x.shape)}")
        columns = x.T
        for i in range(self.n_layers):
            bias, floor = self.get_parameter(f"bias_{i}"), self.get_buffer(f"floor_{i}")
            W = torch.sparse_coo_tensor(
                self.get_buffer(f"indices_{i}"),
                self.get_parameter(f"weights_{i}"),
                (len(bias), len(columns)),
                is_coalesced=True,
                check_invariants=False,
            )
            columns = torch.maximum(torch.sparse.mm(W, columns) + bias[:, None], floor[:, None])
        return columns.T

    def values(self, x: np.ndarray) -> np.ndarray:
        """The outputs at the rows of an array, (points, outputs), in portions that fit in memory."""
        weight = next(self.parameters())
        portion = max(_NUMBERS_AT_ONCE // max(len(self.get_parameter(f"bias_{i}")) for i in range(self.n_layers)), 1)
        with torch.no_grad():
            parts = [
                self(torch.as_tensor(x[i : i + portion], dtype=weight.dtype, device=weight.device)).cpu()
                for i in range(0, len(x), portion)
            ]
        return torch.cat(parts).double().numpy()

    def exact(self, x: Sequence[Fraction | int | float]) -> list[Fraction]:
        """The outputs at one point without rounding, for tests of identities."""
        point = check_list("x", x)
        if not all(
            isinstance(v, numbers.Rational) or (isinstance(v, numbers.Real) and math.isfinite(v)) for v in point
        ):
            raise DataError(f"expected a point of {self.n_inputs} finite numbers, got {brief(x)}")
        values = [Fraction(v) if isinstance(v, numbers.Rational) else Fraction(float(v)) for v in point]
        if len(values) != self.n_inputs:
            raise DataError(f"expected a point of {self.n_inputs} numbers, got {len(values)}")
        for layer in self.layers:
            sums = [Fraction(b) for b in layer.bias.tolist()]
            for row, column, weight in zip(layer.rows, layer.columns, layer.values.tolist(), strict=True):
                sums[row] += Fraction(weight) * values[column]
            values = [max(s, Fraction(0)) if r else s for s, r in zip(sums, layer.relu, strict=True)]
        return values

    @property
    def size(self) -> ExplicitSize:
        """Units, wires, parameters that are not zero, and depth."""
        layers = self.layers
        return ExplicitSize(
            units=sum(layer.n_units for layer in layers),
            wires=sum(layer.n_outputs - layer.n_units for layer in layers[:-1]),
            parameters=sum(len(layer.values) + int(np.count_nonzero(layer.bias)) for layer in layers),
            depth=sum(layer.n_units > 0 for layer in layers),
        )


def chained(first: ExplicitReLU, second: ExplicitReLU) -> ExplicitReLU:
    """The network that feeds the outputs of the first to the second."""
    return ExplicitReLU([*check_kind("first", first, ExplicitReLU).layers, *second.layers])

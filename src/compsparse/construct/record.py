"""What compilation returns: the network, its certificate, and what each node contributed."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch

from compsparse.certificate import Certificate, Rigour
from compsparse.construct.explicit import ExplicitReLU, ExplicitSize
from compsparse.construct.explicit_files import explicit_to_onnx, save_explicit
from compsparse.construct.refutation import LargestError
from compsparse.errors import GraphError
from compsparse.graph import FunctionGraph
from compsparse.text import in_a_line, notebook_html

Precision = Literal["float64", "float32"]
PRECISIONS = {"float64": torch.float64, "float32": torch.float32}


@dataclass(frozen=True)
class CompiledNode:
    """What one node of the graph became.

    Attributes:
        label: its function in terms of its parents.
        methods: the constructions used, each with how often; none for sums, and for curves folded into their readers.
        units: ReLUs.
        own_error: bound on its error if its parents were exact.
        error: bound on its error with all that came before it.
        range: where its exact value lies.
        lipschitz: bounds on its slopes by each parent, on exact ranges.
        path_factor: how much an error of its own can grow on its way to an output, over all paths.
        rigour: whether its bounds are proved by intervals, rest on what was declared, or on samples.
    """

    name: str
    label: str
    methods: tuple[tuple[str, int], ...]
    units: int
    own_error: float
    error: float
    range: tuple[float, float]
    lipschitz: tuple[float, ...]
    path_factor: float
    rigour: Rigour


@in_a_line
@dataclass(frozen=True, eq=False)
class Compiled:
    """An explicit ReLU network for a function graph on a box, with a bound on its error.

    Attributes:
        graph, domain, tol: what was asked for.
        method: the one that was asked for.
        dtype: the precision in which it computes.
        network: a torch module of this precision, (batch, inputs) -> (batch, outputs).
        certificate: the largest error of any output on the domain, rounding included, at inputs that are numbers of the
            precision: at least what a search saw, at most the bound.
        nodes: one record a node.
        bound: the part of the certificate that holds in exact arithmetic.
        rounding: what floating-point arithmetic can add.
        observed: where a search saw the largest difference from the function as it is called.
    """

    graph: FunctionGraph
    domain: tuple[tuple[float, float], ...]
    tol: float
    method: str
    dtype: Precision
    network: ExplicitReLU
    certificate: Certificate
    nodes: tuple[CompiledNode, ...]
    bound: float
    rounding: float
    observed: LargestError

    @property
    def size(self) -> ExplicitSize:
        """Units, wires, parameters and depth of the network."""
        return self.network.size

    def __call__(self, X: Any) -> np.ndarray:
        """The network at the rows of an array: flat where there is one output."""
        values = self.network.values(np.asarray(X, dtype=float))
        return values[:, 0] if values.shape[1] == 1 else values

    def __str__(self) -> str:
        size = self.size
        lines = [
            str(self.certificate),
            f"{size.units:,} units in {size.depth} layers, {size.parameters:,} parameters that are not zero, "
            f"{size.wires:,} wires (with ReLUs alone: {size.strict_units:,} units)",
        ]
        for node in self.nodes:
            made = ", ".join(f"{count} x {name}" if count > 1 else name for name, count in node.methods)
            units = f"{node.units:,} unit{'s' * (node.units != 1)}"
            lines.append(f"  {node.name} = {node.label}: {units}, error at most {node.error:.3g} ({made or 'exact'})")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return notebook_html(self, "compiled_html")

    def to_onnx(self, path: str | os.PathLike[str]) -> None:
        """Writes the network as an ONNX model, ``x`` (batch, inputs) -> ``y`` (batch, outputs), with its statement."""
        explicit_to_onnx(self.network, path, self.statement())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the weights and the statement to a safetensors file.

        :func:`~compsparse.construct.load_explicit` reads the network, :func:`~compsparse.construct.verify` checks both.
        """
        save_explicit(self.network, path, self.statement())

    def statement(self) -> dict[str, Any]:
        """What a file says of its network: the function, the domain, the tolerance, the bound and its precision."""
        try:
            function = json.loads(self.graph.to_json())
        except GraphError:  # a node without a formula cannot be written
            function = None
        return {
            "function": function,
            "inputs": list(self.graph.inputs),
            "outputs": list(self.graph.outputs),
            "domain": [list(side) for side in self.domain],
            "tol": self.tol,
            "dtype": self.dtype,
            "certificate": self.certificate.to_dict(),
        }

    def to_json(self, indent: int | None = None) -> str:
        """All but the weights, as JSON text."""
        size = self.size
        data = {
            "graph": json.loads(self.graph.to_json()),
            "domain": [list(side) for side in self.domain],
            "tol": self.tol,
            "method": self.method,
            "certificate": self.certificate.to_dict(),
            "bound": self.bound,
            "dtype": self.dtype,
            "rounding": self.rounding,
            "observed": {"error": self.observed.value, "point": list(self.observed.point)},
            "size": {**size.__dict__, "strict_units": size.strict_units},
            "nodes": [
                vars(node)
                | {
                    "methods": dict(node.methods),
                    "lipschitz": [s if np.isfinite(s) else None for s in node.lipschitz],
                    "path_factor": node.path_factor if np.isfinite(node.path_factor) else None,
                    "rigour": node.rigour.value,
                }
                for node in self.nodes
            ],
        }
        return json.dumps(data, indent=indent)

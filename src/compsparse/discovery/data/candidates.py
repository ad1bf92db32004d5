"""Candidate structures, and the network that fits any number of them as one tensor program.

A candidate says how the current variables reach the target: y = F(g(x_S), x_rest). Which variables
each part sees is a mask, so candidates of every shape share one batched product per layer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import Literal

import torch
from torch import Tensor, nn

from compsparse.discovery.data.limits import MODULE_WIDTH, TOP_WIDTH
from compsparse.networks.activations import activation
from compsparse.networks.cells import Cells
from compsparse.networks.programs import NO_BIAS, ProgramBuilder
from compsparse.networks.replicas import (
    ReplicatedNetwork,
    generators_for,
    per_distinct_seed,
    per_replica_normal,
    per_replica_uniform,
)

Form = Literal["free", "sum", "product"]


@dataclass(frozen=True)
class Candidate:
    """F(g(x_inner), x_outer): variables are numbered as in the table they are fitted on.

    Attributes:
        inner: variables that g combines to one number; empty for no g.
        outer: variables that F sees directly.
        form: how g combines: freely, or as the sum or product of functions of one variable each.
    """

    inner: frozenset[int]
    outer: frozenset[int]
    form: Form = "free"


class CandidateNetwork(ReplicatedNetwork):
    """One candidate per replica, all of one form; F and a free g are dense networks."""

    def __init__(
        self,
        candidates: Sequence[Candidate],
        blocks: Sequence[Sequence[int]],
        n_outputs: int,
        seeds: Sequence[int],
        inner_width: int = MODULE_WIDTH,
        outer_width: int = TOP_WIDTH,
    ):
        n_columns = sum(len(block) for block in blocks)
        super().__init__(n_columns, n_outputs, len(candidates))
        distinct, own = per_distinct_seed(seeds)
        starts = _Starts(generators_for(distinct), torch.as_tensor(own))
        form = candidates[0].form
        inner = _mask([c.inner for c in candidates], blocks, n_columns)
        outer = _mask([c.outer for c in candidates], blocks, n_columns)
        gate = torch.tensor([[float(bool(c.inner))] for c in candidates])
        self.inner: _Dense | _Separable = (
            _Dense(inner, [n_columns, inner_width, inner_width, 1], starts)
            if form == "free"
            else _Separable(inner, blocks, form, inner_width, starts)
        )
        sizes = [n_columns + 1, outer_width, outer_width, outer_width, n_outputs]
        self.outer = _Dense(torch.cat([outer, gate], 1), sizes, starts)
        self.any_inner = bool(gate.any())

    @property
    def free_inner(self) -> _Dense:
        """The network of g where it is free."""
        if not isinstance(self.inner, _Dense):
            raise TypeError("the inner function is a sum or a product, not a free network")
        return self.inner

    def combined(self, columns: Tensor) -> Tensor:
        """The value of g, (R, 1, batch)."""
        value: Tensor = self.inner(columns)
        return value

    def run(self, columns: Tensor) -> Tensor:
        """F of the columns and of g, (R, outputs, batch)."""
        g = self.combined(columns) if self.any_inner else columns[:, :1]
        value: Tensor = self.outer(torch.cat([columns, g], 1))
        return value

    def lower(self, program: ProgramBuilder, rows: Sequence[int]) -> list[int]:
        """Adds itself to a program; see :mod:`compsparse.networks.programs`."""
        g = self.inner.lower(program, rows) if self.any_inner else rows[:1]
        return self.outer.lower(program, [*rows, *g])


@dataclass(frozen=True)
class _Starts:
    """Generators of the different starts, and which of them each replica takes: rivals share theirs."""

    generators: Sequence[torch.Generator]
    own: Tensor


def _mask(sets: Sequence[frozenset[int]], blocks: Sequence[Sequence[int]], n_columns: int) -> Tensor:
    mask = torch.zeros(len(sets), n_columns)
    for r, variables in enumerate(sets):
        mask[r, [column for v in variables for column in blocks[v]]] = 1.0
    return mask


class _Dense(nn.Module):
    """Dense layers whose inputs are masked, scaled at the start as if the others were not there."""

    replica_buffers = ("mask",)

    def __init__(self, mask: Tensor, sizes: Sequence[int], starts: _Starts):
        super().__init__()
        self.register_buffer("mask", mask.unsqueeze(1), persistent=False)
        self.activation = activation("silu")
        self.weights, self.biases = nn.ParameterList(), nn.ParameterList()
        last = len(sizes) - 2
        for layer, (n_in, n_out) in enumerate(pairwise(sizes)):
            fan_in = mask.sum(1).clamp(min=1).view(-1, 1, 1) if layer == 0 else torch.tensor(float(n_in))
            gain = math.sqrt(1.0 if layer == last else 2.0)
            weights = per_replica_normal((n_out, n_in), starts.generators)[starts.own]
            biases = per_replica_uniform((n_out,), starts.generators)[starts.own]
            self.weights.append(weights * gain / fan_in.sqrt())
            self.biases.append(biases * float(layer < last))

    def forward(self, h: Tensor) -> Tensor:
        for layer, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            if layer:
                h = self.activation(h)
            h = torch.baddbmm(bias.unsqueeze(-1), weight if layer else weight * self.mask, h)
        return h

    def lower(self, program: ProgramBuilder, rows: Sequence[int]) -> list[int]:
        program.mask(self.weights[0], self.get_buffer("mask"))
        return program.layers(rows, list(self.weights), list(self.biases), "silu")


class _Separable(nn.Module):
    """phi(sum or product of psi_v(x_v)) over the masked variables, each psi a small network."""

    replica_buffers = ("used",)

    def __init__(
        self,
        mask: Tensor,
        blocks: Sequence[Sequence[int]],
        form: Form,
        width: int,
        starts: _Starts,
    ):
        super().__init__()
        self.form = form
        longest = max(len(b) for b in blocks)
        index = torch.zeros(len(blocks), longest, dtype=torch.long)
        present = torch.zeros(len(blocks), longest)
        for v, block in enumerate(blocks):
            index[v, : len(block)] = torch.tensor(list(block))
            present[v, : len(block)] = 1.0
        used = mask[:, [block[0] for block in blocks]]
        self.register_buffer("index", index.flatten(), persistent=False)
        self.register_buffer("present", present.unsqueeze(-1), persistent=False)
        self.register_buffer("used", used.unsqueeze(-1), persistent=False)
        self.psi = Cells(len(blocks), longest, 1, width, 2, "silu", starts.generators)
        self.phi = Cells(1, 1, 1, width, 1, "silu", starts.generators)
        for parameter in (*self.psi.parameters(), *self.phi.parameters()):
            parameter.data = parameter.data[starts.own]

    def forward(self, columns: Tensor) -> Tensor:
        replicas, _, batch = columns.shape
        x = columns.index_select(1, self.get_buffer("index")).view(
            replicas, *self.get_buffer("present").shape[:2], batch
        )
        values = self.psi(x * self.get_buffer("present"))[:, :, 0]
        used = self.get_buffer("used")
        if self.form == "sum":
            total = (values * used).sum(1, keepdim=True)
        else:
            # 1 + psi, so that the product starts near one and gradients do not vanish; factor by factor,
            # because the gradient of torch.prod cannot be recorded on a GPU
            total = reduce(torch.mul, (1 + values * used).split(1, dim=1))
        value: Tensor = total + self.phi(total.unsqueeze(1))[:, 0]
        return value

    def lower(self, program: ProgramBuilder, rows: Sequence[int]) -> list[int]:
        present, used = self.get_buffer("present").squeeze(-1), self.get_buffer("used").squeeze(-1)
        program.mask(self.psi.weights[0], present.unsqueeze(1))
        values = program.cells([rows[i] for i in self.get_buffer("index").tolist()], self.psi)
        weights = program.constant(used)
        if self.form == "sum":
            total = program.layer(values, 1, weights, NO_BIAS, "identity")
        else:
            total = program.product(values, weights)
        both = program.constant(torch.ones(len(used), 2))
        return program.layer([*total, *program.cells(total, self.phi)], 1, both, NO_BIAS, "identity")

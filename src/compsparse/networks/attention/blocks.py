"""Transformer blocks for R replicas: attention of some tokens to all, and a network of two layers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional

from compsparse.networks.attention.selection import Selection
from compsparse.networks.replicas import check_weights, per_replica_normal

BlockForm: TypeAlias = Literal["sequential", "parallel", "printed"]
"""How attention A, network M and the residual stream meet; LN is a normalisation without weights.

``sequential``: u = x + A(LN x), y = u + M(LN u), the pre-norm block in use;
``parallel``: y = x + A(LN x) + M(LN x);
``printed``: y = x + M(LN(x + A(LN x))), the memos' formula to the letter.
"""


_OF_SCORES, _OF_VALUES = 1 / math.sqrt(3), 0.8
"""Gains of queries and keys, and of what passes on values. Scores start small, so that no token is preferred by much
before anything was learned; with small values selection has to sharpen before the loss can fall.
"""
_EPS = 1e-5
"""Added to variances."""


class Linear(nn.Module):
    """A linear map for each of R replicas: (R, ..., fan_in) to (R, ..., fan_out), as one batched product."""

    def __init__(
        self, fan_in: int, fan_out: int, generators: Sequence[torch.Generator], *, bias: bool = True, gain: float = 1.0
    ):
        super().__init__()
        check_weights(float(fan_in + bias) * fan_out, len(generators))
        size = gain / math.sqrt(fan_in)
        self.weight = nn.Parameter(size * per_replica_normal((fan_in, fan_out), generators))
        self.bias = nn.Parameter(size * per_replica_normal((1, fan_out), generators)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        """Applies every replica's map to its own rows."""
        rows = x.flatten(1, -2)
        out = torch.bmm(rows, self.weight) if self.bias is None else torch.baddbmm(self.bias, rows, self.weight)
        return out.view(*x.shape[:-1], -1)


@dataclass(frozen=True)
class FirstTokens:
    """Tokens as they are embedded, before any block: values times one direction, plus places.

    A normalised token is then (x u + p) / s with u and p free of their means and s its own spread, so what a linear
    map makes of all tokens of all data follows from what it makes of u and of the places.

    Attributes:
        values: x, (R, batch, tokens).
        direction: u, (R, 1, width).
        places: p, (R, tokens, width).
    """

    values: Tensor
    direction: Tensor
    places: Tensor

    def embedded(self) -> Tensor:
        """The tokens one by one, (R, batch, tokens, width)."""
        return self.values.unsqueeze(-1) * self.direction.unsqueeze(1) + self.places.unsqueeze(1)

    def centred(self) -> tuple[Tensor, Tensor, Tensor]:
        """u and p free of their means over the channels, and 1 / s of every token."""
        u, p = (h - h.mean(-1, keepdim=True) for h in (self.direction, self.places))
        square = (u * u).mean(-1), 2 * (u * p).mean(-1), (p * p).mean(-1)
        x = self.values
        variance = x * x * square[0].unsqueeze(1) + x * square[1].unsqueeze(1) + square[2].unsqueeze(1)
        return u, p, (variance + _EPS).rsqrt()


class Heads(nn.Module):
    """Multi-head attention: each head scores tokens by query and key, selects, and mixes their values."""

    def __init__(self, width: int, n_heads: int, selection: Selection, generators: Sequence[torch.Generator]):
        super().__init__()
        self.n_heads, self.selection = n_heads, selection
        self.query = Linear(width, width, generators, bias=False, gain=_OF_SCORES)
        self.key = Linear(width, width, generators, bias=False, gain=_OF_SCORES)
        self.value = Linear(width, width, generators, bias=False, gain=_OF_VALUES)
        self.out = Linear(width, width, generators, gain=_OF_VALUES)

    def scores(self, asking: Tensor, tokens: Tensor, visible: Tensor | None = None) -> Tensor:
        """Scaled inner products of queries and keys, (R, batch, heads, asking, tokens)."""
        query, key = self._split(self.query(asking)), self._split(self.key(tokens))
        scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
        return scores if visible is None else scores.masked_fill(~visible, -torch.inf)

    def forward(self, asking: Tensor, tokens: Tensor, visible: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """What every asking token receives, and the weights by which it was mixed."""
        weights = self.selection(self.scores(asking, tokens, visible))
        mixed = (weights @ self._split(self.value(tokens))).transpose(2, 3)
        return self.out(mixed.flatten(3)), weights

    def select_first(
        self, queries: Tensor, tokens: FirstTokens, visible: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """The same as :meth:`forward` for queries that are alike for all data, (R, asking, width), at far less cost."""
        u, p, scale = tokens.centred()
        x = tokens.values
        query = self._parts(self.query(queries)) / math.sqrt(queries.shape[-1] // self.n_heads)
        # scores = (x q.K u + q.K p) / s, one number per query and token before the data come in
        of_value = query @ self._parts(self.key(u)).transpose(-1, -2)
        of_place = query @ self._parts(self.key(p)).transpose(-1, -2)
        scores = (x * scale)[:, :, None, None] * of_value.unsqueeze(1) + scale[:, :, None, None] * of_place.unsqueeze(1)
        weights = self.selection(scores if visible is None else scores.masked_fill(~visible, -torch.inf))
        scaled = weights * scale[:, :, None, None]
        amounts = (scaled * x[:, :, None, None]).sum(-1, keepdim=True)
        mixed = amounts * self._parts(self.value(u)).unsqueeze(1) + _batched(scaled, self._parts(self.value(p)))
        return self.out(mixed.transpose(2, 3).flatten(3)), weights

    def _parts(self, x: Tensor) -> Tensor:
        """(R, tokens, width) to (R, heads, tokens, width / heads)."""
        return x.view(*x.shape[:-1], self.n_heads, -1).transpose(1, 2)

    def _split(self, x: Tensor) -> Tensor:
        """(R, batch, tokens, width) to (R, batch, heads, tokens, width / heads)."""
        return x.view(*x.shape[:-1], self.n_heads, -1).transpose(2, 3)


class Block(nn.Module):
    """Attention and a network of two layers, joined in one of the forms of :data:`BlockForm`."""

    def __init__(
        self, width: int, n_heads: int, selection: Selection, form: BlockForm, generators: Sequence[torch.Generator]
    ):
        super().__init__()
        self.form = form
        self.heads = Heads(width, n_heads, selection, generators)
        self.up = Linear(width, 4 * width, generators)
        self.down = Linear(4 * width, width, generators)

    def forward(self, asking: Tensor, tokens: Tensor, visible: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The asking tokens after the block, (R, batch, asking, width), and the attention weights."""
        return self._joined(asking, *self.heads(normed(asking), normed(tokens), visible))

    def answer_first(
        self, queries: Tensor, tokens: FirstTokens, visible: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """The same for queries (R, asking, width) that are alike for all data."""
        attended, weights = self.heads.select_first(normed(queries), tokens, visible)
        return self._joined(queries.unsqueeze(1), attended, weights)

    def _joined(self, asking: Tensor, attended: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
        if self.form == "parallel":
            return asking + attended + self._network(normed(asking)), weights
        joined = asking + attended
        start = asking if self.form == "printed" else joined
        return start + self._network(normed(joined)), weights

    def _network(self, x: Tensor) -> Tensor:
        change: Tensor = self.down(functional.relu(self.up(x)))
        return change


def normed(x: Tensor) -> Tensor:
    """Mean 0 and variance 1 over the channels of every token."""
    return functional.layer_norm(x, x.shape[-1:], eps=_EPS)


def _batched(weights: Tensor, values: Tensor) -> Tensor:
    """Weights (R, batch, heads, asking, tokens) times values (R, heads, tokens, c), as one product a head."""
    replicas, batch, heads, asking, tokens = weights.shape
    rows = weights.transpose(1, 2).reshape(replicas * heads, batch * asking, tokens)
    mixed = torch.bmm(rows, values.flatten(0, 1))
    return mixed.view(replicas, heads, batch, asking, -1).transpose(1, 2)

"""A transformer over rows of numbers, whose outputs each ask with a query of their own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, get_args

import torch
from torch import Tensor, nn

from compsparse.checks import MOST_LAYERS, RandomState, check_choice, check_count, check_replicas
from compsparse.errors import ConfigError, DataError
from compsparse.networks.attention.blocks import Block, BlockForm, FirstTokens, normed
from compsparse.networks.attention.selection import Selection, check_selection
from compsparse.networks.replicas import (
    ReplicatedNetwork,
    check_weights,
    chosen_seeds,
    generators_for,
    per_replica_normal,
)


class AttentionNetwork(ReplicatedNetwork):
    """Blocks of attention over ``n_tokens`` numbers; every output is read off a query token of its own.

    Token i with value x becomes x times a direction that all share, plus a vector of its place. Tokens attend to
    tokens; query tokens attend to tokens, and nobody attends to them, so the last block is run for them alone. The
    weights of an output's query are therefore what that output selects.

    The last ``n_thoughts`` of the tokens are thoughts, for chains of thought: answers to earlier outputs, which later
    ones may read. The tokens before them do not see them, thought j sees thoughts up to j, and output j those before j.
    See :func:`think`.

    Args:
        n_symbols: None embeds numbers. Otherwise tokens are symbols, whole numbers from 0 to ``n_symbols`` - 1, each
            with a vector of its own in place of the shared direction.
        selection: a name of :data:`SELECTIONS`, or a function such as ``partial(top_k, k=3)``.
        form: how a block is put together, see :data:`~compsparse.networks.attention.blocks.BlockForm`.
        n_replicas: how many independent copies to hold; None for an ordinary module.
        random_state: seed of the initial weights; replica r gets the same ones in any company.
        seeds: a list with one seed per replica instead.

    >>> network = AttentionNetwork(16, n_replicas=5, random_state=0)
    >>> network(torch.ones(8, 16)).shape
    torch.Size([5, 8, 1])
    >>> network.attention(torch.ones(8, 16))[-1].shape  # replicas, data, heads, outputs, tokens
    torch.Size([5, 8, 4, 1, 16])
    """

    visible: Tensor | None

    def __init__(
        self,
        n_tokens: int,
        n_outputs: int = 1,
        n_layers: int = 1,
        width: int = 64,
        n_heads: int = 4,
        *,
        n_symbols: int | None = None,
        selection: str | Selection = "softmax",
        form: BlockForm = "sequential",
        n_thoughts: int = 0,
        n_replicas: int | None = None,
        random_state: RandomState = None,
        seeds: Sequence[int] | None = None,
    ):
        n_outputs, width = check_count("n_outputs", n_outputs), check_count("width", width)
        n_replicas = check_replicas(n_replicas)
        n_tokens, n_heads = check_count("n_tokens", n_tokens), check_count("n_heads", n_heads)
        n_layers = check_count("n_layers", n_layers, most=MOST_LAYERS)
        check_choice("form", form, get_args(BlockForm))
        chosen = check_selection(selection)
        self.n_thoughts = _check_thoughts(n_thoughts, n_tokens, n_outputs)
        if width % n_heads:
            raise ConfigError(f"a width of {width} cannot be shared by {n_heads} heads")
        super().__init__(n_tokens, n_outputs, n_replicas)
        check_weights(12.0 * width * width * n_layers + (n_tokens + 2.0 * n_outputs + 1) * width, n_replicas)
        generators = generators_for(chosen_seeds(random_state, seeds, n_replicas or 1))
        self.n_symbols = None if n_symbols is None else check_count("n_symbols", n_symbols, least=2)
        check_weights(float(n_symbols or 1) * width, n_replicas)
        self.value = nn.Parameter(per_replica_normal((n_symbols or 1, width), generators))
        self.places = nn.Parameter(per_replica_normal((n_tokens, width), generators))
        self.queries = nn.Parameter(per_replica_normal((n_outputs, width), generators))
        self.blocks = nn.ModuleList(Block(width, n_heads, chosen, form, generators) for _ in range(n_layers))
        self.readout = nn.Parameter(per_replica_normal((n_outputs, width), generators) / math.sqrt(width))
        self.offset = nn.Parameter(torch.zeros(len(generators), n_outputs, 1))
        visible = _visibility(n_tokens, n_outputs, self.n_thoughts) if self.n_thoughts else None
        self.register_buffer("visible", visible, persistent=False)

    def run(self, columns: Tensor) -> Tensor:
        """From ``(R, n_tokens, batch)`` to ``(R, n_outputs, batch)``; see :meth:`ReplicatedNetwork.run`."""
        return self._forward(columns)[0]

    @torch.no_grad()
    def attention(self, x: Tensor) -> list[Tensor]:
        """The weights of every layer, ``(R, batch, heads, rows, tokens)``.

        The rows are the tokens and then the outputs; in the last layer the outputs alone.
        """
        return self._forward(self.columns(x))[1]

    @torch.no_grad()
    def first_tokens(self, x: Tensor) -> Tensor:
        """What the first block reads of every token, ``(R, batch, n_tokens, width)``, normalised."""
        return normed(self._embedded(self.columns(x)))

    def _embedded(self, columns: Tensor) -> Tensor:
        if self.n_symbols is None:
            return self._numbers(columns).embedded()
        symbols = columns.transpose(-1, -2).long()
        try:  # a look at the symbols beforehand would wait for the GPU
            codes = self.value[torch.arange(len(symbols), device=symbols.device)[:, None, None], symbols]
        except IndexError:
            raise DataError(f"symbols must be whole numbers from 0 to {self.n_symbols - 1}") from None
        return codes + self.places.unsqueeze(1)

    def _numbers(self, columns: Tensor) -> FirstTokens:
        return FirstTokens(columns.transpose(-1, -2), self.value, self.places)

    def _forward(self, columns: Tensor) -> tuple[Tensor, list[Tensor]]:
        last_visible = None if self.visible is None else self.visible[self.n_inputs :]
        if len(self.blocks) == 1 and self.n_symbols is None:
            asking, weights = self.block(0).answer_first(self.queries, self._numbers(columns), last_visible)
            return self._read(asking), [weights]
        tokens = self._embedded(columns)
        asking = self.queries.unsqueeze(1).expand(-1, tokens.shape[1], -1, -1)
        found = []
        for i in range(len(self.blocks) - 1):
            both, weights = self.block(i)(torch.cat([tokens, asking], dim=2), tokens, self.visible)
            tokens, asking = both.split([self.n_inputs, self.n_outputs], dim=2)
            found.append(weights)
        asking, weights = self.block(-1)(asking, tokens, last_visible)
        return self._read(asking), [*found, weights]

    def block(self, i: int) -> Block:
        """The i-th block."""
        block = self.blocks[i]
        assert isinstance(block, Block)
        return block

    def _read(self, asking: Tensor) -> Tensor:
        """Output j off query j: (R, batch, outputs, width) to (R, outputs, batch)."""
        return torch.einsum("rbow,row->rob", normed(asking), self.readout) + self.offset


def check_attention_network(network: Any) -> AttentionNetwork:
    """A network of this package that attends."""
    if not isinstance(network, AttentionNetwork):
        raise ConfigError(f"network must be an AttentionNetwork, got {type(network).__name__}")
    return network


def _check_thoughts(n_thoughts: int, n_tokens: int, n_outputs: int) -> int:
    n_thoughts = check_count("n_thoughts", n_thoughts, least=0)
    if n_thoughts >= n_tokens:
        raise ConfigError(f"{n_thoughts} thoughts leave none of {n_tokens} tokens to think about")
    if n_thoughts and n_outputs != n_thoughts + 1:
        raise ConfigError(
            f"a chain of {n_thoughts} thoughts has {n_thoughts + 1} outputs, every thought and the answer, "
            f"got n_outputs={n_outputs}"
        )
    return n_thoughts


def _visibility(n_tokens: int, n_outputs: int, n_thoughts: int) -> Tensor:
    """Which tokens each row may read, (n_tokens + n_outputs, n_tokens)."""
    given = n_tokens - n_thoughts
    may = torch.ones(n_tokens + n_outputs, n_tokens, dtype=torch.bool)
    may[:given, given:] = False
    may[given:n_tokens, given:] = torch.ones(n_thoughts, n_thoughts, dtype=torch.bool).tril()
    may[n_tokens:, given:] = torch.ones(n_outputs, n_thoughts, dtype=torch.bool).tril(-1)
    return may

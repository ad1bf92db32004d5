"""Chains of thought: a network that answers in steps reads its own earlier answers."""

from __future__ import annotations

import torch
from torch import Tensor

from compsparse.errors import ConfigError, DataError
from compsparse.networks.attention.network import AttentionNetwork, check_attention_network
from compsparse.networks.replicas import check_tensor


@torch.no_grad()
def think(network: AttentionNetwork, x: Tensor) -> Tensor:
    """Answers step by step: thought j is the sign of output j, and is read by the outputs after it.

    In training all thoughts are given (teacher forcing); here a mistake in one step is carried on.

    Args:
        x: ``(batch, n_tokens - n_thoughts)``, the tokens without the thoughts.

    Returns:
        Every thought and the answer, ``(batch, n_outputs)`` or ``(R, batch, n_outputs)``.

    >>> network = AttentionNetwork(8, n_outputs=3, n_thoughts=2, random_state=0)
    >>> think(network, torch.ones(4, 6)).shape
    torch.Size([4, 3])
    """
    n_thoughts = check_attention_network(network).n_thoughts
    if not n_thoughts:
        raise ConfigError("the network has no thoughts: make it with n_thoughts > 0")
    given = network.n_inputs - n_thoughts
    if check_tensor(x).ndim != 2 or x.shape[1] != given:
        raise DataError(f"expected an array of shape (batch, {given}), the tokens without the thoughts, got "
                        f"{tuple(x.shape)}")  # fmt: skip
    rows = torch.cat([x, x.new_zeros(len(x), n_thoughts)], dim=1).repeat(network.n_replicas, 1, 1)
    for j in range(n_thoughts):
        rows[:, :, given + j] = _signs(network(rows)[..., j])
    answers: Tensor = network(rows)
    return answers if network.has_replicas else answers[0]


def _signs(values: Tensor) -> Tensor:
    return torch.where(values >= 0, 1.0, -1.0)

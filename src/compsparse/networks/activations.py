"""Activation functions by name."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from compsparse.checks import check_choice


def identity(x: Tensor) -> Tensor:
    """x itself: a network without nonlinearity."""
    return x


ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "silu": functional.silu,
    "tanh": torch.tanh,
    "relu": torch.relu,
    "gelu": functional.gelu,
    "sin": torch.sin,
    "identity": identity,
}
"""All activation functions by name."""


def activation(name: str) -> Callable[[Tensor], Tensor]:
    """The activation function of a name."""
    return ACTIVATIONS[check_choice("activation", name, ACTIVATIONS)]


def name_of(function: Callable[[Tensor], Tensor]) -> str:
    """The name of an activation function; empty where it has none."""
    return next((name for name, known in ACTIVATIONS.items() if known is function), "")

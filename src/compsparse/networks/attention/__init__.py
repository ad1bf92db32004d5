"""Attention as selection: transformer blocks whose selection can be exactly sparse."""

from compsparse.networks.attention.blocks import BlockForm
from compsparse.networks.attention.network import AttentionNetwork
from compsparse.networks.attention.selection import (
    SELECTIONS,
    Selection,
    entmax,
    entmax15,
    softmax,
    sparsemax,
    top_k,
)
from compsparse.networks.attention.thoughts import think

__all__ = [
    "SELECTIONS",
    "AttentionNetwork",
    "BlockForm",
    "Selection",
    "entmax",
    "entmax15",
    "softmax",
    "sparsemax",
    "think",
    "top_k",
]

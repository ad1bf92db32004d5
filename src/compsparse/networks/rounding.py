"""How far floating-point arithmetic can take an explicit network from the numbers it stands for.

A running error analysis (Higham 2002, chapter 3): layer by layer, the largest values that the rows can take and the
largest error of what was computed so far. It holds for every order of summation, with or without fused products.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from compsparse.checks import check_dtype, check_numbers
from compsparse.errors import ConfigError
from compsparse.networks.explicit import SparseLayer

_INFLATION = 1 + 1e-9  # covers the rounding of the analysis itself, which is done in double precision


@dataclass(frozen=True)
class RoundedRange:
    """Where the outputs lie on a box of inputs, and how far the computed ones can be from the exact ones."""

    lower: np.ndarray
    upper: np.ndarray
    error: np.ndarray


def rounding_error(
    layers: Sequence[SparseLayer],
    lower: np.ndarray,
    upper: np.ndarray,
    dtype: torch.dtype = torch.float64,
    *,
    n_roundings: int = 1,
) -> RoundedRange:
    r"""A bound for inputs between ``lower`` and ``upper`` that are numbers of the type themselves.

    With unit roundoff u a row of k weights, each rounded r times before it was stored, adds
    :math:`\gamma_{k+r+1} (|W||x| + |b|)`, :math:`\gamma_k = ku/(1 - ku)`, to the error :math:`|W| e` that it inherits.

    Args:
        n_roundings: r; 1 covers weights of double precision that were rounded to ``dtype``.

    >>> layer = SparseLayer.of([[2.0, -1.0]], [0.5], False)
    >>> found = rounding_error([layer], np.zeros(2), np.ones(2))
    >>> found.lower.tolist(), found.upper.tolist(), bool(found.error[0] < 2e-15)
    ([-0.5], [2.5], True)
    """
    limits = torch.finfo(check_dtype(dtype))
    lo = check_numbers("lower", lower, shape=(None,))
    hi = check_numbers("upper", upper, shape=lo.shape)
    if (lo > hi).any():
        raise ConfigError("lower must not be above upper")
    u, error = limits.eps / 2, np.zeros(len(lo))
    for layer in layers:
        W = layer.matrix
        size = abs(W)
        most = size @ (np.maximum(abs(lo), abs(hi)) + error) + abs(layer.bias)
        terms = (np.diff(W.indptr) + 1 + n_roundings) * u
        if (terms >= 0.5).any():
            raise ConfigError("a row has too many weights for its rounding error to be bounded")
        error = _INFLATION * (size @ error + terms / (1 - terms) * most) + (np.diff(W.indptr) + 2) * limits.tiny
        positive, negative = W.maximum(0), W.minimum(0)
        lo, hi = positive @ lo + negative @ hi + layer.bias, positive @ hi + negative @ lo + layer.bias
        lo, hi = np.where(layer.relu, np.maximum(lo, 0), lo), np.where(layer.relu, np.maximum(hi, 0), hi)
    return RoundedRange(lo, hi, error)

r"""Associative memories: matrices and soft lookups that answer a stored key with its value.

Patterns are columns, as in Poggio 2023: keys X (d, P) and values Y (k, P). The best linear memory is
:math:`A = Y X^+`, exact while the keys are independent, and so for at most d of them. Its equation 10,
:math:`A = Y X^T (X X^T)^{-1}`, is the same where :math:`X X^T` can be inverted, which takes at least d patterns. The
Hebbian :math:`A = Y X^T` needs :math:`X^T X \approx I`, keys that are nearly orthonormal.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from compsparse.checks import brief, check_count, check_flag, check_number
from compsparse.errors import ConfigError, DataError
from compsparse.networks.replicas import check_tensor

_MOST_STEPS = 100_000

Memory = Callable[[Tensor], Tensor]
"""From queries (d, n), or batches (..., d, n), to what is recalled, (k, n) or (..., k, n)."""


def pseudo_inverse_memory(X: Tensor, Y: Tensor) -> Memory:
    """The linear memory of least error, A = Y X^+.

    >>> X = torch.eye(4)[:, :2]
    >>> pseudo_inverse_memory(X, X.flip(1))(X).tolist() == X.flip(1).tolist()
    True
    """
    keys, values = _check_pairs(X, Y)
    return _linear(values @ torch.linalg.pinv(keys))


def hebbian_memory(X: Tensor, Y: Tensor) -> Memory:
    """The sum of the outer products of values and keys, each key scaled to norm 1 in the mean: A = Y X^T / scale."""
    keys, values = _check_pairs(X, Y)
    scale = keys.square().sum(-2).mean(-1)
    return _linear(values @ keys.transpose(-1, -2) / scale[..., None, None])


def softmax_memory(X: Tensor, Y: Tensor, beta: float | None = None) -> Memory:
    r"""One step of softmax retrieval, :math:`Y \mathrm{softmax}(\beta X^T \xi)`: a head whose keys are the patterns.

    Args:
        beta: the sharpness; None takes :math:`4/\sqrt d`.
    """
    keys, values = _check_pairs(X, Y)
    sharpness = 4 / math.sqrt(keys.shape[-2]) if beta is None else check_number("beta", beta, above=0)

    def recall(queries: Tensor) -> Tensor:
        scores = keys.transpose(-1, -2) @ _check_queries(queries, keys.shape[-2])
        return values @ torch.softmax(sharpness * scores, dim=-2)

    return recall


def recall_chain(memory: Memory, start: Tensor, n_steps: int, *, clean_up: bool = True) -> list[Tensor]:
    """What a memory makes of its own answers: a sequence of associations, the start first.

    Args:
        clean_up: take signs after every step, for patterns of signs.
    """
    n_steps = check_count("n_steps", n_steps, least=0, most=_MOST_STEPS)
    check_flag("clean_up", clean_up)
    if not callable(memory):
        raise ConfigError(f"memory must be a function of queries, got {brief(memory)}")
    states = [check_tensor(start)]
    for _ in range(n_steps):
        recalled = memory(states[-1])
        if recalled.shape != states[-1].shape:
            raise ConfigError("a chain needs values as long as keys: each answer is the next question")
        states.append(torch.where(recalled >= 0, 1.0, -1.0).to(recalled.dtype) if clean_up else recalled)
    return states


def hebbian_bit_error(d: int, n_patterns: int) -> float:
    r"""The share of wrong signs that the Hebbian memory of P random sign patterns recalls, for large d.

    The crosstalk of the other patterns is Gaussian with variance (P - 1)/d:
    :math:`\frac12 \mathrm{erfc}\sqrt{d / (2(P - 1))}`.

    >>> round(hebbian_bit_error(256, 128), 4)
    0.0778
    """
    d, others = check_count("d", d), check_count("n_patterns", n_patterns) - 1
    return 0.5 * math.erfc(math.sqrt(d / (2 * others))) if others else 0.0


def _linear(A: Tensor) -> Memory:
    def recall(queries: Tensor) -> Tensor:
        return A @ _check_queries(queries, A.shape[-1])

    return recall


def _check_pairs(X: Any, Y: Any) -> tuple[Tensor, Tensor]:
    for name, pattern in (("X", X), ("Y", Y)):
        if check_tensor(pattern).ndim < 2 or not pattern.numel() or not pattern.is_floating_point():
            raise DataError(f"{name} must hold patterns of real numbers as columns, got shape {tuple(pattern.shape)}")
        if not bool(torch.isfinite(pattern).all()):
            raise DataError(f"{name} holds NaN or infinite values")
    if X.shape[-1] != Y.shape[-1] or X.shape[:-2] != Y.shape[:-2]:
        raise DataError(f"every key needs a value: X has shape {tuple(X.shape)}, Y {tuple(Y.shape)}")
    return X, Y


def _check_queries(queries: Tensor, d: int) -> Tensor:
    if check_tensor(queries).ndim < 2 or queries.shape[-2] != d:
        raise DataError(f"queries must be columns of {d} numbers, got shape {tuple(queries.shape)}")
    return queries

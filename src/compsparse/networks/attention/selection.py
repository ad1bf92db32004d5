r"""Maps from scores to weights: who is attended to, and who is left out.

All but softmax can answer exact zeros. The :math:`\alpha`-entmax of scores :math:`z` is

.. math:: p = [(\alpha - 1) z - \tau]_+^{1/(\alpha - 1)}, \qquad \sum_i p_i = 1,

softmax in the limit :math:`\alpha \to 1` and sparsemax, the projection onto the simplex, at :math:`\alpha = 2` (Peters,
Niculae and Martins 2019). The memos write the selection as :math:`xH(x)` with a threshold :math:`H`; that is the ReLU,
and :func:`relu` normalises it, while the softmax that transformers use leaves nobody out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import torch
from torch import Tensor

from compsparse.checks import brief, check_choice, check_count, check_number
from compsparse.errors import ConfigError, DataError
from compsparse.networks.replicas import check_tensor

Selection: TypeAlias = Callable[[Tensor], Tensor]
"""From scores (..., n) to weights >= 0 that sum to 1 over the last dimension; a score of minus infinity gets 0. A row
of nothing else has nobody to choose from: all its weights are 0."""

_BISECTIONS = {torch.float64: 60}
_FEW_BISECTIONS = 40


def softmax(scores: Tensor) -> Tensor:
    """The exponentials of the scores, normalised; no weight is zero.

    >>> softmax(torch.zeros(4)).tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    return _among_open(_check_scores(scores), lambda z: torch.softmax(z, dim=-1))


def sparsemax(scores: Tensor) -> Tensor:
    """The nearest point of the simplex (Martins and Astudillo 2016), exact, by sorting.

    >>> sparsemax(torch.tensor([1.0, 0.5, -1.0])).tolist()
    [0.75, 0.25, 0.0]
    """
    return _selected(_check_scores(scores), 2.0, _sparsemax_threshold)


def entmax15(scores: Tensor) -> Tensor:
    """The 1.5-entmax, exact, by sorting: between softmax and sparsemax.

    >>> entmax15(torch.tensor([1.0, 1.0, -2.0])).tolist()
    [0.5, 0.5, 0.0]
    """
    return _selected(_check_scores(scores), 1.5, _entmax15_threshold)


def entmax(scores: Tensor, alpha: float = 1.5) -> Tensor:
    """The alpha-entmax for any alpha > 1, its threshold found by bisection; alpha = 1 is softmax.

    >>> torch.allclose(entmax(torch.tensor([1.0, 0.5, -1.0]), alpha=2.0), torch.tensor([0.75, 0.25, 0.0]))
    True
    """
    alpha = check_number("alpha", alpha, least=1)
    if alpha == 1:
        return softmax(scores)
    return _selected(_check_scores(scores), alpha, _threshold_by_bisection(alpha))


def relu(scores: Tensor) -> Tensor:
    """The positive part of the scores, normalised: the memos' xH(x). Where no score is positive, softmax.

    >>> relu(torch.tensor([3.0, 1.0, -2.0])).tolist()
    [0.75, 0.25, 0.0]
    """
    return _among_open(_check_scores(scores), _positive_share)


def _positive_share(z: Tensor) -> Tensor:
    positive = z.clamp(min=0)
    total = positive.sum(-1, keepdim=True)
    return torch.where(total > 0, positive / total.masked_fill(total == 0, 1.0), torch.softmax(z, dim=-1))


def top_k(scores: Tensor, k: int) -> Tensor:
    """Softmax over the k highest scores alone; of equal scores those that torch lists first.

    >>> top_k(torch.tensor([0.0, 3.0, 0.0, 3.0]), k=2).tolist()
    [0.0, 0.5, 0.0, 0.5]
    """
    n = _check_scores(scores).shape[-1]
    if check_count("k", k) > n:
        raise ConfigError(f"k = {k} of {n} tokens cannot be selected: k must be at most {n}")
    chosen = torch.zeros_like(scores, dtype=torch.bool).scatter_(-1, scores.topk(k, dim=-1).indices, True)
    return softmax(scores.masked_fill(~chosen, -torch.inf))


SELECTIONS: dict[str, Selection] = {
    "softmax": softmax, "relu": relu, "sparsemax": sparsemax, "entmax15": entmax15
}  # fmt: skip
"""The selections that need no number, by name."""


def check_selection(selection: Any) -> Selection:
    """A selection by its name, or the function that was given."""
    if callable(selection):
        return selection  # type: ignore[no-any-return]
    if isinstance(selection, str):
        return SELECTIONS[check_choice("selection", selection, SELECTIONS)]
    raise ConfigError(f"selection must be one of {list(SELECTIONS)} or a function of scores, got {brief(selection)}")


def _check_scores(scores: Tensor) -> Tensor:
    check_tensor(scores)
    if scores.ndim == 0 or scores.shape[-1] == 0 or not scores.is_floating_point():
        raise DataError(f"scores must be a tensor of at least one real number per row, got {brief(scores)}")
    return scores


def _among_open(scores: Tensor, select: Callable[[Tensor], Tensor]) -> Tensor:
    """What is selected of every row; a row that is masked whole gets zeros, and passes no gradient on."""
    closed = scores.amax(-1, keepdim=True) == -torch.inf
    return select(scores.masked_fill(closed, 0.0)).masked_fill(closed, 0.0)


# ---- entmax ---------------------------------------------------------------------------------


def _selected(scores: Tensor, alpha: float, threshold: _Threshold) -> Tensor:
    return _among_open(scores, lambda z: _Entmax.apply(z, alpha, threshold))  # type: ignore[no-untyped-call]


_Threshold: TypeAlias = Callable[[Tensor], Tensor]
"""From scaled scores whose largest is 0 to the threshold of each row, between -1 and 0."""


class _Entmax(torch.autograd.Function):
    """Forward by a threshold; backward by the Jacobian diag(s) - s s^T / sum(s) with s = p^(2 - alpha)."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, alpha: float, threshold: _Threshold) -> Tensor:
        z = (scores - scores.amax(-1, keepdim=True)) * (alpha - 1)
        # the threshold is at least -1, so whatever lies below it is left out all the same; this keeps infinities away
        z = z.clamp(min=-2)
        weights = (z - threshold(z)).clamp(min=0) ** (1 / (alpha - 1))
        weights = weights / weights.sum(-1, keepdim=True)
        ctx.save_for_backward(weights)
        ctx.alpha = alpha
        return weights

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        (weights,), (gradient,) = ctx.saved_tensors, gradients
        slopes = torch.where(weights > 0, weights.clamp(min=torch.finfo(weights.dtype).tiny) ** (2 - ctx.alpha), 0.0)
        mean = (gradient * slopes).sum(-1, keepdim=True) / slopes.sum(-1, keepdim=True)
        return slopes * (gradient - mean), None, None


def _sparsemax_threshold(z: Tensor) -> Tensor:
    """The mean of the k highest less 1/k, for the largest k whose lowest member stays above it."""
    descending = z.sort(dim=-1, descending=True).values
    k = _counting(z)
    thresholds = (descending.cumsum(-1) - 1) / k
    return _last_below(thresholds, descending)


def _entmax15_threshold(z: Tensor) -> Tensor:
    """The root tau of sum (z_i - tau)^2 = 1 over the k highest, for the largest such k."""
    descending = z.sort(dim=-1, descending=True).values
    k = _counting(z)
    mean = descending.cumsum(-1) / k
    spread = descending.square().cumsum(-1) / k - mean.square()
    thresholds = mean - (1 / k - spread).clamp(min=0).sqrt()
    return _last_below(thresholds, descending)


def _counting(z: Tensor) -> Tensor:
    return torch.arange(1, z.shape[-1] + 1, device=z.device, dtype=z.dtype)


def _last_below(thresholds: Tensor, descending: Tensor) -> Tensor:
    """The threshold of the last place that is above its own."""
    size = (thresholds <= descending).sum(-1, keepdim=True).clamp(min=1)
    return thresholds.gather(-1, size - 1)


def _threshold_by_bisection(alpha: float) -> _Threshold:
    def threshold(z: Tensor) -> Tensor:
        low = torch.full_like(z[..., :1], -1.0)
        width = torch.ones_like(low)
        for _ in range(_BISECTIONS.get(z.dtype, _FEW_BISECTIONS)):
            width = width / 2
            middle = low + width
            total = ((z - middle).clamp(min=0) ** (1 / (alpha - 1))).sum(-1, keepdim=True)
            low = torch.where(total >= 1, middle, low)
        return low

    return threshold

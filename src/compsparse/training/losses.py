"""Losses: one number per replica from predictions, targets and weights."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor
from torch.nn import functional

from compsparse.checks import check_number


class Loss(ABC):
    """A loss that is a weighted mean of one term per sample.

    Attributes:
        of_classes: whether targets are classes; None takes numbers and classes.
    """

    of_classes: bool | None = None

    @abstractmethod
    def per_sample(self, prediction: Tensor, target: Tensor) -> Tensor:
        """From (R, n, k) and (R, n, …) to (R, n)."""

    def n_targets(self, n_outputs: int) -> int:
        """How many target columns of numbers go with so many outputs."""
        return n_outputs

    def mean(self, prediction: Tensor, target: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """The weighted mean over samples, per replica."""
        terms = self.per_sample(prediction, target)
        if sample_weight is None:
            return terms.mean(-1)
        return (terms * sample_weight).sum(-1) / sample_weight.sum(-1)


class SquaredLoss(Loss):
    """Mean over outputs of (prediction - target)^2."""

    of_classes = False

    def per_sample(self, prediction: Tensor, target: Tensor) -> Tensor:
        """The squared error of each sample."""
        return (prediction - target).square().mean(-1)


class HuberLoss(Loss):
    """Squared near zero, absolute beyond ``delta``: outliers pull less."""

    of_classes = False

    def __init__(self, delta: float = 1.0):
        self.delta = check_number("delta", delta, above=0)

    def per_sample(self, prediction: Tensor, target: Tensor) -> Tensor:
        """Huber's function of each sample's error."""
        return functional.huber_loss(prediction, target, reduction="none", delta=self.delta).mean(-1)


class ExponentialLoss(Loss):
    """exp(-y f) of classes that are written as -1 and 1: without a regulariser it drives margins apart for ever."""

    of_classes = False

    def per_sample(self, prediction: Tensor, target: Tensor) -> Tensor:
        """The exponential of each sample's margin, its sign turned."""
        return torch.exp(-prediction * target).mean(-1)


class CrossEntropy(Loss):
    """Negative log likelihood of integer classes under softmax logits, one per channel."""

    of_classes = True

    def per_sample(self, prediction: Tensor, target: Tensor) -> Tensor:
        """The negative log probability of each sample's class."""
        log_p = torch.log_softmax(prediction, dim=-1)
        classes = target.expand(prediction.shape[:-1]).unsqueeze(-1)
        return -log_p.gather(-1, classes).squeeze(-1)

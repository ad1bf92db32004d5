"""Batch normalisation for replicas: every replica has statistics of its own."""

from __future__ import annotations

import torch
from torch import Tensor, nn

_MOMENTUM, _EPSILON = 0.1, 1e-5


class ReplicaBatchNorm(nn.Module):
    """Normalises ``(R, features, samples)`` over the samples, as ``torch.nn.BatchNorm1d`` does for one network.

    While training, by the mean and variance of the batch; in evaluation, by their running averages.
    """

    replica_buffers = ("mean", "variance")
    mean: Tensor
    variance: Tensor

    def __init__(self, n_replicas: int, features: int):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(n_replicas, features))
        self.bias = nn.Parameter(torch.zeros(n_replicas, features))
        self.register_buffer("mean", torch.zeros(n_replicas, features))
        self.register_buffer("variance", torch.ones(n_replicas, features))

    def forward(self, x: Tensor) -> Tensor:
        """The normalised features, scaled and shifted."""
        if self.training:
            variance, mean = torch.var_mean(x, dim=-1, correction=0)
            with torch.no_grad():
                n = x.shape[-1]
                self.mean.lerp_(mean, _MOMENTUM)
                self.variance.lerp_(variance * (n / max(n - 1, 1)), _MOMENTUM)
        else:
            mean, variance = self.mean, self.variance
        factor, shift = self._affine(mean, variance)
        return x * factor.unsqueeze(-1) + shift.unsqueeze(-1)

    def as_affine(self) -> tuple[Tensor, Tensor]:
        """What it multiplies by and adds in evaluation, ``(R, features)`` each."""
        return self._affine(self.mean, self.variance)

    def _affine(self, mean: Tensor, variance: Tensor) -> tuple[Tensor, Tensor]:
        factor = self.scale * torch.rsqrt(variance + _EPSILON)
        return factor, self.bias - mean * factor

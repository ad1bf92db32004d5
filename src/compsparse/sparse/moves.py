r"""What the layers of an unrolled network do before their threshold, and which of it is learned.

ISTA moves a code z to :math:`z + \frac1L W^\top (x - W z)`; each class here is that move with other weights.
All hold weights and thresholds of R replicas and K layers, and start from the dictionary.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn


class Move(nn.Module, ABC):
    """The linear part of every layer, with its thresholds.

    All are made from dictionaries W (R, d, n), penalties lam (R,) of the Lasso and the number of layers.
    """

    starts_as_ista: bool = True
    """Whether layers that are not trained yet are steps of ISTA."""
    thresholds: Tensor

    @abstractmethod
    def forward(self, layer: int, x: Tensor, z: Tensor, W: Tensor) -> Tensor:
        """From signals (R, d, batch) and codes (R, n, batch) to codes (R, n, batch)."""

    def threshold(self, layer: int) -> Tensor:
        """Learned: (R, n or 1, 1)."""
        learned: Tensor = self.thresholds[:, layer]
        return learned.reshape(len(learned), -1, 1)

    @abstractmethod
    def encoding(self, layer: int) -> Tensor:
        """What multiplies the signal, (R, n, d)."""

    @abstractmethod
    def inhibition(self, layer: int, W: Tensor) -> Tensor:
        """What multiplies the code in ``encoding @ x + inhibition @ z``, which is the whole move, (R, n, n)."""

    def first(self, layer: int, x: Tensor) -> Tensor:
        """The move from a code of zeros."""
        return torch.bmm(self.encoding(layer), x)


class FreeMove(Move):
    """LISTA (Gregor and LeCun 2010): ``encode`` and ``inhibit`` are learned, once or for every layer."""

    def __init__(self, W: Tensor, lam: Tensor, n_layers: int, *, tied: bool):
        super().__init__()
        self.tied = tied
        copies = 1 if tied else n_layers
        step = ista_step(W)
        encode = W.mT * step[:, None, None]
        inhibit = torch.eye(W.shape[-1], dtype=W.dtype) - encode @ W
        self.encode = nn.Parameter(_repeated(encode, copies))
        self.inhibit = nn.Parameter(_repeated(inhibit, copies))
        self.thresholds = nn.Parameter(_repeated((step * lam / 2)[:, None].expand(-1, W.shape[-1]), copies))

    def forward(self, layer: int, x: Tensor, z: Tensor, W: Tensor) -> Tensor:
        """Both learned matrices, on the signal and on the code."""
        return torch.baddbmm(self.first(layer, x), self.inhibition(layer, W), z)

    def threshold(self, layer: int) -> Tensor:
        """One for each entry of a code."""
        return super().threshold(self._at(layer))

    def encoding(self, layer: int) -> Tensor:
        """The learned one."""
        return self.encode[:, self._at(layer)]

    def inhibition(self, layer: int, W: Tensor) -> Tensor:
        """The learned one."""
        return self.inhibit[:, self._at(layer)]

    def _at(self, layer: int) -> int:
        return 0 if self.tied else layer


class ResidualMove(Move):
    """z + B (x - W z): what is encoded, with weights B (R, n, d), is the residual of the code so far."""

    def forward(self, layer: int, x: Tensor, z: Tensor, W: Tensor) -> Tensor:
        """A step along what is encoded."""
        residual = torch.baddbmm(x, W, z, alpha=-1)
        return torch.baddbmm(z, self.encoding(layer), residual)

    def inhibition(self, layer: int, W: Tensor) -> Tensor:
        """The identity less what the code's own signal is encoded as."""
        return torch.eye(W.shape[-1], dtype=W.dtype, device=W.device) - self.encoding(layer) @ W


class CoupledMove(ResidualMove):
    """LISTA-CP (Chen, Liu, Wang and Yin 2018): B is learned for every layer, with one threshold each."""

    def __init__(self, W: Tensor, lam: Tensor, n_layers: int):
        super().__init__()
        step = ista_step(W)
        self.weights = nn.Parameter(_repeated(W.mT * step[:, None, None], n_layers))
        self.thresholds = nn.Parameter(_repeated((step * lam / 2)[:, None], n_layers))

    def encoding(self, layer: int) -> Tensor:
        """The learned B."""
        return self.weights[:, layer]


class StepMove(ResidualMove):
    """SLISTA (Ablin, Moreau, Massias and Gramfort 2019): only the step of every layer is learned.

    A step s comes with the threshold s lam / 2, so that every layer is one step of proximal gradient descent.
    """

    replica_buffers = ("transposed", "lam")
    transposed: Tensor
    lam: Tensor

    def __init__(self, W: Tensor, lam: Tensor, n_layers: int):
        super().__init__()
        self.register_buffer("transposed", W.mT.contiguous())
        self.register_buffer("lam", lam)
        self.steps = nn.Parameter(_repeated(ista_step(W), n_layers))

    def encoding(self, layer: int) -> Tensor:
        """The dictionary, transposed, times the learned step."""
        return self.steps[:, layer, None, None] * self.transposed

    def threshold(self, layer: int) -> Tensor:
        """As large as the step asks for."""
        return (self.steps[:, layer] * self.lam / 2)[:, None, None]


class AnalyticMove(ResidualMove):
    """ALISTA (Liu, Chen, Wang and Yin 2019): B is computed, its step and the threshold of every layer are learned."""

    starts_as_ista = False
    replica_buffers = ("analytic",)
    analytic: Tensor

    def __init__(self, W: Tensor, lam: Tensor, n_layers: int):
        super().__init__()
        B = analytic_weights(W)
        self.register_buffer("analytic", B.mT.contiguous())
        # B^T W is not symmetric positive, but its norm bounds a step that does not blow up
        first = 1 / torch.linalg.matrix_norm(B.mT @ W, 2)
        self.steps = nn.Parameter(_repeated(first, n_layers))
        self.thresholds = nn.Parameter(_repeated(first * lam / 2, n_layers))

    def encoding(self, layer: int) -> Tensor:
        """The computed B times the learned step."""
        return self.steps[:, layer, None, None] * self.analytic


def ista_step(W: Tensor) -> Tensor:
    """1/L, the step of ISTA for each of (R, d, n) dictionaries; the threshold is lam/2 times as large."""
    step: Tensor = 1 / torch.linalg.matrix_norm(W, 2).square()
    return step


def analytic_weights(W: Tensor) -> Tensor:
    r"""The matrix of least :math:`\|B^\top W\|_F` with :math:`b_j^\top w_j = 1`, (…, d, n) like W.

    .. math:: b_j = (W W^\top)^{-1} w_j \,/\, w_j^\top (W W^\top)^{-1} w_j
    """
    whitened: Tensor = torch.linalg.solve(W @ W.mT, W)
    return whitened / (W * whitened).sum(-2, keepdim=True)


def _repeated(values: Tensor, copies: int) -> Tensor:
    """(R, …) to (R, copies, …), memory of its own."""
    return values[:, None].expand(-1, copies, *values.shape[1:]).clone()

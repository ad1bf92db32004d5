"""How much a layer's answer changes when data change in a way that keeps their label."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor

from compsparse.checks import RandomState, check_count, check_flag, check_kind, generator_from
from compsparse.errors import DataError
from compsparse.networks.symbols import SymbolNetwork
from compsparse.tasks.hierarchy import HierarchySample, diffeomorphism, exchange_synonyms
from compsparse.text import in_a_line

_ROWS_AT_ONCE = 4096


@in_a_line
@dataclass(frozen=True)
class Sensitivity:
    r"""Sensitivities of every layer to one operator at one level.

    .. math:: S_k = \frac{\langle \|f_k(x) - f_k(p x)\|^2 \rangle}{\langle \|f_k(x) - f_k(z)\|^2 \rangle}

    with f_k the activations of layer k, the outputs last, p x a changed x and z another datum. 1 means that
    the change matters as much as any; 0 that it is not seen.

    Attributes:
        values: ``(R, layers)``.
        allow_identity: whether the operator may leave a datum as it is.
    """

    operator: str
    level: int
    values: np.ndarray
    allow_identity: bool


def synonym_sensitivity(
    network: SymbolNetwork,
    sample: HierarchySample,
    level: int = 1,
    random_state: RandomState = None,
    *,
    allow_identity: bool = True,
) -> Sensitivity:
    """S_k: the synonyms of every tuple of ``level`` and below are drawn anew, positions stay.

    Args:
        level: counted from the input, where tuples have level 1.
        allow_identity: False makes every tuple of the level differ from what it was.
    """
    operator = partial(exchange_synonyms, allow_identity=check_flag("allow_identity", allow_identity))
    return Sensitivity(
        "synonym exchange", level, _ratios(network, sample, operator, level, random_state), allow_identity
    )


def diffeomorphism_sensitivity(
    network: SymbolNetwork,
    sample: HierarchySample,
    level: int = 1,
    random_state: RandomState = None,
    *,
    allow_identity: bool = True,
) -> Sensitivity:
    """D_k: the positions of the symbols of ``level`` and below are drawn anew, symbols stay.

    Args:
        level: counted from the input, where tuples have level 1.
        allow_identity: False makes every tuple of the level lie elsewhere than it did.
    """
    operator = partial(diffeomorphism, allow_identity=check_flag("allow_identity", allow_identity))
    return Sensitivity("diffeomorphism", level, _ratios(network, sample, operator, level, random_state), allow_identity)


def _ratios(
    network: SymbolNetwork,
    sample: HierarchySample,
    operator: Callable[[HierarchySample, int, RandomState], HierarchySample],
    level: int,
    random_state: RandomState,
) -> np.ndarray:
    check_kind("sample", sample, HierarchySample)
    check_count("level", level, most=sample.model.n_levels)
    if len(sample) < 2:
        raise DataError("a sensitivity compares different data: it needs at least two")
    rng = generator_from(random_state)
    return relative_change(network, sample.X, operator(sample, level, rng).X)


@torch.no_grad()
def relative_change(network: SymbolNetwork, X: np.ndarray, changed: np.ndarray) -> np.ndarray:
    """How much every layer's answer changes from X to ``changed``, as :class:`Sensitivity` has it; ``(R, layers)``.

    Args:
        X: symbols, or rows already encoded, as the network reads them; likewise ``changed``.
    """
    check_kind("network", network, SymbolNetwork)
    device = next(network.parameters()).device
    moments: list[_Moments] = []
    for start in range(0, len(X), _ROWS_AT_ONCE):
        part = slice(start, start + _ROWS_AT_ONCE)
        before = network.activations(torch.as_tensor(X[part], device=device))
        after = network.activations(torch.as_tensor(changed[part], device=device))
        moments = moments or [_Moments.zero(h) for h in before]
        moments = [m.with_rows(a, b) for m, a, b in zip(moments, before, after, strict=True)]
    return np.stack([m.ratio(len(X)) for m in moments], axis=1)


@dataclass(frozen=True)
class _Moments:
    """Sums over data of what a layer answers, ``(R, units)`` or ``(R,)``, in double precision."""

    total: Tensor
    square: Tensor
    change: Tensor

    @classmethod
    def zero(cls, h: Tensor) -> _Moments:
        units = torch.zeros(h.flatten(2).shape[::2], dtype=torch.float64, device=h.device)
        return cls(units, units[:, 0].clone(), units[:, 0].clone())

    def with_rows(self, before: Tensor, after: Tensor) -> _Moments:
        a, b = before.flatten(2).double(), after.flatten(2).double()
        return _Moments(
            self.total + a.sum(1), self.square + a.square().sum((1, 2)), self.change + (a - b).square().sum((1, 2))
        )

    def ratio(self, n: int) -> np.ndarray:
        """Mean squared change over the mean squared distance of two different data.

        The sum over all pairs, self pairs adding nothing, is 2 n sum |f|^2 - 2 |sum f|^2.
        """
        apart = (2 * n * self.square - 2 * self.total.square().sum(1)) / (n * (n - 1))
        return np.asarray((self.change / n / apart).cpu().numpy())

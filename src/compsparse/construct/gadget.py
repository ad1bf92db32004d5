"""Gadgets, which every construction returns, and how far rounding can take a network from its numbers.

A running error analysis (Higham 2002, chapter 3): layer by layer, the largest values that the rows can take and the
largest error of what was computed so far. It holds for every order of summation, with or without fused products, and
whether or not a machine keeps numbers below the smallest normal one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from scipy import sparse

from compsparse.arithmetic import UNIT_ROUNDOFF
from compsparse.checks import check_dtype, check_numbers
from compsparse.construct.explicit import SparseLayer
from compsparse.construct.forms import AffineForm
from compsparse.errors import ConfigError
from compsparse.text import in_a_line

N_ROUNDINGS = 4
"""How often a weight of a construction was rounded on its way from exact numbers."""
_INFLATION = 1 + 1e-9  # covers the rounding of the analysis itself, which is done in double precision


@in_a_line
@dataclass(frozen=True)
class RoundedRange:
    """Where the outputs lie on a box of inputs, and how far the computed ones can be from the exact ones.

    Attributes:
        error: infinite where the type cannot hold a weight, or a number on the way.
        fits: the type holds all weights as normal numbers, and no exact sum on the way comes near its largest.
    """

    lower: np.ndarray
    upper: np.ndarray
    error: np.ndarray
    fits: bool


def rounding_error(
    layers: Sequence[SparseLayer],
    lower: np.ndarray,
    upper: np.ndarray,
    dtype: torch.dtype = torch.float64,
    *,
    n_roundings: int = 1,
) -> RoundedRange:
    r"""A bound for inputs between ``lower`` and ``upper`` that are numbers of the type themselves.

    With unit roundoff u a row of k weights adds :math:`\gamma_{k+1} (|W||x| + |b|)`, :math:`\gamma_k = ku/(1 - ku)`, to
    the error :math:`|W| e` that it inherits; what weights lose when they are stored in the type is measured.

    Args:
        n_roundings: how often each weight was rounded to double precision on its way from an exact number.

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
    u, error, fits = limits.eps / 2, np.zeros(len(lo)), True
    with np.errstate(over="ignore", invalid="ignore"):
        for layer in layers:
            W, count = layer.matrix, np.diff(layer.matrix.indptr)
            terms = (count + 1) * u
            if (terms >= 0.5).any():
                raise ConfigError("a row has too many weights for its rounding error to be bounded")
            lost = sparse.csr_matrix((_lost(W.data, dtype, n_roundings), W.indices, W.indptr), shape=W.shape)
            lost_bias = _lost(layer.bias, dtype, n_roundings)
            size, reach = abs(W), np.maximum(abs(lo), abs(hi))
            flushed = error + limits.tiny  # an input below the smallest normal number may be read as zero
            most = (size + lost) @ (reach + flushed) + abs(layer.bias) + lost_bias
            error = size @ flushed + lost @ (reach + flushed) + lost_bias + terms / (1 - terms) * most
            error = _INFLATION * error + (count + 2) * limits.tiny
            error = np.where(np.isnan(error) | ~(most * _INFLATION < limits.max), np.inf, error)
            weights = np.abs(np.concatenate([W.data, layer.bias]))
            is_held = (weights == 0) | ((weights >= 2 * limits.tiny) & (weights < limits.max / 2))
            fits = fits and bool(is_held.all()) and bool(np.all(size @ reach + abs(layer.bias) < limits.max / 2))
            positive, negative = W.maximum(0), W.minimum(0)
            lo, hi = positive @ lo + negative @ hi + layer.bias, positive @ hi + negative @ lo + layer.bias
            lo, hi = np.where(layer.relu, np.maximum(lo, 0), lo), np.where(layer.relu, np.maximum(hi, 0), hi)
    return RoundedRange(lo, hi, error, fits)


def _lost(values: np.ndarray, dtype: torch.dtype, n_roundings: int) -> np.ndarray:
    """How far the stored numbers can be from the exact ones; infinite where the type has none so large."""
    kept = held_by(values, dtype)
    off = np.abs(values - kept)
    may_vanish = (values != 0) & (np.abs(kept) < torch.finfo(dtype).tiny)
    off = np.where(may_vanish, np.maximum(np.abs(values), np.abs(kept)), off)
    return np.where(np.isfinite(kept), off + n_roundings * UNIT_ROUNDOFF * np.abs(values), np.inf)


# ---- numbers of a type --------------------------------------------------------------------------


def held_by(values: np.ndarray, dtype: torch.dtype) -> np.ndarray:
    """The nearest numbers of the type."""
    return values if dtype == torch.float64 else torch.tensor(values).to(dtype).double().numpy()


def numbers_between(low: float, high: float, dtype: torch.dtype) -> tuple[float, float] | None:
    """The first and the last number of the type in an interval, or None.

    >>> numbers_between(0.1, 1.0, torch.float32), numbers_between(1 + 1e-9, 1 + 2e-9, torch.float32)
    ((0.10000000149011612, 1.0), None)
    """
    kind = np.float64 if dtype == torch.float64 else np.float32
    with np.errstate(over="ignore"):
        a, b = kind(low), kind(high)
    first = float(np.nextafter(a, kind(np.inf)) if float(a) < low else a)
    last = float(np.nextafter(b, kind(-np.inf)) if float(b) > high else b)
    return (first, last) if first <= last else None


# ---- gadgets ------------------------------------------------------------------------------------


def row_of(form: AffineForm, *, relu: bool = False) -> SparseLayer:
    """A layer of one row, the form of its wires; a constant reads one wire with the weight 0."""
    return SparseLayer.of(form.weights_on(form.wires or (0,))[None], [float(form.constant)], relu)


@dataclass(frozen=True, eq=False)
class Gadget:
    """A small network with one output.

    Attributes:
        wires: the wires that its first layer reads, in the order of the columns.
        layers: the last of them has one row and no ReLU.
        error: certified bound on its distance to the function it stands for, in exact arithmetic.
        method: the construction, in a word or two.
        own_rounding: a sharper bound on rounding than the general analysis, from ranges of the wires.
    """

    wires: tuple[int, ...]
    layers: tuple[SparseLayer, ...]
    error: float
    method: str
    own_rounding: Callable[[np.ndarray, np.ndarray, torch.dtype], float] | None = None

    @property
    def n_units(self) -> int:
        """Rows with a ReLU."""
        return sum(layer.n_units for layer in self.layers)

    @property
    def depth(self) -> int:
        """Layers from its wires to its output."""
        return len(self.layers)

    def rounding(self, lower: np.ndarray, upper: np.ndarray, dtype: torch.dtype) -> float:
        """How far rounding can take it from exact arithmetic, for wires in these ranges; infinite on overflow."""
        found = rounding_error(self.layers, lower, upper, dtype, n_roundings=N_ROUNDINGS)
        if self.own_rounding is None or not found.fits:
            return float(found.error[0])
        return self.own_rounding(lower, upper, dtype)

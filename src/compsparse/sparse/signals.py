"""Signals x = W z + noise of sparse codes: how to draw them, and checks of those that are given."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from compsparse.checks import (
    RandomState,
    brief,
    check_choice,
    check_count,
    check_number,
    check_numbers,
    generator_from,
    row_text,
)
from compsparse.errors import ConfigError, DataError
from compsparse.sizes import check_size
from compsparse.sparse.dictionaries import check_dictionary

Amplitudes = Literal["gaussian", "signs", "uniform", "sphere"]


@dataclass(frozen=True, eq=False)
class CodedSignals:
    """Signals in the rows of ``X`` (m, d) and the codes they were made of in those of ``Z`` (m, n)."""

    X: np.ndarray
    Z: np.ndarray

    def __repr__(self) -> str:
        m, d, n = *self.X.shape, self.Z.shape[1]
        return f"CodedSignals({m:,} signals of {d:,} entries, codes over {n:,} atoms)"


@dataclass(frozen=True, eq=False)
class SparseCodes:
    r"""The task of sparse inference: signals :math:`x = W z + \sigma \epsilon` of codes with k entries.

    Supports are uniform over all of k columns.

    Attributes:
        dictionary: (d, n).
        k: how many entries of a code are not zero.
        amplitudes: the law of these entries: standard ``gaussian``; ``signs``, 1 or -1; ``uniform``, of
            random sign and size between 0.5 and 1.5; or ``sphere``, the gaussian ones scaled so that a code has
            norm 1 (the measure of Bruna's corollary on sparse inference).
        noise: standard deviation of the noise in each coordinate of a signal.

    >>> from compsparse.sparse import spikes_and_hadamard
    >>> task = SparseCodes(spikes_and_hadamard(8), k=2, amplitudes="signs")
    >>> signals = task.sample(5, random_state=0)
    >>> signals.X.shape, np.count_nonzero(signals.Z, axis=1)
    ((5, 8), array([2, 2, 2, 2, 2]))
    """

    dictionary: np.ndarray
    k: int
    amplitudes: Amplitudes = "gaussian"
    noise: float = 0.0

    def __init__(self, dictionary: ArrayLike, k: int, amplitudes: Amplitudes = "gaussian", noise: float = 0.0):
        W = check_dictionary(dictionary)
        W.setflags(write=False)
        checked = {
            "dictionary": W,
            "k": check_n_atoms("k", k, W),
            "amplitudes": check_choice("amplitudes", amplitudes, get_args(Amplitudes)),
            "noise": check_number("noise", noise, least=0),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        d, n = self.dictionary.shape
        return f"SparseCodes({d:,} x {n:,} dictionary, k={self.k}, {self.amplitudes} entries, noise={self.noise:g})"

    def sample(self, m: int, random_state: RandomState = None) -> CodedSignals:
        """m signals with their codes."""
        m, rng = check_count("m", m), generator_from(random_state)
        d, n = self.dictionary.shape
        check_size(f"{m:,} signals with their codes", m * (4.0 * n + 2.0 * d), "ask for fewer")
        # the places of the k smallest of n random numbers are a uniform support
        support = np.argpartition(rng.random((m, n)), self.k - 1, axis=1)[:, : self.k]
        Z = np.zeros((m, n))
        np.put_along_axis(Z, support, self._entries(m, rng), axis=1)
        X = Z @ self.dictionary.T
        return CodedSignals(X + self.noise * rng.standard_normal((m, d)) if self.noise else X, Z)

    def _entries(self, m: int, rng: np.random.Generator) -> np.ndarray:
        shape = (m, self.k)
        if self.amplitudes == "signs":
            return rng.choice([-1.0, 1.0], size=shape)
        if self.amplitudes == "uniform":
            return rng.choice([-1.0, 1.0], size=shape) * rng.uniform(0.5, 1.5, size=shape)
        entries = rng.standard_normal(shape)
        return entries / np.linalg.norm(entries, axis=1, keepdims=True) if self.amplitudes == "sphere" else entries


# ---- checks ------------------------------------------------------------------------------


def check_signals(X: ArrayLike, W: ArrayLike, *, gram: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Signals (n_signals, d) and dictionary (d, n_atoms) as float64, if they belong together.

    Args:
        gram: whether the Gram matrix will be formed, and has to fit in memory.
    """
    dictionary = check_dictionary(W)
    signals = check_numbers("X", X, finite=False, form="a table of numbers, one signal per row")
    d, n_atoms = dictionary.shape
    if signals.ndim != 2:
        raise DataError(f"X must be a table (n_signals, {d}), got shape {signals.shape}; one signal is x[None]")
    if signals.shape[1] != d:
        hint = "; is W transposed?" if signals.shape[1] == n_atoms else ""
        raise DataError(f"signals of {signals.shape[1]} entries do not fit a dictionary of shape {(d, n_atoms)}{hint}")
    bad = np.flatnonzero(~np.isfinite(signals).all(axis=1))
    if len(bad):
        raise DataError(f"X holds NaN or infinite values, first in {row_text(bad[0])}")
    # the Gram matrix in two precisions, and three tables of codes
    n_numbers = 2.0 * n_atoms * n_atoms * gram + 3.0 * len(signals) * n_atoms
    check_size(f"the codes of {len(signals):,} signals over {n_atoms:,} atoms", n_numbers, "solve fewer at a time")
    return np.ascontiguousarray(signals), dictionary


def check_n_atoms(what: str, value: int, W: np.ndarray) -> int:
    """How many atoms of a dictionary a code may use."""
    if isinstance(value, numbers.Integral) and value > W.shape[1]:
        raise ConfigError(f"{what} must be at most the number of atoms, {W.shape[1]:,}, got {brief(value)}")
    return check_count(what, value)


def per_signal(name: str, value: ArrayLike, n: int, *, zero: bool = False) -> np.ndarray:
    """One positive number per signal, from one for all or one for each; ``zero``: zero is allowed."""
    if type(value) is float and 0 < value < np.inf:
        return np.full(n, value)
    if isinstance(value, np.ndarray) and _is_plain(value, n):
        return np.array(value)
    try:
        values = check_numbers(name, value, finite=False, error=ConfigError)
    except ConfigError:
        raise ConfigError(f"{name} must be a number or one per signal, got {brief(value)}") from None
    if values.ndim > 1 or (values.ndim == 1 and len(values) != n):
        raise ConfigError(f"{name} must be one number or one for each of the {n} signals, got shape {values.shape}")
    good = np.isfinite(values) & ((values >= 0) if zero else (values > 0))
    if not good.all():
        wrong = values[~good].flat[0]
        raise ConfigError(f"{name} must be finite and {'not negative' if zero else 'positive'}, got {wrong:g}")
    return np.broadcast_to(values, (n,)).copy()


def _is_plain(values: np.ndarray, n: int) -> bool:
    """Whether nothing has to be made of these numbers."""
    fits = type(values) is np.ndarray and values.shape == (n,) and values.dtype == np.float64 and n > 0
    return fits and bool(values.min() > 0 and values.max() < np.inf)


def check_start(start: ArrayLike | None, n: int, n_atoms: int) -> np.ndarray | None:
    """Codes to start from, if there are any."""
    if start is None:
        return None
    codes = np.array(check_numbers("start", start, finite=False))
    if codes.shape != (n, n_atoms):
        raise DataError(f"start must hold one code per signal, shape {(n, n_atoms)}, got {codes.shape}")
    if not np.isfinite(codes).all():
        raise DataError("start holds NaN or infinite values")
    return codes

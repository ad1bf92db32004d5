"""Sparse codes and the signals they make: x = W z + noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from compsparse.errors import ConfigError
from compsparse.sparse.dictionaries import check_dictionary, check_positive

Amplitudes = Literal["gaussian", "signs", "uniform", "sphere"]


@dataclass(frozen=True)
class CodedSignals:
    """Signals in the rows of ``X`` (m, d) and the codes they were made of in those of ``Z`` (m, n)."""

    X: np.ndarray
    Z: np.ndarray


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
        check_positive(k=k)
        if k > W.shape[1]:
            raise ConfigError(f"a code over {W.shape[1]} columns cannot have k = {k} entries")
        if amplitudes not in get_args(Amplitudes):
            raise ConfigError(f"amplitudes must be one of {get_args(Amplitudes)}, got {amplitudes!r}")
        if not 0 <= noise < np.inf:
            raise ConfigError(f"noise must be a finite number >= 0, got {noise!r}")
        for name, value in (("dictionary", W), ("k", int(k)), ("amplitudes", amplitudes), ("noise", float(noise))):
            object.__setattr__(self, name, value)

    def sample(self, m: int, random_state: int | np.random.Generator | None = None) -> CodedSignals:
        """m signals with their codes."""
        check_positive(m=m)
        rng = np.random.default_rng(random_state)
        d, n = self.dictionary.shape
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

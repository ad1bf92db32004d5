"""Slots seen through a noisy channel: symbols that change, vanish or appear."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from compsparse.errors import ConfigError, DataError
from compsparse.tasks.hierarchy.model import EMPTY, RandomHierarchy


@dataclass(frozen=True)
class Noise:
    """A channel that acts on every slot of the input on its own.

    Args:
        flip: probability that a symbol that is seen is seen as another one, each as likely as the next.
        erase: probability that a symbol is seen as empty.
        appear: probability that an empty slot shows a symbol, each as likely as the next.

    >>> Noise(flip=0.2, appear=0.1).matrix(2).tolist()
    [[0.8, 0.2, 0.0], [0.2, 0.8, 0.0], [0.05, 0.05, 0.9]]
    """

    flip: float = 0.0
    erase: float = 0.0
    appear: float = 0.0

    def __post_init__(self) -> None:
        for name in (f.name for f in fields(self)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not 0 <= value <= 1:
                raise ConfigError(f"{name} must be a probability between 0 and 1, got {value!r}")

    def matrix(self, n_features: int) -> np.ndarray:
        """``[true, seen]`` probabilities of the ``n_features`` symbols and, last, the empty slot."""
        v = n_features
        channel = np.zeros((v + 1, v + 1))
        channel[:v, :v] = (1 - self.erase) * self.flip / (v - 1)
        np.fill_diagonal(channel[:v, :v], (1 - self.erase) * (1 - self.flip))
        channel[:v, v] = self.erase
        channel[v, :v] = self.appear / v
        channel[v, v] = 1 - self.appear
        return channel

    def apply(
        self, X: np.ndarray, n_features: int, random_state: int | np.random.Generator | None = None
    ) -> np.ndarray:
        """The data as the channel shows them, in a new array of the same type."""
        rng = np.random.default_rng(random_state)
        X, v = np.asarray(X), n_features
        u = rng.random((2, *X.shape))
        other = (X + rng.integers(1, v, X.shape)) % v
        seen = np.where(u[0] < self.erase, EMPTY, np.where(u[1] < self.flip, other, X))
        appeared = np.where(u[0] < self.appear, rng.integers(0, v, X.shape), EMPTY)
        return np.where(X == EMPTY, appeared, seen).astype(X.dtype)


def slot_log_likelihoods(model: RandomHierarchy, X: np.ndarray, noise: Noise | None = None) -> np.ndarray:
    """``(n, n_inputs, n_features + 1)`` log probabilities of what each slot shows, given what it truly holds.

    >>> import numpy as np
    >>> np.exp(slot_log_likelihoods(RandomHierarchy(n_features=2, n_levels=1), np.array([[0, 1]])))
    array([[[1., 0., 0.],
            [0., 1., 0.]]])
    """
    seen = checked_data(model, X).astype(np.intp)
    with np.errstate(divide="ignore"):
        channel = np.log((noise or Noise()).matrix(model.v))
    return np.asarray(channel.T[seen])  # EMPTY is -1, the last row


def checked_data(model: RandomHierarchy, X: np.ndarray) -> np.ndarray:
    """X as an array of symbols, or an error that says what is wrong with it."""
    X = np.asarray(X)
    if X.ndim != 2 or X.shape[1] != model.n_inputs:
        raise DataError(f"expected data of shape (n, {model.n_inputs}), got {X.shape}")
    if not np.issubdtype(X.dtype, np.integer):
        raise DataError(f"expected symbols as integers, got {X.dtype}; one-hot data must be decoded first")
    bad = np.argwhere((X < EMPTY) | (model.v <= X))
    if len(bad):
        row, slot = bad[0]
        raise DataError(
            f"row {row}, slot {slot} holds {X[row, slot]}: symbols are 0 to {model.v - 1}, and {EMPTY} is an empty slot"
        )
    return X

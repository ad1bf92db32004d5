"""Checks of signals and of the numbers that come with them, one or one per signal."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from compsparse.errors import ConfigError, DataError
from compsparse.sparse.dictionaries import check_dictionary


def check_signals(X: ArrayLike, W: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Signals (n_signals, d) and dictionary (d, n_atoms) as float64, if they belong together."""
    dictionary = check_dictionary(W)
    try:
        signals = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"X must be a table of numbers, one signal per row: {error}") from None
    d, n_atoms = dictionary.shape
    if signals.ndim != 2:
        raise DataError(f"X must be a table (n_signals, {d}), got shape {signals.shape}; one signal is x[None]")
    if signals.shape[1] != d:
        hint = "; is W transposed?" if signals.shape[1] == n_atoms else ""
        raise DataError(f"signals of {signals.shape[1]} entries do not fit a dictionary of shape {(d, n_atoms)}{hint}")
    bad = np.flatnonzero(~np.isfinite(signals).all(axis=1))
    if len(bad):
        raise DataError(f"signal {bad[0]} holds NaN or infinite values")
    return np.ascontiguousarray(signals), dictionary


def per_signal(name: str, value: ArrayLike, n: int, *, zero: bool = False) -> np.ndarray:
    """One positive number per signal, from one for all or one for each; ``zero``: zero is allowed."""
    try:
        values = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ConfigError(f"{name} must be a number or one per signal, got {value!r}") from None
    if values.ndim > 1 or (values.ndim == 1 and len(values) != n):
        raise ConfigError(f"{name} must be one number or one for each of the {n} signals, got shape {values.shape}")
    good = np.isfinite(values) & ((values >= 0) if zero else (values > 0))
    if not good.all():
        wrong = values[~good].flat[0]
        raise ConfigError(f"{name} must be finite and {'not negative' if zero else 'positive'}, got {wrong:g}")
    return np.broadcast_to(values, (n,)).copy()


def check_start(start: ArrayLike | None, n: int, n_atoms: int) -> np.ndarray | None:
    if start is None:
        return None
    codes = np.array(start, dtype=np.float64)
    if codes.shape != (n, n_atoms):
        raise DataError(f"start must hold one code per signal, shape {(n, n_atoms)}, got {codes.shape}")
    if not np.isfinite(codes).all():
        raise DataError("start holds NaN or infinite values")
    return codes

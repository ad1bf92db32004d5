"""Symbols as vectors: one-hot, or one-hot with mean zero and variance one."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from compsparse.checks import brief, check_array, check_count, check_dtype, check_flag
from compsparse.errors import ConfigError, DataError
from compsparse.sizes import check_size


def one_hot(X: Any, n_features: int, *, whitened: bool = False, flat: bool = False, dtype: Any = None) -> Any:
    """Encodes an array or tensor of symbols ``(..., d)`` as ``(..., d, n_features)``, of the same kind.

    Args:
        whitened: a symbol is sqrt(v - 1) in its channel and -1/sqrt(v - 1) in the others, which over the v
            symbols gives each channel mean zero and variance one; an empty slot, else zero, is -1/sqrt(v - 1).
        flat: ``(..., d * n_features)``, the channels of slot 0 first.
        dtype: of the library that ``X`` belongs to; None takes float32.

    >>> one_hot(np.array([[1, -1]]), 3).tolist()
    [[[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]]
    """
    n_features = check_count("n_features", n_features, least=2)
    whitened, flat = check_flag("whitened", whitened), check_flag("flat", flat)
    rows = getattr(X, "size", 1)
    size = 2.0 * n_features * ((rows if isinstance(rows, int) else 1) + n_features)
    check_size(f"codes of {n_features:,} features", size, "there are that many numbers for each symbol")
    table = _table(n_features, whitened)
    torch = sys.modules.get("torch")  # a tensor can only come from a torch that is loaded
    if torch is not None and isinstance(X, torch.Tensor):
        kind = torch.float32 if dtype is None else check_dtype(dtype)
        table = torch.as_tensor(table, dtype=kind, device=X.device)
        check_symbols(X, n_features, is_integer=not (X.is_floating_point() or X.is_complex() or X.dtype == torch.bool))
        encoded = table[X.long()]
    else:
        X = check_array("X", X)
        check_symbols(X, n_features, is_integer=X.dtype.kind in "iu")
        encoded = table.astype(_numpy_type(dtype))[X]
    return encoded.reshape(*X.shape[:-1], -1) if flat else encoded


def _numpy_type(dtype: Any) -> Any:
    try:
        found = np.dtype(np.float32 if dtype is None else dtype)
    except (TypeError, ValueError, SyntaxError):
        found = None
    if found is None or found.kind not in "iuf":
        raise ConfigError(f"dtype must be a type of numbers such as float32, got {brief(dtype)}")
    return found


def _table(v: int, whitened: bool) -> np.ndarray:
    """A row per symbol, and a last one that the index of an empty slot, -1, stands for."""
    rows = np.eye(v + 1, v)
    return (rows * v - 1) / np.sqrt(v - 1) if whitened else rows


def check_symbols(X: Any, v: int, *, is_integer: bool) -> None:
    """An array or tensor of symbols, or an error that says what else it holds."""
    if not is_integer or X.ndim < 1 or 0 in X.shape:
        raise DataError(f"symbols must be an array of integers, got {X.dtype} of shape {tuple(X.shape)}")
    low, high = int(X.min()), int(X.max())
    if low < -1 or high >= v:
        raise DataError(f"with n_features={v} symbols go from -1 (empty) to {v - 1}, got {low if low < -1 else high}")

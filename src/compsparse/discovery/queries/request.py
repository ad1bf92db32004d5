"""What a caller may ask for, checked in one place."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import count
from typing import Any

import numpy as np

from compsparse.errors import ConfigError
from compsparse.graph import input_names


def read_bounds(bounds: Any) -> np.ndarray:
    """The bounds as an array ``(d, 2)``."""
    try:
        box = np.array(bounds, dtype=float)
    except (TypeError, ValueError):
        raise ConfigError("bounds must be a sequence of (low, high), one pair of numbers per input") from None
    if box.ndim != 2 or box.shape[1] != 2 or not len(box):
        raise ConfigError(f"bounds must be a sequence of (low, high), one per input; got shape {box.shape}")
    for i, (low, high) in enumerate(box.tolist()):
        if not math.isfinite(low) or not math.isfinite(high) or not math.isfinite(high - low):
            raise ConfigError(f"bounds of input {i} and their distance must be finite, got ({low:g}, {high:g})")
        if not low < high:
            raise ConfigError(f"bounds of input {i} must be (low, high) with low < high, got ({low:g}, {high:g})")
        if low + (high - low) * 1e-6 == low or high - (high - low) * 1e-6 == high:
            raise ConfigError(f"bounds of input {i} are closer than floats can resolve: ({low!r}, {high!r})")
    return box


def check_names(names: Sequence[str] | None, n: int, what: str) -> tuple[str, ...]:
    """Names, one for each of the n inputs or outputs; x0, x1, … by default."""
    if names is None:
        return input_names(n)
    found = (names,) if isinstance(names, str) else tuple(names)
    if len(found) != n:
        raise ConfigError(f"{n} {what}s need {n} names, got {len(found)}")
    for name in found:
        if not isinstance(name, str) or not name:
            raise ConfigError(f"the name of an {what} must be a non-empty string, got {name!r}")
        if found.count(name) > 1:
            raise ConfigError(f"two {what}s are named {name!r}")
    return found


def output_names(outputs: Sequence[str] | str | None, k: int, inputs: tuple[str, ...]) -> tuple[str, ...]:
    """Names of the outputs, none of them an input's."""
    if outputs is None:
        return _default_outputs(k, inputs)
    found = check_names(outputs, k, "output")
    for name in found:
        if name in inputs:
            raise ConfigError(f"{name!r} names both an input and an output")
    return found


def _default_outputs(k: int, inputs: tuple[str, ...]) -> tuple[str, ...]:
    for mark in count():
        names = ("y" + "_" * mark,) if k == 1 else tuple(f"y{i}" + "_" * mark for i in range(k))
        if not set(names) & set(inputs):
            return names
    raise AssertionError


def check_noise(noise: float | None) -> None:
    if noise is not None and not (isinstance(noise, (int, float, np.floating)) and 0 <= noise < 1):
        raise ConfigError(f"noise is a share of the answers' standard deviation, from 0 to below 1; got {noise!r}")


def check_budget(budget: int | None) -> None:
    if budget is not None and (not isinstance(budget, (int, np.integer)) or isinstance(budget, bool) or budget < 1):
        raise ConfigError(f"budget must be a positive number of evaluations, got {budget!r}")


def check_time_limit(time_limit: float | None) -> None:
    if time_limit is not None and not (isinstance(time_limit, (int, float)) and time_limit > 0):
        raise ConfigError(f"time_limit must be a positive number of seconds, got {time_limit!r}")

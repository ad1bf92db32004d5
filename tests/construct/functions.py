"""Random traced functions: trees and DAGs of up to 16 inputs, smooth and not."""

from __future__ import annotations

import numpy as np

from compsparse.graph import FunctionGraph, trace

_SMOOTH = [
    lambda x: np.sin(2 * x),
    np.tanh,
    lambda x: np.exp(-(x**2)),
    lambda x: 1 / (1 + x**2),
    lambda x: np.sqrt(1 + x**2),
    lambda x: np.log(2 + np.cos(x)),
    lambda x: x**3 / 3 - x,
    lambda x: np.arctan(3 * x),
    np.cos,
]
_KINKS = [np.abs, lambda x: np.maximum(x, 0.25), lambda x: np.minimum(x, 0.1)]
_PAIRS = [
    lambda x, y: x * y,
    lambda x, y: x + 0.5 * y,
    lambda x, y: x / (2 + np.tanh(y)),
    lambda x, y: np.sin(x - y + x * y),
    lambda x, y: np.hypot(2 + np.tanh(x), y),
]
_KINKED_PAIRS = [np.maximum, np.minimum, lambda x, y: np.abs(x - y)]


def random_function(seed: int) -> FunctionGraph:
    """A tree for even seeds, a DAG for odd ones; every third has no kinks, every seventh nothing but kinks."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 17))
    curves = _KINKS if seed % 7 == 6 else _SMOOTH if seed % 3 == 0 else _SMOOTH + _KINKS
    pairs = _KINKED_PAIRS if seed % 7 == 6 else _PAIRS if seed % 3 == 0 else _PAIRS + _KINKED_PAIRS

    def function(x):
        rng = np.random.default_rng(seed)  # the same draws at every call
        rng.integers(1, 17)
        rng.random()
        values = [x[i] for i in range(d)] if d > 1 else [x]
        spare = list(values)
        while len(values) > 1:
            i, j = (int(k) for k in rng.choice(len(values), 2, replace=False))
            a, b = values[i], values[j]
            if seed % 2 and rng.random() < 0.3:
                b = b + 0.5 * spare[int(rng.integers(len(spare)))]
            made = pairs[int(rng.integers(len(pairs)))](a, b)
            if rng.random() < 0.5:
                made = curves[int(rng.integers(len(curves)))](made)
            values = [v for k, v in enumerate(values) if k not in (i, j)] + [made]
            spare.append(made)
        return curves[int(rng.integers(len(curves)))](values[0])

    return trace(function, d, fuse=bool(rng.random() < 0.5))

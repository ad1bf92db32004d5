"""The Haar basis: piecewise constant functions of all scales and places."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from compsparse.checks import check_numbers
from compsparse.errors import DataError


def haar(values: ArrayLike) -> np.ndarray:
    """The orthonormal Haar coefficients of 2^J values, the coarsest first.

    >>> haar([1.0, 1.0, 3.0, 3.0]).round(12).tolist()
    [4.0, -2.0, 0.0, 0.0]
    """
    smooth = _checked(values)
    finer: list[np.ndarray] = []
    while len(smooth) > 1:
        even, odd = smooth[::2], smooth[1::2]
        finer.append((even - odd) / math.sqrt(2))
        smooth = (even + odd) / math.sqrt(2)
    return np.concatenate([smooth, *reversed(finer)])


def inverse_haar(coefficients: ArrayLike) -> np.ndarray:
    """The values that :func:`haar` was given.

    >>> np.allclose(inverse_haar(haar([1.0, 2.0, 4.0, 8.0])), [1, 2, 4, 8])
    True
    """
    terms = _checked(coefficients)
    smooth = terms[:1]
    while len(smooth) < len(terms):
        finer = terms[len(smooth) : 2 * len(smooth)]
        smooth = np.stack([smooth + finer, smooth - finer], axis=1).ravel() / math.sqrt(2)
    return smooth


def _checked(values: ArrayLike) -> np.ndarray:
    found = check_numbers("values", values, shape=(None,))
    if not len(found) or len(found) & (len(found) - 1):
        raise DataError(f"the Haar basis is of a power of two values, got {len(found)}: pad them")
    return found

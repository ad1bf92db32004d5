"""Levels of a categorical column: which are rare, and what the target does at each without telling a row its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from compsparse.tables.inputs import MeanColumn, TextColumn
from compsparse.tables.values import texts_in

MOST_LEVELS = 50
"""Levels up to which each is a column of its own."""
FEWEST_OF_A_LEVEL, _FEWEST_TO_POOL = 3, 20
"""Rows below which a level is rare, and rows of a table below which none is."""
_FOLDS = 5
_MOST_SHRUNK = 1e3


def text_column(name: str, values: np.ndarray, most: int | None = None) -> TextColumn:
    """A column with an indicator for every level that is not rare; for the commonest alone, where ``most`` says so."""
    texts = texts_in(values, f"column {name!r}").tolist()
    common = common_levels(texts)[:most]
    said = set(texts) - {None}
    return TextColumn(name, tuple(sorted(common)), len(common) < len(said), None in texts)


def common_levels(texts: Sequence[str | None]) -> list[str]:
    """The levels that are not rare, the commonest first."""
    counts = Counter(text for text in texts if text is not None)
    least = FEWEST_OF_A_LEVEL if len(texts) >= _FEWEST_TO_POOL else 1
    return [level for level, n in counts.most_common() if n >= least]


def mean_column(name: str, values: np.ndarray, z: np.ndarray, weight: np.ndarray) -> MeanColumn:
    """A column of many levels, coded by what a standardised target does at each.

    Args:
        z: (rows, targets or classes), each column with mean 0.
    """
    texts = texts_in(values, f"column {name!r}").tolist()
    levels, k = tuple(sorted(common_levels(texts))), z.shape[1]
    nothing = MeanColumn(name, levels, ((0.0,) * k,) * len(levels), (0.0,) * k, (0.0,) * k)
    place = nothing.places(values)
    means = _shrunk(place, z, weight, len(levels) + 2)
    spread = np.sqrt(np.average(means[place] ** 2, axis=0, weights=weight))
    codes = [tuple(row) for row in (means / np.where(spread > 0, spread, 1.0)).tolist()]
    return MeanColumn(name, levels, tuple(codes[:-2]), codes[-2], codes[-1])


def honest_codes(
    column: MeanColumn, values: np.ndarray, z: np.ndarray, weight: np.ndarray, same: np.ndarray
) -> np.ndarray:
    """Codes of the rows of the fit, each from the targets of other rows alone: of four fifths of them.

    A code that knew a row's own target would tell the network the answer, the more the rarer its level.

    Args:
        same: a number for each row; rows with equal numbers are copies and stay together.
    """
    place, n_levels = column.places(values), len(column.levels) + 2
    # numbered as they come, so that no target decides who is in which fold
    _, first, rank = np.unique(same, return_index=True, return_inverse=True)
    number = np.argsort(np.argsort(first))[rank]
    fold = np.random.default_rng(0).permutation(len(first))[number] % _FOLDS
    full = _shrunk(place, z, weight, n_levels)
    spread = np.sqrt(np.average(full[place] ** 2, axis=0, weights=weight))
    codes = np.zeros_like(z)
    for k in range(_FOLDS):
        means = _shrunk(place, z, weight * (fold != k), n_levels)
        codes[fold == k] = means[place[fold == k]]
    return np.asarray(codes / np.where(spread > 0, spread, 1.0))


def _shrunk(place: np.ndarray, z: np.ndarray, weight: np.ndarray, n_levels: int) -> np.ndarray:
    """The mean of z at every level, drawn towards the mean of all by the share of it that is noise."""
    total = np.bincount(place, weights=weight, minlength=n_levels)
    if not total.any():
        return np.zeros((n_levels, z.shape[1]))
    z = z - np.average(z, axis=0, weights=weight)
    sums = np.stack([np.bincount(place, weights=weight * column, minlength=n_levels) for column in z.T], axis=1)
    means = sums / np.maximum(total, 1e-300)[:, None]
    n, filled = total.sum(), int((total > 0).sum())
    within = (weight[:, None] * (z - means[place]) ** 2).sum(0) / max(n - filled, 1.0)
    between = (total[:, None] * means**2).sum(0) / n - within * filled / n
    drawn = np.clip(within / np.maximum(between, 1e-300), 0.0, _MOST_SHRUNK)
    return np.asarray(sums / np.maximum(total[:, None] + drawn, 1e-300))

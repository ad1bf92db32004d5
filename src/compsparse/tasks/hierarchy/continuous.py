"""Symbols that move by real amounts on a line: the sparse hierarchy with continuous transformations.

In the sparse model (placement A) a child stands in one of the ``n_empty + 1`` slots of its sub-patch, and what lies
below it moves along by whole patches. Here it is moved by a real share of that room instead, at every node of every
level, and the input is what a row of sensors sees: a symbol between two slots is shared by them. Whole moves give the
sparse model.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from compsparse.checks import RandomState, check_count, check_kind, check_numbers, generator_from
from compsparse.errors import ConfigError, DataError
from compsparse.sizes import check_size
from compsparse.tasks.hierarchy.trees import HierarchySample


def real_places(sample: HierarchySample, random_state: RandomState = None) -> np.ndarray:
    """Draws a real place on the line for every symbol of the input, ``(n, s^L)``, from 0 to ``n_inputs`` - 1."""
    check_kind("sample", sample, HierarchySample)
    model, rng = sample.model, generator_from(random_state)
    if model.placement != "A":
        raise ConfigError("symbols that move by real amounts keep to sub-patches of their own: placement 'A'")
    places = np.zeros((len(sample), 1))
    for level in range(model.n_levels, 0, -1):
        moves = model.n_empty * rng.random((*places.shape, model.s))
        # the children's sub-patches in order, each moved within its own
        children = (np.arange(model.s) * (model.n_empty + 1) + moves) * model.patch ** (level - 1)
        places = (places[:, :, None] + children).reshape(len(places), -1)
    return places


def whole_places(sample: HierarchySample) -> np.ndarray:
    """Where the symbols of a sample stand, as :func:`real_places` would say it."""
    check_kind("sample", sample, HierarchySample)
    places = np.zeros((len(sample), 1))
    for level in range(sample.model.n_levels, 0, -1):
        moves = sample.slots[level - 1] * float(sample.model.patch ** (level - 1))
        places = (places[:, :, None] + moves).reshape(len(places), -1)
    return places


def seen_by_sensors(symbols: Any, places: Any, n_slots: int, n_features: int) -> np.ndarray:
    """What ``n_slots`` sensors see, ``(n, n_slots, n_features)``: each symbol weighs on the two slots next to it.

    >>> seen_by_sensors([[1]], [[0.25]], n_slots=2, n_features=2)[0].tolist()
    [[0.0, 0.75], [0.0, 0.25]]
    """
    n_slots, n_features = check_count("n_slots", n_slots), check_count("n_features", n_features, least=2)
    at = check_numbers("places", places, shape=(None, None))
    what = check_numbers("symbols", symbols, shape=at.shape).astype(np.int64)
    if at.size and (at.min() < 0 or at.max() > n_slots - 1):
        raise DataError(f"places must lie between 0 and {n_slots - 1}, got {at.min():g} to {at.max():g}")
    if what.size and (what.min() < 0 or what.max() >= n_features):
        raise DataError(f"symbols must lie between 0 and {n_features - 1}, got {what.min()} to {what.max()}")
    check_size(f"{len(at):,} rows", 1.0 * len(at) * n_slots * n_features, "take fewer data", bytes_each=4)
    left = np.minimum(np.floor(at).astype(np.int64), n_slots - 1)
    share = (at - left).astype(np.float32)
    seen = np.zeros((len(at), n_slots, n_features), dtype=np.float32)
    rows = np.broadcast_to(np.arange(len(at))[:, None], at.shape)
    np.add.at(seen, (rows, left, what), 1 - share)
    np.add.at(seen, (rows, np.minimum(left + 1, n_slots - 1), what), share)
    return seen

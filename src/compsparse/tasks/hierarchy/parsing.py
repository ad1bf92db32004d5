"""Exact inference in random hierarchies by dynamic programming: labels, and the most probable tree.

The rules are given. The best classifier there can be is :func:`optimal_classifier`; its error under noise is the
least that any network can reach.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from compsparse.errors import DataError
from compsparse.tasks.hierarchy.inside import patches, rule_values, upward
from compsparse.tasks.hierarchy.model import RandomHierarchy
from compsparse.tasks.hierarchy.noise import Noise, checked_data, slot_log_likelihoods
from compsparse.tasks.hierarchy.trees import HierarchySample, small_int
from compsparse.tasks.hierarchy.writing import write

_CHUNK = 2**20  # numbers in the largest array of the upward pass: 8 MB


def label_posterior(model: RandomHierarchy, X: np.ndarray, noise: Noise | None = None) -> np.ndarray:
    """``(n, n_classes)`` probabilities of the labels given each datum, labels being equally likely beforehand.

    Args:
        X: ``(n, n_inputs)`` symbols, -1 where a slot is empty.
        noise: the channel the data came through; None means that they are as the model drew them.

    Raises:
        DataError: a datum is impossible under the model and the noise.

    >>> model = RandomHierarchy(n_features=2, n_levels=1)
    >>> model.rules[0].tolist()
    [[[1, 0], [0, 1]], [[1, 1], [0, 0]]]
    >>> label_posterior(model, np.array([[1, 0]]), Noise(flip=0.1)).round(2)
    array([[0.82, 0.18]])
    """
    parts = [_posterior(model, slots, start) for start, slots in _chunks(model, X, noise)]
    return np.concatenate([np.empty((0, model.n_labels)), *parts])


def optimal_classifier(model: RandomHierarchy, X: np.ndarray, noise: Noise | None = None) -> np.ndarray:
    """The most probable label of every datum: no classifier errs less often.

    >>> optimal_classifier(RandomHierarchy(n_features=2, n_levels=1), np.array([[1, 0], [1, 1]])).tolist()
    [0, 1]
    """
    return np.asarray(label_posterior(model, X, noise).argmax(1))


def label_log_likelihoods(model: RandomHierarchy, slots: np.ndarray) -> np.ndarray:
    """``(n, n_classes)`` log probabilities of what was seen given each label, for any channel.

    Args:
        slots: ``(n, n_inputs, n_features + 1)`` log likelihoods of each slot's possible contents; the last is empty.
    """
    expected = (model.n_inputs, model.v + 1)
    if slots.ndim != 3 or slots.shape[1:] != expected:
        raise DataError(f"expected log likelihoods of shape (n, {expected[0]}, {expected[1]}), got {slots.shape}")
    return np.asarray(upward(model, slots, np.logaddexp)[-1][:, 0, :-1])


def parse(model: RandomHierarchy, X: np.ndarray, noise: Noise | None = None) -> HierarchySample:
    """The most probable tree of every datum, and the clean datum that this tree makes.

    Without noise it is the one tree that the datum can have. With noise the label of the most probable tree need
    not be the most probable label.

    >>> model = RandomHierarchy(n_features=2, n_levels=2)
    >>> tree = parse(model, np.array([[1, 0, 0, 0]]))
    >>> [level.tolist() for level in tree.symbols]
    [[[1, 0, 0, 0]], [[0, 1]], [[0]]]
    """
    parts = [_best_trees(model, slots, start) for start, slots in _chunks(model, X, noise)]
    if not parts:
        parts = [_best_trees(model, np.zeros((0, model.n_inputs, model.v + 1)), 0)]
    L = model.n_levels
    y, *levels = (np.concatenate(pieces) for pieces in zip(*parts, strict=True))
    return write(model, y, tuple(levels[:L]), tuple(levels[L:]))


def _chunks(model: RandomHierarchy, X: np.ndarray, noise: Noise | None) -> Iterator[tuple[int, np.ndarray]]:
    X = checked_data(model, X)
    values = model.patch ** (model.n_levels - 1) * max(model.v * model.m, model.patch * (model.v + 1))
    rows = max(1, _CHUNK // values)
    for start in range(0, len(X), rows):
        yield start, slot_log_likelihoods(model, X[start : start + rows], noise)


def _posterior(model: RandomHierarchy, slots: np.ndarray, start: int) -> np.ndarray:
    values = label_log_likelihoods(model, slots)
    _check_possible(values, start)
    weights = np.exp(values - values.max(1, keepdims=True))
    return np.asarray(weights / weights.sum(1, keepdims=True))


def _check_possible(values: np.ndarray, start: int) -> None:
    impossible = np.flatnonzero(np.isneginf(values.max(1)))
    if len(impossible):
        raise DataError(
            f"row {start + impossible[0]} cannot be drawn from the model; give the noise that the data came through, "
            "with flip, erase and appear above zero where a symbol may have changed, vanished or appeared"
        )


def _best_trees(model: RandomHierarchy, slots: np.ndarray, start: int) -> list[np.ndarray]:
    """Labels, then choices of levels 1 to L, then slots of levels 1 to L."""
    levels = upward(model, slots, np.maximum)
    _check_possible(levels[-1][:, 0, :-1], start)
    n = len(slots)
    node, symbol = np.zeros((n, 1), dtype=np.intp), levels[-1][:, :, :-1].argmax(-1)
    y = symbol[:, 0].astype(small_int(model.n_labels - 1))
    choices: list[np.ndarray] = []
    places: list[np.ndarray] = []
    for level in range(model.n_levels, 0, -1):
        below = patches(model, levels[level - 1])[np.arange(n)[:, None], node]
        choice, tuples = _best_rules(model, below, level, symbol)
        place = _best_places(model, below, tuples)
        choices.insert(0, choice.astype(small_int(model.m - 1)))
        places.insert(0, place.astype(small_int(model.patch - 1)))
        width = math.prod(tuples.shape[1:])
        node, symbol = (node[..., None] * model.patch + place).reshape(n, width), tuples.reshape(n, width)
    return [y, *choices, *places]


def _best_rules(
    model: RandomHierarchy, below: np.ndarray, level: int, symbol: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    values = rule_values(model, below, level, np.maximum)
    own = np.take_along_axis(values, symbol[:, :, None, None], axis=2)[:, :, 0]
    choice = own.argmax(-1)
    return choice, model.rules[level - 1][symbol, choice]


def _best_places(model: RandomHierarchy, below: np.ndarray, tuples: np.ndarray) -> np.ndarray:
    """Where the children of known symbols stand: the recursion over slots, and its way back."""
    s, patch = model.s, model.patch
    child = np.take_along_axis(below, tuples[:, :, None, :], axis=3)  # (n, nodes, patch, s)
    best = np.full((patch + 1, s + 1, *below.shape[:2]), -np.inf)  # after t slots, with j children placed
    best[0, 0] = 0
    here = np.full((patch, s + 1, *below.shape[:2]), -np.inf)  # the same, with child j - 1 in the slot just read
    for t in range(patch):
        for j in _children_of_slot(model, t):
            here[t, j + 1] = best[t, j] + child[:, :, t, j]
        best[t + 1] = np.maximum(best[t] + below[None, :, :, t, -1], here[t])
    taken = np.zeros((*below.shape[:2], patch), dtype=bool)
    left = np.full((1, *below.shape[:2]), s)
    for t in range(patch - 1, -1, -1):
        reached, with_child = (np.take_along_axis(a, left, axis=0) for a in (best[t + 1], here[t]))
        taken[..., t] = (left > 0) & (reached == with_child)
        left = left - taken[..., t]
    return np.nonzero(taken)[2].reshape(tuples.shape)


def _children_of_slot(model: RandomHierarchy, slot: int) -> range:
    if model.placement == "B":
        return range(model.s)
    own = slot // (model.n_empty + 1)
    return range(own, own + 1)

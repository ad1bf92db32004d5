r"""Exact inference in random hierarchies by dynamic programming: labels, and the most probable tree.

The rules are given, and so is the noisy channel that the data came through. The best classifier there can be is
:func:`optimal_classifier`; its error under noise is the least that any network can reach.

The upward pass finds how well every symbol explains the slots below every node. With :math:`I_u(a)` for symbol a at
node u and :math:`E_u` for an empty node,

.. math:: I_u(a) = \sum_{r} \frac{p_r}{N} \sum_{t} \prod_{j} I_{u t_j}(r_j) \prod_{k \notin t} E_{uk},
   \qquad E_u = \prod_k E_{uk},

the first sum over the synonyms r of a, the second over the N placements t. Sums over placements are recursions over
slots. Everything is kept as logarithms; ``total`` is the sum there, ``np.logaddexp``, or ``np.maximum`` for the best
tree.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np

from compsparse.checks import (
    RandomState,
    check_array,
    check_count,
    check_kind,
    check_number,
    generator_from,
    row_text,
)
from compsparse.errors import DataError
from compsparse.sizes import check_size
from compsparse.tasks.hierarchy.encoding import check_symbols
from compsparse.tasks.hierarchy.model import EMPTY, RandomHierarchy
from compsparse.tasks.hierarchy.trees import HierarchySample, check_data, small_int, write

_CHUNK = 2**20  # numbers in the largest array of the upward pass: 8 MB

# ---- the channel ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SymbolNoise:
    """A channel that acts on every slot of the input on its own.

    Args:
        flip: probability that a symbol that is seen is seen as another one, each as likely as the next.
        erase: probability that a symbol is seen as empty.
        appear: probability that an empty slot shows a symbol, each as likely as the next.

    >>> SymbolNoise(flip=0.2, appear=0.1).matrix(2).tolist()
    [[0.8, 0.2, 0.0], [0.2, 0.8, 0.0], [0.05, 0.05, 0.9]]
    """

    flip: float = 0.0
    erase: float = 0.0
    appear: float = 0.0

    def __post_init__(self) -> None:
        for name in (f.name for f in fields(self)):
            object.__setattr__(self, name, check_number(name, getattr(self, name), least=0, most=1))

    def matrix(self, n_features: int) -> np.ndarray:
        """``[true, seen]`` probabilities of the ``n_features`` symbols and, last, the empty slot."""
        v = check_count("n_features", n_features, least=2)
        check_size(f"the probabilities of {v:,} features", float(v + 1) ** 2, "take fewer features")
        channel = np.zeros((v + 1, v + 1))
        channel[:v, :v] = (1 - self.erase) * self.flip / (v - 1)
        np.fill_diagonal(channel[:v, :v], (1 - self.erase) * (1 - self.flip))
        channel[:v, v] = self.erase
        channel[v, :v] = self.appear / v
        channel[v, v] = 1 - self.appear
        return channel

    def apply(self, X: np.ndarray, n_features: int, random_state: RandomState = None) -> np.ndarray:
        """The data as the channel shows them, in a new array of the same type."""
        rng = generator_from(random_state)
        X, v = check_array("X", X), check_count("n_features", n_features, least=2, most=2**31)
        if X.size:
            check_symbols(X, v, is_integer=X.dtype.kind in "iu")
        u = rng.random((2, *X.shape))
        other = (X + rng.integers(1, v, X.shape)) % v
        seen = np.where(u[0] < self.erase, EMPTY, np.where(u[1] < self.flip, other, X))
        appeared = np.where(u[0] < self.appear, rng.integers(0, v, X.shape), EMPTY)
        return np.where(X == EMPTY, appeared, seen).astype(X.dtype)


def slot_log_likelihoods(model: RandomHierarchy, X: np.ndarray, noise: SymbolNoise | None = None) -> np.ndarray:
    """``(n, n_inputs, n_features + 1)`` log probabilities of what each slot shows, given what it truly holds.

    >>> import numpy as np
    >>> np.exp(slot_log_likelihoods(RandomHierarchy(n_features=2, n_levels=1), np.array([[0, 1]])))
    array([[[1., 0., 0.],
            [0., 1., 0.]]])
    """
    noise = SymbolNoise() if noise is None else check_kind("noise", noise, SymbolNoise)
    seen = check_data(model, X).astype(np.intp)
    with np.errstate(divide="ignore"):
        channel = np.log(noise.matrix(model.v))
    return np.asarray(channel.T[seen])  # EMPTY is -1, the last row


# ---- labels -----------------------------------------------------------------------------------------


def label_posterior(model: RandomHierarchy, X: np.ndarray, noise: SymbolNoise | None = None) -> np.ndarray:
    """``(n, n_classes)`` probabilities of the labels given each datum, labels being equally likely beforehand.

    Args:
        X: ``(n, n_inputs)`` symbols, -1 where a slot is empty.
        noise: the channel the data came through; None means that they are as the model drew them.

    Raises:
        DataError: a datum is impossible under the model and the noise.

    >>> model = RandomHierarchy(n_features=2, n_levels=1)
    >>> model.rules[0].tolist()
    [[[1, 0], [0, 1]], [[1, 1], [0, 0]]]
    >>> label_posterior(model, np.array([[1, 0]]), SymbolNoise(flip=0.1)).round(2)
    array([[0.82, 0.18]])
    """
    parts = []
    for start, slots in _chunks(model, X, noise):
        values = label_log_likelihoods(model, slots)
        _check_possible(values, start)
        weights = np.exp(values - values.max(1, keepdims=True))
        parts.append(weights / weights.sum(1, keepdims=True))
    return np.concatenate([np.empty((0, model.n_labels)), *parts])


def optimal_classifier(model: RandomHierarchy, X: np.ndarray, noise: SymbolNoise | None = None) -> np.ndarray:
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


def _chunks(model: RandomHierarchy, X: np.ndarray, noise: SymbolNoise | None) -> Iterator[tuple[int, np.ndarray]]:
    X = check_data(model, X)
    values = model.patch ** (model.n_levels - 1) * max(model.v * model.m, model.patch * (model.v + 1))
    rows = max(1, _CHUNK // values)
    for start in range(0, len(X), rows):
        yield start, slot_log_likelihoods(model, X[start : start + rows], noise)


def _check_possible(values: np.ndarray, start: int) -> None:
    impossible = np.flatnonzero(np.isneginf(values.max(1)))
    if len(impossible):
        raise DataError(
            f"{row_text(start + int(impossible[0]))} cannot be drawn from the model; give the noise that the data "
            "came through, with flip, erase and appear above zero where a symbol may have changed, vanished or appeared"
        )


# ---- the most probable tree -------------------------------------------------------------------------


def parse(model: RandomHierarchy, X: np.ndarray, noise: SymbolNoise | None = None) -> HierarchySample:
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


# ---- the upward pass --------------------------------------------------------------------------------


def upward(model: RandomHierarchy, slots: np.ndarray, total: np.ufunc) -> list[np.ndarray]:
    """For every level from 0 up: ``(n, nodes, symbols + 1)`` log values, the last for an empty node."""
    levels = [slots]
    for level in range(1, model.n_levels + 1):
        below = patches(model, levels[-1])
        symbols = total.reduce(rule_values(model, below, level, total), axis=-1)
        levels.append(np.concatenate([symbols, below[..., -1].sum(-1)[..., None]], axis=-1))
    return levels


def patches(model: RandomHierarchy, values: np.ndarray) -> np.ndarray:
    """``(n, nodes, symbols + 1)`` regrouped by parent: ``(n, parents, patch, symbols + 1)``."""
    n, nodes, states = values.shape
    return values.reshape(n, nodes // model.patch, model.patch, states)


def rule_values(model: RandomHierarchy, below: np.ndarray, level: int, total: np.ufunc) -> np.ndarray:
    """``(n, nodes, symbols, m)``: each node written by each rule of the level."""
    tuples = model.rules[level - 1]
    share = 1 / model.m if model.rule_probabilities is None else np.asarray(model.rule_probabilities)
    with np.errstate(divide="ignore"):
        prior = np.log(share) - math.log(model.n_placements)
    spread = _apart if model.placement == "A" else _in_order
    return np.asarray(spread(below, tuples, total) + prior)


def _apart(below: np.ndarray, tuples: np.ndarray, total: np.ufunc) -> np.ndarray:
    """Placement A: every child somewhere in a sub-patch of its own, so children are independent."""
    n, nodes, patch, states = below.shape
    s = tuples.shape[-1]
    own = below.reshape(n, nodes, s, patch // s, states)
    nothing = np.zeros((*own.shape[:3], 1))
    placed = np.full((*own.shape[:3], states - 1), -np.inf)
    for t in range(patch // s):
        symbol, empty = own[:, :, :, t, :-1], own[:, :, :, t, -1:]
        placed = total(placed + empty, nothing + symbol)
        nothing = nothing + empty
    value = placed[:, :, 0, tuples[..., 0]]
    for j in range(1, s):
        value += placed[:, :, j, tuples[..., j]]
    return value


def _in_order(below: np.ndarray, tuples: np.ndarray, total: np.ufunc) -> np.ndarray:
    """Placement B: a recursion over slots, whose state is the rule and how many of its children are placed."""
    n, nodes, patch, _ = below.shape
    s = tuples.shape[-1]
    child = tuples.reshape(-1, s).T
    placed = [np.zeros((n, nodes, 1))] + [np.full((n, nodes, child.shape[1]), -np.inf) for _ in range(s)]
    for t in range(patch):
        symbol, empty = below[:, :, t, :-1], below[:, :, t, -1:]
        for j in range(min(s, t + 1), max(0, s - patch + t), -1):  # the others cannot be, or cannot be completed
            placed[j] = total(placed[j] + empty, placed[j - 1] + symbol[..., child[j - 1]])
        placed[0] = placed[0] + empty
    return np.asarray(placed[s].reshape(n, nodes, *tuples.shape[:-1]))

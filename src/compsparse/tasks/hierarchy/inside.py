r"""The upward pass: how well every symbol explains the slots below every node.

With :math:`I_u(a)` for symbol a at node u and :math:`E_u` for an empty node,

.. math:: I_u(a) = \sum_{r} \frac{p_r}{N} \sum_{t} \prod_{j} I_{u t_j}(r_j) \prod_{k \notin t} E_{uk},
   \qquad E_u = \prod_k E_{uk},

the first sum over the synonyms r of a, the second over the N placements t. Sums over placements are recursions over
slots. Everything is kept as logarithms; ``total`` is the sum there, ``np.logaddexp``, or ``np.maximum`` for the best
tree.
"""

from __future__ import annotations

import math

import numpy as np

from compsparse.tasks.hierarchy.model import RandomHierarchy


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
    return placed[s].reshape(n, nodes, *tuples.shape[:-1])

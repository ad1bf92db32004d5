"""Transformations that keep the label: synonyms exchanged, symbols moved (Tomasini and Wyart 2024).

Levels count from the input: level 1 is the tuples of the input, level ``n_levels`` the tuple below the label.
A transformation at a level acts on every tuple of that level and of the levels below.
"""

from __future__ import annotations

import numpy as np

from compsparse.checks import RandomState, check_count, check_flag, check_kind, generator_from
from compsparse.errors import ConfigError
from compsparse.tasks.hierarchy.model import RandomHierarchy
from compsparse.tasks.hierarchy.sampling import draw_choices, draw_slots
from compsparse.tasks.hierarchy.trees import HierarchySample, write


def exchange_synonyms(
    sample: HierarchySample, level: int, random_state: RandomState = None, *, allow_identity: bool = True
) -> HierarchySample:
    """Draws the synonyms of ``level`` and of the levels below anew; slots stay.

    Args:
        allow_identity: False has every tuple of ``level`` itself written as another synonym than before.

    >>> from compsparse.tasks.hierarchy import RandomHierarchy
    >>> data = RandomHierarchy(n_features=4, n_levels=2).sample(100, random_state=0)
    >>> other = exchange_synonyms(data, 1, random_state=0, allow_identity=False)
    >>> bool((other.y == data.y).all()), bool((other.symbols[1] == data.symbols[1]).all())
    (True, True)
    >>> bool((other.choices[0] != data.choices[0]).all())
    True
    """
    model, rng = check_kind("sample", sample, HierarchySample).model, generator_from(random_state)
    level = check_count("level", level, most=model.n_levels)
    check_flag("allow_identity", allow_identity)
    given = None if model.rule_probabilities is None else np.array(model.rule_probabilities)
    p = np.full(model.m, 1 / model.m) if given is None else given
    if not allow_identity and np.count_nonzero(p) < 2:
        raise ConfigError("allow_identity=False needs two synonyms of a symbol that can be drawn, and here it has one")
    choices = list(sample.choices)
    for below in range(level):
        if below == level - 1 and not allow_identity:
            choices[below] = _other_choices(choices[below], p, rng)
        else:
            choices[below] = draw_choices(choices[below].shape, model.m, given, rng)
    return write(model, sample.y, choices, sample.slots)


def diffeomorphism(
    sample: HierarchySample, level: int, random_state: RandomState = None, *, allow_identity: bool = True
) -> HierarchySample:
    """Draws the slots of ``level`` and of the levels below anew; symbols stay.

    Args:
        allow_identity: False has every tuple of ``level`` itself placed otherwise than before.

    >>> from compsparse.tasks.hierarchy import SparseRandomHierarchy
    >>> data = SparseRandomHierarchy(n_features=4, n_levels=2, n_empty=2).sample(100, random_state=0)
    >>> moved = diffeomorphism(data, 2, random_state=0)
    >>> bool((moved.symbols[0] == data.symbols[0]).all()), bool((moved.X == data.X).all())
    (True, False)
    """
    model, rng = check_kind("sample", sample, HierarchySample).model, generator_from(random_state)
    level = check_count("level", level, most=model.n_levels)
    check_flag("allow_identity", allow_identity)
    if not allow_identity and model.n_placements == 1:
        raise ConfigError("allow_identity=False needs two placements of a tuple, and without empty slots it has one")
    slots = list(sample.slots)
    for below in range(level):
        drawn = draw_slots(model, slots[below].shape[:2], rng)
        if below == level - 1 and not allow_identity:
            _redraw_same(model, slots[below], drawn, rng)
        slots[below] = drawn
    return write(model, sample.y, sample.choices, slots)


def _other_choices(choices: np.ndarray, p: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Another choice for each, with the probabilities of the others."""
    others = np.empty_like(choices)
    for choice in np.unique(choices):
        rows = choices == choice
        left = np.where(np.arange(len(p)) == choice, 0.0, p)
        others[rows] = draw_choices((int(rows.sum()),), len(p), left, rng)
    return others


def _redraw_same(model: RandomHierarchy, before: np.ndarray, after: np.ndarray, rng: np.random.Generator) -> None:
    same = np.nonzero((before == after).all(axis=-1))
    while len(same[0]):
        after[same] = draw_slots(model, same[0].shape, rng)
        still = (before[same] == after[same]).all(axis=-1)
        same = (same[0][still], same[1][still])

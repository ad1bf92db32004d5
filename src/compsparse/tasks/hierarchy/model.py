"""The random hierarchy models: production rules, and where their symbols may stand.

A label is the symbol at the top. Every symbol of level l is written as one of ``multiplicity`` tuples of
``tuple_size`` symbols of level l - 1, its synonyms; no tuple belongs to two symbols. Level 0 is the input.
In the sparse model every symbol is accompanied by ``n_empty`` empty slots, and the positions of symbols in
their patch are drawn anew for every node of every datum; an empty slot stands over nothing but empty slots.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from compsparse.checks import RandomState, brief, check_choice, check_count, check_kind, check_numbers
from compsparse.errors import ConfigError

if TYPE_CHECKING:
    from compsparse.graph import FunctionGraph
    from compsparse.tasks.hierarchy.trees import HierarchySample

Placement = Literal["A", "B"]
"""See :class:`SparseRandomHierarchy`."""

_LONGEST_NUMBER = 10_000_000
EMPTY = -1
"""What stands in a slot that holds no symbol."""


@dataclass(frozen=True)
class RandomHierarchy:
    """The Random Hierarchy Model (Cagnetta, Petrini, Tomasini, Favero and Wyart 2024).

    Args:
        n_features: v, symbols per level below the top.
        n_classes: n_c, symbols at the top; None takes ``n_features``.
        multiplicity: m, synonyms per symbol; None takes the most there can be.
        tuple_size: s.
        n_levels: L.
        rule_probabilities: of the m synonyms of every symbol; None draws them uniformly.
        rules_seed: production rules are drawn from it, each level from a stream of its own. It is part of what the
            model is, as its sizes are: models with equal fields are equal and have equal rules. So it is a whole
            number and never a generator, unlike the ``random_state`` that data are drawn with.

    >>> model = RandomHierarchy(n_features=4, multiplicity=2, n_levels=3)
    >>> model.n_inputs, model.n_data
    (8, 512)
    """

    n_features: int = 8
    n_classes: int | None = None
    multiplicity: int | None = None
    tuple_size: int = 2
    n_levels: int = 2
    rule_probabilities: tuple[float, ...] | None = field(default=None, kw_only=True)
    rules_seed: int = field(default=0, kw_only=True)
    n_empty: int = field(default=0, init=False)
    placement: Placement = field(default="A", init=False)

    def __post_init__(self) -> None:
        _check_integers(self)
        _check_sizes(self)
        if self.n_classes is None:
            object.__setattr__(self, "n_classes", self.n_features)
        if self.multiplicity is None:
            object.__setattr__(self, "multiplicity", self.n_features ** (self.tuple_size - 1))
        _check_rules(self)
        if self.rule_probabilities is not None:
            object.__setattr__(self, "rule_probabilities", _probabilities(self))

    # ---- sizes ---------------------------------------------------------------------------

    @property
    def v(self) -> int:
        """Symbols per level below the top: ``n_features``."""
        return self.n_features

    @property
    def m(self) -> int:
        """Synonyms per symbol: ``multiplicity``."""
        assert self.multiplicity is not None
        return self.multiplicity

    @property
    def s(self) -> int:
        """Symbols that a symbol is written as: ``tuple_size``."""
        return self.tuple_size

    @property
    def n_labels(self) -> int:
        """n_c, symbols at the top: ``n_classes``."""
        assert self.n_classes is not None
        return self.n_classes

    @property
    def patch(self) -> int:
        """Slots below one node."""
        return self.tuple_size * (self.n_empty + 1)

    @property
    def n_inputs(self) -> int:
        """d, slots of a datum."""
        return int(self.patch**self.n_levels)

    @property
    def n_inner(self) -> int:
        """Nodes of the tree, the label's included and the symbols of the input not."""
        return sum(self.tuple_size**k for k in range(self.n_levels))

    @property
    def n_placements(self) -> int:
        """Ways to place the symbols of one tuple in their patch."""
        if self.placement == "A":
            return int((self.n_empty + 1) ** self.tuple_size)
        return math.comb(self.patch, self.tuple_size)

    @property
    def n_data(self) -> int:
        """Different data that the model can draw."""
        base = self.m * self.n_placements
        if self.n_inner * math.log2(base) > _LONGEST_NUMBER:
            raise ConfigError(f"the model can draw more data than numbers of {_LONGEST_NUMBER:,} bits can count")
        return int(self.n_labels * base**self.n_inner)

    @property
    def natural_size(self) -> int:
        """n_c m^L, the training-set size that the theory of the dense model speaks of."""
        return int(self.n_labels * self.m**self.n_levels)

    # ---- rules ---------------------------------------------------------------------------

    @cached_property
    def rules(self) -> tuple[np.ndarray, ...]:
        """For each level from 1 up: the tuples of every symbol, ``(symbols, m, s)``, read-only."""
        return tuple(self._draw_rules(level) for level in range(1, self.n_levels + 1))

    @cached_property
    def _tuples(self) -> tuple[np.ndarray, ...]:
        """The rules as rows of the symbols' own type: row symbol * m + choice."""
        dtype = np.min_scalar_type(-self.v)
        return tuple(np.ascontiguousarray(rules.reshape(-1, self.s), dtype=dtype) for rules in self.rules)

    def symbols_at(self, level: int) -> int:
        """How many different symbols a level has; level 0 is the input, ``n_levels`` the label."""
        level = check_count("level", level, least=0, most=self.n_levels)
        return self.n_labels if level == self.n_levels else self.n_features

    def _draw_rules(self, level: int) -> np.ndarray:
        rng = np.random.default_rng(np.random.SeedSequence(self.rules_seed, spawn_key=(level,)))
        n, v, s = self.symbols_at(level), self.n_features, self.tuple_size
        codes = rng.choice(v**s, size=n * self.m, replace=False)
        digits = v ** np.arange(s - 1, -1, -1)
        rules = (codes[:, None] // digits % v).reshape(n, self.m, s)
        rules.flags.writeable = False
        return rules

    # ---- data ----------------------------------------------------------------------------

    def sample(self, n: int, random_state: RandomState = None, *, replace: bool = True) -> HierarchySample:
        """n data with their trees; see :mod:`compsparse.tasks.hierarchy.sampling`."""
        from compsparse.tasks.hierarchy.sampling import sample_trees

        return sample_trees(self, n, random_state, replace=replace)

    def draw(self, n: int, random_state: RandomState = None) -> tuple[np.ndarray, np.ndarray]:
        """Inputs and labels of n data, the same as :meth:`sample` draws, without the trees."""
        from compsparse.tasks.hierarchy.sampling import draw

        return draw(self, n, random_state)

    def batches(
        self, n: int | None, batch_size: int, random_state: RandomState = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Fresh inputs and labels, a batch at a time, n in all; None goes on without end."""
        from compsparse.tasks.hierarchy.sampling import batches

        return batches(self, n, batch_size, random_state)

    def split(
        self, n_train: int, n_test: int, random_state: RandomState = None, *, balanced: bool = False
    ) -> tuple[HierarchySample, HierarchySample]:
        """Training and test data, all different; see :mod:`compsparse.tasks.hierarchy.sampling`."""
        from compsparse.tasks.hierarchy.sampling import split

        return split(self, n_train, n_test, random_state, balanced=balanced)

    def datum(self, numbers: Sequence[int] | np.ndarray) -> HierarchySample:
        """The data with these numbers from 0 to ``n_data`` - 1; ``sample.numbers`` is the way back."""
        from compsparse.tasks.hierarchy.numbering import datum

        return datum(self, numbers)

    def read(self, X: Any) -> HierarchySample:
        """The trees of inputs, each of which has one or none; see :mod:`compsparse.tasks.hierarchy.trees`."""
        from compsparse.tasks.hierarchy.trees import read

        return read(self, X)

    @cached_property
    def graph(self) -> FunctionGraph:
        """The label as a function of the slots: a tree whose nodes each read one whole patch.

        >>> RandomHierarchy(n_features=4, n_levels=3).graph
        FunctionGraph(8 inputs, 7 nodes, depth 3, arity 2)
        """
        from compsparse.graph import balanced_tree

        return balanced_tree(self.n_inputs, arity=self.patch)


@dataclass(frozen=True)
class SparseRandomHierarchy(RandomHierarchy):
    """The Sparse Random Hierarchy Model (Tomasini and Wyart 2024).

    Args:
        n_empty: s0, empty slots per symbol.
        placement: ``A``: every symbol of a tuple somewhere in a sub-patch of its own, of ``n_empty + 1``
            slots; ``B``: the symbols in order, anywhere in the patch.

    >>> SparseRandomHierarchy(n_features=8, n_levels=2, n_empty=2).n_inputs
    36
    """

    n_empty: int = field(default=1, kw_only=True)
    placement: Placement = field(default="A", kw_only=True)


def check_model(model: Any) -> RandomHierarchy:
    """A random hierarchy, dense or sparse."""
    return check_kind("model", model, RandomHierarchy)


def _check_integers(model: RandomHierarchy) -> None:
    least = {"n_features": 2, "n_classes": 2, "multiplicity": 1, "tuple_size": 2, "n_levels": 1, "n_empty": 0}
    for name, lowest in {**least, "rules_seed": 0}.items():
        value = getattr(model, name)
        if value is None and name in ("n_classes", "multiplicity"):
            continue
        object.__setattr__(model, name, check_count(name, value, least=lowest))
    check_choice("placement", model.placement, ("A", "B"))


def _check_sizes(model: RandomHierarchy) -> None:
    """By logarithms: the powers themselves may have more digits than memory has room for."""
    v, s = model.n_features, model.tuple_size
    if s * math.log2(v) > 31:
        raise ConfigError(f"{v} features in tuples of {s} make more than 2^31 tuples, which rules cannot be drawn from")
    if model.n_levels * math.log2(model.patch) > 62:
        raise ConfigError(
            f"{model.n_levels:,} levels of patches of {model.patch:,} make more than 2^62 inputs: "
            "take fewer levels or smaller patches"
        )


def _check_rules(model: RandomHierarchy) -> None:
    v, s, m = model.n_features, model.tuple_size, model.m
    if m > v ** (s - 1):
        raise ConfigError(
            f"{v} features have {v**s} tuples of {s}, so a symbol can have at most {v ** (s - 1)} of its own; "
            f"got multiplicity={m}"
        )
    if model.n_labels * m > v**s:
        raise ConfigError(f"{model.n_labels} classes with {m} tuples each need more than the {v**s} tuples there are")


def _probabilities(model: RandomHierarchy) -> tuple[float, ...]:
    assert model.rule_probabilities is not None
    p = check_numbers("rule_probabilities", model.rule_probabilities, finite=False, error=ConfigError)
    if p.shape != (model.m,) or not np.all(np.isfinite(p)) or np.any(p < 0) or not p.sum() > 0:
        raise ConfigError(f"rule_probabilities must be {model.m} numbers >= 0, not all zero, got {brief(p.tolist())}")
    return tuple((p / p.sum()).tolist())

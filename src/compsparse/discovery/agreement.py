"""A discovered graph beside the formula behind the data: what agrees, and what does not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from operator import or_
from typing import Any

import numpy as np

from compsparse.discovery.structure.forest import Members
from compsparse.graph import FunctionGraph
from compsparse.graph.modules import ModuleTree


@dataclass(frozen=True)
class Agreement:
    """How a discovered graph stands to the known one, over the inputs that both use.

    Attributes:
        left_out: inputs of the formula that the discovery does without.
        left_out_share: how much of the target's variance goes when they are held at their medians.
        idle: inputs that the discovery uses and the formula does not.
        confirmed: modules of the formula that were found.
        implied: modules of the formula that a complete node of the discovery contains.
        missing: modules of the formula that were not found.
        extra: modules that were found and that the formula does not have.
        regrouped: nodes taken for complete whose parts the formula does not let regroup.
    """

    left_out: tuple[str, ...]
    left_out_share: float
    idle: tuple[str, ...]
    confirmed: tuple[Members, ...]
    implied: tuple[Members, ...]
    missing: tuple[Members, ...]
    extra: tuple[Members, ...]
    regrouped: tuple[Members, ...]

    @property
    def holds(self) -> bool:
        """Whether the modules are those of the formula, and no input is used that the formula does without."""
        return not (self.missing or self.extra or self.idle)

    def sentences(self) -> list[str]:
        """The verdict, and what it rests on."""
        told = [self._verdict()]
        if self.left_out:
            told.append(
                f"The formula also uses {', '.join(self.left_out)}; held at their medians they change "
                f"{self.left_out_share:.2g} of the target's variance, and the discovery does without them."
            )
            told.append("The comparison is over the inputs that are left.")
        if self.idle:
            told.append(f"The discovery also uses {', '.join(self.idle)}, which the formula does not.")
        listed = (
            ("Modules of the formula that were found", self.confirmed),
            ("Modules of the formula that a complete node contains", self.implied),
            ("Modules of the formula that were not found", self.missing),
            ("Modules that were found and that the formula does not have", self.extra),
        )
        told += [f"{what}: {', '.join(set_text(m) for m in modules)}." for what, modules in listed if modules]
        told += [
            f"The discovery takes {set_text(m)} for complete; the formula is so at best nearly." for m in self.regrouped
        ]
        return told

    def _verdict(self) -> str:
        if not self.holds:
            return "The graph found differs from the formula's."
        resolution = " at the resolution of the data" if self.left_out else ""
        more = ", but the discovery claims more than the formula says" if self.regrouped else ""
        return f"The modules found agree with the formula{resolution}{more}."


def agreement(found: FunctionGraph, known: FunctionGraph, table: Any) -> Agreement:
    """Compares a discovery with the formula behind the table; the formula can be evaluated."""
    active = frozenset(found.inputs) - frozenset(found.unread)
    left_out = tuple(name for name in known.inputs if name in found.unread and name not in known.inert)
    true = _ordered(m & active for m in known.modules if 1 < len(m & active) < len(active))

    def is_true(members: Members) -> bool:
        return members == active or members in true or _in_complete_node(known.module_tree, members, active)

    not_stated = [m for m in true if m not in found.modules]
    implied = [m for m in not_stated if _in_complete_node(found.module_tree, m, active)]
    complete = [m for m in found.module_tree.inner if m.kind == "complete" and len(m.children) > 2]
    return Agreement(
        left_out,
        _share_of_variance(known, table, left_out),
        idle=tuple(name for name in found.inputs if name in active and name in known.inert),
        confirmed=tuple(m for m in true if m in found.modules),
        implied=tuple(implied),
        missing=tuple(m for m in not_stated if m not in implied),
        extra=tuple(m for m in _ordered(found.modules) if not is_true(m)),
        regrouped=tuple(
            node.members
            for node in complete
            if not all(is_true(a.members | b.members) for a, b in combinations(node.children, 2))
        ),
    )


def set_text(members: Iterable[str]) -> str:
    """The names in braces, in order."""
    return "{" + ", ".join(sorted(members)) + "}"


def _ordered(modules: Iterable[Members]) -> list[Members]:
    return sorted(set(modules), key=lambda m: (len(m), sorted(m)))


def _in_complete_node(tree: ModuleTree, members: Members, active: Members) -> bool:
    """Whether the members are some of the parts of a complete node, inputs that are not active left out."""
    return any(
        node.kind == "complete"
        and reduce(or_, (p for c in node.children if (p := c.members & active) <= members), frozenset()) == members
        for node in tree.inner
    )


def _share_of_variance(known: FunctionGraph, table: Any, inputs: tuple[str, ...]) -> float:
    if not inputs:
        return 0.0
    rows = table[list(known.inputs)].to_numpy(dtype=float)
    held = rows.copy()
    places = [known.inputs.index(name) for name in inputs]
    held[:, places] = np.median(rows[:, places], axis=0)
    full = np.asarray(known(rows))
    return float(np.var(full - np.asarray(known(held))) / np.var(full))

"""What stands inside a wide node, whichever strategy asks: parts that share inputs, and what speaks for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from compsparse.discovery.record import Evidence
from compsparse.discovery.structure.bundles import Bundle
from compsparse.discovery.structure.forest import Members, Part
from compsparse.discovery.structure.groups import FoundGroups, InputGroup, part_of_groups
from compsparse.discovery.structure.links import LinkedSum, linked_parts
from compsparse.discovery.structure.parts import conditional_parts
from compsparse.discovery.structure.turns import TurnTable, three_inputs
from compsparse.discovery.structure.units import as_text
from compsparse.graph.modules import ModuleTree

NEARLY = 0.7
"""Share of its threshold from which a figure is near it."""
LEAST_SEEN = 0.1
"""The smallest turn, as a share of the largest possible, that must have been seen for a part to be claimed: a turn
that hides makes two parts of one. Of a cycle of five, whose turns are small, none was seen from 2,000 rows at 0.17."""
SEEN_WELL = 0.05
"""Share of all slopes up to which a further group would surely have been seen."""


@dataclass(frozen=True)
class Inside:
    """A wide node as it is drawn, with what speaks for its parts."""

    part: Part
    evidence: tuple[Evidence, ...]

    def takes_less_than(self, sizes: tuple[int, ...]) -> bool:
        """Whether its nodes are smaller than others; groups say less than modules whose largest node is no larger."""
        if any(entry.formula for entry in self.evidence):
            return self.part.sizes[0] < sizes[0]
        return self.part.sizes <= sizes


@dataclass(frozen=True)
class FoundSum:
    """A sum under a link over a node's children, and the sets that act together in it."""

    linked: LinkedSum
    sets: Sequence[tuple[int, ...]]


def wide_nodes(tree: ModuleTree) -> list[ModuleTree]:
    """The nodes whose three children or more act together."""
    return [node for node in tree.inner if node.kind == "prime" and len(node.children) > 2]


def smaller(
    tree: ModuleTree, insides: Mapping[Members, Inside], bundles: Sequence[Bundle]
) -> tuple[dict[Members, Inside], list[Bundle]]:
    """Of every wide node the parts that share inputs, or the modules of several channels: what makes it smaller."""
    kept: dict[Members, Inside] = {}
    of_several: list[Bundle] = []
    for node in wide_nodes(tree):
        own = [bundle for bundle in bundles if set(bundle.children) <= set(node.children)]
        inside = insides.get(node.members)
        if inside is not None and (not own or inside.takes_less_than(_sizes_with(own, node))):
            kept[node.members] = inside
        else:
            of_several += own
    return kept, of_several


def _sizes_with(bundles: Sequence[Bundle], node: ModuleTree) -> tuple[int, ...]:
    """How many numbers nodes read where a wide node has modules of several channels, the largest first."""
    outer = [b for b in bundles if not any(b.members < other.members for other in bundles)]
    rest = len(node.children) - sum(len(b.children) for b in outer)
    return tuple(sorted((rest + sum(b.channels for b in outer), *(len(b.children) for b in outer)), reverse=True))


def look_inside(
    node: ModuleTree,
    output: str,
    table: TurnTable,
    found_sum: FoundSum | None = None,
    groups: FoundGroups | None = None,
    statistic: str = "turn",
) -> Inside | None:
    """The node drawn with parts that share inputs, where that makes its largest node smaller.

    Where nodes are no larger, a sum under a link goes before groups, and both before parts at fixed values, which say
    less.

    Args:
        table: turns, in which each of the children has a part.
    """
    children = [child.members for child in node.children]
    between = table.between(children, tuple(str(i) for i in range(len(children))))
    by_turns = conditional_parts(_may_turn(between), children)
    by_link = None if found_sum is None else linked_parts(found_sum.linked, found_sum.sets, children)
    of_groups = None if groups is None else part_of_groups(groups, children)
    if (
        of_groups is not None
        and (by_turns is None or of_groups.sizes <= by_turns.sizes)
        and not (by_link is not None and by_link.sizes[0] <= of_groups.sizes[0])
    ):
        assert groups is not None
        return Inside(of_groups, tuple(_of_group(g, output, groups) for g in groups.groups if len(g.inputs) > 1))
    if by_link is not None and (by_turns is None or by_link.sizes <= by_turns.sizes):
        assert found_sum is not None
        return Inside(by_link, tuple(_of_sum(part, output, found_sum.linked) for part in by_link.inner))
    if by_turns is None:
        return None
    entries = (_of_turns(part, output, between, children, statistic) for part in by_turns.inner)
    return Inside(by_turns, tuple(entries))


def _of_sum(part: Part, output: str, linked: LinkedSum) -> Evidence:
    left, chance = linked.largest_of_free, linked.limits.free
    return Evidence(
        part.members,
        None,
        (output,),
        "left by the link",
        left,
        threshold=chance,
        parts=len(part.reads),
        shared=part.shared,
        statement=f"are one term of a sum, or of a product, under a change of the scale of {output}",
        figures=f"inputs of different terms do not act together: the largest sign is {left:.1f} errors, chance gives "
        f"up to {chance:.1f}",
        doubts=(
            *("the largest sign comes close to that",) * (left > NEARLY * chance),
            *("inputs of different terms may act together a little, unseen",) * (not linked.is_sure),
        ),
    )


def _of_group(group: InputGroup, output: str, found: FoundGroups) -> Evidence:
    others = frozenset(name for g in found.groups if g is not group for name in g.inputs)
    role = f"a factor of {output}" if group.is_factor else "and act through that and the other groups alone"
    return Evidence(
        frozenset(group.inputs),
        None,
        (output,),
        "left by the groups",
        found.beyond,
        threshold=1.0,
        parts=len(group.inputs),
        shared=others & set(group.inputs),
        formula=group.formula,
        statement=f"form {group.formula}{_unit_words(group)}, {role}",
        figures=f"the largest sign of one number more is {found.beyond:.2g} of what rounding or chance gives; the "
        f"{'exponents' if group.form == 'product' else 'weights'} were measured to {max(group.errors):.1g}",
        doubts=(
            *(f"one number more that matters {found.unseen:.0%} as much as all inputs do would not have been seen",)
            * (found.unseen > SEEN_WELL),
            *("the largest sign comes close to that",) * (found.beyond > NEARLY),
            *("by its unit it is no pure number",) * (bool(group.unit) and not group.is_factor),
        ),
    )


def _unit_words(group: InputGroup) -> str:
    if group.unit is None:
        return ""
    return f" in {as_text(group.unit)}" if group.unit else ", a pure number"


def _of_turns(part: Part, output: str, between: TurnTable, children: Sequence[Members], statistic: str) -> Evidence:
    inside = [i for i, child in enumerate(children) if child <= part.members and child not in part.given]
    outside = [i for i, child in enumerate(children) if not child <= part.members]
    largest = float(between.sizes[np.ix_(inside, inside, outside)].max(initial=0.0))
    own = ", ".join(sorted(part.members - part.shared))
    other = "; other groups that overlap this one would hold as well" * _is_choice(between, inside, outside)
    return Evidence(
        part.members,
        None,
        (output,),
        statistic,
        largest,
        threshold=1.0,
        parts=len(part.reads),
        shared=part.shared,
        statement=f"act through one number where {', '.join(sorted(part.shared))} have given values: no other input "
        f"was seen to change how {own} act together{other}",
        figures=f"the largest sign is {largest:.2g} of what rounding or chance gives",
        doubts=("the largest sign comes close to that",) * (largest > NEARLY),
    )


def _may_turn(between: TurnTable) -> np.ndarray:
    """The triples that are turned, and those of which that would not have been seen."""
    return np.asarray(between.turned | ((between.unseen > LEAST_SEEN) & three_inputs(len(between.names))))


def _is_choice(between: TurnTable, inside: Sequence[int], outside: Sequence[int]) -> bool:
    """Whether some pair makes a part that crosses this one, so that another graph could be drawn."""
    turned, own = _may_turn(between), set(inside)
    for i, j in combinations(range(len(turned)), 2):
        turning = set(np.flatnonzero(turned[i, j]).tolist()) - {i, j}
        if len(turning) + 2 < len(turned) and not {i, j} <= own and own & {i, j, *turning}:
            return True
    return False

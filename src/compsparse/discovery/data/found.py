"""What a search in a table found: the tree of every output, what speaks for it, and what a reader must know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from compsparse.discovery.data import limits
from compsparse.discovery.data.gate import Gated
from compsparse.discovery.data.left_out import LeftOut
from compsparse.discovery.data.request import TableRequest
from compsparse.discovery.data.sketch import Sketch
from compsparse.discovery.data.smooth.answer import SmoothAnswer
from compsparse.discovery.record import DiscoveryStatus
from compsparse.discovery.shared_inputs import Inside, look_inside, smaller, wide_nodes
from compsparse.discovery.structure.bundles import Bundle, with_bundles
from compsparse.discovery.structure.forest import Members
from compsparse.discovery.structure.turns import TurnTable
from compsparse.graph.modules import ModuleTree

NAMED = 5
"""Names in a caveat on very many inputs."""


@dataclass(frozen=True, kw_only=True)
class FoundTree:
    """The tree of one output, and what speaks for it.

    Attributes:
        sketch: the search by trials that led to it, with what it doubts; of a tree that was read off, its path alone.
        networks: how many were trained.
        smooth: what a smooth fit said, if it was asked.
        gate: how the tree did against a free fit, if that was asked.
        recurrence: share of parts of the rows on which each module was found again, where that was tried.
        is_read_off: whether the tree was read off the smooth fit.
        left_out: what the rows say of inputs that the tree does without.
        caveats: of how it was found.
    """

    tree: ModuleTree
    sketch: Sketch
    status: DiscoveryStatus
    networks: int = 0
    smooth: SmoothAnswer | None = None
    gate: Gated | None = None
    recurrence: Mapping[Members, float] = field(default_factory=dict)
    is_read_off: bool = False
    left_out: LeftOut = field(default_factory=LeftOut)
    caveats: tuple[str, ...] = ()

    @property
    def unplaced(self) -> Members:
        """Inputs that act, and whose place cannot be told."""
        of_fit = self.smooth.unplaced if self.is_read_off and self.smooth is not None else frozenset()
        return of_fit | self.left_out.acting

    @property
    def room(self) -> Mapping[str, float]:
        """The largest effect that the rows leave room for of every input that was left out."""
        seen = self.smooth.room if self.is_read_off and self.smooth is not None else self.left_out.room
        return seen or {}

    @property
    def bundles(self) -> tuple[Bundle, ...]:
        """Modules of several channels, which are no part of the tree; known where it was read off."""
        return self.smooth.bundles if self.is_read_off and self.smooth is not None else ()

    def insides(self, output: str) -> dict[Members, Inside]:
        """Its wide nodes as they may be drawn with parts that share inputs, where a smooth fit told the turns."""
        table = None if self.smooth is None else self.smooth.table
        if table is None or self.smooth is None or self.status is not DiscoveryStatus.FINISHED:
            return {}
        found: dict[Members, Inside] = {}
        for node in wide_nodes(self.tree):
            if node.members <= set(table.names):
                smooth, key = self.smooth, node.members
                inside = look_inside(node, output, table, smooth.sums.get(key), smooth.groups.get(key))
                found |= {node.members: inside} if inside is not None else {}
        return found


@dataclass(frozen=True)
class FoundTrees:
    """The trees of all outputs.

    Attributes:
        of: by the names of the outputs.
        shared: (members, output, output) for every module that is one function of two outputs.
        not_looked_at: inputs that were too many to be searched.
        caveats: what a reader must know of them.
    """

    of: dict[str, FoundTree]
    shared: frozenset[tuple[Members, str, str]] = frozenset()
    not_looked_at: Members = frozenset()
    caveats: tuple[str, ...] = ()

    @property
    def trees(self) -> dict[str, ModuleTree]:
        """The trees alone, with modules of several channels as nodes of their own."""
        return {name: with_bundles(found.tree, self.drawn[name][1]) for name, found in self.of.items()}

    @property
    def channels(self) -> dict[tuple[Members, str], int]:
        """How many numbers modules of several channels pass on."""
        return {(b.members, name): b.channels for name, (_, bundles) in self.drawn.items() for b in bundles}

    @property
    def insides(self) -> dict[tuple[Members, str], Inside]:
        """The wide nodes that are drawn with parts which share inputs."""
        return {(members, name): i for name, (insides, _) in self.drawn.items() for members, i in insides.items()}

    @property
    def turns(self) -> dict[str, TurnTable]:
        """The table of turns of every output of which a smooth fit told them."""
        answers = {name: found.smooth for name, found in self.of.items()}
        return {name: said.table for name, said in answers.items() if said is not None and said.table is not None}

    @cached_property
    def drawn(self) -> dict[str, tuple[dict[Members, Inside], list[Bundle]]]:
        """What stands inside the wide nodes of every output."""
        return {name: smaller(f.tree, f.insides(name), f.bundles) for name, f in self.of.items()}

    @property
    def left(self) -> float:
        """What the searches left of rows that their fits had not seen, as a share of the variance; the most of them."""
        return max(f.sketch.path[-1].error if f.sketch.path else 1.0 for f in self.of.values())

    @property
    def status(self) -> DiscoveryStatus:
        """How the first search that did not run to its end has ended."""
        ends = [found.status for found in self.of.values() if found.status is not DiscoveryStatus.FINISHED]
        return ends[0] if ends else DiscoveryStatus.FINISHED

    def same(self, members: Members, one: str, other: str) -> bool:
        """Whether two outputs use one function of these inputs."""
        return (members, one, other) in self.shared or (members, other, one) in self.shared


# ---- caveats -------------------------------------------------------------------------------------


def about_unknown(names: Members, request: TableRequest) -> tuple[str, ...]:
    """That some inputs were too many to be looked at."""
    if not names:
        return ()
    listed = [name for name in request.table.code.names if name in names]
    few = ", ".join(listed[:NAMED]) + (f" and {len(listed) - NAMED:,} more" if len(listed) > NAMED else "")
    return (
        f"{len(listed):,} of {len(request.table.code.names):,} inputs were not looked at, and nothing is said of them, "
        f"because a forest explains more by others: {few}",
    )


def caveats_of(name: str, found: FoundTree, request: TableRequest, has_parts: bool) -> list[str]:
    n_rows = len(request.table.X)
    if n_rows < limits.FEWEST_ROWS:
        return [f"{n_rows} rows are too few to look for structure (at least {limits.FEWEST_ROWS})"]
    if found.status is not DiscoveryStatus.FINISHED:
        unused = sorted(set(request.table.code.columns) - request.left_out - found.tree.members)
        early = f"the search for {name!r} ended early: inputs that seemed inert by then may act: "
        return [early + ", ".join(unused)] if unused else []
    if found.gate is not None and found.gate.given_up:
        gone = "; ".join("{" + ", ".join(sorted(m)) + "}" for m in found.gate.given_up)
        return [
            f"not claimed for {name!r}, because a free fit predicts other rows better than a graph with them: {gone}"
        ]
    said = []
    if found.unplaced:
        weak = ", ".join(sorted(found.unplaced))
        said.append(f"{weak} act on {name!r}, too weakly for their place to be told: the root of the graph reads them")
    if hidden := {n: share for n, share in found.room.items() if share > limits.SMALL_EFFECT}:
        most = max(hidden.values())
        said.append(
            f"not needed here, which is no proof that they do nothing: {', '.join(sorted(hidden))} (an effect of up to "
            f"{most:.0%} of the spread of {name!r} would not have been seen)"
        )
    return said + ([] if has_parts else _about_modules(name, found))


def _about_modules(name: str, found: FoundTree) -> list[str]:
    tree = found.tree
    if tree.modules or found.bundles:
        return []
    if not found.sketch.predicts:
        if (share := found.left_out.explained) > 0:
            told = "and networks nothing yet: the inputs act, and more rows are needed to tell how"
            return [f"boosted trees explain {share:.0%} of {name!r}, {told}"]
        return [f"the inputs do not predict {name!r} better than a constant: no module is claimed"]
    if len(tree.children) > 2 and tree.kind == "prime":
        return [f"no module was found for {name!r}: it is one prime node over its inputs"]
    return []

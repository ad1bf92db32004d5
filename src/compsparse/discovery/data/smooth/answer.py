"""What a smooth fit says of the structure of a target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from compsparse.discovery.data.smooth.limits import DOUBT, MOSTLY_NOISE
from compsparse.discovery.data.smooth.reading import Reading, largest_blur, largest_trend, largest_turn
from compsparse.discovery.data.smooth.turning import Turns
from compsparse.discovery.shared_inputs import FoundSum
from compsparse.discovery.structure.bundles import Bundle
from compsparse.discovery.structure.forest import Members
from compsparse.discovery.structure.groups import FoundGroups
from compsparse.discovery.structure.turns import TurnAnswer, TurnTable
from compsparse.graph.modules import ModuleTree


@dataclass(frozen=True)
class ModuleFigures:
    """What speaks for a module.

    Attributes:
        turn: the largest turn of its slopes by an input outside, in standard errors.
        threshold: what passes for no turn.
        trend: how much turns by all inputs outside go with the change of the function, over all points, in
            standard errors.
        resolution: a turn, in radians, that would have passed for none, unless it has a trend.
        outer_turn: the same on rows that took no part in choosing; NaN where they are too few.
        recurrence: share of parts of the rows on which it is found again; NaN if not tried.
        unsure: whether some threshold as good as the one taken does without it.
    """

    turn: float
    threshold: float
    trend: float
    resolution: float
    outer_turn: float
    recurrence: float
    unsure: bool


@dataclass(frozen=True)
class SmoothAnswer:
    """What a smooth fit says of the structure of a target.

    Attributes:
        tree: over the inputs that act; None where the fit is too poor to be asked.
        inert: inputs without which fresh rows are predicted as well, alone and together.
        acting: inputs that are seen to act beyond doubt, however little they explain.
        unexplained: share of the variance of fresh rows that the fit leaves, of the target itself.
        spread: its standard error.
        modules: figures of every module, the whole left out.
        bundles: modules that pass several numbers; looked for only where the tree leaves no doubt.
        consistent: whether every node is cleanly prime or complete.
        unplaced: inputs that act too weakly for their place to be told.
        room: the largest effect of every inert input that the rows leave room for, as a share of the target's spread.
        weak: inputs that act much less than the strongest.
        sums: the sums under a link that nodes of the tree are, by their members.
        groups: the groups of inputs through which nodes of the tree act, by their members.
        table: every turn, with what it was held against; None where the fit is too poor, and not for noise alone.
        is_noisy: whether it is too poor for a tree, because of noise and not for lack of rows.
        resampled: on how many parts of the rows the tree was looked for again.
        turns: of ``turned`` inputs; None where the fit is too poor to say even which pairs are turned least.
        most_turn: beyond it a pair is no module.
    """

    tree: ModuleTree | None
    inert: tuple[str, ...]
    acting: frozenset[str]
    unexplained: float
    spread: float
    modules: dict[Members, ModuleFigures]
    bundles: tuple[Bundle, ...] = ()
    consistent: bool = False
    unplaced: Members = frozenset()
    room: Mapping[str, float] = field(default_factory=dict)
    weak: Members = frozenset()
    table: TurnTable | None = None
    sums: Mapping[Members, FoundSum] = field(default_factory=dict)
    groups: Mapping[Members, FoundGroups] = field(default_factory=dict)
    is_noisy: bool = False
    resampled: int = 0
    turns: Turns | None = None
    turned: tuple[str, ...] = ()
    most_turn: float = np.inf

    def turn_between(self, one: Members, other: Members) -> float:
        """The largest turn, in standard errors, that speaks against a module over two sets of inputs.

        Zero where the fit cannot say.
        """
        if self.turns is None or not one | other <= set(self.turned):
            return 0.0
        place = self.turned.index
        return self.turns.between([place(name) for name in one], [place(name) for name in other])

    def turn_of(self, members: Members) -> tuple[float, float]:
        """The largest turn of a set's slopes by an input outside it, and the largest trend in such turns.

        Zeros where the fit is too poor to be believed.
        """
        if self.tree is None or self.turns is None or not members <= set(self.turned):
            return 0.0, 0.0
        return largest_turn(members, self.turns, self.turned), largest_trend(members, self.turns, self.turned)

    def untold(self, members: Members) -> Members:
        """The inputs outside a set of which it cannot be told whether they turn its slopes.

        Where the tree was not read off this fit, only weak inputs count, or all for weak members: what strong ones do
        shows in held-out errors, unless these are noise.
        """
        if self.table is None or not members <= set(self.table.names):
            return frozenset()
        untold = self.table.turning(members, TurnAnswer.UNKNOWN)
        return untold if self.tells or self.is_noisy or members & self.weak else untold & self.weak

    @property
    def least_turn(self) -> float:
        """Up to it turns are chance beyond doubt."""
        return self.most_turn / DOUBT

    @property
    def leaves_doubt(self) -> bool:
        """Whether a module is unsure, or so much is unexplained that one may be false."""
        return any(m.unsure for m in self.modules.values()) or self.unexplained > MOSTLY_NOISE

    @property
    def weakest_first(self) -> list[Members]:
        """The modules, those that are unsure or turned most before the others."""
        return sorted(self.modules, key=lambda m: (-self.modules[m].unsure, -self.modules[m].turn, sorted(m)))

    @property
    def tells(self) -> bool:
        """Whether the tree is more than "cannot be told": a module is sure, or there surely is none."""
        if self.tree is None:
            return False
        has_none = not self.modules and self.consistent and self.tree.kind is not None
        return has_none or any(not m.unsure for m in self.modules.values())


def unasked() -> SmoothAnswer:
    """The answer of no fit: it knows nothing, and denies nothing."""
    return SmoothAnswer(None, (), frozenset(), np.nan, np.nan, {})


def figures_of(
    members: Members,
    reading: Reading,
    names: Sequence[str],
    turns: Turns,
    trend: float,
    outer_turns: Turns | None,
    again: Sequence[frozenset[Members]],
) -> ModuleFigures:
    """What speaks for a module, by the rows that chose, by the others, and on parts of the rows."""
    return ModuleFigures(
        turn=largest_turn(members, turns, names),
        threshold=reading.threshold,
        trend=trend,
        resolution=reading.threshold * largest_blur(members, turns, names),
        outer_turn=np.nan if outer_turns is None else largest_turn(members, outer_turns, names),
        recurrence=float(np.mean([members in found for found in again])) if again else np.nan,
        unsure=members in reading.unsure,
    )

"""A tree in the making, and the bench at which it is worked on.

Every step of the search takes a sketch and returns another: nothing is changed in place, so that a step which did not
help is taken back by keeping the sketch from before it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from compsparse.discovery.data.candidates import Candidate
from compsparse.discovery.data.limits import UNRESOLVED, Effort
from compsparse.discovery.data.smooth.answer import SmoothAnswer, unasked
from compsparse.discovery.data.trials import Trial, TrialTable
from compsparse.discovery.data.units import Units
from compsparse.discovery.record import Step
from compsparse.discovery.structure.forest import Members
from compsparse.discovery.structure.statistics import MAY_BE_CHANCE, standard_error
from compsparse.graph.modules import ModuleTree
from compsparse.progress import Progress, Silent

log = logging.getLogger("compsparse.discovery")


@dataclass(frozen=True)
class Support:
    """Held-out error with a module relative to the error without it: change and standard error."""

    change: float
    spread: float

    @property
    def hurts(self) -> bool:
        """Whether the error is larger with the module, so that something is wrong with a tree that keeps it."""
        return self.change > MAY_BE_CHANCE * self.spread

    @property
    def may_be_chance(self) -> bool:
        """Whether the tree may do as well without the module."""
        return self.change > -MAY_BE_CHANCE * self.spread


@dataclass(frozen=True)
class Sketch:
    """The tree so far.

    Attributes:
        units: the variables of the moment, inputs and modules.
        parked: inputs that were left out.
        path: the decisions so far.
        told_apart: by what t each module beat its rivals.
        support: what each module that was verified gains.
        refuted: modules that were seen to be false, and are not tried again.
        leaks: modules whose inputs seem to act beside them.
        may_lack: inputs that were left out although they may act.
        strays: inputs that would help elsewhere in the tree, and stay where they are.
        knows_inert: whether inputs were tried as inert.
        predicts: whether any fit has beaten the constant.
    """

    units: Units
    parked: tuple[str, ...] = ()
    path: tuple[Step, ...] = ()
    told_apart: Mapping[Members, float] = field(default_factory=dict)
    support: Mapping[Members, Support] = field(default_factory=dict)
    refuted: frozenset[Members] = frozenset()
    leaks: tuple[Members, ...] = ()
    may_lack: tuple[str, ...] = ()
    strays: tuple[str, ...] = ()
    knows_inert: bool = False
    predicts: bool = False

    @property
    def modules(self) -> list[ModuleTree]:
        """The inner nodes of all units."""
        return [m for tree in self.units.trees for m in tree.inner]

    @property
    def members(self) -> frozenset[str]:
        """All inputs that are in the tree."""
        return self.units.members(self.units.every)

    def with_units(self, units: Units) -> Sketch:
        """Another tree, known as well as this one."""
        return replace(self, units=units)

    def without_parked(self, names: Iterable[str]) -> tuple[str, ...]:
        """The parked inputs that are left when some come back."""
        back = set(names)
        return tuple(name for name in self.parked if name not in back)


class Bench:
    """What a search works with, the same from its first step to its last.

    Attributes:
        table: trials on held-out rows.
        smooth: what a smooth fit said; it may know which inputs act and which pairs are no modules.
        n_inputs: how many inputs the search began with.
        kept: the sketch to go by if the search is ended from outside.
    """

    def __init__(
        self,
        table: TrialTable,
        sketch: Sketch,
        smooth: SmoothAnswer | None = None,
        output: str = "y",
        progress: Progress | None = None,
    ):
        self.table, self.smooth, self.output = table, smooth or unasked(), output
        self.n_inputs, self.kept = len(sketch.units), sketch
        self._progress = progress or Silent()
        self._last_fit: tuple[Units, Effort, Trial] | None = None

    def keep(self, sketch: Sketch) -> Sketch:
        """Remembers a sketch that nothing takes back."""
        self.kept = sketch
        return sketch

    def fit(self, units: Units, effort: Effort) -> Trial:
        """A trial of the units as they are, under a free function of them; the last is kept, and not made again."""
        if self._last_fit is None or self._last_fit[0] is not units or self._last_fit[1] != effort:
            self._last_fit = units, effort, self.table.fit(units, [free(units.every)], effort)
        return self._last_fit[2]

    def is_resolved(self, tree: Trial) -> bool:
        """Whether a fit of the whole tree leaves next to nothing."""
        return tree.mean(0) <= UNRESOLVED * self.constant_error

    @property
    def constant_error(self) -> float:
        """Held-out error of the best constant."""
        return float(np.average(self.table.constant, weights=self.table.row_weight))

    def noted(self, sketch: Sketch, action: str, members: Members, trial: Trial, c: int = 0) -> Sketch:
        """The sketch with a step more: what was done to some inputs, and what a trial's c-th candidate leaves then."""
        scale = self.constant_error
        error, spread = trial.mean(c) / scale, float(standard_error(trial.losses[c], trial.weight)) / scale
        merged = max(0, self.n_inputs - len(sketch.units))
        message = f"{self.output}: {action} {{{', '.join(sorted(members))}}}, held-out error {error:.2%}"
        groups = ", ".join("{" + ", ".join(sorted(module.members)) + "}" for module in sketch.modules)
        self._progress.update(merged, self.n_inputs, f"{message}\nso far: {groups}" if groups else message)
        return replace(sketch, path=(*sketch.path, Step(action, members, self.output, error, spread)))


def free(which: frozenset[int]) -> Candidate:
    """A free function of some units."""
    return Candidate(frozenset(), which)

"""Searches in data with one pass of the search left out."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast
from unittest.mock import patch

from compsparse.discovery.data import limits, merging, placing, tree_search, verification
from compsparse.discovery.data.gate import Gated
from compsparse.discovery.data.limits import FIRST
from compsparse.discovery.data.smooth import answer, asking, reading
from compsparse.progress import Progress

from .formulas import Job

Change = tuple[object, str, object]
"""Where a pass stands, its name there, and what takes its place."""


def _verified_without_changes(bench: Any, sketch: Any) -> Any:
    return sketch, bench.fit(sketch.units, FIRST).mean(0) / bench.constant_error


def _same(_: Any, sketch: Any, *__: Any) -> Any:
    return sketch


def _same_and(answer: object) -> Callable[..., Any]:
    return lambda _, sketch, *__: (sketch, answer)


PASSES: Mapping[str, tuple[Change, ...]] = {
    "nothing": (),
    "inputs called inert by trials": (
        (merging, "leave_out_inert", lambda _, sketch: replace(sketch, knows_inert=True)),
    ),
    "pairs turned least go first": ((merging._Round, "_turned_least", lambda _, pairs: pairs),),
    "pairs denied by turns": (
        (
            merging._Round,
            "_not_denied",
            lambda self, pairs: [p for p in pairs if self.sketch.units.members(p) not in self.sketch.refuted],
        ),
    ),
    "last and longest merges": ((limits, "NEARLY_AS_GOOD", 0.0),),
    "inputs come back": ((tree_search, "readmit", _same_and(False)),),
    "branches come back": ((placing, "_branch_offered", lambda *_: None),),
    "inputs move": ((tree_search, "move", _same_and(None)),),
    "wide nodes": ((tree_search, "look_into_wide_nodes", _same), (verification, "look_into_wide_nodes", _same)),
    "every repair": (
        (tree_search, "verify_modules", _verified_without_changes),
        (tree_search, "move", _same_and(None)),
        (tree_search, "look_into_wide_nodes", _same),
        (placing, "_branch_offered", lambda *_: None),
    ),
    "verification": ((tree_search, "verify_modules", _verified_without_changes),),
    "rivals": ((verification, "_best_rival", lambda *_: math.inf),),
    "second looks": ((verification, "look_again", _same_and(False)),),
    "ways around": ((verification, "_leaks", lambda *_: False),),
    "gate": ((tree_search, "pass_gate", lambda tree, *_: Gated(tree, 0.0, False, ())),),
    "doubt of the reading": ((reading, "DOUBT", 1.0), (asking, "DOUBT", 1.0), (answer, "DOUBT", 1.0)),
    "larger turns of good fits": ((reading, "TURNED_BY_BIAS", reading.TURNED_BY_CHANCE),),
    "trends": ((asking, "TREND_BELIEVED", 0.0),),
}
"""Every pass of a search, by what is left out."""


@dataclass(frozen=True)
class SearchWithout(Job):
    """A search of :class:`kinds.formulas.Job` without one of :data:`PASSES`."""

    kind: ClassVar[str] = "passes"

    without: str = "nothing"

    def measure(self, *, device: str | None, progress: Progress) -> Mapping[str, Any]:
        with ExitStack() as stack:
            for place, name, instead in PASSES[self.without]:
                stack.enter_context(patch.object(cast(Any, place), name, instead))
            return super().measure(device=device, progress=progress)


KINDS = [SearchWithout]

"""What a sweep asks for: all at once, or more as results come in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from compsparse.checks import check_known
from compsparse.errors import ConfigError
from compsparse.sweeps.adaptive import Adaptive, Crossing
from compsparse.sweeps.records import Row, warn_of
from compsparse.sweeps.spec import Spec
from compsparse.sweeps.sweep import Sweep


class SweepPlan:
    """A sweep whose specs are all known."""

    def __init__(self, sweep: Sweep):
        self.sweep = sweep

    def begin(self) -> list[Spec]:
        """The specs to ask for first."""
        return self.sweep.specs()

    def heard(self, row: Row) -> list[Spec]:
        """The specs to ask for now that this result is known."""
        return []

    def runs_left(self) -> float:
        """About how many runs will be asked for beyond those asked for already."""
        return 0.0

    def crossings(self) -> tuple[tuple[dict[str, Any], Crossing], ...]:
        """(settings of a group, where its curve crosses the threshold), of a sweep that searches."""
        return ()


@dataclass
class _Group:
    settings: dict[str, Any]
    curve: dict[int, float | None] = field(default_factory=dict)
    # value -> keys of its seeds that have not ended, and the metrics of those that have
    open: dict[int, set[str]] = field(default_factory=dict)
    metrics: dict[int, list[float | None]] = field(default_factory=dict)


class AdaptivePlan(SweepPlan):
    """A sweep that searches for a threshold in every group."""

    def __init__(self, sweep: Sweep, adaptive: Adaptive):
        super().__init__(sweep)
        self.adaptive = adaptive
        self._groups = [_Group(settings) for settings in sweep.groups()]
        self._home: dict[str, tuple[_Group, int]] = {}
        self._per_value = 1

    def begin(self) -> list[Spec]:
        return [spec for group in self._groups for spec in self._ask(group, self.adaptive.next_values({}))]

    def _ask(self, group: _Group, values: Iterable[int]) -> list[Spec]:
        asked: list[Spec] = []
        for value in values:
            try:
                specs = self.sweep.group_specs(group.settings, value)
            except ConfigError:
                if not group.curve:
                    raise
                group.curve[value] = None  # the kind has no such run: there the search ends
                continue
            self._home |= {spec.key: (group, value) for spec in specs}
            group.open[value] = {spec.key for spec in specs}
            group.metrics[value] = []
            self._per_value = len(specs)
            asked += specs
        return asked

    def heard(self, row: Row) -> list[Spec]:
        group, value = self._home[row.key]
        if row.key not in group.open.get(value, ()):
            return []
        group.open[value].discard(row.key)
        group.metrics[value].append(self._metric(row))
        if group.open[value]:
            return []
        group.curve[value] = self.adaptive.summary(group.metrics[value])
        if any(group.open.values()):
            return []
        return self._ask(group, self.adaptive.next_values(group.curve))

    def _metric(self, row: Row) -> float | None:
        if row.result is None:
            return None
        numbers = {k: v for k, v in row.result.items() if isinstance(v, (int, float)) and not isinstance(v, bool)}
        name = self.adaptive.metric
        if name in row.result and name not in numbers:
            warn_of({row.key: f"its {name} is no number"}, "the sweep")
            return None
        check_known(name, numbers, f"the results of {row.kind!r} have no number to search by:")
        return float(numbers[name])

    def runs_left(self) -> float:
        left = 0
        for group in self._groups:
            n_open = sum(bool(keys) for keys in group.open.values())
            if n_open:  # what would be left after those that are running
                left += max(0, self.adaptive.values_left(group.curve) - n_open)
        return float(left * self._per_value)

    def crossings(self) -> tuple[tuple[dict[str, Any], Crossing], ...]:
        return tuple((g.settings, self.adaptive.crossing(g.curve)) for g in self._groups)


def plan_of(sweep: Sweep) -> SweepPlan:
    """The plan that fits a sweep."""
    return SweepPlan(sweep) if sweep.adaptive is None else AdaptivePlan(sweep, sweep.adaptive)

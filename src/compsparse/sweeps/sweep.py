"""Sweeps: many specs from few lines, asked for all at once or as results come in."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

from compsparse.checks import brief, check_kind, check_known, check_mapping, check_text
from compsparse.errors import ConfigError, DataError
from compsparse.files import check_place, read_text
from compsparse.sweeps.adaptive import Adaptive, Crossing
from compsparse.sweeps.records import Row, warn_of
from compsparse.sweeps.spec import Spec, check_run_kind, from_table, typed
from compsparse.text import in_a_line, printable

MOST_RUNS = 100_000
"""The most runs of one sweep, all of which are made and checked before the first begins."""
_SECTIONS = ("name", "kind", "base", "grid", "runs", "adaptive")


@in_a_line
@dataclass(frozen=True)
class Sweep:
    """Specs of one kind: every entry of ``runs`` on top of ``base``, times the product of ``grid``.

    Attributes:
        base: fields that all runs share.
        grid: field -> the values it takes.
        runs: sets of fields that belong together; one empty set by default.
        adaptive: asks for values of one more field as results come in, until a threshold is found.
    """

    name: str
    kind: type[Spec]
    base: Mapping[str, Any] = field(default_factory=dict)
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    runs: Sequence[Mapping[str, Any]] = ({},)
    adaptive: Adaptive | None = None

    def __post_init__(self) -> None:
        check_text("the name of a sweep", self.name)
        check_run_kind(self.kind)
        self._check_sections()
        if self.adaptive is not None:
            self._check_adaptive(self.adaptive)
        self._check_size()
        _ = self._first_specs

    def _check_sections(self) -> None:
        for label, section in (("base", self.base), ("grid", self.grid)):
            if not isinstance(section, Mapping):
                raise ConfigError(f"{label} must be a table of fields ([{label}] in a file), got {section!r}")
        for name, values in self.grid.items():
            if isinstance(values, str) or not isinstance(values, Sequence) or not len(values):
                raise ConfigError(f"grid.{name} must be a list of values, got {values!r}")
        is_list = isinstance(self.runs, Sequence) and len(self.runs) > 0
        if not is_list or not all(isinstance(run, Mapping) for run in self.runs[:MOST_RUNS]):
            raise ConfigError(f"runs must be tables (in a file write [[runs]] above each), got {brief(self.runs)}")

    def _check_size(self) -> None:
        """Counts the runs before any is made."""
        starts = 1 if self.adaptive is None else len(self.adaptive.starts)
        n = math.prod(len(values) for values in self.grid.values()) * len(self.runs) * starts
        if n > MOST_RUNS:
            raise ConfigError(f"the sweep has {n:,} runs; a sweep has at most {MOST_RUNS:,}: make it several")

    def _check_adaptive(self, adaptive: Adaptive) -> None:
        check_kind("adaptive", adaptive, Adaptive)
        known = self.kind.field_names()
        for label, name in (("over", adaptive.over), ("seed", adaptive.seed)):
            check_known(name, known, f"adaptive.{label} names a field that {self.kind.kind!r} does not have:")
        given = [self.base, self.grid, *self.runs]
        if any(adaptive.over in fields_ for fields_ in given):
            raise ConfigError(f"{adaptive.over!r} is what the search is over, so base, grid and runs must not set it")

    def specs(self) -> list[Spec]:
        """The specs in order, each once; of an adaptive sweep, those it begins with."""
        return list(self._first_specs)

    @cached_property
    def _first_specs(self) -> list[Spec]:
        if self.adaptive is None:
            return _distinct(self.kind.from_dict(point) for point in self._points(self.grid))
        return _distinct(s for g in self.groups() for v in self.adaptive.starts for s in self.group_specs(g, v))

    def groups(self) -> list[dict[str, Any]]:
        """The points of an adaptive sweep: all settings but the one searched over and the seed."""
        assert self.adaptive is not None
        return list(self._points({k: v for k, v in self.grid.items() if k != self.adaptive.seed}))

    def group_specs(self, group: Mapping[str, Any], value: int) -> list[Spec]:
        """All seeds of a group at one value of the field searched over."""
        assert self.adaptive is not None
        at = {**group, self.adaptive.over: value}
        seed = self.adaptive.seed
        seeds = self.grid.get(seed)
        points = [at] if seeds is None else [{**at, seed: s} for s in seeds]
        return _distinct(self.kind.from_dict(point) for point in points)

    def _points(self, grid: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
        for run, values in product(self.runs, product(*grid.values())):
            yield {**self.base, **run, **dict(zip(grid, values, strict=True))}

    @classmethod
    def from_toml(cls, path: str | Path, *, kinds: str | Path | None = None) -> Sweep:
        """Reads a sweep from a TOML file.

        Args:
            kinds: a folder with kinds of run of your own; see :func:`compsparse.sweeps.all_kinds`. The file itself
                imports nothing.
        """
        place = check_place("the file of a sweep", path)
        text = read_text(place)
        try:
            data = tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
            problem = "it is nested too deeply" if isinstance(error, RecursionError) else error
            raise DataError(f"{printable(place)} is not TOML: {problem}") from None
        try:
            return cls.from_dict({"name": place.stem, **data}, kinds=kinds)
        except ConfigError as error:
            raise ConfigError(f"{printable(place)}: {error}") from None

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], *, kinds: str | Path | None = None) -> Sweep:
        """Reads a sweep as a TOML file has it; ``kinds`` as in :meth:`from_toml`."""
        from compsparse.sweeps.catalogue import get_kind

        for name in check_mapping("a sweep", data):
            check_known(str(name), _SECTIONS, "a sweep has no")
        if "kind" not in data:
            raise ConfigError("a sweep needs its kind, such as kind = 'hierarchy'")
        grid = data.get("grid", {})
        return cls(
            typed(data.get("name", "sweep"), str, "name"),
            get_kind(typed(data["kind"], str, "kind"), kinds),
            data.get("base", {}),
            {k: _values(v, k) for k, v in grid.items()} if isinstance(grid, Mapping) else grid,
            data.get("runs", [{}]),
            from_table(Adaptive, data["adaptive"], "adaptive") if "adaptive" in data else None,
        )


def _distinct(specs: Iterator[Spec]) -> list[Spec]:
    return list({spec.key: spec for spec in specs}.values())


def _values(values: Any, name: str) -> Any:
    """A list as it is; ``{from, to, factor}`` and ``{from, to, step}`` are geometric and arithmetic ranges."""
    if not isinstance(values, Mapping):
        return values
    where = f"grid.{name}"
    unknown = set(values) - {"from", "to", "factor", "step"}
    if unknown or not {"from", "to"} <= set(values) or {"factor", "step"} <= set(values):
        raise ConfigError(f"{where} must be a list, or a range such as {{from = 64, to = 1024, factor = 2}}")
    low, high = (typed(values[k], int | float, f"{where}.{k}") for k in ("from", "to"))
    factor = typed(values.get("factor", 1), int | float, f"{where}.factor")
    step = typed(values.get("step", 0 if "factor" in values else 1), int | float, f"{where}.step")
    if not low <= high or (step <= 0 and (factor <= 1 or low <= 0)):
        raise ConfigError(f"{where} is a range that does not grow from {low} to {high}")
    n = math.log(high / low) / math.log(factor) if step <= 0 else (high - low) / step
    if n >= MOST_RUNS:
        raise ConfigError(f"{where} is a range of more than {MOST_RUNS:,} values")
    if step > 0 and all(isinstance(v, int) for v in (low, high, step)):
        return list(range(low, high + 1, step))
    return _range(low, high, factor, step)


def _range(low: int | float, high: int | float, factor: float, step: float) -> list[int | float]:
    found: list[int | float] = []
    at, beyond = float(low), high + 1e-9 * (step if step > 0 else high)  # rounding must not lose the last
    while at <= beyond and len(found) <= MOST_RUNS:
        found.append(round(at) if isinstance(low, int) else at)
        at = at * factor + step
    return list(dict.fromkeys(found))


# ---- what a sweep asks for -----------------------------------------------------------------------


@dataclass
class _Group:
    settings: dict[str, Any]
    curve: dict[int, float | None] = field(default_factory=dict)
    # value -> keys of its seeds that have not ended, and the metrics of those that have
    open: dict[int, set[str]] = field(default_factory=dict)
    metrics: dict[int, list[float | None]] = field(default_factory=dict)


class Plan:
    """What a sweep asks for: all of its specs at once, or in every group those that a search needs next."""

    def __init__(self, sweep: Sweep):
        self._sweep = sweep
        self._groups = [] if sweep.adaptive is None else [_Group(settings) for settings in sweep.groups()]
        self._home: dict[str, tuple[_Group, int]] = {}
        self._per_value = 1

    @property
    def _search(self) -> Adaptive:
        assert self._sweep.adaptive is not None
        return self._sweep.adaptive

    def begin(self) -> list[Spec]:
        """The specs to ask for first."""
        if self._sweep.adaptive is None:
            return self._sweep.specs()
        return [spec for group in self._groups for spec in self._ask(group)]

    def _ask(self, group: _Group) -> list[Spec]:
        asked: list[Spec] = []
        for value in self._search.next_values(group.curve):
            try:
                specs = self._sweep.group_specs(group.settings, value)
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
        """The specs to ask for now that this result is known."""
        group, value = self._home.get(row.key, (None, 0))
        if group is None or row.key not in group.open.get(value, ()):
            return []
        group.open[value].discard(row.key)
        group.metrics[value].append(self._metric(row))
        if group.open[value]:
            return []
        group.curve[value] = self._search.summary(group.metrics[value])
        return [] if any(group.open.values()) else self._ask(group)

    def _metric(self, row: Row) -> float | None:
        if row.result is None:
            return None
        numbers = {k: v for k, v in row.result.items() if isinstance(v, (int, float)) and not isinstance(v, bool)}
        name = self._search.metric
        if name in row.result and name not in numbers:
            warn_of({row.key: f"its {name} is no number"}, "the sweep")
            return None
        check_known(name, numbers, f"the results of {row.kind!r} have no number to search by:")
        return float(numbers[name])

    def runs_left(self) -> float:
        """About how many runs will be asked for beyond those asked for already."""
        left = 0
        for group in self._groups:
            n_open = sum(bool(keys) for keys in group.open.values())
            if n_open:  # what would be left after those that are running
                left += max(0, self._search.values_left(group.curve) - n_open)
        return float(left * self._per_value)

    def crossings(self) -> tuple[tuple[dict[str, Any], Crossing], ...]:
        """(settings of a group, where its curve crosses the threshold), of a sweep that searches."""
        return tuple((g.settings, self._search.crossing(g.curve)) for g in self._groups)

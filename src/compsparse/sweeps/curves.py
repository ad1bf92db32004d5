"""What a sweep shows: the kind's metric against the kind's size, one curve per setting, seeds as spread."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from statistics import fmean
from typing import Any

from compsparse.checks import check_text
from compsparse.errors import ConfigError, DataError
from compsparse.files import check_writable
from compsparse.measures.crossing import Threshold, threshold
from compsparse.report.figure import Figure
from compsparse.report.page import Section, table, write_page
from compsparse.sweeps.records import Row, check_run_rows, is_real, warn_of
from compsparse.sweeps.spec import Spec, check_run_kind
from compsparse.text import in_a_line

_SEED = "seed"
_MOST_SETTINGS_WITH_LAYERS = 4


@in_a_line
@dataclass(frozen=True)
class SweepCurve:
    """The runs of one setting.

    Attributes:
        setting: the fields in which the sweep's settings differ.
        values: metric of every seed, by size.
        layers: the same of results that are lists, by name: one list per run.
        reaches: where the mean reaches the kind's level, if the kind has one.
    """

    setting: dict[str, Any]
    values: dict[int, list[float]]
    layers: dict[str, dict[int, list[list[float]]]]
    reaches: Threshold | None

    @property
    def name(self) -> str:
        """The setting in words."""
        return ", ".join(f"{k}={v}" for k, v in self.setting.items()) or "all runs"


def sweep_curves(rows: Iterable[Row], kind: type[Spec]) -> list[SweepCurve]:
    """The finished runs, by setting, in the order in which settings first appear.

    Runs whose metric or size is no finite number are left out, and named in a warning.
    """
    if (axes := check_run_kind(kind).curve) is None:
        return []
    over, metric = axes
    done, left_out = _usable(check_run_rows(rows), over, metric)
    warn_of(left_out, "the sweep")
    groups: dict[str, list[Row]] = {}
    changing = _changing(done, (over, _SEED))
    for row in done:
        groups.setdefault(str([row.spec.get(k) for k in changing]), []).append(row)
    return [_curve(group, changing, kind) for group in groups.values()]


def _usable(rows: Sequence[Row], over: str, metric: str) -> tuple[list[Row], dict[str, str]]:
    """Runs that are done and can be drawn, and why the others of those that are done cannot, by key."""
    left_out: dict[str, str] = {}
    for row in rows:
        if row.result is not None and not is_real(row.result.get(metric)):
            left_out[row.key] = f"its {metric} is no finite number"
        elif row.result is not None and not (is_real(row.spec.get(over)) and row.spec[over] > 0):
            left_out[row.key] = f"its {over} is no number above 0"
    return [row for row in rows if row.result is not None and row.key not in left_out], left_out


def _changing(rows: Sequence[Row], left_out: Sequence[str]) -> list[str]:
    names = list(dict.fromkeys(name for row in rows for name in row.spec))
    return [k for k in names if k not in left_out and len({str(row.spec.get(k)) for row in rows}) > 1]


def _curve(rows: Sequence[Row], changing: Sequence[str], kind: type[Spec]) -> SweepCurve:
    assert kind.curve is not None
    over, metric = kind.curve
    values: dict[int, list[float]] = {}
    layers: dict[str, dict[int, list[list[float]]]] = {}
    for row in sorted(rows, key=lambda row: (row.spec[over], _order(row.spec.get(_SEED)))):
        assert row.result is not None
        values.setdefault(row.spec[over], []).append(row.result[metric])
        for name, found in row.result.items():
            if isinstance(found, list) and found and all(map(is_real, found)):
                layers.setdefault(name, {}).setdefault(row.spec[over], []).append(found)
    reaches = None if kind.level is None else threshold(values, kind.level, random_state=0)
    return SweepCurve({k: rows[0].spec.get(k) for k in changing}, values, layers, reaches)


def _order(seed: Any) -> tuple[float, str]:
    return (seed, "") if is_real(seed) else (math.inf, str(seed))


# ---- as figures and as a page --------------------------------------------------------------------


def curve_figure(found: Sequence[SweepCurve], kind: type[Spec]) -> Figure:
    """All curves in one figure."""
    over, metric = _axes(found, kind)
    rows = [row for c in found for row in _points(c.values, over, metric, c.name)]
    return Figure(
        f"{metric} against {over}", tuple(rows), over, metric, series="setting", low="low", high="high", log_x=True,
        y_title=f"{metric} (mean, range of seeds)",
    )  # fmt: skip


def layer_figures(found: Sequence[SweepCurve], kind: type[Spec]) -> list[Figure]:
    """For every result that is a list, its entries against the size; of the first few settings."""
    over, _ = _axes(found, kind)
    figures = []
    for c in found[:_MOST_SETTINGS_WITH_LAYERS]:
        for name, by_size in c.layers.items():
            n = min(len(run) for runs in by_size.values() for run in runs)
            rows = [
                row
                for k in range(n)
                for row in _points(
                    {p: [run[k] for run in runs] for p, runs in by_size.items()}, over, name, f"layer {k + 1}"
                )
            ]
            figures.append(
                Figure(f"{name}: {c.name}", tuple(rows), over, name, series="setting", low="low", high="high",
                       log_x=True, y_title=f"{name}, by layer (mean, range of seeds)")
            )  # fmt: skip
    return figures


def _axes(found: Any, kind: type[Spec]) -> tuple[str, str]:
    if not isinstance(found, Sequence) or not all(isinstance(c, SweepCurve) for c in found):
        raise ConfigError(f"expected the curves that sweep_curves returns, got {found!r}")
    if (axes := check_run_kind(kind).curve) is None:
        raise ConfigError(f"the kind {kind.kind!r} does not say what its curves are: set curve = (field, metric)")
    return axes


def _points(values: Mapping[int, Sequence[float]], over: str, metric: str, name: str) -> list[dict[str, Any]]:
    return [
        {over: p, metric: fmean(seeds), "low": min(seeds), "high": max(seeds), "setting": name}
        for p, seeds in values.items()
    ]


def summary_table(found: Sequence[SweepCurve], kind: type[Spec]) -> tuple[list[str], list[list[object]]]:
    """Columns and rows: where every setting reaches the level, or else the metric at every size."""
    over, metric = _axes(found, kind)
    names = list(found[0].setting) if found else []
    if kind.level is None:
        columns = [*names, over, metric, "low", "high"]
        rows = [[*c.setting.values(), p, fmean(v), min(v), max(v)] for c in found for p, v in c.values.items()]
        return columns, rows
    columns = [*names, "sizes", "lowest " + metric, f"{metric} {kind.level:g} at", "90% interval"]
    return columns, [
        [*c.setting.values(), len(c.values), min(map(fmean, c.values.values())), *_reached(c)] for c in found
    ]


def _reached(curve: SweepCurve) -> tuple[str, str]:
    found = curve.reaches
    assert found is not None
    if found.value == float("inf"):
        return "not reached", ""
    if not found.bracketed:
        return f"at most {found.value:.4g}", ""
    return f"{found.value:.4g}", f"{found.low:.4g} to {found.high:.4g}"


def sweep_page(path: str | Path, name: str, rows: Iterable[Row], kind: type[Spec]) -> Path:
    """Writes a page with a sweep's curves and returns its path; it says how many runs are left out."""
    check_writable(path)
    check_text("the name of a sweep", name)
    listed = check_run_rows(rows)
    found = sweep_curves(listed, kind)
    _axes(found, kind)
    if not found:
        raise DataError(f"the sweep {name!r} has no finished runs to draw")
    columns, lines = summary_table(found, kind)
    sections = [
        Section("Settings", table(columns, lines) + _left_out_note(listed, kind)),
        Section("Curves", "", (curve_figure(found, kind),)),
    ]
    by_layer = layer_figures(found, kind)
    if by_layer:
        more = len(found) - _MOST_SETTINGS_WITH_LAYERS
        note = f"<p>{more} more settings are in the store.</p>" if more > 0 else ""
        sections.append(Section("By layer", note, tuple(by_layer)))
    about = (kind.__doc__ or "").strip().split("\n")[0]
    return write_page(path, name, about, sections, f"{kind.kind} runs, version {kind.version}")


def _left_out_note(rows: Sequence[Row], kind: type[Spec]) -> str:
    assert kind.curve is not None
    n_failed = sum(row.result is None for row in rows)
    _, left_out = _usable(rows, *kind.curve)
    parts = [f"{n_failed:,} runs failed"] * bool(n_failed)
    parts += [f"{len(left_out):,} have no finite {kind.curve[1]}"] * bool(left_out)
    return f"<p>Left out: {escape('; '.join(parts))}.</p>" if parts else ""

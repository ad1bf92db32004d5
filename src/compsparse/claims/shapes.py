"""What experiments share: the loop that tells how far it is, the figure of values over seeds, and the finding."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from compsparse.claims.claim import Finding, Outcome, Premise
from compsparse.claims.rules import Interval, all_of, fitted_exponent
from compsparse.progress import Progress
from compsparse.report.figure import Figure

_Item = TypeVar("_Item")


def each(items: Iterable[_Item], progress: Progress, label: str = "{}") -> Iterator[_Item]:
    """The items one by one; after each the listener hears how many are done.

    Args:
        label: names an item; a tuple fills several places.
    """
    listed = list(items)
    for done, item in enumerate(listed, 1):
        yield item
        progress.update(done, len(listed), label.format(*item) if isinstance(item, tuple) else label.format(item))


def figure_of(
    title: str,
    points: Iterable[tuple[Any, ...]],
    x: str,
    y: str,
    series: str | None = None,
    *,
    middle: Callable[[Any], Any] = np.mean,
    **looks: Any,
) -> Figure:
    """A figure of points (x, y), or (x, y, series).

    Args:
        points: where y is not a number but values over seeds, their middle is drawn, with their range around it.
        looks: as :class:`~compsparse.report.figure.Figure` has them.
    """
    rows = []
    for place, values, *name in points:
        row = {x: place, y: values}
        if np.ndim(values):
            row = {x: place, y: float(middle(values)), "low": float(np.min(values)), "high": float(np.max(values))}
            looks = {"low": "low", "high": "high", **looks}
        rows.append(row if series is None else row | {series: name[0]})
    return Figure(title, tuple(rows), x, y, series=series, **looks)


def finite(numbers: Mapping[str, float]) -> dict[str, float]:
    """Those that are known."""
    return {name: value for name, value in numbers.items() if math.isfinite(value)}


def fitted_exponents(points: Iterable[tuple[float, float, str]]) -> dict[str, Interval]:
    """The confidence intervals of the exponents with which y grows with x, by series."""
    by_series: dict[str, list[tuple[float, float]]] = {}
    for x, y, series in points:
        by_series.setdefault(series, []).append((x, y))
    return {series: fitted_exponent(*zip(*found, strict=True)) for series, found in by_series.items()}


def finding_of(
    outcome: Outcome | bool | Iterable[Outcome | bool],
    measured: str,
    numbers: Mapping[str, Any],
    figures: Figure | Sequence[Figure] = (),
    *,
    premises: Premise | Sequence[Premise] = (),
    expected: str = "",
    caveats: Sequence[str] = (),
) -> Finding:
    """The finding of one outcome, or of all of several.

    Args:
        outcome: True is supported and False refuted.
        numbers: of values over seeds, the mean is given.
    """
    outcomes = outcome if isinstance(outcome, Iterable) else [outcome]
    return Finding(
        all_of(o if isinstance(o, Outcome) else Outcome.SUPPORTED if o else Outcome.REFUTED for o in outcomes),
        expected=expected,
        measured=measured,
        numbers={name: float(np.mean(values)) for name, values in numbers.items()},
        figures=(figures,) if isinstance(figures, Figure) else tuple(figures),
        premises=(premises,) if isinstance(premises, Premise) else tuple(premises),
        caveats=tuple(caveats),
    )


def seen(values: Mapping[str, Any], *names: str) -> str:
    """What no rule asks for and a reader wants: means of values by name, or of all whose names begin so."""
    wanted = [n for n in values if any(n == name or n.startswith(f"{name}, ") for name in names)]
    return "; ".join(f"{name} {float(np.mean(values[name])):.3g}" for name in wanted)

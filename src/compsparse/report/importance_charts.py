"""Charts of importances: shares of inputs and modules, and of pairs."""

from __future__ import annotations

from compsparse.checks import check_kind
from compsparse.models.influence.record import Importances
from compsparse.report.figure import Figure

_MOST_BARS, _MOST_PAIRS = 16, 12


def importance_figures(found: Importances) -> tuple[Figure, ...]:
    """One chart of inputs and modules, alone and in all; one of the pairs that act together, where there are any.

    Lines reach two standard errors to either side.
    """
    check_kind("found", found, Importances)
    entries = sorted(found.inputs, key=lambda i: -i.total)[:_MOST_BARS]
    named = [(i.name, i) for i in entries] + [("{" + ", ".join(m.members) + "}", m) for m in found.modules[:_MOST_BARS]]
    shares = tuple(
        {"of": name, "known": what, **_share(value, error)}
        for name, i in named
        for what, value, error in (("alone", i.first, i.first_error), ("in all", i.total, i.total_error))
    )
    title = f"Importance: {found.meaning}"
    up = "share of the variance"
    figures = [
        Figure(title, shares, "of", "share", "bars", "known", "low", "high", x_title="input or module", y_title=up)
    ]
    together = [p for p in found.pairs if p.strength > 2 * p.error][:_MOST_PAIRS]
    if together:
        rows = tuple({"pair": " and ".join(p.pair), **_share(p.strength, p.error)} for p in together)
        figures.append(
            Figure("Inputs that act together", rows, "pair", "share", "dots", low="low", high="high", y_title=up)
        )
    return tuple(figures)


def _share(value: float, error: float) -> dict[str, float]:
    """A share with its two ends; none is drawn below zero."""
    return {"share": max(value, 0.0), "low": max(value - 2 * error, 0.0), "high": max(value + 2 * error, 0.0)}

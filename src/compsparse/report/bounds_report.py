"""The bounds of a model as a chart and as a page."""

from __future__ import annotations

import math
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from compsparse.checks import check_choice
from compsparse.report.figure import Figure
from compsparse.report.page import Section, table, write_page

if TYPE_CHECKING:  # a record is read here, torch is not needed
    from compsparse.bounds import Bound, BoundTable

_AXES = {
    "complexity": "Rademacher complexity is at most",
    "gap": "expected minus training loss is at most",
    "expected loss": "expected loss is at most",
}


def bounds_figure(bounds: BoundTable, of: str = "complexity") -> Figure:
    """Bounds one below the other on a logarithmic axis, with their status.

    Args:
        of: ``complexity``, ``gap`` or ``expected loss``.
    """
    check_choice("of", of, _AXES)
    rows = tuple(
        {"bound": f"{bound.name} ({_standing(bounds, bound, of)})", of: row[of]}
        for bound, row in zip(bounds.bounds, bounds.rows(), strict=True)
        if of in bound.rigours
    )
    title = f"Bounds on {bounds.n_rows:,} rows (left is better)"
    return Figure(title, rows, "bound", of, mark="dots", log_y=True, y_title=_AXES[of])


def _standing(bounds: BoundTable, bound: Bound, of: str) -> str:
    """How sure a number is, and whether it says anything."""
    return bound.rigours[of].value + ", vacuous" * (of in bounds.vacuous(bound))


def bounds_page(path: str | Path, bounds: BoundTable, title: str) -> Path:
    """Writes the page and returns its path."""
    has_losses = not math.isnan(bounds.training_loss)
    figures = [bounds_figure(bounds)] + ([bounds_figure(bounds, "gap")] if has_losses else [])
    columns = ["bound", "Rademacher complexity", "gap", "expected loss", "status"]
    sections = [
        Section("Side by side", _facts(bounds) + table(columns, bounds.cells()), tuple(figures)),
        Section("What each says and takes for granted", "".join(map(_described, bounds.bounds))),
    ]
    lead = (
        f"What theory promises of a model of {bounds.n_parameters:,} parameters from {bounds.n_rows:,} rows. "
        "All bounds share one data term."
    )
    return write_page(path, title, lead, sections, "Made by compsparse.")


def bounds_verdict(bounds: BoundTable) -> str:
    """How many of the bounds say something, and which of them says most of the loss."""
    telling = [b for b in bounds.bounds if set(b.rigours) - set(bounds.vacuous(b))]
    says = f"{len(telling)} of {len(bounds.bounds)} bounds say something"
    of_loss = [b for b in telling if "expected loss" in b.rigours and "expected loss" not in bounds.vacuous(b)]
    if not of_loss:
        return f"{says}; none of them limits the expected loss below 1, which is known without it."
    best = min(of_loss, key=lambda b: b.expected_loss)
    return f"{says}; the expected loss is at most {best.expected_loss:.3g}, by {best.name} ({best.status})."


def _facts(bounds: BoundTable) -> str:
    told = [
        "The gap says by how much the expected loss may exceed the training loss; all rows hold at once, with "
        f"{bounds.confidence:.0%} confidence. A loss is at most 1, and no complexity is above the range bound: what "
        "says no more than that is vacuous."
    ]
    if math.isnan(bounds.training_loss):
        told = ["Without a target nothing is said of losses."]
    else:
        told.append(f"Training loss {bounds.training_loss:.3g} at margin {bounds.margin:g}.")
    if not math.isnan(bounds.training_error):
        told.append(f"Training error {bounds.training_error:.2%}.")
    return "".join(f"<p>{escape(sentence)}</p>" for sentence in (" ".join(told), *bounds.notes))


def _described(bound: Bound) -> str:
    terms = ", ".join(f"{name} {value:.4g}" for name, value in bound.terms.items())
    assumed = "".join(f"<li>{escape(sentence)}</li>" for sentence in bound.assumes)
    return (
        f"<h3>{escape(bound.name)}</h3><p>{escape(bound.says[0].upper() + bound.says[1:])}. "
        f"Status: {bound.status} ({bound.rigour.sentence}).</p><p>{escape(terms)}</p><ul>{assumed}</ul>"
    )

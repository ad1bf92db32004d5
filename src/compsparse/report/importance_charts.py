"""Importances on pages and in notebooks: shares of inputs and modules, and of pairs."""

from __future__ import annotations

from compsparse.checks import check_kind
from compsparse.models.influence.record import Importance, Importances
from compsparse.report.evidence import listed
from compsparse.report.figure import Figure
from compsparse.report.page import table

_MOST_BARS, _MOST_PAIRS = 16, 12
_MOST_IN_WORDS, _MOST_PAIRS_IN_WORDS = 4, 6


def importance_figures(found: Importances) -> tuple[Figure, ...]:
    """One chart of inputs and modules, alone and in all; one of the pairs that act together, where there are any.

    Lines reach two standard errors to either side.
    """
    check_kind("found", found, Importances)
    entries = sorted(found.inputs, key=lambda i: -i.total)[:_MOST_BARS]
    named = [(i.name, i) for i in entries] + [(_group(m), m) for m in found.modules[:_MOST_BARS]]
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
    together = found.together[:_MOST_PAIRS]
    if together:
        rows = tuple({"pair": " and ".join(p.pair), **_share(p.strength, p.error)} for p in together)
        figures.append(
            Figure("Inputs that act together", rows, "pair", "share", "dots", low="low", high="high", y_title=up)
        )
    return tuple(figures)


def importance_table(found: Importances) -> str:
    """Inputs, the most important first, then modules: what each explains alone, and what is lost without it."""
    entries = sorted(found.inputs, key=lambda i: -i.total)[:_MOST_BARS]
    named = [(i.name, i) for i in entries] + [(_group(m), m) for m in found.modules[:_MOST_BARS]]
    rows = [[name, _percent(i.first, i.first_error), _percent(i.total, i.total_error)] for name, i in named]
    return table(["input or group", "alone", "in all"], rows)


def importance_sentences(found: Importances) -> list[str]:
    """What the shares mean, and which inputs act together."""
    told = [
        "Shares of the variation of what the model predicts, with two standard errors. Alone: what it explains if "
        "nothing else is known. In all: what is lost if it is the only one not known; the difference is what it does "
        "together with others."
    ]
    if found.meaning == "effects within the data":
        told.append(
            "The shares are measured within the data, where columns depend on one another, so they do not add up to "
            "100%: what two columns both tell is counted for both alone, and for neither in all."
        )
    if found.together:
        pairs = (
            f"{' and '.join(p.pair)} ({_percent(p.strength, p.error)})" for p in found.together[:_MOST_PAIRS_IN_WORDS]
        )
        told.append(f"Act together: {listed(pairs)}.")
    return told


def what_matters(found: Importances) -> str:
    """The most important inputs in one sentence."""
    ranked = sorted((i for i in found.inputs if i.total > 2 * i.total_error), key=lambda i: -i.total)
    if not ranked:
        return ""
    shares = ", ".join(f"{i.name} {_percent(i.total, i.total_error)}" for i in ranked[:_MOST_IN_WORDS])
    return f"Share of the variation that is lost where an input is not known: {shares}."


def _percent(share: float, error: float) -> str:
    """A share with two standard errors."""
    percent = 200 * error
    return f"{max(share, 0.0):.0%} ± {percent:.0f}%" if percent >= 1 else f"{max(share, 0.0):.0%} ± {percent:.1g}%"


def _group(module: Importance) -> str:
    return "{" + listed(module.members) + "}"


def _share(value: float, error: float) -> dict[str, float]:
    """A share with its two ends; none is drawn below zero."""
    return {"share": max(value, 0.0), "low": max(value - 2 * error, 0.0), "high": max(value + 2 * error, 0.0)}

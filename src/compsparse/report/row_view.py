"""Predictions of single rows on pages and in notebooks: what every input and node contributes, and what-if curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from html import escape

from compsparse.models.row_explanation import ExampleRow, RowExplanation
from compsparse.report.page import Section
from compsparse.report.pictures import picture_svg

_MOST_CURVES, _MOST_ENTRIES = 6, 24
_ABOUT = (
    "<p>What every input adds to a prediction, compared with other rows, whose average it starts from. A group has "
    "what its inputs have together. The curves show what would be predicted if one input were different.</p>"
)


def rows_section(examples: Sequence[ExampleRow]) -> Section:
    """A few rows explained, one shown at a time."""
    options = "".join(f'<option value="row-{i}">{escape(e.label)}</option>' for i, e in enumerate(examples))
    pick = f'<p><label>Row: <select class="rows">{options}</select></label></p>'
    panels = "".join(
        f'<div class="row-panel" id="row-{i}"><p>{escape(e.explanation.sentence)} Observed: {escape(e.observed)}.</p>'
        f"{contributions_table(e.explanation)}{_curves(e.explanation)}</div>"
        for i, e in enumerate(examples)
    )
    return Section("One row explained", f'{_ABOUT}{pick}<div aria-live="polite">{panels}</div>')


def contributions_table(found: RowExplanation) -> str:
    """Nodes and inputs as the graph nests them, with bars to the left and to the right of nothing."""
    entries = found.entries
    largest = max((abs(c.amount or 0.0) for c in entries), default=0.0) or 1.0
    rows = []
    for entry in entries[:_MOST_ENTRIES]:
        amount = entry.amount or 0.0
        share = 50 * abs(amount) / largest
        side = f"left:{50 - share if amount < 0 else 50:.1f}%;width:{share:.1f}%"
        bar = f'<span class="bar"><i class="{"less" if amount < 0 else "more"}" style="{side}"></i></span>'
        rows.append(
            f'<tr><td style="padding-left:{10 + 18 * entry.depth}px">{escape(entry.name)}</td>'
            f'<td class="number">{escape(entry.shown)}</td><td class="number">{amount:+.4g}</td>'
            f'<td class="number">{entry.error:.1g}</td><td>{bar}</td></tr>'
        )
    more = len(entries) - _MOST_ENTRIES
    left_out = f"<p>… and {more:,} that contribute less.</p>" if more > 0 else ""
    head = '<th>input or node</th><th class="number">value</th><th class="number">adds</th>'
    head += '<th class="number">±</th><th aria-hidden="true"></th>'
    return (
        f'<div class="scroll"><table class="contributions"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>{left_out}"
    )


def _curves(found: RowExplanation) -> str:
    curves = [found.curves[c.name] for c in found.inputs[:_MOST_CURVES]]
    ends = (min(float(c.values.min()) for c in curves), max(float(c.values.max()) for c in curves))
    drawn = [picture_svg(replace(curve, value_range=ends)) for curve in curves]
    return f'<div class="pics">{"".join(f"<figure>{svg}</figure>" for svg in drawn)}</div>'

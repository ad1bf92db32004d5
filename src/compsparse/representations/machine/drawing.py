"""The tableau of a run as SVG: a row for every step, a column for every cell, the head outlined with its state."""

from __future__ import annotations

from html import escape

from compsparse.checks import check_count, check_kind
from compsparse.representations.machine.turing import ACCEPT, REJECT, MachineTrace

_CELL = 22
_LABEL = 96
_MARGIN = 14
_STYLE = """
.cs-tableau { font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; --ink: #1f2937; --soft: #6b7280;
  --line: #d1d5db; --one: #bfdbfe; --mark: #fde68a; --head: #c2410c; }
@media (prefers-color-scheme: dark) { .cs-tableau { --ink: #e5e7eb; --soft: #9ca3af; --line: #4b5563; --one: #1e40af;
  --mark: #78350f; --head: #fb923c; } }
.cs-tableau text { fill: var(--ink); text-anchor: middle; dominant-baseline: central; }
.cs-tableau .step { fill: var(--soft); text-anchor: end; }
.cs-tableau .state { text-anchor: start; }
.cs-tableau .cell { fill: none; stroke: var(--line); }
.cs-tableau .one { fill: var(--one); } .cs-tableau .mark { fill: var(--mark); }
.cs-tableau .head { fill: none; stroke: var(--head); stroke-width: 2.5; }
"""


def draw_tableau(trace: MachineTrace, most_rows: int = 80) -> str:
    """The course of a machine on one input as a self-contained SVG element.

    Args:
        most_rows: steps that are drawn; the rest is counted.
    """
    check_kind("trace", trace, MachineTrace)
    most_rows = check_count("most_rows", most_rows)
    n_rows = min(len(trace.states), most_rows)
    n_cells = trace.tape.shape[1]
    left = _MARGIN + 34
    width = left + n_cells * _CELL + _LABEL + _MARGIN
    height = 2 * _MARGIN + (n_rows + (n_rows < len(trace.states))) * _CELL
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="cs-tableau" role="img" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" style="max-width:100%;height:auto">',
        f"<title>{len(trace.states) - 1} steps of a Turing machine</title>",
        f"<style>{_STYLE}</style>",
    ]
    for row in range(n_rows):
        y = _MARGIN + row * _CELL
        middle = y + _CELL / 2
        lines.append(f'<text class="step" x="{left - 8}" y="{middle}">{row}</text>')
        for cell in range(n_cells):
            lines += _cell(left + cell * _CELL, y, str(trace.tape[row, cell]))
        head = left + int(trace.head[row]) * _CELL
        lines.append(f'<rect class="head" x="{head}" y="{y}" width="{_CELL}" height="{_CELL}" rx="3"/>')
        state = trace.states[row]
        weight = ' font-weight="bold"' if state in (ACCEPT, REJECT) else ""
        x = left + n_cells * _CELL + 10
        lines.append(f'<text class="state" x="{x}" y="{middle}"{weight}>{escape(state)}</text>')
    if n_rows < len(trace.states):
        below = _MARGIN + (n_rows + 0.5) * _CELL
        lines.append(f'<text class="state" x="{left}" y="{below}">… {len(trace.states) - n_rows} more steps</text>')
    return "\n".join([*lines, "</svg>"])


def _cell(x: float, y: float, symbol: str) -> list[str]:
    kind = {"0": "", "1": " one", " ": ""}.get(symbol, " mark")
    box = f'<rect class="cell{kind}" x="{x}" y="{y}" width="{_CELL}" height="{_CELL}"/>'
    if symbol == " ":
        return [box]
    return [box, f'<text x="{x + _CELL / 2}" y="{y + _CELL / 2}">{escape(symbol)}</text>']

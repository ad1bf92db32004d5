"""One datum and the tree that made it: laid out on a grid, drawn with characters or as SVG."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape
from itertools import accumulate

import numpy as np

from compsparse.checks import check_count, check_kind
from compsparse.errors import ConfigError
from compsparse.tasks.hierarchy.model import EMPTY
from compsparse.tasks.hierarchy.trees import HierarchySample

# by the ways that lead out of a sign: up, down, left, right
_SIGNS = {"ud>": "├", "ud<": "┤", "ud<>": "┼", "u<>": "┴", "u>": "└", "u<": "┘"} | {
    "d<>": "┬", "d>": "┌", "d<": "┐", "<>": "─"
}  # fmt: skip
_MOST_SLOTS = 40  # of a datum whose empty slots are drawn one by one
_NAMES = 9  # characters that names of levels take
_COLUMN, _ROW, _RADIUS, _BOX, _LEFT, _TOP = 30.0, 74.0, 13.0, 24.0, 76.0, 30.0
_WIDEST = 1200.0

_STYLE = """
.cs-datum { font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; --ink: #1f2937; --soft: #6b7280;
  --faint: #d1d5db; --fill: #f8fafc; --inner: #2563eb; --label: #c2410c; --input: #059669; }
@media (prefers-color-scheme: dark) { .cs-datum { --ink: #e5e7eb; --soft: #9ca3af; --faint: #4b5563; --fill: #111827;
  --inner: #60a5fa; --label: #fb923c; --input: #34d399; } }
.cs-datum text { fill: var(--ink); text-anchor: middle; dominant-baseline: central; }
.cs-datum .edge { stroke: var(--soft); fill: none; stroke-width: 1.3; }
.cs-datum .node { fill: var(--fill); stroke: var(--inner); stroke-width: 1.5; }
.cs-datum .label .node { stroke: var(--label); stroke-width: 3; }
.cs-datum .input .node { stroke: var(--input); }
.cs-datum .empty * { fill: none; stroke: var(--faint); }
.cs-datum .empty text { fill: var(--soft); stroke: none; font-size: 10px; }
.cs-datum .name { fill: var(--soft); text-anchor: start; font-size: 11px; }
"""

# ---- layout: columns of slots, and levels above them --------------------------------------------------


@dataclass(frozen=True)
class DatumLayout:
    """One datum on a grid.

    Attributes:
        symbols: for levels 0 to L, from left to right.
        columns: for each column of the bottom row, its symbol (or EMPTY) and how many slots it stands for.
        across: for levels 0 to L, the column above which each node stands.
        empty: for levels 1 to L - 1 (at index level - 1), the columns above which empty nodes stand, if drawn.
        rules: for levels 1 to L (at index level - 1), one sentence a node.
    """

    symbols: tuple[tuple[int, ...], ...]
    columns: tuple[tuple[int, int], ...]
    across: tuple[tuple[float, ...], ...]
    empty: tuple[tuple[float, ...], ...]
    rules: tuple[tuple[str, ...], ...]

    @property
    def n_levels(self) -> int:
        """L, levels above the input."""
        return len(self.rules)

    def children(self, node: int) -> range:
        """Numbers of a node's children in the level below."""
        s = len(self.symbols[0]) // len(self.symbols[1])
        return range(node * s, (node + 1) * s)

    def name(self, level: int) -> str:
        """What a level is called beside its row."""
        return {0: "input", self.n_levels: "label"}.get(level, f"level {level}")


def lay_out(sample: HierarchySample, i: int, one_by_one: bool | None = None) -> DatumLayout:
    """The datum of row i; runs of empty slots share a column, by default if there are many slots."""
    check_kind("sample", sample, HierarchySample)
    if check_count("i", i, least=0) >= len(sample):
        raise ConfigError(f"there is no datum {i}: the sample has {len(sample)}, numbered from 0")
    symbols = tuple(tuple(int(a) for a in level[i]) for level in sample.symbols)
    if one_by_one is None:
        one_by_one = sample.model.n_inputs <= _MOST_SLOTS
    columns, of_symbol = _columns(sample.X[i], one_by_one)
    across = _evenly(sample, i) if one_by_one else _above_children(of_symbol, sample.model.s, sample.model.n_levels)
    empty = _between(across, sample.model.patch) if one_by_one else ((),) * (sample.model.n_levels - 1)
    return DatumLayout(symbols, columns, across, empty, _sentences(sample, i))


def _columns(row: np.ndarray, one_by_one: bool) -> tuple[tuple[tuple[int, int], ...], list[float]]:
    columns: list[tuple[int, int]] = []
    of_symbol: list[float] = []
    for symbol in row.tolist():
        if symbol == EMPTY and not one_by_one and columns and columns[-1][0] == EMPTY:
            columns[-1] = (EMPTY, columns[-1][1] + 1)
            continue
        if symbol != EMPTY:
            of_symbol.append(float(len(columns)))
        columns.append((symbol, 1))
    return tuple(columns), of_symbol


def _evenly(sample: HierarchySample, i: int) -> tuple[tuple[float, ...], ...]:
    """Every node above the middle of the slots that it stands for."""
    patch, L = sample.model.patch, sample.model.n_levels
    position = np.zeros(1, dtype=int)
    across = [((patch**L - 1) / 2,)]
    for level in range(L - 1, -1, -1):
        position = (position[:, None] * patch + sample.slots[level][i]).ravel()
        across.insert(0, tuple(((position + 0.5) * patch**level - 0.5).tolist()))
    return tuple(across)


def _between(across: tuple[tuple[float, ...], ...], patch: int) -> tuple[tuple[float, ...], ...]:
    """Where the nodes of the inner levels that are empty would stand."""
    L = len(across) - 1
    whole = [[(k + 0.5) * patch**level - 0.5 for k in range(patch ** (L - level))] for level in range(L)]
    return tuple(tuple(x for x in whole[level] if x not in across[level]) for level in range(1, L))


def _above_children(of_symbol: list[float], s: int, n_levels: int) -> tuple[tuple[float, ...], ...]:
    across = [of_symbol]
    for _ in range(n_levels):
        below = across[-1]
        across.append([(below[k] + below[k + s - 1]) / 2 for k in range(0, len(below), s)])
    return tuple(map(tuple, across))


def _sentences(sample: HierarchySample, i: int) -> tuple[tuple[str, ...], ...]:
    """What each node is written as, by which synonym, and where."""
    model, found = sample.model, []
    for level in range(1, model.n_levels + 1):
        arrays = (sample.symbols[level], sample.choices[level - 1], sample.slots[level - 1])
        sentences = []
        for symbol, choice, slots in zip(*(a[i].tolist() for a in arrays), strict=True):
            written = " ".join(map(str, model.rules[level - 1][symbol, choice].tolist()))
            where = f", in slots {' '.join(map(str, slots))}" if model.n_empty else ""
            sentences.append(f"{symbol} → {written} (synonym {choice}){where}")
        found.append(tuple(sentences))
    return tuple(found)


# ---- characters ---------------------------------------------------------------------------------


def draw_datum_text(sample: HierarchySample, i: int = 0, width: int = 100) -> str:
    """Datum i with its tree: levels from the label down to the row of slots, a dot for an empty one.

    In data of many slots, or where ``width`` characters do not suffice, a run of empty ones is written as their number
    in parentheses. A tree that is still too wide is written with one line a node.

    >>> from compsparse.tasks.hierarchy import RandomHierarchy
    >>> print(draw_datum_text(RandomHierarchy(n_features=4, n_levels=2).sample(1, random_state=0)))
    label       1
              ┌─┴─┐
    level 1   1   2
             ┌┴┐ ┌┴┐
    input    1 0 2 3
    """
    check_count("width", width)
    for one_by_one in (None, False):
        found = lay_out(sample, i, one_by_one)
        tree = _tree(found)
        if max(map(len, tree)) <= width:
            return "\n".join(tree)
    return "\n".join(_branch(found, found.n_levels, 0, "", ""))


def _tree(found: DatumLayout) -> list[str]:
    cells = [_cell(symbol, length) for symbol, length in found.columns]
    longest = max(len(str(a)) for level in found.symbols for a in level)
    starts = list(accumulate((max(len(c), longest) + 1 for c in cells), initial=_NAMES))
    middles = [start + (len(cell) - 1) // 2 for start, cell in zip(starts, cells, strict=False)]
    centre = [np.interp(x, range(len(cells)), middles).astype(int).tolist() for x in found.across]
    lines = []
    for level in range(found.n_levels, 0, -1):
        words = map(str, found.symbols[level])
        lines.append(
            _line(found.name(level), [(c - (len(w) - 1) // 2, w) for c, w in zip(centre[level], words, strict=True)])
        )
        forks = (_fork(c, [centre[level - 1][k] for k in found.children(u)]) for u, c in enumerate(centre[level]))
        lines.append(_line("", forks))
    return [*lines, _line(found.name(0), zip(starts, cells, strict=False))]


def _cell(symbol: int, length: int) -> str:
    if symbol != EMPTY:
        return str(symbol)
    return "·" if length == 1 else f"({length})"


def _line(name: str, words: Iterable[tuple[int, str]]) -> str:
    line = name
    for start, word in words:
        line = line.ljust(start) + word
    return line


def _fork(parent: int, children: list[int]) -> tuple[int, str]:
    """The line between a parent and its children, and where it starts."""
    first, last = min(parent, children[0]), max(parent, children[-1])

    def sign(c: int) -> str:
        return _SIGNS["u" * (c == parent) + "d" * (c in children) + "<" * (c > first) + ">" * (c < last)]

    return first, "".join(map(sign, range(first, last + 1)))


def _branch(found: DatumLayout, level: int, node: int, prefix: str, below: str) -> Iterator[str]:
    yield f"{prefix}{found.rules[level - 1][node]}"
    if level == 1:
        return
    *others, last = found.children(node)
    for child in others:
        yield from _branch(found, level - 1, child, below + "├─ ", below + "│  ")
    yield from _branch(found, level - 1, last, below + "└─ ", below + "   ")


# ---- SVG ----------------------------------------------------------------------------------------


def draw_datum_svg(sample: HierarchySample, i: int = 0) -> str:
    """Datum i with its tree as a self-contained SVG element; a browser shows a node's rule under the pointer.

    In data of many slots a run of empty ones is one box with their number.
    """
    found = lay_out(sample, i)
    centres = _centres(found)
    width, height = centres[-1] + _COLUMN, _y(found, 0) + 1.5 * _BOX
    scaled = "max-width:100%;height:auto" if width <= _WIDEST else ""  # wider drawings are scrolled
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="cs-datum" role="img" width="{width:.0f}" '
        f'height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" style="{scaled}">',
        f"<title>a datum with label {found.symbols[-1][0]} and its tree</title>",
        f"<style>{_STYLE}</style>",
    ]
    x = [np.interp(level, range(len(centres)), centres).tolist() for level in found.across]
    for level in range(found.n_levels + 1):
        lines.append(f'<text class="name" x="8" y="{_y(found, level):.1f}">{found.name(level)}</text>')
        for node, above in enumerate(x[level] if level else ()):
            lines += [_edge(found, level, above, x[level - 1][child]) for child in found.children(node)]
    for level in range(1, found.n_levels + 1):
        lines += [_circle(found, level, node, above) for node, above in enumerate(x[level])]
    for level, row in enumerate(found.empty, 1):
        for above in np.interp(row, range(len(centres)), centres) if row else ():
            circle = f'<circle cx="{above:.1f}" cy="{_y(found, level):.1f}" r="5"/>'
            lines.append(f'<g class="empty"><title>empty</title>{circle}</g>')
    lines += [_slot(column, at, _y(found, 0)) for column, at in zip(found.columns, centres, strict=True)]
    return "\n".join([*lines, "</svg>"])


def _centres(found: DatumLayout) -> list[float]:
    """Middles of the columns; a run of empty slots is as wide as its number needs."""
    widths = [max(_COLUMN, _run_width(length) + _COLUMN - _BOX) for _, length in found.columns]
    return [end - width / 2 for end, width in zip(accumulate(widths, initial=_LEFT), [0.0, *widths], strict=True)][1:]


def _run_width(length: int) -> float:
    return _BOX - 4 if length == 1 else 6.2 * len(f"{length}") + 22


def _y(found: DatumLayout, level: int) -> float:
    return _TOP + _ROW * (found.n_levels - level)


def _edge(found: DatumLayout, level: int, x0: float, x1: float) -> str:
    y0, y1 = _y(found, level) + _RADIUS, _y(found, level - 1) - (_BOX / 2 if level == 1 else _RADIUS)
    middle = (y0 + y1) / 2
    return f'<path class="edge" d="M{x0:.1f},{y0:.1f} C{x0:.1f},{middle:.1f} {x1:.1f},{middle:.1f} {x1:.1f},{y1:.1f}"/>'


def _circle(found: DatumLayout, level: int, node: int, x: float) -> str:
    y, kind = _y(found, level), "label" if level == found.n_levels else "inner"
    return (
        f'<g class="{kind}"><title>{escape(found.rules[level - 1][node])}</title>'
        f'<circle class="node" cx="{x:.1f}" cy="{y:.1f}" r="{_RADIUS}"/>'
        f"{_text(x, y, found.symbols[level][node])}</g>"
    )


def _slot(column: tuple[int, int], x: float, y: float) -> str:
    symbol, length = column
    if symbol != EMPTY:
        return (
            f'<g class="input"><title>symbol {symbol}</title>{_box("node", x, y, _BOX, _BOX)}{_text(x, y, symbol)}</g>'
        )
    tip = "empty" if length == 1 else f"{length} empty slots"
    text = "" if length == 1 else _text(x, y, f"·{length}·")
    return f'<g class="empty"><title>{tip}</title>{_box("slot", x, y, _run_width(length), _BOX - 4)}{text}</g>'


def _text(x: float, y: float, text: object) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}">{text}</text>'


def _box(kind: str, x: float, y: float, width: float, height: float) -> str:
    corner = f'x="{x - width / 2:.1f}" y="{y - height / 2:.1f}"'
    return f'<rect class="{kind}" {corner} width="{width:.1f}" height="{height:.1f}" rx="4"/>'

"""Pictures of memorisation in the plane: the function found, its kinks and the data."""

from __future__ import annotations

import numpy as np

from compsparse.checks import check_kind, check_numbers, row_text
from compsparse.errors import DataError
from compsparse.sparse.memorisation.problem import checked_points
from compsparse.sparse.memorisation.record import Memorised

_SIZE, _MARGIN, _TILES = 460, 36, 64
_LOW, _MIDDLE, _HIGH = np.array([33, 102, 172]), np.array([247, 247, 247]), np.array([178, 24, 43])
_STYLE = """
.cs-cells { font: 12px system-ui, sans-serif; } .cs-cells .ground { fill: #ffffff; }
.cs-cells .dual { stroke: #64748b; stroke-width: 0.6; opacity: 0.55; }
.cs-cells .kink { stroke: #111827; } .cs-cells .down { stroke-dasharray: 5 3; }
.cs-cells .point { stroke: #111827; stroke-width: 1.2; } .cs-cells text { fill: #374151; }
.cs-cells .tile { shape-rendering: crispEdges; }
.cs-cells .frame { fill: none; stroke: #9ca3af; }
"""


def draw_cells(X: object, y: object | None = None, network: Memorised | None = None) -> str:
    """Points of the plane as SVG, with what is known about them.

    With a network: its values as colour, and a line where each neuron switches on, solid for neurons
    that add and dashed for those that subtract, wider for larger ones. Without: the lines through
    every two points, at which the cell of a neuron's kink changes.
    """
    points = check_numbers("X", X, shape=(None, None))
    table, target = checked_points(points, np.zeros(len(points)) if y is None else y)
    if network is not None and check_kind("network", network, Memorised).theta.shape[1] != 3:
        raise DataError("only networks of two inputs can be drawn")
    if table.shape[1] != 2:
        raise DataError(f"only points of the plane can be drawn: X must have two columns, got {table.shape[1]}")
    frame = _Frame(table)
    top = float(np.abs(target).max()) or 1.0
    parts = [] if network is None else _heat(frame, network, top)
    parts += _pairs(frame, table) if network is None else _kinks(frame, network)
    parts += [
        f'<circle class="point" cx="{px:.1f}" cy="{py:.1f}" r="5" fill="{_colour(v / top)}">'
        f"<title>{row_text(i)}: {v:.4g}</title></circle>"
        for i, ((px, py), v) in enumerate(zip(frame.place(table), target, strict=True))
    ]
    total = _SIZE + 2 * _MARGIN
    inside = f'x="{_MARGIN}" y="{_MARGIN}" width="{_SIZE}" height="{_SIZE}"'
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" class="cs-cells" role="img" width="{total}" height="{total + 22}" '
        f'viewBox="0 0 {total} {total + 22}" style="max-width:100%;height:auto">',
        f"<title>{_caption(table, network)}</title>",
        f"<style>{_STYLE}</style>",
        f'<defs><clipPath id="inside"><rect {inside}/></clipPath></defs>',
        f'<rect class="ground" width="{total}" height="{total + 22}"/>',
        '<g clip-path="url(#inside)">', *parts, "</g>",
        f'<rect class="frame" {inside}/>',
        *_scales(frame),
        *([] if y is None else _key(top, network is not None)),
        f'<text x="{_MARGIN}" y="{_MARGIN - 12}">{_caption(table, network)}</text>',
        "</svg>",
    ])  # fmt: skip


def _caption(X: np.ndarray, network: Memorised | None) -> str:
    if network is None:
        return f"{len(X)} points and the lines through every two of them"
    return f"{len(X)} points, {network.n_neurons} neurons, cost {network.value:.4g}, gap {network.gap:.0e}"


class _Frame:
    """The square of the plane that is drawn."""

    def __init__(self, X: np.ndarray):
        self.middle = (X.max(0) + X.min(0)) / 2
        self.half = 0.58 * float(np.ptp(X, axis=0).max()) or 1.0

    def place(self, points: np.ndarray) -> np.ndarray:
        share = (points - self.middle) / (2 * self.half) + 0.5
        return _MARGIN + _SIZE * np.column_stack([share[:, 0], 1 - share[:, 1]])

    def line(self, w: np.ndarray, b: float) -> np.ndarray | None:
        """Two ends of the part of w.x + b = 0 inside the frame."""
        size = float(np.linalg.norm(w))
        off = float(w @ self.middle + b)
        if size == 0 or abs(off) > size * self.half * 1.5:
            return None
        foot = self.middle - off / size**2 * w
        along = np.array([-w[1], w[0]]) / size * self.half * 3
        return self.place(np.array([foot - along, foot + along]))


def _heat(frame: _Frame, network: Memorised, top: float) -> list[str]:
    share = (np.arange(_TILES) + 0.5) / _TILES
    x, y = np.meshgrid(share, share)
    points = frame.middle + frame.half * (2 * np.column_stack([x.ravel(), 1 - y.ravel()]) - 1)
    colours = np.array([_colour(v) for v in network.predict(points) / top]).reshape(_TILES, _TILES)
    return [tile for row in range(_TILES) for tile in _row_of_tiles(colours[row], row)]


def _row_of_tiles(colours: np.ndarray, row: int) -> list[str]:
    """One rectangle for each run of equal colours."""
    side = _SIZE / _TILES
    ends = [*np.flatnonzero(colours[1:] != colours[:-1]) + 1, _TILES]
    starts = [0, *ends[:-1]]
    return [
        f'<rect class="tile" x="{_MARGIN + side * a:.2f}" y="{_MARGIN + side * row:.2f}" '
        f'width="{side * (b - a):.2f}" height="{side:.2f}" fill="{colours[a]}"/>'
        for a, b in zip(starts, ends, strict=True)
    ]


def _colour(v: float) -> str:
    v = float(np.clip(v, -1, 1))
    mixed = _MIDDLE + abs(v) * ((_HIGH if v > 0 else _LOW) - _MIDDLE)
    return "#{:02x}{:02x}{:02x}".format(*np.round(mixed).astype(int))


def _kinks(frame: _Frame, network: Memorised) -> list[str]:
    largest = float(np.abs(network.z).max(initial=1e-300))
    lines = []
    for theta, z in zip(network.theta, network.z, strict=True):
        ends = frame.line(theta[:-1], float(theta[-1]))
        if ends is not None:
            width = 0.6 + 2.6 * abs(z) / largest
            kind = "kink" if z > 0 else "kink down"
            lines.append(_segment(ends, kind, f' stroke-width="{width:.2f}"'))
    return lines


def _pairs(frame: _Frame, X: np.ndarray) -> list[str]:
    lines = []
    for i in range(len(X)):
        for j in range(i):
            w = np.array([X[j, 1] - X[i, 1], X[i, 0] - X[j, 0]])
            ends = frame.line(w, float(-w @ X[i]))
            if ends is not None:
                lines.append(_segment(ends, "dual", ""))
    return lines


def _segment(ends: np.ndarray, kind: str, extra: str) -> str:
    (a, b), (c, d) = ends
    return f'<line class="{kind}" x1="{a:.1f}" y1="{b:.1f}" x2="{c:.1f}" y2="{d:.1f}"{extra}/>'


def _scales(frame: _Frame) -> list[str]:
    low, high = frame.middle - frame.half, frame.middle + frame.half
    below, right = _MARGIN + _SIZE + 15, _MARGIN + _SIZE
    return [
        f'<text x="{_MARGIN}" y="{below}">{low[0]:.3g}</text>',
        f'<text x="{right}" y="{below}" text-anchor="end">{high[0]:.3g}</text>',
        f'<text x="{_MARGIN - 4}" y="{right}" text-anchor="end">{low[1]:.2g}</text>',
        f'<text x="{_MARGIN - 4}" y="{_MARGIN + 10}" text-anchor="end">{high[1]:.2g}</text>',
    ]


def _key(top: float, kinks: bool) -> list[str]:
    y = _MARGIN + _SIZE + 36
    steps = np.linspace(-1, 1, 21)
    bar = [f'<rect x="{_MARGIN + 40 + 6 * i}" y="{y - 10}" width="6.3" height="11" fill="{_colour(v)}"/>'
           for i, v in enumerate(steps)]  # fmt: skip
    text = [f'<text x="{_MARGIN + 36}" y="{y}" text-anchor="end">≤ {-top:.2g}</text>',
            f'<text x="{_MARGIN + 172}" y="{y}">≥ {top:.2g}</text>']  # fmt: skip
    if not kinks:
        return bar + text
    solid, dashed = _MARGIN + 230, _MARGIN + 350
    return [
        *bar,
        *text,
        f'<line class="kink" x1="{solid}" y1="{y - 4}" x2="{solid + 26}" y2="{y - 4}" stroke-width="2"/>',
        f'<text x="{solid + 32}" y="{y}">neuron adds</text>',
        f'<line class="kink down" x1="{dashed}" y1="{y - 4}" x2="{dashed + 26}" y2="{y - 4}" stroke-width="2"/>',
        f'<text x="{dashed + 32}" y="{y}">subtracts</text>',
    ]

"""Learned constituents drawn as small SVG pictures; they follow the page's light or dark colours."""

from __future__ import annotations

import base64
import math
import struct
import zlib
from html import escape

import numpy as np

from compsparse.models.pictures import Axis, Picture
from compsparse.report.charts import COLOURS

_LEFT, _TOP, _PLOT_WIDTH, _PLOT_HEIGHT = 46, 22, 176, 124
_BAR_GAP, _BAR_WIDTH = 10, 9
_LONGEST_LEVEL, _LONGEST_LABEL = 11, 34
_ROOM_FOR_LEVELS = 26
_VIRIDIS = (
    (68, 1, 84),
    (71, 45, 123),
    (59, 82, 139),
    (44, 114, 142),
    (33, 145, 140),
    (40, 174, 128),
    (94, 201, 98),
    (173, 220, 48),
    (253, 231, 37),
)


def picture_svg(picture: Picture) -> str:
    """The picture as an SVG element."""
    return _heat_map(picture) if picture.down is not None else _curves(picture)


def ticks_between(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers from low to high, 1, 2 or 5 times a power of ten apart."""
    if not high > low:
        return [low]
    step = 10.0 ** math.floor(math.log10((high - low) / most))
    step = next(step * m for m in (1, 2, 5, 10) if (high - low) / (step * m) <= most)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(i * step, 12) for i in range(first, last + 1)]


# ---- curves -------------------------------------------------------------------------------------


def _curves(picture: Picture) -> str:
    low, high = _padded(picture.value_range or (float(picture.values.min()), float(picture.values.max())))
    up = _Scale(low, high, _TOP + _PLOT_HEIGHT, _TOP)
    along = _scale_of(picture.across, _LEFT, _LEFT + _PLOT_WIDTH)
    parts = [_text(4, 11, picture.value_label, "start", _LONGEST_LABEL)]
    parts += [_line(_LEFT, up(t), _LEFT + _PLOT_WIDTH, up(t), "grid") for t in ticks_between(low, high)]
    parts += [_text(_LEFT - 5, up(t) + 3, _short(t), "end") for t in ticks_between(low, high)]
    parts += _across(picture.across, along)
    places = [along(t) for t in _places(picture.across)]
    for i, row in enumerate(picture.values):
        colour = COLOURS[i % len(COLOURS)]
        spots = [(x, up(min(max(float(v), low), high))) for x, v in zip(places, row, strict=True)]
        parts.append(_marks(spots, colour, picture.across.has_levels))
    if picture.here is not None:
        place, value = picture.here
        x = float(picture.across.ticks.index(place)) if isinstance(place, str) else place
        x = min(max(x, along.low), along.high)
        parts.append(f'<circle class="here" cx="{along(x):.1f}" cy="{up(min(max(value, low), high)):.1f}" r="5"/>')
    return _svg(parts, _LEFT + _PLOT_WIDTH + 18, _bottom(picture.across), picture) + _legend(picture)


def _marks(spots: list[tuple[float, float]], colour: str, separate: bool) -> str:
    if separate:
        return "".join(f'<circle class="mark" cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>' for x, y in spots)
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in spots)
    return f'<polyline class="mark" points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'


def _legend(picture: Picture) -> str:
    if len(picture.series) < 2:
        return ""
    entries = (
        f'<span><i style="background:{COLOURS[i % len(COLOURS)]}"></i>{escape(name)}</span>'
        for i, name in enumerate(picture.series)
    )
    return f'<span class="legend">{"".join(entries)}</span>'


# ---- heat maps ----------------------------------------------------------------------------------


def _heat_map(picture: Picture) -> str:
    down = picture.down
    assert down is not None
    low, high = float(picture.values.min()), float(picture.values.max())
    up = _scale_of(down, _TOP + _PLOT_HEIGHT, _TOP)
    along = _scale_of(picture.across, _LEFT, _LEFT + _PLOT_WIDTH)
    share = (picture.values[::-1] - low) / ((high - low) or 1.0)
    smooth = not (down.has_levels or picture.across.has_levels)
    parts = [_text(4, 11, down.label, "start", _LONGEST_LABEL // 2)]
    parts.append(_image(_coloured(share), _LEFT, _TOP, _PLOT_WIDTH, _PLOT_HEIGHT, smooth))
    parts += [_text(_LEFT - 5, up(place) + 3, label, "end", 7) for place, label in _labels(down)]
    parts += _across(picture.across, along)
    if picture.points is not None:
        inside = [(x, y) for x, y in picture.points.tolist() if along.covers(x) and up.covers(y)]
        parts += [f'<circle class="row" cx="{along(x):.1f}" cy="{up(y):.1f}" r="1.2"/>' for x, y in inside]
    left = _LEFT + _PLOT_WIDTH + _BAR_GAP
    parts.append(_image(_coloured(np.linspace(1, 0, 64)[:, None]), left, _TOP, _BAR_WIDTH, _PLOT_HEIGHT, True))
    heights = _Scale(low, high, _TOP + _PLOT_HEIGHT, _TOP)
    parts += [_text(left + _BAR_WIDTH + 4, heights(t) + 3, _short(t), "start") for t in ticks_between(low, high)]
    parts.append(_text(left + _BAR_WIDTH + 34, 11, picture.value_label, "end", _LONGEST_LABEL // 2))
    return _svg(parts, left + _BAR_WIDTH + 42, _bottom(picture.across), picture)


def _coloured(share: np.ndarray) -> np.ndarray:
    """Numbers from 0 to 1 as (…, 3) bytes."""
    anchors = np.linspace(0, 1, len(_VIRIDIS))
    return np.stack([np.interp(share, anchors, [c[k] for c in _VIRIDIS]) for k in range(3)], axis=-1).astype(np.uint8)


def _image(rgb: np.ndarray, x: float, y: float, width: float, height: float, smooth: bool) -> str:
    source = base64.b64encode(png(rgb)).decode("ascii")
    rendering = "" if smooth else ' style="image-rendering:pixelated"'
    return (
        f'<image class="mark" x="{x}" y="{y}" width="{width}" height="{height}" preserveAspectRatio="none"{rendering} '
        f'href="data:image/png;base64,{source}"/>'
    )


def png(rgb: np.ndarray) -> bytes:
    """An (height, width, 3) array of bytes as a PNG file."""
    height, width, _ = rgb.shape
    rows = b"".join(b"\0" + row.tobytes() for row in rgb)
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )


# ---- axes and text ------------------------------------------------------------------------------


class _Scale:
    """From values to places on the picture."""

    def __init__(self, low: float, high: float, start: float, end: float):
        self.low, self.high, self.start, self.end = low, high, start, end

    def __call__(self, value: float) -> float:
        share = (value - self.low) / ((self.high - self.low) or 1.0)
        return self.start + share * (self.end - self.start)

    def covers(self, value: float) -> bool:
        return self.low <= value <= self.high


def _scale_of(axis: Axis, start: float, end: float) -> _Scale:
    places = _places(axis)
    half = 0.5 if axis.has_levels else 0.0
    return _Scale(places[0] - half, places[-1] + half, start, end)


def _places(axis: Axis) -> list[float]:
    return list(map(float, range(len(axis.ticks)) if axis.has_levels else axis.ticks))


def _labels(axis: Axis) -> list[tuple[float, str]]:
    if axis.has_levels:
        return [(float(i), str(tick)) for i, tick in enumerate(axis.ticks)]
    places = _places(axis)
    return [(t, _short(t)) for t in ticks_between(places[0], places[-1])]


def _across(axis: Axis, along: _Scale) -> list[str]:
    foot = _TOP + _PLOT_HEIGHT
    parts = [_line(_LEFT, foot, _LEFT + _PLOT_WIDTH, foot, "axis")]
    for place, label in _labels(axis):
        turned = f' transform="rotate(-40 {along(place):.1f} {foot + 11})"' if _is_crowded(axis) else ""
        anchor = "end" if turned else "middle"
        parts.append(_text(along(place), foot + 13, label, anchor, _LONGEST_LEVEL, turned))
    parts.append(_text(_LEFT + _PLOT_WIDTH / 2, _bottom(axis) - 5, axis.label, "middle", _LONGEST_LABEL))
    return parts


def _is_crowded(axis: Axis) -> bool:
    return axis.has_levels and sum(min(len(str(t)), _LONGEST_LEVEL) + 1 for t in axis.ticks) > _ROOM_FOR_LEVELS


def _bottom(axis: Axis) -> int:
    return _TOP + _PLOT_HEIGHT + (68 if _is_crowded(axis) else 34)


def _padded(ends: tuple[float, float]) -> tuple[float, float]:
    low, high = ends
    room = 0.05 * (high - low) or 0.05 * abs(low) or 1.0
    return low - room, high + room


def _short(value: float) -> str:
    if value and (abs(value) >= 1e5 or abs(value) < 1e-3):
        return f"{value:.1e}".replace("e+0", "e").replace("e-0", "e-").replace(".0e", "e")
    return f"{value:.5g}"


def _line(x0: float, y0: float, x1: float, y1: float, kind: str) -> str:
    return f'<line class="{kind}" x1="{x0:.1f}" y1="{y0:.1f}" x2="{x1:.1f}" y2="{y1:.1f}"/>'


def _text(x: float, y: float, text: str, anchor: str, longest: int = 99, extra: str = "") -> str:
    shown = text if len(text) <= longest else text[: longest - 1] + "…"
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{extra}>{escape(shown)}</text>'


def _svg(parts: list[str], width: float, height: float, picture: Picture) -> str:
    over = picture.across.label if picture.down is None else f"{picture.across.label} and {picture.down.label}"
    title = f"{picture.value_label} over {over}{f' ({picture.note})' if picture.note else ''}"
    return (
        f'<svg class="pic" role="img" width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}">'
        f"<title>{escape(title)}</title>{''.join(parts)}</svg>"
    )

"""Compiled loops: the butterflies of the Walsh transform, and the gates of a circuit.

The transform takes two passes over memory, whatever the size. Stages that fit into the second-level cache are done
block by block. Those that are left act on the columns of a matrix with a block a row; panels of columns are copied into
a small buffer (their rows lie a power of two apart, which the cache handles badly), transformed there and copied back.
Kernels take a range of blocks or panels and free the interpreter lock, so that threads share the work.
"""

from __future__ import annotations

import numpy as np

from compsparse.compilation import compiled

BLOCK = 1 << 15
"""Numbers that are transformed in the second-level cache."""
_INNER = 1 << 11
_PANEL = 1 << 14


@compiled
def _eights(a: np.ndarray) -> None:
    """The first three stages."""
    for i in range(0, len(a), 8):
        a0, a1, a2, a3 = a[i] + a[i + 1], a[i] - a[i + 1], a[i + 2] + a[i + 3], a[i + 2] - a[i + 3]
        a4, a5, a6, a7 = a[i + 4] + a[i + 5], a[i + 4] - a[i + 5], a[i + 6] + a[i + 7], a[i + 6] - a[i + 7]
        b0, b1, b2, b3 = a0 + a2, a1 + a3, a0 - a2, a1 - a3
        b4, b5, b6, b7 = a4 + a6, a5 + a7, a4 - a6, a5 - a7
        a[i], a[i + 1], a[i + 2], a[i + 3] = b0 + b4, b1 + b5, b2 + b6, b3 + b7
        a[i + 4], a[i + 5], a[i + 6], a[i + 7] = b0 - b4, b1 - b5, b2 - b6, b3 - b7


@compiled
def _stages(a: np.ndarray, h: int) -> None:
    """The stages from distance h on, two at a time."""
    size = len(a)
    while 4 * h <= size:
        for i in range(0, size, 4 * h):
            p, q, r, s = a[i : i + h], a[i + h : i + 2 * h], a[i + 2 * h : i + 3 * h], a[i + 3 * h : i + 4 * h]
            for j in range(h):
                u, v, w, x = p[j] + q[j], p[j] - q[j], r[j] + s[j], r[j] - s[j]
                p[j], q[j], r[j], s[j] = u + w, v + x, u - w, v - x
        h *= 4
    if 2 * h <= size:
        p, q = a[:h], a[h:]
        for j in range(h):
            p[j], q[j] = p[j] + q[j], p[j] - q[j]


@compiled
def transform_blocks(a: np.ndarray, block: int, first: int, last: int) -> None:
    """All stages within the blocks from ``first`` to before ``last``."""
    inner = min(block, _INNER)
    for b in range(first, last):
        part = a[b * block : (b + 1) * block]
        for i in range(0, block, inner):
            chunk = part[i : i + inner]
            if inner >= 8:
                _eights(chunk)
                _stages(chunk, 8)
            else:
                _stages(chunk, 1)
        _stages(part, inner)


@compiled
def transform_panels(a: np.ndarray, width: int, first: int, last: int) -> None:
    """The stages across blocks, for the panels of ``width`` columns from ``first`` to before ``last``."""
    rows = len(a) // BLOCK
    buffer = np.empty(rows * width, a.dtype)
    for panel in range(first, last):
        start = panel * width
        for row in range(rows):
            source = a[row * BLOCK + start : row * BLOCK + start + width]
            target = buffer[row * width : (row + 1) * width]
            for j in range(width):
                target[j] = source[j]
        _stages(buffer, width)
        for row in range(rows):
            source = buffer[row * width : (row + 1) * width]
            target = a[row * BLOCK + start : row * BLOCK + start + width]
            for j in range(width):
                target[j] = source[j]


def panel_width(size: int) -> int:
    """Columns whose panel fits into the buffer, at least one line of the cache."""
    return max(8, _PANEL // (size // BLOCK))


@compiled
def run_gates(tables: np.ndarray, reads: np.ndarray, fills: np.ndarray, slots: np.ndarray) -> None:
    """Every gate of a circuit on all words: a choice among four choices among eight constant words."""
    zero, full = np.uint64(0), ~np.uint64(0)
    masks = np.empty(8, np.uint64)
    n_words = slots.shape[1]
    for g in range(len(tables)):
        for r in range(8):
            masks[r] = full if (tables[g] >> r) & 1 else zero
        m0, m2, m4, m6 = masks[0], masks[2], masks[4], masks[6]
        d0, d2, d4, d6 = m0 ^ masks[1], m2 ^ masks[3], m4 ^ masks[5], m6 ^ masks[7]
        x, y, z = slots[reads[g, 0]], slots[reads[g, 1]], slots[reads[g, 2]]
        out = slots[fills[g]]
        for j in range(n_words):
            a, b, c = x[j], y[j], z[j]
            p, q = m0 ^ (c & d0), m2 ^ (c & d2)
            r, s = m4 ^ (c & d4), m6 ^ (c & d6)
            low, high = p ^ (b & (p ^ q)), r ^ (b & (r ^ s))
            out[j] = low ^ (a & (low ^ high))

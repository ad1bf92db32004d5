"""The compiled loop over the gates of a circuit."""

from __future__ import annotations

import numpy as np

from compsparse.compilation import compiled


@compiled
def run_gates(tables: np.ndarray, reads: np.ndarray, fills: np.ndarray, slots: np.ndarray) -> None:
    """Every gate on all words: a choice among four choices among eight constant words."""
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

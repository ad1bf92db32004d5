"""Compiled searches for codes of the Lasso: block after block, until the duality gap is met."""

from __future__ import annotations

import numpy as np

from compsparse.sparse.candidates import Slot, advance, new_slot, top_of, with_room
from compsparse.sparse.homotopy import Space, new_space
from compsparse.sparse.kernels import DEPENDENT, Array, append, combine, gram_kernel, project, solve, solve_transposed

_ROUNDS = 80
_TOGETHER = 32  # signals whose correlations are one product
_FEW = 8  # fewer are faster one by one
_PATIENCE = 3  # rounds without new candidates or half the gap


@gram_kernel
def _correlate(R: Array, W: Array) -> Array:
    """The correlations R W."""
    out = np.empty((R.shape[0], W.shape[1]), R.dtype)
    if R.shape[0] >= _FEW:
        np.dot(R, W, out)
    else:
        for i in range(R.shape[0]):
            np.dot(R[i], W, out[i])
    return out


# ---- how good a code is ------------------------------------------------------------------


@gram_kernel
def _square(v: Array) -> float:
    total = 0.0
    for t in range(v.shape[0]):
        total += np.float64(v[t]) * v[t]
    return total


@gram_kernel
def _norm(slot: Slot) -> float:
    total = 0.0
    for i in range(slot.counts[1]):
        total += max(slot.z[i] * slot.sign[i], 0.0)
    return total


@gram_kernel
def _residual(W: Array, x: Array, slot: Slot, rounded: bool, out: Array) -> float:
    """out = x - W z, summed in double precision, z in double precision or as it will be returned; its l1 norm."""
    norm = 0.0
    for t in range(x.shape[0]):
        out[t] = x[t]
    for i in range(slot.counts[1]):
        if slot.z[i] * slot.sign[i] > 0:
            value = np.float64(W.dtype.type(slot.z[i])) if rounded else slot.z[i]
            norm += abs(value)
            atom = slot.atoms[slot.active[i]]
            for t in range(x.shape[0]):
                out[t] -= value * W[t, atom]
    return norm


@gram_kernel
def _peak(W: Array, r: Array, c: Array, everything: Array, longest: float, positive: bool) -> float:
    """The largest correlation; what single precision cannot tell apart is computed in double precision.

    A sum of d products is off by at most about d units of rounding times |w| |r|.
    """
    top = top_of(c, everything, positive)
    unit = np.float64(np.finfo(c.dtype).eps)
    if unit < 1e-10:
        return float(top)
    least = top - 2 * (r.shape[0] + 4) * unit * longest * np.sqrt(_square(r))
    peak = 0.0
    for j in range(c.shape[0]):
        if (c[j] if positive else abs(c[j])) >= least:
            exact = 0.0
            for t in range(r.shape[0]):
                exact += r[t] * W[t, j]
            peak = max(peak, exact if positive else abs(exact))
    return float(peak)


@gram_kernel
def _gap(x: Array, r: Array, peak: float, norm: float, lam: float, positive: bool) -> tuple[float, float]:
    """Objective and duality gap (scaling with 1/2) of a code with this residual and norm."""
    rr, xr = 0.0, 0.0
    for t in range(x.shape[0]):
        rr += r[t] * r[t]
        xr += x[t] * r[t]
    most = lam / max(peak, 1e-300)
    scale = min(max(xr / max(rr, 1e-300), 0.0 if positive else -most), most)
    objective = rr / 2 + lam * norm
    return objective, max(objective - scale * xr + scale * scale * rr / 2, 0.0)


@gram_kernel
def _return_code(
    W: Array, x: Array, slot: Slot, work: Array, lam: float, objective: float, code: Array
) -> tuple[float, float]:
    """Writes a code in its precision; its objective, and by how much that is above the one before rounding."""
    for i in range(slot.counts[1]):
        if slot.z[i] * slot.sign[i] > 0:
            code[slot.atoms[slot.active[i]]] = slot.z[i]
    if np.finfo(W.dtype).eps < 1e-10:
        return objective, 0.0
    norm = _residual(W, x, slot, True, work)
    exact = _square(work) / 2 + lam * norm
    return exact, max(exact - objective, 0.0)


# ---- starts ------------------------------------------------------------------------------


@gram_kernel
def _clear(slot: Slot, lam: float) -> None:
    for k in range(slot.counts[0]):
        slot.free[slot.atoms[k]] = 1
    slot.counts[:] = 0
    slot.state[0], slot.state[1] = lam, np.inf


@gram_kernel
def _room_for(slot: Slot, rank: int) -> Slot:
    """An empty slot with room for as many active atoms as there can be."""
    while slot.R.shape[0] < rank and slot.L.shape[0] < slot.atoms.shape[0]:
        slot.counts[0] = slot.L.shape[0]
        slot = with_room(slot)
        slot.counts[0] = 0
    return slot


@gram_kernel
def _load(W: Array, start: Array, positive: bool, slot: Slot, scratch: Space) -> None:
    """Makes the independent atoms of a start active; the others lose their weight."""
    n, size, most = 0, 0, slot.R.shape[0]
    for j in range(start.shape[0]):
        if start[j] == 0 or (positive and start[j] < 0) or n == most:
            continue
        slot.V[size] = W[:, j]
        slot.atoms[size] = j
        np.dot(slot.V[: size + 1], slot.V[size], slot.L[size, : size + 1])
        slot.filled[size] = size + 1
        rest = project(slot.L, slot.R, slot.active, n, size, scratch.rhs, scratch.column)
        if rest > DEPENDENT * slot.L[size, size]:
            append(slot.R, n, scratch.column, rest, 0.0, slot.y)
            slot.active[n], slot.sign[n], slot.z[n] = size, np.sign(start[j]), start[j]
            slot.free[j] = 0
            n, size = n + 1, size + 1
    slot.counts[0], slot.counts[1] = size, n


@gram_kernel
def _stagnates(slot: Slot, lam: float, gap: float) -> bool:
    """Whether rounding keeps the gap from falling, at the last lam and with the same candidates."""
    grown = slot.counts[0] != slot.counts[4]
    slot.counts[4] = slot.counts[0]
    if grown or slot.state[0] > lam or gap < 0.5 * slot.state[1]:
        slot.state[1], slot.counts[3] = gap, 0
    else:
        slot.counts[3] += 1
    return bool(slot.counts[3] >= _PATIENCE)


# ---- without the Gram matrix: few signals, wide dictionaries -----------------------------


@gram_kernel
def search_by_columns(
    X: Array, W: Array, starts: Array, lams: Array, tols: Array, positive: bool, longest: float, most: int,
    most_steps: int, together: int, codes: Array, objective: Array, gap: Array, steps: Array,
) -> None:  # fmt: skip
    """Codes (n, atoms) of signals (n, d), from starts (n, atoms) or, where there are none, from lam_max.

    ``together`` signals share the product that gives their correlations; a signal has at most ``most`` candidates.
    """
    d, m = W.shape
    rank = min(d, m)
    slots = [new_slot(W, d, m, rank, most, False) for _ in range(min(together, X.shape[0]))]
    scratch, r = new_space(np.zeros((0, 0)), most, rank, W), np.zeros((len(slots), d))
    R, rows = np.empty((len(slots), d), X.dtype), np.zeros(len(slots), np.int64)
    everything = np.ones(m, X.dtype)
    for first in range(0, X.shape[0], together):
        pending = min(together, X.shape[0] - first)
        for i in range(pending):
            rows[i] = i
            _clear(slots[i], lams[first + i])
            if starts.shape[0]:
                slots[i] = _room_for(slots[i], rank)
                _load(W, starts[first + i], positive, slots[i], scratch)
        for count in range(_ROUNDS + 1):
            for p in range(pending):
                slot, x = slots[rows[p]], X[first + rows[p]]
                _residual(W, x, slot, False, r[p])
                R[p] = r[p]
            C = _correlate(R[:pending], W)
            waiting, pending = pending, 0
            for p in range(waiting):
                i = rows[p]
                k, slot = first + i, slots[i]
                x, lam = X[k], lams[k]
                peak = _peak(W, r[p], C[p], everything, longest, positive)
                objective[k], gap[k] = _gap(x, r[p], peak, _norm(slot), lam, positive)
                good = gap[k] <= 0.9 * tols[k] * _square(x) / 2
                if good or slot.counts[2] >= most_steps or count == _ROUNDS or _stagnates(slot, lam, gap[k]):
                    objective[k], more = _return_code(W, x, slot, r[p], lam, objective[k], codes[k])
                    gap[k] += more
                    steps[k] = slot.counts[2]
                    continue
                if count == 0 and not starts.shape[0]:
                    slot.state[0] = max(top_of(C[p], slot.free, positive), lam)
                slots[i] = with_room(slot)
                advance(slot.L, W, C[p], lam, positive, most_steps, slots[i], scratch)
                rows[pending] = i
                pending += 1
            if pending == 0:
                break


# ---- with the Gram matrix: many signals --------------------------------------------------


@gram_kernel
def _refresh(G: Array, b: Array, slot: Slot, work: Array, ids: Array, c: Array) -> None:
    """c = b - G z, by rows of the Gram matrix."""
    n = slot.counts[1]
    for i in range(n):
        ids[i] = slot.atoms[slot.active[i]]
        work[i] = slot.z[i]
    combine(G, ids, n, work, c)
    for j in range(c.shape[0]):
        c[j] = b[j] - c[j]


@gram_kernel
def _settle(
    G: Array, W: Array, b: Array, c: Array, allowed: float, lam: float, positive: bool, most_steps: int, slot: Slot,
    scratch: Space, ids: Array,
) -> Slot:  # fmt: skip
    """Blocks until no atom that was left out adds more than ``allowed`` to the gap."""
    for _ in range(_ROUNDS):
        slot = with_room(slot)
        if not advance(G, W, c, lam, positive, most_steps, slot, scratch):
            break
        _refresh(G, b, slot, scratch.u_short, ids, c)
        if slot.state[0] <= lam and (top_of(c, slot.free, positive) - lam) * _norm(slot) <= allowed:
            break
    return slot


@gram_kernel
def _refine(W: Array, x: Array, lam: float, slot: Slot, s: Space, r: Array) -> None:
    """One step on the active atoms against what single precision left, G_AA dz = W_A'r - lam sign."""
    n = slot.counts[1]
    _residual(W, x, slot, False, r)
    for i in range(n):
        atom, total = slot.atoms[slot.active[i]], 0.0
        for t in range(x.shape[0]):
            total += r[t] * W[t, atom]
        s.rhs[i] = total - lam * slot.sign[i]
    solve_transposed(slot.R, n, s.rhs, s.work)
    solve(slot.R, n, s.work, s.rhs)
    for i in range(n):
        slot.z[i] += s.rhs[i]


@gram_kernel
def search_by_gram(
    X: Array, W: Array, G: Array, lams: Array, tols: Array, positive: bool, longest: float, most: int,
    most_steps: int, codes: Array, objective: Array, gap: Array, steps: Array,
) -> None:  # fmt: skip
    """Codes (n, atoms) of signals (n, d) on the Gram matrix; their gaps are those of the residuals themselves."""
    d, m = W.shape
    rank = min(d, m)
    slot, scratch, ids = (
        new_slot(W, d, m, rank, most, True),
        new_space(np.zeros((0, 0)), most, rank, W),
        np.zeros(rank + 1, np.int64),
    )
    c, work, everything = np.empty(m, X.dtype), np.empty(d), np.ones(m, X.dtype)
    r, norms, more = np.empty((_TOGETHER, d)), np.zeros(_TOGETHER), np.zeros(_TOGETHER)
    R = np.empty((_TOGETHER, d), X.dtype)
    for first in range(0, X.shape[0], _TOGETHER):
        n = min(_TOGETHER, X.shape[0] - first)
        B = _correlate(X[first : first + n], W)
        for i in range(n):
            k, x = first + i, X[first + i]
            lam, top = lams[k], top_of(B[i], everything, positive)
            _clear(slot, top)
            c[:] = B[i]
            if top > lam:
                allowed = 0.1 * tols[k] * _square(x)
                slot = _settle(G, W, B[i], c, allowed, lam, positive, most_steps, slot, scratch, ids)
                if slot.state[0] <= lam and np.finfo(W.dtype).eps > 1e-10:
                    _refine(W, x, lam, slot, scratch, work)
            norms[i] = _residual(W, x, slot, False, r[i])
            R[i] = r[i]
            steps[k] = slot.counts[2]
            objective[k] = lam * norms[i] + _square(r[i]) / 2
            _, more[i] = _return_code(W, x, slot, work, lam, objective[k], codes[k])
        C = _correlate(R[:n], W)
        for i in range(n):
            k = first + i
            peak = _peak(W, r[i], C[i], everything, longest, positive)
            objective[k], gap[k] = _gap(X[k], r[i], peak, norms[i], lams[k], positive)
            objective[k] += more[i]
            gap[k] += more[i]

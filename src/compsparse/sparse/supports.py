"""Codes support by support: which supports can explain a signal at all, without any bound on the entries.

A code of fewest entries uses independent columns: along a dependence one entry could be moved to zero. So to rule
out s entries it is enough to rule out every support of s columns, each by its least residual.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain, combinations, islice
from typing import NamedTuple

import numpy as np

from compsparse.clock import now

_MOST_SUPPORTS = 2_000_000
_MOST_CAREFUL = 2_000  # supports that are looked at one by one
_AT_ONCE = 2_000_000  # numbers
_DEPENDENT = 1e-12  # length of what a unit column adds to the span of others, below which it adds nothing
_ROUNDING = 1e-13  # of the difference of two squares
_DOUBT = 1e-6  # share of the signal below which a batched residual is computed again with care
_TELLS = 1e-9  # share of the signal's largest entry that counts as zero


class Ruled(NamedTuple):
    """No code has fewer than ``least`` entries; ``code`` has so many, if one was found."""

    least: int
    code: np.ndarray | None


def slack_of(x: np.ndarray, noise: float) -> float:
    """How far an entry of x - W z may be from zero: the noise, and what rounding makes of it."""
    return noise * (1 + 1e-7) + _TELLS * float(np.abs(x).max())


def residual_of(x: np.ndarray, W: np.ndarray, code: np.ndarray) -> float:
    """The largest entry of x - W z, in extended precision."""
    support = np.flatnonzero(code)
    exact = x.astype(np.longdouble) - W[:, support].astype(np.longdouble) @ code[support].astype(np.longdouble)
    return float(np.abs(exact).max())


def code_on(x: np.ndarray, W: np.ndarray, support: np.ndarray, slack: float) -> np.ndarray | None:
    """A code on these columns whose residual, in extended precision, is within the slack; None if none is found."""
    code = np.zeros(W.shape[1])
    columns = W[:, support]
    code[support] = np.linalg.lstsq(columns, x, rcond=1e-15)[0]
    for _ in range(2):
        if residual_of(x, W, code) <= slack:
            return code
        rest = x.astype(np.longdouble) - columns.astype(np.longdouble) @ code[support].astype(np.longdouble)
        code[support] += np.linalg.lstsq(columns, rest.astype(np.float64), rcond=1e-15)[0]
    if slack > 2 * slack_of(x, 0.0):
        code[support] = _least_largest(x, columns)
    return code if residual_of(x, W, code) <= slack else None


def _least_largest(x: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """The coefficients whose largest error is the least, by a linear program in z and that error."""
    from scipy.optimize import linprog

    d, s = columns.shape
    scale = float(np.abs(x).max()) or 1.0
    rows = np.block([[columns, -np.ones((d, 1))], [-columns, -np.ones((d, 1))]])
    found = linprog(
        np.eye(s + 1)[-1], A_ub=rows, b_ub=np.concatenate([x, -x]) / scale, bounds=[(None, None)] * s + [(0, None)]
    )
    return np.zeros(s) if found.x is None else scale * np.asarray(found.x[:-1])


def rule_out(x: np.ndarray, W: np.ndarray, slack: float, below: int, deadline: float) -> Ruled:
    """Looks at every support of 1, 2, ... columns, fewer than ``below``, as long as there are not too many."""
    d, n = W.shape
    unit = W / np.linalg.norm(W, axis=0)
    allowed = math.sqrt(d) * slack + _DOUBT * float(np.linalg.norm(x))
    looked, careful = 0, 0
    for s in range(1, min(below, d + 1)):
        looked += math.comb(n, s)
        if looked > _MOST_SUPPORTS:
            return Ruled(s, None)
        for firsts in supports_of(n, s - 1, max(_AT_ONCE // W.size, 1)):
            if now() > deadline:
                return Ruled(s, None)
            for support in _possible(x, unit, firsts, allowed):
                careful += 1
                code = code_on(x, W, support, slack)
                if code is not None:
                    return Ruled(s, code)
                if careful > _MOST_CAREFUL:
                    return Ruled(s, None)
    return Ruled(below, None)


def supports_of(n: int, s: int, at_once: int) -> Iterator[np.ndarray]:
    """All sets of s out of n columns, in chunks (m, s)."""
    supports = combinations(range(n), s)
    while chunk := list(islice(supports, at_once)):
        yield np.fromiter(chain.from_iterable(chunk), dtype=np.intp, count=len(chunk) * s).reshape(len(chunk), s)


def _possible(x: np.ndarray, unit: np.ndarray, firsts: np.ndarray, allowed: float) -> np.ndarray:
    """Supports of these first columns and one more whose least-squares residual is not larger than allowed.

    With the first ones projected out, a last column w leaves |x|^2 - (w.x)^2 / |w|^2.
    """
    columns = np.moveaxis(unit[:, firsts], 0, 1)
    Q = np.linalg.qr(columns)[0] if columns.size else columns
    rest = x - np.einsum("cds,cs->cd", Q, x @ Q)
    last = unit - Q @ (np.swapaxes(Q, 1, 2) @ unit)
    last -= Q @ (np.swapaxes(Q, 1, 2) @ last)
    size = np.linalg.norm(last, axis=1)
    share = np.einsum("cd,cdn->cn", rest, last) / np.maximum(size, _DEPENDENT)
    left = np.sum(rest * rest, axis=1)[:, None] - np.where(size > _DEPENDENT, share * share, 0)
    later = np.arange(unit.shape[1]) > (firsts[:, -1:] if firsts.shape[1] else -1)
    rows, lasts = np.nonzero((left <= allowed * allowed + _ROUNDING * float(x @ x)) & later)
    return np.hstack([firsts[rows], lasts[:, None]])


def entry_bound(W: np.ndarray, k: int, size: float, deadline: float = math.inf) -> float:
    """A bound on the entries of codes of at most k independent columns with |W z| <= size, from all of them.

    |z| <= size / s, s the least singular value of the columns; of k of them, the least for any fewer. Supports that
    are dependent to rounding are none that a code needs. Infinite where there are too many supports, or time is over.
    """
    n, k = W.shape[1], min(k, *W.shape)
    if k == 0:
        return 0.0
    if sum(math.comb(n, s) for s in range(1, k + 1)) > _MOST_SUPPORTS // 10:
        return math.inf
    least = math.inf
    for s in range(1, k + 1):
        for supports in supports_of(n, s, max(_AT_ONCE // W.size, 1)):
            if now() > deadline:
                return math.inf
            values = np.linalg.svd(np.moveaxis(W[:, supports], 0, 1), compute_uv=False)
            independent = values[:, -1] > 1e-12 * values[:, 0]
            least = min(least, float(values[independent, -1].min(initial=math.inf)))
    return size / least

"""The grid of ``python benchmarks/lasso.py --grid``: every size, dictionary, penalty, precision and sign, four peers.

Each peer runs at the loosest of its tolerances that brings the relative duality gap to 1e-6 (1e-5 in single
precision), or at its tightest. We are asked for the gap that the peer reached (of the peers that solve signal by
signal, the least), by a tolerance of half of it, and timed beside it in turn. Gaps are computed from the codes, in
double precision, by one function for all.

celer, skglm and scikit-learn solve signal by signal: their time for many is that of the first few, times as many.
Hard and tiny cells of 2,000 signals are timed on 400 of them, and cells of 256 x 20,000 on 32 (SPAMS on 2), ours and
SPAMS' times in proportion; there 2,000 signals would be 200 ten times, and are left out.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import torch
from _report import machine, print_table

from compsparse.sparse import lasso, lasso_gap

SIZES = ((128, 512), (256, 1024), (256, 20_000))
SIGNALS = (1, 5, 200, 2000)
KINDS = {"easy": (20, 0.0, 0.1), "hard": (60, 0.02, 0.01), "tiny": (20, 0.02, 1e-3)}  # atoms of 256, noise, lam/lam_max
GAP = {"float64": 1e-6, "float32": 1e-5}
TOLERANCES = {"float64": (1e-4, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10), "float32": (1e-4, 1e-5, 1e-6)}
LONG = 1.5  # seconds of a peer after which it is not asked for more


class Setting(NamedTuple):
    """What cells share but for the number of signals."""

    d: int
    m: int
    correlation: float
    kind: str
    dtype: str
    positive: bool

    def __str__(self) -> str:
        law = "correlated" if self.correlation else "gaussian"
        return f"{self.d}x{self.m} {law} {self.kind} {self.dtype} {'positive' if self.positive else 'signed'}"


class Problem(NamedTuple):
    X: np.ndarray
    W: np.ndarray
    lam: np.ndarray
    positive: bool

    def first(self, n: int) -> Problem:
        return self._replace(X=self.X[:n], lam=self.lam[:n])

    def gap(self, codes: np.ndarray) -> float:
        X, W, Z = (np.ascontiguousarray(v, dtype=np.float64) for v in (self.X, self.W, codes))
        return float((2 * lasso_gap(X, W, Z, self.lam, self.positive)[1] / (X**2).sum(1)).max())


def problem(s: Setting, n: int, random_state: int = 0) -> Problem:
    rng = np.random.default_rng(random_state)
    atoms, noise, share = KINDS[s.kind]
    k = atoms * s.d // 256
    W = rng.standard_normal((s.d, s.m))
    W = np.sqrt(1 - s.correlation) * W + np.sqrt(s.correlation) * rng.standard_normal((s.d, 1))
    W /= np.linalg.norm(W, axis=0)
    entries = rng.standard_normal((n, k))
    entries = np.abs(entries) if s.positive else entries
    X = np.stack([W[:, rng.choice(s.m, k, replace=False)] @ z for z in entries])
    rough = rng.standard_normal(X.shape)
    X += noise * rough * (np.linalg.norm(X, axis=1) / np.linalg.norm(rough, axis=1))[:, None]
    top = (X @ W).max(1) if s.positive else np.abs(X @ W).max(1)
    return Problem(X.astype(s.dtype), np.asfortranarray(W.astype(s.dtype)), share * top, s.positive)


# ---- peers: a call on prepared input, and the codes of what it returned ------------------


def spams_call(p: Problem) -> tuple[Callable[[], Any], Callable[[Any], np.ndarray]]:
    """LARS; one penalty for all signals, which are scaled to share it; exact, so it has no tolerance."""
    import spams

    scaled = np.asfortranarray((p.X / p.lam[:, None]).T.astype(p.X.dtype))
    run = lambda: spams.lasso(scaled, D=p.W, lambda1=1.0, mode=2, pos=p.positive, numThreads=1)  # noqa: E731
    return run, lambda found: found.toarray().T * p.lam[:, None]


def one_by_one(make: Callable[..., Any], **options: Any) -> Callable[[Problem, float], Callable[[], np.ndarray]]:
    def call(p: Problem, tol: float) -> Callable[[], np.ndarray]:
        models = [make(lam / len(p.W), fit_intercept=False, tol=tol, positive=p.positive, **options) for lam in p.lam]
        return lambda: np.stack([model.fit(p.W, x).coef_ for model, x in zip(models, p.X, strict=True)])

    return call


def signal_by_signal() -> dict[str, Callable[[Problem, float], Callable[[], np.ndarray]]]:
    from celer import Lasso as CelerLasso
    from skglm import Lasso as SkglmLasso
    from sklearn.linear_model import Lasso as SklearnLasso

    return {
        "celer": one_by_one(CelerLasso, max_iter=200),
        "skglm": one_by_one(SkglmLasso, max_iter=200),
        "scikit-learn": one_by_one(SklearnLasso, max_iter=20_000, copy_X=False),
        "scikit-learn, Gram": one_by_one(SklearnLasso, max_iter=20_000, copy_X=False, precompute=True),
    }


def ours(p: Problem, tol: float) -> Callable[[], np.ndarray]:
    return lambda: lasso(p.X, p.W, p.lam, tol, scaling="half", positive=p.positive, n_threads=1).codes


# ---- measuring ---------------------------------------------------------------------------


def seconds(run: Callable[[], Any]) -> tuple[float, Any]:
    started = time.perf_counter()
    found = run()
    return time.perf_counter() - started, found


def in_turn(runs: list[Callable[[], Any]], repeats: int) -> list[float]:
    """The median time of each, one after the other, again and again; once only where one takes long."""
    times: list[list[float]] = [[] for _ in runs]
    for _ in range(repeats):
        for run, kept in zip(runs, times, strict=True):
            kept.append(seconds(run)[0])
        if max(kept[0] for kept in times) > LONG:
            break
    return [float(np.median(kept)) for kept in times]


class Peer(NamedTuple):
    run: Callable[[], np.ndarray]
    gap: float
    n: int


def tuned(call: Callable[[Problem, float], Callable[[], np.ndarray]], p: Problem, dtype: str) -> Peer:
    """A peer at the loosest of its tolerances that meets the gap."""
    for tol in TOLERANCES[dtype]:
        run = call(p, tol)
        took, codes = seconds(run)
        gap = p.gap(codes)
        if gap <= GAP[dtype] or took > LONG:
            break
    return Peer(run, gap, len(p.X))


class Row(NamedTuple):
    setting: Setting
    n: int
    peer: str
    ratio: float
    ours: float
    gap: float
    peer_gap: float


def asked(p: Problem, peer_gap: float, n: int) -> tuple[float, float]:
    """Our tolerance for the gap of a peer on n signals, tightened where rounding adds to ours; our gap on these."""
    tol = max(0.5 * peer_gap, 1e-13)
    for _ in range(3):
        gap = p.first(n).gap(ours(p, tol)()[:n])
        if gap <= peer_gap:
            break
        tol = max(tol * 0.1, 1e-13)
    return tol, gap


def against_spams(s: Setting, p: Problem, n: int, repeats: int) -> Row:
    theirs = p.first(2) if s.m > 5000 and n > 2 else p
    run, codes_of = spams_call(theirs)
    peer_gap = theirs.gap(codes_of(run()))
    tol, gap = asked(p, peer_gap, len(theirs.X))
    them, us = in_turn([run, ours(p, tol)], repeats)
    return Row(s, n, "spams", them / len(theirs.X) * len(p.X) / us, us / len(p.X) * n, gap, peer_gap)


def signal_rows(s: Setting, problems: dict[int, Problem]) -> Iterator[Row]:
    """Peers that solve one signal after the other, timed on the first ones beside ours of every size."""
    few = problems[1] if s.m > 5000 else problems[5].first(2)
    calls = signal_by_signal()
    if s.m > 5000:
        calls.pop("scikit-learn, Gram")
    peers = {name: tuned(call, few, s.dtype) for name, call in calls.items()}
    each = in_turn([peer.run for peer in peers.values()], 3)
    least = min(peer.gap for peer in peers.values())
    for n, p in problems.items():
        tol, gap = asked(p, least, len(few.X))
        us = in_turn([ours(p, tol)], 3)[0] / len(p.X) * n
        for (name, peer), took in zip(peers.items(), each, strict=True):
            yield Row(s, n, name, took / peer.n * n / us, us, gap, peer.gap)


def rows_of(s: Setting) -> Iterator[Row]:
    largest = 200 if s.m > 5000 else 2000
    measured = {n: 32 if s.m > 5000 else 400 if s.kind != "easy" and n > 400 else n for n in SIGNALS if n <= largest}
    whole = problem(s, max(min(n, k) for n, k in measured.items()))
    problems = {n: whole.first(min(n, k)) for n, k in measured.items()}
    for n, p in problems.items():
        yield against_spams(s, p, n, 15 if n <= 5 and s.m < 5000 else 3)
    yield from signal_rows(s, problems)


def grid(parts: list[str]) -> Iterator[Setting]:
    for (d, m), correlation, kind, dtype, positive in product(SIZES, (0.0, 0.9), KINDS, GAP, (False, True)):
        s = Setting(d, m, correlation, kind, dtype, positive)
        if all(part in str(s).split() for part in parts):
            yield s


def warm(dtypes: set[str]) -> None:
    """Compiles what is compiled on first use, of peers and of ours."""
    for dtype, positive in product(dtypes, (False, True)):
        s = Setting(32, 64, 0.0, "hard", dtype, positive)
        p = problem(s, 40)
        ours(p, 1e-6)()
        ours(p.first(1), 1e-6)()
        for call in signal_by_signal().values():
            call(p.first(1), 1e-4)()


def run_grid(parts: list[str]) -> int:
    """Prints ratios (peer's seconds over ours) and gaps of all cells; the last line is JSON. 1 if one falls short."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    settings = list(grid(parts))
    warm({s.dtype for s in settings})
    rows: list[Row] = []
    for s in settings:
        new = best_of_peers(list(rows_of(s)))
        print(f"\n{s}")
        cells = [[r.n, r.peer, r.ratio, 1e3 * r.ours, r.gap, r.peer_gap, "" if good(r) else "SHORT"] for r in new]
        print_table(["signals", "peer", "peer over ours", "ours, ms", "our gap", "peer's gap", ""], cells)
        rows += new
    figures = {f"{r.setting} {r.n} {r.peer}".replace(" ", "_"): r.ratio for r in rows}
    short = [name for name, r in zip(figures, rows, strict=True) if not good(r)]
    print(f"\n{len(rows)} ratios, {len(short)} short, least {min(figures.values()):.2f}; machine: {machine()}")
    print(json.dumps({"figures": {k: round(v, 3) for k, v in figures.items()}, "falls_short": short}))
    return 1 if short else 0


def best_of_peers(rows: list[Row]) -> list[Row]:
    """scikit-learn counts with or without the Gram matrix, whichever was faster."""
    kept: dict[tuple[int, str], Row] = {}
    for r in rows:
        key = (r.n, r.peer.split(",")[0])
        if key not in kept or r.ratio < kept[key].ratio:
            kept[key] = r._replace(peer=key[1])
    return list(kept.values())


def good(r: Row) -> bool:
    """Ahead, at a gap that is not larger than the peer's."""
    return r.ratio >= 1 and r.gap <= max(r.peer_gap, 1e-12)

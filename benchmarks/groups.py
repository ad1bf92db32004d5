"""Groups of inputs, products of powers through which alone a function acts: from queries and from noisy rows.

    python benchmarks/groups.py --quick
    python benchmarks/groups.py --half unseen               # final figures
    python benchmarks/groups.py --half tuned                # while tuning

Laws are a factor times a function of one or two groups, exponents and shapes drawn at random, no two inputs of which
always come together; beside them functions of as many inputs without groups, where none may be claimed. A law is right
where the exponents that were found span the true ones, as many as there are, within 0.05.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from multiprocessing import get_context

import numpy as np
from _report import finish, print_table

import compsparse as cs
from compsparse.discovery import Discovery

FIRST_UNSEEN = 40_000
N_ROWS, SECONDS = 1000, 60.0
LOW, HIGH = 0.5, 2.0
WITHIN = 0.05
Function = Callable[[np.ndarray], np.ndarray]
SHAPES: tuple[Callable[[np.ndarray, np.ndarray], np.ndarray], ...] = (
    lambda p, q: np.tanh(p) * np.log1p(q),
    lambda p, q: p + 0.5 * q * np.exp(-p / 4),
    lambda p, q: 1 / (1 + p + np.sqrt(q)),
    lambda p, q: np.exp(-p / 3) + np.arctan(q),
    lambda p, q: np.log1p(p + q**1.5),
)
OF_ONE: tuple[Callable[[np.ndarray], np.ndarray], ...] = (
    lambda p: 0.2 + np.exp(-p),
    lambda p: np.log1p(p) + p**2 / 4,
    lambda p: 1 / (1 + p) + 0.3 * p,
)


@dataclass(frozen=True)
class Law:
    """A function of positive inputs; the exponents of its groups, a factor among them, as rows."""

    f: Function
    exponents: np.ndarray


def law(seed: int) -> Law:
    """A random law of four to six inputs with fewer groups than inputs."""
    rng = np.random.default_rng(seed)
    while True:
        d, n_groups, has_factor = int(rng.integers(4, 7)), int(rng.integers(1, 3)), bool(rng.integers(2))
        rows = rng.choice([-2, -1, -1, 0, 0, 1, 1, 2], (n_groups + has_factor, d)).astype(float)
        if _is_wide(rows) and rows[has_factor:].any(0).all():
            break
    groups, factor = (rows[1:], rows[:1]) if has_factor else (rows, rows[:0])
    shape, of_one = SHAPES[rng.integers(len(SHAPES))], OF_ONE[rng.integers(len(OF_ONE))]

    def f(X: np.ndarray) -> np.ndarray:
        p = np.exp(np.log(X) @ groups.T)
        inner = of_one(p[:, 0]) if n_groups == 1 else shape(p[:, 0], p[:, 1])
        return np.asarray(np.exp(np.log(X) @ factor.sum(0)) * inner)

    return Law(f, rows)


def _is_wide(rows: np.ndarray) -> bool:
    """Whether all inputs act, no two always come together, and there are fewer groups than inputs."""
    n, d = rows.shape
    together = any(np.linalg.matrix_rank(rows[:, pair]) < 2 for pair in combinations(range(d), 2))
    return np.linalg.matrix_rank(rows) == n < d and rows.any(0).all() and (n > 1 and not together)


def without_groups(seed: int) -> tuple[Function, int]:
    """A function of four to six positive inputs that has no groups."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(4, 7))
    pairs = list(combinations(range(d), 2))
    chosen = [pairs[i] for i in rng.permutation(len(pairs))[: d + 1]]
    weights, shifts = rng.uniform(0.5, 1.5, len(chosen)), rng.uniform(0, 1, len(chosen))

    def f(X: np.ndarray) -> np.ndarray:
        terms = (w * np.sin(X[:, i] * X[:, j] + s) for w, s, (i, j) in zip(weights, shifts, chosen, strict=True))
        return np.asarray(np.exp(sum(terms) / 2) + 0.3 * X.sum(1) ** 1.5)

    return f, d


# ---- judging -------------------------------------------------------------------------------------


def exponents_of(found: Discovery, names: list[str]) -> np.ndarray:
    """Those of the groups that were found, as rows; an input that is a group of its own among them."""
    rows = []
    for entry in found.parts:
        if entry.formula:
            rows.append(_read(entry.formula, names))
    for node in found.graph.nodes:
        rows += [
            np.eye(len(names))[names.index(parent)] for parent in node.parents if _stands_alone(found, node, parent)
        ]
    return np.array(rows).reshape(-1, len(names))


def _stands_alone(found: Discovery, node: cs.graph.Node, parent: str) -> bool:
    return parent in found.graph.inputs and node.constituent is None


def _read(formula: str, names: list[str]) -> np.ndarray:
    row = np.zeros(len(names))
    above, _, below = formula.partition(" / ")
    for text, sign in ((above, 1.0), (below, -1.0)):
        for part in text.strip("()").split() if not text.startswith("1") else ():
            name, _, power = part.partition("^")
            row[names.index(name)] = sign * float(Fraction(power.strip("()") or "1"))
    return row


def is_right(found: np.ndarray, true: np.ndarray) -> tuple[bool, bool]:
    """Whether as many groups were found as there are, and whether they span the same."""
    if len(found) != len(true):
        return False, False
    one, other = (np.linalg.qr(rows.T)[0] for rows in (found, true))
    return True, bool(np.linalg.norm(one - other @ (other.T @ one), 2) < WITHIN)


@dataclass(frozen=True)
class Seen:
    """What was found of one law: the number of groups and their exponents right, by queries and from rows."""

    n_inputs: int
    n_groups: int
    by_queries: bool
    number: bool
    exponents: bool
    is_sure: bool
    seconds: float


def look_at_law(seed: int, noise: float) -> Seen:
    one = law(seed)
    d = one.exponents.shape[1]
    names = [f"x{i}" for i in range(d)]
    asked = cs.discover(one.f, bounds=(LOW, HIGH), names=names, random_state=seed)
    started = time.perf_counter()
    seen = from_rows(one.f, d, seed, noise)
    number, exponents = is_right(exponents_of(seen, names), one.exponents)
    return Seen(
        d,
        len(one.exponents),
        is_right(exponents_of(asked, names), one.exponents)[1],
        number,
        exponents,
        any(e.formula and not e.approximate for e in seen.parts),
        time.perf_counter() - started,
    )


def look_at_control(seed: int, noise: float) -> tuple[bool, bool]:
    """Whether a group is claimed by queries, and from rows, where there is none."""
    f, d = without_groups(seed)
    asked = cs.discover(f, bounds=(LOW, HIGH), names=[f"x{i}" for i in range(d)], random_state=seed)
    found = asked, from_rows(f, d, seed, noise)
    by_queries, by_rows = (any(e.formula and not e.approximate for e in each.parts) for each in found)
    return by_queries, by_rows


def from_rows(f: Function, d: int, seed: int, noise: float) -> Discovery:
    rng = np.random.default_rng(seed)
    X = rng.uniform(LOW, HIGH, (N_ROWS, d))
    y = f(X)
    y = y + noise * y.std() * rng.standard_normal(N_ROWS)
    names = [f"x{i}" for i in range(d)]
    return cs.discover(X, y, names=names, random_state=seed, fit=False, resamples=0, time_limit=SECONDS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=("tuned", "unseen"), default="unseen")
    parser.add_argument("--n-laws", type=int, default=25)
    parser.add_argument("--noise", type=float, nargs="+", default=[0.0, 0.01])
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="four laws and four functions without groups")
    args = parser.parse_args()
    seeds = [FIRST_UNSEEN * (args.half == "unseen") + i for i in range(4 if args.quick else args.n_laws)]
    table: list[list[object]] = []
    figures: dict[str, float] = {}
    bars: dict[str, tuple[str, float]] = {}
    with ProcessPoolExecutor(args.processes, mp_context=get_context("spawn")) as pool:
        jobs = {
            noise: [[pool.submit(look, seed, noise) for seed in seeds] for look in (look_at_law, look_at_control)]
            for noise in args.noise
        }
        for noise, (laws, controls) in jobs.items():
            seen = [job.result() for job in laws]
            claimed = np.array([job.result() for job in controls])
            label = f"noise {noise:g}: "
            table += [[noise, *vars(each).values()] for each in seen]
            figures["by queries: exact"] = float(np.mean([s.by_queries for s in seen]))
            figures[label + "number of groups right"] = float(np.mean([s.number for s in seen]))
            figures[label + "exponents right"] = float(np.mean([s.exponents for s in seen]))
            figures[label + "wrong and sure"] = float(np.mean([s.is_sure and not s.exponents for s in seen]))
            figures["without groups, by queries: claimed"] = float(claimed[:, 0].mean())
            figures[label + "without groups: claimed"] = float(claimed[:, 1].mean())
            bars |= {label + name: (">=", 0.9) for name in ("number of groups right", "exponents right")}
            bars |= {label + name: ("<=", 0.04) for name in ("wrong and sure", "without groups: claimed")}
    print_table(["noise", *(name.replace("_", " ") for name in Seen.__dataclass_fields__)], table)
    finish(figures, bars | {"by queries: exact": (">=", 1.0), "without groups, by queries: claimed": ("<=", 0.04)})


if __name__ == "__main__":
    main()

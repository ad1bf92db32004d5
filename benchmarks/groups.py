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
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np
from _report import finish, print_table

import compsparse as cs
from compsparse.discovery import Discovery

FIRST_UNSEEN = 40_000
N_ROWS, NOISE = 1000, 0.01
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


def laws(first: int, n: int, noise: float) -> tuple[dict[str, float], dict[str, tuple[str, float]]]:
    table: list[list[object]] = []
    for seed in range(first, first + n):
        one = law(seed)
        d = one.exponents.shape[1]
        names = [f"x{i}" for i in range(d)]
        rng = np.random.default_rng(seed)
        X = rng.uniform(LOW, HIGH, (N_ROWS, d))
        y = one.f(X)
        y = y + noise * y.std() * rng.standard_normal(N_ROWS)
        asked = cs.discover(one.f, bounds=(LOW, HIGH), names=names, random_state=seed)
        started = time.perf_counter()
        seen = cs.discover(X, y, names=names, random_state=seed, fit=False, resamples=0)
        seconds = time.perf_counter() - started
        by_queries = is_right(exponents_of(asked, names), one.exponents)
        by_rows = is_right(exponents_of(seen, names), one.exponents)
        sure = any(e.formula and not e.approximate for e in seen.parts)
        shown = [e.formula for e in asked.parts], [e.formula for e in seen.parts]
        table.append(
            [d, len(one.exponents), *by_queries, *by_rows, sure, seconds, *(shown if first < FIRST_UNSEEN else ())]
        )
    print_table(
        ["inputs", "groups", "number", "exponents", "from rows", "exponents", "sure", "seconds", "", ""][
            : len(table[0])
        ],
        table,
    )
    share = lambda column: float(np.mean([row[column] for row in table]))  # noqa: E731
    figures = {
        "laws by queries: exact": share(3),
        "laws from rows: number of groups right": share(4),
        "laws from rows: exponents right": share(5),
        "laws from rows: wrong and sure": float(np.mean([row[6] and not row[5] for row in table])),
    }
    return figures, {
        "laws by queries: exact": (">=", 1.0),
        "laws from rows: number of groups right": (">=", 0.9),
        "laws from rows: exponents right": (">=", 0.9),
    }


def controls(first: int, n: int, noise: float) -> tuple[dict[str, float], dict[str, tuple[str, float]]]:
    claimed = {"queries": 0, "rows": 0}
    for seed in range(first, first + n):
        f, d = without_groups(seed)
        rng = np.random.default_rng(seed)
        X = rng.uniform(LOW, HIGH, (N_ROWS, d))
        y = f(X)
        y = y + noise * y.std() * rng.standard_normal(N_ROWS)
        asked = cs.discover(f, bounds=(LOW, HIGH), names=[f"x{i}" for i in range(d)], random_state=seed)
        seen = cs.discover(X, y, random_state=seed, fit=False, resamples=0)
        for how, found in (("queries", asked), ("rows", seen)):
            claimed[how] += any(e.formula for e in found.parts)
    figures = {f"without groups, {how}: claimed": number / n for how, number in claimed.items()}
    return figures, dict.fromkeys(figures, ("<=", 0.04))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=("tuned", "unseen"), default="unseen")
    parser.add_argument("--n-laws", type=int, default=25)
    parser.add_argument("--noise", type=float, default=NOISE)
    parser.add_argument("--quick", action="store_true", help="four laws and four functions without groups")
    args = parser.parse_args()
    first, n = FIRST_UNSEEN * (args.half == "unseen"), 4 if args.quick else args.n_laws
    figures, bars = laws(first, n, args.noise)
    more, more_bars = controls(first, n, args.noise)
    finish(figures | more, bars | more_bars)


if __name__ == "__main__":
    main()

"""Graphs with shared inputs: sums under a link, parts at fixed values, from queries and from noisy rows.

    python benchmarks/graphs.py --quick
    python benchmarks/graphs.py --half unseen               # final figures
    python benchmarks/graphs.py --only sums --half tuned    # while tuning

``sums``: functions link(sum of terms of two or three inputs) over random interaction graphs, eight links and products
that change sign, by queries; dense functions beside them, where nothing may be claimed. ``rows``: polynomials with
free coefficients, cycles, sums and small programs that share inputs, 2,000 rows with 2% noise: the graph is right where
it is the one that exact queries give; a false separation is a pair that the graph from rows keeps apart and that acts
together, or a module that queries do not confirm.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from itertools import combinations

import networkx as nx
import numpy as np
from _report import finish, print_table

import compsparse as cs
from compsparse.discovery import Discovery
from compsparse.graph import FunctionGraph

FIRST_UNSEEN = 40_000
N_ROWS, NOISE = 2000, 0.02
N_OF_SIZE = {6: 20, 10: 10, 16: 3}
LINKS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "identity": lambda s: s,
    "exp": lambda s: np.exp(s / 2),
    "tanh": lambda s: np.tanh(s / 3),
    "log": lambda s: np.log(s + 30),
    "cube": lambda s: s**3,
    "root": lambda s: np.sqrt(s + 30),
    "logistic": lambda s: 1 / (1 + np.exp(-s)),
    "inverse": lambda s: 1 / (s + 30),
}
Terms = frozenset[tuple[int, ...]]


# ---- functions -----------------------------------------------------------------------------------


def random_terms(d: int, rng: np.random.Generator) -> Terms:
    """Pairs and some triples that connect all inputs, and leave some pair apart."""
    while True:
        pairs = {p for p in combinations(range(d), 2) if rng.random() < min(0.4, 2.2 / d)}
        triples = {tuple(sorted(rng.choice(d, 3, replace=False).tolist())) for _ in range(rng.integers(0, 2))}
        terms = pairs | triples
        largest = frozenset(t for t in terms if not any(set(t) < set(other) for other in terms))
        together = {p for t in largest for p in combinations(t, 2)}
        graph = nx.Graph(together)
        if len(graph) == d and nx.is_connected(graph) and len(together) < d * (d - 1) // 2:
            return largest


def sum_of(terms: Terms, link: str, rng: np.random.Generator) -> Callable[[np.ndarray], np.ndarray]:
    """A random function of these terms under a link; ``product`` multiplies them."""
    drawn = [(t, rng.uniform(0.5, 1.5), int(rng.integers(3)), rng.uniform(0, 1)) for t in sorted(terms)]

    def term(X: np.ndarray, t: tuple[int, ...], scale: float, kind: int, shift: float) -> np.ndarray:
        product, total = np.prod(X[:, list(t)], axis=1), np.sum(X[:, list(t)], axis=1)
        shapes = (np.sin(2 * product + shift), np.tanh(2 * product + X[:, t[0]]), np.sin(1.5 * total + shift) + product)
        return scale * np.asarray(shapes[kind])

    def f(X: np.ndarray) -> np.ndarray:
        values = [term(X, *one) for one in drawn]
        if link == "product":
            own = [v + 0.7 * X[:, t[0]] + 0.4 for v, (t, *_) in zip(values, drawn, strict=True)]
            return np.asarray(np.prod(own, axis=0))
        return LINKS[link](np.sum(values, axis=0))

    return f


def dense(d: int, rng: np.random.Generator) -> Callable[[np.ndarray], np.ndarray]:
    """A small random network, in which all inputs act together."""
    first, bias, second = rng.standard_normal((d, 12)), rng.uniform(-1, 1, 12), rng.standard_normal(12)
    return lambda X: np.asarray(np.tanh(X @ first + bias) @ second)


def shared(seed: int) -> tuple[str, int, Callable[[np.ndarray], np.ndarray]]:
    """One of five families of functions that share inputs, with its number of inputs."""
    rng = np.random.default_rng(seed)
    c = rng.uniform(0.6, 1.4, 12) * rng.choice([-1, 1], 12)
    kind = ("polynomial", "cycle", "sum", "program", "law")[seed % 5]
    if kind == "polynomial":
        n = int(rng.integers(3, 5))
        powers = rng.permutation([1, 2, 3])[: n - 1]
        wrap = LINKS[str(rng.choice(["identity", "tanh"]))]

        def polynomial(X: np.ndarray) -> np.ndarray:
            t = X[:, -1] + 1.5
            return wrap(sum((c[i] * X[:, i] * t**p for i, p in enumerate(powers)), c[5] * np.sin(2 * X[:, n - 1])))

        return kind, n + 1, polynomial
    if kind == "cycle":
        d, link = int(rng.integers(5, 7)), LINKS[str(rng.choice(["identity", "exp", "tanh"]))]
        return kind, d, lambda X: link(sum(c[i] * X[:, i] * X[:, (i + 1) % d] for i in range(d)))
    if kind == "sum":
        d = int(rng.integers(4, 7))
        return kind, d, sum_of(random_terms(d, rng), str(rng.choice(["identity", "exp", "logistic"])), rng)
    if kind == "program":

        def program(X: np.ndarray) -> np.ndarray:
            t = X[:, 4]
            one = X[:, 0] * (c[0] * X[:, 1] + t)
            two = np.tanh(c[1] * X[:, 2] + t) + c[2] * X[:, 3] * t
            return np.asarray(one * two + 0.5 * c[3] * one**2 + c[4] * np.sin(two) * t)

        return kind, 5, program

    def law(X: np.ndarray) -> np.ndarray:
        a, b, e, q = (X[:, i] + 2 for i in range(4))
        return np.asarray(a * b**2 * abs(c[0]) + e * (b + abs(c[1])) / q + c[2] * q * np.sqrt(e))

    return kind, 4, law


# ---- what was found ------------------------------------------------------------------------------


def terms_of(found: Discovery) -> frozenset[frozenset[str]]:
    """The inputs below every node: what the drawn graph says, whatever its nodes are called."""
    graph = found.graph
    return frozenset(
        frozenset(name for name in graph.inputs if name in graph.ancestors(node.name)) for node in graph.nodes
    )


def apart(graph: FunctionGraph) -> set[frozenset[str]]:
    """Pairs that no node reads together, directly or through what else it reads, but the last."""
    below = [graph.ancestors(node.name) & set(graph.inputs) for node in graph.nodes if node.name not in graph.outputs]
    direct = [set(n.parents) & set(graph.inputs) for n in graph.nodes]
    sets = [set(b) for b in below] + direct
    return {frozenset(p) for p in combinations(graph.inputs, 2) if not any(set(p) <= s for s in sets)}


def true_terms(terms: Terms, names: list[str]) -> frozenset[frozenset[str]]:
    return frozenset(frozenset(names[i] for i in t) for t in terms) | {frozenset(names)}


# ---- two parts -----------------------------------------------------------------------------------


def sums(first: int, sizes: dict[int, int]) -> tuple[dict[str, float], dict[str, tuple[str, float]]]:
    figures: dict[str, float] = {}
    rows: list[list[object]] = []
    bars = {6: 0.98, 10: 0.95, 16: 0.90}
    for d, n in sizes.items():
        names = [f"x{i}" for i in range(d)]
        right, total, claimed, evaluations, started = 0, 0, 0, [], time.perf_counter()
        for seed in range(first, first + n):
            for link in [*LINKS, "product"]:
                rng = np.random.default_rng([seed, d, [*LINKS, "product"].index(link)])
                terms = random_terms(d, rng)
                f = sum_of(terms, link, rng)
                found = cs.discover(f, bounds=(-1, 1), names=names, random_state=seed)
                is_right = terms_of(found) == true_terms(terms, names)
                right, total = right + is_right, total + 1
                evaluations.append(found.cost.evaluations)
                if not is_right and first < FIRST_UNSEEN:
                    print(f"tuned: d = {d}, {link}, seed {seed}: {_sets(terms_of(found), true_terms(terms, names))}")
            nothing = cs.discover(dense(d, np.random.default_rng(seed)), bounds=(-1, 1), names=names, random_state=seed)
            claimed += bool(nothing.parts)
        rows.append([d, total, right, n, claimed, float(np.median(evaluations)), time.perf_counter() - started])
        figures |= {f"sums of {d} inputs: exact": right / total, f"dense of {d} inputs: claimed": float(claimed)}
    print_table(["inputs", "sums", "exact", "dense", "claimed", "evaluations, median", "seconds"], rows)
    limits = {f"sums of {d} inputs: exact": (">=", bars[d]) for d in sizes}
    return figures, limits | {f"dense of {d} inputs: claimed": ("<=", 0.0) for d in sizes}


def _sets(one: frozenset[frozenset[str]], other: frozenset[frozenset[str]]) -> str:
    extra, missing = (sorted(sorted(s) for s in a - b) for a, b in ((one, other), (other, one)))
    return f"found {extra}, true {missing}"


def from_rows(first: int, n: int, noise: float) -> tuple[dict[str, float], dict[str, tuple[str, float]]]:
    rows: list[list[object]] = []
    right = false = 0
    by_kind: dict[str, list[bool]] = {}
    for seed in range(first, first + n):
        kind, d, f = shared(seed)
        names = [f"x{i}" for i in range(d)]
        rng = np.random.default_rng(seed)
        X = rng.uniform(-1, 1, (N_ROWS, d))
        y = f(X)
        y = y + noise * y.std() * rng.standard_normal(N_ROWS)
        started = time.perf_counter()
        asked = cs.discover(f, bounds=(-1, 1), names=names, random_state=seed)
        found = cs.discover(X, y, names=names, random_state=seed, fit=False)
        is_right = terms_of(found) == terms_of(asked)
        wrong = apart(found.graph) - apart(asked.graph)
        sure = not any(e.approximate for e in found.evidence)
        right, false = right + is_right, false + bool(wrong and sure)
        by_kind.setdefault(kind, []).append(is_right)
        shown = _sets(terms_of(found), terms_of(asked)) if first < FIRST_UNSEEN and not is_right else ""
        rows.append([kind, d, is_right, len(wrong), sure, time.perf_counter() - started, shown])
    print_table(["family", "inputs", "right", "wrongly apart", "unmarked", "seconds", ""], rows)
    figures = {"rows: graph right": right / n, "rows: a false separation": false / n}
    figures |= {f"rows, {kind}: right": float(np.mean(seen)) for kind, seen in by_kind.items()}
    return figures, {"rows: graph right": (">=", 0.8), "rows: a false separation": ("<=", 0.03)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=("tuned", "unseen"), default="unseen")
    parser.add_argument("--only", choices=("sums", "rows"))
    parser.add_argument("--n-functions", type=int, default=20, help="of the families of rows")
    parser.add_argument("--noise", type=float, default=NOISE)
    parser.add_argument("--quick", action="store_true", help="six inputs alone, two graphs, five functions")
    args = parser.parse_args()
    first = FIRST_UNSEEN if args.half == "unseen" else 0
    figures: dict[str, float] = {}
    bars: dict[str, tuple[str, float]] = {}
    if args.only != "rows":
        more, limits = sums(first, {6: 2} if args.quick else N_OF_SIZE)
        figures, bars = figures | more, bars | limits
    if args.only != "sums":
        more, limits = from_rows(first, 5 if args.quick else args.n_functions, args.noise)
        figures, bars = figures | more, bars | limits
    finish(figures, bars)


if __name__ == "__main__":
    main()

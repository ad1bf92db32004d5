"""Discovery by queries: exactness on random functions of known graph, evaluations, time, noise.

Every function is asked for values alone (no autograd), unless a row says otherwise.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np
from _report import finish, print_table

from compsparse.discovery import Discovery
from compsparse.discovery.queries import from_queries
from compsparse.graph import Constituent, FunctionGraph, Node, chain, compare_graphs, input_names, random_tree
from compsparse.tasks import Task, random_target, sincos_tree, tanh_tree

N_FUNCTIONS = 50
LETTERS = "abcdefgh"

Arguments = Sequence[np.ndarray]
NodeMaker = Callable[[np.random.Generator, Arguments], Constituent]


# ---- functions of known graph ----------------------------------------------------------


def filled(graph: FunctionGraph, make: NodeMaker, seed: int) -> FunctionGraph:
    """The graph with constituents drawn one by one, each in view of a sample of its arguments.

    So no branch is dead, no function saturated, and the graph is what the function really is.
    """
    rng = np.random.default_rng(seed)
    sample = rng.uniform(-1, 1, (2000, graph.n_inputs))
    values = dict(zip(graph.inputs, sample.T, strict=True))
    nodes = []
    for node in graph.nodes:
        arguments = [values[p] for p in node.parents]
        nodes.append(Node(node.name, node.parents, make(rng, arguments)))
        values[node.name] = nodes[-1].constituent(*arguments)
    return FunctionGraph(graph.inputs, nodes, graph.outputs)


def coefficients(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.uniform(0.5, 1.5, n) * rng.choice([-1, 1], n)


def affine(weights: np.ndarray, arguments: Arguments, offset: float = 0.0) -> str:
    """Sum of weighted standardised arguments, as text."""
    terms = [
        f"({w / v.std():.6f})*({LETTERS[i]} - ({v.mean():.6f}))"
        for i, (w, v) in enumerate(zip(weights, arguments, strict=True))
    ]
    return " + ".join([*terms, f"({offset:.6f})"])


def kinked(rng: np.random.Generator, arguments: Arguments) -> Constituent:
    """max of two affine forms, or ReLU of one plus another; every argument can carry the point across the kink."""
    n = len(arguments)
    standard = np.stack([(v - v.mean()) / v.std() for v in arguments])
    while True:
        one, other = coefficients(rng, n), coefficients(rng, n)
        if abs(one - other).min() > 0.4 and abs(np.outer(one, other) - np.outer(other, one))[0, 1:].min() > 0.3:
            break
    if rng.random() < 0.5:
        offset = np.quantile((one - other) @ standard, rng.uniform(0.3, 0.7))
        text = f"max({affine(one, arguments)}, {affine(other, arguments, offset)})"
    else:
        offset = -np.quantile(one @ standard, rng.uniform(0.3, 0.7))
        text = f"relu({affine(one, arguments, offset)}) + {affine(other, arguments)}"
    return Constituent.from_expression(text, LETTERS[:n])


def summed(rng: np.random.Generator, arguments: Arguments) -> Constituent:
    """A sum of sines and hyperbolic tangents of the arguments."""
    shape = rng.choice(["sin", "tanh"], len(arguments))
    weights = coefficients(rng, len(arguments))
    terms = [
        f"({w:.6f})*{s}(({1 / v.std():.6f})*{a} + 0.3)"
        for w, s, v, a in zip(weights, shape, arguments, LETTERS, strict=False)
    ]
    return Constituent.from_expression(" + ".join(terms), LETTERS[: len(arguments)])


def multiplied(rng: np.random.Generator, arguments: Arguments) -> Constituent:
    """A product of shifted arguments; about one in five changes its sign."""
    factors = []
    for v, a in zip(arguments, LETTERS, strict=False):
        shift = -v.mean() + v.std() if rng.random() < 0.2 else -v.min() + v.std()
        factors.append(f"({a} + ({shift:.6f}))/({v.std():.6f})")
    return Constituent.from_expression(" * ".join(f"({f})" for f in factors), LETTERS[: len(arguments)])


def with_inert(d: int, seed: int) -> FunctionGraph:
    """A smooth tree over a random half to all but one of the inputs."""
    rng = np.random.default_rng(seed)
    names = input_names(d)
    chosen = sorted(rng.choice(d, int(rng.integers(d // 2, d)), replace=False))
    small = random_target(random_tree(len(chosen), random_state=rng), rng).graph
    place = {f"x{i}": names[c] for i, c in enumerate(chosen)}
    nodes = [Node(n.name, tuple(place.get(p, p) for p in n.parents), n.constituent) for n in small.nodes]
    return FunctionGraph(names, nodes, small.outputs)


def smooth(d: int, seed: int) -> FunctionGraph:
    return random_target(random_tree(d, random_state=seed), seed).graph


FAMILIES: dict[str, Callable[[int, int], FunctionGraph]] = {
    "smooth": smooth,
    "max and ReLU": lambda d, s: filled(random_tree(d, random_state=s), kinked, s),
    "ternary": lambda d, s: random_target(random_tree(d, 3, random_state=s), s).graph,
    "chain": lambda d, s: random_target(chain(d), s).graph,
    "sum": lambda d, s: filled(random_tree(d, 4, random_state=s), summed, s),
    "product": lambda d, s: filled(random_tree(d, 4, random_state=s), multiplied, s),
    "badly scaled": smooth,
    "inert": with_inert,
}


# ---- measuring -------------------------------------------------------------------------


def by_values(graph: FunctionGraph) -> Callable[[np.ndarray], np.ndarray]:
    return lambda X: graph(np.asarray(X))  # a tensor that wants a gradient is refused


def find(family: str, graph: FunctionGraph, seed: int) -> Discovery:
    d = graph.n_inputs
    if family != "badly scaled":
        return from_queries(by_values(graph), [(-1, 1)] * d, random_state=seed)
    rng = np.random.default_rng(seed)
    half, middle = 10 ** rng.uniform(-6, 6, d), 10 ** rng.uniform(-6, 6, d) * rng.choice([-1, 1], d)
    middle = np.clip(middle, -100 * half, 100 * half)
    size = 10 ** rng.uniform(-6, 6)
    return from_queries(
        lambda X: size * graph((np.asarray(X) - middle) / half), np.c_[middle - half, middle + half], random_state=seed
    )


def exactness(family: str, d: int) -> list[object]:
    """Exact graphs, most and median evaluations, seconds per function."""
    exact, evaluations = 0, []
    started = time.perf_counter()
    for seed in range(N_FUNCTIONS):
        graph = FAMILIES[family](d, seed)
        found = find(family, graph, seed)
        exact += compare_graphs(found.graph, graph).exact
        evaluations.append(found.cost.evaluations)
    seconds = (time.perf_counter() - started) / N_FUNCTIONS
    return [family, d, exact, max(evaluations), int(np.median(evaluations)), seconds]


def alternating(seed: int) -> tuple[bool, int]:
    """max(min(max, max), min(max, max)) of eight inputs: at every point, one of them acts."""
    names = input_names(8)
    level = [f"max({a}, {b})" for a, b in zip(names[::2], names[1::2], strict=True)]
    graph = FunctionGraph.from_expression(f"max(min({level[0]}, {level[1]}), min({level[2]}, {level[3]}))", names)
    found = from_queries(by_values(graph), [(-1, 1)] * 8, random_state=seed)
    return compare_graphs(found.graph, graph).exact, found.cost.evaluations


def noisy(task: Task, seed: int, level: float = 1e-3) -> tuple[bool, int]:
    rng = np.random.default_rng(seed + 1000)

    def f(X: np.ndarray) -> np.ndarray:
        clean = by_values(task.graph)(X)
        return clean + level * task.scale * rng.standard_normal(clean.shape)

    found = from_queries(f, task.inputs.bounds, random_state=seed)
    return compare_graphs(found.graph, task.graph).exact, found.cost.evaluations


def main() -> None:
    rows = [exactness(family, d) for d in (8, 16) for family in FAMILIES]
    print_table(["functions", "inputs", f"exact of {N_FUNCTIONS}", "most evaluations", "median", "seconds each"], rows)
    figures: dict[str, float] = {f"{family} d={d} exact": exact for family, d, exact, *_ in rows}  # type: ignore[misc]
    bars: dict[str, tuple[str, float]] = dict.fromkeys(figures, (">=", N_FUNCTIONS))
    figures["most evaluations d=8"] = max(row[3] for row in rows if row[1] == 8)  # type: ignore[type-var]
    bars["most evaluations d=8"] = ("<=", 20_000)

    graph = smooth(50, 0)
    started = time.perf_counter()
    found = find("smooth", graph, 0)
    figures["smooth d=50 seconds"] = time.perf_counter() - started
    figures["smooth d=50 exact"] = compare_graphs(found.graph, graph).exact
    figures["smooth d=50 evaluations"] = found.cost.evaluations
    bars |= {"smooth d=50 seconds": ("<=", 60), "smooth d=50 exact": (">=", 1)}

    print()
    found_alternating = [alternating(seed) for seed in range(10)]
    figures["alternating max and min d=8 exact of 10"] = sum(ok for ok, _ in found_alternating)
    figures["alternating max and min d=8 most evaluations"] = max(n for _, n in found_alternating)
    bars["alternating max and min d=8 exact of 10"] = (">=", 10)
    by_autograd = [from_queries(smooth(8, s), [(-1, 1)] * 8, random_state=s) for s in range(N_FUNCTIONS)]
    figures["smooth d=8 by autograd exact"] = sum(
        compare_graphs(f.graph, smooth(8, s)).exact for s, f in enumerate(by_autograd)
    )
    figures["smooth d=8 by autograd most evaluations"] = max(f.cost.evaluations for f in by_autograd)
    bars["smooth d=8 by autograd exact"] = (">=", N_FUNCTIONS)
    noise_rows = []
    for task in (tanh_tree(), sincos_tree()):
        results = [noisy(task, seed) for seed in range(10)]
        noise_rows.append([task.name, sum(ok for ok, _ in results), max(n for _, n in results)])
        figures[f"{task.name} noise 1e-3 exact of 10"] = noise_rows[-1][1]
        bars[f"{task.name} noise 1e-3 exact of 10"] = (">=", 9)
    print_table(["noise of 1e-3", "exact of 10", "most evaluations"], noise_rows)
    finish(figures, bars)


if __name__ == "__main__":
    main()

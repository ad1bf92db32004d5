"""Boolean discovery: exact on random circuits, against brute force over all subsets, and at 14 to 16 inputs."""

from __future__ import annotations

import time
from itertools import combinations

import numpy as np
from _report import finish, median_seconds, print_table

from compsparse.discovery.boolean import from_truth_table
from compsparse.graph import FunctionGraph
from compsparse.representations.boolean.reading import all_rows

N_FUNCTIONS = 100
Tree = dict[frozenset[str], tuple[str | None, bytes]]
"""Strong modules -> kind where there are three or more children, and the function up to complement."""


# ---- random functions ----------------------------------------------------------------------


def random_circuit(rng: np.random.Generator, n_inputs: int, n_outputs: int) -> np.ndarray:
    """Tables of random trees of gates with two or three arguments; later trees may reuse earlier gates."""
    while True:
        values = [(column, frozenset([i])) for i, column in enumerate(all_rows(n_inputs).T)]
        tables = [grow(rng, values, n_inputs) for _ in range(n_outputs)]
        if all(0 < table.sum() < len(table) for table in tables):
            return np.stack(tables, axis=1)


def grow(rng: np.random.Generator, values: list[tuple[np.ndarray, frozenset[int]]], n_inputs: int) -> np.ndarray:
    n_used = int(rng.integers(2, n_inputs + 1))
    free = [int(i) for i in rng.permutation(n_inputs)[:n_used]]
    for gate in rng.permutation(np.arange(n_inputs, len(values)))[: rng.integers(0, 3)]:
        if rng.random() < 0.7:  # the gate's inputs reach this output through the gate alone
            free = [i for i in free if not values[i][1] & values[gate][1]]
        free.append(int(gate))
    while len(free) > 1:
        taken = [free.pop(int(rng.integers(len(free)))) for _ in range(min(int(rng.integers(2, 4)), len(free)))]
        row = sum(values[i][0] << k for k, i in enumerate(taken))
        values.append((random_gate(rng, len(taken))[row], frozenset().union(*(values[i][1] for i in taken))))
        free.append(len(values) - 1)
    return values[free[0]][0]


def random_gate(rng: np.random.Generator, arity: int) -> np.ndarray:
    """A table that depends on each of its arguments."""
    while True:
        gate = rng.integers(0, 2, (2,) * arity)
        if all((gate.take(0, i) != gate.take(1, i)).any() for i in range(arity)):
            return gate.ravel()


# ---- the truth: every subset of the inputs -------------------------------------------------


def brute_force(table: np.ndarray, names: list[str]) -> Tree:
    n = len(names)
    cube = table.reshape((2,) * n)
    labels: dict[frozenset[int], bytes] = {}
    active = [i for i in range(n) if (cube.take(0, i) != cube.take(1, i)).any()]
    for size in range(1, len(active) + 1):
        for members in combinations(active, size):
            matrix = np.moveaxis(cube, members, range(size)).reshape(1 << size, -1)
            cofactors = np.unique(np.packbits(matrix, axis=1), axis=0, return_inverse=True)
            if len(cofactors[0]) <= 2:
                number = cofactors[1].reshape(-1)
                labels[frozenset(members)] = (number != number[0]).tobytes()
    strong = [a for a in labels if not any(a & b and a - b and b - a for b in labels)]
    tree: Tree = {}
    for module in strong:
        children = [c for c in strong if c < module and not any(c < d < module for d in strong)]
        regroups = any(m < module and not any(m <= c for c in children) for m in labels)
        if children:
            kind = None if len(children) == 2 else "complete" if regroups else "prime"
            tree[frozenset(names[i] for i in module)] = kind, labels[module]
    return tree


def users(trees: dict[str, Tree]) -> set[tuple[frozenset[str], frozenset[str]]]:
    """Every distinct function over every member set, as (members, outputs that use it)."""
    found: dict[tuple[frozenset[str], bytes], set[str]] = {}
    for output, tree in trees.items():
        for members, (_, function) in tree.items():
            found.setdefault((members, function), set()).add(output)
    return {(members, frozenset(outputs)) for (members, _), outputs in found.items()}


# ---- what was found, read off the graph ----------------------------------------------------


def found_kinds(graph: FunctionGraph, output: str) -> dict[frozenset[str], str | None]:
    tree = FunctionGraph(graph.inputs, graph.nodes, output).pruned().module_tree
    return {m.members: m.kind if len(m.children) > 2 else None for m in tree.inner}


def found_users(graph: FunctionGraph) -> set[tuple[frozenset[str], frozenset[str]]]:
    inputs = set(graph.inputs)
    return {
        (
            frozenset(graph.ancestors(node.name) & inputs),
            frozenset(o for o in graph.outputs if o == node.name or node.name in graph.ancestors(o)),
        )
        for node in graph.nodes
        if node.arity > 1
    }


def random_functions() -> dict[str, float]:
    rng = np.random.default_rng(0)
    exact = computes = n_modules = n_shared = 0
    ours = reference = 0.0
    for _ in range(N_FUNCTIONS):
        n = int(rng.integers(4, 11))
        table = random_circuit(rng, n, int(rng.integers(1, 5)))
        started = time.perf_counter()
        graph = from_truth_table(table).graph
        ours += time.perf_counter() - started
        started = time.perf_counter()
        truth = {o: brute_force(table[:, k], list(graph.inputs)) for k, o in enumerate(graph.outputs)}
        reference += time.perf_counter() - started
        kinds = {o: {members: kind for members, (kind, _) in tree.items()} for o, tree in truth.items()}
        same_trees = all(found_kinds(graph, o) == kinds[o] for o in graph.outputs)
        exact += same_trees and found_users(graph) == users(truth)
        computes += np.array_equal(graph(all_rows(n)).reshape(table.shape), table)
        n_modules += len(users(truth))
        n_shared += sum(len(outputs) > 1 for _, outputs in users(truth))
    print(f"{N_FUNCTIONS} functions: {n_modules} modules in all, {n_shared} of them used by several outputs")
    return {
        "exact_of_100": exact,
        "graph_computes_table_of_100": computes,
        "shared_modules": n_shared,
        "brute_force_over_discovery_of_100": reference / ours,
    }


def against_brute_force(n: int, n_functions: int) -> float:
    """Time of brute force over that of discovery (graph, formulas and evidence included), every input active."""
    rng = np.random.default_rng(n)
    ours = reference = 0.0
    names = [f"x{i}" for i in range(n)]
    while n_functions:
        table = random_circuit(rng, n, 1)
        started = time.perf_counter()
        found = from_truth_table(table)
        seconds = time.perf_counter() - started
        if not found.inert:
            started = time.perf_counter()
            brute_force(table[:, 0], names)
            reference += time.perf_counter() - started
            ours += seconds
            n_functions -= 1
    return reference / ours


def large_functions() -> dict[str, float]:
    rng = np.random.default_rng(1)
    figures = {}
    rows = []
    for n in (14, 15, 16):
        tables = {
            "random circuit, 4 outputs": random_circuit(rng, n, 4),
            "majority (prime)": all_rows(n).sum(1) > n / 2,
            "random table (prime)": rng.integers(0, 2, 1 << n),
        }
        for name, table in tables.items():
            seconds = median_seconds(lambda table=table: from_truth_table(table), repeats=5, warm_up=1)
            rows.append([n, name, seconds * 1e3])
            figures[f"slowest_seconds_{n}"] = max(seconds, figures.get(f"slowest_seconds_{n}", 0.0))
    print_table(["inputs", "function", "milliseconds"], rows)
    return figures


def main() -> None:
    ratios = {f"brute_force_over_discovery_{n}": against_brute_force(n, 5) for n in (10, 12)}
    finish(
        random_functions() | ratios | large_functions(),
        {
            "exact_of_100": (">=", 100),
            "graph_computes_table_of_100": (">=", 100),
            "brute_force_over_discovery_10": (">=", 5),
            "brute_force_over_discovery_12": (">=", 20),
        },
    )


if __name__ == "__main__":
    main()

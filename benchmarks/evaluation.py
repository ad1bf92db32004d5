"""A traced graph of 10,000 nodes on 10,000 points against the same function in plain numpy."""

from __future__ import annotations

import numpy as np
from _report import finish, median_seconds, print_table

from compsparse.graph import trace

N_NODES = N_POINTS = 10_000


def make_function(n_nodes: int):
    """A function of 8 inputs that uses everything it computes, one operation a node."""
    rng = np.random.default_rng(0)
    partners = rng.integers(0, 8, n_nodes)
    kinds = rng.integers(0, 4, n_nodes)

    def function(x):
        value = x[..., 0]
        for partner, kind in zip(partners, kinds, strict=True):
            other = x[..., partner]
            if kind == 0:
                value = value + other
            elif kind == 1:
                value = value * other
            elif kind == 2:
                value = np.maximum(value, other)
            else:
                value = np.sin(value)
        return value

    return function


def main() -> None:
    function = make_function(N_NODES)
    graph = trace(function, 8)
    X = np.random.default_rng(1).uniform(-1, 1, (N_POINTS, 8))
    columns = np.ascontiguousarray(X.T).T  # hand-written code would keep its columns contiguous
    plain = median_seconds(lambda: function(columns), repeats=5)
    traced = median_seconds(lambda: graph(X), repeats=5)
    difference = float(np.abs(graph(X) - function(X)).max())
    print_table(["evaluation", "milliseconds"], [["plain numpy", plain * 1e3], ["traced graph", traced * 1e3]])
    figures = {"nodes": graph.size, "traced_over_numpy": traced / plain, "largest_difference": difference}
    finish(figures, {"traced_over_numpy": ("<=", 3), "largest_difference": ("<=", 1e-12), "nodes": (">=", 9000)})


if __name__ == "__main__":
    main()

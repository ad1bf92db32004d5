"""Tensor formats from few values: ours along a known tree, against teneva, tntorch and tensap.

Every method sees the same tensor (a function on one grid), and its cost is the number of different entries it asked
for. A method is run with finer and finer settings until its relative error on 4,000 fresh entries meets the target;
the table shows that run. Tensor trains know nothing of the function; trees are given where the table says so, to
tensap as to ours. `python benchmarks/tensors.py` takes some ten minutes.
"""

from __future__ import annotations

import contextlib
import io
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from _report import finish, print_table

import compsparse as cs
from compsparse.graph import FunctionGraph, balanced_tree
from compsparse.representations.tensors import DimensionTree, Grid, train_from_function, tucker_from_function
from compsparse.tasks import tanh_tree

N_CHECKED = 4000
MOST_EVALUATIONS = 1_000_000
MOST_SECONDS = 90
TOLERANCES = (3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11)


class Stop(Exception):
    """A method went beyond the limits."""


@dataclass
class Entries:
    """A tensor that counts the different entries it was asked for."""

    function: Callable[[np.ndarray], np.ndarray]
    grid: Grid
    seen: set[bytes] = field(default_factory=set)
    deadline: float = field(default_factory=lambda: time.perf_counter() + MOST_SECONDS)

    def __call__(self, indices: np.ndarray) -> np.ndarray:
        rows = np.ascontiguousarray(np.round(indices), dtype=np.int16)
        self.seen.update(row.tobytes() for row in rows)
        if len(self.seen) > MOST_EVALUATIONS or time.perf_counter() > self.deadline:
            raise Stop
        return self.function(self.grid.at(rows))

    def at_points(self, X: np.ndarray) -> np.ndarray:
        """The same for methods that ask by points: the nearest of the grid is meant."""
        points = [self.grid.points(i) for i in range(X.shape[1])]
        places = [np.searchsorted((p[1:] + p[:-1]) / 2, X[:, i]) for i, p in enumerate(points)]
        return self(np.stack(places, axis=1))


@dataclass(frozen=True)
class Case:
    name: str
    function: Callable[[np.ndarray], np.ndarray]
    grid: Grid
    target: float
    graph: FunctionGraph | None = None

    @property
    def d(self) -> int:
        return self.grid.n_inputs


Answer = Callable[[np.ndarray], np.ndarray]
"""Entries of an approximation at indices."""


def ours_tree(case: Case, entries: Entries, tol: float, tree: DimensionTree) -> Answer:
    found = tucker_from_function(entries.at_points, case.grid, tree, tol=tol, max_evaluations=MOST_EVALUATIONS,
                                 random_state=0)  # fmt: skip
    return found.tensor.at


def ours_train(case: Case, entries: Entries, tol: float) -> Answer:
    found = train_from_function(entries.at_points, case.grid, tol=tol, max_evaluations=MOST_EVALUATIONS, random_state=0)
    return found.tensor.at


def teneva_train(case: Case, entries: Entries, tol: float, growth: int) -> Answer:
    import teneva

    rng = np.random.default_rng(0)
    rows = rng.integers(0, case.grid.shape, (500, case.d))
    start = teneva.rand(list(case.grid.shape), r=1, seed=0)
    cores = teneva.cross(entries, start, e_vld=tol, I_vld=rows, y_vld=entries(rows), nswp=30, dr_max=growth, cache={})
    return lambda indices: teneva.get_many(cores, indices)


def tntorch_train(case: Case, entries: Entries, tol: float) -> Answer:
    import tntorch
    import torch

    domain = [torch.tensor(case.grid.points(i)) for i in range(case.d)]

    def function(X: torch.Tensor) -> torch.Tensor:
        return torch.tensor(entries.at_points(X.numpy()))

    torch.manual_seed(0)
    found = tntorch.cross(function=function, domain=domain, function_arg="matrix", eps=tol, rmax=120, max_iter=12,
                          verbose=False, suppress_warnings=True)  # fmt: skip
    return lambda indices: found[torch.tensor(indices)].torch().numpy()


def tensap_tree(case: Case, entries: Entries, tol: float, tree: DimensionTree, factor: int) -> Answer:
    import tensap

    np.random.seed(0)  # noqa: NPY002 (the package draws from numpy's own)
    solver = tensap.TensorPrincipalComponentAnalysis()
    solver.display, solver.tol, solver.max_rank = False, tol, np.inf
    solver.pca_sampling_factor = factor
    parts = list(tree.bottom_up())
    number = {part.members: k for k, part in enumerate(reversed(parts))}  # the whole is node 0
    adjacency = np.zeros((len(parts), len(parts)), dtype=int)
    for part in parts:
        for child in part.children:
            adjacency[number[part.members], number[child.members]] = 1
    leaves = [number[(i,)] + 1 for i in range(case.d)]
    found, _ = solver.tree_based_approximation(entries, list(case.grid.shape), tensap.DimensionTree(leaves, adjacency))
    answer: Answer = found.eval_at_indices
    return answer


def measure(case: Case, method: Callable[..., Answer], *more: object) -> tuple[float, float, float, bool]:
    """Evaluations, error and seconds of the first run that meets the target, or of the most accurate one."""
    rng = np.random.default_rng(99)
    indices = rng.integers(0, case.grid.shape, (N_CHECKED, case.d))
    values = case.function(case.grid.at(indices))
    best = (float("nan"), float("inf"), float("nan"), False)
    begun = time.perf_counter()
    for tol in (t for t in TOLERANCES if t <= 10 * case.target):
        if time.perf_counter() > begun + MOST_SECONDS:
            break
        entries = Entries(case.function, case.grid)
        started = time.perf_counter()
        try:
            with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
                warnings.simplefilter("ignore")
                answer = method(case, entries, tol, *more)
                off = np.asarray(answer(indices), dtype=float).reshape(-1) - values
        except Stop:
            if not np.isfinite(best[1]):
                best = (len(entries.seen), best[1], time.perf_counter() - started, False)
            break
        except (np.linalg.LinAlgError, ValueError, IndexError) as problem:
            print(f"  {method.__name__} at {tol:g}: {type(problem).__name__}: {problem}")
            continue
        error = float(np.linalg.norm(off) / np.linalg.norm(values))
        if error < best[1]:
            best = (len(entries.seen), error, time.perf_counter() - started, error <= case.target)
        if error <= case.target:
            break
    return best


def bump(X: np.ndarray) -> np.ndarray:
    return 1 / (1 + (X**2).sum(axis=1))


def cases() -> Iterator[Case]:
    tree = balanced_tree(8)
    smooth = tanh_tree(8).graph
    kinks = balanced_tree(8, constituent=cs.Constituent.from_expression("abs(a - b)", ["a", "b"]))
    places = [0, 4, 2, 6, 1, 5, 3, 7]  # neighbours of the tree are far apart in the order of the inputs
    mixed = FunctionGraph(
        [f"x{i}" for i in range(8)], smooth.rename({f"x{k}": f"x{i}" for k, i in enumerate(places)}).nodes
    )
    yield Case("1/(1 + |x|^2)", bump, Grid.of([(0, 1)] * 8, 17), 1e-8, tree)
    yield Case("smooth tree", smooth, Grid.of([(-1, 1)] * 8, 17), 1e-4, smooth)
    yield Case("tree of |a - b|", kinks, Grid.of([(0, 1)] * 8, 17, "linear"), 1e-2, kinks)
    yield Case("smooth tree, inputs mixed", mixed, Grid.of([(-1, 1)] * 8, 17), 1e-3, mixed)


def main() -> None:
    rows: list[list[object]] = []
    cost: dict[tuple[str, str], float] = {}
    spent: dict[tuple[str, str], float] = {}
    for case in cases():
        known = DimensionTree.from_graph(case.graph) if case.graph is not None else DimensionTree.balanced(case.d)
        methods: list[tuple[str, Callable[..., Answer], tuple[object, ...]]] = [
            ("ours, known tree", ours_tree, (known,)),
            ("tensap, known tree", tensap_tree, (known, 1)),
            ("tensap, known tree, 3 samples a rank", tensap_tree, (known, 3)),
            ("ours, train", ours_train, ()),
            ("teneva, train", teneva_train, (1,)),
            ("teneva, train, ranks grow by 3", teneva_train, (3,)),
            ("tntorch, train", tntorch_train, ()),
        ]
        if "mixed" in case.name:
            methods.insert(1, ("ours, tree of neighbours", ours_tree, (DimensionTree.balanced(case.d),)))
        for name, method, more in methods:
            evaluations, error, seconds, met = measure(case, method, *more)
            cost[case.name, name] = evaluations if met else float("inf")
            spent[case.name, name] = evaluations
            rows.append([case.name, f"{case.target:g}", name, f"{evaluations:,.0f}", f"{error:.1e}",
                         "yes" if met else "no", f"{seconds:.1f}"])  # fmt: skip
            print("  ".join(map(str, rows[-1])), flush=True)
    found = discovered(list(cases())[-1])
    rows.append(found[0])
    print_table(["function", "target", "method", "evaluations", "error", "met", "seconds"], rows)
    finish(figures(cost, spent, found[1]), {f"known tree: peers over ours, {n}": (">=", 1.5) for n in LABELS.values()})


def discovered(case: Case) -> tuple[list[object], float]:
    """The tree is found by queries first, and its evaluations count too."""
    discovery = cs.discover(case.function, bounds=list(case.grid.bounds), random_state=0)
    tree = DimensionTree.from_graph(discovery.graph)
    evaluations, error, seconds, met = measure(case, ours_tree, tree)
    total = evaluations + discovery.cost.evaluations
    row = [case.name, f"{case.target:g}", "ours, discovered tree", f"{total:,.0f}", f"{error:.1e}",
           "yes" if met else "no", f"{seconds:.1f}"]  # fmt: skip
    return row, total if met else float("inf")


LABELS = {
    "1/(1 + |x|^2)": "low rank",
    "smooth tree": "smooth tree",
    "tree of |a - b|": "kinks",
    "smooth tree, inputs mixed": "mixed inputs",
}


def figures(cost: dict[tuple[str, str], float], spent: dict[tuple[str, str], float], found: float) -> dict[str, float]:
    """Evaluations of the cheapest peer that met the target over ours; where none did, of the one that spent least."""
    result = {}
    for name, label in LABELS.items():
        peers = [m for (function, m) in cost if function == name and not m.startswith("ours")]
        met = [cost[name, m] for m in peers if np.isfinite(cost[name, m])]
        ours = cost[name, "ours, known tree"]
        if np.isfinite(ours):
            result[f"known tree: our evaluations, {label}"] = ours
            result[f"known tree: peers over ours, {label}"] = min(met or [spent[name, m] for m in peers]) / ours
    if np.isfinite(found):
        result["discovered tree: our evaluations with those of discovery, mixed inputs"] = found
    return result


if __name__ == "__main__":
    main()

"""Random hierarchies: how fast data are made, and in how much memory."""

from __future__ import annotations

import tracemalloc

from _report import finish, median_seconds, print_table

from compsparse.tasks import RandomHierarchy, SparseRandomHierarchy

Figures = dict[str, float]
Bars = dict[str, tuple[str, float]]

# name -> model, data drawn at once, points a second to reach
GENERATION: dict[str, tuple[RandomHierarchy, int, float]] = {
    "rhm_L3": (RandomHierarchy(n_features=8, n_levels=3), 2_000_000, 5e6),
    "srhm_L2_s0_2": (SparseRandomHierarchy(n_features=8, n_levels=2, n_empty=2), 1_000_000, 2e6),
    "srhm_L3_s0_1": (SparseRandomHierarchy(n_features=8, n_levels=3, n_empty=1), 500_000, 1e6),
    "srhm_L3_s0_4": (SparseRandomHierarchy(n_features=8, n_levels=3, n_empty=4), 100_000, 2e5),
}
LARGEST_MEMORY = 1.5


def generation() -> tuple[Figures, Bars]:
    """Points a second with v = m = 8, and peak memory as a multiple of what comes back."""
    figures: Figures = {}
    bars: Bars = {}
    rows = []
    for name, (model, n, bar) in GENERATION.items():
        bare = n / median_seconds(lambda model=model, n=n: model.draw(n, 0), repeats=5, warm_up=1)
        trees = n / median_seconds(lambda model=model, n=n: model.sample(n, 0), repeats=3, warm_up=1)
        split = n / median_seconds(lambda model=model, n=n: model.split(n // 2, n // 2, 0), repeats=1, warm_up=0)
        memory = {"draw": peak_over_output(model, n, trees=False), "sample": peak_over_output(model, n, trees=True)}
        rows.append([name, model.n_inputs, bare / 1e6, trees / 1e6, split / 1e6, memory["draw"], memory["sample"]])
        figures[f"{name}_points_per_second"], bars[f"{name}_points_per_second"] = bare, (">=", bar)
        for way, share in memory.items():
            figures[f"{name}_{way}_memory"], bars[f"{name}_{way}_memory"] = share, ("<=", LARGEST_MEMORY)
    columns = ["model", "d", "X and y, M/s", "with trees, M/s", "split, M/s", "memory", "memory with trees"]
    print_table(columns, rows)
    return figures, bars


def peak_over_output(model: RandomHierarchy, n: int, *, trees: bool) -> float:
    tracemalloc.start()
    if trees:
        size = model.sample(n, 0).nbytes
    else:
        X, y = model.draw(n, 0)
        size = X.nbytes + y.nbytes
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / size


SECTIONS = [generation]


def main() -> None:
    figures: Figures = {}
    bars: Bars = {}
    for section in SECTIONS:
        measured, wanted = section()
        figures |= measured
        bars |= wanted
    finish(figures, bars)


if __name__ == "__main__":
    main()

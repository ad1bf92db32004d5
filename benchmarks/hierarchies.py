"""Random hierarchies: making data, a training step, and a small sweep."""

from __future__ import annotations

import math
import random
import time
import tracemalloc

import numpy as np
import torch
from _report import finish, median_seconds, print_table
from torch import Tensor
from torch.nn import functional

from compsparse.measures import threshold
from compsparse.networks.symbols import HierarchicalCNN, HierarchicalLCN, symbol_codes
from compsparse.progress import Silent
from compsparse.sweeps import get_preset
from compsparse.sweeps.kinds.hierarchy import HierarchyRun
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
        split = n / median_seconds(lambda model=model, n=n: model.split(n // 2, n // 2, 0), repeats=3, warm_up=1)
        theirs = n / median_seconds(lambda model=model, n=n: numbered(model, n), repeats=1, warm_up=0)
        memory = {"draw": peak_over_output(model, n, trees=False), "sample": peak_over_output(model, n, trees=True)}
        speeds = [bare / 1e6, trees / 1e6, split / 1e6, theirs / 1e6]
        rows.append([name, model.n_inputs, *speeds, memory["draw"], memory["sample"]])
        figures[f"{name}_split_over_numbered"], bars[f"{name}_split_over_numbered"] = split / theirs, (">=", 1.0)
        figures[f"{name}_points_per_second"], bars[f"{name}_points_per_second"] = bare, (">=", bar)
        for way, share in memory.items():
            figures[f"{name}_{way}_memory"], bars[f"{name}_{way}_memory"] = share, ("<=", LARGEST_MEMORY)
    columns = ["model", "d", "X and y, M/s", "with trees, M/s", "split, M/s", "numbered, M/s", "memory", "with trees"]
    print_table(columns, rows)
    return figures, bars


def numbered(model: RandomHierarchy, n: int) -> None:
    """Different data by the way of Cagnetta et al.: different numbers from Python's sample, then digit by digit."""
    rest = np.array(random.Random(0).sample(range(min(model.n_data, 2**62)), n))
    base = model.m * model.n_placements
    symbols = rest // base**model.n_inner if base**model.n_inner < 2**62 else rest % model.n_labels
    for level in range(model.n_levels, 0, -1):
        nodes = model.s ** (model.n_levels - level)
        digits = np.stack([(rest := rest // base) % model.m for _ in range(nodes)], axis=1)
        symbols = model.rules[level - 1][symbols.reshape(n, -1) % model.v, digits].reshape(n, -1)


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


# ---- a training step -----------------------------------------------------------------------------

SHAPES = {"width 64": (64, 2, 3, 128), "width 256": (256, 2, 3, 128), "patch 6, width 512": (512, 6, 2, 4)}


def training_step() -> tuple[Figures, Bars]:
    """Forward and backward pass against the form that multiplies out (batch, out, in, position, patch)."""
    figures: Figures = {}
    rows = []
    for shape, (width, patch, depth, batch) in SHAPES.items():
        for name, family in (("cnn", HierarchicalCNN), ("lcn", HierarchicalLCN)):
            network = family(patch**depth, 8, 8, patch, width=width, random_state=0)
            x = torch.randint(0, 8, (batch, patch**depth))
            y = torch.randint(0, 8, (batch,))
            naive = naive_parameters(network)
            ours = median_seconds(lambda n=network, x=x, y=y: step(n(x), y), repeats=5, warm_up=2)
            theirs = median_seconds(lambda n=network, w=naive, x=x, y=y: step(multiplied_out(n, w, x), y), repeats=1)
            figures[f"{name} {shape}: multiplied out / ours"] = theirs / ours
            rows.append([name, shape, 1000 * ours, 1000 * theirs, theirs / ours])
    print_table(["network", "shape", "ours, ms", "multiplied out, ms", "ratio"], rows)
    bars: Bars = {f"{name} width 256: multiplied out / ours": (">=", 20.0) for name in ("cnn", "lcn")}
    return figures, bars


def step(out: Tensor, y: Tensor) -> None:
    functional.cross_entropy(out, y).backward()


def naive_parameters(network: HierarchicalCNN | HierarchicalLCN) -> list[tuple[Tensor, Tensor]]:
    """Weights as (out, in, position or 1, patch), biases as (out, position or 1)."""
    found = []
    for layer in network.layers:
        weight = layer.weight[0].detach().unflatten(1, (network.patch, -1)).permute(3, 2, 0, 1).contiguous()
        found.append((weight.requires_grad_(), layer.bias[0, :, 0].detach().T.contiguous().requires_grad_()))
    return found


def multiplied_out(
    network: HierarchicalCNN | HierarchicalLCN, parameters: list[tuple[Tensor, Tensor]], x: Tensor
) -> Tensor:
    h = symbol_codes(8)[x + 1].transpose(1, 2)
    for weight, bias in parameters:
        batch, channels, positions = h.shape
        patches = h.reshape(batch, 1, channels, positions // network.patch, network.patch)
        h = torch.relu((patches * weight).sum((2, 4)) / math.sqrt(channels) + 0.1 * bias)
    return h.mean(-1) @ network.readout.layer.weight[0, 0] / network.width


# ---- a sweep -------------------------------------------------------------------------------------


def sweep() -> tuple[Figures, Bars]:
    """15 runs of v = m = n_c = 8, L = 2 by the protocol of Cagnetta et al., trained as one program."""
    runs = get_preset("rhm-quick").specs()
    started = time.process_time()
    results = HierarchyRun.run(runs, device=None, progress=Silent())
    seconds = time.process_time() - started
    curves: dict[int, list[float]] = {}
    for run, result in zip(runs, results, strict=True):
        curves.setdefault(run.n_train, []).append(result["test_error"])
    found = threshold(curves, random_state=0)
    print_table(["P", "test errors"], [[p, "  ".join(f"{e:.3f}" for e in errors)] for p, errors in curves.items()])
    print(f"P* {found.value:.0f} (90% interval {found.low:.0f} to {found.high:.0f})")
    natural = RandomHierarchy(8).natural_size
    figures = {"sweep CPU seconds": seconds, "sweep P* / (n_c m^L)": found.value / natural}
    bars: Bars = {"sweep CPU seconds": ("<=", 30.0), "sweep P* / (n_c m^L)": (">=", 2.0)}
    figures["sweep P* / (n_c m^L), at most"] = found.value / natural
    bars["sweep P* / (n_c m^L), at most"] = ("<=", 3.2)
    return figures, bars


SECTIONS = [generation, training_step, sweep]


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

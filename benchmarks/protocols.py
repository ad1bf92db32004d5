"""What each difference between the papers' protocols and ours does to P*: one at a time, and all together.

Three seeds and five sizes of a setting train as replicas of one program. ``--quick`` takes small models, for a CPU.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from _report import finish, print_table

from compsparse.claims.p_star import Measured, measure_p_star
from compsparse.claims.rules import Interval
from compsparse.claims.subjects.hierarchy_laws import hierarchy_run
from compsparse.sweeps.kinds.hierarchy import HierarchyRun, Learner
from compsparse.sweeps.kinds.paper import rhm_paper, rhm_protocol, srhm_protocol

SEEDS = 3
FIRST_SEED = 30_000
AROUND = (0.5, 0.71, 1.0, 1.41, 2.0)


@dataclass(frozen=True)
class Comparison:
    """One model: our run, a guess of its P*, and what the paper has otherwise."""

    name: str
    ours: HierarchyRun
    guess: float
    differences: Mapping[str, dict[str, Any]]


def sparse(learner: Learner, v: int, s0: int, width: int, guess: float) -> Comparison:
    """A sparse model at L = 2."""
    paper = srhm_protocol(learner, 2, s0)
    singles: dict[str, dict[str, Any]] = {
        "shifted codes": {"shifted": True},
        "whitened codes (ours, not the paper's)": {"whitened": True},
        "bias per position": {"bias_per_position": True},
        "balanced classes": {"balanced": True},
        f"learning rate {paper['learning_rate']:g}": {"learning_rate": paper["learning_rate"]},
        "training loss 0.001": {"stop_at_loss": 0.001},
        "best test error": {"test_at": "best"},
        f"width {2 * width}": {"width": 2 * width},
    }
    if learner != "cnn":
        del singles["bias per position"]
    every = {name: value for name, value in paper.items() if name not in ("width", "n_epochs")}
    singles["all of the paper's, at our width"] = every
    ours = hierarchy_run(learner, v, 2, s0, width=width)
    return Comparison(f"{learner.upper()}, v={v}, L=2, s0={s0}", ours, guess * ours.model.natural_size, singles)


def dense(v: int, width: int) -> Comparison:
    """The dense model at L = 2."""
    ours = HierarchyRun(n_train=2, n_features=v, **rhm_protocol(width), n_test=4000)
    paper = {name: value for name, value in rhm_paper(width).items() if getattr(ours, name) != value}
    singles = {name.replace("_", " "): {name: value} for name, value in paper.items()}
    singles["all of the paper's"] = paper
    return Comparison(f"RHM, v={v}, L=2", ours, 2.5 * ours.model.natural_size, singles)


def measured(run: HierarchyRun, guess: float) -> Measured:
    """P* of three seeds around the guess."""
    device = "cuda" if torch.cuda.is_available() else None
    return measure_p_star(run, guess, n_seeds=SEEDS, first_seed=FIRST_SEED, around=AROUND, device=device)


def compare(comparison: Comparison) -> tuple[dict[str, float], list[list[object]]]:
    """Figures and rows of a table: P*, and its ratio to ours with the range that both 90% intervals leave."""
    base = measured(comparison.ours, comparison.guess)
    figures = {f"{comparison.name}: P*, ours": base.p_star.value}
    rows: list[list[object]] = [[comparison.name, "ours", base.p_star.value, base.p_star.value / base.natural, 1.0, ""]]
    for name, changes in comparison.differences.items():
        started = time.perf_counter()
        found = measured(replace(comparison.ours, **changes), base.p_star.value)
        ratio = found.p_star.value / base.p_star.value
        span = Interval(found.p_star.low, found.p_star.high).over(Interval(base.p_star.low, base.p_star.high))
        figures[f"{comparison.name}: {name}, P* over ours"] = ratio
        rows.append(["", name, found.p_star.value, found.p_star.value / base.natural, ratio, span.text()])
        print(f"  {comparison.name}: {name}: {ratio:.2f} ({time.perf_counter() - started:.0f} s)", flush=True)
    return figures, rows


def comparisons(quick: bool, only: str | None) -> list[Comparison]:
    found = (
        [sparse("cnn", 4, 1, 32, 8.5), sparse("lcn", 4, 1, 32, 14.0), dense(6, 64)]
        if quick
        else [sparse("cnn", 8, 1, 256, 8.2), sparse("lcn", 6, 1, 256, 14.0), dense(8, 128)]
    )
    return [c for c in found if only is None or c.name.lower().startswith(only)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small models, for a CPU")
    parser.add_argument("--only", choices=["cnn", "lcn", "rhm"], help="one of the three models")
    arguments = parser.parse_args()
    figures: dict[str, float] = {}
    table: list[list[object]] = []
    for comparison in comparisons(arguments.quick, arguments.only):
        found, rows = compare(comparison)
        figures |= found
        table += rows
    print_table(["model", "protocol", "P*", "P* / (n_c m^L)", "over ours", "range"], table)
    finish(figures, {})


if __name__ == "__main__":
    main()

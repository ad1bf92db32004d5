"""What each difference between the papers' protocols and ours does to P*: one at a time, and all together.

Three seeds and five sizes of a setting train as replicas of one program, a :class:`kinds.p_star.PStar`.
``--quick`` takes small models, for a CPU.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from _report import finish, print_table
from _runs import add_store_option, ended, record_of
from kinds.p_star import PStar

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


def measured(settings: Sequence[tuple[HierarchyRun, float]], store: str | None, processes: int) -> list[dict[str, Any]]:
    """P* of three seeds of every setting around its guess."""
    device = "cuda" if torch.cuda.is_available() else None
    specs = [PStar(run.to_json(), guess, SEEDS, FIRST_SEED, AROUND) for run, guess in settings]
    rows, _ = ended(PStar, specs, store=store, processes=processes, device=device)
    found = {row.key: record_of(row) for row in rows}
    missing = [spec for spec in specs if spec.key not in found]
    if missing:
        raise SystemExit(f"{len(missing)} of {len(specs)} settings were not measured")
    return [found[spec.key] for spec in specs]


def compared(
    comparison: Comparison, ours: dict[str, Any], others: Sequence[dict[str, Any]]
) -> tuple[dict[str, float], list[list[object]]]:
    """Figures and rows of a table: P*, and its ratio to ours with the range that both 90% intervals leave."""
    base = ours["value"]
    figures = {f"{comparison.name}: P*, ours": base}
    rows: list[list[object]] = [[comparison.name, "ours", base, base / ours["natural"], 1.0, ""]]
    for name, found in zip(comparison.differences, others, strict=True):
        ratio = found["value"] / base
        span = Interval(found["low"], found["high"]).over(Interval(ours["low"], ours["high"]))
        figures[f"{comparison.name}: {name}, P* over ours"] = ratio
        rows.append(["", name, found["value"], found["value"] / found["natural"], ratio, span.text()])
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
    parser.add_argument("--processes", type=int, default=1, help="how many settings are measured at a time")
    add_store_option(parser)
    arguments = parser.parse_args()
    how = arguments.store, arguments.processes
    figures: dict[str, float] = {}
    table: list[list[object]] = []
    wanted = comparisons(arguments.quick, arguments.only)
    bases = measured([(c.ours, c.guess) for c in wanted], *how)
    singles = [
        (replace(c.ours, **changes), base["value"])
        for c, base in zip(wanted, bases, strict=True)
        for changes in c.differences.values()
    ]
    others = iter(measured(singles, *how))
    for comparison, base in zip(wanted, bases, strict=True):
        found, rows = compared(comparison, base, [next(others) for _ in comparison.differences])
        figures |= found
        table += rows
    print_table(["model", "protocol", "P*", "P* / (n_c m^L)", "over ours", "range"], table)
    finish(figures, {})


if __name__ == "__main__":
    main()

"""Formulas read off fitted graphs of textbook laws: is the symbolic form right, and what does it cost in error?

    python benchmarks/laws.py --quick                                # three laws of the tuned half
    python benchmarks/laws.py --half tuned --n-laws 20               # while tuning
    python benchmarks/laws.py --half unseen --n-laws 20              # final figures
    python benchmarks/laws.py --half unseen --n-laws 10 --graph discovered

Each law has 1,000 rows with 1% noise. A network is fitted to the tree of its true modules, or to the graph that was
discovered, and a formula is read off it. The form is right where its constants, fitted anew to clean answers, leave
less than 1e-8 of the variance and lie within five errors of what was read. Laws are chosen by a hash of their names.
What single laws of the unseen half gave is not shown: who has seen it may tune on it.
"""

from __future__ import annotations

import argparse
import hashlib
import time
import warnings
from typing import Any

import numpy as np
from _report import finish, print_table

from compsparse import discover
from compsparse.graph import FunctionGraph, compare_graphs
from compsparse.models import FoundFormula, fit_model, read_formula
from compsparse.models.formulas.algebra import Freed
from compsparse.models.formulas.polishing import polished
from compsparse.tasks import TextbookLaw, formulas
from compsparse.training import FitConfig, TrainingConfig

N_ROWS, NOISE, N_CLEAN = 1000, 0.01, 2000
QUICK_LAWS = 3
LEFT_OVER, WITHIN_ERRORS = 1e-8, 5.0
SECONDS_TO_READ = 90.0


def chosen_laws(half: str, n_laws: int | None, names: list[str] | None) -> list[TextbookLaw]:
    """Laws of a half, those first whose names have the smallest hash."""
    laws = [law for law in formulas() if law.half == half and (not names or law.name in names)]
    laws.sort(key=lambda law: hashlib.sha256(f"laws {law.name}".encode()).digest())
    return laws[:n_laws]


def is_right(found: FoundFormula, law: TextbookLaw) -> bool:
    """Whether the form can be the law exactly, with constants about as they were read."""
    if found.learned:
        return False
    clean = law.task().sample(N_CLEAN, random_state=10**6)
    columns = [clean.X[:, law.inputs.index(name)] for name in found.inputs]
    values = tuple(c.value for c in found.constants)
    exact = polished(Freed(found.form, values, (False,) * len(values)), columns, clean.clean)
    if exact is None or exact.squares > LEFT_OVER * len(clean.clean) * clean.clean.var():
        return False
    pairs = zip(exact.values, found.constants, strict=True)
    return all(abs(value - c.value) <= WITHIN_ERRORS * c.error + 1e-9 * abs(value) for value, c in pairs)


def run(law: TextbookLaw, args: argparse.Namespace) -> dict[str, Any]:
    """One law: its graph, its model, its formula."""
    sample = law.task(NOISE).sample(N_ROWS, random_state=args.seed)
    graph: FunctionGraph = law.graph.module_tree.to_graph(law.inputs)
    if args.graph == "discovered":
        graph = discover(sample.X, sample.y, names=law.inputs, fit=False, random_state=args.seed).graph
    is_exact = compare_graphs(graph, law.graph).exact
    config = FitConfig(n_restarts=args.n_restarts, training=TrainingConfig(n_steps=args.n_steps))
    model = fit_model(graph, sample.X, sample.y, names=law.inputs, config=config, random_state=args.seed)
    started = time.perf_counter()
    measured: dict[str, Any] = {"law": law, "graph exact": is_exact, "right": False, "text": "none"}
    try:
        found = read_formula(model, sample.X, sample.y, time_limit=SECONDS_TO_READ, random_state=args.seed)
    except ValueError as error:
        return measured | {"text": str(error), "seconds": time.perf_counter() - started}
    test = law.task().sample(N_CLEAN, random_state=10**6 + 1)
    r2, r2_network = (
        float(1 - np.mean((values - test.clean) ** 2) / test.clean.var())
        for values in (found(test.X[:, [law.inputs.index(name) for name in found.inputs]]), model.predict(test.X))
    )
    return measured | {
        "right": is_right(found, law),
        "text": found.text,
        "r2": r2,
        "r2_network": r2_network,
        "seconds": time.perf_counter() - started,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=["tuned", "unseen"], default="tuned")
    parser.add_argument("--n-laws", type=int)
    parser.add_argument("--names", nargs="+")
    parser.add_argument("--graph", choices=["true", "discovered"], default="true")
    parser.add_argument("--n-restarts", type=int, default=16)
    parser.add_argument("--n-steps", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    results = []
    for law in chosen_laws(args.half, QUICK_LAWS if args.quick else args.n_laws, args.names):
        results.append(run(law, args))
        if args.half == "tuned":
            last = results[-1]
            print(
                f"{'right' if last['right'] else 'WRONG'}  {law.name}: {law.expression}\n       {last['text']}",
                flush=True,
            )
    exact = [r for r in results if r["graph exact"]]
    read = [r for r in results if "r2" in r]
    rights = [r for r in results if r["right"]]
    print_table(["laws", "graphs exact", "right"], [[len(results), len(exact), len(rights)]])
    figures = {
        "right, of all": len(rights) / len(results),
        "right, of those whose graph is exact": len([r for r in exact if r["right"]]) / max(len(exact), 1),
        "R2 of the formula where it is right, median": float(np.median([r["r2"] for r in rights] or [np.nan])),
        "R2 of the network there, median": float(np.median([r["r2_network"] for r in rights] or [np.nan])),
        "formulas that predict better than their network": float(np.mean([r["r2"] > r["r2_network"] for r in read])),
        "seconds to read, median": float(np.median([r["seconds"] for r in results])),
    }
    is_final = args.half == "unseen"
    bars = {"right, of all": (">=", 0.6), "right, of those whose graph is exact": (">=", 0.75)}
    finish({k: v for k, v in figures.items() if np.isfinite(v)}, bars if is_final else {})


if __name__ == "__main__":
    main()

"""Discovery from data on formulas that took no part in tuning, on random graphs, and on targets without structure.

    python benchmarks/formulas.py --quick                                   # minutes on two cores
    python benchmarks/formulas.py --half tuned --n-rows 1000                # while tuning
    python benchmarks/formulas.py --half unseen --n-rows 1000 4000 --noise 0 0.05 \
        --device cuda --processes 14 --jsonl unseen.jsonl                   # final figures; goes on where it stopped
    python benchmarks/formulas.py --family trees dags dense --device cuda --processes 14
    python benchmarks/formulas.py --read a.jsonl b.jsonl                    # the tables of what was kept

Of a run: whether the canonical tree is exact, modules found, missed and false, kinds, test R2 on 10,000 clean rows of
the final model and of a free fit (an ensemble of dense networks by the same recipe on the same rows), seconds.
What single targets of the unseen half gave is kept in the lines and not shown: who has seen it may tune on it.
Formulas are unseen by a hash of their names, random graphs and dense targets by their seeds.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from _report import finish, print_table

from compsparse.discovery import Discovery
from compsparse.discovery.data.strategy import from_data
from compsparse.graph import ModuleTree, compare, random_dag, random_tree
from compsparse.models import fit_model
from compsparse.tasks import Sample, Task, dense_target, formula, formulas, random_target
from compsparse.training import FitConfig

N_TEST = 10_000
REGRET = 0.002
"""R2 by which the final model may stay below the free fit."""
FIRST_UNSEEN = 40_000
"""Seed of the first unseen random graph: searches are tuned on graphs below it."""
TREE_ROWS = {8: 2000, 12: 4000, 16: 4000}
FORMULA_ROWS, DAG_ROWS, DENSE_ROWS = 1000, 4000, 2000
DENSE_KINDS = ("quadratic", "waves", "network", "cycle", "quotient")
SEEDS = {"formulas": 1, "trees": 10, "dags": 20, "dense": 10}
FREE_FIT = FitConfig(n_restarts=16, n_keep=8)
FREE_WIDTH = 64
QUICK_FORMULAS = 3


@dataclass(frozen=True)
class Job:
    """One run: a target by its name, rows, noise and seed."""

    family: str
    name: str
    n_rows: int
    noise: float
    seed: int
    half: str

    @property
    def key(self) -> str:
        return f"{self.half}/{self.family}/{self.name}/{self.n_rows}/{self.noise:g}/{self.seed}"

    @property
    def group(self) -> tuple[str, str, int, float]:
        """What one row of the tables is about."""
        kind = self.name if self.family == "trees" else self.family
        return kind, self.half, self.n_rows, self.noise

    def task(self) -> Task:
        if self.family == "formulas":
            return formula(self.name, self.noise)
        seed = self.seed + (FIRST_UNSEEN if self.half == "unseen" else 0)
        if self.family == "trees":
            return random_target(random_tree(int(self.name.split()[1]), random_state=seed), seed, self.noise)
        if self.family == "dags":
            return random_target(random_dag(8, 10, random_state=seed), seed, self.noise)
        return dense_target(self.name, random_state=seed, noise=self.noise)


def jobs(args: argparse.Namespace) -> list[Job]:
    found = [job for family in args.family for job in _jobs_of(family, args)]
    unknown = sorted(set(args.names or ()) - {job.name for job in found})
    if unknown:
        raise SystemExit(f"no target of --family and --half is called {unknown[0]!r}")
    return [job for job in found if not args.names or job.name in args.names]


def _jobs_of(family: str, args: argparse.Namespace) -> Iterator[Job]:
    seeds = range(args.first_seed, args.first_seed + (args.n_seeds or (1 if args.quick else SEEDS[family])))
    for half in ("tuned", "unseen") if args.half == "both" else (args.half,):
        for name, usual in _targets(family, half, args.quick):
            settings = [(n, noise, seed) for n in args.n_rows or [usual] for noise in args.noise for seed in seeds]
            yield from (Job(family, name, *setting, half) for setting in settings)


def _targets(family: str, half: str, quick: bool) -> list[tuple[str, int]]:
    """Names with the rows that each usually gets."""
    if family == "trees":
        return [(f"tree {d}", n) for d, n in TREE_ROWS.items()]
    if family == "dags":
        return [("dag", DAG_ROWS)]
    if family == "dense":
        return [(kind, DENSE_ROWS) for kind in DENSE_KINDS]
    names = [law.name for law in formulas() if law.half == half]
    if quick:  # a hash chooses, and nobody else
        names = sorted(names, key=lambda name: hashlib.sha256(f"quick {name}".encode()).digest())[:QUICK_FORMULAS]
    return [(name, FORMULA_ROWS) for name in names]


# ---- one run -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class How:
    """Where and how the targets are run.

    Attributes:
        device, fit_device: of the search, and of the final model and the free fit.
        fit, free: whether there is a final model, and a free fit beside it.
    """

    device: str | None = None
    fit_device: str | None = None
    time_limit: float | None = None
    fit: bool = True
    free: bool = True


def run_one(job: Job, how: How) -> dict[str, Any]:
    """The figures of one run, or the error it ended with."""
    record: dict[str, Any] = {"key": job.key, **asdict(job), "device": how.device or "cpu"}
    try:
        return record | _measured(job, how)
    except Exception as error:
        return record | {"error": f"{type(error).__name__}: {error}"}


def _measured(job: Job, how: How) -> dict[str, Any]:
    task = job.task()
    sample = task.sample(job.n_rows, random_state=job.seed)
    test = task.sample(N_TEST, random_state=10**6 + job.seed)
    names, is_apart = task.graph.inputs, how.fit_device != how.device
    cpu, wall = time.process_time(), time.perf_counter()
    found = from_data(
        sample.X,
        sample.y,
        names=names,
        random_state=job.seed,
        device=how.device,
        fit=how.fit and not is_apart,
        time_limit=how.time_limit,
    )
    seconds, cpu_seconds = time.perf_counter() - wall, time.process_time() - cpu
    measured = _structure(found, task) | {
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "status": found.status.name,
        "caveats": list(found.caveats),
    }
    model = found.model
    if how.fit and is_apart:
        model = fit_model(found.graph, sample.X, sample.y, names=names, random_state=job.seed, device=how.fit_device)
    if model is not None:
        measured["r2"] = _r2(test.clean, model.predict(test.X))
    if how.free and how.fit:
        measured["r2_free"] = _free_r2(sample, test, job.seed, how.fit_device)
    return measured


def _structure(found: Discovery, task: Task) -> dict[str, Any]:
    compared = compare(found.graph, task.graph)
    marked = marked_approximate(found)
    kinds = _kinds(found.graph.module_tree), _kinds(task.graph.module_tree)
    common = kinds[0].keys() & kinds[1].keys()
    return {
        "exact": compared.exact,
        "n_found": len(found.graph.modules),
        "n_true": len(task.graph.modules),
        "n_common": len(found.graph.modules & task.graph.modules),
        "n_false_unmarked": len(compared.extra - marked),
        "n_regrouped": sum(_is_regrouping(members, task.graph.module_tree) for members in compared.extra),
        "n_kinds": len(common),
        "n_kinds_right": sum(kinds[0][m] == kinds[1][m] for m in common),
        "n_kinds_untold": sum(kinds[0][m] is None for m in common),
        "missing": _listed(compared.missing),
        "false": _listed(compared.extra),
        "marked": _listed(marked),
        "wrongly_inert": sorted(compared.inert_extra),
        "several_channels": _listed(frozenset(e.members for e in found.evidence if e.channels > 1)),
    }


def _kinds(tree: ModuleTree) -> dict[frozenset[str], str | None]:
    return {m.members: m.kind for m in tree.inner if len(m.children) >= 3}


def _is_regrouping(members: frozenset[str], true: ModuleTree) -> bool:
    """Whether the members are some parts of a complete node: a module indeed, but no strong one."""
    for node in true.inner:
        parts = [c.members for c in node.children if c.members <= members]
        if node.kind == "complete" and frozenset().union(*parts) == members:
            return True
    return False


def marked_approximate(found: Discovery) -> frozenset[frozenset[str]]:
    """Modules that the record itself calls approximate."""
    of_record = getattr(found, "approximate", ())
    if of_record is True:
        return frozenset(found.modules)
    marked = {e.members for e in found.evidence if getattr(e, "approximate", False)}
    if isinstance(of_record, (tuple, list, set, frozenset)):
        marked |= {frozenset(getattr(entry, "members", entry)) for entry in of_record}
    return frozenset(marked)


def _listed(modules: frozenset[frozenset[str]]) -> list[list[str]]:
    return sorted(sorted(members) for members in modules)


def _free_r2(sample: Sample, test: Sample, seed: int, device: str | None) -> float:
    model = fit_model(
        None, sample.X, sample.y, width=FREE_WIDTH, config=FREE_FIT, random_state=10**5 + seed, device=device
    )
    return _r2(test.clean, model.predict(test.X))


def _r2(y: np.ndarray, predicted: np.ndarray) -> float:
    return 1 - float(np.mean((y - predicted) ** 2) / np.var(y))


# ---- all of them ---------------------------------------------------------------------------------


def kept(paths: list[str]) -> list[dict[str, Any]]:
    """Runs that ended well, the last of each key; a line cut off by a crash is left out."""
    by_key: dict[str, dict[str, Any]] = {}
    for path in paths:
        for line in Path(path).read_text(encoding="utf-8").splitlines() if Path(path).exists() else ():
            try:
                record = json.loads(line)
            except json.JSONDecodeError:
                continue
            if "error" not in record:
                by_key[record["key"]] = record
    return list(by_key.values())


def run_all(args: argparse.Namespace) -> list[dict[str, Any]]:
    wanted = jobs(args)
    keys = {job.key for job in wanted}
    results = [r for r in kept([args.jsonl] if args.jsonl else []) if r["key"] in keys]
    done = {r["key"] for r in results}
    left = [job for job in wanted if job.key not in done]
    print(f"{len(wanted)} runs, {len(done)} of them kept from before", file=sys.stderr, flush=True)
    for record in _ended(left, args):
        if args.jsonl:
            _keep(args.jsonl, record)
        results.append(record)
        print(f"[{len(results)}/{len(wanted)}] {_progress(record)}", file=sys.stderr, flush=True)
    failed = [r for r in results if "error" in r]
    for record in failed:
        print(f"{record['key']} ended with an error: {record['error']}", file=sys.stderr)
    return [r for r in results if "error" not in r]


def _keep(path: str, record: dict[str, Any]) -> None:
    with open(path, "ab+") as file:
        file.seek(max(file.seek(0, os.SEEK_END) - 1, 0))
        cut_off = file.read(1) not in (b"", b"\n")  # by a crash, in the middle of a line
        file.write(b"\n" * cut_off + json.dumps(record).encode() + b"\n")


def _ended(left: list[Job], args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    how = How(
        args.device, args.fit_device or args.device, args.time_limit, fit=not args.structure, free=not args.no_free
    )
    if args.processes == 1:
        for job in left:
            yield run_one(job, how)
        return
    threads = max(1, (os.cpu_count() or 1) // args.processes)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(args.processes, context, torch.set_num_threads, (threads,)) as pool:
        running = [pool.submit(run_one, job, how) for job in left]
        for future in as_completed(running):
            yield future.result()


def _progress(record: dict[str, Any]) -> str:
    if "error" not in record and record["half"] == "unseen":
        return f"one of the unseen {record['family']}, {record['n_rows']} rows"
    if "error" in record:
        return f"{record['key']}: {record['error']}"
    verdict = "exact" if record["exact"] else f"missing {record['missing']}, false {record['false']}"
    return f"{record['key']}: {verdict}, R2 {record.get('r2', math.nan):.4f}, {record['seconds']:.0f} s"


# ---- tables --------------------------------------------------------------------------------------


def _share(part: float, whole: float, empty: float = math.nan) -> float:
    return part / whole if whole else empty


def _total(runs: list[dict[str, Any]], name: str) -> int:
    return sum(r[name] for r in runs)


def summarised(runs: list[dict[str, Any]]) -> dict[str, float]:
    """The figures of one row of the tables."""
    compared = [r for r in runs if "r2_free" in r]
    return {
        "exact": _share(_total(runs, "exact"), len(runs)),
        "precision": _share(_total(runs, "n_common"), _total(runs, "n_found"), 1.0),
        "recall": _share(_total(runs, "n_common"), _total(runs, "n_true"), 1.0),
        "kinds right": _share(_total(runs, "n_kinds_right"), _total(runs, "n_kinds")),
        "runs with a false module": _share(sum(r["n_false_unmarked"] > 0 for r in runs), len(runs)),
        "R2": float(np.median([r.get("r2", math.nan) for r in runs])),
        "R2 free": float(np.median([r["r2_free"] for r in compared])) if compared else math.nan,
        "regret": _share(sum(r["r2"] < r["r2_free"] - REGRET for r in compared), len(compared)),
        "seconds": float(np.median([r["seconds"] for r in runs])),
    }


def summary(results: list[dict[str, Any]]) -> None:
    groups: dict[tuple[str, str, int, float], list[dict[str, Any]]] = {}
    for record in results:
        job = Job(**{name: record[name] for name in Job.__dataclass_fields__})
        groups.setdefault(job.group, []).append(record)
    figures: dict[str, float] = {}
    bars: dict[str, tuple[str, float]] = {}
    for half in ("tuned", "unseen"):
        mine = {group: summarised(groups[group]) for group in sorted(groups) if group[1] == half}
        if not mine:
            continue
        print(f"\n{half} half")
        columns = ["target", "rows", "noise", "runs", *next(iter(mine.values()))]
        print_table(columns, [[g[0], g[2], g[3], len(groups[g]), *map(float, row.values())] for g, row in mine.items()])
        for group, row in mine.items():
            label = f"{group[0]}, {half}, {group[2]} rows, noise {group[3]:g}"
            figures |= {f"{label}: {name}": value for name, value in row.items() if math.isfinite(value)}
            bars |= {f"{label}: {name}": bar for name, bar in _bars(*group).items()}
    compared = [r for r in results if "r2_free" in r]
    if compared:
        figures["all runs: share with regret"] = summarised(compared)["regret"]
        bars["all runs: share with regret"] = ("<=", 0.05)
    _print_tuned_misses(results)
    finish(figures, bars)


def _bars(target: str, half: str, n_rows: int, noise: float) -> dict[str, tuple[str, float]]:
    """What is asked of the unseen half and of random graphs; the tuned half is only looked at."""
    if half == "tuned":
        return {}
    if target == "formulas":
        exact = {(1000, 0.0): 0.55, (4000, 0.0): 0.75, (4000, 0.05): 0.5}.get((n_rows, noise))
        asked: dict[str, tuple[str, float]] = {} if exact is None else {"exact": (">=", exact)}
        return asked | {"precision": (">=", 0.97), "runs with a false module": ("<=", 0.03)}
    if target.startswith("tree"):
        return {"exact": (">=", {8: 0.9, 12: 0.8, 16: 0.6}[int(target.split()[1])])}
    return {"runs with a false module": ("<=", 0.05)}


def _print_tuned_misses(results: list[dict[str, Any]]) -> None:
    missed = sorted((r for r in results if r["half"] == "tuned" and not r["exact"]), key=lambda r: r["key"])
    if not missed:
        return
    print("\ntargets of the tuned half that were not exact")
    rows = [
        [
            r["name"],
            r["n_rows"],
            r["noise"],
            r["seed"],
            _sets(r["missing"]),
            _sets(r["false"]),
            " ".join(r["wrongly_inert"]),
            float(r.get("r2", math.nan)),
            float(r.get("r2_free", math.nan)),
        ]
        for r in missed
    ]
    print_table(["target", "rows", "noise", "seed", "missing", "false", "wrongly inert", "R2", "R2 free"], rows)


def _sets(modules: list[list[str]]) -> str:
    return " ".join("{" + ",".join(members) + "}" for members in modules)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    families = [*SEEDS, "all"]
    parser.add_argument("--family", nargs="+", choices=families, default=["formulas"])
    parser.add_argument("--half", choices=("tuned", "unseen", "both"), default="both")
    parser.add_argument("--n-rows", type=int, nargs="+", help="default 1000 for formulas, each family's own elsewhere")
    parser.add_argument(
        "--noise", type=float, nargs="+", default=[0.0], help="shares of the target's spread; default 0"
    )
    parser.add_argument("--n-seeds", type=int, help="default 1 for formulas, 10 for trees and dense, 20 for dags")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--names", nargs="+", help="formulas, or names such as 'tree 8', 'dag', 'cycle'")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_FORMULAS} formulas of each half, one seed")
    parser.add_argument("--no-free", action="store_true", help="without the free fit")
    parser.add_argument(
        "--structure", action="store_true", help="the search alone, without fits; into a --jsonl of its own"
    )
    parser.add_argument("--time-limit", type=float, help="seconds of one search with its fit")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--device")
    parser.add_argument("--fit-device", help="of the final model and the free fit; by default that of the search")
    parser.add_argument(
        "--jsonl", help="file to which every run is added as it ends; runs that it holds are not repeated"
    )
    parser.add_argument("--read", nargs="+", help="files of kept runs to summarise instead of running")
    args = parser.parse_args()
    if "all" in args.family:
        args.family = list(SEEDS)
    results = kept(args.read) if args.read else run_all(args)
    if not results:
        raise SystemExit("there is no run that ended well")
    summary(results)


if __name__ == "__main__":
    main()

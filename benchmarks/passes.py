"""What every pass of a search in data costs and buys: the same targets, searched without each in turn.

    python benchmarks/passes.py --quick                                     # four passes on one tree
    python benchmarks/passes.py --processes 16 --store passes.sqlite        # all of them; goes on where it stopped
    python benchmarks/passes.py --read passes.sqlite

Targets are of the tuned half. A pass that buys nothing here, and nothing at more seeds, should go.
"""

from __future__ import annotations

import argparse
import hashlib
from typing import Any

import numpy as np
from _report import finish, print_table
from _runs import add_store_option, ended, kept, record_of
from kinds.passes import PASSES, SearchWithout

from compsparse.tasks import formulas

OF_READING = {"nothing", "doubt of the reading", "larger turns of good fits", "trends"}
"""What laws can tell: they are mostly read off the smooth fit."""
TARGETS = (("trees", "tree 8", 500, 8), ("trees", "tree 12", 2000, 2), ("dags", "dag", 2000, 3))
DENSE, DENSE_ROWS = ("quadratic", "waves", "network", "cycle", "quotient"), 1000
N_LAWS, LAW_ROWS = 30, 1000


def runs(passes: list[str], quick: bool) -> list[SearchWithout]:
    def search(family: Any, name: str, n_rows: int, seed: int, without: str) -> SearchWithout:
        return SearchWithout(family, name, n_rows, 0.0, seed, "tuned", fit=False, free=False, without=without)

    if quick:
        return [search("trees", "tree 8", 500, 0, without) for without in passes[:4]]
    laws = sorted((law.name for law in formulas() if law.half == "tuned"), key=_shuffled)[:N_LAWS]
    wanted = [(*target[:3], seed) for target in TARGETS for seed in range(target[3])]
    wanted += [("dense", name, DENSE_ROWS, 0) for name in DENSE]
    of_passes = [search(*target, without) for target in wanted for without in passes]
    return of_passes + [
        search("formulas", law, LAW_ROWS, 0, without) for law in laws for without in passes if without in OF_READING
    ]


def _shuffled(name: str) -> bytes:
    return hashlib.sha256(f"passes {name}".encode()).digest()


def summary(records: list[dict[str, Any]]) -> None:
    """Of every family and pass: what became exact or no longer is, false modules, time, on targets that both ended."""
    figures: dict[str, float] = {}
    rows = []
    for family in dict.fromkeys(r["family"] for r in records):
        usual = {_target(r): r for r in records if r["family"] == family and r["without"] == "nothing"}
        for without in PASSES:
            pairs = [
                (r, usual[_target(r)])
                for r in records
                if r["family"] == family and r["without"] == without and _target(r) in usual
            ]
            if not pairs:
                continue
            ratio = float(np.exp(np.mean([np.log(r["cpu_seconds"] / u["cpu_seconds"]) for r, u in pairs])))
            lost = sum(u["exact"] and not r["exact"] for r, u in pairs)
            won = sum(r["exact"] and not u["exact"] for r, u in pairs)
            false = [sum(side[k]["n_false_unmarked"] > 0 for side in pairs) for k in (0, 1)]
            missed = [sum(side[k]["n_true"] - side[k]["n_common"] for side in pairs) for k in (0, 1)]
            rows.append([family, without, len(pairs), lost, won, *false, *missed, ratio])
            figures |= {
                f"{family} without {without}: {what}": float(value)
                for what, value in zip(("lost", "won", "seconds"), (lost, won, ratio), strict=True)
            }
    columns = ["family", "without", "runs", "exact lost", "exact won", "false", "false with", "missed", "missed with"]
    print_table([*columns, "CPU time"], rows)
    finish(figures, {})


def _target(record: dict[str, Any]) -> tuple[Any, ...]:
    return record["family"], record["name"], record["n_rows"], record["seed"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--without", nargs="+", choices=list(PASSES), help="by default each in turn")
    parser.add_argument("--names", nargs="+", help="targets, such as 'tree 8', 'dag', 'cycle'; by default all")
    parser.add_argument("--quick", action="store_true", help="a few passes on one tree")
    parser.add_argument("--processes", type=int, default=1)
    add_store_option(parser)
    parser.add_argument("--read", nargs="+", help="stores of kept runs to summarise instead of running")
    args = parser.parse_args()
    if args.read:
        rows = kept(args.read, SearchWithout)
    else:
        passes = ["nothing", *(args.without or [name for name in PASSES if name != "nothing"])]
        wanted = [run for run in runs(passes, args.quick) if not args.names or run.name in args.names]
        rows, _ = ended(SearchWithout, wanted, store=args.store, processes=args.processes)
    if not rows:
        raise SystemExit("there is no run that ended well")
    summary([record_of(row) for row in rows])


if __name__ == "__main__":
    main()

"""How long a search in data takes on this machine, beside an earlier version and beside a busy process.

    python benchmarks/speed.py                      # the cases, quiet and beside a process that never waits
    python benchmarks/speed.py --before OLD/src     # the same searches by another checkout, in turn
    python benchmarks/speed.py --cases "8 columns"

Each search runs in a process of its own with torch's usual threads; loading torch is not counted. Nothing else should
run meanwhile.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from _report import finish, print_table

HERE = Path(__file__).resolve().parent
CASES = {"8 columns": (8, 0, 1000), "30 columns": (8, 22, 20_000), "100 columns": (8, 92, 2000)}
"""Inputs that act, inputs that do not, rows."""
SECONDS = {"8 columns": 15.0, "30 columns": 300.0, "100 columns": 600.0}
MOST_WHEN_BUSY = 2.5
BUSY = "while True: pass"
SEARCH = """
import json, sys, time
import numpy as np
import torch
from compsparse.discovery.data.strategy import from_data
from compsparse.tasks import tanh_tree
acting, inert, rows = json.loads(sys.argv[1])
task = tanh_tree(acting)
sample = task.sample(rows, random_state=0)
X = np.column_stack([sample.X, np.random.default_rng(1).uniform(-1, 1, (rows, inert))])
names = [*task.graph.inputs, *(f"n{i}" for i in range(inert))]
started = time.perf_counter()
found = from_data(X, sample.y, names=names, fit=False, random_state=0)
seconds = time.perf_counter() - started
exact = found.graph.modules == task.graph.modules and len(found.inert) == inert
print(json.dumps({"seconds": seconds, "exact": exact}))
"""


def searched(case: str, source: Path, busy: bool = False) -> tuple[float, bool]:
    """Seconds of one search by the package under ``source``, and whether it found the graph."""
    environment = {**os.environ, "PYTHONPATH": str(source)}
    environment.pop("OMP_NUM_THREADS", None)
    beside = subprocess.Popen([sys.executable, "-c", BUSY]) if busy else None
    try:
        command = [sys.executable, "-c", SEARCH, json.dumps(CASES[case])]
        ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    finally:
        if beside is not None:
            beside.kill()
            beside.wait()
    result = json.loads(ended.stdout.splitlines()[-1])
    return result["seconds"], result["exact"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--before", type=Path, help="the src folder of an earlier version")
    args = parser.parse_args()
    source = HERE.parent / "src"
    figures: dict[str, float] = {}
    bars: dict[str, tuple[str, float]] = {}
    rows = []
    for case in args.cases:
        seconds, exact = searched(case, source)
        figures |= {f"{case}: seconds": seconds, f"{case}: exact": float(exact)}
        bars |= {f"{case}: seconds": ("<=", SECONDS[case]), f"{case}: exact": (">=", 1.0)}
        before = searched(case, args.before)[0] if args.before else float("nan")
        if args.before:
            figures[f"{case}: seconds before"] = before
        rows.append([case, *map(float, CASES[case]), seconds, str(exact), before])
        print(f"{case}: {seconds:.0f} s, {'exact' if exact else 'not exact'}", file=sys.stderr, flush=True)
    print_table(["case", "acting", "inert", "rows", "seconds", "exact", "before"], rows)
    if "8 columns" in args.cases:
        busy, _ = searched("8 columns", source, busy=True)
        figures["8 columns: busy over quiet"] = busy / figures["8 columns: seconds"]
        bars["8 columns: busy over quiet"] = ("<=", MOST_WHEN_BUSY)
    finish(figures, bars)


if __name__ == "__main__":
    main()

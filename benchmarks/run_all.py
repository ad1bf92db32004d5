"""Runs the CPU benchmarks one after the other and refreshes RESULTS.md."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import date
from pathlib import Path

from _report import machine

HERE = Path(__file__).parent
ON_CPU = (
    "evaluation",
    "mirror",
    "known_graph",
    "boolean",
    "queries",
    "hierarchies",
    "memorise",
    "representations",
    "attention",
    "construct",
    "bounds",
)
START, END = "<!-- cpu: written by run_all.py -->", "<!-- end cpu -->"


def run(name: str) -> tuple[dict, bool]:
    print(f"== {name}", flush=True)
    lines = []
    with subprocess.Popen(
        [sys.executable, str(HERE / f"{name}.py")], stdout=subprocess.PIPE, text=True, cwd=HERE
    ) as process:
        for line in process.stdout or ():
            print(line, end="", flush=True)
            lines.append(line)
    last = lines[-1] if lines else ""
    if not last.startswith("{"):
        raise SystemExit(f"benchmarks/{name}.py ended without its JSON line")
    return json.loads(last), process.returncode == 0


def section(results: dict[str, dict]) -> str:
    lines = [START, f"Machine: {machine()}; {date.today()}; `make bench`.", ""]
    for name, result in results.items():
        lines += [f"### `python benchmarks/{name}.py`", "", "| figure | measured | |", "|---|---|---|"]
        for key, value in result["figures"].items():
            lines.append(f"| {key} | {value:.5g} | {'falls short' if key in result['falls_short'] else ''} |")
        lines.append("")
    return "\n".join([*lines, END])


def main() -> None:
    results, fine = {}, True
    for name in ON_CPU:
        results[name], ok = run(name)
        fine &= ok
    path = HERE / "RESULTS.md"
    text = path.read_text(encoding="utf-8")
    before, after = text.split(START)[0], text.split(END)[1]
    path.write_text(before + section(results) + after, encoding="utf-8")
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()

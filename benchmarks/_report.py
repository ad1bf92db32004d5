"""What every benchmark shares: timing in one run, a readable table, one JSON line at the end."""

from __future__ import annotations

import json
import platform
import sys
import time
from collections.abc import Callable, Sequence

import torch


def median_seconds(step: Callable[[], object], repeats: int = 15, warm_up: int = 3) -> float:
    """Median time of one call, after a warm-up; waits for the GPU where there is one."""
    for _ in range(warm_up):
        step()
    times = []
    for _ in range(repeats):
        _wait()
        started = time.perf_counter()
        step()
        _wait()
        times.append(time.perf_counter() - started)
    return sorted(times)[len(times) // 2]


def _wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def machine() -> str:
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
    return f"{platform.machine()}, {torch.get_num_threads()} threads, {device}, torch {torch.__version__}"


def print_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    cells = [[f"{v:.5g}" if isinstance(v, float) else str(v) for v in row] for row in rows]
    widths = [max(len(c), *(len(row[i]) for row in cells)) for i, c in enumerate(columns)]
    for row in [list(columns), ["-" * w for w in widths], *cells]:
        print("  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)))
    sys.stdout.flush()


def finish(figures: dict[str, float], bars: dict[str, tuple[str, float]]) -> None:
    """Prints the figures against their bars and exits with 1 if one falls short.

    Args:
        bars: name -> (">=" or "<=", bar).
    """
    met = {">=": lambda a, b: a >= b, "<=": lambda a, b: a <= b}
    short = [name for name, (sign, bar) in bars.items() if name in figures and not met[sign](figures[name], bar)]
    print()
    print_table(
        ["figure", "measured", "bar", ""],
        [
            [
                name,
                float(value),
                " ".join(map(str, bars[name])) if name in bars else "",
                "SHORT" if name in short else "",
            ]
            for name, value in figures.items()
        ],
    )
    print(f"machine: {machine()}")
    print(json.dumps({"figures": {k: float(v) for k, v in figures.items()}, "falls_short": short}))
    sys.exit(1 if short else 0)

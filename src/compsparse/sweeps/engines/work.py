"""What a worker does with a pack."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from typing import Any

from compsparse.progress import Progress, Silent
from compsparse.sweeps.packs import Pack
from compsparse.sweeps.records import Row
from compsparse.sweeps.spec import Spec


def run_pack(pack: Pack, device: str | None = None, progress: Progress | None = None) -> list[Row]:
    """Runs a pack; if it raises, its halves, and so on, so that only the guilty fail."""
    started = time.perf_counter()
    try:
        results = _results(pack.specs, device, progress or Silent())
    except (Exception, SystemExit):
        problem = traceback.format_exc()
    else:
        seconds = (time.perf_counter() - started) / len(results)
        return [Row.of(spec, result, seconds=seconds) for spec, result in zip(pack.specs, results, strict=True)]
    if len(pack.specs) == 1:
        return [Row.of(pack.specs[0], None, traceback=problem, seconds=time.perf_counter() - started)]
    _free_memory()
    return [row for half in pack.halves() for row in run_pack(half, device, progress)]


def died(pack: Pack, how: str) -> list[Row]:
    """Rows of a pack whose workers died."""
    return [Row.of(spec, None, traceback=how, seconds=0.0) for spec in pack.specs]


def _results(specs: Sequence[Spec], device: str | None, progress: Progress) -> list[dict[str, Any]]:
    kind = type(specs[0])
    results = kind.run(specs, device=device, progress=progress)
    if len(results) != len(specs):
        raise TypeError(f"{kind.__name__}.run returned {len(results)} results for {len(specs)} specs")
    return [_plain(result, kind) for result in results]


def _plain(result: Any, kind: type[Spec]) -> dict[str, Any]:
    if not isinstance(result, Mapping):
        raise TypeError(f"{kind.__name__}.run must return mappings, got {result!r}")
    plain: dict[str, Any] = json.loads(json.dumps(dict(result), default=_number))
    return plain


def _number(value: Any) -> Any:
    if hasattr(value, "tolist"):  # numbers and arrays of numpy and torch
        return value.tolist()
    raise TypeError(f"a result must be made of numbers, texts, lists and mappings, got {value!r}")


def _free_memory() -> None:
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.empty_cache()


def cores() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


MOST_RETRIES = 100


def most_workers() -> int:
    """The most processes that may be asked for here."""
    return max(64, 8 * cores())


def use_threads(n: int) -> None:
    """The most threads of numerical libraries in this process, loaded or not."""
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = str(n)
    torch = sys.modules.get("torch")
    if torch is not None:
        with contextlib.suppress(RuntimeError):
            torch.set_num_threads(n)


def device_of(device: str | None, worker: int) -> str | None:
    """``cuda`` is spread over the cards there are."""
    if device != "cuda":
        return device
    import torch

    return f"cuda:{worker % max(1, torch.cuda.device_count())}"

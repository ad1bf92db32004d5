"""Packs: runs that are trained together as replicas of one program, and what a worker does with one."""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
import time
import traceback
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from compsparse.progress import Progress, Silent
from compsparse.sweeps.records import Row
from compsparse.sweeps.spec import Spec


@dataclass(frozen=True)
class Pack:
    """Specs of one kind with equal pack keys."""

    specs: tuple[Spec, ...]

    @property
    def load(self) -> float:
        """The loads of all its specs."""
        return sum(spec.load() for spec in self.specs)

    def without(self, keys: Iterable[str]) -> Pack:
        """The rest of the pack."""
        left_out = set(keys)
        return Pack(tuple(s for s in self.specs if s.key not in left_out))

    def halves(self) -> tuple[Pack, Pack]:
        """Two packs of about equal length."""
        middle = len(self.specs) // 2
        return Pack(self.specs[:middle]), Pack(self.specs[middle:])

    def failed(self, why: str, seconds: float = 0.0) -> list[Row]:
        """Rows of runs that all failed."""
        return [Row.of(spec, None, traceback=why, seconds=seconds) for spec in self.specs]


def packed(specs: Sequence[Spec], max_replicas: int, workers: int = 1) -> list[Pack]:
    """Groups specs by pack key into packs of at most ``max_replicas``, the heaviest first.

    A group is cut into more packs than that needs when workers would else be idle. Specs of like load go
    together, since a pack ends with its slowest member.
    """
    groups: dict[Hashable, list[Spec]] = {}
    for spec in specs:
        groups.setdefault((type(spec), spec.pack_key()), []).append(spec)
    total = sum(spec.load() for spec in specs)
    packs: list[Pack] = []
    for group in groups.values():
        share = sum(spec.load() for spec in group) / total if total > 0 else 1.0
        n_packs = max(math.ceil(len(group) / max_replicas), min(len(group), math.ceil(workers * share)))
        ordered = sorted(group, key=lambda spec: -spec.load())
        cuts = [round(i * len(group) / n_packs) for i in range(n_packs + 1)]
        packs += [Pack(tuple(ordered[a:b])) for a, b in pairwise(cuts)]
    return sorted(packs, key=lambda pack: -pack.load)


# ---- in a worker ---------------------------------------------------------------------------------


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
        return pack.failed(problem, time.perf_counter() - started)
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.empty_cache()
    return [row for half in pack.halves() for row in run_pack(half, device, progress)]


def _results(specs: Sequence[Spec], device: str | None, progress: Progress) -> list[dict[str, Any]]:
    kind = type(specs[0])
    results = kind.run(specs, device=device, progress=progress)
    if len(results) != len(specs):
        raise TypeError(f"{kind.__name__}.run returned {len(results)} results for {len(specs)} specs")
    for result in results:
        if not isinstance(result, Mapping):
            raise TypeError(f"{kind.__name__}.run must return mappings, got {result!r}")
    plain: list[dict[str, Any]] = json.loads(json.dumps([dict(result) for result in results], default=_number))
    return plain


def _number(value: Any) -> Any:
    if hasattr(value, "tolist"):  # numbers and arrays of numpy and torch
        return value.tolist()
    raise TypeError(f"a result must be made of numbers, texts, lists and mappings, got {value!r}")


def cores() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


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

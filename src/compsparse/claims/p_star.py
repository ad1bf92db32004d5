"""P* of a learner on a random hierarchy: runs around a guess, widened until the error is seen on both sides."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from compsparse.checks import check_count, check_device, check_number
from compsparse.errors import ConfigError
from compsparse.measures import Threshold, threshold
from compsparse.progress import Progress, check_progress
from compsparse.sweeps.kinds.hierarchy import HierarchyRun

_ERROR = 0.1
"""Test error that defines P*."""
_AROUND = (0.5, 0.71, 1.0, 1.41, 2.0)
_BELOW, _ABOVE = (0.35, 0.5, 0.71), (1.41, 2.0, 2.83)
_MOST_ROUNDS = 5
_MOST_SEEDS = 1000


@dataclass(frozen=True)
class MeasuredComplexity:
    """All runs of one setting, and the training-set size they put P* at.

    Attributes:
        setting: a run of the setting; its size and seed mean nothing.
        runs: (run, result) pairs.
    """

    setting: HierarchyRun
    p_star: Threshold
    runs: tuple[tuple[HierarchyRun, dict[str, Any]], ...]

    @property
    def natural(self) -> int:
        """n_c m^L, the size that laws are stated in."""
        return self.setting.model.natural_size

    def curve(self, of: str = "test_error", layer: int | None = None) -> dict[int, list[float]]:
        """A result at every training-set size, over seeds; of one layer where it has several."""
        found = _by_size(self.runs, lambda result: result[of] if layer is None else result[of][layer])
        return dict(sorted(found.items()))


def measure_p_star(
    setting: HierarchyRun,
    guess: float,
    *,
    n_seeds: int = 3,
    first_seed: int = 0,
    around: Sequence[float] = _AROUND,
    device: str | None = None,
    progress: Progress | None = None,
) -> MeasuredComplexity:
    """Runs the setting at sizes around the guess, all sizes and seeds as one program.

    Args:
        guess: about where P* is; a poor one costs rounds.
        n_seeds: runs at every size.
        first_seed: where their seeds count from.
        around: the first sizes, as multiples of the guess.
    """
    if not isinstance(setting, HierarchyRun):
        raise ConfigError(f"setting must be a HierarchyRun, got {setting!r}")
    check_number("guess", guess, above=0)
    check_count("n_seeds", n_seeds, most=_MOST_SEEDS)
    check_count("first_seed", first_seed, least=0, most=2**62)
    seeds = range(first_seed, first_seed + n_seeds)
    if isinstance(around, (str, Mapping)) or not isinstance(around, Sequence) or not len(around):
        raise ConfigError(f"around must be multiples of the guess, at least one, got {around!r}")
    for ratio in around:
        check_number("a multiple of the guess", ratio, above=0)
    check_device(device)
    listener = check_progress(progress)
    # what is left tests, and a sensitivity compares two different data
    most = setting.model.n_data - (2 if setting.sensitivities else 1)
    sizes = _within([guess * r for r in around], most)
    runs: list[tuple[HierarchyRun, dict[str, Any]]] = []
    for _ in range(_MOST_ROUNDS):
        specs = [replace(setting, n_train=n, seed=seed) for n in sizes for seed in seeds]
        runs += zip(specs, HierarchyRun.run(specs, device=device, progress=listener), strict=True)
        errors = _by_size(runs, lambda result: result["test_error"])
        found = MeasuredComplexity(setting, threshold(errors, _ERROR, random_state=0), tuple(runs))
        tried = {run.n_train for run, _ in runs}
        if found.p_star.bracketed:
            return found
        is_above = found.p_star.value < float("inf")
        wanted = [min(tried) * r for r in _BELOW] if is_above else [max(tried) * r for r in _ABOVE]
        sizes = [n for n in _within(wanted, most) if n not in tried]
        if not sizes:
            return found
    return found


def _within(sizes: Sequence[float], most: int) -> list[int]:
    return sorted({min(max(2, round(n)), most) for n in sizes})


def _by_size(
    runs: Sequence[tuple[HierarchyRun, dict[str, Any]]], of: Callable[[dict[str, Any]], float]
) -> dict[int, list[float]]:
    found: dict[int, list[float]] = {}
    for run, result in runs:
        found.setdefault(run.n_train, []).append(of(result))
    return found

"""P* of one setting of a random hierarchy, its sizes and seeds as replicas of one program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from compsparse.claims.p_star import measure_p_star
from compsparse.progress import Progress
from compsparse.sweeps import Spec
from compsparse.sweeps.kinds.hierarchy import HierarchyRun


@dataclass(frozen=True)
class PStar(Spec):
    """P* of a setting around a guess.

    Attributes:
        setting: the JSON of a :class:`HierarchyRun`, whose size and seed mean nothing.
    """

    kind: ClassVar[str] = "p-star"
    version: ClassVar[int] = HierarchyRun.version

    setting: str
    guess: float
    n_seeds: int
    first_seed: int
    around: tuple[float, ...]

    def measure(self, *, device: str | None, progress: Progress) -> Mapping[str, Any]:
        setting = HierarchyRun.from_json(self.setting)
        found = measure_p_star(
            setting,
            self.guess,
            n_seeds=self.n_seeds,
            first_seed=self.first_seed,
            around=self.around,
            device=device,
            progress=progress,
        )
        return {**vars(found.p_star), "natural": found.natural}


KINDS = [PStar]

"""Packs: runs that are trained together as replicas of one program."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

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

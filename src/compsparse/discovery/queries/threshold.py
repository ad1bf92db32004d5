"""The threshold between no turn and a turn, from the scores themselves.

Raising the threshold shrinks the set of turns, and with it the modules. Where no score lies, the
tree does not change; nor does it change where a score is one of many that force the same module. The
threshold is put in the middle of a range, on the log scale, over which the tree stays the same and is
consistent: the gap between null and true scores, as far as it matters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from compsparse.discovery.queries.closure import Closure, close
from compsparse.graph.modules import ModuleTree

_TRIALS = 25


@dataclass(frozen=True)
class Limits:
    """Where thresholds are looked for, and what gap is clear.

    Attributes:
        low: no null score is expected above it, were errors known perfectly.
        active: the same for the effect of an input.
        clear_gap: ratio of true to null scores at which the search may stop.
    """

    low: float
    active: float
    clear_gap: float

    @classmethod
    def of_exact_answers(cls, null_turn: float) -> Limits:
        """Above what was seen without a turn, with room for the many more triples to come."""
        return cls(low=max(6.0, 3 * null_turn), active=30.0, clear_gap=10.0)

    @classmethod
    def of_noisy_answers(cls, d: int) -> Limits:
        """The largest of d^3 normal scores, with room for many looks at them; the scores here are roots of such."""
        largest = np.sqrt(2 * np.log(max(d, 2) ** 3)) + 1.5
        return cls(low=float(np.sqrt(largest)), active=float(np.sqrt(largest)), clear_gap=1.5)


@dataclass(frozen=True)
class Decision:
    """A tree, with the threshold that gave it.

    Attributes:
        doubtful: see :class:`~compsparse.discovery.queries.closure.Closure`.
        gap: ratio of the ends of the range of thresholds that give this tree.
    """

    tree: ModuleTree
    doubtful: np.ndarray
    threshold: float
    gap: float

    @property
    def consistent(self) -> bool:
        return not len(self.doubtful)


def decide(scores: np.ndarray, names: tuple[str, ...], limits: Limits, high: float) -> Decision:
    """The tree that persists across a clear gap, the lowest such; or else the most persistent one.

    Args:
        high: the score of a turn that nothing could hide.
    """
    if not names:
        return Decision(ModuleTree(frozenset()), np.zeros((0, 3), dtype=int), limits.low, gap=1.0)
    trials = np.geomspace(limits.low, max(high, limits.clear_gap * limits.low), _TRIALS)
    closures = _closures(scores, names, trials)
    runs = _runs(closures)
    ratio = trials[1] / trials[0]
    clear = np.log(limits.clear_gap) / np.log(ratio)
    start, stop = max(runs, key=lambda run: (closures[run[0]].consistent, min(run[1] - run[0], clear), -run[0]))
    return Decision(
        closures[start].tree,
        closures[start].doubtful,
        threshold=float(np.sqrt(trials[start] * trials[stop - 1])),
        gap=float(ratio ** (stop - start)),
    )


def _closures(scores: np.ndarray, names: tuple[str, ...], trials: np.ndarray) -> list[Closure]:
    """The closure at every trial; between two trials with the same turns nothing is computed."""
    found: dict[int, Closure] = {}
    counts = [int((scores > t).sum()) for t in trials]
    for i, t in enumerate(trials):
        same = i and counts[i] == counts[i - 1]
        found[i] = found[i - 1] if same else close(scores > t, names)
    return [found[i] for i in range(len(trials))]


def _runs(closures: Sequence[Closure]) -> list[tuple[int, int]]:
    """Ranges [start, stop) of equal trees."""
    changes = [i for i in range(1, len(closures)) if closures[i].tree != closures[i - 1].tree]
    return list(zip([0, *changes], [*changes, len(closures)], strict=True))

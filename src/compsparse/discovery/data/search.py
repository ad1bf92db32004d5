"""The search for a tree in data: merge what belongs together, and leave out what is inert.

Each accepted merge makes the next question easier: the module's inputs become one variable, all
learned parts go on training together, and held-out error falls.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from compsparse.discovery.data.candidates import Candidate
from compsparse.discovery.data.decisions import Judgement, accepted, judge
from compsparse.discovery.data.settings import (
    BETTER,
    EXPLAINED_AMONG_FEW,
    EXPLAINED_AT_LENGTH,
    EXPLAINED_FOR_INERT,
    FEW_INPUTS,
    FEW_REPLICAS,
    FEW_UNITS,
    FEWEST_FIRST,
    JOINTLY_INERT,
    LONG,
    LONGEST,
    MANY_REPLICAS,
    MAY_BE_INERT,
    MERGES_LOGGED,
    MOST_IN_LONG_TRIAL,
    MOST_MERGES,
    MOST_SCREENED,
    NEARLY_AS_GOOD,
    PREDICTS,
    REPLICAS,
    SCREENING,
    SHORT,
    SLACK,
    TOLD_APART,
    TRIED_FIRST,
    UNRESOLVED,
    Effort,
)
from compsparse.discovery.data.smooth.asking import SmoothAnswer, unasked
from compsparse.discovery.data.trials import Trial, TrialTable, standard_error
from compsparse.discovery.data.units import Units, combination_of
from compsparse.discovery.record import Step
from compsparse.graph.modules import ModuleTree
from compsparse.progress import Progress, Silent

log = logging.getLogger("compsparse.discovery")


@dataclass
class TableSearch:
    """The state of one search: the units of the moment, inputs left out, and the path so far."""

    table: TrialTable
    units: Units
    output: str = "y"
    progress: Progress = field(default_factory=Silent)
    parked: list[str] = field(default_factory=list)
    oracle: SmoothAnswer = field(default_factory=unasked)
    """Which inputs are known to act, so that a poor fit cannot call them inert, and which pairs are no modules."""
    path: list[Step] = field(default_factory=list)
    told_apart: dict[frozenset[str], float] = field(default_factory=dict)
    refuted: set[frozenset[str]] = field(default_factory=set)
    """Modules that were seen to be false, and are not tried again."""
    leaks: list[frozenset[str]] = field(default_factory=list)
    """Modules whose inputs seem to act beside them."""
    may_lack: tuple[str, ...] = ()
    """Inputs that were left out although they may act."""
    strays: tuple[str, ...] = ()
    """Inputs that would help elsewhere in the tree, and stay where they are."""
    knows_inert: bool = False
    predicts: bool = False
    """Whether any fit has beaten the constant."""

    def __post_init__(self) -> None:
        self._n_at_first = len(self.units)
        self._last_fit: tuple[tuple[Units, int, int], Trial] | None = None

    @property
    def modules(self) -> list[ModuleTree]:
        """The inner nodes of all units."""
        return [m for tree in self.units.trees for m in tree.inner]

    def merge_all(self) -> None:
        """Merges until nothing more is accepted; leaves out what is inert where enough is explained, or at the end."""
        if not self.path:
            trial = self.table.fit(self.units, [free(self.units.every)], self._effort(SHORT))
            self.note("start", frozenset(), trial, 0)
            self.predicts = trial.t_of(trial.losses[0], self.table.constant) < PREDICTS
        self._merge_on()
        if not self.knows_inert and self.predicts:
            self.leave_out_inert()
            self._merge_on()

    def _merge_on(self) -> None:
        self._leave_out_where_explained()
        while len(self.units) > 2 and self.merge():
            self._leave_out_where_explained()

    # ---- inert inputs --------------------------------------------------------------------

    def _leave_out_where_explained(self) -> None:
        """Looks for inert inputs where enough is explained to tell."""
        saw_structure = not math.isnan(self.oracle.unexplained)
        is_few = self._n_at_first <= FEW_INPUTS
        enough = EXPLAINED_AMONG_FEW if saw_structure and is_few else EXPLAINED_FOR_INERT
        if self.predicts and not self.knows_inert and self.path[-1].error < 1 - enough:
            self.leave_out_inert()

    def leave_out_inert(self) -> None:
        """Parks inputs whose loss, alone and together, does not hurt.

        Single drops would lose inputs that are weak alone and active together, so those that seem inert leave one
        after the other, in company.
        """
        units, effort, self.knows_inert = self.units, self._effort(SHORT), True
        may_go = self._may_be_inert()
        if len(units) == 1 or not may_go:
            return
        base = free(units.every)
        trial = self.table.fit(units, [base, *(free(units.every - {i}) for i in may_go)], effort)
        t = {i: trial.t(c, 0) for c, i in enumerate(may_go, start=1)}
        suspects = sorted((i for i in t if t[i] < MAY_BE_INERT), key=t.__getitem__)[: len(units) - 1]
        if not suspects:
            return
        prefixes = [frozenset(suspects[: k + 1]) for k in range(len(suspects))]
        trial = self.table.fit(units, [base, *(free(units.every - p) for p in prefixes)], effort)
        hurts = [trial.t(k + 1, 0) >= JOINTLY_INERT for k in range(len(prefixes))]
        for k, prefix in enumerate(prefixes):
            log.debug("without %s: t %.1f", sorted(units.members(prefix)), trial.t(k + 1, 0))
        harmless = hurts.index(True) if True in hurts else len(hurts)
        if harmless:
            gone = prefixes[harmless - 1]
            self.parked += sorted(units.members(gone))
            self.units = units.with_trees(units.trees[i] for i in sorted(units.every - gone))
            self.note("drop", units.members(gone), trial, harmless)

    def _may_be_inert(self) -> list[int]:
        """Single inputs that are not known to act."""
        leaves = (i for i in sorted(self.units.every) if not self.units.trees[i].children)
        return [i for i in leaves if not self.units.trees[i].members <= self.oracle.acting]

    # ---- merges --------------------------------------------------------------------------

    def merge(self) -> bool:
        """One round: the best pairs, or failing them the best triple. False if nothing was accepted."""
        every = sorted(self.units.every)
        pairs = self._not_denied([frozenset(p) for p in combinations(every, 2)])
        first = self._turned_least(pairs)
        if len(first) < len(pairs) and self._try_first(self._screened(first, MOST_MERGES)):
            return True
        pairs = self._screened(pairs, MOST_MERGES)
        if pairs and self._try(pairs):
            return True
        if len(self.units) <= 3:
            return False
        triples = [frozenset(t) for t in combinations(every, 3)]
        if len(triples) > MOST_SCREENED:
            triples = [t for t in triples if any(p < t for p in pairs[:MOST_IN_LONG_TRIAL])]
        return self._try(self._screened(triples[:MOST_SCREENED], MOST_MERGES))

    def _not_denied(self, pairs: list[frozenset[int]]) -> list[frozenset[int]]:
        """Pairs that neither a smooth fit nor an earlier look denies."""
        pairs = [p for p in pairs if self.units.members(p) not in self.refuted]
        return [p for p in pairs if self._turn(p) <= self.oracle.most_turn]

    def _turned_least(self, pairs: list[frozenset[int]]) -> list[frozenset[int]]:
        """The pairs that are most likely modules by a smooth fit; all of them where it cannot say."""
        turns = {p: self._turn(p) for p in pairs}
        n_first = max(FEWEST_FIRST, math.ceil(TRIED_FIRST * len(pairs)))
        return sorted(pairs, key=turns.__getitem__)[:n_first] if any(turns.values()) else pairs

    def _is_turned_least(self, trial: Trial, judgement: Judgement) -> bool:
        """Whether no other pair with one of the two units is turned less."""
        pair = trial.candidates[judgement.candidate].inner
        rivals = (frozenset([i, j]) for i in pair for j in self.units.every - pair)
        return self._turn(pair) < min(map(self._turn, rivals), default=math.inf)

    def _turn(self, pair: frozenset[int]) -> float:
        return self.oracle.turn_between(*(self.units.trees[i].members for i in pair))

    def _try_first(self, merges: Sequence[frozenset[int]]) -> bool:
        """A short trial of some pairs; their rivals are not all there, so they have more to show."""
        trial = self.table.fit(self.units, self._candidates(merges), self._effort(SHORT))
        return self._accept(trial, rivals_left_out=True)

    def _screened(self, sets: list[frozenset[int]], most: int) -> list[frozenset[int]]:
        """The most promising of many sets, by short trials in turn; all of them where they are few."""
        if len(sets) <= most:
            return sets
        errors: dict[frozenset[int], float] = {}
        for start in range(0, len(sets), most):
            part = sets[start : start + most]
            trial = self.table.fit(self.units, [self._merging(s) for s in part], Effort(1, SCREENING))
            errors |= {s: trial.mean(c) for c, s in enumerate(part)}
        return sorted(sets, key=errors.__getitem__)[: most // 2]

    def _candidates(self, merges: Sequence[frozenset[int]]) -> list[Candidate]:
        """The free function, which every merge is compared with, and the merges."""
        return [free(self.units.every), *(self._merging(m) for m in merges)]

    def _merging(self, which: frozenset[int]) -> Candidate:
        return Candidate(which, self.units.every - which)

    def _try(self, merges: Sequence[frozenset[int]]) -> bool:
        """Trials of growing length; each asks only what the one before left open."""
        trial = self.table.fit(self.units, self._candidates(merges), self._effort(SHORT))
        if self._accept(trial):
            return True
        best = judge(trial, self.table.constant)[:MOST_IN_LONG_TRIAL]
        # where fits are mostly variance, more networks tell more than more steps
        is_variance = best[0].error > (1 - EXPLAINED_AT_LENGTH) * self.constant_error
        effort = Effort(MANY_REPLICAS, SHORT) if is_variance else Effort(REPLICAS, LONG)
        trial = self._again(trial, [j.candidate for j in best], effort)
        if self._accept(trial, last_word=True):
            return True
        near = [j for j in judge(trial, self.table.constant) if j.is_told_apart and j.against_constant < PREDICTS]
        near = [j for j in near if j.error < NEARLY_AS_GOOD * trial.mean(0)]
        if not near:
            return False
        trial = self._again(trial, [j.candidate for j in near], Effort(MANY_REPLICAS, LONGEST))
        return self._accept(trial, last_word=True, slack=SLACK)

    def _again(self, trial: Trial, chosen: Sequence[int], effort: Effort) -> Trial:
        """The base and some of the candidates, trained longer."""
        return self.table.fit(trial.units, [trial.candidates[c] for c in (0, *chosen)], effort)

    def _accept(
        self, trial: Trial, *, last_word: bool = False, slack: float = 0.0, rivals_left_out: bool = False
    ) -> bool:
        judgements = judge(trial, self.table.constant)
        if rivals_left_out:
            judgements = [j for j in judgements if j.against_base < BETTER or self._is_turned_least(trial, j)]
        log.debug("%d units, free function %.5f", len(self.units), trial.mean(0))
        for j in judgements[:MERGES_LOGGED]:
            log.debug("  %s %s", sorted(trial.units.members(trial.candidates[j.candidate].inner)), j)
        chosen = accepted(trial, judgements, self.constant_error, last_word=last_word, slack=slack)
        if not chosen:
            return False
        units = self.table.relearned(trial, chosen[0])
        learned, trees = dict(units.learned), set(units.trees)
        for c in chosen:
            parts = [trial.units.trees[i] for i in sorted(trial.candidates[c].inner)]
            module = units.joined(parts)
            learned[combination_of(module)] = self.table.learned(trial, c)
            trees = trees - set(parts) | {module}
            apart = next(j.against_rival for j in judgements if j.candidate == c)
            # alone in its trial it was told apart before, if only just
            self.told_apart[module.members] = apart if np.isfinite(apart) else TOLD_APART
            self.predicts = True
            self.note("merge", module.members, trial, c)
        self.units = Units(units.columns, (), learned).with_trees(trees)
        return True

    # ---- helpers -------------------------------------------------------------------------

    @property
    def state(self) -> tuple[Units, tuple[Step, ...], dict[frozenset[str], float]]:
        """What a change of the tree changes, to take it back."""
        return self.units, tuple(self.path), dict(self.told_apart)

    @state.setter
    def state(self, state: tuple[Units, tuple[Step, ...], dict[frozenset[str], float]]) -> None:
        self.units, path, told_apart = state
        self.path, self.told_apart = list(path), dict(told_apart)

    def fit_tree(self, units: Units, steps: int = LONG, n_replicas: int = REPLICAS) -> Trial:
        """A trial of the units as they are, under a free function of them; the last is kept, and not made again."""
        asked = units, steps, n_replicas
        if self._last_fit is None or self._last_fit[0][0] is not units or self._last_fit[0] != asked:
            self._last_fit = asked, self.table.fit(units, [free(units.every)], Effort(n_replicas, steps))
        return self._last_fit[1]

    def is_resolved(self, tree: Trial) -> bool:
        """Whether a fit of the whole tree leaves next to nothing."""
        return tree.mean(0) <= UNRESOLVED * self.constant_error

    def _effort(self, steps: int) -> Effort:
        return Effort(REPLICAS if len(self.units) <= FEW_UNITS else FEW_REPLICAS, steps)

    @property
    def constant_error(self) -> float:
        """Held-out error of the best constant."""
        return float(np.average(self.table.constant, weights=self.table.row_weight))

    def note(self, action: str, members: frozenset[str], trial: Trial, c: int) -> None:
        """Adds a step to the path: what was done to some inputs, and what the c-th candidate of a trial leaves then."""
        scale = self.constant_error
        error, spread = trial.mean(c) / scale, float(standard_error(trial.losses[c], trial.weight)) / scale
        self.path.append(Step(action, members, self.output, error, spread))
        merged = max(0, self._n_at_first - len(self.units))
        message = f"{self.output}: {action} {{{', '.join(sorted(members))}}}, held-out error {error:.2%}"
        self.progress.update(merged, self._n_at_first, message)


def free(which: frozenset[int]) -> Candidate:
    """A free function of some units."""
    return Candidate(frozenset(), which)

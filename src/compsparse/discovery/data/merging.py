"""Merging: what belongs together becomes one variable, and what is inert is left out.

Each accepted merge makes the next question easier: the module's inputs become one variable, all learned parts go on
training together, and held-out error falls.

A merge is accepted when it predicts (better than a constant), when imposing it does not hurt (against the free
function of all variables), and when it is told apart: from the free function, or from every rival that shares a
variable with it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from compsparse.discovery.data import limits
from compsparse.discovery.data.candidates import Candidate
from compsparse.discovery.data.limits import BY_VARIANCE, FIRST, FIRST_OF_FEW, LAST_WORD, LONG, SCREENING, Effort
from compsparse.discovery.data.sketch import Bench, Sketch, free, log
from compsparse.discovery.data.trials import Trial
from compsparse.discovery.data.units import Units, combination_of
from compsparse.discovery.structure.statistics import (
    CLEARLY,
    HOPELESS,
    MAY_BE_CHANCE,
    NOT_WORSE,
    TOLD_APART,
    told_apart,
)

Pair = frozenset[int]
"""Units that may belong together, by their numbers; sometimes three of them."""


def merge_all(bench: Bench, sketch: Sketch, *, keeping: bool = True) -> Sketch:
    """Merges until nothing more is accepted; leaves out what is inert where enough is explained, or at the end.

    Args:
        keeping: whether what is reached on the way stays if the search is ended.
    """
    if not sketch.path:
        trial = bench.table.fit(sketch.units, [free(sketch.units.every)], _first_effort(sketch))
        predicts = trial.t_of(trial.losses[0], bench.table.constant) < -CLEARLY
        sketch = replace(bench.noted(sketch, "start", frozenset(), trial), predicts=predicts)
    sketch = _merge_on(bench, sketch, keeping)
    if not sketch.knows_inert and sketch.predicts:
        sketch = _merge_on(bench, leave_out_inert(bench, sketch), keeping)
    return sketch


def _merge_on(bench: Bench, sketch: Sketch, keeping: bool) -> Sketch:
    merged: Sketch | None = sketch
    while merged is not None:
        sketch = bench.keep(merged) if keeping else merged
        if _explains_enough(bench, sketch):
            sketch = leave_out_inert(bench, sketch)
        merged = merge(bench, sketch) if len(sketch.units) > 2 else None
    return bench.keep(sketch) if keeping else sketch


# ---- inert inputs --------------------------------------------------------------------------------


def _explains_enough(bench: Bench, sketch: Sketch) -> bool:
    """Whether enough is explained to tell which inputs are inert, and was not before."""
    saw_structure = not math.isnan(bench.smooth.unexplained)
    is_few = bench.n_inputs <= limits.FEW_INPUTS
    enough = limits.EXPLAINED_AMONG_FEW if saw_structure and is_few else limits.EXPLAINED_FOR_INERT
    return sketch.predicts and not sketch.knows_inert and sketch.path[-1].error < 1 - enough


def leave_out_inert(bench: Bench, sketch: Sketch) -> Sketch:
    """Parks inputs whose loss, alone and together, does not hurt.

    Single drops would lose inputs that are weak alone and active together, so those that seem inert leave one
    after the other, in company.
    """
    sketch = replace(sketch, knows_inert=True)
    units, effort, may_go = sketch.units, _first_effort(sketch), _may_be_inert(bench, sketch)
    if len(units) == 1 or not may_go:
        return sketch
    base = free(units.every)
    trial = bench.table.fit(units, [base, *(free(units.every - {i}) for i in may_go)], effort)
    t = {i: trial.t(c, 0) for c, i in enumerate(may_go, start=1)}
    suspects = sorted((i for i in t if t[i] < MAY_BE_CHANCE), key=t.__getitem__)[: len(units) - 1]
    if not suspects:
        return sketch
    prefixes = [frozenset(suspects[: k + 1]) for k in range(len(suspects))]
    trial = bench.table.fit(units, [base, *(free(units.every - p) for p in prefixes)], effort)
    t_without = [trial.t(k + 1, 0) for k in range(len(prefixes))]
    for prefix, own in zip(prefixes, t_without, strict=True):
        log.debug("without %s: t %.1f", sorted(units.members(prefix)), own)
    harmless = next((k for k, own in enumerate(t_without) if own >= NOT_WORSE), len(prefixes))
    if not harmless:
        return sketch
    gone = prefixes[harmless - 1]
    sketch = replace(
        sketch,
        units=units.with_trees(units.trees[i] for i in sorted(units.every - gone)),
        parked=(*sketch.parked, *sorted(units.members(gone))),
    )
    return bench.noted(sketch, "drop", units.members(gone), trial, harmless)


def _may_be_inert(bench: Bench, sketch: Sketch) -> list[int]:
    """Single inputs that are not known to act."""
    trees = sketch.units.trees
    leaves = (i for i in sorted(sketch.units.every) if not trees[i].children)
    return [i for i in leaves if not trees[i].members <= bench.smooth.acting]


# ---- one round of merges -------------------------------------------------------------------------


def merge(bench: Bench, sketch: Sketch) -> Sketch | None:
    """One round: the best pairs, or failing them the best triple; None if nothing was accepted."""
    return _Round(bench, sketch).merged()


@dataclass(frozen=True)
class _Round:
    """Trials of merges of the units of a sketch."""

    bench: Bench
    sketch: Sketch

    def merged(self) -> Sketch | None:
        every = sorted(self.sketch.units.every)
        pairs = self._not_denied([frozenset(p) for p in combinations(every, 2)])
        first = self._turned_least(pairs)
        if len(first) < len(pairs) and (found := self._try_first(self._screened(first, limits.MOST_MERGES))):
            return found
        pairs = self._screened(pairs, limits.MOST_MERGES)
        if pairs and (found := self._try(pairs)):
            return found
        if len(every) <= 3:
            return None
        triples = [frozenset(t) for t in combinations(every, 3)]
        if len(triples) > limits.MOST_SCREENED:
            triples = [t for t in triples if any(p < t for p in pairs[: limits.MOST_IN_LONG_TRIAL])]
        return self._try(self._screened(triples[: limits.MOST_SCREENED], limits.MOST_MERGES))

    # ---- which to try ----------------------------------------------------------------

    def _not_denied(self, pairs: list[Pair]) -> list[Pair]:
        """Pairs that neither a smooth fit nor an earlier look denies."""
        pairs = [p for p in pairs if self.sketch.units.members(p) not in self.sketch.refuted]
        return [p for p in pairs if self._turn(p) <= self.bench.smooth.most_turn]

    def _turned_least(self, pairs: list[Pair]) -> list[Pair]:
        """The pairs that are most likely modules by a smooth fit; all of them where it cannot say."""
        turns = {p: self._turn(p) for p in pairs}
        n_first = max(limits.FEWEST_FIRST, math.ceil(limits.TRIED_FIRST * len(pairs)))
        return sorted(pairs, key=turns.__getitem__)[:n_first] if any(turns.values()) else pairs

    def _is_turned_least(self, trial: Trial, judgement: Judgement) -> bool:
        """Whether no other pair with one of the two units is turned less."""
        pair = trial.candidates[judgement.candidate].inner
        rivals = (frozenset([i, j]) for i in pair for j in self.sketch.units.every - pair)
        return self._turn(pair) < min(map(self._turn, rivals), default=math.inf)

    def _turn(self, pair: Pair) -> float:
        return self.bench.smooth.turn_between(*(self.sketch.units.trees[i].members for i in pair))

    def _screened(self, sets: list[Pair], most: int) -> list[Pair]:
        """The most promising of many sets, by short trials in turn; all of them where they are few."""
        if len(sets) <= most:
            return sets
        errors: dict[Pair, float] = {}
        for start in range(0, len(sets), most):
            part = sets[start : start + most]
            trial = self.bench.table.fit(self.sketch.units, [self._merging(s) for s in part], SCREENING)
            errors |= {s: trial.mean(c) for c, s in enumerate(part)}
        return sorted(sets, key=errors.__getitem__)[: most // 2]

    # ---- trials ----------------------------------------------------------------------

    def _try_first(self, merges: Sequence[Pair]) -> Sketch | None:
        """A short trial of some pairs; their rivals are not all there, so they have more to show."""
        trial = self._first_trial(merges)
        likely = [j for j in self._judged(trial) if j.against_base < -CLEARLY or self._is_turned_least(trial, j)]
        return self._accepted(trial, likely)

    def _try(self, merges: Sequence[Pair]) -> Sketch | None:
        """Trials of growing length; each asks only what the one before left open."""
        trial = self._first_trial(merges)
        judged = self._judged(trial)
        if found := self._accepted(trial, judged):
            return found
        best = judged[: limits.MOST_IN_LONG_TRIAL]
        is_variance = best[0].error > (1 - limits.EXPLAINED_AT_LENGTH) * self.bench.constant_error
        trial = self._again(trial, best, BY_VARIANCE if is_variance else LONG)
        judged = self._judged(trial)
        if found := self._accepted(trial, judged, last_word=True):
            return found
        near = [j for j in judged if j.is_told_apart and j.against_constant < -CLEARLY]
        near = [j for j in near if j.error < limits.NEARLY_AS_GOOD * trial.mean(0)]
        if not near:
            return None
        trial = self._again(trial, near, LAST_WORD)
        return self._accepted(trial, self._judged(trial), last_word=True, slack=limits.SLACK)

    def _first_trial(self, merges: Sequence[Pair]) -> Trial:
        """The free function, which every merge is compared with, and the merges."""
        units = self.sketch.units
        candidates = [free(units.every), *(self._merging(m) for m in merges)]
        return self.bench.table.fit(units, candidates, _first_effort(self.sketch))

    def _again(self, trial: Trial, chosen: Sequence[Judgement], effort: Effort) -> Trial:
        """The base and some of the candidates, trained longer."""
        candidates = [trial.candidates[0], *(trial.candidates[j.candidate] for j in chosen)]
        return self.bench.table.fit(trial.units, candidates, effort)

    def _merging(self, which: Pair) -> Candidate:
        return Candidate(which, self.sketch.units.every - which)

    def _judged(self, trial: Trial) -> list[Judgement]:
        judgements = judge(trial, self.bench.table.constant)
        log.debug("%d units, free function %.5f", len(trial.units), trial.mean(0))
        for j in judgements[:5]:
            log.debug("  %s %s", sorted(trial.units.members(trial.candidates[j.candidate].inner)), j)
        return judgements

    def _accepted(
        self, trial: Trial, judgements: Sequence[Judgement], *, last_word: bool = False, slack: float = 0.0
    ) -> Sketch | None:
        """The sketch with what was accepted merged; None where nothing was."""
        chosen = accepted(trial, judgements, self.bench.constant_error, last_word=last_word, slack=slack)
        if not chosen:
            return None
        sketch = replace(self.sketch, predicts=True)
        units = self.bench.table.relearned(trial, chosen[0].candidate)
        learned, trees, apart = dict(units.learned), set(units.trees), dict(sketch.told_apart)
        for j in chosen:
            parts = [trial.units.trees[i] for i in sorted(trial.candidates[j.candidate].inner)]
            module = units.joined(parts)
            learned[combination_of(module)] = self.bench.table.learned(trial, j.candidate)
            trees = trees - set(parts) | {module}
            # alone in its trial it was told apart before, if only just
            apart[module.members] = j.against_rival if np.isfinite(j.against_rival) else TOLD_APART
            sketch = self.bench.noted(sketch, "merge", module.members, trial, j.candidate)
        return replace(sketch, units=Units(units.columns, (), learned).with_trees(trees), told_apart=apart)


def _first_effort(sketch: Sketch) -> Effort:
    return FIRST_OF_FEW if len(sketch.units) <= limits.FEW_UNITS else FIRST


# ---- decisions: pure functions of held-out losses ------------------------------------------------


@dataclass(frozen=True)
class Judgement:
    """One candidate of a trial, compared.

    Attributes:
        against_constant, against_base: paired t, negative where the candidate is better.
        against_rival: smallest t by which a rival that shares a unit is worse; infinite without rivals.
    """

    candidate: int
    error: float
    against_constant: float
    against_base: float
    against_rival: float

    @property
    def may_stand(self) -> bool:
        """Whether it predicts, and imposing it does not hurt."""
        return self.against_constant < -CLEARLY and self.against_base < NOT_WORSE

    @property
    def is_told_apart(self) -> bool:
        """Whether every rival is worse."""
        return self.against_rival > TOLD_APART


def judge(trial: Trial, constant: np.ndarray) -> list[Judgement]:
    """Judges all candidates but the first, which is the base, from the lowest error up."""
    merges = range(1, len(trial.candidates))
    judgements = []
    for c in merges:
        rivals = [r for r in merges if r != c and trial.candidates[r].inner & trial.candidates[c].inner]
        judgements.append(
            Judgement(
                c,
                trial.mean(c),
                trial.t_of(trial.losses[c], constant),
                trial.t(c, 0),
                min((told_apart(trial.t(r, c), trial.mean(r), trial.mean(c)) for r in rivals), default=math.inf),
            )
        )
    return sorted(judgements, key=lambda j: j.error)


def accepted(
    trial: Trial,
    judgements: Sequence[Judgement],
    constant_error: float,
    *,
    last_word: bool = False,
    slack: float = 0.0,
) -> list[Judgement]:
    """Candidates to accept together: disjoint, from the best down.

    Args:
        last_word: no longer trial will follow, so the best may stand on beating the base alone.
        slack: share of the base's error, and of what the base explains, that a candidate may lose.
    """
    chosen: list[Judgement] = []
    used: frozenset[int] = frozenset()
    base = trial.mean(0)
    room = slack * min(base, constant_error - base)
    for rank, j in enumerate(judgements):
        merged = trial.candidates[j.candidate].inner
        near_enough = j.against_constant < -CLEARLY and j.against_base < HOPELESS and j.error - base < room
        beats_base = last_word and rank == 0 and j.against_base < -CLEARLY
        if (j.may_stand or near_enough) and (j.is_told_apart or beats_base) and not merged & used:
            chosen.append(j)
            used |= merged
    return chosen

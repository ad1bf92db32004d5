"""The search for a tree in data: leave out what is inert, merge, verify, look again.

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
    MOST_AT_LENGTH,
    MOST_IN_BRANCH,
    MOST_IN_LONG_TRIAL,
    MOST_MERGES,
    MOST_MOVED,
    MOST_SCREENED,
    MOST_TRIED_ELSEWHERE,
    MUCH_HELPED,
    MUCH_WORSE,
    NEARLY_AS_GOOD,
    NOT_WORSE,
    PREDICTS,
    READMITTED,
    REPLICAS,
    SCREENING,
    SHORT,
    SLACK,
    TOLD_APART,
    TRIED_FIRST,
    UNRESOLVED,
    VERIFYING,
    Effort,
)
from compsparse.discovery.data.smooth.asking import SmoothAnswer, unasked
from compsparse.discovery.data.trees import exposed, pairings, pruned, regrouped
from compsparse.discovery.data.trials import Halted, Trial, TrialTable, standard_error
from compsparse.discovery.data.units import Combination, Units, combination_of, leaf
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

    def run(self) -> None:
        """Merges until nothing more is accepted, offers again what was left out, moves inputs, looks into wide nodes.

        A triple is accepted where none of its pairs was told apart; all that was learned since may tell them apart.
        """
        self._merge_all()
        for _ in range(MOST_MOVED + 1):
            while self.parked and self._readmit():
                self._merge_all()
            if not self._move():
                break
        self._look_into_wide_nodes()

    def _look_into_wide_nodes(self) -> None:
        seen: set[Combination] = set()
        while wide := [m for m in self.modules if len(m.children) > 2 and combination_of(m) not in seen]:
            seen.add(combination_of(wide[0]))
            self.regroup(wide[0], LONG)

    @property
    def modules(self) -> list[ModuleTree]:
        """The inner nodes of all units."""
        return [m for tree in self.units.trees for m in tree.inner]

    def _merge_all(self) -> None:
        if not self.path:
            trial = self.table.fit(self.units, [free(self.units.every)], self._effort(SHORT))
            self._note("start", frozenset(), trial, 0)
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
            self._note("drop", units.members(gone), trial, harmless)

    def _may_be_inert(self) -> list[int]:
        """Single inputs that are not known to act."""
        leaves = (i for i in sorted(self.units.every) if not self.units.trees[i].children)
        return [i for i in leaves if not self.units.trees[i].members <= self.oracle.acting]

    def _readmit(self) -> bool:
        """Offers parked inputs to every node of the tree; those that help become units again."""
        self.may_lack = ()
        reference, everywhere = self._fits_with_parked(LONG, REPLICAS)
        together = everywhere.t_of(everywhere.losses[0], reference.losses[0])
        if together > READMITTED / 2:
            if self._readmit_branch(reference):
                return True
            self.may_lack = self._left_out_unsure(reference)
            return False
        offered = []
        for name in self.parked:
            trial = self.fit_tree(exposed(self.units, [leaf(name)]))
            t = trial.t_of(trial.losses[0], reference.losses[0])
            log.debug("with %s everywhere: t %.1f", name, t)
            offered.append((t, name, trial))
        offered.sort(key=lambda entry: entry[0])
        # where only all of them together help, the best begins, and the others are offered again
        help_together = together < READMITTED or everywhere.mean(0) < MUCH_HELPED * reference.mean(0)
        back = [entry for entry in offered if entry[0] < READMITTED]
        if not back and (help_together or self._help_at_length()):
            back = offered[:1]
        for _, name, trial in back:
            self.parked.remove(name)
            self._note("readmit", frozenset([name]), trial, 0)
            self._put_back(leaf(name))
        if not back:
            self.may_lack = tuple(self.parked)
        return bool(back)

    def _left_out_unsure(self, tree: Trial) -> tuple[str, ...]:
        """Inputs that only trials called inert, where the tree leaves so much that they cannot know."""
        if self._is_resolved(tree):
            return ()
        return tuple(name for name in self.parked if name not in self.oracle.inert)

    def _is_resolved(self, tree: Trial) -> bool:
        return tree.mean(0) <= UNRESOLVED * self.constant_error

    def _fits_with_parked(self, steps: int, n_replicas: int) -> tuple[Trial, Trial]:
        """The tree as it is, and with the parked inputs at every node."""
        reference = self.fit_tree(self.units, steps, n_replicas)
        everywhere = self.fit_tree(exposed(self.units, list(map(leaf, self.parked))), steps, n_replicas)
        log.debug("with %s everywhere: %.5f from %.5f", self.parked, everywhere.mean(0), reference.mean(0))
        return reference, everywhere

    def _help_at_length(self) -> bool:
        """Whether parked inputs that seemed to help do so after the longest training."""
        reference, everywhere = self._fits_with_parked(LONGEST, FEW_REPLICAS)
        return everywhere.t_of(everywhere.losses[0], reference.losses[0]) < READMITTED

    def _readmit_branch(self, tree: Trial) -> bool:
        """Offers the parked inputs through one number: so a weak branch shows whose inputs, each at every node, drown.

        Returns:
            Whether some of them came back.
        """
        if self._is_resolved(tree) or not 1 < len(self.parked) <= MOST_IN_BRANCH:
            return False
        branch = self.units.joined(map(leaf, self.parked))
        trial = self.fit_tree(exposed(self.units, [branch]))
        t = trial.t_of(trial.losses[0], tree.losses[0])
        log.debug("with one number of %s everywhere: t %.1f", sorted(branch.members), t)
        if t > READMITTED:
            return False
        self._note("readmit", branch.members, trial, 0)
        self._put_back(branch)
        self.parked = []
        self._leave_out_of_branch(branch)
        return len(self.parked) < len(branch.members)

    def _leave_out_of_branch(self, branch: ModuleTree) -> None:
        """Parks those inputs of a branch again that it does as well without."""
        with_it = self.fit_tree(self.units)
        for name in sorted(branch.members):
            without = self.fit_tree(pruned(self.units, name))
            if without.t_of(without.losses[0], with_it.losses[0]) < NOT_WORSE:
                self.units, with_it = without.units, without
                self.parked.append(name)
                self._note("drop", frozenset([name]), without, 0)

    def _put_back(self, part: ModuleTree) -> None:
        """Gives an input or a branch to the node that it helps most, and looks for finer structure there."""
        at_top = self.units.with_trees([*self.units.trees, part])
        options: list[tuple[Units, ModuleTree | None]] = [(at_top, None)]
        options += [(exposed(self.units, [part], [m]), m) for m in self.modules]
        if len(options) > MOST_AT_LENGTH:
            options.sort(key=lambda option: self.fit_tree(option[0], VERIFYING.steps, VERIFYING.replicas).mean(0))
            del options[MOST_AT_LENGTH:]
        _, node = min(options, key=lambda option: self.fit_tree(option[0]).mean(0))
        if node is None:
            self.units = at_top
            return
        wide = self.units.joined([*node.children, part])
        self.units = regrouped(self.units, node, wide)
        self.regroup(wide)

    def _move(self) -> bool:
        """Takes an input that helps at other nodes out of its place, and puts it where the tree is better.

        An input whose partner was left out for a while, or came late, may have been merged with the wrong one.
        """
        self.strays = ()
        before = self.units
        if not self.modules or self._is_resolved(tree := self.fit_tree(before, VERIFYING.steps, VERIFYING.replicas)):
            return False
        helps: dict[str, float] = {}
        for name in sorted(before.members(before.every)):
            trial = self.fit_tree(exposed(before, [leaf(name)]), VERIFYING.steps, VERIFYING.replicas)
            helps[name] = trial.t_of(trial.losses[0], tree.losses[0])
            log.debug("with %s at all other nodes too: t %.1f", name, helps[name])
        may_move = [name for name in sorted(helps, key=helps.__getitem__) if helps[name] < READMITTED / 2]
        if not may_move:
            return False
        stays = self.fit_tree(before)
        for name in may_move[:MOST_TRIED_ELSEWHERE]:
            if self._is_better_elsewhere(name, before, stays):
                return True
            self.units = before
        self.strays = tuple(name for name, t in helps.items() if t < READMITTED)
        return False

    def _is_better_elsewhere(self, name: str, before: Units, stays: Trial) -> bool:
        """Puts an input where it helps most; whether the tree is clearly better than before."""
        try:
            self.units = pruned(before, name)
            self._put_back(leaf(name))
            moved = self.fit_tree(self.units)
        except Halted:
            self.units = before
            raise
        log.debug("%s moved: %.5f from %.5f", name, moved.mean(0), stays.mean(0))
        is_better = bool(moved.t_of(moved.losses[0], stays.losses[0]) < BETTER)
        if is_better:
            self._note("move", frozenset([name]), moved, 0)
        return is_better

    def regroup(self, node: ModuleTree, steps: int = LONGEST) -> None:
        """Looks for the pair to join first inside a node of three or more, by fits of the whole tree."""
        inside = pairings(self.units, node.children)
        options = [(regrouped(self.units, node, n), inner) for n, inner in inside if inner.members not in self.refuted]
        if len(options) < 2:
            return
        if steps > LONG and len(options) > MOST_AT_LENGTH:
            options.sort(key=lambda option: self.fit_tree(option[0]).mean(0))
            del options[MOST_AT_LENGTH:]
        whole, *trials = (self.fit_tree(units, steps) for units in (self.units, *(units for units, _ in options)))
        order = np.argsort([trial.mean(0) for trial in trials])
        best, rivals = trials[order[0]], [trials[i] for i in order[1:]]
        apart = min(best.t_of(r.losses[0], best.losses[0]) for r in rivals)
        against_whole = best.t_of(best.losses[0], whole.losses[0])
        log.debug("inside %s: told apart by t %.1f, against the whole %.1f", sorted(node.members), apart, against_whole)
        if against_whole < NOT_WORSE and apart > TOLD_APART:
            inner = options[order[0]][1]
            self.units = self.table.relearned(best, 0)
            self.told_apart[inner.members] = apart
            self._note("merge", inner.members, best, 0)
        elif apart > TOLD_APART and against_whole < MUCH_WORSE and steps < LONGEST:
            # what is deeper trains slower
            self.regroup(node)

    def fit_tree(self, units: Units, steps: int = LONG, n_replicas: int = REPLICAS) -> Trial:
        """A trial of the units as they are, under a free function of them; the last is kept, and not made again."""
        asked = units, steps, n_replicas
        if self._last_fit is None or self._last_fit[0][0] is not units or self._last_fit[0] != asked:
            self._last_fit = asked, self.table.fit(units, [free(units.every)], Effort(n_replicas, steps))
        return self._last_fit[1]

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
            self._note("merge", module.members, trial, c)
        self.units = Units(units.columns, (), learned).with_trees(trees)
        return True

    # ---- helpers -------------------------------------------------------------------------

    def _effort(self, steps: int) -> Effort:
        return Effort(REPLICAS if len(self.units) <= FEW_UNITS else FEW_REPLICAS, steps)

    @property
    def constant_error(self) -> float:
        """Held-out error of the best constant."""
        return float(np.average(self.table.constant, weights=self.table.row_weight))

    def _note(self, action: str, members: frozenset[str], trial: Trial, c: int) -> None:
        scale = self.constant_error
        error, spread = trial.mean(c) / scale, float(standard_error(trial.losses[c], trial.weight)) / scale
        self.path.append(Step(action, members, self.output, error, spread))
        merged = max(0, self._n_at_first - len(self.units))
        message = f"{self.output}: {action} {{{', '.join(sorted(members))}}}, held-out error {error:.2%}"
        self.progress.update(merged, self._n_at_first, message)


def free(which: frozenset[int]) -> Candidate:
    """A free function of some units."""
    return Candidate(frozenset(), which)

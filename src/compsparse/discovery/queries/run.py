"""One run of queries, from the first question to what it found."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from compsparse.checks import check_input_and_output_names
from compsparse.clock import TimeIsOver
from compsparse.discovery.queries.calibration import (
    Answers,
    calibration_cost,
    exact_differences,
    exact_differentiator,
    first_answers,
    is_noisy,
    measured_noise,
    noisy_differences,
    prelude_cost,
)
from compsparse.discovery.queries.channels import find_bundles
from compsparse.discovery.queries.gradients import Autograd, Differentiator
from compsparse.discovery.queries.groups import find_query_groups
from compsparse.discovery.queries.limits import (
    BUDGET,
    BUDGET_IN_NOISE,
    FAINTEST_NOISE,
    INPUTS_OF_BUDGET,
    RESAMPLES_OF_UNITS,
    THIN_GAP,
    TURN,
)
from compsparse.discovery.queries.oracle import Oracle, OutOfQueries
from compsparse.discovery.queries.pool import Pool, turn_between_outputs
from compsparse.discovery.queries.search import QuerySearch
from compsparse.discovery.queries.sheets import n_points
from compsparse.discovery.queries.sums import find_sum
from compsparse.discovery.record import AnswerNoise, DiscoveryStatus, Evidence
from compsparse.discovery.shared_inputs import Inside, look_inside, smaller, wide_nodes
from compsparse.discovery.structure.bundles import Bundle, with_bundles
from compsparse.discovery.structure.closure import close
from compsparse.discovery.structure.forest import Members, Part, SameModule, never_shared, users_of_modules
from compsparse.discovery.structure.turns import Tables
from compsparse.discovery.structure.units import Dimension, read_units
from compsparse.errors import ConfigError, DataError
from compsparse.graph.modules import ModuleTree


def default_budget(d: int, noisy: bool) -> int:
    """Evaluations that suffice for most functions of d inputs; easy ones stop far below."""
    return int((BUDGET_IN_NOISE if noisy else BUDGET) * max(1.0, d / INPUTS_OF_BUDGET) ** 2)


def least_budget(d: int, noisy: bool = False) -> int:
    """Evaluations of one round by differences, with all that comes before it."""
    readings = 2 if noisy else 1
    return prelude_cost(d, noisy) + calibration_cost(d, noisy) + readings * n_points(d) * (2 * d + 1)


@dataclass(frozen=True)
class Question:
    """What is asked of the callable.

    Attributes:
        names, outputs: as the caller gave them; None for the usual ones.
        noise: share of the answers' standard deviation; None estimates it.
        grows: whether the budget may grow if answers turn out to be noisy.
        units: of inputs and outputs, by name.
    """

    f: Any
    names: Sequence[str] | None
    outputs: Sequence[str] | str | None
    noise: float | None
    grows: bool
    units: Any = None


class Run:
    """What is known of the function so far; an interrupted run hands back as much.

    Attributes:
        status: how it ended.
        names, outputs: of the inputs and outputs, once the first answers are there.
        noise: the level assumed or estimated; None where answers are exact.
    """

    def __init__(self, question: Question, oracle: Oracle, rng: np.random.Generator):
        self._question, self.oracle, self.rng = question, oracle, rng
        # the same points for every seed: what they decide, steps and which inputs are too weak, must not depend on it
        self._prelude = np.random.default_rng(0)
        self.names: tuple[str, ...] = ()
        self.outputs: tuple[str, ...] = ()
        self.status = DiscoveryStatus.FINISHED
        self.noise: AnswerNoise | None = None
        self._answers: Answers | None = None
        self._search: QuerySearch | None = None
        self._bundles: dict[str, list[Bundle]] = {}
        self._insides: dict[tuple[Members, str], Inside] = {}
        self._caveats: list[str] = []
        self._units: Mapping[str, Dimension] = {}

    def findings(self) -> QueryFindings:
        """Asks until the graph is known, the budget or the time is spent, or the user interrupts."""
        try:
            search = self._prepared()
            finished = search.run()
            if isinstance(search.slopes, Autograd) and search.any_flat:
                search, finished = self._again_with_differences(search)
            if not finished:
                self.status = DiscoveryStatus.OUT_OF_QUERIES
            self._check_activity(search)
            self._look_into_wide_nodes(search)
        except (TimeIsOver, KeyboardInterrupt) as end:
            self.status = DiscoveryStatus.of(end)
        if self._search is not None and self.status in (DiscoveryStatus.OUT_OF_TIME, DiscoveryStatus.INTERRUPTED):
            self._search.conclude()
        if self._search is None or not self._search.knows_something:
            return self._nothing_known()
        seen = _Reading(self._search, self.outputs, self._bundles)
        caveats = (*seen.caveats(self.status is DiscoveryStatus.FINISHED, self._insides), *self._caveats)
        evidence = (*seen.evidence(), *(e for inside in self._insides.values() for e in inside.evidence))
        insides = {place: inside.part for place, inside in self._insides.items()}
        turns = {name: self._search.turn_table(o) for o, name in enumerate(self.outputs)}
        return QueryFindings(seen.trees, seen.same, seen.channels, insides, evidence, caveats, turns)

    # ---- before the search ---------------------------------------------------------------

    def _prepared(self) -> QuerySearch:
        d, asked = self.oracle.d, self._question
        if self.oracle.left < prelude_cost(d):
            raise self._budget_error(least_budget(d))
        answers = self._answers = first_answers(self.oracle, asked.f, self._prelude)
        self._name(len(answers.spread))
        self._check_constant(answers)
        sigma = answers.noise if asked.noise is None else asked.noise * answers.spread
        noisy = is_noisy(answers, sigma)
        if asked.grows and noisy:
            self.oracle.budget = default_budget(d, noisy)
        try:
            slopes, error = self._noisy(answers, sigma) if noisy else self._exact(answers)
        except OutOfQueries:
            raise self._budget_error(least_budget(d, noisy)) from None
        self._search = QuerySearch(self.oracle, slopes, Pool(error, noisy), self.names, self.rng)
        if self.oracle.left < self._search.unit_cost:
            raise self._budget_error(self.oracle.evaluations + self._search.unit_cost)
        return self._search

    def _again_with_differences(self, search: QuerySearch) -> tuple[QuerySearch, bool]:
        """Searches anew where autograd gave no slope for an input that acts: its graph may be cut there."""
        answers = self._answers
        assert answers is not None
        try:
            slopes = exact_differences(self.oracle, answers.spread, self._prelude)
        except OutOfQueries:
            return search, False
        pool = Pool(slopes.value_error(answers.size), noisy=False)
        again = QuerySearch(self.oracle, slopes, pool, self.names, self.rng)
        if self.oracle.left < again.unit_cost:
            return search, False
        self._search = again
        return again, again.run()

    def _exact(self, answers: Answers) -> tuple[Differentiator, np.ndarray]:
        """How to take gradients of a function that repeats its answers, and the error of one answer."""
        slopes = exact_differentiator(self.oracle, answers, self._prelude)
        return slopes, slopes.value_error(answers.size)

    def _noisy(self, answers: Answers, sigma: np.ndarray) -> tuple[Differentiator, np.ndarray]:
        if self._question.noise is None:
            sigma = measured_noise(self.oracle, self._prelude)
        sigma = np.maximum(sigma, FAINTEST_NOISE * answers.spread)  # one output may be exact
        level = float(np.max(sigma / answers.spread))
        self.noise = AnswerNoise(level, "estimated" if self._question.noise is None else "assumed")
        return noisy_differences(self.oracle, sigma, answers.spread, self._prelude), sigma

    def _budget_error(self, needed: int) -> ConfigError:
        return ConfigError(
            f"a budget of {self.oracle.budget} evaluations is too small for one round over {self.oracle.d} inputs: "
            f"at least {needed} are needed"
        )

    def _check_constant(self, answers: Answers) -> None:
        rounding = 4 * np.finfo(float).eps * answers.size
        for name, spread, level in zip(self.outputs, answers.spread, rounding, strict=True):
            if spread <= level:
                raise DataError(f"output {name!r} is constant over the bounds")

    def _check_activity(self, search: QuerySearch) -> None:
        for o, name in enumerate(self.outputs):
            active = search.active(o)
            if not len(active):
                raise DataError(f"all inputs are inert: no single input changes output {name!r}")
            if len(search.flat(o)) == len(active):
                raise DataError(
                    f"output {name!r} changes by jumps alone, so it has no gradient to follow; "
                    "queries need an output that varies continuously"
                )

    def _look_into_wide_nodes(self, search: QuerySearch) -> None:
        """Asks for parts that share inputs, and for modules of several channels."""
        try:
            for o, name in enumerate(self.outputs):
                tree, insides = search.decisions[o].tree, self._parts_of(search, o)
                bundles = [] if search.pool.noisy else find_bundles(search, o)
                kept, self._bundles[name] = smaller(tree, insides, bundles)
                self._insides |= {(members, name): inside for members, inside in kept.items()}
        except OutOfQueries:
            self._caveats.append("the budget left no room to look for modules of several channels")

    def _parts_of(self, search: QuerySearch, o: int) -> dict[Members, Inside]:
        """The wide nodes of an output that are drawn with parts, where all else is settled."""
        if self.status is not DiscoveryStatus.FINISHED or not search.decisions[o].consistent:
            return {}
        table = search.turn_table(o)
        found: dict[Members, Inside] = {}
        for node in wide_nodes(search.decisions[o].tree):
            groups, found_sum = find_query_groups(search, o, node, self._units), find_sum(search, o, node)
            inside = look_inside(node, self.outputs[o], table, found_sum, groups, _STATISTIC)
            found |= {node.members: inside} if inside is not None else {}
        return found

    # ---- what there is -------------------------------------------------------------------

    def _name(self, n_outputs: int) -> None:
        asked = self._question
        self.names, self.outputs = check_input_and_output_names(asked.names, asked.outputs, self.oracle.d, n_outputs)
        self._units = {} if asked.units is None else read_units(asked.units, (*self.names, *self.outputs))

    def _nothing_known(self) -> QueryFindings:
        """Stopped before the first round ended: every output as one prime node over all inputs."""
        if not self.outputs:
            given = self._question.outputs
            self._name(1 if given is None or isinstance(given, str) else len(given))
        everything = frozenset(self.names)
        tree = ModuleTree(everything, "prime", tuple(ModuleTree(frozenset([name])) for name in self.names))
        evidence = tuple(Evidence(everything, "prime", (o,), _STATISTIC, math.nan) for o in self.outputs)
        caveat = "the search ended before its first round; nothing is known of the structure"
        return QueryFindings(dict.fromkeys(self.outputs, tree), never_shared, {}, {}, evidence, (caveat,))


# ---- from decisions to findings -------------------------------------------------------------------

_STATISTIC = "direction change"
_WHOLE = "are all inputs that act"


def _statement(channels: int) -> str:
    numbers = "one number" if channels == 1 else f"{channels} numbers"
    return f"act through {numbers}: no other input was seen to change how they act together"


def _figures(turn: float, threshold: float) -> str:
    return f"their slopes turn by {turn:.1e} at most, rounding and noise explain up to {threshold:.1e}"


@dataclass(frozen=True)
class QueryFindings:
    """Trees, which of their modules are shared or pass several numbers, what stands inside, evidence, caution."""

    trees: Mapping[str, ModuleTree]
    same: SameModule
    channels: Mapping[tuple[Members, str], int]
    insides: Mapping[tuple[Members, str], Part]
    evidence: tuple[Evidence, ...]
    caveats: tuple[str, ...]
    turns: Tables = field(default_factory=dict)


class _Reading:
    """What a search has seen, read off its decisions.

    Args:
        bundles: per output, the groups that pass several channels.
    """

    def __init__(self, search: QuerySearch, outputs: tuple[str, ...], bundles: Mapping[str, list[Bundle]]):
        self._search, self._bundles = search, bundles
        self._number = {name: o for o, name in enumerate(outputs)}
        self._position = {name: i for i, name in enumerate(search.names)}
        self._wide = {(b.members, output): b for output, found in bundles.items() for b in found}
        self.trees = {
            name: with_bundles(search.decisions[o].tree, bundles.get(name, [])) for name, o in self._number.items()
        }
        self._same: dict[tuple[Members, str, str], bool] = {}

    @property
    def channels(self) -> dict[tuple[Members, str], int]:
        """How many numbers the wide modules pass on."""
        return {key: bundle.channels for key, bundle in self._wide.items()}

    def evidence(self) -> tuple[Evidence, ...]:
        """One entry per inner module and function of it."""
        recurrence = {name: self._recurrence(name) for name in self.trees}
        of = {(m.members, name): m for name, tree in self.trees.items() for m in tree.inner}
        return tuple(
            self._evidence(of[members, users[0]], users, min(recurrence[u].get(members, math.nan) for u in users))
            for members, users in users_of_modules(self.trees, self.same)
        )

    def _evidence(self, module: ModuleTree, users: tuple[str, ...], recurrence: float) -> Evidence:
        assert module.kind is not None
        bundle = self._wide.get((module.members, users[0]))
        if bundle is None:
            value = max(self._turn(module.members, u) for u in users)
            threshold = max(self._search.decisions[self._number[u]].threshold / self._unit(u) for u in users)
        else:
            value, threshold = bundle.beyond / self._unit(users[0]), bundle.threshold / self._unit(users[0])
        channels = 1 if bundle is None else bundle.channels
        is_whole = any(module.members == self.trees[user].members for user in users)
        return Evidence(
            module.members,
            module.kind,
            users,
            _STATISTIC,
            value,
            threshold=threshold,
            recurrence=recurrence,
            channels=channels,
            parts=len(module.children),
            statement=_WHOLE if is_whole else _statement(channels),
            figures="" if is_whole else _figures(value, threshold),
        )

    def _unit(self, output: str) -> float:
        return self._search.unit_turn(self._number[output])

    def _turn(self, members: Members, output: str) -> float:
        """The largest turn of the module's gradient by an input outside it, in radians for usual inputs."""
        o = self._number[output]
        inside = np.array([self._position[m] for m in members])
        outside = np.setdiff1d(self._search.active(o), inside)
        scores = self._search.pool.turn_scores()[o][np.ix_(inside, inside, outside)]
        return float(scores.max(initial=0.0)) / self._unit(output)

    def _recurrence(self, output: str) -> dict[Members, float]:
        """Share of resamples of the units in which each module comes back with its kind."""
        o = self._number[output]
        search, names = self._search, self._search.active_names(o)
        rng = np.random.default_rng(0)
        n = len(search.pool.units)
        counts = dict.fromkeys((_signature(m) for m in search.decisions[o].tree.inner), 0)
        for _ in range(RESAMPLES_OF_UNITS):
            scores = search.pool.turn_scores(rng.integers(n, size=n).tolist())[o]
            turned = search.scores_between_active(o, scores) > search.decisions[o].threshold
            for module in close(turned, names).tree.inner:
                if _signature(module) in counts:
                    counts[_signature(module)] += 1
        return {members: count / RESAMPLES_OF_UNITS for (members, _), count in counts.items()}

    def same(self, members: Members, one: str, other: str) -> bool:
        """Whether gradients are parallel; modules of several channels are never taken for the same."""
        if any((members, o) in self._wide for o in (one, other)):
            return False
        key = (members, one, other)
        if key not in self._same:
            inside = np.array(sorted(self._position[m] for m in members))
            a, b = self._number[one], self._number[other]
            turn = turn_between_outputs(self._search.pool, inside, a, b)
            decisions = self._search.decisions
            self._same[key] = turn <= max(decisions[a].threshold, decisions[b].threshold)
        return self._same[key]

    # ---- caveats -------------------------------------------------------------------------

    def caveats(self, finished: bool, drawn: Collection[tuple[Members, str]]) -> tuple[str, ...]:
        """What a reader must know of every output; ``drawn`` are the wide nodes whose parts share inputs."""
        found = [self._caveats_of(name, finished, (tree.members, name) in drawn) for name, tree in self.trees.items()]
        return tuple(sentence for sentences in found for sentence in sentences)

    def _caveats_of(self, output: str, finished: bool, is_drawn: bool) -> list[str]:
        search, o = self._search, self._number[output]
        decision, tree = search.decisions[o], self.trees[output]
        sentences = []
        if len(tree.children) > 2 and tree.kind == "prime" and not tree.modules and not is_drawn:
            sentences.append(f"{output}: no structure was found, the graph is one prime node")
        if not decision.consistent:
            sentences.append(
                f"{output}: some modules contradict each other (kinks that hide inputs, effects near the rounding "
                "error); more queries may resolve them"
            )
        elif not finished:
            sentences.append(f"{output}: two halves of the answers do not give the same graph yet")
        if decision.gap < (THIN_GAP if not search.pool.noisy else search.limits.clear_gap):
            sentences.append(
                f"{output}: the gap between turns and no turns is thin, a factor of {decision.gap:.1f} in the threshold"
            )
        if search.smallest_visible_turn(o) > TURN:
            sentences.append(
                f"{output}: weak interactions would not be seen, for directions are known to "
                f"{search.smallest_visible_turn(o):.2g} radians only"
            )
        for name, (seen, needed) in search.set_aside(o).items():
            sentences.append(
                f"{output}: {name} is set aside and not in the graph: the largest change of {output} that was seen "
                f"when it moved is {seen:.2e}, and rounding hides the place of what changes it by less than about "
                f"{needed:.2e}"
            )
        flat = [search.names[i] for i in search.flat(o)]
        if flat:
            sentences.append(
                f"{output}: no slope could be measured along {', '.join(flat)} (jumps, or an effect lost in rounding); "
                "its place in the graph is a guess"
            )
        return sentences


def _signature(module: ModuleTree) -> tuple[Members, str | None]:
    return module.members, module.kind if len(module.children) > 2 else None

"""One discovery by queries, from the first question to the record."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from compsparse.discovery.queries.channels import Bundle, find_bundles
from compsparse.discovery.queries.design import n_points
from compsparse.discovery.queries.gradients import Autograd, Differentiator
from compsparse.discovery.queries.oracle import Oracle, OutOfQueries, OutOfTime
from compsparse.discovery.queries.outcome import Outcome
from compsparse.discovery.queries.pool import Pool
from compsparse.discovery.queries.prelude import (
    Answers,
    exact_differentiator,
    first_answers,
    is_noisy,
    measured_noise,
    prelude_cost,
)
from compsparse.discovery.queries.request import output_names
from compsparse.discovery.queries.search import Search
from compsparse.discovery.queries.steps import calibration_cost, exact_differences, noisy_differences
from compsparse.discovery.record import Cost, Discovery, DiscoveryStatus, Evidence, Noise
from compsparse.errors import ConfigError, DataError
from compsparse.graph import FunctionGraph
from compsparse.graph.function_graph import Node

_FAINTEST_NOISE = 1e-6


def default_budget(d: int, noisy: bool) -> int:
    """Evaluations that suffice for most functions of d inputs; easy ones stop far below."""
    return int((400_000 if noisy else 100_000) * max(1.0, d / 8) ** 2)


def least_budget(d: int, noisy: bool = False) -> int:
    """Evaluations of one round by differences, with all that comes before it."""
    readings = 2 if noisy else 1
    return prelude_cost(d, noisy) + calibration_cost(d, noisy) + readings * n_points(d) * (2 * d + 1)


class Run:
    """What is known of the function so far; an interrupted run hands back as much."""

    def __init__(
        self,
        oracle: Oracle,
        names: tuple[str, ...],
        outputs: Sequence[str] | str | None,
        noise: float | None,
        rng: np.random.Generator,
    ):
        self.oracle, self.names, self._asked_outputs, self.rng = oracle, names, outputs, rng
        self._assumed_noise = noise
        self.outputs: tuple[str, ...] = ()
        self.noise: Noise | None = None
        self._answers: Answers | None = None
        self.search: Search | None = None
        self.bundles: dict[str, list[Bundle]] = {}
        self.caveats: list[str] = []

    def discover(self, f: Any, grow_budget: bool) -> Discovery:
        status = DiscoveryStatus.FINISHED
        try:
            search = self._prepared(f, grow_budget)
            finished = search.run()
            if isinstance(search.slopes, Autograd) and search.any_flat:
                search, finished = self._again_with_differences(search)
            if not finished:
                status = DiscoveryStatus.OUT_OF_QUERIES
            self._check_activity(search)
            self._look_for_bundles(search)
        except OutOfTime:
            status = DiscoveryStatus.OUT_OF_TIME
        except KeyboardInterrupt:
            status = DiscoveryStatus.INTERRUPTED
        if self.search is not None and status in (DiscoveryStatus.OUT_OF_TIME, DiscoveryStatus.INTERRUPTED):
            self.search.conclude()
        return self._record(status)

    # ---- before the search ---------------------------------------------------------------

    def _prepared(self, f: Any, grow_budget: bool) -> Search:
        d = len(self.names)
        if self.oracle.left < prelude_cost(d):
            raise self._budget_error(least_budget(d))
        answers = self._answers = first_answers(self.oracle, f, self.rng)
        self.outputs = output_names(self._asked_outputs, len(answers.spread), self.names)
        self._check_constant(answers)
        sigma = answers.noise if self._assumed_noise is None else self._assumed_noise * answers.spread
        noisy = is_noisy(answers, sigma)
        if grow_budget and noisy:
            self.oracle.budget = default_budget(d, noisy)
        try:
            slopes, error = self._noisy(answers, sigma) if noisy else self._exact(answers)
        except OutOfQueries:
            raise self._budget_error(least_budget(d, noisy)) from None
        self.search = Search(self.oracle, slopes, Pool(error, noisy), self.names, self.rng)
        if self.oracle.left < self.search.unit_cost:
            raise self._budget_error(self.oracle.evaluations + self.search.unit_cost)
        return self.search

    def _again_with_differences(self, search: Search) -> tuple[Search, bool]:
        """Searches anew where autograd gave no slope for an input that acts: its graph may be cut there."""
        answers = self._answers
        assert answers is not None
        try:
            slopes = exact_differences(self.oracle, answers.spread, self.rng)
        except OutOfQueries:
            return search, False
        pool = Pool(slopes.value_error(answers.size), noisy=False)
        again = Search(self.oracle, slopes, pool, self.names, self.rng)
        if self.oracle.left < again.unit_cost:
            return search, False
        self.search = again
        return again, again.run()

    def _exact(self, answers: Answers) -> tuple[Differentiator, np.ndarray]:
        """How to take gradients of a function that repeats its answers, and the error of one answer."""
        slopes = exact_differentiator(self.oracle, answers, self.rng)
        return slopes, slopes.value_error(answers.size)

    def _noisy(self, answers: Answers, sigma: np.ndarray) -> tuple[Differentiator, np.ndarray]:
        if self._assumed_noise is None:
            sigma = measured_noise(self.oracle, self.rng)
        sigma = np.maximum(sigma, _FAINTEST_NOISE * answers.spread)  # one output may be exact
        level = float(np.max(sigma / answers.spread))
        self.noise = Noise(level, "estimated" if self._assumed_noise is None else "assumed")
        return noisy_differences(self.oracle, sigma, answers.spread, self.rng), sigma

    def _budget_error(self, needed: int) -> ConfigError:
        return ConfigError(
            f"a budget of {self.oracle.budget} evaluations is too small for one round over {len(self.names)} inputs: "
            f"at least {needed} are needed"
        )

    def _check_constant(self, answers: Answers) -> None:
        rounding = 4 * np.finfo(float).eps * answers.size
        for name, spread, level in zip(self.outputs, answers.spread, rounding, strict=True):
            if spread <= level:
                raise DataError(f"output {name!r} is constant over the bounds")

    def _check_activity(self, search: Search) -> None:
        for o, name in enumerate(self.outputs):
            active = search.active(o)
            if not len(active):
                raise DataError(f"all inputs are inert: no single input changes output {name!r}")
            if len(search.flat(o)) == len(active):
                raise DataError(
                    f"output {name!r} changes by jumps alone, so it has no gradient to follow; "
                    "queries need an output that varies continuously"
                )

    def _look_for_bundles(self, search: Search) -> None:
        if search.pool.noisy:
            return
        try:
            self.bundles = {name: find_bundles(search, o) for o, name in enumerate(self.outputs)}
        except OutOfQueries:
            self.caveats.append("the budget left no room to look for modules of several channels")

    # ---- the record ----------------------------------------------------------------------

    def _record(self, status: DiscoveryStatus) -> Discovery:
        if self.search is None or not self.search.knows_something:
            graph, evidence, caveats = self._nothing_known()
        else:
            outcome = Outcome(self.search, self.outputs, self.bundles)
            graph, evidence = outcome.graph(), outcome.evidence()
            caveats = outcome.caveats(status is DiscoveryStatus.FINISHED)
        return Discovery(
            graph=graph,
            evidence=evidence,
            status=status,
            cost=Cost(self.oracle.seconds, self.oracle.evaluations, self.oracle.budget),
            source="queries",
            noise=self.noise,
            caveats=(*caveats, *self.caveats),
        )

    def _nothing_known(self) -> tuple[FunctionGraph, tuple[Evidence, ...], tuple[str, ...]]:
        """Stopped before the first round ended: every output as one prime node over all inputs."""
        outputs = self.outputs or output_names(self._asked_outputs, 1, self.names)
        graph = FunctionGraph(self.names, [Node(o, self.names, kind="prime") for o in outputs], outputs)
        members = frozenset(self.names)
        evidence = tuple(Evidence(members, "prime", (o,), "direction change", math.nan) for o in outputs)
        return graph, evidence, ("the search ended before its first round; nothing is known of the structure",)

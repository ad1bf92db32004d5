"""The way in: checks what was asked, runs the search, hands back the record."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from compsparse.discovery.queries.channels import Bundle, find_bundles
from compsparse.discovery.queries.design import n_points
from compsparse.discovery.queries.gradients import Differentiator
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
from compsparse.discovery.queries.request import check_budget, check_names, check_noise, output_names, read_bounds
from compsparse.discovery.queries.search import Search
from compsparse.discovery.queries.steps import calibration_cost, noisy_differences
from compsparse.discovery.record import Cost, Discovery, DiscoveryStatus, Evidence, Noise
from compsparse.errors import ConfigError, DataError
from compsparse.graph import FunctionGraph
from compsparse.graph.function_graph import Node

if TYPE_CHECKING:
    from compsparse.training.progress import Progress


def default_budget(d: int, noisy: bool) -> int:
    """Evaluations that suffice for most functions of d inputs; easy ones stop far below."""
    return int((400_000 if noisy else 100_000) * max(1.0, d / 8) ** 2)


def from_queries(
    f: Callable[[Any], Any],
    bounds: Sequence[tuple[float, float]],
    names: Sequence[str] | None = None,
    outputs: Sequence[str] | str | None = None,
    *,
    budget: int | None = None,
    noise: float | None = None,
    random_state: int | np.random.Generator | None = None,
    progress: Progress | None = None,
    time_limit: float | None = None,
) -> Discovery:
    """Finds the function graph of a callable by asking for its values, and its gradients where torch gives them.

    A set S of inputs is a module with one channel, f(x) = F(g(x_S), x_rest), exactly when the direction of
    grad_S f does not depend on x_rest (weak separability, Leontief 1947, Sono 1961). Directions are compared
    before and after swaps of one input across its range, so that kinks show as well as curvature.

    Args:
        f: takes an array ``(n, d)`` (numpy, or a torch tensor) and answers ``(n,)`` or ``(n, k)``.
        bounds: (low, high) of every input.
        names: of the inputs; x0, x1, … by default.
        outputs: names of the outputs; y, or y0, y1, … by default.
        budget: most rows asked; a gradient by autograd counts as one. By default it grows with d.
        noise: standard deviation of the noise in the answers as a share of their own; None estimates it
            from repeated answers.
        time_limit: seconds.

    Raises:
        DataError: the function fails or gives answers that cannot be used.
        ConfigError: bounds, names, budget or noise make no sense.

    >>> found = from_queries(lambda x: x[:, 0] * x[:, 1] + np.sin(x[:, 2]), [(0, 1)] * 4, random_state=0)
    >>> sorted(map(sorted, found.modules)), found.inert
    ([['x0', 'x1']], ('x3',))
    """
    box = read_bounds(bounds)
    input_names = check_names(names, len(box), "input")
    check_noise(noise)
    if time_limit is not None and not time_limit > 0:
        raise ConfigError(f"time_limit must be a positive number of seconds, got {time_limit!r}")
    check_budget(budget)
    if not callable(f):
        raise DataError(f"expected a callable, got {type(f).__name__}")
    oracle = Oracle(f, box, default_budget(len(box), False) if budget is None else budget, time_limit, progress)
    run = _Run(oracle, input_names, outputs, noise, np.random.default_rng(random_state))
    return run.discover(f, grow_budget=budget is None)


def _least_budget(d: int) -> int:
    """Evaluations of one round by differences, with all that comes before it."""
    return prelude_cost(d) + calibration_cost(d) + n_points(d) * (2 * d + 1)


class _Run:
    """One discovery, from the first question to the record."""

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
        self.search: Search | None = None
        self.bundles: dict[str, list[Bundle]] = {}
        self.caveats: list[str] = []

    def discover(self, f: Any, grow_budget: bool) -> Discovery:
        status = DiscoveryStatus.FINISHED
        try:
            self._prepare(f, grow_budget)
            assert self.search is not None
            if not self.search.run():
                status = DiscoveryStatus.OUT_OF_QUERIES
            self._check_activity()
            self._look_for_bundles()
        except OutOfTime:
            status = DiscoveryStatus.OUT_OF_TIME
        except KeyboardInterrupt:
            status = DiscoveryStatus.INTERRUPTED
        return self._record(status)

    def _prepare(self, f: Any, grow_budget: bool) -> None:
        d = len(self.names)
        if self.oracle.left < prelude_cost(d):
            raise self._budget_error(_least_budget(d))
        answers = first_answers(self.oracle, f, self.rng)
        self.outputs = output_names(self._asked_outputs, len(answers.spread), self.names)
        self._check_constant(answers)
        if grow_budget and is_noisy(answers, self._sigma(answers)):
            self.oracle.budget = default_budget(d, True)
        try:
            slopes, error = self._slopes(answers)
        except OutOfQueries:
            raise self._budget_error(_least_budget(d)) from None
        self.search = Search(self.oracle, slopes, Pool(error, self.noise is not None), self.names, self.rng)
        if self.oracle.left < self.search.unit_cost:
            raise self._budget_error(self.oracle.evaluations + self.search.unit_cost)

    def _sigma(self, answers: Answers) -> np.ndarray:
        return answers.noise if self._assumed_noise is None else self._assumed_noise * answers.spread

    def _slopes(self, answers: Answers) -> tuple[Differentiator, np.ndarray]:
        """How to take gradients, and the error of one answer."""
        sigma = self._sigma(answers)
        if not is_noisy(answers, sigma):
            slopes = exact_differentiator(self.oracle, answers, self.rng)
            return slopes, slopes.value_error(answers.size)
        if self._assumed_noise is None:
            sigma = np.maximum(measured_noise(self.oracle, self.rng), np.finfo(float).eps * answers.size)
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

    def _check_activity(self) -> None:
        assert self.search is not None
        for o, name in enumerate(self.outputs):
            active = self.search.active(o)
            if not len(active):
                raise DataError(f"all inputs are inert: no single input changes output {name!r}")
            if len(self.search.flat(o)) == len(active):
                raise DataError(
                    f"output {name!r} changes by jumps alone, so it has no gradient to follow; "
                    "queries need an output that varies continuously"
                )

    def _look_for_bundles(self) -> None:
        assert self.search is not None
        if self.search.pool.noisy:
            return
        try:
            self.bundles = {name: find_bundles(self.search, o) for o, name in enumerate(self.outputs)}
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

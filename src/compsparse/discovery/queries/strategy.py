"""Function graphs of callables: what may be asked for, and the search it starts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Required, TypedDict, Unpack

import numpy as np

from compsparse.boxes import Bounds, read_named_box
from compsparse.checks import (
    RandomState,
    check_count,
    check_names,
    check_number,
    generator_from,
    input_names,
)
from compsparse.clock import Deadline
from compsparse.discovery.queries.limits import FINEST_SHARE
from compsparse.discovery.queries.oracle import Oracle
from compsparse.discovery.queries.run import Question, Run, default_budget
from compsparse.discovery.record import Cost, Discovery
from compsparse.discovery.runs.simulator import Simulator
from compsparse.discovery.strategy import Findings, assembled, check_no_target, is_function, known_options
from compsparse.errors import ConfigError, DataError
from compsparse.progress import Progress, check_progress
from compsparse.surroundings import usual_settings


class QuerySettings(TypedDict, total=False):
    """How a callable may be asked.

    Attributes:
        budget: most rows asked, a gradient by autograd counting as one; by default it grows with the number of inputs.
        noise: standard deviation of the noise in the answers as a share of their own; None estimates it
            from repeated answers.
        random_state: a seed, or a generator of random numbers.
        progress: hears how much of the budget is spent.
        time_limit: seconds.
        units: of inputs and outputs, such as ``{"rho": "kg/m^3"}``: groups that are pure numbers are preferred.
        n_jobs: processes that answer at once; -1 takes all cores.
        store: a file that keeps the answers, so that the same rows are not asked again; give a random_state with it.
    """

    budget: int | None
    noise: float | None
    random_state: RandomState
    progress: Progress | None
    time_limit: float | None
    units: Mapping[str, str] | None
    n_jobs: int
    store: str | Path | None


class QueryOptions(QuerySettings, total=False):
    """What may be given beside a callable: also how it is asked, see :class:`QuerySettings`.

    Attributes:
        bounds: (low, high) of every input, in order or by name, or one pair for all that are named.
        names: of the inputs; x0, x1, … by default.
        outputs: names of the outputs; y, or y0, y1, … by default.
    """

    bounds: Required[Bounds]
    names: Sequence[str] | None
    outputs: Sequence[str] | str | None


@usual_settings()
def from_queries(
    f: Callable[[Any], Any],
    bounds: Bounds,
    names: Sequence[str] | None = None,
    outputs: Sequence[str] | str | None = None,
    **options: Unpack[QuerySettings],
) -> Discovery:
    """Finds the function graph of a callable by asking for its values, and its gradients where torch gives them.

    A set S of inputs is a module with one channel, f(x) = F(g(x_S), x_rest), exactly when the direction of
    grad_S f does not depend on x_rest (weak separability, Leontief 1947, Sono 1961). Directions are compared
    before and after swaps of one input across its range, so that kinks show as well as curvature.

    Args:
        f: takes an array ``(n, d)`` (numpy, or a torch tensor) and answers ``(n,)`` or ``(n, k)``.
        bounds: (low, high) of every input, in order or by name, or one pair for all that are named.
        names: of the inputs; x0, x1, … by default.
        outputs: names of the outputs; y, or y0, y1, … by default.
        options: what :class:`QuerySettings` lists.

    Raises:
        DataError: the function fails or gives answers that cannot be used.
        ConfigError: bounds, names, budget, noise or time limit make no sense.

    >>> found = from_queries(lambda x: x[:, 0] * x[:, 1] + np.sin(x[:, 2]), [(0, 1)] * 4, random_state=0)
    >>> sorted(map(sorted, found.modules)), found.inert
    ([['x0', 'x1']], ('x3',))
    """
    known = known_options(QUERIES, options)
    return assembled(QUERIES.search(f, bounds=bounds, names=names, outputs=outputs, **known))


class QueryStrategy:
    """Asks a callable at points of a box."""

    name = "queries"
    options = QueryOptions

    def takes(self, data: Any, y: Any, options: Mapping[str, Any]) -> bool:
        """A callable with bounds, and no target beside it."""
        return is_function(data) and y is None and options.get("bounds") is not None

    def search(self, data: Any, y: Any = None, **options: Unpack[QueryOptions]) -> Findings:
        """Asks until the graph is known or the budget is spent; options as in :func:`from_queries`."""
        check_no_target(y, "a callable")
        if options.get("bounds") is None:
            raise ConfigError("a callable needs bounds=[(low, high), …], or n_inputs=… if it is Boolean")
        box, names = _named_box(options["bounds"], options.get("names"))
        question = _question(data, names, len(box), options)
        budget = default_budget(len(box), noisy=False) if question.grows else check_count("budget", options["budget"])
        deadline = Deadline.after(options.get("time_limit"))
        rng = generator_from(options.get("random_state"))
        if not callable(data):
            raise DataError(f"expected a callable, got {type(data).__name__}")
        if options.get("store") is not None or options.get("n_jobs", 1) != 1:
            called = names or input_names(len(box))
            data = Simulator(data, called, n_jobs=options.get("n_jobs", 1), store=options.get("store"))
        oracle = Oracle(data, box, budget, deadline, check_progress(options.get("progress")))
        run = Run(question, oracle, rng)
        found = run.findings()
        return Findings(
            source=self.name,
            account="found by asking the function",
            inputs=run.names,
            trees=found.trees,
            same=found.same,
            channels=found.channels,
            insides=found.insides,
            evidence=found.evidence,
            status=run.status,
            cost=Cost(oracle.seconds, oracle.evaluations, oracle.budget),
            noise=run.noise,
            caveats=found.caveats,
            advice=(
                "No model was fitted to the answers: n_runs=500 runs the function for a table, and gives a surrogate "
                "with its error and the importances of the inputs.",
            ),
            turns=found.turns,
        )


QUERIES = QueryStrategy()


def _question(f: Any, names: Sequence[str] | None, d: int, options: QueryOptions) -> Question:
    outputs, noise = options.get("outputs"), options.get("noise")
    if names is not None:
        names = check_names(names, d, "input")
    if noise is not None:
        noise = check_number("noise, a share of the answers' standard deviation,", noise, least=0, below=1)
    return Question(f, names, outputs, noise, grows=options.get("budget") is None, units=options.get("units"))


def _named_box(bounds: Any, names: Sequence[str] | None) -> tuple[np.ndarray, Sequence[str] | None]:
    """The bounds as an array ``(d, 2)`` that leaves room for steps, and the names, which bounds may give."""
    box, names = read_named_box(bounds, names)
    for name, (low, high) in zip(names or input_names(len(box)), box, strict=False):
        if not math.isfinite(high - low):
            raise ConfigError(f"bounds of input {name!r} must be a finite distance apart, got ({low:g}, {high:g})")
        finest = FINEST_SHARE * (high - low)
        if low + finest == low or high - finest == high:
            raise ConfigError(f"bounds of input {name!r} are closer than floats can resolve: ({low!r}, {high!r})")
    return np.array(box), names

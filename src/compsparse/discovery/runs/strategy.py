"""Function graphs of simulators whose runs are dear: runs at designed points, then a search in their table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Required, TypedDict, Unpack

import numpy as np

from compsparse.boxes import Bounds, Side, read_named_box
from compsparse.checks import RandomState, check_count, check_names, check_time_limit, input_names, own_seed
from compsparse.clock import Deadline, TimeIsOver
from compsparse.discovery.data.strategy import DATA
from compsparse.discovery.record import Discovery
from compsparse.discovery.runs.record import Runs
from compsparse.discovery.runs.simulator import Simulator, needed_arguments
from compsparse.discovery.strategy import (
    Findings,
    Weighed,
    assembled,
    check_no_target,
    is_function,
    known_options,
)
from compsparse.errors import ConfigError, DataError
from compsparse.progress import Progress, begin_stage, check_progress
from compsparse.surroundings import usual_settings
from compsparse.tables.columns import Table

if TYPE_CHECKING:
    from compsparse.models.fitted_graph import FittedGraph
    from compsparse.training import FitConfig

_FEWEST_RUNS, _MOST_RUNS = 40, 10**6
_TEST_SHARE, _MOST_TEST_RUNS = 0.15, 1000
_SHARE_FOR_RUNS = 0.6
"""Of the time limit, after which no further runs begin."""
_EVALUATIONS = 40_000


class RunSettings(TypedDict, total=False):
    """How a simulator is run, and what is searched in its runs.

    Attributes:
        n_jobs: processes that run at once; -1 takes all cores.
        store: a file that keeps the answers: the same call goes on where it was interrupted, and asks nothing twice.
        fit_config: how the final model is fitted.
        width: of the nodes of the final model; 24 by default.
        effort: multiplies the training steps of every trial in the search; 1 by default.
        random_state: a seed, or a generator; with a store and without a seed, the points are those of the last time.
        progress: hears how many runs are done, then how far the search is.
        time_limit: seconds for everything.
    """

    n_jobs: int
    store: str | Path | None
    fit_config: FitConfig | None
    width: int
    effort: float
    random_state: RandomState
    progress: Progress | None
    time_limit: float | None


class RunsOptions(RunSettings, total=False):
    """What may be given beside a simulator: also how it is run, see :class:`RunSettings`.

    Attributes:
        bounds: (low, high) of every input, in order or by name, or one pair for all that are named.
        n_runs: how often the simulator is run, its failed runs counted.
        names: of the inputs; those of its arguments, or x0, x1, … by default.
        outputs: names of the outputs; y, or y0, y1, … by default.
    """

    bounds: Required[Bounds]
    n_runs: Required[int]
    names: Sequence[str] | None
    outputs: Sequence[str] | str | None


@usual_settings()
def from_runs(
    f: Callable[..., Any],
    bounds: Bounds,
    n_runs: int,
    names: Sequence[str] | None = None,
    outputs: Sequence[str] | str | None = None,
    **options: Unpack[RunSettings],
) -> Discovery:
    """Finds the function graph of a simulator from some hundred runs, and fits a model that stands for it.

    The runs are at quasi-random points of the box. Runs that fail or answer NaN are left out and counted. A part of
    the runs is kept apart for the error of ``found.surrogate()``; ``found.next_points(n)`` says where to run next.

    Args:
        f: of an array (rows, inputs), of a data frame, of one row, of a column or of a number for each input; the form
            is found out.
        bounds: (low, high) of every input, in order or by name, or one pair for all that are named.
        n_runs: how often the simulator is run.
        names, outputs: of the inputs and of the outputs.
        options: what :class:`RunSettings` lists.

    Raises:
        ConfigError: bounds, names or an option make no sense.
        DataError: all runs fail, or most.
        StoreError: the store cannot be used, or holds answers of other inputs.
    """
    known = known_options(RUNS, options)
    return assembled(RUNS.search(f, bounds=bounds, n_runs=n_runs, names=names, outputs=outputs, **known))


class RunsStrategy:
    """Runs a simulator at designed points, and searches the table of its answers."""

    name = "runs"
    options = RunsOptions

    def takes(self, data: Any, y: Any, options: Mapping[str, Any]) -> bool:
        """A callable with bounds and a number of runs."""
        return is_function(data) and y is None and options.get("n_runs") is not None

    def search(self, data: Any, y: Any = None, **options: Unpack[RunsOptions]) -> Findings:
        """Runs, then searches; options as in :func:`from_runs`."""
        check_no_target(y, "a simulator")
        if options.get("bounds") is None:
            raise ConfigError("a simulator needs bounds=[(low, high), …]")
        if not is_function(data):
            raise DataError(f"expected a callable, got {type(data).__name__}")
        names, sides = _named_sides(data, options)
        n_runs = check_count("n_runs", options["n_runs"], least=_FEWEST_RUNS, most=_MOST_RUNS)
        deadline = Deadline.after(check_time_limit(options.get("time_limit")))
        store, given = options.get("store"), options.get("random_state")
        seed = 0 if store is not None and given is None else own_seed(given)
        progress = check_progress(options.get("progress"))
        begin_stage(progress, "running the simulator")
        runs, simulator = _made(data, names, sides, n_runs, seed, deadline, progress, options)
        own = ("fit_config", "width", "effort", "outputs")
        found = DATA.search(
            Table(names, tuple(runs.X[~runs.is_test].T), int((~runs.is_test).sum())),
            runs.y[~runs.is_test],
            classification=False,
            random_state=seed,
            progress=progress,
            time_limit=max(deadline.left, 1.0) if deadline.is_set else None,
            **{key: value for key, value in options.items() if key in own and value is not None},  # type: ignore[arg-type]
        )
        return replace(
            found,
            source=self.name,
            account=f"found in {runs.n_runs:,} runs of the simulator",
            cost=replace(found.cost, evaluations=simulator.n_asked, budget=n_runs),
            caveats=(*_about_runs(runs, simulator, n_runs), *found.caveats),
            weigh=lambda model: _weighed(model, sides, seed),
            runs=runs,
        )


RUNS = RunsStrategy()


def _named_sides(f: Any, options: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[Side, ...]]:
    arguments = needed_arguments(f)
    names = options.get("names")
    if names is None and len(arguments) > 1:
        names = arguments
    sides, named = read_named_box(options["bounds"], names)
    return tuple(check_names(input_names(len(sides)) if named is None else named, len(sides), "input")), sides


def _made(
    f: Any,
    names: tuple[str, ...],
    sides: tuple[Side, ...],
    n_runs: int,
    seed: int,
    deadline: Deadline,
    progress: Progress,
    options: Mapping[str, Any],
) -> tuple[Runs, Simulator]:
    """The runs, with those that are kept apart for the test."""
    from scipy.stats import qmc

    low, high = np.array(sides).T
    # a power of two, as such points need it; more runs later begin with the same points
    unit = qmc.Sobol(len(low), seed=seed).random(1 << (n_runs - 1).bit_length())[:n_runs]
    points = np.clip(low + unit * (high - low), low, high)
    simulator = Simulator(f, names, n_jobs=options.get("n_jobs", 1), store=options.get("store"))
    for_runs = deadline.within(_SHARE_FOR_RUNS * deadline.left) if deadline.is_set else deadline
    parts: list[np.ndarray] = []
    try:
        for part in np.array_split(points, max(n_runs // 16, 1)):
            for_runs.check()
            parts.append(simulator(part))
            progress.update(sum(map(len, parts)), n_runs, "running the simulator")
    except (TimeIsOver, KeyboardInterrupt):
        if sum(map(len, parts)) < _FEWEST_RUNS:
            raise
    finally:
        simulator.close()
    y = np.concatenate(parts)
    kept = np.isfinite(y).all(1)
    if kept.sum() < max(_FEWEST_RUNS / 2, len(kept) / 2):
        raise DataError(
            f"the simulator failed in {int((~kept).sum())} of {len(kept)} runs, first with {simulator.problem}: shrink "
            "the bounds to where it runs"
        )
    is_test = np.zeros(int(kept.sum()), dtype=bool)
    n_test = min(int(_TEST_SHARE * len(is_test)), _MOST_TEST_RUNS)
    is_test[np.random.default_rng(seed).permutation(len(is_test))[:n_test]] = True
    X = points[: len(y)][kept]
    return Runs(names, sides, X, y[kept], is_test, int((~kept).sum()), simulator.problem), simulator


def _about_runs(runs: Runs, simulator: Simulator, n_runs: int) -> tuple[str, ...]:
    told = []
    if runs.n_failed:
        told.append(
            f"{runs.n_failed} of {runs.n_runs + runs.n_failed} runs failed and were left out; "
            f"the first with {runs.problem}"
        )
    if simulator.n_known:
        told.append(f"{simulator.n_known} answers were taken from the store and not asked again")
    if runs.n_runs + runs.n_failed < n_runs:
        told.append(f"time was over after {runs.n_runs + runs.n_failed} of {n_runs} runs")
    return tuple(told)


def _weighed(model: FittedGraph, sides: tuple[Side, ...], seed: int) -> Weighed:
    """Sobol indices of the model over the box."""
    from compsparse.models.influence.entry import importances

    if len(model.graph.unread) == model.graph.n_inputs:
        return Weighed()
    try:
        return Weighed(importances(model, bounds=list(sides), n_evaluations=_EVALUATIONS, random_state=seed))
    except (ConfigError, DataError) as error:
        return Weighed(problem=f"importances were not measured: {error}")
    except KeyboardInterrupt:
        return Weighed(problem="importances were not measured: the search was interrupted")

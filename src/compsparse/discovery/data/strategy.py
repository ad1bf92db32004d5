"""A function graph from a table: search, verify, share between outputs, fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from compsparse.checks import RandomState
from compsparse.clock import Deadline, now
from compsparse.discovery.data.limits import MUCH_LEFT, USUAL_FIT_SHARE
from compsparse.discovery.data.request import TableRequest, read_request
from compsparse.discovery.record import Cost, Discovery
from compsparse.discovery.strategy import Findings, assembled, is_function, known_options
from compsparse.errors import ConfigError
from compsparse.graph import FunctionGraph
from compsparse.progress import Progress
from compsparse.surroundings import usual_settings

if TYPE_CHECKING:
    from compsparse.discovery.strategy import Fitted
    from compsparse.models.fitted_graph import FittedGraph
    from compsparse.models.scores import PredictWith
    from compsparse.training import FitConfig


class DataOptions(TypedDict, total=False):
    """What may be given beside a table and its target.

    Attributes:
        names: of the columns, in the place of their own; x0, x1, … for an array.
        outputs: names of the targets; their own, or y, or y0, y1, … by default.
        sample_weight: one number >= 0 per row.
        na: words that mean, in every column, that a cell is missing.
        classification: whether y holds classes; None decides by its type (texts and booleans do).
        fit: whether to fit the final model; True by default.
        fit_config: how the final model is fitted.
        width: of the nodes of the final model; 24 by default.
        predict_with: ``blend`` (the default) also fits models that know nothing of the graph, for the best
            predictions; with ``graph`` the graph predicts alone.
        effort: multiplies the training steps of every trial in the search; 1 by default.
        units: of inputs, such as ``{"rho": "kg/m^3"}``: groups of inputs that are pure numbers are preferred.
        random_state: a seed, or a generator of random numbers.
        device: where networks are trained; None is the CPU.
        time_limit: seconds for everything; the best graph so far is returned when they are over.
        progress: hears how far the search is, then how far the fit.
        resamples: on how many random parts of the rows modules are looked for again (how often each came back is
            part of its evidence); None takes a few where the table is small and a smooth fit tells the tree.
    """

    names: Sequence[str] | None
    outputs: Sequence[str] | str | None
    sample_weight: Any
    na: Sequence[str]
    classification: bool | None
    fit: bool
    fit_config: FitConfig | None
    width: int
    predict_with: PredictWith
    effort: float
    units: Mapping[str, str] | None
    random_state: RandomState
    device: str | None
    time_limit: float | None
    progress: Progress | None
    resamples: int | None


@usual_settings()
def from_data(X: Any, y: Any, **options: Unpack[DataOptions]) -> Discovery:
    """Finds the function graph of a table and fits the network that mirrors it.

    Args:
        X: a pandas, polars or pyarrow table, or an array; texts become categorical inputs, dates calendar parts.
        y: one target, or several numeric ones.
        options: what :class:`DataOptions` lists.

    Raises:
        DataError: says which column or row cannot be used, and why.
        ConfigError: an option makes no sense.
    """
    return assembled(DATA.search(X, y, **known_options(DATA, options)))


class DataStrategy:
    """Puts candidate structures to the test on held-out rows of a table."""

    name = "data"
    options = DataOptions

    def takes(self, data: Any, y: Any, options: Mapping[str, Any]) -> bool:
        """A table with its target."""
        return y is not None and not is_function(data) and options.get("bounds") is None

    def search(self, data: Any, y: Any = None, **options: Unpack[DataOptions]) -> Findings:
        """Searches every output and asks what they share; options as in :func:`from_data`."""
        if y is None:
            raise ConfigError("give a target y beside the table X, or a truth table of zeros and ones alone")
        request = read_request(data, y, options)
        # torch is loaded where there is something to train
        from compsparse.discovery.data.evidence import module_evidence
        from compsparse.discovery.data.influence import weighed
        from compsparse.discovery.data.outputs import search_outputs

        found = search_outputs(request)
        return Findings(
            source=self.name,
            account="found in data",
            inputs=request.table.code.names,
            trees=found.trees,
            same=found.same,
            channels=found.channels,
            insides={place: inside.part for place, inside in found.insides.items()},
            not_looked_at=found.not_looked_at,
            evidence=module_evidence(found),
            status=found.status,
            cost=Cost(now() - request.started, networks=sum(f.networks for f in found.of.values())),
            path=tuple(step for f in found.of.values() for step in f.sketch.path),
            caveats=(*request.caveats, *found.caveats),
            turns={
                n: f.smooth.table for n, f in found.of.items() if f.smooth is not None and f.smooth.table is not None
            },
            advice=(
                "A graph from data is a hypothesis: it predicts held-out rows well, which is no proof of cause.",
                "Inert means without an effect that these rows can show; more rows or less noise may show one.",
            ),
            fit=(lambda graph: _fitted(graph, request, found.left)) if request.fit else None,
            weigh=lambda model: weighed(model, data, y, options, request.seed),
        )


DATA = DataStrategy()


def _fitted(graph: FunctionGraph, request: TableRequest, left: float) -> Fitted:
    """The final models, in the time that the search has left.

    Args:
        left: what the search left of rows that its fits had not seen; where that is much, no fit will leave nothing.
    """
    from compsparse.models import fit_model
    from compsparse.models.contest import contest_of, is_settled

    def usual_fit(share: float) -> FittedGraph:
        return fit_model(
            graph,
            request.table,
            config=request.fit_config,
            width=request.width,
            random_state=request.seed,
            device=request.device,
            progress=request.progress,
            time_limit=None if request.time_for_fit is None else share * request.time_for_fit,
        )

    usual = usual_fit(USUAL_FIT_SHARE) if left < MUCH_LEFT else None
    if usual is not None and is_settled(usual):
        return usual
    blend = contest_of(
        graph,
        request.table,
        request.predict_with,
        config=request.fit_config,
        width=request.width,
        seed=request.seed,
        device=request.device,
        progress=request.progress,
        deadline=Deadline.after(request.time_for_fit),
    )
    return blend or usual or usual_fit(1.0)

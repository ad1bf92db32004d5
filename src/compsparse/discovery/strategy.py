"""What a strategy of discovery is, what it finds, and how findings become the one record."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from compsparse.checks import brief, check_options, did_you_mean
from compsparse.discovery.record import AnswerNoise, Cost, Discovery, DiscoveryStatus, Evidence, Step
from compsparse.discovery.structure.forest import Members, Part, SameModule, grow_forest, never_shared
from compsparse.discovery.structure.turns import Tables
from compsparse.errors import ConfigError
from compsparse.graph import FunctionGraph
from compsparse.graph.modules import ModuleTree
from compsparse.origin import Origin
from compsparse.text import in_a_line

if TYPE_CHECKING:
    from compsparse.discovery.runs.record import Runs
    from compsparse.models import Importances
    from compsparse.models.blending import Blend
    from compsparse.models.fitted_graph import FittedGraph

    Fitted = FittedGraph | Blend

Completion = Callable[[FunctionGraph], tuple[FunctionGraph, tuple[str, ...]]]
"""Puts functions into the nodes of a graph, and says what is to be known of them."""


@dataclass(frozen=True)
class Weighed:
    """Importances of what was found; where they were not measured, why."""

    importances: Importances | None = None
    problem: str = ""


@in_a_line
@dataclass(frozen=True, kw_only=True)
class Findings:
    """What a search has found, before the graph is grown.

    Attributes:
        source: name of the strategy.
        account: how it was found, in words: "found in data".
        inputs: all of them, the inert ones included.
        trees: the tree of strong modules of every output.
        evidence: why each module is believed; one entry per inner module and function of it.
        status: how the search ended.
        cost: what the search spent.
        same: whether two outputs use one and the same function of some members.
        channels: how many numbers the module of (members, output) passes on, where it is not 1.
        insides: how the node of (members, output) is drawn where its parts share inputs.
        not_looked_at: inputs of which the search says nothing.
        path: the decisions in order.
        noise: the level assumed or estimated; None where answers are exact.
        caveats: sentences a reader must know.
        advice: sentences that hold for everything the strategy finds.
        turns: which inputs were seen to change how pairs of others act together, by output, where that was measured.
        complete: puts constituents into the graph that was grown, if the search knows them.
        fit: fits the final model of the graph, if there is to be one, and what predicts beside it.
        runs: of a simulator, where they were made for the search.
        weigh: says which inputs and modules of that model matter.
    """

    source: str
    account: str
    inputs: tuple[str, ...]
    trees: Mapping[str, ModuleTree]
    evidence: tuple[Evidence, ...]
    status: DiscoveryStatus
    cost: Cost
    same: SameModule = never_shared
    channels: Mapping[tuple[Members, str], int] = field(default_factory=dict)
    insides: Mapping[tuple[Members, str], Part] = field(default_factory=dict)
    not_looked_at: Members = frozenset()
    path: tuple[Step, ...] = ()
    noise: AnswerNoise | None = None
    caveats: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    turns: Tables = field(default_factory=dict)
    complete: Completion | None = None
    fit: Callable[[FunctionGraph], Fitted] | None = None
    weigh: Callable[[FittedGraph], Weighed] | None = None
    runs: Runs | None = None


class Strategy(Protocol):
    """One way to find a function graph: a class of its own with these four, and no base class."""

    @property
    def name(self) -> str:
        """By which it is asked for, and which the record carries as its source."""

    @property
    def options(self) -> type:
        """The ``TypedDict`` of what it may be given beside the data; its keys are what ``discover`` lets pass."""

    def takes(self, data: Any, y: Any, options: Mapping[str, Any]) -> bool:
        """Whether it is the one to choose for these where none is named."""

    def search(self, data: Any, y: Any = None, *args: Any, **options: Any) -> Findings:
        """Searches; every option may be left out unless the strategy cannot do without it."""


# ---- the registry -------------------------------------------------------------------------------

_REGISTERED: dict[str, Strategy] = {}


def register(strategy: Strategy) -> None:
    """Makes a strategy known to ``discover``; where none is named, those known longest are asked first."""
    if not isinstance(strategy.name, str) or not strategy.name:
        raise ConfigError(f"the name of a strategy must be a non-empty text, got {strategy.name!r}")
    if strategy.name in _REGISTERED:
        raise ConfigError(f"there is a strategy {strategy.name!r} already")
    _REGISTERED[strategy.name] = strategy


def unregister(name: str) -> None:
    """Makes ``discover`` forget a strategy."""
    strategy_named(name)
    del _REGISTERED[name]


def strategies() -> Mapping[str, Strategy]:
    """All strategies by their names, in the order in which they are asked whether they take something."""
    return dict(_REGISTERED)


def strategy_named(name: Any) -> Strategy:
    """The strategy of this name."""
    if not isinstance(name, str) or name not in _REGISTERED:
        raise ConfigError(f"there is no strategy {brief(name)}{did_you_mean(str(name), _REGISTERED)}")
    return _REGISTERED[name]


def known_options(strategy: Strategy, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that a strategy may be given; an unknown one that is None says nothing and is left out."""
    known = strategy.options.__annotations__
    given = [name for name, value in options.items() if value is not None]
    check_options(f"the strategy {strategy.name!r}", given, known)
    return {name: value for name, value in options.items() if name in known}


# ---- what strategies ask of their data ----------------------------------------------------------


def is_function(data: Any) -> bool:
    """Whether something is to be called; arrays and tables that happen to be callable are not."""
    return callable(data) and not hasattr(data, "shape")


def check_no_target(y: Any, what: str) -> None:
    """Refuses a target beside something that holds its own answers."""
    if y is not None:
        raise ConfigError(f"{what} gives its own answers: y belongs to a table X")


# ---- from findings to the record ----------------------------------------------------------------


def assembled(findings: Findings) -> Discovery:
    """Grows the graph, completes it, fits the model where one is asked for, and makes the record."""
    started = time.perf_counter()
    if findings.status is not DiscoveryStatus.FINISHED:
        findings = _kinds_not_examined(findings)
    graph = grow_forest(findings.inputs, findings.trees, findings.same, findings.channels, findings.insides)
    of_graph: tuple[str, ...] = ()
    if findings.complete is not None:
        graph, of_graph = findings.complete(graph)
    graph = graph.without_looking_at(findings.not_looked_at).from_origin(Origin.DISCOVERED)
    model, blend = (None, None) if findings.fit is None else _parts(findings.fit(graph))
    weighed = Weighed() if model is None or findings.weigh is None else findings.weigh(model)
    seconds = findings.cost.seconds + time.perf_counter() - started
    return Discovery(
        graph=graph,
        evidence=findings.evidence if blend is None else _doubted(findings.evidence, blend),
        status=_status(findings.status, model),
        cost=replace(findings.cost, seconds=seconds),
        source=findings.source,
        account=findings.account,
        path=findings.path,
        noise=findings.noise,
        caveats=(
            *findings.caveats,
            *of_graph,
            *([] if blend is None else [blend.sentence]),
            *filter(None, [weighed.problem]),
        ),
        advice=findings.advice,
        turns=findings.turns,
        influence=weighed.importances,
        runs=findings.runs,
        model=model,
        blend=blend,
    )


def _parts(fitted: Fitted) -> tuple[FittedGraph, Blend | None]:
    """The model of the graph, and what predicts beside it."""
    from compsparse.models.blending import Blend

    return (fitted.graph, fitted) if isinstance(fitted, Blend) else (fitted, None)


def _doubted(evidence: tuple[Evidence, ...], blend: Blend) -> tuple[Evidence, ...]:
    """The evidence; modules of a graph that loses to a model which knows nothing of it hold nearly at best."""
    lost = blend.regret
    if lost is None:
        return evidence
    doubt = f"the graph explains {-lost.difference:.2%} ± {lost.spread:.2%} less of rows not seen than {lost.name}"
    return tuple(replace(e, doubts=(*e.doubts, doubt)) for e in evidence)


def _kinds_not_examined(findings: Findings) -> Findings:
    """The findings without kinds: a search that was cut short has not asked what else can be grouped."""
    trees = {output: without_kinds(tree) for output, tree in findings.trees.items()}
    return replace(findings, trees=trees, evidence=tuple(replace(e, kind=None) for e in findings.evidence))


def without_kinds(tree: ModuleTree) -> ModuleTree:
    """The tree with every kind unknown."""
    return replace(tree, kind=None, children=tuple(without_kinds(child) for child in tree.children))


def _status(of_search: DiscoveryStatus, model: FittedGraph | None) -> DiscoveryStatus:
    """How the search ended; if it ran to its end, whether the fit did too."""
    if of_search is not DiscoveryStatus.FINISHED or model is None:
        return of_search
    from compsparse.training import TrainingStatus

    was_cut = model.status in (TrainingStatus.OUT_OF_TIME, TrainingStatus.INTERRUPTED)
    return DiscoveryStatus.FIT_CUT_SHORT if was_cut else of_search

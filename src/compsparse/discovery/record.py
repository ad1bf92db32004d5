"""What discovery returns: the graph, why each of its modules is believed, the path there, and the cost."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal

from compsparse.checks import check_count, check_name_list, check_text
from compsparse.digest import equal_by_content, parse_json
from compsparse.discovery.structure.turns import Tables
from compsparse.errors import ConfigError, DataError
from compsparse.graph import FunctionGraph
from compsparse.graph.function_graph import Kind
from compsparse.text import in_a_line, notebook_html

if TYPE_CHECKING:
    import numpy as np

    from compsparse.boxes import Bounds
    from compsparse.checks import RandomState
    from compsparse.construct import Compiled, CompileMethod
    from compsparse.discovery.runs.planning import NextPoints
    from compsparse.discovery.runs.record import Runs, Surrogate
    from compsparse.models import Blend, FittedGraph, FoundFormula, Importances

_CLEAR_OF_THRESHOLD, _CLEAR_OF_CHANCE = 0.5, 3.0
"""Share of its threshold below which a figure is far from it, and standard errors from which a gain is no chance."""


class DiscoveryStatus(Enum):
    """How the search ended; the value is the sentence a user reads."""

    FINISHED = "the search ran to its end"
    OUT_OF_TIME = "the time limit was reached; this is the best graph so far"
    FIT_CUT_SHORT = "the search ran to its end, but the final fit was cut short: these are its best weights so far"
    OUT_OF_QUERIES = "the query budget was reached; this is the best graph so far"
    INTERRUPTED = "the search was interrupted; this is the best graph so far"

    @classmethod
    def of(cls, end: BaseException) -> DiscoveryStatus:
        """How a search ended that was ended from outside, by the clock or by the user."""
        return cls.INTERRUPTED if isinstance(end, KeyboardInterrupt) else cls.OUT_OF_TIME


class Confidence(Enum):
    """How sure a module is; the value is the word that a reader sees first."""

    EXACT = "exact"
    STRONG = "strong"
    LIKELY = "likely"
    NOT_SURE = "not sure"
    NOT_MEASURED = "not measured"


@equal_by_content
@dataclass(frozen=True)
class Evidence:
    """Why a module is believed.

    Attributes:
        members: the inputs it is made of.
        outputs: the outputs that use it.
        statistic: what was measured. The built-in strategies have five. ``held-out gain``: relative change of
            the held-out error when the module is imposed (negative is a gain). ``held-out error``: of the whole,
            as a share of the best constant's. ``turn on other rows``: the largest turn of the module's gradient
            by an input outside it, in standard errors, by rows that took no part in the choice (``turn``: by the
            rows that did, where others are too few). ``direction change``: how far the direction of the module's
            gradient turns when the other inputs change. ``cofactors``: distinct functions that the module's
            inputs leave of the rest.
        value, spread: that figure and its standard error (0 where it is exact); NaN where it was not measured.
        threshold: what the figure was held against; NaN where there is none.
        recurrence: share of resamples in which the module came back; NaN if not measured.
        channels: how many numbers the module passes on.
        parts: how many parts its node combines; 0 where that was not said.
        statement: what was seen, as a clause about the members ("them"); the bare figure where there is none.
        figures: the numbers behind the statement.
        doubts: why the module may hold only nearly: a useful simplification, marked as one.
        shared: those of the members that the rest of the graph reads too; a module has none, a part of a wide node
            acts through one number where they have given values.
        formula: of a group, the product of powers or the weighted sum that it is.
    """

    members: frozenset[str]
    kind: Kind | None
    outputs: tuple[str, ...]
    statistic: str
    value: float
    spread: float = 0.0
    threshold: float = math.nan
    recurrence: float = math.nan
    channels: int = 1
    parts: int = 0
    statement: str = ""
    figures: str = ""
    doubts: tuple[str, ...] = ()
    shared: frozenset[str] = frozenset()
    formula: str = ""

    def __str__(self) -> str:
        return f"{self.confidence.value}: {{{', '.join(sorted(self.members))}}} {self.sentence}"

    def _repr_html_(self) -> str:
        return notebook_html(self, "evidence_html")

    @property
    def approximate(self) -> bool:
        """Whether the module holds nearly and not surely."""
        return bool(self.doubts)

    @property
    def is_term(self) -> bool:
        """Whether the members are a term of a sum under a change of scale, which shares inputs with others."""
        return self.statistic == "left by the link"

    @property
    def confidence(self) -> Confidence:
        """How sure the module is."""
        if math.isnan(self.value):
            return Confidence.NOT_MEASURED
        if self.doubts:
            return Confidence.NOT_SURE
        if self.statistic == "cofactors":
            return Confidence.EXACT
        if math.isnan(self.threshold):  # a relative change, or a share of the constant's error
            is_clear = self.value + _CLEAR_OF_CHANCE * self.spread < (self.statistic == "held-out error")
        else:
            is_clear = self.value <= _CLEAR_OF_THRESHOLD * self.threshold
        return Confidence.STRONG if is_clear else Confidence.LIKELY

    @property
    def kind_words(self) -> str:
        """How the parts of the node combine; two parts combine in one way only, so nothing is said of them."""
        if self.parts == 2 or self.shared:
            return ""
        parts = f"its {self.parts} parts" if self.parts else "its parts"
        return {
            "prime": f"{parts} act together, and no smaller group separates",
            "complete": f"{parts} combine as in a sum or a product",
        }.get(self.kind or "", f"whether {parts} combine as in a sum or a product cannot be told")

    @property
    def sentence(self) -> str:
        """What was seen, the numbers behind it, how the parts combine, and the doubts."""
        if math.isnan(self.value):
            return "were not put to the test"
        statement = self.statement or f"{self.statistic} {self.value:.3g}"
        figures = f" ({self.figures})" if self.figures else ""
        back = "" if math.isnan(self.recurrence) else f"found again in {self.recurrence:.0%} of the resamples"
        doubts = f"not sure, because {'; and '.join(self.doubts)}" if self.doubts else ""
        return "; ".join(filter(None, (statement + figures, self.kind_words, back, doubts)))


@dataclass(frozen=True)
class Step:
    """One decision on the way, with the held-out error after it.

    Attributes:
        action: ``start``, ``drop`` (inputs left out as inert), ``merge``, ``readmit`` or
            ``move`` (an input to another node).
        members: the inputs concerned.
        error: held-out error as a share of what the best constant leaves.
        spread: its standard error.
    """

    action: str
    members: frozenset[str]
    output: str
    error: float
    spread: float


@dataclass(frozen=True)
class AnswerNoise:
    """The noise level in the answers, as a share of their standard deviation, and where it comes from."""

    level: float
    origin: Literal["assumed", "estimated"]


@dataclass(frozen=True)
class Cost:
    """What the search spent.

    Attributes:
        evaluations: rows at which a callable was asked (gradients by autograd count one each).
        budget: most evaluations allowed; None without a limit.
        networks: candidate networks trained.
    """

    seconds: float
    evaluations: int = 0
    budget: int | None = None
    networks: int = 0


@in_a_line
@dataclass(frozen=True)
class Discovery:
    """A function graph that was found, and all that a reader should know of how.

    Attributes:
        graph: canonical: strong modules, complete nodes n-ary; inert inputs are listed but unused.
        evidence: one entry per inner module, the root included, and per part of a wide node that shares inputs.
        source: name of the strategy that found it.
        account: how it was found, in words.
        path: the decisions in order, with the held-out error after each (data only).
        noise: the level assumed or estimated; None where answers are exact.
        caveats: sentences a reader must know.
        advice: sentences that hold for every graph of this source.
        turns: by output, which inputs change how every pair of others acts together, where that was measured. The
            tree follows from it; what is drawn inside wide nodes is one choice of several where parts overlap.
        influence: which inputs and modules of the model matter within the rows that were searched; None where that was
            not measured.
        runs: of a simulator, where they were made for the search; they are not written to files.
        model: the fitted network with its scaling, if one was fitted.
        blend: the model and others of the same rows, which predict together; None where nothing was fitted beside it.
    """

    graph: FunctionGraph
    evidence: tuple[Evidence, ...]
    status: DiscoveryStatus
    cost: Cost
    source: str
    account: str = "found"
    path: tuple[Step, ...] = ()
    noise: AnswerNoise | None = None
    caveats: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    turns: Tables = field(default_factory=dict, repr=False)
    influence: Importances | None = field(default=None, repr=False)
    runs: Runs | None = field(default=None, compare=False, repr=False)
    model: FittedGraph | None = field(default=None, compare=False, repr=False)
    blend: Blend | None = field(default=None, compare=False, repr=False)

    @property
    def modules(self) -> frozenset[frozenset[str]]:
        """Strong modules of any output as sets of input names; singletons and whole sets left out."""
        whole = {output: self.inputs_of(output) for output in self.graph.outputs}
        modules = (e for e in self.evidence if not e.shared)
        return frozenset(e.members for e in modules if any(e.members != whole[o] for o in e.outputs))

    @property
    def parts(self) -> tuple[Evidence, ...]:
        """The parts of wide nodes, which share inputs with the rest of the graph."""
        return tuple(e for e in self.evidence if e.shared)

    @property
    def inert(self) -> tuple[str, ...]:
        """Inputs that no output depends on, at the resolution of the data or the queries."""
        return self.graph.inert

    @property
    def not_looked_at(self) -> tuple[str, ...]:
        """Inputs of which nothing is known, because they were too many to look at all of them."""
        return tuple(name for name in self.graph.inputs if name in self.graph.not_looked_at)

    @property
    def kind(self) -> Mapping[str, Kind | None]:
        """Kind of every inner node, by the node's name in the graph."""
        return {node.name: node.kind for node in self.graph.nodes}

    def inputs_of(self, output: str) -> frozenset[str]:
        """The inputs an output depends on."""
        below = self.graph.ancestors(output) | {output}
        return frozenset(name for name in self.graph.inputs if name in below)

    def evidence_for(self, members: frozenset[str] | set[str]) -> tuple[Evidence, ...]:
        """The evidence for one module, an entry per group of outputs that use it."""
        wanted = frozenset(check_name_list("members", members))
        return tuple(e for e in self.evidence if e.members == wanted)

    @property
    def function(self) -> FunctionGraph | FittedGraph:
        """What stands for the function: the fitted model, or a graph that was read off a formula or a table."""
        return self.graph if self.model is None else self.model

    @property
    def predictor(self) -> Blend | FittedGraph:
        """What predicts best: the fitted model with what was fitted beside it, if anything was.

        Raises:
            ConfigError: no model was fitted.
        """
        if self.model is None:
            raise ConfigError("this discovery has no fitted model: discover with fit=True")
        return self.blend or self.model

    def predict_interval(self, X: Any, coverage: float = 0.9) -> tuple[np.ndarray, np.ndarray]:
        """The ends of intervals around what is predicted; see :meth:`compsparse.models.Blend.predict_interval`.

        Raises:
            ConfigError: no model was judged by rows that its members had not seen.
        """
        if self.blend is None:
            from compsparse.models.blending import no_misses

            raise no_misses()
        return self.blend.predict_interval(X, coverage)

    def compile(self, bounds: Bounds, tol: float = 1e-3, method: CompileMethod = "auto") -> Compiled:
        """The function that was found as an explicit sparse ReLU network, with a certificate on a box.

        The error that is certified is that against what was found; how far that is from the data, its evidence says.
        :func:`compsparse.compile` has more options and takes a discovery too.
        """
        from compsparse.construct import compile

        return compile(self.function, bounds, tol, method)

    def importances(self, X: Any = None, *, bounds: Bounds | None = None, **options: Any) -> Importances:
        """Which inputs and modules of what was found matter, over a box or within rows; it needs a fitted model.

        See :func:`compsparse.importances`, which also asks a callable itself: give it ``modules=found.modules``.
        """
        from compsparse.models.influence.entry import importances

        return importances(self.function, X, bounds=bounds, **options)

    def formula(self, X: Any, y: Any, **options: Any) -> FoundFormula:
        """The formula of the fitted model, read off the rows that it was fitted to.

        See :func:`compsparse.models.read_formula`.

        Raises:
            ConfigError: no model was fitted.
        """
        from compsparse.models.formulas.entry import read_formula

        if self.model is None:
            raise ConfigError(
                "a formula is read of a fitted model, and this discovery has none: fit one to rows with "
                "compsparse.models.fit_model(found.graph, X, y)"
            )
        return read_formula(self.model, X, y, **options)

    def surrogate(self) -> Surrogate:
        """The model that stands for a simulator, with its error on runs that it has not seen.

        Raises:
            ConfigError: the simulator was not run for a table.
        """
        from compsparse.discovery.runs.record import surrogate_of

        return surrogate_of(*self._runs_and_model())

    def next_points(self, n: int, *, target: float = 0.999, random_state: RandomState = None) -> NextPoints:
        """Where to run a simulator next, and whether the surrogate is already as good as ``target``, an R2.

        Raises:
            ConfigError: the simulator was not run for a table.
        """
        from compsparse.discovery.runs.planning import next_points

        return next_points(*self._runs_and_model(), n, target, random_state)

    def _runs_and_model(self) -> tuple[FittedGraph, Runs]:
        if self.model is None or self.runs is None:
            raise ConfigError(
                "a surrogate is fitted to runs of a simulator, and this discovery holds none: "
                "discover(f, bounds=…, n_runs=500) makes them"
            )
        return self.model, self.runs

    def __str__(self) -> str:
        lines = [str(self.graph), "", *(str(e) for e in self.evidence), self.status.value, *self.caveats]
        return "\n".join(lines if self.influence is None else [*lines, "", str(self.influence)])

    def _repr_html_(self) -> str:
        return notebook_html(self, "discovery_html")

    # ---- JSON ----------------------------------------------------------------------------

    def to_json(self, indent: int | None = None) -> str:
        """The whole record, the fitted model included, as JSON text."""
        if indent is not None:
            check_count("indent", indent, least=0, most=100)
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data, with its digest."""
        from compsparse.discovery.json_format import discovery_to_dict

        return discovery_to_dict(self)

    @classmethod
    def from_json(cls, text: str) -> Discovery:
        """Reads what :meth:`to_json` wrote."""
        try:
            data = parse_json(check_text("the JSON of a discovery", text))
        except DataError as error:
            raise DataError(f"not a discovery in JSON: {error}") from None
        return cls.from_dict(data)

    @classmethod
    def from_dict(cls, data: Any) -> Discovery:
        """Reads what :meth:`to_dict` gave.

        Raises:
            DataError: it is no discovery, it is of another version, it was changed since it was written, or something
                in it is missing or wrong.
        """
        from compsparse.discovery.json_format import discovery_from_dict

        return discovery_from_dict(data)

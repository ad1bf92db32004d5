"""What was found in a fitted model: its graph, and how faithful that is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from compsparse.discovery.record import Discovery
from compsparse.graph import FunctionGraph
from compsparse.text import in_a_line, notebook_html

if TYPE_CHECKING:
    from compsparse.models import FittedGraph

_FAITHFUL, _ROUGHLY = 0.95, 0.8
"""R2 from which the graph stands for the model, and from which it still shows its outline."""


@dataclass(frozen=True)
class Fidelity:
    """How well a graph stands for a model, on rows that the graph was not found in.

    Attributes:
        to_model: R2 of the graph's predictions of the model's answers.
        n_rows: rows of the data on which that was measured.
        measure: of the figures on the data, ``R2`` or ``accuracy``; empty where no target was given.
        model_on_data, graph_on_data: how the model and the graph do on the target; NaN without one. The model may
            have learned from these rows, and the graph has learned from the model alone.
    """

    to_model: float
    n_rows: int
    measure: str = ""
    model_on_data: float = np.nan
    graph_on_data: float = np.nan

    @property
    def sentence(self) -> str:
        """Whether the graph can speak for the model, with the figures."""
        word = "Faithful" if self.to_model >= _FAITHFUL else "Rough" if self.to_model >= _ROUGHLY else "Not faithful"
        told = (
            f"{word}: the graph explains {self.to_model:.1%} of the variation of the model's answers on "
            f"{self.n_rows:,} rows that it was not found in."
        )
        if self.measure:
            told += (
                f" {self.measure} on the data there: model {self.model_on_data:.3f}, graph {self.graph_on_data:.3f}."
            )
        return told


@in_a_line
@dataclass(frozen=True)
class Explanation:
    """What a fitted model has learned.

    Attributes:
        discovery: the graph found in the model's answers, its evidence, and the network that mirrors it.
        fidelity: how well that stands for the model.
        of: what was asked: ``answers``, or ``log odds`` of classes.
        tolerance: share of the variance of the answers that did not count.
        n_asked: rows at which the model was asked.
    """

    discovery: Discovery
    fidelity: Fidelity
    of: str
    tolerance: float
    n_asked: int

    @property
    def graph(self) -> FunctionGraph:
        """The function graph."""
        return self.discovery.graph

    @property
    def modules(self) -> frozenset[frozenset[str]]:
        """Groups of inputs that the model uses through one number; those that are not sure are in the discovery."""
        known = self.discovery.modules
        return frozenset(e.members for e in self.discovery.evidence if e.members in known and not e.approximate)

    @property
    def surrogate(self) -> FittedGraph:
        """The network that mirrors the graph and answers as the model does."""
        assert self.discovery.model is not None
        return self.discovery.model

    def explain_row(self, row: Any, X: Any, **options: Any) -> Any:
        """What every input and node contributes to one answer; see :func:`compsparse.models.explain_row`."""
        return self.surrogate.explain_row(row, X, **options)

    def __str__(self) -> str:
        return f"{self.fidelity.sentence}\n\n{self.discovery}"

    def _repr_html_(self) -> str:
        return notebook_html(self, "explanation_html")

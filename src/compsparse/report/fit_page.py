"""The page of a fit to a known graph: the graph, what each node learned, how well it predicts, and beside what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from html import escape
from pathlib import Path

from compsparse.graph import FunctionGraph
from compsparse.models.assessment import Assessment
from compsparse.models.pictures import LearnedNodes
from compsparse.models.row_explanation import ExampleRow
from compsparse.report.columns import treatments_sections
from compsparse.report.evidence import listed
from compsparse.report.figure import Figure
from compsparse.report.graph_view import graph_sections
from compsparse.report.page import Section, usage, write_page
from compsparse.report.predictions import assessment_figures, predictions_section
from compsparse.report.row_view import rows_section
from compsparse.tables.looking import Treatment


@dataclass(frozen=True)
class FitReport:
    """What the page shows.

    Attributes:
        graph: the one that was given.
        assessment: how the model does on the test rows.
        n_parameters: of one of the networks that predict together.
        learned: what the nodes learned.
        examples: single rows with what every input contributes.
        status: a sentence on a fit that was cut short.
        model_path, data_path: as the reader would type them.
        treatments: what was done to the columns of the table.
    """

    title: str
    graph: FunctionGraph
    assessment: Assessment
    _: KW_ONLY
    n_parameters: int
    learned: LearnedNodes | None = None
    examples: Sequence[ExampleRow] = ()
    status: str = ""
    model_path: str = "model.json"
    data_path: str = "data.csv"
    notes: tuple[str, ...] = ()
    treatments: tuple[Treatment, ...] = ()

    def figures(self) -> list[Figure]:
        """Every chart of the page."""
        return assessment_figures(self.assessment)


def fit_page(path: str | Path, report: FitReport) -> Path:
    """Writes the page and returns its path."""
    found = report.assessment
    told = [f"{sentence[0].upper()}{sentence[1:]}." for sentence in (report.status, *report.notes) if sentence]
    python = f"from compsparse.models import FittedGraph\n\nmodel = FittedGraph.load({report.model_path!r})"
    sections = [
        Section("", "".join(f'<div class="banner" role="alert">{escape(sentence)}</div>' for sentence in told)),
        *graph_sections(report.graph, report.learned, {}, f"<p>{escape(_facts(report))}</p>"),
        predictions_section(found, better=found.better_elsewhere),
        *([rows_section(report.examples)] if report.examples else []),
        *treatments_sections(report.treatments),
        Section("Use the model", usage(python, "model", report.model_path, report.data_path)),
    ]
    lead = (
        f"A network that mirrors a known graph, fitted to {found.n_train:,} rows of {listed(found.targets)} "
        f"and tested on {found.n_test:,} others."
    )
    return write_page(path, report.title, lead, sections, "Made by compsparse. The baselines are untuned.")


def _facts(report: FitReport) -> str:
    graph, count = report.graph, report.graph.complexity(0.01)
    return (
        f"{graph.n_inputs} inputs, {graph.size} nodes of at most {graph.max_arity} parents, "
        f"depth {graph.depth}. The network has {report.n_parameters:,} parameters. For 1% accuracy the "
        f"Mhaskar-Poggio theorem counts about 10^{count.log10_deep:.1f} units for a network with this graph and "
        f"10^{count.log10_shallow:.1f} for a shallow one, up to constants."
    )

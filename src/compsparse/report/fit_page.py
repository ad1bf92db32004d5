"""The page of a fit to a known graph: the graph, how well it predicts, and beside what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import numpy as np

from compsparse.graph import FunctionGraph, draw_svg
from compsparse.models.comparison import Score
from compsparse.networks import NetworkSize
from compsparse.report.figure import Figure
from compsparse.report.page import Section, table, write_page

_MOST_POINTS = 1500


@dataclass(frozen=True)
class FitReport:
    """What the page shows."""

    title: str
    target: str
    graph: FunctionGraph
    size: NetworkSize
    n_train: int
    observed: np.ndarray
    predicted: np.ndarray
    scores: Sequence[Score]

    def figures(self) -> tuple[Figure, Figure]:
        """Predicted against observed, and the models side by side."""
        points = [
            {"observed": float(o), "predicted": float(p)}
            for o, p in list(zip(self.observed, self.predicted, strict=True))[:_MOST_POINTS]
        ]
        against = Figure(
            f"Predicted against observed {self.target} (test rows)",
            tuple(points),
            "observed",
            "predicted",
            mark="points",
            diagonal=True,
        )
        bars = Figure(
            "Unexplained variance on the test rows (lower is better)",
            tuple({"model": s.model.split(" (")[0], "unexplained": max(s.unexplained, 1e-12)} for s in self.scores),
            "model",
            "unexplained",
            mark="bars",
            log_y=True,
        )
        return against, bars


def fit_page(path: str | Path, report: FitReport) -> Path:
    """Writes the page and returns its path."""
    count = report.graph.complexity(0.01)
    facts = (
        f"{report.graph.n_inputs} inputs, {report.graph.size} nodes of at most {report.graph.max_arity} parents, "
        f"depth {report.graph.depth}. The network has {report.size.parameters:,} parameters. For 1% accuracy the "
        f"Mhaskar-Poggio theorem counts about 10^{count.log10_deep:.1f} units for a network with this graph and "
        f"10^{count.log10_shallow:.1f} for a shallow one, up to constants."
    )
    rows = [[s.model, s.r2, s.unexplained, s.seconds] for s in report.scores]
    sections = [
        Section("The function graph", f'<div class="graph">{draw_svg(report.graph)}</div><p>{escape(facts)}</p>'),
        Section(
            "How well it predicts",
            table(["model", "test R2", "unexplained variance", "seconds to fit"], rows),
            report.figures(),
        ),
    ]
    lead = f"A network that mirrors a known graph, fitted to {report.n_train:,} rows of {report.target}."
    return write_page(path, report.title, lead, sections, "Made by compsparse. The baselines are untuned.")

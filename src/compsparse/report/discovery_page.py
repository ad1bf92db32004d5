"""The page of a discovery: the graph, what each module learned, why it is believed, and how well it predicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from html import escape
from pathlib import Path

from compsparse.discovery import Discovery, DiscoveryStatus, Step
from compsparse.discovery.agreement import Agreement
from compsparse.models.assessment import Assessment
from compsparse.models.formulas.record import FoundFormula
from compsparse.models.pictures import LearnedNodes
from compsparse.models.row_explanation import ExampleRow
from compsparse.report.columns import treatments_sections
from compsparse.report.evidence import confidence_labels, evidence_by_node, listed
from compsparse.report.figure import Figure
from compsparse.report.graph_view import graph_sections
from compsparse.report.importance_charts import importance_figures, importance_sentences
from compsparse.report.page import Section, usage, write_page
from compsparse.report.predictions import (
    LEAST_UNEXPLAINED,
    assessment_figures,
    own_score_text,
    predictions_section,
)
from compsparse.report.row_view import rows_section
from compsparse.report.summary import summary

_MOST_OUTPUTS = 6


@dataclass(frozen=True)
class DiscoveryReport:
    """What the page shows.

    Attributes:
        learned: what the nodes of the model learned.
        assessment: how the model does on other rows than it was found in.
        agreement: how the graph stands to the formula behind the data, where that is known.
        verdict: a sentence that comes before what was found.
        formula: the formula that was read off the model, where one was asked for.
        more: further sections, before what to keep in mind.
        examples: single rows with what every input contributes.
        model_path, data_path: as the reader would type them.
        notes: more sentences for the reader.
    """

    title: str
    discovery: Discovery
    _: KW_ONLY
    learned: LearnedNodes | None = None
    assessment: Assessment | None = None
    agreement: Agreement | None = None
    verdict: str = ""
    formula: FoundFormula | None = None
    examples: Sequence[ExampleRow] = ()
    more: Sequence[Section] = ()
    model_path: str = "model.json"
    data_path: str = "data.csv"
    notes: tuple[str, ...] = ()

    def figures(self) -> list[Figure]:
        """Every chart of the page."""
        found = self.assessment
        predicted = [] if found is None else assessment_figures(found)
        return [*predicted, *_importance_figures(self.discovery), *path_figures(self.discovery)]


def discovery_page(path: str | Path, report: DiscoveryReport) -> Path:
    """Writes the page and returns its path."""
    found = report.discovery
    sections = [
        Section("", _banner(found) + _tiles(report)),
        Section("What was found", _told(_first(report))),
        *graph_sections(found.graph, report.learned, evidence_by_node(found), labels=confidence_labels(found)),
    ]
    if report.formula is not None:
        sections.insert(2, Section("The formula", _formula(report.formula)))
    if found.influence is not None:
        about = "".join(f"<p>{escape(s)}</p>" for s in importance_sentences(found.influence))
        sections.append(Section("Which inputs matter", about, tuple(_importance_figures(found))))
    if report.assessment is not None:
        sections.append(predictions_section(report.assessment, better=""))
    if report.examples:
        sections.append(rows_section(report.examples))
    if report.agreement is not None:
        sections.append(Section("Beside the known formula", _told(report.agreement.sentences())))
    if figures := path_figures(found):
        sections.append(Section("How the search got there", _ABOUT_PATH, tuple(figures)))
    sections += report.more
    if remarks := [*found.caveats, *report.notes, *found.advice]:
        sections.append(Section("What to keep in mind", _told(remarks)))
    if found.model is not None:
        sections += treatments_sections(found.model.code.treatments)
        sections.append(Section("Use the model", _usage(report)))
    return write_page(path, report.title, _lead(report), sections, "Made by compsparse. The baselines are untuned.")


# ---- words --------------------------------------------------------------------------------------

_ABOUT_PATH = (
    "<p>Held-out error after each decision, from top to bottom, as a share of what the best constant leaves; "
    "bars are one standard error. A decision stands if it does not make the error worse.</p>"
)


def _lead(report: DiscoveryReport) -> str:
    found = report.discovery
    rows = "" if report.learned is None else f" in {report.learned.n_rows:,} rows"
    test = "" if report.assessment is None else f" and tested on {report.assessment.n_test:,} others"
    account = found.account.removesuffix(" in data") if rows else found.account
    verdict = "" if report.agreement is None else f" {report.agreement.sentences()[0]}"
    return f"The function graph of {listed(found.graph.outputs)}, {account}{rows}{test}.{verdict}"


def _first(report: DiscoveryReport) -> list[str]:
    """What was found in a few sentences, and where another model predicts better."""
    better = report.assessment.better_elsewhere if report.assessment else ""
    return list(filter(None, [report.verdict, *summary(report.discovery, report.assessment), better]))


def _banner(found: Discovery) -> str:
    if found.status is DiscoveryStatus.FINISHED:
        return ""
    sentence = found.status.value
    return f'<div class="banner" role="alert">{escape(sentence[0].upper() + sentence[1:])}.</div>'


def _tiles(report: DiscoveryReport) -> str:
    found, graph = report.discovery, report.discovery.graph
    tiles = [
        ("inputs used", f"{graph.n_inputs - len(graph.unread)} of {graph.n_inputs}"),
        ("groups that act through one number", f"{len(found.modules) + sum(bool(e.formula) for e in found.parts)}"),
        ("search and fit", f"{found.cost.seconds:,.0f} s"),
    ]
    if report.assessment is not None:
        tiles.insert(0, own_score_text(report.assessment))
    cells = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in tiles)
    return f'<dl class="tiles">{cells}</dl>'


def _told(sentences: Sequence[str]) -> str:
    return f'<ul class="told">{"".join(f"<li>{escape(s)}</li>" for s in sentences)}</ul>'


def _importance_figures(found: Discovery) -> list[Figure]:
    return [] if found.influence is None else list(importance_figures(found.influence))


def _formula(found: FoundFormula) -> str:
    """The formula, what stays learned in it, its price, and the same in LaTeX."""
    text, *rest = str(found).splitlines()
    told = "".join(f"<p>{escape(sentence)}</p>" for sentence in rest)
    latex = f"<details><summary>In LaTeX</summary><pre><code>{escape(found.latex)}</code></pre></details>"
    return f'<pre class="formula"><code>{escape(text)}</code></pre>{told}{latex}'


def _usage(report: DiscoveryReport) -> str:
    python = (
        "from pathlib import Path\n\nfrom compsparse import Discovery\n\n"
        f"found = Discovery.from_json(Path({report.model_path!r}).read_text())\nprint(found.graph)"
    )
    return usage(python, "found.model", report.model_path, report.data_path)


# ---- the path -----------------------------------------------------------------------------------


def path_figures(found: Discovery) -> list[Figure]:
    """Held-out error after each decision, one chart an output whose error changed on the way."""
    steps = {output: [step for step in found.path if step.output == output] for output in found.graph.outputs}
    return [
        _path_figure(output, steps[output])
        for output in found.graph.outputs[:_MOST_OUTPUTS]
        if len({step.error for step in steps[output]}) > 1
    ]


def _path_figure(output: str, steps: list[Step]) -> Figure:
    rows = tuple(
        {
            "decision": f"{i}. {step_text(step)}",
            "error": max(step.error, LEAST_UNEXPLAINED),
            "low": max(step.error - step.spread, step.error / 10, LEAST_UNEXPLAINED),
            "high": max(step.error + step.spread, LEAST_UNEXPLAINED),
        }
        for i, step in enumerate(steps)
    )
    return Figure(
        f"Held-out error on the way, {output}",
        rows,
        "decision",
        "error",
        mark="dots",
        low="low",
        high="high",
        log_y=True,
        y_title="held-out error, share of the constant's",
    )


def step_text(step: Step) -> str:
    """A decision in a few words, such as ``merge {x0, x1}``."""
    members = sorted(step.members)
    if not members:
        return {"start": "all inputs, no structure"}.get(step.action, step.action)
    shown = ", ".join(members[:3]) + (", …" if len(members) > 3 else "")
    return f"{step.action} {{{shown}}}"

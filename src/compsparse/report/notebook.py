"""Records as a notebook shows them: a verdict in sentences, a drawing, a small table."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from compsparse.discovery import Discovery, DiscoveryStatus, Evidence
from compsparse.graph import FunctionGraph, draw_svg
from compsparse.report.evidence import listed
from compsparse.report.graph_view import without_many_unread
from compsparse.report.importance_charts import importance_sentences, importance_table
from compsparse.report.page import table
from compsparse.report.pictures import picture_svg
from compsparse.report.row_view import contributions_table
from compsparse.report.summary import summary

if TYPE_CHECKING:  # records are read here, nothing is computed
    from compsparse.bounds import BoundTable
    from compsparse.construct import Compiled
    from compsparse.discovery import Explanation
    from compsparse.models import FittedGraph, Importances, RowExplanation
    from compsparse.models.pictures import Picture
    from compsparse.sparse import Memorised

_MOST_ROWS = 12
_STYLE = """<style>
.compsparse { max-width: 860px; line-height: 1.45; }
.compsparse p, .compsparse ul { margin: 4px 0; } .compsparse ul { padding-left: 20px; }
.compsparse .scroll, .compsparse .drawing { overflow-x: auto; margin: 8px 0; }
.compsparse table { border-collapse: collapse; margin: 0; font-size: inherit; }
.compsparse th, .compsparse td { text-align: left; padding: 3px 10px; vertical-align: top; white-space: normal; }
.compsparse .pic text { fill: currentColor; font: 10px system-ui, sans-serif; } .compsparse .pic .axis { stroke: #888; }
.compsparse .pic .grid { stroke: #8884; } .compsparse .pic .row { fill: #fff; opacity: 0.75; }
.compsparse .legend { font-size: 11px; } .compsparse .legend span { margin-right: 12px; }
.compsparse .legend i { display: inline-block; width: 9px; height: 9px; margin-right: 4px; }
.compsparse .bar { display: block; position: relative; min-width: 120px; height: 10px; background: #8882; }
.compsparse .bar i { position: absolute; top: 0; height: 100%; } .compsparse .bar .more { background: #2563eb; }
.compsparse .bar .less { background: #c2410c; } .compsparse .pic .here { fill: #c2410c; stroke: #fff; }
.compsparse .number { text-align: right; } .compsparse summary { cursor: pointer; }
</style>"""


def discovery_html(found: Discovery) -> str:
    """What was found in sentences, the graph, a row a group, and folded away what to keep in mind."""
    ended = [] if found.status is DiscoveryStatus.FINISHED else [f"{found.status.value.capitalize()}."]
    parts = [_told([*ended, *summary(found)]), _drawing(found.graph)]
    if entries := [e for e in found.evidence if e.members in found.modules]:
        parts.append(_groups(entries, found))
    if found.influence is not None:
        parts.append(_importances(found.influence))
    if remarks := [*found.caveats, *found.advice]:
        parts.append(f"<details><summary>What to keep in mind ({len(remarks)})</summary>{_told(remarks)}</details>")
    return _whole(*parts)


def explanation_html(found: Explanation) -> str:
    """How faithful the graph is to the model, then what was found."""
    return _whole(_told([found.fidelity.sentence])) + discovery_html(found.discovery)


def evidence_html(entry: Evidence) -> str:
    """How sure, the members, and what was seen."""
    members = escape("{" + listed(sorted(entry.members)) + "}")
    return _whole(f"<p><b>{escape(entry.confidence.value)}</b>: {members} {escape(entry.sentence)}.</p>")


def fitted_html(model: FittedGraph) -> str:
    """What the model predicts and from what, and the graph."""
    graph = model.graph
    of_inputs = f"{graph.n_inputs - len(graph.inert)} of {_counted(graph.n_inputs, 'input')}"
    networks = _counted(model.network.n_replicas, "network")
    sentence = (
        f"Predicts {listed(model.targets)} from {of_inputs}: {networks} of this graph, "
        f"{model.size.parameters:,} parameters each."
    )
    return _whole(_told([sentence]), _drawing(graph))


def compiled_html(built: Compiled) -> str:
    """The size and the certified error of an explicit network, and the graph with the units of its nodes."""
    from compsparse.report.compiled_page import certificate_sentences, compiled_lead, units_drawing

    rest = "".join(f"<p>{escape(s)}</p>" for s in certificate_sentences(built))
    return _whole(
        _told([compiled_lead(built)]),
        f'<div class="drawing">{units_drawing(built)}</div>',
        f"<details><summary>The certificate in words</summary>{rest}</details>",
    )


def memorised_html(network: Memorised) -> str:
    """Size, cost and gap of a network that memorises, and its largest neurons."""
    told = [
        f"{_counted(network.n_neurons, 'neuron')} in one layer, cost {network.value:.4g}: {network.status.value}.",
        _least_cost(network),
        f"The labels are missed by at most {network.residual:.1g}.",
    ]
    order = sorted(range(network.n_neurons), key=lambda j: -abs(network.z[j]))[:_MOST_ROWS]
    rows = [[float(network.z[j]), ", ".join(f"{w:.3g}" for w in network.theta[j])] for j in order]
    shown = table(["coefficient", "weights, then bias"], rows) + _left_out(network.n_neurons, "neuron")
    return _whole(_told(told), shown if rows else "")


def bounds_html(bounds: BoundTable) -> str:
    """How many of the values say something, and all of them side by side."""
    from compsparse.report.bounds_report import bounds_verdict

    columns = ["bound", "Rademacher complexity", "gap", "expected loss", "status"]
    return _whole(_told([bounds_verdict(bounds), *bounds.notes]), table(columns, bounds.cells()))


def picture_html(picture: Picture) -> str:
    """A curve or a heat map of what a node learned."""
    return _whole(f"<div>{picture_svg(picture)}</div>", f"<p>{escape(picture.note)}</p>" if picture.note else "")


def row_html(found: RowExplanation) -> str:
    """The prediction beside the average, and what every input and node adds."""
    return _whole(_told([found.sentence]), contributions_table(found))


def verdict_html(verdict: Any) -> str:
    """The statement, the verdict in a sentence, the first chart, and folded away the rule and the figures.

    Claims stand above reports, so their verdict is read by its attributes.
    """
    told = (("Source", verdict.source), ("Expected", verdict.expected), ("Measured", verdict.measured))
    listed_ = "".join(f"<p><b>{name}:</b> {escape(text)}</p>" for name, text in told)
    remarks = "".join(f"<li>{escape(caveat)}</li>" for caveat in verdict.caveats)
    return _whole(
        f"<p>{escape(verdict.statement)}</p><p><b>{escape(verdict.sentence)}</b></p>",
        *(f'<div class="drawing">{figure._repr_svg_()}</div>' for figure in verdict.figures[:1]),
        f"<details><summary>What was measured</summary>{listed_}{f'<ul>{remarks}</ul>' if remarks else ''}</details>",
    )


def estimator_html(estimator: Any) -> str:
    """The part of a fitted estimator's box that says what was learned; nothing where it has no such record."""
    ways: dict[str, Callable[[Any], str]] = {
        "discovery_": discovery_html,
        "model_": fitted_html,
        "memorised_": memorised_html,
    }
    for name, html_of in ways.items():
        if name in vars(estimator):
            return (
                '<div class="estimator-table"><details open><summary>What was learned</summary>'
                f'<div style="padding:6px 10px">{html_of(vars(estimator)[name])}</div></details></div>'
            )
    return ""


# ---- parts ----------------------------------------------------------------------------------------


def _whole(*parts: str) -> str:
    return f'<div class="compsparse">{_STYLE}{"".join(parts)}</div>'


def _told(sentences: Iterable[str]) -> str:
    return "".join(f"<p>{escape(sentence)}</p>" for sentence in sentences)


def _drawing(graph: FunctionGraph) -> str:
    return f'<div class="drawing">{draw_svg(without_many_unread(graph))}</div>'


def _groups(entries: Sequence[Evidence], found: Discovery) -> str:
    several = len(found.graph.outputs) > 1
    rows = [
        [e.confidence.value, "{" + listed(sorted(e.members)) + "}", *[listed(e.outputs)] * several, e.sentence]
        for e in entries[:_MOST_ROWS]
    ]
    columns = ["how sure", "group", *["for"] * several, "what was seen"]
    return table(columns, rows) + _left_out(len(entries), "group")


def _importances(found: Importances) -> str:
    told = _told(importance_sentences(found))
    return f"<details><summary>Which inputs matter</summary>{importance_table(found)}{told}</details>"


def _left_out(n: int, what: str) -> str:
    return f"<p>… and {_counted(n - _MOST_ROWS, f'more {what}')}.</p>" if n > _MOST_ROWS else ""


def _counted(n: int, what: str) -> str:
    return f"{n:,} {what}{'s' * (n != 1)}"


def _least_cost(network: Memorised) -> str:
    certificate = network.certificate
    if math.isnan(network.gap):
        return "How much less another network might cost is not known."
    return (
        f"No network that meets the labels costs less than {certificate.lower:.4g} "
        f"({certificate.rigour.value}: {certificate.rigour.sentence})."
    )

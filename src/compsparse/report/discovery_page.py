"""The page of a discovery: the graph, what each module learned, why it is believed, and how well it predicts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from compsparse.discovery import Discovery, DiscoveryStatus, Step
from compsparse.discovery.agreement import Agreement
from compsparse.graph import FunctionGraph, draw_svg
from compsparse.models.comparison import ClassScore, Score
from compsparse.report.evidence import listed
from compsparse.report.figure import Figure
from compsparse.report.node_cards import hover_texts, node_cards
from compsparse.report.page import Section, table, write_page

_MOST_POINTS = 1500
_MOST_OUTPUTS = 6
_MOST_CLASSES = 12
_MOST_CONFUSIONS = 12
_MOST_INERT_DRAWN = 4
_MANY_INPUTS = 16
_LEAST_UNEXPLAINED = 1e-12
_CALIBRATION_BINS = 10
_SMALLEST_SCALE = 0.72
"""How far a wide graph is made smaller before it scrolls."""


@dataclass(frozen=True)
class DiscoveryReport:
    """What the page shows.

    Attributes:
        train: the table of inputs that the graph was found in.
        test, observed: inputs and targets (rows, outputs) of other rows; labels where there are classes.
        scores: the model and others, fitted to the same rows.
        agreement: how the graph stands to the formula behind the data, where that is known.
        model_path, data_path: as the reader would type them.
        notes: more sentences for the reader.
    """

    title: str
    discovery: Discovery
    train: Any = None
    test: Any = None
    observed: np.ndarray | None = None
    scores: Sequence[Score] | Sequence[ClassScore] = ()
    agreement: Agreement | None = None
    model_path: str = "model.json"
    data_path: str = "data.csv"
    notes: tuple[str, ...] = ()

    def figures(self) -> list[Figure]:
        """Every chart of the page."""
        return [*fit_figures(self), *score_figures(self.scores), *path_figures(self.discovery)]


def discovery_page(path: str | Path, report: DiscoveryReport) -> Path:
    """Writes the page and returns its path."""
    found = report.discovery
    sections = [
        Section("", _banner(found) + _tiles(report)),
        Section("The function graph", _graph(found)),
        Section("What each module learned", _about_modules(found) + node_cards(found, report.train)),
    ]
    if report.observed is not None:
        html = _scores(report) + _confusion(report)
        sections.append(Section("How well it predicts", html, (*fit_figures(report), *score_figures(report.scores))))
    if report.agreement is not None:
        sections.append(Section("Beside the known formula", _told(report.agreement.sentences())))
    if found.path:
        sections.append(Section("How the search got there", _ABOUT_PATH, tuple(path_figures(found))))
    sections.append(Section("What to keep in mind", _told([*found.caveats, *report.notes, *found.advice])))
    if found.model is not None:
        sections.append(Section("Use the model", _usage(report)))
    return write_page(path, report.title, _lead(report), sections, "Made by compsparse. The baselines are untuned.")


# ---- words --------------------------------------------------------------------------------------

_ABOUT_PATH = (
    "<p>Held-out error after each decision, from top to bottom, as a share of what the best constant leaves; "
    "bars are one standard error. A decision stands if it does not make the error worse.</p>"
)


def _lead(report: DiscoveryReport) -> str:
    found = report.discovery
    rows = "" if report.train is None else f" in {len(report.train):,} rows"
    test = "" if report.test is None else f" and tested on {len(report.test):,} others"
    account = found.account.removesuffix(" in data") if rows else found.account
    return f"The function graph of {listed(found.graph.outputs)}, {account}{rows}{test}."


def _banner(found: Discovery) -> str:
    if found.status is DiscoveryStatus.FINISHED:
        return ""
    sentence = found.status.value
    return f'<div class="banner" role="alert">{escape(sentence[0].upper() + sentence[1:])}.</div>'


def _tiles(report: DiscoveryReport) -> str:
    found, graph = report.discovery, report.discovery.graph
    tiles = [
        ("inputs used", f"{graph.n_inputs - len(graph.inert)} of {graph.n_inputs}"),
        ("inner modules", f"{graph.size - len(graph.outputs)}"),
        ("most parents of a node", f"{graph.max_arity}"),
        ("search and fit", f"{found.cost.seconds:,.0f} s"),
    ]
    own = next((s for s in report.scores if "compsparse" in s.model), None)
    if isinstance(own, Score):
        tiles.insert(0, ("test R² of the model", f"{own.r2:.5f}"))
    elif isinstance(own, ClassScore):
        tiles.insert(0, ("test accuracy of the model", f"{own.accuracy:.1%}"))
    cells = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in tiles)
    return f'<dl class="tiles">{cells}</dl>'


def _graph(found: Discovery) -> str:
    drawn = _without_many_inert(found.graph)
    direction = "right" if drawn.n_inputs > _MANY_INPUTS else "up"
    svg = draw_svg(drawn, direction=direction, hover=hover_texts(found))  # type: ignore[arg-type]
    names = iter(drawn.index)
    numbers = found.graph.index
    svg = re.sub('<g class="node', lambda m: f'<g tabindex="0" data-card="node-{numbers[next(names)]}" {m[0][3:]}', svg)
    width = float(re.search(r'width="(\d+)"', svg)[1])  # type: ignore[index]
    inert = (
        f"<p><b>Inert inputs</b> (no output depends on them): {escape(listed(found.inert))}.</p>" if found.inert else ""
    )
    return (
        "<p>Point at a node, or tap it, to see what it is made of and what it learned.</p>"
        f'<div class="graph"><div style="min-width:{width * _SMALLEST_SCALE:.0f}px">{svg}</div></div>{inert}'
    )


def _without_many_inert(graph: FunctionGraph) -> FunctionGraph:
    if len(graph.inert) <= _MOST_INERT_DRAWN:
        return graph
    return FunctionGraph([name for name in graph.inputs if name not in graph.inert], graph.nodes, graph.outputs)


def _about_modules(found: Discovery) -> str:
    text = (
        "A module passes its inputs on as one number. That number is learned up to a change of scale, so it is "
        "shown with mean 0 and spread 1, rising with the output. White dots are rows of data."
    )
    if found.model is not None and found.model.network.n_replicas > 1:
        text += f" Pictures show the best of the {found.model.network.n_replicas} networks that predict together."
    return f"<p>{text}</p>"


def _told(sentences: Sequence[str]) -> str:
    return f'<ul class="told">{"".join(f"<li>{escape(s)}</li>" for s in sentences)}</ul>'


def _usage(report: DiscoveryReport) -> str:
    reader = "read_parquet" if report.data_path.endswith(".parquet") else "read_csv"
    python = (
        "from pathlib import Path\n\nimport pandas\nfrom compsparse import Discovery\n\n"
        f"found = Discovery.from_json(Path({report.model_path!r}).read_text())\n"
        f"table = pandas.{reader}({report.data_path!r})\n"
        "print(found.graph)\nprint(found.model.predict(table))"
    )
    shell = f"compsparse predict {report.model_path} {report.data_path} --out predictions.csv"
    return f"<pre><code>{escape(python)}</code></pre><pre><code>{escape(shell)}</code></pre>"


# ---- how well it predicts -----------------------------------------------------------------------


def fit_figures(report: DiscoveryReport) -> list[Figure]:
    """Predicted against observed per output, or the calibration of classes."""
    model = report.discovery.model
    if report.observed is None or model is None:
        return []
    if model.classes is not None:
        return [_calibration(report)]
    predicted = model.predict(report.test).reshape(len(report.test), -1)
    observed = np.asarray(report.observed, dtype=float).reshape(predicted.shape)
    names = report.discovery.graph.outputs[:_MOST_OUTPUTS]
    return [_against(name, observed[:, i], predicted[:, i]) for i, name in enumerate(names)]


def _against(name: str, observed: np.ndarray, predicted: np.ndarray) -> Figure:
    pairs = list(zip(observed.tolist(), predicted.tolist(), strict=True))[:_MOST_POINTS]
    rows = tuple({"observed": o, "predicted": p} for o, p in pairs)
    title = f"Predicted against observed {name} (test rows)"
    return Figure(title, rows, "observed", "predicted", mark="points", diagonal=True)


def _calibration(report: DiscoveryReport) -> Figure:
    """Probability given to the predicted class against how often it was right, in bins of equally many rows."""
    model = report.discovery.model
    assert model is not None
    shares = model.predict_proba(report.test)
    right = np.asarray(model.classes)[shares.argmax(1)].astype(str) == np.asarray(report.observed).ravel().astype(str)
    order = np.argsort(shares.max(1), kind="stable")
    bins = [rows for rows in np.array_split(order, min(_CALIBRATION_BINS, max(1, len(order) // 10))) if len(rows)]
    rows = tuple(
        {"probability given": float(shares.max(1)[b].mean()), "share right": float(right[b].mean()), "rows": len(b)}
        for b in bins
    )
    title = "Is its confidence justified? (test rows; on the dashed line it is)"
    return Figure(title, rows, "probability given", "share right", diagonal=True)


def _scores(report: DiscoveryReport) -> str:
    scores = report.scores
    if not scores:
        return ""
    if isinstance(scores[0], ClassScore):
        columns = ["model", "test accuracy", "log loss", "log loss / constant's", "seconds to fit"]
        rows = [[s.model, s.accuracy, s.log_loss, s.unexplained, s.seconds] for s in scores]  # type: ignore[union-attr]
        return table(columns, rows)
    rows = [[s.model, s.r2, s.unexplained, s.seconds] for s in scores]  # type: ignore[union-attr]
    html = table(["model", "test R²", "unexplained variance", "seconds to fit"], rows)
    if scores[0].by_output:
        outputs = report.discovery.graph.outputs
        each = [[o, *(1 - s.by_output[i] for s in scores)] for i, o in enumerate(outputs)]  # type: ignore[union-attr]
        html += "<p>Unexplained variance of every output:</p>" + table(
            ["output", *(_short(s.model) for s in scores)], each
        )
    return html


def score_figures(scores: Sequence[Score] | Sequence[ClassScore]) -> list[Figure]:
    """The models side by side."""
    if not scores:
        return []
    what = "Log loss as a share of the constant's" if isinstance(scores[0], ClassScore) else "Unexplained variance"
    rows = tuple({"model": _short(s.model), "unexplained": max(s.unexplained, _LEAST_UNEXPLAINED)} for s in scores)
    title = f"{what} on the test rows (left is better)"
    return [Figure(title, rows, "model", "unexplained", mark="dots", log_y=True, y_title=what.lower())]


def _short(model: str) -> str:
    return model.split(" (", maxsplit=1)[0]


def _confusion(report: DiscoveryReport) -> str:
    model = report.discovery.model
    if model is None or model.classes is None:
        return ""
    labels = [str(c) for c in model.classes]
    number = {label: i for i, label in enumerate(labels)}
    observed = [number[str(value)] for value in np.asarray(report.observed).ravel().tolist()]
    counts = np.zeros((len(labels), len(labels)), dtype=int)
    np.add.at(counts, (observed, model.predict_proba(report.test).argmax(1)), 1)
    return _confusion_table(labels, counts) if len(labels) <= _MOST_CLASSES else _confusion_list(labels, counts)


def _confusion_table(labels: list[str], counts: np.ndarray) -> str:
    shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    head = "".join(f'<th scope="col">{escape(label)}</th>' for label in labels)
    rows = "".join(
        f'<tr><th scope="row">{escape(label)}</th>'
        + "".join(_confusion_cell(int(counts[i, j]), float(shares[i, j]), i == j) for j in range(len(labels)))
        + "</tr>"
        for i, label in enumerate(labels)
    )
    return (
        "<p>Observed class down, predicted class across (test rows):</p>"
        f'<div class="scroll"><table class="confusion"><thead><tr><th></th>{head}</tr></thead><tbody>{rows}</tbody>'
        "</table></div>"
    )


def _confusion_cell(count: int, share: float, right: bool) -> str:
    colour = "var(--good)" if right else "var(--bad)"
    return f'<td style="background:color-mix(in srgb, {colour} {55 * share:.0f}%, transparent)">{count:,}</td>'


def _confusion_list(labels: list[str], counts: np.ndarray) -> str:
    wrong = [
        (int(counts[i, j]), i, j) for i in range(len(labels)) for j in range(len(labels)) if i != j and counts[i, j]
    ]
    rows = [[labels[i], labels[j], n] for n, i, j in sorted(wrong, reverse=True)[:_MOST_CONFUSIONS]]
    return "<p>The commonest confusions (test rows):</p>" + table(["observed", "predicted", "rows"], rows)


# ---- the path -----------------------------------------------------------------------------------


def path_figures(found: Discovery) -> list[Figure]:
    """Held-out error after each decision, one chart an output."""
    return [
        _path_figure(output, [step for step in found.path if step.output == output])
        for output in found.graph.outputs[:_MOST_OUTPUTS]
        if any(step.output == output for step in found.path)
    ]


def _path_figure(output: str, steps: list[Step]) -> Figure:
    rows = tuple(
        {
            "decision": f"{i}. {step_text(step)}",
            "error": max(step.error, _LEAST_UNEXPLAINED),
            "low": max(step.error - step.spread, step.error / 10, _LEAST_UNEXPLAINED),
            "high": max(step.error + step.spread, _LEAST_UNEXPLAINED),
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

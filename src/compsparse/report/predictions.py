"""How well a model predicts, from the record of its assessment: scores, charts, confusions."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from compsparse.models.assessment import Assessment
from compsparse.models.scores import ClassScore, Score
from compsparse.report.figure import Figure
from compsparse.report.page import Section, table

LEAST_UNEXPLAINED = 1e-12
"""What a logarithmic axis shows instead of nothing."""
_MOST_POINTS = 1500
_MOST_OUTPUTS = 6
_MOST_CLASSES = 12
_MOST_CONFUSIONS = 12
_CALIBRATION_BINS = 10


def predictions_section(assessment: Assessment, *, better: str) -> Section:
    """The part of a page on how well a model predicts, with who predicts better where the page has not said so."""
    html = _scores(assessment) + f"<p>{escape(better)}</p>" * bool(better) + _confusion(assessment)
    return Section("How well it predicts", html, tuple(assessment_figures(assessment)))


def assessment_figures(assessment: Assessment) -> list[Figure]:
    """Every chart of the section: predictions, what they leave, the models side by side."""
    return [*fit_figures(assessment), *residual_figures(assessment), *score_figures(assessment)]


def fit_figures(assessment: Assessment) -> list[Figure]:
    """Predicted against observed per output, or the calibration of classes."""
    if assessment.probabilities is not None:
        return [_calibration(assessment.observed, assessment.probabilities)]
    pairs = zip(assessment.targets, assessment.observed.T, assessment.predicted.T, strict=True)
    return [_against(name, observed, predicted) for name, observed, predicted in pairs][:_MOST_OUTPUTS]


def residual_figures(assessment: Assessment) -> list[Figure]:
    """What predictions leave of each output, against the predictions; classes leave nothing to draw."""
    if assessment.probabilities is not None:
        return []
    triples = zip(assessment.targets, assessment.observed.T, assessment.predicted.T, strict=True)
    return [_left_over(*triple) for triple in triples][:_MOST_OUTPUTS]


def score_figures(assessment: Assessment) -> list[Figure]:
    """The models side by side."""
    scores = assessment.scores
    what = "Log loss as a share of the constant's" if isinstance(scores[0], ClassScore) else "Unexplained variance"
    rows = tuple({"model": _short(s.model), "unexplained": max(s.unexplained, LEAST_UNEXPLAINED)} for s in scores)
    title = f"{what} on the test rows (left is better)"
    return [Figure(title, rows, "model", "unexplained", mark="dots", log_y=True, y_title=what.lower())]


def own_score_text(assessment: Assessment) -> tuple[str, str]:
    """The model's score in words, and its figure."""
    own = assessment.own
    if isinstance(own, Score):
        return "test R² of the model", f"{own.r2:.5f}"
    return "test accuracy of the model", f"{own.accuracy:.1%}"


def _against(name: str, observed: np.ndarray, predicted: np.ndarray) -> Figure:
    pairs = list(zip(observed.tolist(), predicted.tolist(), strict=True))[:_MOST_POINTS]
    rows = tuple({"observed": o, "predicted": p} for o, p in pairs)
    title = f"Predicted against observed {name} (test rows)"
    return Figure(title, rows, "observed", "predicted", mark="points", diagonal=True)


def _left_over(name: str, observed: np.ndarray, predicted: np.ndarray) -> Figure:
    left = (observed - predicted).tolist()
    rows = tuple({"predicted": p, "left": e} for p, e in zip(predicted.tolist(), left, strict=True))
    title = f"Residuals of {name} (test rows; a pattern would show what is missed)"
    return Figure(title, rows[:_MOST_POINTS], "predicted", "left", mark="points", y_title="observed minus predicted")


def _calibration(observed: np.ndarray, shares: np.ndarray) -> Figure:
    """Probability given to the predicted class against how often it was right, in bins of equally many rows."""
    right = shares.argmax(1) == observed
    order = np.argsort(shares.max(1), kind="stable")
    bins = [rows for rows in np.array_split(order, min(_CALIBRATION_BINS, max(1, len(order) // 10))) if len(rows)]
    rows = tuple(
        {"probability given": float(shares.max(1)[b].mean()), "share right": float(right[b].mean()), "rows": len(b)}
        for b in bins
    )
    title = "Is its confidence justified? (test rows; on the dashed line it is)"
    return Figure(title, rows, "probability given", "share right", diagonal=True)


def _scores(assessment: Assessment) -> str:
    classifiers = [s for s in assessment.scores if isinstance(s, ClassScore)]
    if classifiers:
        columns = ["model", "test accuracy", "log loss", "log loss / constant's", "seconds to fit"]
        return table(columns, [[s.model, s.accuracy, s.log_loss, s.unexplained, s.seconds] for s in classifiers])
    scores = [s for s in assessment.scores if isinstance(s, Score)]
    columns = ["model", "test R²", "unexplained variance", "seconds to fit"]
    html = table(columns, [[s.model, s.r2, s.unexplained, s.seconds] for s in scores])
    return html + _by_output(assessment.targets, scores) if scores[0].by_output else html


def _by_output(targets: Sequence[str], scores: Sequence[Score]) -> str:
    each = [[name, *(1 - s.by_output[i] for s in scores)] for i, name in enumerate(targets)]
    columns = ["output", *(_short(s.model) for s in scores)]
    return "<p>Unexplained variance of every output:</p>" + table(columns, each)


def _short(model: str) -> str:
    return model.split(" (", maxsplit=1)[0]


def _confusion(assessment: Assessment) -> str:
    if assessment.classes is None:
        return ""
    labels = [str(label) for label in assessment.classes]
    counts = np.zeros((len(labels), len(labels)), dtype=int)
    np.add.at(counts, (assessment.observed, assessment.predicted), 1)
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
        f'<div class="scroll"><table class="confusion"><thead><tr><th scope="col">observed</th>{head}</tr>'
        f"</thead><tbody>{rows}</tbody>"
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

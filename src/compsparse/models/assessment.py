"""How a fitted graph does on rows it has not seen, as a record that pages are made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from compsparse.models.scores import ClassScore, Score, distinct_texts, score_classes, score_numbers
from compsparse.tables.splitting import SplitTable
from compsparse.text import in_a_line

if TYPE_CHECKING:
    from compsparse.models.blending import Blend
    from compsparse.models.fitted_graph import FittedGraph

BLEND = "blend of graph and others (compsparse)"
"""What models that predict beside a graph are called together."""


@in_a_line
@dataclass(frozen=True, eq=False)
class Assessment:
    """What a model predicts on the test rows, and how it did beside others.

    Attributes:
        targets: names of what was predicted.
        observed, predicted: (rows, targets) numbers; (rows,) class numbers where there are classes.
        own: the model's score.
        others: scores of other models, fitted to the same rows.
        n_train: rows that all of them were fitted to.
        classes: the labels, or None for numbers.
        probabilities: (rows, classes) where there are classes.
    """

    targets: tuple[str, ...]
    observed: np.ndarray
    predicted: np.ndarray
    own: Score | ClassScore
    n_train: int
    others: tuple[Score | ClassScore, ...] = ()
    classes: tuple[Any, ...] | None = None
    probabilities: np.ndarray | None = None

    @property
    def n_test(self) -> int:
        """Rows predicted."""
        return len(self.observed)

    @property
    def scores(self) -> list[Score | ClassScore]:
        """The model and the others, best first."""
        return sorted([self.own, *self.others], key=lambda score: score.unexplained)

    @property
    def better_elsewhere(self) -> str:
        """One sentence where another model predicts the test rows better, boosting named first; else nothing."""
        better = [score for score in self.others if score.unexplained < self.own.unexplained]
        if not better:
            return ""
        best = max(better, key=lambda score: "boosting" in score.model)
        blended = next((score for score in better if score.model == BLEND), None)
        best = blended if blended is not None and blended.unexplained <= best.unexplained else best
        name = best.model.split(" (")[0]
        who, short = ("Gradient boosting", "boosting") if "boosting" in name else (f"The {name}", f"the {name}")
        figures = " against ".join(distinct_texts(best.measured, self.own.measured))
        return f"{who} predicts better here: {best.measure} {figures}. The graph explains, {short} predicts."


def assess(
    model: FittedGraph,
    split: SplitTable,
    *,
    name: str = "fitted graph (compsparse)",
    seconds: float | None = None,
    others: Sequence[Score | ClassScore] = (),
) -> Assessment:
    """Predicts the test rows of a split table and scores the predictions.

    Args:
        name: what the model is called beside the others.
        seconds: what it took to get the model; by default, to fit it.
        others: scores of other models on the same split, as from
            :func:`~compsparse.models.comparison.baseline_scores`.
    """
    own = scored(model, split, name, model.seconds if seconds is None else seconds)
    observed, n_train = split.target_test.values, len(split.target.values)
    if model.classes is None:
        predicted = model.predict(split.X_test).reshape(len(observed), -1)
        return Assessment(model.targets, observed, predicted, own, n_train, tuple(others))
    probabilities = model.predict_proba(split.X_test)
    classes = tuple(model.classes)
    return Assessment(
        model.targets, observed, probabilities.argmax(1), own, n_train, tuple(others), classes, probabilities
    )


def scored(model: FittedGraph | Blend, split: SplitTable, name: str, seconds: float) -> Score | ClassScore:
    """How a model does on the test rows of a split table."""
    observed = split.target_test.values
    if split.classes is None:
        return score_numbers(name, observed, model.predict(split.X_test).reshape(len(observed), -1), seconds)
    shares = np.bincount(split.target.values) / len(split.target.values)
    return score_classes(name, observed, model.predict_proba(split.X_test), shares, seconds)

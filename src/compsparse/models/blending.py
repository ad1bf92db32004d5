"""What predicts best: a fitted graph, and beside it models that know nothing of the graph, weighed by honest rows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar, nnls
from scipy.special import log_softmax, softmax

from compsparse.checks import check_number
from compsparse.errors import ConfigError, DataError
from compsparse.files import read_text
from compsparse.models.boosting import BoostedTrees
from compsparse.models.fitted_graph import FittedGraph
from compsparse.models.json_format import model_from_text
from compsparse.models.scores import PredictWith
from compsparse.tables.coding import TableCode
from compsparse.tables.targets import labels_as_array
from compsparse.text import in_a_line

_FEWEST_TO_WEIGH, _MOST_ROUNDS = 1e-3, 500
_LEAST_SHARE = 1e-6
_CLEARLY, _REGRET = 3.0, 0.002
"""Standard errors, and share of the variance, by which a graph that loses is wrong somewhere."""
FREE = "a dense network"


@dataclass(frozen=True)
class HonestScore:
    """How a model did on rows that none of its members had seen.

    Attributes:
        unexplained: what it leaves of the target's variance, or of the log loss of the classes' shares.
        difference, spread: of that and what the graph leaves, with its standard error; above 0, the graph does better.
    """

    name: str
    unexplained: float
    difference: float = 0.0
    spread: float = 0.0

    @property
    def may_be_chance(self) -> bool:
        """Whether the difference is no more than two standard errors."""
        return abs(self.difference) <= 2 * self.spread

    @property
    def measured(self) -> str:
        """What is left, in words."""
        return f"{self.name} {self.unexplained:.2%}"


@in_a_line
@dataclass(frozen=True, kw_only=True, eq=False)
class Blend:
    """A fitted graph and other models of the same rows, which predict together.

    Inputs beyond the rows of the fit are moved to their ends.

    Attributes:
        graph: the fitted graph.
        others: those of the other models that have a weight.
        model_weights: (1 + others, outputs); for classes one column, the shares of a mixture, and what they lack of
            one is the share of ``class_shares``.
        class_shares: how often each class stood in the rows of the fit; empty for numbers.
        scores: of all models that were fitted, the graph first and the blend last.
        misses: (sizes, outputs) what the blend missed rows by that its members had not seen, from 0 up, in the units
            of the targets; empty for classes.
    """

    graph: FittedGraph
    others: tuple[FittedGraph | BoostedTrees, ...]
    model_weights: np.ndarray
    class_shares: np.ndarray
    scores: tuple[HonestScore, ...]
    misses: np.ndarray

    # ---- predicting ----------------------------------------------------------------------

    def predict(self, X: Any) -> np.ndarray:
        """Numbers, flat where there is one target; or the likeliest class of each row."""
        if self.classes is not None:
            labels: np.ndarray = labels_as_array(self.classes)[self.predict_proba(X).argmax(1)]
            return labels
        values = self._numbers(X)
        return values[:, 0] if values.shape[1] == 1 else values

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of every class, (rows, classes)."""
        if self.classes is None:
            raise DataError("the model predicts numbers, not classes")
        shares = self.model_weights[:, 0]
        each = np.stack([softmax(model.outputs(X), -1) for model in (self.inside, *self.others)])
        return np.asarray(np.tensordot(shares, each, 1) + (1 - shares.sum()) * self.class_shares)

    def predict_interval(self, X: Any, coverage: float = 0.9) -> tuple[np.ndarray, np.ndarray]:
        """The ends of intervals around the predictions that hold so large a share of new rows like those of the fit.

        Their width is a quantile of what rows were missed by that the members had not seen (cross-conformal
        prediction: Vovk, 2015), so it is the same for all rows.
        """
        check_number("coverage", coverage, above=0, below=1)
        if self.graph.classes is not None:
            raise DataError(
                "intervals are of numbers, and the model predicts classes: predict_proba says how sure it is"
            )
        values = self._numbers(X)
        n = len(self.misses)
        width = self.misses[min(n - 1, int(np.ceil((n + 1) * coverage)) - 1)]
        ends = values - width, values + width
        return (ends[0][:, 0], ends[1][:, 0]) if values.shape[1] == 1 else ends

    def _numbers(self, X: Any) -> np.ndarray:
        centre, each = np.array(self.graph.centre), [model.outputs(X) for model in (self.inside, *self.others)]
        parts = [weight * (values - centre) for weight, values in zip(self.model_weights, each, strict=True)]
        return np.asarray(np.sum(parts, axis=0) + centre)

    # ---- what it is of -------------------------------------------------------------------

    @cached_property
    def inside(self) -> FittedGraph:
        """The graph's model alone, with inputs moved to the ends of the rows of the fit."""
        return replace(self.graph, code=self.graph.code.clipping())

    @property
    def targets(self) -> tuple[str, ...]:
        """Names of what is predicted."""
        return self.graph.targets

    @property
    def classes(self) -> tuple[Any, ...] | None:
        """Labels in the order of the outputs, or None for numbers."""
        return self.graph.classes

    @property
    def code(self) -> TableCode:
        """How the table becomes numbers, for the graph."""
        return self.inside.code

    @property
    def unread(self) -> frozenset[str]:
        """Inputs that no model reads."""
        return frozenset() if self.others else self.inside.unread

    # ---- telling -------------------------------------------------------------------------

    @property
    def best(self) -> HonestScore:
        """The model that leaves least."""
        return min(self.scores, key=lambda score: score.unexplained)

    @property
    def regret(self) -> HonestScore | None:
        """The network without the graph that clearly does better, if one does; a blend always may."""
        free = [s for s in self.scores[1:-1] if s.name.startswith(FREE)]
        lost = min(free, key=lambda score: score.difference, default=None)
        is_clear = lost is not None and -lost.difference > max(_CLEARLY * lost.spread, _REGRET)
        return lost if is_clear else None

    @property
    def sentence(self) -> str:
        """Who predicts best, and what the graph costs or gains, with its standard error."""
        graph, *others = self.scores
        target = ", ".join(self.graph.targets)
        left = f"of rows that no member had seen, the graph leaves {graph.unexplained:.2%} of {target} unexplained"
        listed = ", ".join(other.measured for other in others)
        if graph.unexplained >= 1:
            verdict = "the graph predicts no better than a constant"
        elif not others:
            return left
        elif self.best is graph:
            rival = min(others, key=lambda other: other.unexplained)
            verdict = f"the graph predicts best, by {rival.difference:.2%} ± {rival.spread:.2%}"
        else:
            best = self.best
            cost = f"{-best.difference:.2%} ± {best.spread:.2%}" + ", which may be chance" * best.may_be_chance
            verdict = f"{best.name} predicts best; the graph alone costs {cost}"
        return f"{left}{', ' * bool(listed)}{listed}: {verdict}"

    # ---- files ---------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """All but the graph as JSON values, with their digest."""
        from compsparse.models.blend_format import blend_to_dict

        return blend_to_dict(self)

    @classmethod
    def from_dict(cls, data: Any, graph: FittedGraph) -> Blend:
        """Reads what :meth:`to_dict` made, for the graph of the same record.

        Raises:
            DataError: the values are damaged, or were changed.
        """
        from compsparse.models.blend_format import blend_from_dict

        return blend_from_dict(data, graph)


def load_predictor(path: str | os.PathLike[str], predict_with: PredictWith = "blend") -> FittedGraph | Blend:
    """What predicts, from the file of a model or of a discovery.

    Args:
        predict_with: ``blend`` takes what is there beside the graph, if anything is; ``graph`` the graph alone.

    Raises:
        DataError: there is no such file, or it holds no model.
    """
    from compsparse.models.blend_format import blend_from_text

    text = read_text(path)
    graph = model_from_text(text, str(path))
    blend = blend_from_text(text, graph)
    if blend is None:
        return graph
    return blend if predict_with == "blend" else blend.inside


def no_misses() -> ConfigError:
    """The error where intervals are asked of a model that was not judged by rows not seen."""
    return ConfigError(
        "intervals need a model that was judged by rows not seen: this one leaves next to nothing unexplained, had too "
        "few rows or too little time, or is the graph alone; predict_with='blend' takes all that was fitted"
    )


# ---- weighing ------------------------------------------------------------------------------------


def calibrated_numbers(predicted: np.ndarray, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """What each output's standardised predictions are multiplied by so that they are no worse than the mean."""
    w = weight[:, None]
    power = (w * predicted**2).sum(0)
    slope = (w * predicted * y).sum(0) / np.where(power > 0, power, 1.0)
    return np.asarray(np.clip(slope, _LEAST_SHARE, 1.0))


def calibrated_logits(logits: np.ndarray, y: np.ndarray, weight: np.ndarray) -> float:
    """What logits are multiplied by, the rest being the log of the classes' shares: least log loss, by one number."""
    prior = np.log(shares_of(y, logits.shape[1], weight))
    rows = np.arange(len(y))

    def loss(factor: float) -> float:
        given = log_softmax(factor * logits + (1 - factor) * prior, -1)[rows, y]
        return float(-np.average(given, weights=weight))

    found = minimize_scalar(loss, bounds=(0.0, 2.0), method="bounded", options={"xatol": 1e-9})
    return max(float(found.x), _LEAST_SHARE)


def shares_of(y: np.ndarray, n_classes: int, weight: np.ndarray) -> np.ndarray:
    """How often each class stands in the rows."""
    counts = np.bincount(y, weights=weight, minlength=n_classes)
    return np.asarray(np.maximum(counts / counts.sum(), _LEAST_SHARE))


def weigh_numbers(each: np.ndarray, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Weights >= 0 of (models, rows, outputs) predictions by least squares, (models, outputs)."""
    root = np.sqrt(weight)[:, None]
    found = [nnls(root * each[:, :, i].T, root[:, 0] * y[:, i])[0] for i in range(y.shape[1])]
    return np.stack(found, axis=1)


def weigh_classes(each: np.ndarray, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Shares of a mixture of (models, rows, classes) probabilities by likelihood, (models, 1): EM steps."""
    given = each[:, np.arange(len(y)), y]
    shares = np.full(len(each), 1 / len(each))
    for _ in range(_MOST_ROUNDS):
        parts = shares[:, None] * given
        shares = np.average(parts / parts.sum(0), axis=1, weights=weight)
    return np.asarray(shares[:, None])


def out_of_fold_blend(
    each: np.ndarray, y: np.ndarray, weight: np.ndarray, fold: np.ndarray, is_classes: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The weights by all rows, and predictions of every row with weights by rows of other folds."""
    weigh = weigh_classes if is_classes else weigh_numbers
    blended = np.empty(each.shape[1:])
    for k in np.unique(fold):
        learned = fold != k
        own = weigh(each[:, learned], y[learned], weight[learned])
        blended[~learned] = (own[:, None] * each[:, ~learned]).sum(0)
    return weigh(each, y, weight), blended


def losses(predicted: np.ndarray, y: np.ndarray, is_classes: bool) -> np.ndarray:
    """The loss of every row: squared error of standardised numbers, or minus the log of the probability given."""
    if is_classes:
        return np.asarray(-np.log(np.maximum(predicted[np.arange(len(y)), y], _LEAST_SHARE)))
    return np.asarray(((predicted - y) ** 2).mean(1))


def weighty(weights: np.ndarray) -> Sequence[int]:
    """The models whose weight matters."""
    return [i for i, own in enumerate(weights) if own.max() > _FEWEST_TO_WEIGH]

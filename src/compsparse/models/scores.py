"""How well predictions agree with what was observed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np

from compsparse.checks import check_choice

PredictWith = Literal["graph", "blend"]
"""Whether a graph predicts alone, or with models that know nothing of it."""
_LEAST_PROBABILITY = 1e-6
_FEWEST_DECIMALS, _MOST_DECIMALS = 2, 15


def check_predict_with(value: object) -> PredictWith:
    """One of the two ways to predict; None is the blend."""
    chosen = "blend" if value is None else check_choice("predict_with", value, get_args(PredictWith))
    return "graph" if chosen == "graph" else "blend"


@dataclass(frozen=True)
class Score:
    """How one model did on the test rows.

    Attributes:
        r2: coefficient of determination, the mean over outputs.
        by_output: that of every output, where there are several.
    """

    model: str
    r2: float
    seconds: float
    by_output: tuple[float, ...] = ()
    measure: ClassVar[str] = "R2"

    @property
    def measured(self) -> float:
        """The figure by which models are told apart."""
        return self.r2

    @property
    def unexplained(self) -> float:
        """Share of the target's variance that the model leaves unexplained."""
        return 1 - self.r2


@dataclass(frozen=True)
class ClassScore:
    """How one classifier did on the test rows.

    Attributes:
        log_loss: mean negative logarithm of the probability given to the true class.
        constant_log_loss: that of the training rows' class shares.
    """

    model: str
    accuracy: float
    log_loss: float
    constant_log_loss: float
    seconds: float
    measure: ClassVar[str] = "log loss"

    @property
    def measured(self) -> float:
        """The figure by which models are told apart."""
        return self.log_loss

    @property
    def unexplained(self) -> float:
        """Log loss as a share of what knowing the classes' shares alone would give."""
        return self.log_loss / self.constant_log_loss


def score_numbers(model: str, observed: np.ndarray, predicted: np.ndarray, seconds: float) -> Score:
    """The score of predictions, (rows,) or (rows, outputs)."""
    observed, predicted = (np.asarray(v, dtype=float).reshape(len(v), -1) for v in (observed, predicted))
    error = ((observed - predicted) ** 2).sum(0)
    spread = ((observed - observed.mean(0)) ** 2).sum(0)
    # a constant target is explained by itself alone
    each = np.where(spread > 0, 1 - error / np.where(spread > 0, spread, 1.0), (error == 0).astype(float))
    return Score(model, float(each.mean()), seconds, tuple(each.tolist()) if len(each) > 1 else ())


def score_classes(
    model: str, observed: np.ndarray, probabilities: np.ndarray, class_shares: np.ndarray, seconds: float
) -> ClassScore:
    """The score of (rows, classes) probabilities against class numbers."""
    rows = np.arange(len(observed))
    given = np.maximum(probabilities[rows, observed], _LEAST_PROBABILITY)
    accuracy = float((probabilities.argmax(1) == observed).mean())
    constant = float(-np.log(class_shares[observed]).mean())
    return ClassScore(model, accuracy, float(-np.log(given).mean()), constant, seconds)


def distinct_texts(*figures: float) -> list[str]:
    """Figures with as few decimals as tell them apart."""
    for decimals in range(_FEWEST_DECIMALS, _MOST_DECIMALS):
        texts = [f"{figure:.{decimals}f}" for figure in figures]
        if len(set(texts)) == len(texts):
            return texts
    return [repr(figure) for figure in figures]

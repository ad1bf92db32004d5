"""A fitted model beside scikit-learn's dense baselines, on the same rows."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import r2_score
from sklearn.multioutput import MultiOutputRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from compsparse.models.fitted_graph import FittedGraph
from compsparse.tables.splitting import SplitTable

_ROWS_SEEN_IN_TRAINING = 3_000_000
_MOST_EPOCHS, _FEWEST_EPOCHS = 2000, 20
_FEWEST_TO_HOLD_OUT, _FEWEST_OF_A_CLASS = 100, 20
_LEAST_PROBABILITY = 1e-6


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

    @property
    def unexplained(self) -> float:
        """Log loss as a share of what knowing the classes' shares alone would give."""
        return self.log_loss / self.constant_log_loss


def score_numbers(model: str, observed: np.ndarray, predicted: np.ndarray, seconds: float) -> Score:
    """The score of predictions, (rows,) or (rows, outputs)."""
    each = np.atleast_1d(r2_score(observed, predicted, multioutput="raw_values"))
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


def dense_baselines(random_state: int | None = 0, n_rows: int = 0, n_outputs: int = 1) -> dict[str, BaseEstimator]:
    """Untuned models that know nothing of the graph; enough rows let the network stop where held-out error does."""
    training = _early_stopping(n_rows, n_rows)
    network = MLPRegressor(hidden_layer_sizes=(128, 128), random_state=random_state, **training)
    scaled = TransformedTargetRegressor(make_pipeline(StandardScaler(), network), transformer=StandardScaler())
    boosting = HistGradientBoostingRegressor(random_state=random_state)
    return {
        "dense network (scikit-learn MLP)": scaled,
        "gradient boosting (scikit-learn)": boosting if n_outputs == 1 else MultiOutputRegressor(boosting),
    }


def dense_classifiers(random_state: int | None = 0, n_rows: int = 0, rarest: int = 0) -> dict[str, BaseEstimator]:
    """The same for classes, the rarest of which has so many rows."""
    training = _early_stopping(n_rows, rarest)
    network = MLPClassifier(hidden_layer_sizes=(128, 128), random_state=random_state, **training)
    return {
        "dense network (scikit-learn MLP)": make_pipeline(StandardScaler(), network),
        "gradient boosting (scikit-learn)": HistGradientBoostingClassifier(random_state=random_state),
    }


def _early_stopping(n_rows: int, rarest: int) -> dict[str, Any]:
    """Passes over the data, fewer where it is large; with enough rows, an end where held-out error stops falling."""
    epochs = int(np.clip(_ROWS_SEEN_IN_TRAINING // max(n_rows, 1), _FEWEST_EPOCHS, _MOST_EPOCHS))
    if n_rows < _FEWEST_TO_HOLD_OUT or rarest < _FEWEST_OF_A_CLASS:
        return {"max_iter": epochs}
    return {"max_iter": epochs, "early_stopping": True, "n_iter_no_change": 100, "tol": 1e-6}


def compare_models(models: dict[str, BaseEstimator], train: Sequence[Any], test: Sequence[Any]) -> list[Score]:
    """Fits each model to (X, y) and scores it on another (X, y), best first."""
    (X, y), (X_test, y_test) = train, test
    scores = []
    for name, model in models.items():
        with _fitting() as clock:
            model.fit(X, y)
        scores.append(score_numbers(name, y_test, model.predict(X_test), clock.seconds))
    return sorted(scores, key=lambda s: s.unexplained)


def compare_classifiers(
    models: dict[str, BaseEstimator], train: Sequence[Any], test: Sequence[Any]
) -> list[ClassScore]:
    """The same for class numbers 0, 1, …, every one of which stands in the training rows."""
    (X, y), (X_test, y_test) = train, test
    shares = np.bincount(y) / len(y)
    scores = []
    for name, model in models.items():
        with _fitting() as clock:
            model.fit(X, y)
        scores.append(score_classes(name, y_test, model.predict_proba(X_test), shares, clock.seconds))
    return sorted(scores, key=lambda s: s.unexplained)


@dataclass
class _Clock:
    seconds: float = 0.0


@contextmanager
def _fitting() -> Iterator[_Clock]:
    """Times a fit; that an untuned baseline did not converge is no news."""
    clock, started = _Clock(), time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield clock
    clock.seconds = time.perf_counter() - started


def compared(
    model: FittedGraph, split: SplitTable, name: str, seconds: float
) -> Sequence[Score] | Sequence[ClassScore]:
    """A fitted graph and dense models on the test rows, best first; without the latter after Ctrl-C."""
    X, X_test = model.code.encoded(split.X), model.code.encoded(split.X_test)
    if split.classes is not None:
        shares = np.bincount(split.values) / len(X)
        own = score_classes(name, split.values_test, model.predict_proba(split.X_test), shares, seconds)
        classifiers = dense_classifiers(split.seed, len(X), rarest=int(np.bincount(split.values).min()))
        both = (X, split.values), (X_test, split.values_test)
        return _best_first([own, *_unless_interrupted(lambda: compare_classifiers(classifiers, *both))])
    n_outputs = split.values.shape[1]
    y, y_test = (v[:, 0] if n_outputs == 1 else v for v in (split.values, split.values_test))
    own_score = score_numbers(name, y_test, model.predict(split.X_test), seconds)
    models = dense_baselines(split.seed, len(X), n_outputs)
    return _best_first([own_score, *_unless_interrupted(lambda: compare_models(models, (X, y), (X_test, y_test)))])


def _best_first(scores: list[Any]) -> list[Any]:
    return sorted(scores, key=lambda s: s.unexplained)


def _unless_interrupted(compare: Callable[[], list[Any]]) -> list[Any]:
    try:
        return compare()
    except KeyboardInterrupt:
        return []

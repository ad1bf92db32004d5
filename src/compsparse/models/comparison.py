"""scikit-learn's dense models on the same rows, to compare with."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.multioutput import MultiOutputRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from compsparse.clock import Deadline
from compsparse.models.scores import ClassScore, Score, score_classes, score_numbers
from compsparse.tables.coded import coded_table
from compsparse.tables.splitting import SplitTable

_ROWS_SEEN_IN_TRAINING = 3_000_000
_MOST_EPOCHS, _FEWEST_EPOCHS = 2000, 20
_FEWEST_TO_HOLD_OUT, _FEWEST_OF_A_CLASS = 100, 20
_ROWS_OF_A_TRIAL = 300


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


def compare_models(
    models: dict[str, BaseEstimator], train: Sequence[Any], test: Sequence[Any], deadline: Deadline | None = None
) -> list[Score]:
    """Fits each model to (X, y) and scores it on another (X, y), best first; those without time are left out."""
    (X, y), (X_test, y_test) = train, test
    scores = []
    for name, model in models.items():
        if not _has_time(model, X, y, deadline):
            continue
        with _fitting() as clock:
            model.fit(X, y)
        scores.append(score_numbers(name, y_test, model.predict(X_test), clock.seconds))
    return sorted(scores, key=lambda s: s.unexplained)


def compare_classifiers(
    models: dict[str, BaseEstimator], train: Sequence[Any], test: Sequence[Any], deadline: Deadline | None = None
) -> list[ClassScore]:
    """The same for class numbers 0, 1, …, every one of which stands in the training rows."""
    (X, y), (X_test, y_test) = train, test
    shares = np.bincount(y) / len(y)
    scores = []
    for name, model in models.items():
        if not _has_time(model, X, y, deadline):
            continue
        with _fitting() as clock:
            model.fit(X, y)
        scores.append(score_classes(name, y_test, model.predict_proba(X_test), shares, clock.seconds))
    return sorted(scores, key=lambda s: s.unexplained)


def _has_time(model: BaseEstimator, X: np.ndarray, y: np.ndarray, deadline: Deadline | None) -> bool:
    """Whether a fit would end before the deadline, by a fit to a few rows and a cost that grows with the rows.

    The dense network passes less often over more rows, so that its estimate is high; it is left out rather than late.
    """
    if deadline is None or not deadline.is_set:
        return True
    n = min(_ROWS_OF_A_TRIAL, len(X))
    rows = np.linspace(0, len(X) - 1, n).astype(int)
    if len(np.unique(y[rows], axis=0)) < 2 or deadline.is_over:
        return False
    with _fitting() as clock:
        clone(model).fit(X[rows], y[rows])
    return clock.seconds * max(len(X) / n, 1) < deadline.left


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


def baseline_scores(
    split: SplitTable, random_state: int | None = 0, deadline: Deadline | None = None
) -> list[Score] | list[ClassScore]:
    """Dense models on the test rows, best first; none of them after Ctrl-C.

    Args:
        deadline: models that would take longer are left out.
    """
    # the seeds of scikit-learn have 32 bits
    seed = None if random_state is None else random_state % 2**32
    classification = split.classes is not None
    coded = coded_table(split.X, split.y, classification=classification, na=split.na, leaves_out=True)
    X, X_test = coded.X, coded.code.encoded(split.X_test)
    y, y_test = split.target.values, split.target_test.values
    try:
        if split.classes is not None:
            classifiers = dense_classifiers(seed, len(X), rarest=int(np.bincount(y).min()))
            return compare_classifiers(classifiers, (X, y), (X_test, y_test), deadline)
        n_outputs = y.shape[1]
        if n_outputs == 1:
            y, y_test = y[:, 0], y_test[:, 0]
        return compare_models(dense_baselines(seed, len(X), n_outputs), (X, y), (X_test, y_test), deadline)
    except KeyboardInterrupt:
        return []

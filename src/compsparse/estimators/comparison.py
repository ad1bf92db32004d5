"""A fitted model beside scikit-learn's dense baselines, on the same rows."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import r2_score
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


@dataclass(frozen=True)
class Score:
    """How one model did on the test rows."""

    model: str
    r2: float
    seconds: float

    @property
    def unexplained(self) -> float:
        """Share of the target's variance that the model leaves unexplained."""
        return 1 - self.r2


def dense_baselines(random_state: int | None = 0) -> dict[str, BaseEstimator]:
    """Untuned models that know nothing of the graph."""
    network = MLPRegressor(hidden_layer_sizes=(128, 128), max_iter=2000, random_state=random_state)
    scaled = TransformedTargetRegressor(make_pipeline(StandardScaler(), network), transformer=StandardScaler())
    return {
        "dense network (scikit-learn MLP)": scaled,
        "gradient boosting (scikit-learn)": HistGradientBoostingRegressor(random_state=random_state),
    }


def compare_models(models: dict[str, BaseEstimator], train: Sequence[Any], test: Sequence[Any]) -> list[Score]:
    """Fits each model to (X, y) and scores it on another (X, y), best first."""
    (X, y), (X_test, y_test) = train, test
    scores = []
    for name, model in models.items():
        started = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, y)
        seconds = time.perf_counter() - started
        scores.append(Score(name, float(r2_score(y_test, model.predict(X_test))), seconds))
    return sorted(scores, key=lambda s: s.unexplained)

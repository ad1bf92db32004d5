"""The runs of a simulator that a discovery rests on, and the model that stands for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from compsparse.boxes import Side
from compsparse.text import in_a_line

if TYPE_CHECKING:
    from compsparse.models import Assessment, FittedGraph


@in_a_line
@dataclass(frozen=True, eq=False)
class Runs:
    """What was asked, and what came back.

    Attributes:
        names: of the inputs.
        bounds: (low, high) of every input.
        X, y: (runs, inputs) and (runs, outputs), failed runs left out.
        is_test: runs that took no part in search and fit.
        n_failed: runs that raised, or answered with NaN.
        problem: what the first failed run said.
    """

    names: tuple[str, ...]
    bounds: tuple[Side, ...]
    X: np.ndarray = field(repr=False)
    y: np.ndarray = field(repr=False)
    is_test: np.ndarray = field(repr=False)
    n_failed: int = 0
    problem: str = ""

    @property
    def n_runs(self) -> int:
        """Runs that gave an answer."""
        return len(self.X)


@in_a_line
@dataclass(frozen=True, eq=False)
class Surrogate:
    """A fast stand-in for a simulator, with its error.

    Attributes:
        model: predicts as the simulator answers.
        r2: on runs that took no part in search and fit, the mean over outputs.
        rmse: typical error of every output there, in its units.
        n_test: how many runs those were.
        bounds: within which it holds, by input.
    """

    model: FittedGraph
    r2: float
    rmse: tuple[float, ...]
    n_test: int
    bounds: dict[str, Side]

    def predict(self, X: Any) -> np.ndarray:
        """Numbers at the rows of a table or array."""
        return self.model.predict(X)

    __call__ = predict

    def assessment(self, runs: Runs, seconds: float) -> Assessment:
        """How it did on the runs kept apart, for a page."""
        from compsparse.models.assessment import Assessment
        from compsparse.models.scores import score_numbers

        observed = runs.y[runs.is_test]
        predicted = self.model.predict(runs.X[runs.is_test]).reshape(observed.shape)
        own = score_numbers("surrogate (compsparse)", observed, predicted, seconds)
        return Assessment(self.model.targets, observed, predicted, own, int((~runs.is_test).sum()))

    def __str__(self) -> str:
        errors = ", ".join(f"{e:.3g} in {name}" for name, e in zip(self.model.targets, self.rmse, strict=True))
        return (
            f"Stands for the simulator with R2 {self.r2:.5f} on {self.n_test} runs that it has not seen; "
            f"typical error {errors}."
        )


def surrogate_of(model: FittedGraph, runs: Runs) -> Surrogate:
    """The model with its error on the runs kept apart."""
    from compsparse.models.scores import score_numbers

    X, y = runs.X[runs.is_test], runs.y[runs.is_test]
    predicted = model.predict(X).reshape(len(X), -1)
    rmse = tuple(np.sqrt(np.mean((predicted - y) ** 2, axis=0)).tolist())
    score = score_numbers("surrogate", y, predicted, 0.0)
    return Surrogate(model, score.r2, rmse, len(X), dict(zip(runs.names, runs.bounds, strict=True)))

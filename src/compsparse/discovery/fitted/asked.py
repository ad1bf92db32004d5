"""Fitted models of any kind, asked for numbers: answers, or log odds of classes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from compsparse.checks import brief, check_numbers
from compsparse.errors import ConfigError, DataError
from compsparse.graph import FunctionGraph
from compsparse.surroundings import callers_settings
from compsparse.tables.columns import Table
from compsparse.tables.values import text_of

_LEAST_DISTANCE = 1e-6
"""Of a probability from 0 and 1."""


@dataclass(frozen=True, eq=False)
class AskedModel:
    """A model with the form in which it takes rows.

    Attributes:
        ask: what gives the answers.
        as_given: makes of a table what the model was given as X.
        classes: labels where the answers are their probabilities, in their order.
    """

    ask: Callable[[Any], Any]
    as_given: Callable[[Table], Any]
    classes: tuple[str, ...] | None = None

    def __call__(self, table: Table) -> np.ndarray:
        """(rows, outputs) answers, or probabilities.

        Raises:
            DataError: the model fails, or its answers cannot be used.
        """
        try:
            with callers_settings():
                given = self.ask(self.as_given(table))
        except Exception as error:
            first_line = (str(error).strip().splitlines() or [""])[0]
            raise DataError(f"the model raised {type(error).__name__}: {first_line}") from error
        given = given.detach().cpu().numpy() if hasattr(given, "detach") else given
        values = check_numbers("the model's answer", given)
        if values.ndim not in (1, 2) or len(values) != table.n_rows:
            raise DataError(f"the model must answer {table.n_rows} rows, got an array of shape {values.shape}")
        return values.reshape(table.n_rows, -1)


def asked_model(model: Any, X: Any) -> AskedModel:
    """A model as it is asked: by ``predict_proba``, by ``predict``, as a torch module, or as a callable."""
    from compsparse.models.fitted_graph import FittedGraph

    if isinstance(model, FittedGraph):
        if model.classes is not None:
            return AskedModel(model.predict_proba, _as_is, tuple(map(text_of, model.classes)))
        return AskedModel(model.predict, _as_is)
    if isinstance(model, type):
        raise ConfigError(f"expected a fitted model, got the class {model.__name__}")
    as_given = _frames(X) if hasattr(X, "columns") and not isinstance(X, Table) else _array
    if isinstance(model, FunctionGraph):
        if not model.has_functions:
            raise ConfigError("the graph is structure alone: there is nothing in it to explain")
        return AskedModel(model, _array)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(model, torch.nn.Module):
        return AskedModel(_module(model, torch), _array)
    if hasattr(model, "predict_proba"):
        return AskedModel(model.predict_proba, as_given, tuple(text_of(c) for c in _plain(model.classes_)))
    answer = getattr(model, "predict", None) or model
    if not callable(answer):
        raise ConfigError(f"expected a model with predict, a torch module or a function of rows, got {brief(model)}")
    return AskedModel(answer, as_given if hasattr(model, "predict") else _array)


def log_odds(probabilities: np.ndarray) -> np.ndarray:
    """Of two classes the log odds of the second; of more their log probabilities, each less their mean.

    Sure answers are taken as half as far from 0 and 1 as any that is not sure.
    """
    distances = np.minimum(probabilities, 1 - probabilities)
    least = max(float(distances[distances > 0].min(initial=1.0)) / 2, _LEAST_DISTANCE)
    logs = np.log(np.clip(probabilities, least, 1 - least))
    if logs.shape[1] == 2:
        odds: np.ndarray = logs[:, 1:] - logs[:, :1]
        return odds
    centred: np.ndarray = logs - logs.mean(1, keepdims=True)
    return centred


def _as_is(table: Table) -> Table:
    return table


def _array(table: Table) -> np.ndarray:
    return np.stack([np.asarray(column) for column in table.columns], axis=1)


def _frames(X: Any) -> Callable[[Table], Any]:
    """Data frames like the one given."""
    import pandas

    kinds = dict(X.dtypes) if isinstance(X, pandas.DataFrame) else {}

    def frame(table: Table) -> Any:
        made = pandas.DataFrame(dict(zip(table.names or (), table.columns, strict=True)))
        made = made.astype({name: kind for name, kind in kinds.items() if str(kind) == "category"})
        return made if kinds else type(X)(made.to_dict("list"))

    return frame


def _module(model: Any, torch: Any) -> Callable[[np.ndarray], Any]:
    """A torch module in the type and at the place of its weights, as it predicts and not as it trains."""
    weight = next(iter(model.parameters()), None)
    where = {} if weight is None else {"dtype": weight.dtype, "device": weight.device}

    def answers(rows: np.ndarray) -> Any:
        was_training = model.training
        model.eval()
        try:
            with torch.no_grad():
                return model(torch.as_tensor(rows.astype(float), **where))
        finally:
            model.train(was_training)

    return answers


def _plain(labels: Any) -> list[Any]:
    return [label.item() if isinstance(label, np.generic) else label for label in labels]

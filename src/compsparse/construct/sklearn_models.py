"""Fitted models of scikit-learn as function graphs of formulas, read from their fitted attributes.

Classifiers are compiled to their logits, which keep what is piecewise linear exact: with two classes the log-odds of
the second, with more one for each class up to a common shift (``decision_function`` of linear models).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from compsparse.checks import input_names
from compsparse.construct.layers import UnitLayers, operation_formula
from compsparse.errors import ConfigError
from compsparse.graph import FunctionGraph

_HIDDEN = {"identity": None, "logistic": "sigmoid", "tanh": "tanh", "relu": "relu"}
_JUMPS = ("Tree", "Forest", "Boosting", "AdaBoost", "Bagging", "Neighbors", "Dummy", "Isotonic")
_SEARCHES = {"GridSearchCV", "RandomizedSearchCV", "HalvingGridSearchCV", "HalvingRandomSearchCV"}


def is_tree(model: Any) -> bool:
    """Whether a model is made of steps, of this library or of another."""
    package = type(model).__module__.partition(".")[0]
    return package in ("xgboost", "lightgbm", "catboost") or (
        package == "sklearn" and any(word in type(model).__name__ for word in _JUMPS[:5])
    )


def refuse_tree(model: Any) -> None:
    """Why trees are not compiled."""
    raise ConfigError(
        f"{type(model).__name__} jumps at every threshold of its trees, and a ReLU network is continuous: near a jump "
        "it is off by at least half the jump, whatever its size, so no tolerance could be certified; compile a model "
        "without trees"
    )


def estimator_graph(model: Any, n_inputs: int | None) -> FunctionGraph:
    """A fitted estimator as formulas of its columns in their own units."""
    n = getattr(model, "n_features_in_", None)
    if n is None:
        raise ConfigError(f"{type(model).__name__} is not fitted: fit it before it is compiled")
    if n_inputs is not None and n != n_inputs:
        raise ConfigError(f"{type(model).__name__} takes {n} inputs, and the domain has {n_inputs} sides")
    names = getattr(model, "feature_names_in_", None)
    values = UnitLayers(input_names(n) if names is None else [str(name) for name in names])
    outputs = _add(values, model)
    return values.graph(outputs)


def _add(values: UnitLayers, model: Any) -> list[str]:
    """Adds a model's layers, and returns the names of its outputs."""
    name = type(model).__name__
    if is_tree(model):
        refuse_tree(model)
    if name == "Pipeline":
        for _, step in model.steps[:-1]:
            _transform(values, step)
        return _add(values, model.steps[-1][1])
    if name in _SEARCHES:
        return _add(values, model.best_estimator_)
    if name == "TransformedTargetRegressor":
        outputs = _add(values, model.regressor_)
        _untransform(values, model)
        return outputs
    if name in ("MLPRegressor", "MLPClassifier"):
        return _perceptron(values, model)
    if hasattr(model, "coef_") and hasattr(model, "intercept_") and not hasattr(model, "support_vectors_"):
        return _linear(values, model)
    raise ConfigError(
        f"{name} is not among the models that can be compiled: linear models, MLPRegressor, MLPClassifier, and "
        "pipelines of scalers, PCA and such a model"
    )


def _outputs(values: UnitLayers, model: Any) -> list[str]:
    classes = getattr(model, "classes_", None)
    if classes is None:
        return ["y"] if values.width == 1 else [f"y{i}" for i in range(values.width)]
    shown = list(classes)[1:] if values.width == 1 else list(classes)
    return [f"logit of {c}" for c in shown]


def _perceptron(values: UnitLayers, model: Any) -> list[str]:
    if not hasattr(model, "coefs_"):
        raise ConfigError(f"{type(model).__name__} is not fitted: fit it before it is compiled")
    last = len(model.coefs_) - 1
    hidden = _HIDDEN[model.activation]
    for i, (weights, shifts) in enumerate(zip(model.coefs_, model.intercepts_, strict=True)):
        values.multiply(np.asarray(weights, dtype=float).T, shifts)
        if i < last and hidden is not None:
            values.each(lambda x: operation_formula(hidden, x))
    if model.out_activation_ == "exp":
        values.each(lambda x: operation_formula("exp", x))
    return _outputs(values, model)


def _linear(values: UnitLayers, model: Any) -> list[str]:
    values.multiply(np.atleast_2d(np.asarray(model.coef_, dtype=float)), np.ravel(model.intercept_))
    name = type(model).__name__
    is_log = name in ("PoissonRegressor", "GammaRegressor")
    if name == "TweedieRegressor":
        is_log = model.link == "log" or (model.link == "auto" and model.power > 0)
    if is_log:
        values.each(lambda x: operation_formula("exp", x))
    return _outputs(values, model)


# ---- what stands before and after -----------------------------------------------------------------


def _transform(values: UnitLayers, step: Any) -> None:
    name = type(step).__name__
    if step is None or isinstance(step, str) or (name == "FunctionTransformer" and step.func is None):
        return
    if name == "StandardScaler":
        values.each(_scale_down, _or(step.mean_ if step.with_mean else None, 0), _or(step.scale_, 1))
    elif name == "RobustScaler":
        values.each(
            _scale_down, _or(step.center_ if step.with_centering else None, 0),
            _or(step.scale_ if step.with_scaling else None, 1),
        )  # fmt: skip
    elif name == "MaxAbsScaler":
        values.each(_scale_down, 0, step.scale_)
    elif name == "MinMaxScaler":
        values.each(_scale_up, step.min_, step.scale_)
        if step.clip:
            low, high = map(float, step.feature_range)
            values.each(lambda x: operation_formula("clip", x, low, high))
    elif name == "PCA":
        _project(values, step)
    elif name == "Pipeline":
        for _, inner in step.steps:
            _transform(values, inner)
    else:
        raise ConfigError(f"the step {name} of the pipeline is not among those that can be compiled: scalers and PCA")


def _project(values: UnitLayers, step: Any) -> None:
    components = np.asarray(step.components_, dtype=float)
    if step.whiten:
        components = components / np.sqrt(step.explained_variance_)[:, None]
    values.each(_scale_down, step.mean_, 1)
    values.multiply(components, np.zeros(len(components)))


def _untransform(values: UnitLayers, model: Any) -> None:
    step = model.transformer_
    name = type(step).__name__
    if name == "StandardScaler":
        centre, scale = _or(step.mean_ if step.with_mean else None, 0), _or(step.scale_, 1)
    elif name == "FunctionTransformer" and step.inverse_func is None:
        return
    elif name == "FunctionTransformer" and step.inverse_func is np.exp:
        values.each(lambda x: operation_formula("exp", x))
        return
    elif name == "FunctionTransformer" and step.inverse_func is np.expm1:
        values.each(lambda x: operation_formula("expm1", x))
        return
    elif name == "MinMaxScaler":
        values.each(_scale_down, step.min_, step.scale_)
        return
    else:
        raise ConfigError(
            f"the target's transformer {name} is not among those that can be compiled: scalers, exp, expm1"
        )
    values.each(_scale_up, centre, scale)


def _or(value: Any, otherwise: float) -> Any:
    return otherwise if value is None else value


def _scale_up(x: Any, centre: float, scale: float) -> Any:
    return operation_formula("add", operation_formula("mul", scale, x), centre)


def _scale_down(x: Any, centre: float, scale: float) -> Any:
    x = x if not centre else operation_formula("sub", x, centre)
    return x if scale == 1 else operation_formula("div", x, scale)

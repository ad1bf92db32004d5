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
_OF_TREES = ("Tree", "Forest", "Boosting", "AdaBoost", "Bagging")
_SEARCHES = {"GridSearchCV", "RandomizedSearchCV", "HalvingGridSearchCV", "HalvingRandomSearchCV"}


def refuse_tree(model: Any) -> None:
    """Says why models that are made of steps, of this library or of another, are not compiled."""
    package, name = type(model).__module__.partition(".")[0], type(model).__name__
    of_trees = package == "sklearn" and any(word in name for word in _OF_TREES)
    if of_trees or package in ("xgboost", "lightgbm", "catboost"):
        raise ConfigError(
            f"{name} jumps at every threshold of its trees, and a ReLU network is continuous: near a jump it is off by "
            "at least half the jump, whatever its size, so no tolerance could be certified; compile a model without "
            "trees"
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
    if name in ("StandardScaler", "RobustScaler", "MaxAbsScaler"):
        values.each(_scale_down, *_centre_and_scale(step))
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
    inverse = step.inverse_func if name == "FunctionTransformer" else None
    if name == "StandardScaler":
        values.each(_scale_up, *_centre_and_scale(step))
    elif name == "MinMaxScaler":
        values.each(_scale_down, step.min_, step.scale_)
    elif inverse in (np.exp, np.expm1):
        values.each(lambda x: operation_formula(inverse.__name__, x))
    elif name != "FunctionTransformer" or inverse is not None:
        raise ConfigError(
            f"the target's transformer {name} is not among those that can be compiled: scalers, exp, expm1"
        )


def _centre_and_scale(step: Any) -> tuple[Any, Any]:
    """What a scaler takes off, and what it divides by."""
    centre, scale = None, step.scale_
    if type(step).__name__ == "StandardScaler":
        centre = step.mean_ if step.with_mean else None
    elif type(step).__name__ == "RobustScaler":
        centre, scale = step.center_ if step.with_centering else None, scale if step.with_scaling else None
    return 0 if centre is None else centre, 1 if scale is None else scale


def _scale_up(x: Any, centre: float, scale: float) -> Any:
    return operation_formula("add", operation_formula("mul", scale, x), centre)


def _scale_down(x: Any, centre: float, scale: float) -> Any:
    x = x if not centre else operation_formula("sub", x, centre)
    return x if scale == 1 else operation_formula("div", x, scale)

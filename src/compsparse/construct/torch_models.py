"""Torch modules as function graphs: layers in a row unit by unit, any other by tracing its ``forward``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import nn

from compsparse.checks import input_names
from compsparse.construct.layers import UnitLayers, operation_formula
from compsparse.errors import ConfigError, TraceError
from compsparse.graph import FunctionGraph
from compsparse.graph.formula import Formula
from compsparse.graph.tracing import traced

_Curve = Callable[[Formula], Formula]


def _named(name: str, *attributes: str) -> Callable[[Any], _Curve]:
    """The activation of a layer: a function with some of the layer's attributes as further operands."""
    return lambda layer: lambda x: operation_formula(name, x, *(float(getattr(layer, a)) for a in attributes))


def _softplus(layer: nn.Softplus) -> _Curve:
    return lambda x: operation_formula(
        "div", operation_formula("softplus", operation_formula("mul", layer.beta, x)), layer.beta
    )


_ACTIVATIONS: dict[type[nn.Module], Callable[[Any], _Curve]] = {
    nn.ReLU: _named("relu"),
    nn.LeakyReLU: _named("leaky_relu", "negative_slope"),
    nn.ELU: _named("elu", "alpha"),
    nn.CELU: _named("celu", "alpha"),
    nn.SELU: _named("selu"),
    nn.GELU: lambda layer: _named("gelu" if layer.approximate == "none" else "gelu_tanh")(layer),
    nn.SiLU: _named("silu"),
    nn.Mish: _named("mish"),
    nn.Tanh: _named("tanh"),
    nn.Sigmoid: _named("sigmoid"),
    nn.LogSigmoid: _named("log_expit"),
    nn.Softplus: _softplus,
    nn.Softsign: _named("softsign"),
    nn.Tanhshrink: _named("tanhshrink"),
    nn.Hardtanh: _named("clip", "min_val", "max_val"),
    nn.ReLU6: lambda layer: lambda x: operation_formula("clip", x, 0, 6),
    nn.Hardsigmoid: _named("hardsigmoid"),
    nn.Hardswish: _named("hardswish"),
}
_NOTHING = (nn.Identity, nn.Dropout, nn.AlphaDropout)


def module_graph(module: nn.Module, n_inputs: int | None) -> FunctionGraph:
    """The function of a module's outputs, for a row of inputs ``x0``, ``x1``, …; exact weights, real arithmetic."""
    if module.training and any(_is(m, (nn.Dropout, nn.AlphaDropout, nn.BatchNorm1d)) for m in module.modules()):
        raise ConfigError("the module is in training mode, where its outputs are random: call model.eval() first")
    layers = _in_a_row(module)
    n = n_inputs if n_inputs is not None else next((m.in_features for m in layers if isinstance(m, nn.Linear)), None)
    if n is None:
        raise ConfigError("the module does not say how many inputs it has: give the domain a side for each")
    if not all(_is(m, (nn.Linear, nn.BatchNorm1d, nn.Flatten, *_NOTHING, *_ACTIVATIONS)) for m in layers):
        return _by_tracing(module, n)
    values = UnitLayers(input_names(n))
    for layer in layers:
        _add(values, layer)
    return values.graph(["y"] if values.width == 1 else [f"y{i}" for i in range(values.width)])


def _is(module: nn.Module, kinds: Any) -> bool:
    """Whether it is such a layer, and computes what such layers compute."""
    own = next((k for k in (kinds if isinstance(kinds, tuple) else (kinds,)) if isinstance(module, k)), None)
    return own is not None and type(module).forward is own.forward


def _in_a_row(module: nn.Module) -> list[nn.Module]:
    if not _is(module, nn.Sequential):
        return [module]
    return [layer for part in module.children() for layer in _in_a_row(part)]


def _add(values: UnitLayers, layer: nn.Module) -> None:
    if any(type(h).__module__ != "torch.nn.utils.prune" for h in layer._forward_pre_hooks.values()) or (
        layer._forward_hooks
    ):
        raise ConfigError(f"a hook runs with the layer {type(layer).__name__}, and may change what it computes")
    if isinstance(layer, nn.Linear):
        weight = _numbers(layer.weight)
        values.multiply(weight, np.zeros(len(weight)) if layer.bias is None else _numbers(layer.bias))
    elif isinstance(layer, nn.BatchNorm1d):
        values.each(_normalised, *_norm(layer, values.width))
    elif not isinstance(layer, (*_NOTHING, nn.Flatten)):
        kind = next(k for k in _ACTIVATIONS if _is(layer, k))
        values.each(_ACTIVATIONS[kind](layer))


def _norm(layer: nn.BatchNorm1d, width: int) -> list[np.ndarray]:
    if layer.running_mean is None or layer.running_var is None:
        raise ConfigError("a BatchNorm1d without running statistics depends on the other rows of a batch")
    scale = 1 / np.sqrt(_numbers(layer.running_var) + layer.eps)
    if layer.affine:
        scale = scale * _numbers(layer.weight)
    return [_numbers(layer.running_mean), scale, _numbers(layer.bias) if layer.affine else np.zeros(width)]


def _normalised(x: Formula, mean: float, scale: float, shift: float) -> Formula:
    return operation_formula("add", operation_formula("mul", scale, operation_formula("sub", x, mean)), shift)


def _numbers(parameter: torch.Tensor) -> np.ndarray:
    return np.asarray(parameter.detach().cpu().to(torch.float64).numpy())


def _by_tracing(module: nn.Module, n: int) -> FunctionGraph:
    names = input_names(n)
    try:
        return traced(partial(_call, module), list(names), fuse=True).graph
    except TraceError as error:
        raise ConfigError(f"the module {type(module).__name__} cannot be compiled: {error}") from None


def _call(module: nn.Module, x: Any) -> Any:
    return module(x)

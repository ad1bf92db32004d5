"""Values read from JSON and TOML, checked against the types they should have."""

from __future__ import annotations

import math
import types
from typing import Any, Literal, Union, get_args, get_origin

from compsparse.errors import ConfigError


def typed(value: Any, hint: Any, where: str) -> Any:
    """The value in the type of the hint (lists become tuples, whole floats integers), or a clear refusal."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _one_of(value, arguments, where)
    if origin is Literal:
        if value in arguments and not isinstance(value, bool):
            return value
        raise ConfigError(f"{where} must be one of {', '.join(map(repr, arguments))}, got {value!r}")
    if origin is tuple or hint is tuple:
        return _tuple(value, arguments, where)
    if hint is type(None) and value is None:
        return None
    if hint is bool and isinstance(value, bool):
        return value
    if hint is str and isinstance(value, str):
        return value
    if hint in (int, float) and isinstance(value, (int, float)) and not isinstance(value, bool):
        return _number(value, hint, where)
    raise ConfigError(f"{where} must be {_name(hint)}, got {value!r}")


def _number(value: int | float, hint: type, where: str) -> int | float:
    if not math.isfinite(value):
        raise ConfigError(f"{where} must be finite, got {value!r}")
    if hint is float:
        return float(value) + 0.0  # -0.0 and 0.0 are one value
    if value != int(value):
        raise ConfigError(f"{where} must be a whole number, got {value!r}")
    return int(value)


def _one_of(value: Any, hints: tuple[Any, ...], where: str) -> Any:
    if value == "none" and type(None) in hints and str not in hints:
        return None  # TOML has no word of its own for it
    # an exact type first, so that 1 in int | float stays an integer
    for hint in sorted(hints, key=lambda h: h is not type(value)):
        try:
            return typed(value, hint, where)
        except ConfigError:
            continue
    raise ConfigError(f"{where} must be {' or '.join(_name(h) for h in hints)}, got {value!r}")


def _tuple(value: Any, hints: tuple[Any, ...], where: str) -> tuple[Any, ...]:
    if not isinstance(value, (list, tuple)):
        raise ConfigError(f"{where} must be a list, got {value!r}")
    if not hints:
        return tuple(value)
    each = (hints[0],) * len(value) if hints[-1] is Ellipsis else hints
    if len(each) != len(value):
        raise ConfigError(f"{where} must hold {len(each)} values, got {value!r}")
    return tuple(typed(v, h, f"{where}[{i}]") for i, (v, h) in enumerate(zip(value, each, strict=True)))


def _name(hint: Any) -> str:
    names = {int: "a whole number", float: "a number", str: "a text", bool: "true or false", type(None): "nothing"}
    return names.get(hint, str(hint))

"""A box of inputs, read the same way wherever it is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from compsparse.checks import brief, check_list, check_name_list, check_names, check_number, check_unmasked
from compsparse.errors import ConfigError

Side = tuple[float, float]
Bounds = Side | Sequence[Side] | Mapping[str, Side]
"""One (low, high) for all inputs, one for each in their order, or one for each by name."""


def read_box(bounds: Any, names: Sequence[str] | None = None, what: str = "bounds") -> tuple[Side, ...]:
    """A bounded box with a side for every input.

    Args:
        bounds: a side for each input by name or in order, or one pair for all.
        names: of the inputs; without them the bounds say how many there are, which one pair cannot.
        what: what sentences call the bounds.

    >>> read_box((0, 1), ["a", "b"])
    ((0.0, 1.0), (0.0, 1.0))
    >>> read_box({"b": (0, 1), "a": (2, 3)}, ["a", "b"])
    ((2.0, 3.0), (0.0, 1.0))
    """
    names = None if names is None else _names_of_inputs(names)
    if isinstance(bounds, Mapping):
        names = check_name_list(what, list(bounds)) if names is None else names
        sides = _sides_by_name(bounds, names, what)
    else:
        sides = _sides_in_order(bounds, None if names is None else len(names), what)
    called = [f"x{i}" for i in range(len(sides))] if names is None else names
    return tuple(_side(name, side, what) for name, side in zip(called, sides, strict=True))


def read_named_box(bounds: Any, names: Sequence[str] | None = None) -> tuple[tuple[Side, ...], Sequence[str] | None]:
    """A box, and the names of its inputs where they are given, by themselves or by the bounds."""
    names = None if names is None else _names_of_inputs(names)
    if isinstance(bounds, Mapping) and names is None:
        names = list(bounds)
    says_how_many = not isinstance(bounds, Mapping) and n_sides(bounds) is not None
    return read_box(bounds, None if says_how_many else names), names


def n_sides(bounds: Any) -> int | None:
    """For how many inputs the bounds are, where they say so: one pair for all does not."""
    return None if _is_pair(bounds) or isinstance(bounds, type) or not hasattr(bounds, "__len__") else len(bounds)


def read_box_text(text: str, what: str = "bounds") -> Side | dict[str, Side]:
    """Bounds as a command line has them: one side for all inputs, or one for each by name.

    >>> read_box_text("a=-1:1, b=0:2")
    {'a': (-1.0, 1.0), 'b': (0.0, 2.0)}
    """
    sides: dict[str, Side] = {}
    for part in text.split(","):
        name, equals, ends = part.strip().rpartition("=")
        try:
            low, high = (float(end) for end in ends.split(":"))
        except ValueError:
            raise ConfigError(f"{what} must look like 'a=-1:1,b=0:2' or '-1:1', got {part.strip()!r}") from None
        if not equals:
            if "," in text:
                raise ConfigError(f"{what} must name the input of every side, got {part.strip()!r}")
            return low, high
        if name.strip() in sides:
            raise ConfigError(f"{what} names {name.strip()!r} twice")
        sides[name.strip()] = (low, high)
    return sides


def _names_of_inputs(names: Any) -> tuple[str, ...]:
    found = check_list("names", names)
    return check_names(found, len(found), "input")


def _sides_by_name(bounds: Mapping[Any, Any], names: Sequence[str], what: str) -> list[Any]:
    for key in bounds:
        if key not in names:
            raise ConfigError(f"{what} names {brief(key)}, which is no input; the inputs are {', '.join(names)}")
    for name in names:
        if name not in bounds:
            raise ConfigError(f"{what} has no side for input {name!r}")
    return [bounds[name] for name in names]


def _sides_in_order(bounds: Any, n_inputs: int | None, what: str) -> list[Any]:
    if isinstance(bounds, str) or not np.iterable(bounds):
        raise ConfigError(f"{what} must be (low, high) for every input, got {brief(bounds)}")
    sides = list(check_unmasked(what, bounds, ConfigError))
    if _is_pair(bounds):
        if n_inputs is None:
            raise ConfigError(f"{what} must be a sequence of (low, high), one per input, where no names say how many")
        return [sides] * n_inputs
    if not sides and n_inputs is None:
        raise ConfigError(f"{what} must be a sequence of (low, high), one per input, got none")
    if n_inputs is not None and len(sides) != n_inputs:
        raise ConfigError(f"{what} must have one (low, high) for each of the {n_inputs} inputs, got {len(sides)}")
    return sides


def _is_pair(bounds: Any) -> bool:
    if isinstance(bounds, (str, Mapping)) or not np.iterable(bounds):
        return False
    sides = list(bounds)
    return len(sides) == 2 and all(isinstance(side, (int, float, np.number)) for side in sides)


def _side(name: str, side: Any, what: str) -> Side:
    try:
        low, high = side
    except (TypeError, ValueError):
        raise ConfigError(f"{what} of input {name!r} must be (low, high), got {brief(side)}") from None
    low, high = (check_number(f"{what} of input {name!r}", end) for end in (low, high))
    if not low < high:
        raise ConfigError(f"{what} of input {name!r} must have low < high, got ({low:g}, {high:g})")
    return low, high

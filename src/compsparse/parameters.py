"""Parameters that mean the same everywhere: one table of rules, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compsparse.checks import (
    check_count,
    check_device,
    check_dtype,
    check_flag,
    check_number,
    check_time_limit,
    generator_from,
)
from compsparse.progress import check_progress

Rule = Callable[[str, Any], Any]


def _or_none(rule: Rule) -> Rule:
    return lambda what, value: None if value is None else rule(what, value)


def _count(least: int = 1, most: int | None = None) -> Rule:
    return lambda what, value: check_count(what, value, least, most)


def _share(what: str, value: Any) -> float:
    return check_number(what, value, least=0, most=1)


def _rate(what: str, value: Any) -> float:
    return check_number(what, value, above=0)


def _amount(what: str, value: Any) -> float:
    return check_number(what, value, least=0)


_LARGEST = 2**31 - 1
MOST_STEPS = 10**8
"""Most steps of training, and of anything else that is counted in steps."""

MOST_REPLICAS = 1_000_000
"""Most networks in one tensor program."""
MOST_LAYERS = 10_000
"""Most layers of a network."""

PARAMETERS: dict[str, Rule] = {
    "allow_identity": check_flag,
    "approximate": check_flag,
    "balanced": check_flag,
    "fuse": check_flag,
    "flat": check_flag,
    "history": check_flag,
    "layerwise": check_flag,
    "positive": check_flag,
    "rename_inputs": check_flag,
    "replace": check_flag,
    "unit": check_flag,
    "shifted": check_flag,
    "whitened": check_flag,
    "batch_size": _or_none(_count(most=_LARGEST)),
    "n_replicas": _or_none(_count(most=MOST_REPLICAS)),
    "n_threads": _or_none(_count(most=1024)),
    "max_iter": _or_none(_count(most=_LARGEST)),
    "patience": _or_none(_count(most=_LARGEST)),
    "n_epochs": _or_none(_count(most=MOST_STEPS)),
    "n_steps": _count(most=MOST_STEPS),
    "evaluate_every": _count(most=_LARGEST),
    "max_rounds": _count(most=_LARGEST),
    "n_inputs": _count(),
    "n_outputs": _count(),
    "width": _count(),
    "channels": _count(),
    "out_channels": _count(),
    "n_layers": _count(most=MOST_LAYERS),
    "learning_rate": _rate,
    "damping": _rate,
    "delta": _rate,
    "ridge": _amount,
    "weight_decay": _amount,
    "noise": _amount,
    "random_state": lambda what, value: generator_from(value, what),
    "time_limit": lambda what, value: check_time_limit(value),
    "device": lambda what, value: check_device(value),
    "dtype": lambda what, value: check_dtype(value),
    "progress": lambda what, value: check_progress(value),
}
"""The rule of every parameter that means the same wherever it stands."""


def check_parameters(**values: Any) -> None:
    """Holds parameters to the rule that :data:`PARAMETERS` has for their names.

    >>> check_parameters(n_steps=10, random_state=0)
    >>> check_parameters(n_steps=1.5)
    Traceback (most recent call last):
    compsparse.errors.ConfigError: n_steps must be a whole number >= 1, got 1.5
    """
    for name, value in values.items():
        PARAMETERS[name](name, value)

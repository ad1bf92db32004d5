"""Penalties by name, as estimators and recipes take them: a mapping from names to strengths."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

from compsparse.checks import brief, check_known, check_list
from compsparse.errors import ConfigError
from compsparse.training.penalties import (
    BetaLasso,
    GroupLasso,
    Penalty,
    ProximalL1,
    ProximalPenalty,
    SmoothPenalty,
    SquaredNorm,
    WeightDecay,
)

PENALTIES: dict[str, Callable[..., Penalty]] = {
    "l1": ProximalL1,
    "l2": SquaredNorm,
    "weight_decay": WeightDecay,
    "beta_lasso": BetaLasso,
    "group_inputs": partial(GroupLasso, groups="inputs"),
    "group_units": partial(GroupLasso, groups="units"),
}
"""All penalties by name."""

Penalties: TypeAlias = Sequence[Penalty] | Mapping[str, float | Sequence[float]]
"""Penalties, or strengths by the names of :data:`PENALTIES`."""


def check_penalties(penalties: Any) -> list[Penalty]:
    """Penalties that the training loop knows how to apply, made from their names where these are given.

    A list of strengths holds one per layer, counted from the input; the last of them is that of all further layers.

    >>> [type(p).__name__ for p in check_penalties({"l1": 1e-3, "weight_decay": [0.0, 1e-2]})]
    ['ProximalL1', 'WeightDecay', 'WeightDecay']
    """
    if isinstance(penalties, Mapping):
        return [one for name, strength in penalties.items() for one in _named(name, strength)]
    found = check_list("penalties", penalties)
    for penalty in found:
        if not isinstance(penalty, (SmoothPenalty, ProximalPenalty)):
            raise ConfigError(f"penalties must be smooth or proximal penalties, got {brief(penalty)}")
    return found


def _named(name: Any, strength: Any) -> list[Penalty]:
    if not isinstance(name, str):
        raise ConfigError(f"the name of a penalty must be a text, got {brief(name)}")
    make = PENALTIES[check_known(name, PENALTIES, "there is no penalty")]
    if isinstance(strength, (str, bytes)) or not hasattr(strength, "__len__"):
        return [make(strength)]
    by_layer = check_list(f"the strengths of {name!r}", strength)
    if not by_layer:
        raise ConfigError(f"give at least one strength for {name!r}")
    last = len(by_layer) - 1
    return [make(s, layers=[i] if i < last else slice(last, None)) for i, s in enumerate(by_layer)]

"""Kinds and presets by name, for the command line and TOML files: found by importing ``sweeps/kinds``."""

from __future__ import annotations

import importlib
import pkgutil
from functools import lru_cache
from types import ModuleType

from compsparse.checks import check_known
from compsparse.errors import ConfigError
from compsparse.sweeps import kinds
from compsparse.sweeps.spec import Spec
from compsparse.sweeps.sweep import Sweep


@lru_cache(maxsize=1)
def _modules() -> tuple[ModuleType, ...]:
    found = pkgutil.iter_modules(kinds.__path__)
    return tuple(importlib.import_module(f"{kinds.__name__}.{m.name}") for m in found)


def all_kinds() -> dict[str, type[Spec]]:
    """The kinds that come with compsparse."""
    return {kind.kind: kind for module in _modules() for kind in getattr(module, "KINDS", ())}


def get_kind(name: str) -> type[Spec]:
    """A kind by its name, or by its place, ``package.module:Class``, if it does not come with compsparse."""
    if ":" in name:
        return _imported(name)
    known = all_kinds()
    return known[check_known(name, known, "there is no kind of run", "; your own is named 'module:Class'")]


def _imported(place: str) -> type[Spec]:
    module, _, name = place.partition(":")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(f"cannot import the kind {place!r}: {error}") from None
    if not (isinstance(found, type) and issubclass(found, Spec)):
        raise ConfigError(f"{place!r} is no kind of run: it must derive from compsparse.sweeps.Spec")
    return found


def presets() -> dict[str, Sweep]:
    """The sweeps that come with the kinds, by name."""
    return {name: sweep for module in _modules() for name, sweep in getattr(module, "PRESETS", {}).items()}


def get_preset(name: str) -> Sweep:
    """A sweep that comes with the kinds, by its name."""
    known = presets()
    return known[check_known(name, known, "there is no preset")]

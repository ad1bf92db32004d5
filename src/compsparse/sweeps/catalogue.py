"""Kinds and presets by name, for the command line and TOML files.

A name never decides what is imported: kinds come from ``sweeps/kinds``, or from a folder that the user names.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import pkgutil
import sys
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

from compsparse.checks import check_known, check_text
from compsparse.errors import ConfigError
from compsparse.files import check_place
from compsparse.sweeps import kinds as own_kinds
from compsparse.sweeps.spec import Spec, check_run_kind
from compsparse.sweeps.sweep import Sweep
from compsparse.text import printable


@lru_cache(maxsize=1)
def _modules() -> tuple[ModuleType, ...]:
    found = pkgutil.iter_modules(own_kinds.__path__)
    return tuple(importlib.import_module(f"{own_kinds.__name__}.{m.name}") for m in found)


def all_kinds(kinds: str | Path | None = None) -> dict[str, type[Spec]]:
    """The kinds that come with compsparse, and those of a folder.

    Args:
        kinds: a folder whose Python files are imported; each lists its specs in ``KINDS``.
    """
    found = {kind.kind: kind for module in _modules() for kind in getattr(module, "KINDS", ())}
    for name, kind in ({} if kinds is None else kinds_of(kinds)).items():
        if name in found:
            raise ConfigError(f"the folder {printable(kinds)} has a kind {name!r}, but so has compsparse: rename it")
        found[name] = kind
    return found


def get_kind(name: str, kinds: str | Path | None = None) -> type[Spec]:
    """A kind by its name: one that comes with compsparse, or one of a folder."""
    known = all_kinds(kinds)
    check_text("the name of a kind", name)
    more = "; your own come from a folder of yours: kinds=FOLDER, --kinds FOLDER on the command line"
    return known[check_known(name, known, "there is no kind of run", "" if kinds is not None else more)]


def presets() -> dict[str, Sweep]:
    """The sweeps that come with the kinds, by name."""
    return {name: sweep for module in _modules() for name, sweep in getattr(module, "PRESETS", {}).items()}


def get_preset(name: str) -> Sweep:
    """A sweep that comes with the kinds, by its name."""
    known = presets()
    return known[check_known(check_text("the name of a preset", name), known, "there is no preset")]


# ---- kinds of a folder ---------------------------------------------------------------------------


def kinds_of(folder: str | Path) -> dict[str, type[Spec]]:
    """The kinds of a folder by name: of every ``.py`` file whose name begins with no underscore, its ``KINDS``.

    The files form a package of their own, so that no module of another library is hidden by them, and they may
    import each other as ``from . import other``. Specs of such a kind travel to workers with the folder's place.
    """
    place = check_place("the folder of kinds", folder)
    if not os.path.isdir(place):
        raise ConfigError(f"there is no folder of kinds {printable(place)}")
    place = place.resolve()
    package = _package(place)
    found: dict[str, type[Spec]] = {}
    for path in sorted(place.glob("*.py")):
        if path.stem.startswith("_") or not path.stem.isidentifier():
            continue
        for kind in _listed(_imported(package, path), path):
            if kind.kind in found and found[kind.kind] is not kind:
                raise ConfigError(f"two kinds in {printable(place)} are called {kind.kind!r}")
            found[kind.kind] = kind
            kind.folder_of_kinds = str(place)
    if not found:
        raise ConfigError(f"no file in {printable(place)} lists its kinds of run in KINDS")
    return found


def _package(place: Path) -> str:
    name = f"compsparse_kinds_{hashlib.sha256(str(place).encode(errors='surrogateescape')).hexdigest()[:16]}"
    if name not in sys.modules:
        module = ModuleType(name)
        module.__path__ = [str(place)]
        sys.modules[name] = module
    importlib.invalidate_caches()
    return name


def _imported(package: str, path: Path) -> ModuleType:
    try:
        return importlib.import_module(f"{package}.{path.stem}")
    except (Exception, SystemExit) as error:
        raise ConfigError(f"cannot import {printable(path)}: {type(error).__name__}: {error}") from error


def _listed(module: ModuleType, path: Path) -> list[type[Spec]]:
    listed: Any = getattr(module, "KINDS", ())
    if not isinstance(listed, (list, tuple)):
        raise ConfigError(f"KINDS of {printable(path)} must be a list of kinds of run, got {listed!r}")
    try:
        found = [check_run_kind(kind) for kind in listed]
        for kind in found:
            kind.field_names()
    except ConfigError as error:
        raise ConfigError(f"KINDS of {printable(path)}: {error}") from None
    return found


_kinds_once = lru_cache(maxsize=16)(kinds_of)


def restored(home: str, kind: str, fields: dict[str, Any]) -> Spec:
    """A spec whose kind lives in a folder, read in another process."""
    known = _kinds_once(home)
    return known[check_known(kind, known, f"the folder {home} has no kind of run")](**fields)

"""Packages that are not always there: loaded on first use, and asked for by the extra that installs them."""

from __future__ import annotations

import importlib
from types import ModuleType

from compsparse.errors import MissingDependencyError


def needs(module: str, purpose: str, extra: str) -> ModuleType:
    """An optional module, loaded now.

    Args:
        purpose: what needs it, as in "charts".
        extra: the extra of compsparse that installs it.

    Raises:
        MissingDependencyError: it is not installed; the message says what to install.
    """
    try:
        return importlib.import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise MissingDependencyError(f"{purpose} need {package}: pip install 'compsparse[{extra}]'") from None

"""Function graphs of Boolean functions: the discrete twin of discovery by gradient directions."""

import importlib
from typing import TYPE_CHECKING, Any

from compsparse.discovery.boolean.strategy import TRUTH_TABLE, BooleanOptions, from_boolean_callable, from_truth_table

if TYPE_CHECKING:
    from compsparse.representations.boolean import column_multiplicity, wires

__all__ = [
    "TRUTH_TABLE",
    "BooleanOptions",
    "column_multiplicity",
    "from_boolean_callable",
    "from_truth_table",
    "wires",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(importlib.import_module("compsparse.representations.boolean"), name)
    raise AttributeError(f"module 'compsparse.discovery.boolean' has no attribute {name!r}")

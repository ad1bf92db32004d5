"""compsparse finds, learns, builds and certifies functions made of small functions.

Names are loaded on first use, so that graphs need no torch and networks no scikit-learn.
"""

from __future__ import annotations

import difflib
import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

importlib.import_module("compsparse.forks")  # before anything computes: what a forked process needs to be told

_NAMES = {
    "graph": "Constituent FunctionGraph GraphBuilder Node balanced_tree chain compare_graphs complete equivalent "
    "pyramid random_dag random_tree trace",
    "networks": "convolutional count dense local mirror to_masked",
    "training": "fit_graph prune sparse_fit train training_data",
    "models": "importances",
    "discovery": "Discovery discover explain",
    "construct": "Compiled compile",
    "sparse": "lasso memorise",
    "estimators": "CompositionalClassifier CompositionalRegressor GraphClassifier GraphRegressor",
    "errors": "CompsparseError",
}
"""Public names by the package that holds them; the block at the end says the same to type checkers."""
_HOME = {name: package for package, names in _NAMES.items() for name in names.split()}
_PACKAGES = (
    *_NAMES,
    "bounds",
    "claims",
    "measures",
    "report",
    "representations",
    "sweeps",
    "tables",
    "tasks",
)

__all__ = ["__version__", *_HOME, *_PACKAGES]  # noqa: PLE0604 (names only)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"compsparse.{_HOME[name]}"), name)
    if name in _PACKAGES:
        return importlib.import_module(f"compsparse.{name}")
    near = difflib.get_close_matches(name, __all__, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise AttributeError(f"module 'compsparse' has no attribute {name!r}{hint}")


def __dir__() -> list[str]:
    return sorted(__all__)


if TYPE_CHECKING:
    from compsparse.construct import Compiled, compile
    from compsparse.discovery import Discovery, discover, explain
    from compsparse.errors import CompsparseError
    from compsparse.estimators import (
        CompositionalClassifier,
        CompositionalRegressor,
        GraphClassifier,
        GraphRegressor,
    )
    from compsparse.graph import (
        Constituent,
        FunctionGraph,
        GraphBuilder,
        Node,
        balanced_tree,
        chain,
        compare_graphs,
        complete,
        equivalent,
        pyramid,
        random_dag,
        random_tree,
        trace,
    )
    from compsparse.models import importances
    from compsparse.networks import convolutional, count, dense, local, mirror, to_masked
    from compsparse.sparse import lasso, memorise
    from compsparse.training import fit_graph, prune, sparse_fit, train, training_data

"""Sparse inference: dictionaries, codes, and the programs and networks that find them.

What only some of it needs is loaded on first use: torch for networks, scipy's solvers for memorisation and proofs.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from compsparse.sparse.dictionaries import (
    check_dictionary,
    equiangular_frame,
    gaussian_dictionary,
    spikes_and_dct,
    spikes_and_hadamard,
    welch_bound,
)
from compsparse.sparse.penalised import lasso, lasso_breakpoints, lasso_path
from compsparse.sparse.pursuit import basis_pursuit, omp
from compsparse.sparse.recovery import (
    Isometry,
    coherence,
    isometry_constant,
    isometry_lower_bound,
    isometry_upper_bound,
    recoverable_sparsity,
    weak_threshold,
)
from compsparse.sparse.signals import CodedSignals, SparseCodes
from compsparse.sparse.solution import Breakpoints, CodeSolution, GreedySolution, PathSolution, SignalStatus, lasso_gap

if TYPE_CHECKING:
    from compsparse.sparse.cardinality import BestSubset, SearchStatus, SparsestCode, best_subset, sparsest
    from compsparse.sparse.learned import LearnedDictionary, learn_dictionary, matched_atoms
    from compsparse.sparse.memorisation import Memorised, MemoriseStatus, memorise
    from compsparse.sparse.unrolled import (
        UNROLLED_CONFIG,
        LassoLoss,
        UnrolledNetwork,
        fista,
        ista,
        soft_threshold,
        train_layer_by_layer,
    )

__all__ = [
    "UNROLLED_CONFIG",
    "BestSubset",
    "Breakpoints",
    "CodeSolution",
    "CodedSignals",
    "GreedySolution",
    "Isometry",
    "LassoLoss",
    "LearnedDictionary",
    "MemoriseStatus",
    "Memorised",
    "PathSolution",
    "SearchStatus",
    "SignalStatus",
    "SparseCodes",
    "SparsestCode",
    "UnrolledNetwork",
    "basis_pursuit",
    "best_subset",
    "check_dictionary",
    "coherence",
    "equiangular_frame",
    "fista",
    "gaussian_dictionary",
    "isometry_constant",
    "isometry_lower_bound",
    "isometry_upper_bound",
    "ista",
    "lasso",
    "lasso_breakpoints",
    "lasso_gap",
    "lasso_path",
    "learn_dictionary",
    "matched_atoms",
    "memorise",
    "omp",
    "recoverable_sparsity",
    "soft_threshold",
    "sparsest",
    "spikes_and_dct",
    "spikes_and_hadamard",
    "train_layer_by_layer",
    "weak_threshold",
    "welch_bound",
]


_LATER = {
    "cardinality": ("BestSubset", "SearchStatus", "SparsestCode", "best_subset", "sparsest"),
    "learned": ("LearnedDictionary", "learn_dictionary", "matched_atoms"),
    "memorisation": ("MemoriseStatus", "Memorised", "memorise"),
}
"""Names by their modules; the others that are not here yet are of ``unrolled``."""


def __getattr__(name: str) -> Any:
    if name in __all__:
        home = next((module for module, names in _LATER.items() if name in names), "unrolled")
        return getattr(importlib.import_module(f"compsparse.sparse.{home}"), name)
    raise AttributeError(f"module 'compsparse.sparse' has no attribute {name!r}")

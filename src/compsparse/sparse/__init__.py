"""Sparse inference: dictionaries, codes, and the programs and networks that find them.

Networks are loaded on first use, so that codes and memorisation need no torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from compsparse.sparse.cardinality import BestSubset, SearchStatus, SparsestCode, best_subset, sparsest
from compsparse.sparse.dictionaries import (
    check_dictionary,
    equiangular_frame,
    gaussian_dictionary,
    spikes_and_dct,
    spikes_and_hadamard,
    welch_bound,
)
from compsparse.sparse.learned import LearnedDictionary, learn_dictionary, matched_atoms
from compsparse.sparse.memorisation import Memorised, MemoriseStatus, memorise
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


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(importlib.import_module("compsparse.sparse.unrolled"), name)
    raise AttributeError(f"module 'compsparse.sparse' has no attribute {name!r}")

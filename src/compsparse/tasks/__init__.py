"""Targets whose graph is known, and data drawn from them."""

from compsparse.tasks.catalogue import Quantity, TextbookLaw, formula, formulas, law
from compsparse.tasks.circuits import comparator, majority_vote, multiplexer, parity_tree, ripple_adder
from compsparse.tasks.compositional import random_target, shared_dag, sincos_tree, tanh_tree
from compsparse.tasks.dense import dense_target
from compsparse.tasks.engineering import borehole, friedman1, friedman2, friedman3
from compsparse.tasks.hierarchy import (
    HierarchySample,
    RandomHierarchy,
    SparseRandomHierarchy,
    diffeomorphism,
    exchange_synonyms,
    one_hot,
)
from compsparse.tasks.takagi import hat_sum, hats, takagi_coefficients, takagi_sum
from compsparse.tasks.task import BitInputs, Sample, Task, UniformInputs, box, fair_bits, on
from compsparse.tasks.tokens import TokenTask, token_chain, token_gates, token_junta, token_parities, token_parity

__all__ = [
    "BitInputs",
    "HierarchySample",
    "Quantity",
    "RandomHierarchy",
    "Sample",
    "SparseRandomHierarchy",
    "Task",
    "TextbookLaw",
    "TokenTask",
    "UniformInputs",
    "borehole",
    "box",
    "comparator",
    "dense_target",
    "diffeomorphism",
    "exchange_synonyms",
    "fair_bits",
    "formula",
    "formulas",
    "friedman1",
    "friedman2",
    "friedman3",
    "hat_sum",
    "hats",
    "law",
    "majority_vote",
    "multiplexer",
    "on",
    "one_hot",
    "parity_tree",
    "random_target",
    "ripple_adder",
    "shared_dag",
    "sincos_tree",
    "takagi_coefficients",
    "takagi_sum",
    "tanh_tree",
    "token_chain",
    "token_gates",
    "token_junta",
    "token_parities",
    "token_parity",
]

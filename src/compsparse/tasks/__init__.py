"""Targets whose graph is known, and data drawn from them."""

from compsparse.tasks.catalogue import Quantity, TextbookLaw, formula, formulas, law
from compsparse.tasks.compositional import random_target, shared_dag, sincos_tree, tanh_tree
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
from compsparse.tasks.task import Sample, Task, UniformInputs, box, on
from compsparse.tasks.tokens import TokenTask, token_chain, token_gates, token_junta, token_parities, token_parity

__all__ = [
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
    "diffeomorphism",
    "exchange_synonyms",
    "formula",
    "formulas",
    "friedman1",
    "friedman2",
    "friedman3",
    "hat_sum",
    "hats",
    "law",
    "on",
    "one_hot",
    "random_target",
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

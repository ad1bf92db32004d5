"""Targets whose graph is known, and data drawn from them."""

from compsparse.tasks.catalogue import Quantity, TextbookLaw, formula, formulas, law
from compsparse.tasks.circuits import comparator, majority_vote, multiplexer, parity_tree, ripple_adder
from compsparse.tasks.hierarchy import (
    HierarchySample,
    RandomHierarchy,
    SparseRandomHierarchy,
    diffeomorphism,
    exchange_synonyms,
    one_hot,
)
from compsparse.tasks.images import MotifImages, gaussian_twin, smooth_noise
from compsparse.tasks.patches import patch_pixels, patch_sum
from compsparse.tasks.takagi import hat_sum, hats, takagi_coefficients, takagi_sum
from compsparse.tasks.targets import (
    borehole,
    dense_target,
    friedman1,
    friedman2,
    friedman3,
    glued_joints,
    random_target,
    shared_dag,
    sincos_tree,
    tanh_tree,
)
from compsparse.tasks.task import BitInputs, GaussianInputs, Sample, Task, UniformInputs, box, fair_bits, on
from compsparse.tasks.tokens import TokenTask, token_chain, token_gates, token_junta, token_parities, token_parity

__all__ = [
    "BitInputs",
    "GaussianInputs",
    "HierarchySample",
    "MotifImages",
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
    "gaussian_twin",
    "glued_joints",
    "hat_sum",
    "hats",
    "law",
    "majority_vote",
    "multiplexer",
    "on",
    "one_hot",
    "parity_tree",
    "patch_pixels",
    "patch_sum",
    "random_target",
    "ripple_adder",
    "shared_dag",
    "sincos_tree",
    "smooth_noise",
    "takagi_coefficients",
    "takagi_sum",
    "tanh_tree",
    "token_chain",
    "token_gates",
    "token_junta",
    "token_parities",
    "token_parity",
]

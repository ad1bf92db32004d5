"""Measures on networks and on families of runs: selection, sensitivities, locality, thresholds, effective laws."""

from compsparse.measures.attention import (
    ScoreGeometry,
    SelectionMeasures,
    ablation,
    ancestor_matrix,
    attention_graph,
    edge_auroc,
    mean_attention,
    parent_matrix,
    rollout,
    score_geometry,
    score_matrices,
    selection_measures,
)
from compsparse.measures.crossing import Threshold, first_crossing, threshold
from compsparse.measures.dynamics import (
    Dynamics,
    DynamicsLog,
    NeuralCollapse,
    equilibrium_rho,
    measure_dynamics,
    neural_collapse,
)
from compsparse.measures.law import Law, fit_law
from compsparse.measures.locality import (
    DisplacementHistogram,
    Locality,
    displacement_histogram,
    graph_f1,
    near_pairs,
    off_local_mass,
    patch_locality,
)
from compsparse.measures.sensitivity import (
    Sensitivity,
    diffeomorphism_sensitivity,
    relative_change,
    synonym_sensitivity,
)

__all__ = [
    "DisplacementHistogram",
    "Dynamics",
    "DynamicsLog",
    "Law",
    "Locality",
    "NeuralCollapse",
    "ScoreGeometry",
    "SelectionMeasures",
    "Sensitivity",
    "Threshold",
    "ablation",
    "ancestor_matrix",
    "attention_graph",
    "diffeomorphism_sensitivity",
    "displacement_histogram",
    "edge_auroc",
    "equilibrium_rho",
    "first_crossing",
    "fit_law",
    "graph_f1",
    "mean_attention",
    "measure_dynamics",
    "near_pairs",
    "neural_collapse",
    "off_local_mass",
    "parent_matrix",
    "patch_locality",
    "relative_change",
    "rollout",
    "score_geometry",
    "score_matrices",
    "selection_measures",
    "synonym_sensitivity",
    "threshold",
]

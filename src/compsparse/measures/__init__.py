"""Measures on networks and on families of runs: sensitivities, thresholds, effective laws."""

from compsparse.measures.crossing import Threshold, first_crossing, threshold
from compsparse.measures.law import Law, fit_law
from compsparse.measures.sensitivity import Sensitivity, diffeomorphism_sensitivity, synonym_sensitivity

__all__ = [
    "Law",
    "Sensitivity",
    "Threshold",
    "diffeomorphism_sensitivity",
    "first_crossing",
    "fit_law",
    "synonym_sensitivity",
    "threshold",
]

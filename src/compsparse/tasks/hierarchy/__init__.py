"""Random hierarchies: data made by production rules, dense or spread among empty slots.

Datasets for torch are in :mod:`compsparse.tasks.hierarchy.datasets`, which alone needs torch.
"""

from compsparse.tasks.hierarchy.continuous import real_places, seen_by_sensors, whole_places
from compsparse.tasks.hierarchy.drawing import draw_datum_svg, draw_datum_text
from compsparse.tasks.hierarchy.encoding import one_hot
from compsparse.tasks.hierarchy.inference import SymbolNoise, label_posterior, optimal_classifier, parse
from compsparse.tasks.hierarchy.learning import LearnedHierarchy, learn_hierarchy
from compsparse.tasks.hierarchy.model import EMPTY, RandomHierarchy, SparseRandomHierarchy
from compsparse.tasks.hierarchy.sampling import diffeomorphism, exchange_synonyms
from compsparse.tasks.hierarchy.trees import HierarchySample

__all__ = [
    "EMPTY",
    "HierarchySample",
    "LearnedHierarchy",
    "RandomHierarchy",
    "SparseRandomHierarchy",
    "SymbolNoise",
    "diffeomorphism",
    "draw_datum_svg",
    "draw_datum_text",
    "exchange_synonyms",
    "label_posterior",
    "learn_hierarchy",
    "one_hot",
    "optimal_classifier",
    "parse",
    "real_places",
    "seen_by_sensors",
    "whole_places",
]

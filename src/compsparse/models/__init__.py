"""Fitted graphs: fit, predict, save, load; what their nodes learned, and how they do on rows they have not seen.

Names are loaded on first use, so that records and scores need no torch, and nothing here scikit-learn but
:mod:`compsparse.models.comparison`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_HOME = {
    "Assessment": "assessment",
    "assess": "assessment",
    "Blend": "blending",
    "HonestScore": "blending",
    "Contribution": "row_explanation",
    "RowExplanation": "row_explanation",
    "explain_row": "explaining_rows",
    "FittedGraph": "fitted_graph",
    "fit_model": "fitting",
    "FittedConstant": "formulas.record",
    "FoundFormula": "formulas.record",
    "read_formula": "formulas.entry",
    "Importance": "influence.record",
    "Importances": "influence.record",
    "PairStrength": "influence.record",
    "importances": "influence.entry",
    "learned_nodes": "constituents",
    "LearnedNodes": "pictures",
    "Picture": "pictures",
    "ClassScore": "scores",
    "Score": "scores",
}

__all__ = [
    "Assessment",
    "Blend",
    "ClassScore",
    "Contribution",
    "FittedConstant",
    "FittedGraph",
    "FoundFormula",
    "HonestScore",
    "Importance",
    "Importances",
    "LearnedNodes",
    "PairStrength",
    "Picture",
    "RowExplanation",
    "Score",
    "assess",
    "explain_row",
    "fit_model",
    "importances",
    "learned_nodes",
    "read_formula",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"compsparse.models.{_HOME[name]}"), name)
    raise AttributeError(f"module 'compsparse.models' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


if TYPE_CHECKING:
    from compsparse.models.assessment import Assessment, assess
    from compsparse.models.blending import Blend, HonestScore
    from compsparse.models.constituents import learned_nodes
    from compsparse.models.explaining_rows import explain_row
    from compsparse.models.fitted_graph import FittedGraph
    from compsparse.models.fitting import fit_model
    from compsparse.models.formulas.entry import read_formula
    from compsparse.models.formulas.record import FittedConstant, FoundFormula
    from compsparse.models.influence.entry import importances
    from compsparse.models.influence.record import Importance, Importances, PairStrength
    from compsparse.models.pictures import LearnedNodes, Picture
    from compsparse.models.row_explanation import Contribution, RowExplanation
    from compsparse.models.scores import ClassScore, Score

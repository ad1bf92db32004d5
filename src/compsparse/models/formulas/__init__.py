"""Formulas of fitted graphs."""

from compsparse.models.formulas.entry import read_formula
from compsparse.models.formulas.record import FittedConstant, FoundFormula

__all__ = ["FittedConstant", "FoundFormula", "read_formula"]

"""A catalogue of formulas: laws of physics, engineering, chemistry, biology and finance with their graphs."""

from compsparse.tasks.catalogue.entry import Half, Law, Quantity, law
from compsparse.tasks.catalogue.listing import formula, formulas

__all__ = ["Half", "Law", "Quantity", "formula", "formulas", "law"]

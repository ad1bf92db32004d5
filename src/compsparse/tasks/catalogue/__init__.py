"""A catalogue of formulas: laws of physics, engineering, chemistry, biology and finance with their graphs."""

from compsparse.tasks.catalogue.entry import Half, Quantity, TextbookLaw, law
from compsparse.tasks.catalogue.listing import formula, formulas

__all__ = ["Half", "Quantity", "TextbookLaw", "formula", "formulas", "law"]

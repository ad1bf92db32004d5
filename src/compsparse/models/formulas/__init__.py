"""Formulas of fitted graphs."""

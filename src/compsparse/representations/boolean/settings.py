"""The limits of reading truth tables; nothing here decides what is a module."""

MOST_INPUTS = 20
"""A table of 20 inputs has a million rows."""
MOST_OPERATIONS = 400
"""Longest expansion of a gate that is kept as a formula."""
MOST_COFACTORS = 2
"""Distinct cofactors that a set may leave and still be a module: they are told apart by one Boolean value."""

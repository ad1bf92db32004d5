"""Graphs from tables: trials of candidate structures on held-out rows, and the search they drive."""

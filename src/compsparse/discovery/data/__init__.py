"""Graphs from tables: trials of candidate structures on held-out rows, and the search they drive."""

from compsparse.discovery.data.strategy import DATA, DataOptions, from_data

__all__ = ["DATA", "DataOptions", "from_data"]

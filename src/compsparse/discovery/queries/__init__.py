"""Graphs of callables, found by asking them for values: swaps of one input, directions of gradients."""

from compsparse.discovery.queries.strategy import from_queries

__all__ = ["from_queries"]

"""Graphs of callables, found by asking them for values: swaps of one input, directions of gradients."""

from compsparse.discovery.queries.strategy import QUERIES, QueryOptions, from_queries

__all__ = ["QUERIES", "QueryOptions", "from_queries"]

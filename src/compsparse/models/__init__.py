"""Fitted graphs: fit, predict, save, load."""

from compsparse.models.fitted_graph import FittedGraph, fit_model

__all__ = ["FittedGraph", "fit_model"]

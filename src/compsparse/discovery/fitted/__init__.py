"""Graphs of fitted models: what somebody's model has learned."""

from compsparse.discovery.fitted.asking import explain
from compsparse.discovery.fitted.explanation import Explanation, Fidelity

__all__ = ["Explanation", "Fidelity", "explain"]

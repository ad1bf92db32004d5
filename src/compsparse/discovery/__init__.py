"""Graphs from data, from callables and from truth tables, with evidence for every module."""

from compsparse.discovery.boolean import BooleanOptions
from compsparse.discovery.data import DataOptions
from compsparse.discovery.exports import independent_groups, to_ebm_interactions, to_pysr_template
from compsparse.discovery.fitted import Explanation, Fidelity, explain
from compsparse.discovery.queries import QueryOptions
from compsparse.discovery.record import AnswerNoise, Confidence, Cost, Discovery, DiscoveryStatus, Evidence, Step
from compsparse.discovery.strategy import Findings, Strategy, assembled, register, strategies, unregister
from compsparse.discovery.verb import discover

__all__ = [
    "AnswerNoise",
    "BooleanOptions",
    "Confidence",
    "Cost",
    "DataOptions",
    "Discovery",
    "DiscoveryStatus",
    "Evidence",
    "Explanation",
    "Fidelity",
    "Findings",
    "QueryOptions",
    "Step",
    "Strategy",
    "assembled",
    "discover",
    "explain",
    "independent_groups",
    "register",
    "strategies",
    "to_ebm_interactions",
    "to_pysr_template",
    "unregister",
]

"""Graphs from data and from callables, with evidence for every module."""

from compsparse.discovery.record import Cost, Discovery, DiscoveryStatus, Evidence, Noise, Step
from compsparse.discovery.verb import discover

__all__ = ["Cost", "Discovery", "DiscoveryStatus", "Evidence", "Noise", "Step", "discover"]

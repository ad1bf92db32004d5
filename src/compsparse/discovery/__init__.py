"""Graphs from data and from callables, with evidence for every module."""

from compsparse.discovery.discover import discover
from compsparse.discovery.record import Cost, Discovery, DiscoveryStatus, Evidence, Noise, Step

__all__ = ["Cost", "Discovery", "DiscoveryStatus", "Evidence", "Noise", "Step", "discover"]

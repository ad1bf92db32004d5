"""Graphs of simulators: runs at designed points, kept in a file, and what they tell."""

from compsparse.discovery.runs.planning import NextPoints
from compsparse.discovery.runs.record import Runs, Surrogate
from compsparse.discovery.runs.simulator import Simulator
from compsparse.discovery.runs.strategy import RUNS, RunsOptions, from_runs

__all__ = ["RUNS", "NextPoints", "Runs", "RunsOptions", "Simulator", "Surrogate", "from_runs"]

"""The command line, one file a group of commands; importing a file adds its commands to the app."""

from compsparse.cli.interrupts import answer_while_loading

answer_while_loading()

from compsparse.cli import accept, bounds, claims, discover, explain, graph, hierarchy, predict, sweep  # noqa: E402
from compsparse.cli.app import app, main  # noqa: E402

__all__ = ["accept", "app", "bounds", "claims", "discover", "explain", "graph", "hierarchy", "main", "predict", "sweep"]

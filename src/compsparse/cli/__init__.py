"""The command line, one file a group of commands; importing a file adds its commands to the app."""

from compsparse.cli import accept, bounds, claims, compile, discover, fit, graph, hierarchy, store, sweep
from compsparse.cli.app import app, main

__all__ = [
    "accept",
    "app",
    "bounds",
    "claims",
    "compile",
    "discover",
    "fit",
    "graph",
    "hierarchy",
    "main",
    "store",
    "sweep",
]

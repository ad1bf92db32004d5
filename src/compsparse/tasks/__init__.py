"""Targets whose graph is known, and data drawn from them."""

from compsparse.tasks.compositional import random_target, shared_dag, sincos_tree, tanh_tree
from compsparse.tasks.engineering import borehole, friedman1, friedman2, friedman3
from compsparse.tasks.task import Sample, Task, UniformInputs, box, on

__all__ = [
    "Sample",
    "Task",
    "UniformInputs",
    "borehole",
    "box",
    "friedman1",
    "friedman2",
    "friedman3",
    "on",
    "random_target",
    "shared_dag",
    "sincos_tree",
    "tanh_tree",
]

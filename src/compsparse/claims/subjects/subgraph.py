"""A network that contains the target's graph as a subgraph, and one that lacks some of its edges."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from compsparse.claims.claim import Finding, Profile
from compsparse.claims.rules import Interval, all_of, judge_at_least, judge_at_most
from compsparse.claims.seeds import FIRST_SEED
from compsparse.claims.trials import Trials, run_trials
from compsparse.graph import FunctionGraph, Node, single_node
from compsparse.networks import mirror
from compsparse.networks.replicas import ReplicatedNetwork
from compsparse.progress import Progress
from compsparse.report.figure import Figure
from compsparse.tasks import tanh_tree
from compsparse.training import TrainingConfig

_WIDTH = 16


def with_extra_edges(graph: FunctionGraph, per_node: int, rng: np.random.Generator) -> FunctionGraph:
    """Every node reads ``per_node`` more values that come before it."""
    nodes: list[Node] = []
    for i, node in enumerate(graph.nodes):
        earlier = [*graph.inputs, *(n.name for n in graph.nodes[:i])]
        others = [v for v in earlier if v not in node.parents]
        extra = rng.choice(others, size=min(per_node, len(others)), replace=False)
        nodes.append(Node(node.name, (*node.parents, *map(str, extra))))
    return FunctionGraph(graph.inputs, nodes, graph.outputs)


def without_edges(graph: FunctionGraph, how_many: int, rng: np.random.Generator) -> FunctionGraph:
    """Takes one parent each from ``how_many`` nodes of the lowest level: those inputs are lost."""
    lowest = [n.name for n in graph.nodes if graph.levels[n.name] == 1]
    poorer = set(rng.choice(lowest, size=how_many, replace=False))
    nodes = [
        replace(n, parents=n.parents[:1] if n.name in poorer else n.parents, constituent=None) for n in graph.nodes
    ]
    return FunctionGraph(graph.inputs, nodes, graph.outputs)


def subgraph_suffices(profile: Profile, progress: Progress) -> Finding:
    """Errors of networks with edges added to the true graph, and with edges taken away."""
    rows, steps = (1000, 2000) if profile == "quick" else (4000, 8000)
    task, rng = tanh_tree(8), np.random.default_rng(FIRST_SEED)
    graph = task.graph.structure()
    config = TrainingConfig(n_steps=steps, batch_size=128)
    networks = {
        "true graph": graph,
        "+1 edge a node": with_extra_edges(graph, 1, rng),
        "+2 edges a node": with_extra_edges(graph, 2, rng),
        "+4 edges a node": with_extra_edges(graph, 4, rng),
        "1 edge lost": without_edges(graph, 1, rng),
        "2 edges lost": without_edges(graph, 2, rng),
        "dense": single_node(8),
    }
    errors: dict[str, Trials] = {}
    for name, shape in networks.items():
        width, depth = (64, 3) if name == "dense" else (_WIDTH, 2)
        errors[name] = run_trials(partial(_mirrored, shape, width, depth), task, rows, config, n_restarts=2)
        progress.update(len(errors), len(networks), name)
    return _judge(errors)


def _mirrored(graph: FunctionGraph, width: int, depth: int, n_replicas: int) -> ReplicatedNetwork:
    return mirror(graph, width, depth, n_replicas=n_replicas, random_state=0)


def _judge(errors: dict[str, Trials]) -> Finding:
    true, dense = errors["true graph"], errors["dense"]
    halfway = float(np.sqrt(true.median * dense.median))
    most_extra, one_lost = errors["+4 edges a node"], errors["1 edge lost"]
    cheap = judge_at_most(Interval(most_extra.low, most_extra.high), halfway)
    costly = judge_at_least(Interval(one_lost.low, one_lost.high).over(Interval(true.low, true.high)), 10)
    outcome = all_of([cheap, costly])
    rows = tuple({"network": name, "error": t.median, "low": t.low, "high": t.high} for name, t in errors.items())
    figure = Figure(
        "Extra edges and lost edges", rows, "network", "error", mark="bars", low="low", high="high", log_y=True,
        y_title="unexplained variance (median, range of 3 seeds)",
    )  # fmt: skip
    return Finding(
        outcome,
        measured=f"true graph {true.text()}, +1 {errors['+1 edge a node'].text()}, "
        f"+2 {errors['+2 edges a node'].text()}, "
        f"+4 {most_extra.text()}, one edge lost {one_lost.text()}, dense {dense.text()}",
        numbers={name.replace(" ", "_"): t.median for name, t in errors.items()},
        figures=(figure,),
    )

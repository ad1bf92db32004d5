"""Networks that mirror the target's graph: depth against width, what locality gives, extra edges and lost ones."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

import numpy as np

from compsparse.claims.claim import Finding, Outcome, Premise, Profile
from compsparse.claims.rules import Interval, all_of, judge_at_least, judge_at_most, mean_interval
from compsparse.claims.seeds import FIRST_SEED
from compsparse.claims.shapes import each, figure_of, finding_of
from compsparse.claims.trials import Trials, run_trials
from compsparse.graph import FunctionGraph, Node, single_node
from compsparse.networks import count, dense, mirror
from compsparse.networks.mirroring import MirrorNetwork
from compsparse.progress import Progress
from compsparse.tasks import tanh_tree
from compsparse.training import TrainingConfig
from compsparse.training.last_layer import solve_last_layer

# ---- depth against width -------------------------------------------------------------------------

_EPS = 0.01
_ROWS_A_PARAMETER = 5
"""With fewer, what is estimated from the sample limits a network and not what it can approximate."""
_RATES = (3e-2, 8e-3)


@dataclass(frozen=True)
class _Point:
    inputs: int
    family: str
    parameters: int
    trials: Trials


def depth_beats_width(profile: Profile, progress: Progress) -> Finding:
    """Parameters that mirrored and shallow networks need for one error, as inputs grow in number."""
    full = profile == "full"
    sizes: tuple[int, ...] = (4, 8, 16)
    widths = {
        "mirrored": (2, 4, 8) if full else (4, 8),
        "shallow": (8, 32, 128, 512, 2048) if full else (32, 128, 512),
    }
    rows, steps = (400_000, 20_000) if full else (60_000, 1300)
    cases = [(n, family, width) for n in sizes for family in widths for width in widths[family]]
    points = [_measure(*case, rows, steps) for case in each(cases, progress, "{} inputs, {}, width {}")]
    return judge_depth(sizes, points, rows)


def _measure(n: int, family: str, width: int, rows: int, steps: int) -> _Point:
    """The better of two learning rates, by median error."""
    if family == "mirrored":
        make, finish = partial(_mirrored, tanh_tree(n).graph.structure(), width), None
    else:
        make, finish = partial(_shallow, n, width), solve_last_layer
    configs = [TrainingConfig(n_steps=steps, batch_size=128, learning_rate=rate, weight_decay=0) for rate in _RATES]
    tried = [run_trials(make, tanh_tree(n), rows, config, finish=finish) for config in configs]
    return _Point(n, family, count(make(1)).parameters, min(tried, key=lambda t: t.median))


def _mirrored(graph: FunctionGraph, width: int, n_replicas: int, depth: int = 2) -> MirrorNetwork:
    return mirror(graph, width, depth, n_replicas=n_replicas, random_state=0)


def _shallow(n: int, width: int, n_replicas: int) -> MirrorNetwork:
    return dense(n, width, 1, n_replicas=n_replicas, random_state=0)


def judge_depth(sizes: tuple[int, ...], points: list[_Point], rows: int) -> Finding:
    needed = {(n, f): _needed(points, n, f) for n in sizes for f in ("mirrored", "shallow")}
    largest = {n: max(p.parameters for p in points if p.inputs == n and p.family == "shallow") for n in sizes}
    # where no shallow net got there, the largest one tried bounds the ratio from below
    ratios = {
        n: min(needed[n, "shallow"], largest[n]) / needed[n, "mirrored"]
        for n in sizes
        if math.isfinite(needed[n, "mirrored"])
    }
    listed = [
        f"n={n}: {needed[n, 'mirrored']:g} against "
        + (f"{needed[n, 'shallow']:g}" if math.isfinite(needed[n, "shallow"]) else f"more than {largest[n]:,}")
        for n in sizes
    ]
    return finding_of(
        _outcome(sizes, points),
        measured="parameters needed, mirrored against shallow: " + "; ".join(listed),
        numbers={f"size_ratio_{n}": r for n, r in ratios.items()},
        figures=figure_of(
            f"Error against size (a tree of n inputs; {_EPS:.0%} is the bar)",
            [(p.parameters, p.trials.errors, f"{p.family}, n={p.inputs}") for p in points], "parameters", "error",
            "network", middle=np.median, log_x=True, log_y=True,
            y_title="unexplained variance (median, range of 3 seeds)",
        ),
        premises=Premise.at_least(
            "the number of rows over that of the largest network's parameters",
            rows / max(p.parameters for p in points),
            _ROWS_A_PARAMETER,
        ),
    )  # fmt: skip


def _outcome(sizes: tuple[int, ...], points: list[_Point]) -> Outcome:
    """By intervals of the size ratio, whose ends count the most and the least fortunate seeds."""
    intervals = {n: _ratio_interval(points, n) for n in sizes}
    ahead = [judge_at_least(intervals[n], 1) for n in sizes if n >= 8]
    growth = judge_at_least(intervals[sizes[-1]].over(intervals[sizes[0]]), 2)
    return all_of([*ahead, growth])


def _ratio_interval(points: list[_Point], n: int) -> Interval:
    """Parameters of shallow over mirrored networks; above the largest one tried anything is possible."""
    least, most = ({f: _needed(points, n, f, by) for f in ("mirrored", "shallow")} for by in ("low", "high"))
    if math.isinf(least["mirrored"]):
        return Interval(0, math.inf)
    tried = max(p.parameters for p in points if (p.inputs, p.family) == (n, "shallow"))
    shallow = Interval(min(least["shallow"], tried), most["shallow"])
    return shallow.over(Interval(least["mirrored"], most["mirrored"]))


def _needed(points: list[_Point], n: int, family: str, by: str = "median") -> float:
    """Parameters of the smallest network whose median (or best, or worst) seed meets the bar."""
    mine = [p for p in points if (p.inputs, p.family) == (n, family)]
    return min((p.parameters for p in mine if getattr(p.trials, by) <= _EPS), default=math.inf)


# ---- locality against sharing --------------------------------------------------------------------

_LEAST_GAIN = 0.1
"""Decades of error: a quarter less."""
_NAMES = ("dense", "local, own weights", "local, shared weights")


def locality_not_sharing(profile: Profile, progress: Progress) -> Finding:
    """Errors of dense, local and weight-sharing networks on one target."""
    sizes, steps = ((125, 500, 2000), 2000) if profile == "quick" else ((125, 500, 2000, 8000), 8000)
    task = tanh_tree(8)
    graph = task.graph.structure()
    makers = {
        _NAMES[0]: lambda r: dense(8, 64, 3, n_replicas=r, random_state=0),
        _NAMES[1]: lambda r: mirror(graph, 16, 2, n_replicas=r, random_state=0),
        _NAMES[2]: lambda r: mirror(graph, 16, 2, share="level", n_replicas=r, random_state=0),
    }
    config = TrainingConfig(n_steps=steps, batch_size=64)
    errors = {
        (name, n): run_trials(makers[name], task, n, config, n_seeds=4, n_restarts=2)
        for name, n in each(product(makers, sizes), progress, "{}, {} rows")
    }
    return judge_locality(sizes, errors)


def _share(part: np.ndarray, rest: np.ndarray) -> np.ndarray:
    """Of the whole gain; NaN where there is none."""
    shares: np.ndarray = np.divide(part, part + rest, out=np.full(part.shape, np.nan), where=part + rest != 0)
    return shares


def judge_locality(sizes: tuple[int, ...], errors: dict[tuple[str, int], Trials]) -> Finding:
    """Splits the whole gain in log error from dense to shared into locality's part and sharing's."""
    parts, outcomes = {}, []
    for n in sizes:
        logs = [np.log10(errors[name, n].errors) for name in _NAMES]
        locality, sharing = logs[0] - logs[1], logs[1] - logs[2]
        parts[n] = [float(np.median(part)) for part in (locality, sharing, _share(locality, sharing))]
        outcomes.append(judge_at_least(mean_interval(locality - sharing), _LEAST_GAIN, refuted_below=0))
    outcomes += [judge_at_least(Interval(loc, loc), 0) for loc, *_ in parts.values()]
    return finding_of(
        outcomes,
        measured=", ".join(f"N={n}: locality {loc:.2f}, sharing {sh:.2f} decades" for n, (loc, sh, _) in parts.items()),
        numbers={f"locality_share_{n}": share for n, (*_, share) in parts.items()},
        figures=figure_of(
            "Learning curves on a tree whose nodes are all alike",
            [(n, t.errors, name) for (name, n), t in errors.items()], "rows", "error", "network", middle=np.median,
            log_x=True, log_y=True, x_title="training rows", y_title="unexplained variance (median, range of 4 seeds)",
        ),
        premises=Premise.at_most(
            f"the error of local networks at N={sizes[-1]}", errors[_NAMES[1], sizes[-1]].errors, 0.1
        ),
    )  # fmt: skip


# ---- extra edges and lost ones -------------------------------------------------------------------


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
    for name in each(networks, progress):
        width, depth = (64, 3) if name == "dense" else (16, 2)
        make = partial(_mirrored, networks[name], width, depth=depth)
        errors[name] = run_trials(make, task, rows, config, n_restarts=2)
    return judge_subgraph(errors)


def judge_subgraph(errors: dict[str, Trials]) -> Finding:
    true, dense = errors["true graph"], errors["dense"]
    halfway = float(np.sqrt(true.median * dense.median))
    most_extra, one_lost = errors["+4 edges a node"], errors["1 edge lost"]
    cheap = judge_at_most(Interval(most_extra.low, most_extra.high), halfway)
    costly = judge_at_least(Interval(one_lost.low, one_lost.high).over(Interval(true.low, true.high)), 10)
    return finding_of(
        [cheap, costly],
        measured=f"true graph {true.text()}, +1 {errors['+1 edge a node'].text()}, "
        f"+2 {errors['+2 edges a node'].text()}, "
        f"+4 {most_extra.text()}, one edge lost {one_lost.text()}, dense {dense.text()}",
        numbers={name.replace(" ", "_"): t.median for name, t in errors.items()},
        figures=figure_of(
            "Extra edges and lost edges", [(name, t.errors) for name, t in errors.items()], "network", "error",
            middle=np.median, mark="bars", log_y=True, y_title="unexplained variance (median, range of 3 seeds)",
        ),
    )  # fmt: skip

"""Tensor formats and trees: do ranks, and the cost of finding them, follow the function's own tree?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from compsparse.claims.claim import Finding, Profile
from compsparse.claims.rules import Interval, geometric_interval, judge_at_least, judge_at_most
from compsparse.claims.seeds import FIRST_SEED
from compsparse.claims.shapes import each, figure_of, finding_of
from compsparse.graph import FunctionGraph, random_tree
from compsparse.progress import Progress
from compsparse.representations.tensors import DimensionTree, Grid, cut_ranks, tucker_from_function
from compsparse.tasks import random_target

_TOL = 1e-3
_BAR = 1.5
_MOST_EVALUATIONS = 60_000


@dataclass(frozen=True)
class _Tree:
    """What was measured on one random function."""

    module_ranks: list[int]
    module_channels: list[int]
    other_ranks: list[int]
    other_channels: list[int]
    evaluations: int
    evaluations_elsewhere: int


def ranks_follow_the_tree(profile: Profile, progress: Progress) -> Finding:
    """Ranks at the modules of random functions and at other splits; evaluations along their tree and along others."""
    n_functions, d = (24, 8) if profile == "full" else (10, 6)
    return judge_tensor_ranks([_measure(d, FIRST_SEED + k) for k in each(range(n_functions), progress, "function {}")])


def _measure(d: int, seed: int) -> _Tree:
    rng = np.random.default_rng(seed)
    graph = random_target(random_tree(d, random_state=rng), random_state=rng).graph
    bounds = [(-1.0, 1.0)] * d
    modules = [m for m in _positions(graph) if 1 < len(m) < d - 1]
    others = [_other_split(len(m), d, modules, rng) for m in modules]
    mine = cut_ranks(graph, bounds, modules, tol=_TOL, random_state=rng)
    theirs = cut_ranks(graph, bounds, others, tol=_TOL, random_state=rng)
    grid = Grid.of(bounds, 11)
    trees = DimensionTree.from_graph(graph), _shuffled(DimensionTree.from_graph(graph), rng)
    costs = [
        tucker_from_function(graph, grid, tree, tol=_TOL, max_evaluations=_MOST_EVALUATIONS, random_state=rng)
        for tree in trees
    ]
    return _Tree(
        [c.matricisation for c in mine],
        [c.channels for c in mine],
        [c.matricisation for c in theirs],
        [c.channels for c in theirs],
        *(cost.n_evaluations if cost.is_converged else _MOST_EVALUATIONS for cost in costs),
    )


def _positions(graph: FunctionGraph) -> list[list[int]]:
    place = {name: i for i, name in enumerate(graph.inputs)}
    return sorted(sorted(place[name] for name in module) for module in graph.modules)


def _other_split(size: int, d: int, modules: list[list[int]], rng: np.random.Generator) -> list[int]:
    """A random set of as many inputs that is no module, nor the rest of one."""
    while True:
        members = sorted(rng.choice(d, size, replace=False).tolist())
        rest = [i for i in range(d) if i not in members]
        if members not in modules and rest not in modules:
            return members


def _shuffled(tree: DimensionTree, rng: np.random.Generator) -> DimensionTree:
    """A tree of the same shape with the inputs dealt anew."""
    order = rng.permutation(tree.n_inputs).tolist()

    def grown(part: DimensionTree) -> DimensionTree:
        if part.is_leaf:
            return DimensionTree.leaf(order[part.members[0]])
        left, right = (grown(child) for child in part.children)
        return DimensionTree.join(left, right)

    return grown(tree)


def judge_tensor_ranks(found: list[_Tree]) -> Finding:
    ratios = [_mean_log(f.other_ranks) - _mean_log(f.module_ranks) for f in found]
    ranks = geometric_interval(np.exp(ratios))
    costs = geometric_interval([f.evaluations_elsewhere / f.evaluations for f in found])
    channels = max(c for f in found for c in f.module_channels)
    cut_short = sum(f.evaluations_elsewhere == _MOST_EVALUATIONS for f in found)
    splits = {"modules of the function": "module", "other sets of inputs": "other"}
    points = [
        (channels, rank, label)
        for f in found
        for label, name in splits.items()
        for rank, channels in zip(getattr(f, f"{name}_ranks"), getattr(f, f"{name}_channels"), strict=True)
    ]
    median = {k: float(np.median([r for f in found for r in getattr(f, k)])) for k in ("module_ranks", "other_ranks")}
    return finding_of(
        [
            judge_at_least(ranks, _BAR, refuted_below=1.0),
            judge_at_least(costs, _BAR, refuted_below=1.0),
            judge_at_most(Interval(channels, channels), 1.5),
        ],
        measured=f"ranks {ranks.text(3)} times as large elsewhere (medians {median['other_ranks']:g} and "
        f"{median['module_ranks']:g}), evaluations {costs.text(3)} times as many, most channels of a module {channels}",
        numbers={
            "rank_ratio_low": ranks.low,
            "evaluation_ratio_low": costs.low,
            "median_module_rank": median["module_ranks"],
            "median_other_rank": median["other_ranks"],
        },
        figures=figure_of(
            f"Ranks to {_TOL:g} of random functions on random binary trees", points, "channels", "rank", "split",
            mark="points", log_y=True, x_title="channels", y_title="matricisation rank",
        ),
        caveats=(
            f"where a wrong tree did not get there within {_MOST_EVALUATIONS:,} evaluations ({cut_short} of "
            f"{len(found)}), so many are counted",
        ),
    )  # fmt: skip


def _mean_log(ranks: list[int]) -> float:
    return float(np.mean(np.log(ranks)))

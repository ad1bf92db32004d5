"""Searches in the data of one target: formulas, random trees, random graphs, and targets without structure."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from compsparse.discovery import Discovery
from compsparse.discovery.data.strategy import from_data
from compsparse.graph import FunctionGraph, ModuleTree, compare_graphs, random_dag, random_tree
from compsparse.models import fit_model
from compsparse.progress import Progress
from compsparse.sweeps import Spec
from compsparse.tasks import Sample, Task, dense_target, formula, random_target, unequal_target
from compsparse.training import FitConfig

from ._distortions import DISTORTIONS, graph_of

N_TEST = 10_000
FIRST_UNSEEN = 40_000
"""Seed of the first unseen random graph: searches are tuned on graphs below it."""
FREE_FIT = FitConfig(n_restarts=16, n_keep=8)
FREE_WIDTH = 64


@dataclass(frozen=True)
class Job(Spec):
    """The graph that a search finds for one target, by its name, rows, noise and seed, and what its model predicts.

    Attributes:
        fit, free: whether there is a final model, and a free fit beside it.
        time_limit: seconds of the search, with its fit.
        fit_device: of the final model and the free fit; None is that of the search.
        distortion: how the rows are drawn, a name in :data:`kinds._distortions.DISTORTIONS`.
    """

    kind: ClassVar[str] = "formulas"

    family: Literal["formulas", "trees", "dags", "dense", "unequal"]
    name: str
    n_rows: int
    noise: float
    seed: int
    half: Literal["tuned", "unseen"]
    fit: bool = True
    free: bool = True
    time_limit: float | None = None
    fit_device: str | None = None
    distortion: str = "none"

    def load(self) -> float:
        return float(self.n_rows)

    def task(self) -> Task:
        """The target, with its true graph."""
        if self.family == "formulas":
            return formula(self.name, self.noise)
        seed = self.seed + (FIRST_UNSEEN if self.half == "unseen" else 0)
        if self.family == "trees":
            return random_target(random_tree(int(self.name.split()[1]), random_state=seed), seed, self.noise)
        if self.family == "dags":
            return random_target(random_dag(8, 10, random_state=seed), seed, self.noise)
        if self.family == "unequal":
            return unequal_target(seed, self.noise)
        return dense_target(self.name, random_state=seed, noise=self.noise)

    def measure(self, *, device: str | None, progress: Progress) -> Mapping[str, Any]:
        task = self.task()
        draw, true = DISTORTIONS[self.distortion], graph_of(task, self.distortion)
        sample = draw(task, self.n_rows, np.random.default_rng(self.seed))
        test = draw(task, N_TEST, np.random.default_rng(10**6 + self.seed))
        names, fit_device = true.inputs, self.fit_device or device
        is_apart = fit_device != device
        cpu, wall = time.process_time(), time.perf_counter()
        found = from_data(
            sample.X,
            sample.y,
            names=names,
            random_state=self.seed,
            device=device,
            fit=self.fit and not is_apart,
            time_limit=self.time_limit,
        )
        measured = structure(found, true) | {
            "seconds": time.perf_counter() - wall,
            "cpu_seconds": time.process_time() - cpu,
            "status": found.status.name,
            "caveats": list(found.caveats),
            "device": device or "cpu",
        }
        model = found.model
        if self.fit and is_apart:
            model = fit_model(found.graph, sample.X, sample.y, names=names, random_state=self.seed, device=fit_device)
        if model is not None:
            measured["r2"] = _r2(test.clean, model.predict(test.X))
        if self.free and self.fit:
            measured["r2_free"] = _free_r2(sample, test, self.seed, fit_device)
        return measured


def structure(found: Discovery, true: FunctionGraph) -> dict[str, Any]:
    """What a search found of the true graph."""
    compared = compare_graphs(found.graph, true)
    marked = marked_approximate(found)
    kinds = _kinds(found.graph.module_tree), _kinds(true.module_tree)
    common = kinds[0].keys() & kinds[1].keys()
    return {
        "exact": compared.exact,
        "said": not compared.extra - marked and all(_is_doubted(m, found) for m in compared.missing),
        "n_found": len(found.graph.modules),
        "n_true": len(true.modules),
        "n_common": len(found.graph.modules & true.modules),
        "n_false_unmarked": len(compared.extra - marked),
        "n_regrouped": sum(is_regrouping(members, true.module_tree) for members in compared.extra),
        "n_kinds": len(common),
        "n_kinds_right": sum(kinds[0][m] == kinds[1][m] for m in common),
        "n_kinds_untold": sum(kinds[0][m] is None for m in common),
        "missing": _listed(compared.missing),
        "false": _listed(compared.extra),
        "marked": _listed(marked),
        "wrongly_inert": sorted(compared.inert_extra),
        "several_channels": _listed(frozenset(e.members for e in found.evidence if e.channels > 1)),
    }


def _is_doubted(missing: frozenset[str], found: Discovery) -> bool:
    """Whether the record says that a module which it lacks may be there: of its inputs, or of the node around them."""
    about_inputs = [s for s in found.caveats if "too weakly for their place" in s or s.startswith("not needed here")]
    if any(name in sentence for sentence in about_inputs for name in missing):
        return True
    around = min((e for e in found.evidence if missing < e.members), key=lambda e: len(e.members), default=None)
    return around is not None and (around.approximate or (around.kind is None and around.parts > 2))


def _kinds(tree: ModuleTree) -> dict[frozenset[str], str | None]:
    return {m.members: m.kind for m in tree.inner if len(m.children) >= 3}


def is_regrouping(members: frozenset[str], true: ModuleTree) -> bool:
    """Whether the members are some parts of a complete node: a module indeed, but no strong one."""
    for node in true.inner:
        parts = [c.members for c in node.children if c.members <= members]
        if node.kind == "complete" and frozenset().union(*parts) == members:
            return True
    return False


def marked_approximate(found: Discovery) -> frozenset[frozenset[str]]:
    """Modules that the record itself calls approximate."""
    of_record = getattr(found, "approximate", ())
    if of_record is True:
        return frozenset(found.modules)
    marked = {e.members for e in found.evidence if getattr(e, "approximate", False)}
    if isinstance(of_record, (tuple, list, set, frozenset)):
        marked |= {frozenset(getattr(entry, "members", entry)) for entry in of_record}
    return frozenset(marked)


def _listed(modules: frozenset[frozenset[str]]) -> list[list[str]]:
    return sorted(sorted(members) for members in modules)


def _free_r2(sample: Sample, test: Sample, seed: int, device: str | None) -> float:
    model = fit_model(
        None, sample.X, sample.y, width=FREE_WIDTH, config=FREE_FIT, random_state=10**5 + seed, device=device
    )
    return _r2(test.clean, model.predict(test.X))


def _r2(y: np.ndarray, predicted: np.ndarray) -> float:
    return 1 - float(np.mean((y - predicted) ** 2) / np.var(y))


KINDS = [Job]

"""The graph can be found: error against the number of samples, with and without knowing it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

from compsparse.claims.claim import Finding, Outcome, Premise, Profile
from compsparse.claims.seeds import FIRST_SEED, TEST_SEED
from compsparse.claims.shapes import each, figure_of, finding_of
from compsparse.claims.trials import gpu_if_any
from compsparse.discovery.data.strategy import from_data
from compsparse.graph import FunctionGraph, compare_graphs, single_node
from compsparse.models import FittedGraph, fit_model
from compsparse.progress import Progress
from compsparse.tasks import Sample, Task, sincos_tree, tanh_tree
from compsparse.training import FitConfig, TrainingConfig

_FEWER = 4
"""How many times more samples the dense models get where they are asked to keep up."""
_AHEAD = 0.8
"""Share of the dense models' error that a graph may have to be ahead of them."""
_TEST_ROWS = 10_000
_DENSE = ("dense network", "boosted trees")


@dataclass(frozen=True)
class _Plan:
    """Sizes at which the graph is searched, the task, and how much training everyone gets."""

    task: Task
    sizes: tuple[int, ...]
    n_seeds: int
    effort: float
    fit: FitConfig


@dataclass(frozen=True)
class _Point:
    rows: int
    model: str
    errors: tuple[float, ...]

    @property
    def median(self) -> float:
        return float(np.median(self.errors))


def _plan(profile: Profile) -> _Plan:
    if profile == "quick":
        fit = FitConfig(n_restarts=8, n_keep=2, training=TrainingConfig(n_steps=1500), refine_iterations=20)
        return _Plan(tanh_tree(), (600,), 1, 0.6, fit)
    return _Plan(sincos_tree(), (500, 1000, 2000, 4000), 3, 1.0, FitConfig())


def graph_can_be_found(profile: Profile, progress: Progress) -> Finding:
    """Errors of the discovered graph, of the true one and of dense models, as samples grow in number."""
    plan = _plan(profile)
    device = gpu_if_any()
    sizes = sorted({*plan.sizes, *(_FEWER * n for n in plan.sizes)})
    points: list[_Point] = []
    exact: dict[int, int] = {}
    for n in each(sizes, progress, "{} rows"):
        errors: dict[str, list[float]] = {}
        for seed in range(FIRST_SEED, FIRST_SEED + plan.n_seeds):
            sample, test = plan.task.sample(n, seed), plan.task.sample(_TEST_ROWS, TEST_SEED + seed)
            graphs: dict[str, FunctionGraph] = {"dense network": single_node(plan.task.graph.n_inputs)}
            if n in plan.sizes:
                found = from_data(
                    sample.X, sample.y, fit=False, effort=plan.effort, random_state=seed, device=device
                ).graph
                exact[n] = exact.get(n, 0) + compare_graphs(found, plan.task.graph).exact
                graphs |= {"discovered graph": found, "true graph": plan.task.graph.structure()}
            for name, graph in graphs.items():
                model = _fitted(graph, sample, plan, seed, device, width=64 if name == "dense network" else 24)
                errors.setdefault(name, []).append(_unexplained(test, model.predict(test.X)))
            boosted = HistGradientBoostingRegressor(random_state=seed).fit(sample.X, sample.y)
            errors.setdefault("boosted trees", []).append(_unexplained(test, boosted.predict(test.X)))
        points += [_Point(n, name, tuple(values)) for name, values in errors.items()]
    return judge_found_graphs(plan, points, exact)


def _fitted(
    graph: FunctionGraph, sample: Sample, plan: _Plan, seed: int, device: str | None, width: int
) -> FittedGraph:
    # second-order steps are for small networks
    config = replace(plan.fit, refine_iterations=0) if graph.size == 1 else plan.fit
    return fit_model(graph, sample.X, sample.y, config=config, width=width, random_state=seed, device=device)


def _unexplained(test: Sample, predicted: np.ndarray) -> float:
    return float(np.mean((test.clean - predicted) ** 2) / np.var(test.clean))


def judge_found_graphs(plan: _Plan, points: list[_Point], exact: dict[int, int]) -> Finding:
    error = {(p.model, p.rows): p.median for p in points}
    n = plan.sizes[-1]
    found = error["discovered graph", n]
    at_same, at_more = (min(error[name, m] for name in _DENSE) for m in (n, _FEWER * n))
    rates = ", ".join(f"N={m}: {exact[m]} of {plan.n_seeds} exact" for m in plan.sizes)
    return finding_of(
        _outcome(points, _DENSE, n),
        expected=f"with N={n} samples the discovered graph has at most {_AHEAD:g} of the error of the best dense model "
        f"with {_FEWER * n}, in every seed; refuted if in every seed its error is above those of dense ones with {n}",
        measured=f"unexplained variance {found:.2g} discovered, {error['true graph', n]:.2g} with the true graph, "
        f"{at_same:.2g} best dense with {n}, {at_more:.2g} with {_FEWER * n}; {rates}",
        numbers={f"{p.model}, {p.rows}": p.median for p in points},
        figures=figure_of(
            f"Error against samples ({plan.task.name} tree of {plan.task.graph.n_inputs} inputs)",
            [(p.rows, p.errors, p.model) for p in points], "samples", "error", "model", middle=np.median, log_x=True,
            log_y=True, y_title="unexplained variance on test rows",
        ),
        premises=(
            Premise.at_most(f"the error with the true graph and N={n}", error["true graph", n], 0.5),
            Premise.at_most(
                f"the error of dense networks with N={_FEWER * n}", error["dense network", _FEWER * n], 0.9
            ),
        ),
        caveats=(f"one target ({plan.task.name} tree), {plan.n_seeds} seed{'s' if plan.n_seeds > 1 else ''}",),
    )  # fmt: skip


def _outcome(points: list[_Point], dense: Sequence[str], n: int) -> Outcome:
    """Every seed against the best dense model of four times the data; against the worst of as many to refute."""
    errors = {(p.model, p.rows): p.errors for p in points}
    found = errors["discovered graph", n]
    more, same = ([e for name in dense for e in errors[name, m]] for m in (_FEWER * n, n))
    if max(found) < _AHEAD * min(more):
        return Outcome.SUPPORTED
    return Outcome.REFUTED if min(found) > max(same) else Outcome.INCONCLUSIVE

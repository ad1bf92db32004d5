"""Whether what was learned of a hierarchy carries over to depths and sparsities that were not seen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from compsparse.claims.claim import Finding, Outcome, Premise, Profile
from compsparse.claims.rules import Interval, judge_at_least, judge_at_most, mean_interval
from compsparse.claims.seeds import FIRST_SEED
from compsparse.claims.shapes import each, figure_of, finding_of, finite
from compsparse.claims.trials import placed
from compsparse.measures import threshold
from compsparse.networks.symbols import SymbolNetwork
from compsparse.progress import Progress
from compsparse.sweeps.kinds.hierarchy import HierarchyRun, Learner, misclassified, train_runs
from compsparse.sweeps.kinds.paper import rhm_protocol
from compsparse.tasks.hierarchy import HierarchySample, SparseRandomHierarchy
from compsparse.tasks.hierarchy.trees import write


def carries_over_to_depth(profile: Profile, progress: Progress) -> Finding:
    """P* one level deeper, from scratch and from the layers learned at the smaller depth."""
    full = profile == "full"
    v, n_seeds = (7, 5) if full else (5, 3)
    seeds = range(FIRST_SEED, FIRST_SEED + n_seeds)
    shallow = HierarchyRun(n_train=v**4 * 3 // 4, n_features=v, n_levels=2, **rhm_protocol(128 if full else 64))
    deep = replace(shallow, n_levels=3)
    teacher, taught = _trained([replace(shallow, seed=seed) for seed in seeds], progress)
    of_teacher = misclassified(teacher, [test for _, test in taught])
    sizes = [round(v**2 * 2.0**k) for k in range(9)]
    errors: dict[str, dict[float, list[float]]] = {"from scratch": {}, "from depth 2": {}}
    for n in each(sizes, progress, "{} data of depth 3"):
        runs = [replace(deep, n_train=n, seed=seed) for seed in seeds]
        for name, start in (("from scratch", None), ("from depth 2", teacher)):
            network, data = _trained(runs, progress, start)
            errors[name][n] = misclassified(network, [test for _, test in data])
    return judge_transfer_to_depth(errors, of_teacher, v, n_seeds)


def judge_transfer_to_depth(
    errors: dict[str, dict[float, list[float]]], of_teacher: list[float], v: int, n_seeds: int
) -> Finding:
    scratch, carried = (threshold(curve, confidence=0.95, random_state=0) for curve in errors.values())
    # a first size that already did it bounds the gain from below
    least = Interval(carried.low if carried.bracketed else 0.0, carried.high)
    interval = Interval(scratch.low, scratch.high).over(least) if scratch.bracketed else Interval(0, np.inf)
    points = [(p, e, name) for name, curve in errors.items() for p, e in curve.items()]
    return finding_of(
        judge_at_least(interval, 4, refuted_below=2),
        measured=f"P* {scratch.text()} from scratch, {carried.text()} from depth 2: a factor {interval.text()}",
        numbers=finite({
            "P* from scratch": scratch.value, "P* from depth 2": carried.value,
            "factor": scratch.value / carried.value,
        }),
        figures=figure_of(
            f"Depth 3 after depth 2 (v={v})", points, "P at depth 3", "error", "series", log_x=True,
            y_title=f"test error (mean, range of {n_seeds} seeds)",
        ),
        premises=Premise.at_most("the test error of the networks of depth 2", of_teacher, 0.1),
    )  # fmt: skip


def _trained(
    runs: list[HierarchyRun], progress: Progress, start: SymbolNetwork | None = None
) -> tuple[SymbolNetwork, list[tuple[HierarchySample, HierarchySample]]]:
    """One network of all runs as replicas; its first layers from another network of as many."""
    network = runs[0].network(n_replicas=len(runs), seeds=[r.seed for r in runs])
    if start is not None:
        with torch.no_grad():
            for new, old in zip(network.layers, start.layers, strict=False):  # type: ignore[arg-type]
                new.weight.copy_(old.weight)
                new.bias.copy_(old.bias)
    data = [run.split() for run in runs]
    train_runs(placed(network), runs, [train for train, _ in data], progress)
    return network, data


# ---- sparsity ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Shift:
    seen: list[float]
    unseen: list[float]


def carries_over_to_sparsity(profile: Profile, progress: Progress) -> Finding:
    """Error at positions that training never used."""
    full = profile == "full"
    v, n_seeds, narrow, wide = (9, 5, 1, 2) if full else (4, 3, 1, 2)
    learners: tuple[Learner, ...] = ("cnn", "plain-cnn", "residual-cnn") if full else ("cnn", "residual-cnn")
    found: dict[str, _Shift] = {
        learner: _shift(learner, v, n_seeds, narrow, wide, full, progress) for learner in each(learners, progress)
    }
    return judge_sparsity(found, v, n_seeds, narrow, wide)


def judge_sparsity(found: dict[str, _Shift], v: int, n_seeds: int, narrow: int, wide: int) -> Finding:
    learned = [shift for shift in found.values() if np.mean(shift.seen) <= 0.1]
    outcomes = {judge_at_most(mean_interval(shift.unseen), 0.2) for shift in learned}
    points = [(name, errors, where) for name, shift in found.items() for where, errors in vars(shift).items()]
    listed = "; ".join(
        f"{n} {np.mean(s.seen):.3f} seen, {np.mean(s.unseen):.3f} unseen ({mean_interval(s.unseen).text()})"
        for n, s in found.items()
    )
    return finding_of(
        outcomes.pop() if len(outcomes) == 1 else Outcome.INCONCLUSIVE,
        expected=f"networks that learned symbols spread over {narrow + 1} slots each (error at most 0.1) err at most "
        f"0.2 when each is spread over {wide + 1}, by the 95% interval over seeds of every one; refuted if every one "
        "errs more, otherwise inconclusive",
        measured=f"test error: {listed} (chance {1 - 1 / v:.2f})",
        numbers={f"{name}, {where}": errors for name, errors, where in points},
        figures=figure_of(
            "Positions seen and unseen in training", points, "learner", "error", "positions", mark="bars",
            y_title=f"test error (mean, range of {n_seeds} seeds)",
        ),
        caveats=(f"data of s0={narrow} are laid out in the patches of s0={wide}, so that both fit one network",),
    )  # fmt: skip


def _shift(learner: Learner, v: int, n_seeds: int, narrow: int, wide: int, full: bool, progress: Progress) -> _Shift:
    settings: dict[str, Any] = {"width": 128 if full else 32, "n_test": 4000, "stop_at_loss": 0.01, "batch_size": 128}
    by_adam = {"optimizer": "adamw", "learning_rate": 0.002, "schedule": "constant", "n_epochs": 60 if full else 40}
    settings |= {"learning_rate": 0.1, "schedule": "constant", "n_epochs": 300} if learner == "cnn" else by_adam
    n_train = 30 * v**3
    base = HierarchyRun(n_train=n_train, learner=learner, n_features=v, n_empty=wide, **settings)
    seeds = range(FIRST_SEED, FIRST_SEED + n_seeds)
    runs = [replace(base, seed=seed) for seed in seeds]
    data = [_spread(run, narrow, n_train) for run in runs]
    network = base.network(n_replicas=n_seeds, seeds=seeds)
    train_runs(placed(network), runs, [train for train, _ in data], progress)
    fresh = [run.model.sample(base.n_test, random_state=10_000 + run.seed) for run in runs]
    return _Shift(misclassified(network, [test for _, test in data]), misclassified(network, fresh))


def _spread(run: HierarchyRun, narrow: int, n_train: int) -> tuple[HierarchySample, HierarchySample]:
    """Training and test data whose symbols keep to the first slots of their sub-patches."""
    wide = run.model
    model = SparseRandomHierarchy(
        n_features=wide.n_features,
        n_classes=wide.n_classes,
        multiplicity=wide.multiplicity,
        tuple_size=wide.tuple_size,
        n_levels=wide.n_levels,
        rules_seed=wide.rules_seed,
        n_empty=narrow,
    )
    parts = model.split(n_train, run.n_test, random_state=np.random.default_rng([run.seed, n_train]))

    def moved(sample: HierarchySample) -> HierarchySample:
        slots = tuple(level // (narrow + 1) * (wide.n_empty + 1) + level % (narrow + 1) for level in sample.slots)
        return write(wide, sample.y, sample.choices, slots)

    return moved(parts[0]), moved(parts[1])

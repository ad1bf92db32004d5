"""Open questions of the sparse random hierarchy: real moves, overfitting, and the shape of the network."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from compsparse.claims.claim import Finding, Outcome, Premise, Profile
from compsparse.claims.rules import Interval, interval_if_known, judge_at_least, judge_at_most, share_interval
from compsparse.claims.seeds import FIRST_SEED
from compsparse.claims.shapes import each, figure_of, finding_of, finite
from compsparse.claims.trials import answers_of, placed
from compsparse.measures import Threshold, diffeomorphism_sensitivity, relative_change, synonym_sensitivity, threshold
from compsparse.networks.replicas import select
from compsparse.networks.symbols import HierarchicalCNN, SymbolNetwork
from compsparse.progress import Progress
from compsparse.report.figure import Figure
from compsparse.sweeps.kinds.hierarchy import HierarchyRun, misclassified, train_runs, training_parts
from compsparse.tasks.hierarchy import HierarchySample, RandomHierarchy, SparseRandomHierarchy, exchange_synonyms
from compsparse.tasks.hierarchy.continuous import real_places, seen_by_sensors, whole_places
from compsparse.training import CrossEntropy, TrainingConfig, train

_Curve = dict[float, list[float]]


def _sgd(width: int, n_epochs: int) -> TrainingConfig:
    """As mean-field networks are trained: momentum, a rate in proportion to the width, until the data are fitted."""
    return TrainingConfig(
        n_epochs=n_epochs, batch_size=128, learning_rate=0.1 * width, weight_decay=0.0, optimizer="sgd",
        schedule="cosine", stop_at_loss=0.01,
    )  # fmt: skip


def _fit(
    network: SymbolNetwork, inputs: Sequence[np.ndarray], labels: Sequence[np.ndarray], config: TrainingConfig,
    progress: Progress,
) -> None:  # fmt: skip
    """Replica r learns the r-th part."""
    data = training_parts(placed(network), inputs, labels)
    train(network, data, config, loss=CrossEntropy(), random_state=FIRST_SEED, progress=progress)


# ---- real moves ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Moves:
    """Of one kind of move: errors by size and seed, and sensitivities of the output at the largest size."""

    errors: _Curve
    move: np.ndarray
    synonym: np.ndarray


def continuous_moves(profile: Profile, progress: Progress) -> Finding:
    """The same hierarchies with whole and with real moves, learned by the same network."""
    full = profile == "full"
    v, n_seeds, width = (6, 8, 128) if full else (4, 6, 32)
    first = FIRST_SEED + 100  # three seeds from FIRST_SEED on were looked at, and decided nothing
    models = [SparseRandomHierarchy(v, n_empty=1, rules_seed=first + seed) for seed in range(n_seeds)]
    sizes = [round(models[0].natural_size * 2.0**k) for k in range(1, 9 if full else 8)]
    found = {
        name: _learn_moves(models, sizes, name == "real", width, progress)
        for name in each(("whole", "real"), progress, "{} moves")
    }
    return judge_moves(found, n_seeds)


def _learn_moves(
    models: Sequence[RandomHierarchy], sizes: Sequence[int], real: bool, width: int, progress: Progress
) -> _Moves:
    model, runs = models[0], [(model, n) for n in sizes for model in models]
    network = HierarchicalCNN(
        model.n_inputs, model.v, model.n_labels, model.patch, width=width, n_replicas=len(runs), random_state=FIRST_SEED
    )
    samples = [m.sample(n, random_state=np.random.default_rng([FIRST_SEED, m.rules_seed, n])) for m, n in runs]
    inputs = [_seen(sample, real, i) for i, sample in enumerate(samples)]
    _fit(network, inputs, [s.y for s in samples], _sgd(width, 100), progress)
    errors: _Curve = {n: [] for n in sizes}
    moves, synonyms = [], []
    for r, (m, n) in enumerate(runs):
        test = m.sample(2000, random_state=10**6 + m.rules_seed)
        one, places = select(network, [r]), _places(test, real, 10**6)
        X = seen_by_sensors(test.symbols[0], places, m.n_inputs, m.v)
        errors[n].append(float((answers_of(one, X).argmax(-1) != test.y).mean()))
        if n == sizes[-1]:
            moved = seen_by_sensors(test.symbols[0], _places(test, real, 10**6 + 1), m.n_inputs, m.v)
            other = exchange_synonyms(test, 1, 10**6)
            swapped = seen_by_sensors(other.symbols[0], places, m.n_inputs, m.v)
            moves.append(relative_change(one, X, moved)[0, -1])
            synonyms.append(relative_change(one, X, swapped)[0, -1])
    return _Moves(errors, np.array(moves), np.array(synonyms))


def _places(sample: HierarchySample, real: bool, seed: int) -> np.ndarray:
    """Places that are drawn for every datum, whole or real, apart from those that the sample came with."""
    if real:
        return real_places(sample, random_state=seed)
    return whole_places(replace(sample, slots=sample.model.sample(len(sample), random_state=seed).slots))


def _seen(sample: HierarchySample, real: bool, seed: int) -> np.ndarray:
    return seen_by_sensors(
        sample.symbols[0], _places(sample, real, FIRST_SEED + seed), sample.model.n_inputs, sample.model.v
    )


def judge_moves(found: dict[str, _Moves], n_seeds: int) -> Finding:
    whole, real = (threshold(found[name].errors, confidence=0.95, random_state=0) for name in ("whole", "real"))
    largest = max(found["real"].errors)
    ratio = _range(real, largest).over(_range(whole, largest))
    learned = judge_at_most(ratio, 4, refuted_above=16)
    stable = judge_at_most(interval_if_known(found["real"].move), 0.1, refuted_above=0.3)
    points = [(n, e, name) for name, moves in found.items() for n, e in moves.errors.items()]
    return finding_of(
        [learned, stable],
        measured=f"P* {whole.text()} with whole moves, {real.text()} with real ones (a factor {ratio.text()}), "
        f"at the largest size sensitivity to moves {found['whole'].move.mean():.3f} (whole) and "
        f"{found['real'].move.mean():.3f} (real), to synonyms {found['whole'].synonym.mean():.3f} and "
        f"{found['real'].synonym.mean():.3f}",
        numbers=finite({
            "P*, whole": whole.value, "P*, real": real.value,
            "sensitivity to real moves": float(found["real"].move.mean()),
        }),
        figures=figure_of(
            "Whole and real moves", points, "P", "error", "moves", log_x=True, x_title="training data P",
            y_title=f"test error (mean, range of {n_seeds} seeds)",
        ),
        premises=Premise(
            "whole moves are learned within the sizes, and not at the first", f"P* is {whole.text()}", whole.bracketed
        ),
    )  # fmt: skip


def _range(found: Threshold, largest: float) -> Interval:
    """Where P* lies: beyond the largest size where no curve was seen to cross, below its first where it began below."""
    if not np.isfinite(found.value):
        return Interval(min(found.low, largest), np.inf)
    return Interval(found.low if found.bracketed else 0.0, found.high)


# ---- overfitting --------------------------------------------------------------------------------

_HIGH, _LOW = 0.5, 0.4
"""Sensitivities from which a network counts as sensitive, and below which it counts as not."""
_OFTEN = 0.25
"""Share of the networks that is a habit and no accident of one of them."""


def overfitting_and_sensitivity(profile: Profile, progress: Progress) -> Finding:
    """Errors and sensitivities of networks that fitted all labels, a tenth of them wrong or none."""
    full = profile == "full"
    v, n_seeds, width = (6, 5, 128) if full else (4, 3, 32)
    base = HierarchyRun(
        n_train=64, n_features=v, n_empty=1, width=width, n_test=2000, n_epochs=150, stop_at_loss=0.01, seed=FIRST_SEED
    )
    sizes = [round(base.model.natural_size * 2.0**k) for k in range(2, 7)]
    runs = [replace(base, n_train=n, seed=FIRST_SEED + s) for n in sizes for s in range(n_seeds)]
    rows: list[dict[str, Any]] = []
    for flipped in (0.0, 0.1):
        rows += _overfit(runs, flipped, progress)
        progress.update(len(rows), 2 * len(runs), f"{flipped:.0%} of the labels wrong")
    return judge_overfitting(rows)


def _overfit(runs: Sequence[HierarchyRun], flipped: float, progress: Progress) -> list[dict[str, Any]]:
    data = [run.split() for run in runs]
    network = runs[0].network(n_replicas=len(runs), seeds=[r.seed for r in runs])
    parts = [_with_wrong_labels(part, flipped, run.seed) for (part, _), run in zip(data, runs, strict=True)]
    train_runs(placed(network), runs, parts, progress)
    errors = misclassified(network, [test for _, test in data])
    fitted = 1 - np.array(misclassified(network, parts))
    rows = []
    for r, (run, (_, test)) in enumerate(zip(runs, data, strict=True)):
        one, probes = select(network, [r]), test.take(slice(1000))
        S = synonym_sensitivity(one, probes, 1, run.seed, allow_identity=False).values[0]
        D = diffeomorphism_sensitivity(one, probes, 1, run.seed, allow_identity=False).values[0]
        rows.append(
            {"P": run.n_train, "error": errors[r], "fitted": float(fitted[r]), "synonym": float(S[-2]),
             "move": float(D[-2]), "labels": "a tenth wrong" if flipped else "right"}
        )  # fmt: skip
    return rows


def _with_wrong_labels(sample: HierarchySample, share: float, seed: int) -> HierarchySample:
    rng = np.random.default_rng([seed, 7])
    wrong = rng.random(len(sample)) < share
    other = (sample.y + rng.integers(1, sample.model.n_labels, len(sample))) % sample.model.n_labels
    return replace(sample, y=np.where(wrong, other, sample.y))


def judge_overfitting(rows: list[dict[str, Any]]) -> Finding:
    """Among networks that fitted their training data: how often is a low error found with a high sensitivity?"""
    fitted = [row for row in rows if row["fitted"] >= 0.99]
    good = [max(row["synonym"], row["move"]) for row in fitted if row["error"] <= 0.1]
    poor = [max(row["synonym"], row["move"]) for row in fitted if row["error"] >= 0.3]
    # counted, so that no single network decides; what is neither high nor low counts against either verdict
    high, not_low = (share_interval(sum(s >= bar for s in good), len(good)) for bar in (_HIGH, _LOW))
    highest, of_poor = (max(found, default=math.nan) for found in (good, poor))
    correlation = math.nan
    if len(fitted) > 2:
        correlation = float(np.corrcoef([r["error"] for r in fitted], [r["synonym"] for r in fitted])[0, 1])
    return finding_of(
        judge_at_least(Interval(high.low, not_low.high), _OFTEN),
        measured=f"{len(fitted)} of {len(rows)} networks fitted their labels; {sum(s >= _HIGH for s in good)} of the "
        f"{len(good)} with error <= 0.1 have a sensitivity of {_HIGH:g} ({high.text()}), "
        f"{sum(s >= _LOW for s in good)} one of {_LOW:g} ({not_low.text()}); the highest is "
        f"{highest:.2f}, of the {len(poor)} with error >= 0.3 "
        f"{of_poor:.2f}; correlation of error and sensitivity to synonyms {correlation:.2f}",
        numbers=finite({"highest, low error": highest, "highest, high error": of_poor, "correlation": correlation}),
        figures=Figure(
            "Test error and sensitivity of networks that fitted their data", tuple(rows), "error", "synonym",
            mark="points", series="labels", x_title="test error", y_title="sensitivity of the last layer to synonyms",
        ),
    )  # fmt: skip


# ---- depth and filter size ----------------------------------------------------------------------


@dataclass(frozen=True)
class _Shape:
    """Filters, layers and width of a hierarchical CNN; of about as many weights where they are compared."""

    patch: int
    n_layers: int
    width: int

    @property
    def name(self) -> str:
        return f"filter {self.patch}, {self.n_layers} layer{'s' * (self.n_layers > 1)} of {self.width}"


def depth_and_width(profile: Profile, progress: Progress) -> Finding:
    """One wide layer that sees all slots beside four narrow ones, with about as many weights."""
    curves, n_seeds = _curves((_Shape(2, 4, 32), _Shape(16, 1, 128)), profile, progress)
    return judge_shapes(curves, n_seeds, 2.0, "one wide layer", "Depth and width at equal numbers of weights")


def filter_sizes(profile: Profile, progress: Progress) -> Finding:
    """Filters of the tuples' size beside filters of twice that size, with about as many weights."""
    curves, n_seeds = _curves((_Shape(2, 4, 32), _Shape(4, 2, 40)), profile, progress)
    return judge_shapes(curves, n_seeds, 1.25, "larger filters", "Filter sizes at equal numbers of weights")


def _curves(shapes: Sequence[_Shape], profile: Profile, progress: Progress) -> tuple[dict[str, _Curve], int]:
    """Test errors by size and seed, for hierarchies of four levels and three symbols."""
    n_seeds, most = (5, 8) if profile == "full" else (3, 6)
    models = [RandomHierarchy(3, n_levels=4, rules_seed=FIRST_SEED + seed) for seed in range(n_seeds)]
    sizes = [round(models[0].natural_size * 2.0**k / 2) for k in range(most)]
    runs = [(m, n) for n in sizes for m in models]
    drawn = [m.split(n, 2000, random_state=np.random.default_rng([m.rules_seed, n])) for m, n in runs]
    found: dict[str, _Curve] = {}
    for shape in each(shapes, progress, "{0.name}"):
        network = HierarchicalCNN(
            16, 3, 3, shape.patch, shape.n_layers, shape.width, n_replicas=len(runs), random_state=FIRST_SEED
        )
        _fit(network, [t.X for t, _ in drawn], [t.y for t, _ in drawn], _sgd(shape.width, 60), progress)
        wrong = misclassified(network, [test for _, test in drawn])
        found[shape.name] = {n: wrong[i * n_seeds : (i + 1) * n_seeds] for i, n in enumerate(sizes)}
    return found, n_seeds


def judge_shapes(curves: dict[str, _Curve], n_seeds: int, bar: float, other: str, title: str) -> Finding:
    first, second = (threshold(curve, confidence=0.95, random_state=0) for curve in curves.values())
    largest = max(next(iter(curves.values())))
    ratio = _range(second, largest).over(_range(first, largest))
    names = list(curves)
    points = [(n, e, name) for name, curve in curves.items() for n, e in curve.items()]
    return finding_of(
        judge_at_least(ratio, bar, refuted_below=1.0) if first.bracketed else Outcome.INCONCLUSIVE,
        expected=f"on hierarchies of depth 4 (s = 2, v = 3), {other} ({names[1]}) need at least {bar:g} times the data "
        f"of {names[0]}, by the 95% interval of P*; refuted if by all of it they need fewer",
        measured=f"P* {first.text()} and {second.text()}: a factor {ratio.text()}",
        numbers=finite({f"P*, {name}": found.value for name, found in zip(names, (first, second), strict=True)}),
        figures=figure_of(
            title, points, "P", "error", "network", log_x=True, x_title="training data P",
            y_title=f"test error (mean, range of {n_seeds} seeds)",
        ),
        caveats=("widths are chosen for about 6,500 weights each; other widths move both curves",),
    )  # fmt: skip

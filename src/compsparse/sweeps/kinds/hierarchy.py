"""Runs on random hierarchies: one network, one training-set size, one seed; test error and sensitivities."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch

from compsparse.checks import check_count, check_kind, check_number
from compsparse.errors import ConfigError
from compsparse.measures import diffeomorphism_sensitivity, synonym_sensitivity
from compsparse.networks.replicas import select
from compsparse.networks.symbols import (
    CommonCNN,
    FullyConnectedNetwork,
    HierarchicalCNN,
    HierarchicalLCN,
    SymbolNetwork,
    SymbolNetworkOptions,
    TransformerNetwork,
)
from compsparse.progress import Progress
from compsparse.sweeps.spec import Spec
from compsparse.tasks.hierarchy import HierarchySample, RandomHierarchy, SparseRandomHierarchy, learn_hierarchy
from compsparse.training import TrainingConfig, train
from compsparse.training.data import TrainingData
from compsparse.training.loop import Callback, TrainingState
from compsparse.training.losses import CrossEntropy
from compsparse.training.record import Training
from compsparse.training.schedules import cosine_over

Learner = Literal["cnn", "lcn", "fcn", "plain-cnn", "residual-cnn", "transformer", "clustering"]
_MEAN_FIELD: tuple[Learner, ...] = ("cnn", "lcn", "fcn")
_ROWS_AT_ONCE = 200_000
_EPOCHS_BETWEEN = 10
_PROBES = 1000
"""Data on which sensitivities are measured."""
_MOST_COUNT = 10**9
_MOST_SLOTS = 1_000_000
_MOST_WEIGHTS = 10**9
"""Of one replica: 4 GB, and as much again for each of its gradients and its momenta."""
_MOST_SYMBOLS = 10**10
"""Of training and test data: a byte each."""


@dataclass(frozen=True, kw_only=True)
class HierarchyRun(Spec):
    """One training of one learner on data of one random hierarchy.

    Attributes:
        learner: a network of :mod:`compsparse.networks.symbols`, or ``clustering``, which reads the rules off
            label statistics and trains nothing.
        n_train: P, different data to train on.
        n_test: test data, all different from those; fewer where the model has no more.
        whitened, shifted: how symbols are coded, see :func:`~compsparse.networks.symbols.symbol_codes`.
        bias_per_position: of cnn, see :class:`~compsparse.networks.symbols.hierarchical.HierarchicalNetwork`.
        balanced: every class as often as any other, in training and test data.
        cosine_share: the share of the epochs after which a cosine schedule is at zero; it then comes back.
        test_at: ``end`` tests the trained network; ``best`` gives the least test error of looks every ten epochs, as
            the papers plot, which chooses by the test data.
        learning_rate: of cnn, lcn and fcn times their width, since their readout is a mean over units.
        batch_size: None takes 4 per class.
        sensitivities: measure S_k and D_k of every layer at level 1; every tuple is changed, none left by chance.
        seed: of the rules, the data and the initial weights; data of the run, and so part of its key.
    """

    kind: ClassVar[str] = "hierarchy"
    version: ClassVar[int] = 1
    later_fields: ClassVar[frozenset[str]] = frozenset(
        {"shifted", "bias_per_position", "balanced", "cosine_share", "test_at"}
    )
    curve: ClassVar[tuple[str, str]] = ("n_train", "test_error")
    level: ClassVar[float] = 0.1

    n_train: int
    learner: Learner = "cnn"
    n_features: int = 8
    n_classes: int | None = None
    multiplicity: int | None = None
    tuple_size: int = 2
    n_levels: int = 2
    n_empty: int = 0
    placement: Literal["A", "B"] = "A"
    n_layers: int | None = None
    width: int = 64
    whitened: bool = False
    shifted: bool = False
    bias_per_position: bool = False
    balanced: bool = False
    learning_rate: float = 0.1
    momentum: float = 0.9
    weight_decay: float = 0.0
    batch_size: int | None = 128
    schedule: Literal["constant", "cosine"] = "cosine"
    cosine_share: float = 1.0
    optimizer: Literal["sgd", "adamw"] = "sgd"
    n_epochs: int = 250
    stop_at_loss: float = 0.01
    test_at: Literal["end", "best"] = "end"
    n_test: int = 20_000
    sensitivities: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        self._check_fields()
        self._check_sizes()
        if self.n_train >= self.model.n_data:
            raise ConfigError(f"{self.n_train} training data leave none to test on: the model has {self.model.n_data}")
        if self.sensitivities and self.learner == "clustering":
            raise ConfigError("sensitivities are measured on the layers of a network, which 'clustering' does not have")

    def _check_fields(self) -> None:
        for name, least in (("n_features", 2), ("tuple_size", 2), ("n_levels", 1), ("n_empty", 0), ("width", 1)):
            check_count(name, getattr(self, name), least=least, most=_MOST_COUNT)
        for name in ("n_train", "n_test", "n_epochs"):
            check_count(name, getattr(self, name), most=10**12)
        for name in ("n_classes", "multiplicity", "n_layers", "batch_size"):
            if getattr(self, name) is not None:
                check_count(name, getattr(self, name), most=_MOST_COUNT)
        check_count("seed", self.seed, least=0, most=2**63 - 1)
        check_number("learning_rate", self.learning_rate, above=0)
        check_number("momentum", self.momentum, least=0, below=1)
        check_number("weight_decay", self.weight_decay, least=0)
        check_number("stop_at_loss", self.stop_at_loss, least=0)
        check_number("cosine_share", self.cosine_share, above=0, most=1)
        self.to_dict()  # looks at flags and choices
        if self.whitened and self.shifted:
            raise ConfigError("symbols are whitened or shifted, not both")

    def _check_sizes(self) -> None:
        """Slots, weights and data are counted before anything of their size is made."""
        patch = self.tuple_size * (self.n_empty + 1)
        if self.n_levels * math.log(patch) > math.log(_MOST_SLOTS):
            raise ConfigError(
                f"{self.n_levels:,} levels of patches of {patch:,} make more than {_MOST_SLOTS:,} slots, the most here"
            )
        slots = patch**self.n_levels
        weights = 0 if self.learner == "clustering" else self._count_weights(slots, patch)
        if weights > _MOST_WEIGHTS:
            raise ConfigError(
                f"a {self.learner} of width {self.width:,} on {slots:,} slots has about {weights:.2g} weights, "
                f"more than {_MOST_WEIGHTS:,}: take a smaller width or fewer layers"
            )
        n_rows = self.n_train + self.n_test
        if n_rows * slots > _MOST_SYMBOLS:
            raise ConfigError(
                f"{n_rows:,} data of {slots:,} slots are more than {_MOST_SYMBOLS:,} symbols: take fewer data"
            )

    def _count_weights(self, slots: int, patch: int) -> float:
        """About how many weights the network has; at most, where learners differ."""
        depth = self.n_layers or self.n_levels
        first = self.n_features * (slots if self.learner in ("fcn", "lcn") else patch)
        between = (slots / patch if self.learner == "lcn" else 1) * patch * self.width
        if self.learner == "fcn":
            between = self.width
        return float(self.width) * (first + between * depth + (self.n_classes or self.n_features))

    @property
    def model(self) -> RandomHierarchy:
        """The hierarchy, its rules drawn by the seed."""
        return _model(
            n_features=self.n_features,
            n_classes=self.n_classes,
            multiplicity=self.multiplicity,
            tuple_size=self.tuple_size,
            n_levels=self.n_levels,
            n_empty=self.n_empty,
            placement=self.placement,
            rules_seed=self.seed,
        )

    @property
    def rows_per_step(self) -> int:
        """The batch size, spelled out."""
        return self.batch_size or 4 * self.model.n_labels

    def split(self) -> tuple[HierarchySample, HierarchySample]:
        """Training and test data."""
        n_test = min(self.n_test, self.model.n_data - self.n_train)
        rng = np.random.default_rng([self.seed, self.n_train])
        return self.model.split(self.n_train, n_test, random_state=rng, balanced=self.balanced)

    def pack_key(self) -> Hashable:
        """Runs that differ in their data alone: replicas of one network, with SGD of several sizes."""
        if self.learner == "clustering":
            return self.key
        own = {"multiplicity", "seed"} | ({"n_train"} if self.optimizer == "sgd" else set())
        shared = {**self.to_dict(), "n_classes": self.model.n_labels}
        return tuple((name, value) for name, value in shared.items() if name not in own)

    def load(self) -> float:
        """Multiplications, up to a factor, of the passes over the training data."""
        d, h, patch = self.model.n_inputs, self.width, self.model.patch
        per_row = d * self.n_features * h + sum(d / patch**k * h * h for k in range(1, self.n_levels))
        return self.n_train * (d if self.learner == "clustering" else per_row)

    @classmethod
    def run(cls, specs: Sequence[Self], *, device: str | None, progress: Progress) -> list[dict[str, Any]]:
        """Trains the specs as replicas of one network; test errors and, where asked for, sensitivities."""
        if specs[0].learner == "clustering":
            return [_cluster(spec) for spec in specs]
        data = [spec.split() for spec in specs]
        network = specs[0].network(n_replicas=len(specs), seeds=[spec.seed for spec in specs])
        network.to(device or "cpu")
        looks = BestTest(specs, [test for _, test in data]) if specs[0].test_at == "best" else None
        training = train_runs(network, specs, [train for train, _ in data], progress, [looks] if looks else [])
        errors = misclassified(network, [test for _, test in data])
        results: list[dict[str, Any]] = [
            {
                "test_error": error if looks is None else min(error, float(looks.errors[r])),
                "n_tested": len(test),
                "train_loss": _finite(training.train_loss[r]),
                "n_steps": int(training.best_step[r]),
                "ended": training.replica_status[r].value,
            }
            for r, (error, (_, test)) in enumerate(zip(errors, data, strict=True))
        ]
        if specs[0].sensitivities:
            for r, (_, test) in enumerate(data):
                results[r] |= _sensitivities(select(network, [r]), test, specs[r].seed)
        return results

    def network(self, n_replicas: int | None = None, seeds: Sequence[int] | None = None) -> SymbolNetwork:
        """The untrained network, of so many replicas, with a seed for each."""
        model = self.model
        settings: SymbolNetworkOptions = {"whitened": self.whitened, "shifted": self.shifted, "seeds": seeds}
        settings["n_replicas"] = n_replicas
        own = self.bias_per_position
        shape = (model.n_inputs, model.n_features, model.n_labels)
        depth = self.n_layers or model.n_levels
        match self.learner:
            case "cnn":
                return HierarchicalCNN(*shape, model.patch, depth, self.width, bias_per_position=own, **settings)
            case "lcn":
                return HierarchicalLCN(*shape, model.patch, depth, self.width, bias_per_position=own, **settings)
            case "fcn":
                return FullyConnectedNetwork(*shape, depth, self.width, **settings)
            case "transformer":
                return TransformerNetwork(*shape, depth, self.width, **settings)
            case "plain-cnn":
                return CommonCNN(*shape, self.n_layers, self.width, variant="plain", **settings)
            case "residual-cnn":
                return CommonCNN(*shape, self.n_layers, self.width, variant="residual", **settings)
        raise ConfigError(f"{self.learner!r} is no network")

    def config(self) -> TrainingConfig:
        """How the network is trained."""
        factor = self.width if self.learner in _MEAN_FIELD and self.optimizer == "sgd" else 1
        return TrainingConfig(
            n_epochs=self.n_epochs,
            batch_size=self.rows_per_step,
            learning_rate=self.learning_rate * factor,
            weight_decay=self.weight_decay,
            optimizer=self.optimizer,
            momentum=self.momentum,
            schedule=cosine_over(self.cosine_share) if self.schedule == "cosine" else self.schedule,
            stop_at_loss=self.stop_at_loss,
        )


@lru_cache(maxsize=1024)
def _model(*, n_empty: int, placement: Literal["A", "B"], **sizes: Any) -> RandomHierarchy:
    if n_empty == 0:
        return RandomHierarchy(**sizes)
    return SparseRandomHierarchy(**sizes, n_empty=n_empty, placement=placement)


class BestTest:
    """The least test error of each replica, at looks about ten epochs apart: a callback of training."""

    def __init__(self, specs: Sequence[HierarchyRun], tests: Sequence[HierarchySample]):
        self.tests, self.errors = tests, np.ones(len(specs))
        self.steps_between = np.array([_EPOCHS_BETWEEN * math.ceil(s.n_train / s.rows_per_step) for s in specs])
        self.next_look = self.steps_between.copy()

    def __call__(self, state: TrainingState) -> None:
        """Tests the replicas that still train and are due."""
        places = np.flatnonzero(state.trains & (state.step >= self.next_look[state.replicas]))
        if not len(places):
            return
        due = state.replicas[places]
        network = check_kind("network", select(state.network, places.tolist()), SymbolNetwork)
        found = misclassified(network, [self.tests[r] for r in due])
        self.errors[due] = np.minimum(self.errors[due], found)
        self.next_look[due] = state.step + self.steps_between[due]


def train_runs(
    network: SymbolNetwork,
    specs: Sequence[HierarchyRun],
    samples: Sequence[HierarchySample],
    progress: Progress,
    callbacks: Sequence[Callback] = (),
) -> Training:
    """Trains a network whose replicas are the runs, each on its own sample."""
    data = training_parts(network, [s.X for s in samples], [s.y for s in samples])
    seeds = [spec.seed for spec in specs]
    return train(
        network, data, specs[0].config(), loss=CrossEntropy(), callbacks=callbacks, progress=progress, seeds=seeds
    )


def training_parts(network: SymbolNetwork, inputs: Sequence[np.ndarray], labels: Sequence[np.ndarray]) -> TrainingData:
    """Data of which each replica learns a part, where the network is."""
    device = next(network.parameters()).device
    ends = np.cumsum([len(y) for y in labels]).tolist()
    return TrainingData(
        torch.as_tensor(np.concatenate(inputs), device=device),
        torch.as_tensor(np.concatenate(labels), device=device, dtype=torch.long),
        train=tuple(torch.arange(end - len(y), end) for y, end in zip(labels, ends, strict=True)),
    )


@torch.no_grad()
def misclassified(network: SymbolNetwork, tests: Sequence[HierarchySample]) -> list[float]:
    """The share of test data that each replica gets wrong."""
    device, longest = next(network.parameters()).device, max(len(t) for t in tests)
    rows = max(1, _ROWS_AT_ONCE // len(tests))
    wrong = np.zeros(len(tests))
    for start in range(0, longest, rows):
        parts = [np.arange(start, min(start + rows, longest)) % len(t) for t in tests]
        X = torch.as_tensor(np.stack([t.X[at] for t, at in zip(tests, parts, strict=True)]), device=device)
        y = np.stack([t.y[at] for t, at in zip(tests, parts, strict=True)])
        counts = np.stack([np.arange(start, start + len(parts[0])) < len(t) for t in tests])
        wrong += ((network(X).argmax(-1).cpu().numpy() != y) & counts).sum(axis=1)
    return [float(w / len(t)) for w, t in zip(wrong, tests, strict=True)]


def _sensitivities(network: SymbolNetwork, test: HierarchySample, seed: int) -> dict[str, list[float]]:
    """S_k and D_k at level 1, the outputs last, of operators that change every tuple they are free to change."""
    probes, measures = test.take(slice(_PROBES)), {}
    if test.model.m > 1:
        measures["synonym"] = synonym_sensitivity(network, probes, 1, seed, allow_identity=False)
    if test.model.n_placements > 1:
        measures["diffeomorphism"] = diffeomorphism_sensitivity(network, probes, 1, seed, allow_identity=False)
    return {name: found.values[0].tolist() for name, found in measures.items()}


def _cluster(spec: HierarchyRun) -> dict[str, Any]:
    train_data, test = spec.split()
    learned = learn_hierarchy(spec.model, train_data.X, train_data.y, random_state=spec.seed)
    return {"test_error": float(np.mean(learned.predict(test.X) != test.y)), "n_tested": len(test)}


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


KINDS = [HierarchyRun]

"""Claims in a world in which nothing can be learned: what comes out supported there supports itself.

Two seams serve all claims. Whatever learns goes through the entry points of training, which are replaced where they are
looked up; and every claim hands its measurements to a function that judges them, whose arguments are kept and replaced
number by number.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook

from compsparse.claims import Bar, Claim, Finding, Outcome, StatedExponent, run_claim, subjects
from compsparse.errors import CompsparseError
from compsparse.report import Figure
from compsparse.training import TrainingData, loop
from compsparse.training.last_layer import solve_last_layer
from compsparse.training.levenberg_marquardt import Refinement, refine
from compsparse.training.steps import Steps

SHORT_STEPS, SHORT_EPOCHS = 40, 1
"""Of each training on shuffled labels: networks need not learn them for the labels to say nothing."""


_JUDGES = ("compsparse.claims.subjects", "compsparse.claims.laws", "compsparse.claims.declared")


@dataclass
class World:
    """What happened while a claim ran: how often something was trained, and what was judged."""

    trainings: int = 0
    steps: int = 0
    judged: list[tuple[Callable[..., Finding], tuple[Any, ...], dict[str, Any]]] = field(default_factory=list)


# ---- nothing is learned ----------------------------------------------------------------------------


class _Idle(Steps):
    """Steps that change no weight."""

    def advance(self, done: int, most: int) -> int:
        return most

    def keep(self, chosen: torch.Tensor) -> None:
        pass


class _Untrained(loop._Run):
    """A training in which the weights stay as they were drawn."""

    def __init__(self, network: Any, *rest: Any):
        super().__init__(network, *rest)
        self.steps = _Idle(network, self.data, self.config, self.stream, int(self.last_step.max()))


class _Zeroed(_Untrained):
    """A training that ends with all weights zero: all networks give one answer whatever they are asked."""

    def __init__(self, network: Any, *rest: Any):
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.zero_()
        super().__init__(network, *rest)


class _Shuffled(loop._Run):
    """A short training on labels that belong to other rows."""

    def __init__(self, network: Any, data: TrainingData, config: Any, *rest: Any):
        epochs = None if config.n_epochs is None else min(config.n_epochs, SHORT_EPOCHS)
        config = replace(config, n_steps=min(config.n_steps, SHORT_STEPS), n_epochs=epochs, rungs=())
        super().__init__(network, _shuffled(data), config, *rest)


def _shuffled(data: TrainingData) -> TrainingData:
    order = torch.randperm(len(data.y), generator=torch.Generator().manual_seed(0))
    return replace(data, y=data.y[order.to(data.y.device)])


def _not_solved(network: Any, data: TrainingData, *_: Any) -> torch.Tensor:
    return torch.full((network.n_replicas,), torch.nan)


def _not_refined(network: Any, data: TrainingData, *_: Any, **__: Any) -> Refinement:
    return refine(network, data, n_iterations=0)


WORLDS: dict[str, type[loop._Run]] = {
    "nothing trained": _Untrained,
    "one answer for all": _Zeroed,
    "labels shuffled": _Shuffled,
}


@contextmanager
def changed(name: str) -> Iterator[World]:
    """The world of that name; in it everything that compsparse trains goes by its way."""
    world, run = World(), WORLDS[name]

    class Counted(run):  # type: ignore[misc, valid-type]
        def train(self, *arguments: Any) -> Any:
            world.trainings += 1
            return super().train(*arguments)

    shuffles = run is _Shuffled
    entries: dict[Any, Any] = {
        solve_last_layer: (lambda n, d, *r: solve_last_layer(n, _shuffled(d), *r)) if shuffles else _not_solved,
        refine: (lambda n, d, *r, **o: refine(n, _shuffled(d), *r, **o)) if shuffles else _not_refined,
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "_Run", Counted)
        if shuffles:
            patch.setattr(torch.nn.functional, "cross_entropy", _of_shuffled_classes)
            patch.setattr(torch.nn.functional, "mse_loss", _of_shuffled_values)
        for module, attribute, value in _globals():
            if any(value is entry for entry in entries):
                patch.setattr(module, attribute, entries[value])
            elif module.__name__.startswith(_JUDGES) and value.__module__.startswith(_JUDGES) and _judges(value):
                patch.setattr(module, attribute, _kept(value, world))
        hook = register_optimizer_step_pre_hook(partial(_without_gradients, world, shuffles))
        try:
            yield world
        finally:
            hook.remove()


def _without_gradients(world: World, learns: bool, optimiser: torch.optim.Optimizer, *_: Any) -> None:
    """Reaches loops that step by an optimiser of their own; without gradients its steps change nothing."""
    world.steps += 1
    for group in [] if learns else optimiser.param_groups:
        for parameter in group["params"]:
            parameter.grad = None


_cross_entropy = torch.nn.functional.cross_entropy


def _of_shuffled_classes(answers: torch.Tensor, target: torch.Tensor, *rest: Any, **options: Any) -> torch.Tensor:
    """Labels that belong to other rows, for loops that step by themselves; what is only measured keeps its labels."""
    if answers.requires_grad:
        target = target[torch.randperm(len(target), generator=torch.Generator().manual_seed(len(target)))]
    return _cross_entropy(answers, target, *rest, **options)


_mse_loss = torch.nn.functional.mse_loss


def _of_shuffled_values(answers: torch.Tensor, target: torch.Tensor, *rest: Any, **options: Any) -> torch.Tensor:
    """The same for values of shape (..., rows, outputs)."""
    if answers.requires_grad:
        n = target.shape[-2]
        target = target[..., torch.randperm(n, generator=torch.Generator().manual_seed(n)), :]
    return _mse_loss(answers, target, *rest, **options)


def _globals() -> list[tuple[Any, str, Any]]:
    for subject in pkgutil.iter_modules(subjects.__path__):
        importlib.import_module(f"{subjects.__name__}.{subject.name}")
    modules = [m for name, m in list(sys.modules.items()) if name.split(".")[0] == "compsparse"]
    return [(m, a, v) for m in modules for a, v in list(vars(m).items()) if inspect.isfunction(v)]


def _judges(function: Any) -> bool:
    """Whether a function makes a finding of measurements; an experiment begins with the profile."""
    returns = inspect.get_annotations(function).get("return")
    return returns in ("Finding", Finding) and "profile" not in inspect.signature(function).parameters


def _kept(judge: Callable[..., Finding], world: World) -> Callable[..., Finding]:
    def judged(*arguments: Any, **options: Any) -> Finding:
        world.judged.append((judge, arguments, options))
        return judge(*arguments, **options)

    return judged


# ---- numbers that say nothing --------------------------------------------------------------------


def constant(value: float) -> Callable[[int, np.ndarray], np.ndarray]:
    """All numbers alike."""
    return lambda place, x: np.full_like(x, value)


def nearly(value: float, step: float) -> Callable[[int, np.ndarray], np.ndarray]:
    """Effects next to nothing, surer than any seed could make them: each array a little beside the one before."""
    return lambda place, x: (
        value * (1 + step * place) + 1e-9 * np.linspace(-1, 1, max(x.size, 1))[: x.size].reshape(x.shape)
    )


NUMBERS: dict[str, Callable[[int, np.ndarray], np.ndarray]] = {
    "all numbers 0.5": constant(0.5),
    "all numbers 0.9": constant(0.9),
    "all numbers 1": constant(1.0),
    "all numbers NaN": constant(np.nan),
    "effects of 1e-4": nearly(0.9, 1e-4),
    "effects of -1e-4": nearly(0.9, -1e-4),
}


class _Numbers:
    """Replaces every number that was measured, in order, and leaves what was asked as it is."""

    def __init__(self, change: Callable[[int, np.ndarray], np.ndarray]):
        self.change, self.place = change, 0

    def __call__(self, value: Any) -> Any:
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            self.place += 1
            return self.change(self.place, value)
        if isinstance(value, float):
            self.place += 1
            return float(self.change(self.place, np.array(value)))
        if isinstance(value, Mapping):
            return {key: self(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return type(value)(self(item) for item in value)
        if is_dataclass(value) and not isinstance(value, (type, StatedExponent, Figure, Bar)) and _is_measured(value):
            return replace(value, **{f.name: self(getattr(value, f.name)) for f in fields(value)})
        return value


def _is_measured(value: Any) -> bool:
    return type(value).__module__.startswith(("compsparse.claims", "compsparse.measures"))


def judged_again(world: World, name: str) -> list[str]:
    """What every judgement of the world says of its measurements changed that way; counts are left as they are."""
    found = []
    for judge, arguments, options in world.judged:
        change = _Numbers(NUMBERS[name])
        try:
            outcome = judge(*map(change, arguments), **{k: change(v) for k, v in options.items()}).outcome.value
        except (CompsparseError, ArithmeticError, ValueError, RuntimeWarning):
            outcome = "refused"
        found.append(outcome if change.place else "counts only")
    return found or ["judges inside"]


# ---- the table -----------------------------------------------------------------------------------


def in_world(claim: Claim, name: str) -> tuple[str, World]:
    """The outcome of a claim there, and what happened."""
    with changed(name) as world:
        outcome = run_claim(claim).outcome
    return outcome.value if world.trainings or world.steps else "trains nothing", world


def verdicts(claim: Claim, names: Sequence[str]) -> dict[str, str]:
    """The outcome of a claim in each world, and of its judge by numbers that say nothing."""
    found: dict[str, str] = {}
    for name in names:
        found[name], world = in_world(claim, name)
    return found | {numbers: " / ".join(judged_again(world, numbers)) for numbers in NUMBERS}


def supported(found: Mapping[str, str]) -> list[str]:
    """The mutations under which a claim supports itself."""
    return [name for name, outcome in found.items() if Outcome.SUPPORTED.value in outcome]

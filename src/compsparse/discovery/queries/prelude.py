"""The first questions: which arrays the callable takes, what its answers look like, whether they repeat."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from compsparse.discovery.queries.design import random_points
from compsparse.discovery.queries.directions import turn_errors, turns
from compsparse.discovery.queries.gradients import Autograd, Differentiator
from compsparse.discovery.queries.oracle import Oracle
from compsparse.discovery.queries.steps import exact_differences
from compsparse.errors import DataError
from compsparse.graph import FunctionGraph
from compsparse.graph.operations import is_torch

_SAMPLE, _REPEATED, _COMPARED = 48, 16, 6
_NOISE_POINTS, _NULL_POINTS = 256, 16
# below this share of the spread, answers that do not repeat are rounding, which the step's calibration measures
_ROUNDING = 1e-7


@dataclass(frozen=True)
class Answers:
    """What the first answers showed, per output.

    Attributes:
        spread: standard deviation over the box.
        size: largest absolute value.
        noise: standard deviation between repeated answers.
    """

    spread: np.ndarray
    size: np.ndarray
    noise: np.ndarray


def prelude_cost(d: int, noisy: bool = False) -> int:
    """Most evaluations that the first questions take."""
    return 2 + _SAMPLE + _REPEATED + (2 * _NOISE_POINTS if noisy else _COMPARED * (2 * d + 1))


def first_answers(oracle: Oracle, f: Any, rng: np.random.Generator) -> Answers:
    """Finds out how to ask, then asks a sample of points, some of them twice."""
    u = random_points(_SAMPLE, np.zeros(oracle.d), rng)
    oracle.tensor = _tensor_kind(oracle, f, u[:1])
    values = oracle(u)
    again = oracle(u[:_REPEATED])
    noise = np.sqrt(np.mean((values[:_REPEATED] - again) ** 2, axis=0) / 2)
    return Answers(values.std(axis=0), np.abs(values).max(axis=0), noise)


def measured_noise(oracle: Oracle, rng: np.random.Generator) -> np.ndarray:
    """Standard deviation of the noise per output, to a few percent."""
    u = random_points(_NOISE_POINTS, np.zeros(oracle.d), rng)
    return np.sqrt(np.mean((oracle(u) - oracle(u)) ** 2, axis=0) / 2)


def _tensor_kind(oracle: Oracle, f: Any, u: np.ndarray) -> Callable[[np.ndarray], Any] | None:
    """How to make the tensors that ``f`` takes, or None where it takes numpy arrays.

    Torch is not imported to find out: a function that needs it has done so.
    """
    if "torch" not in sys.modules and not isinstance(f, FunctionGraph):
        return None
    kinds = _tensor_kinds()
    x = oracle.points(u)
    for tensor in kinds:
        oracle.evaluations += 1
        if is_torch(_answer_or_none(f, tensor(x).requires_grad_())):
            return tensor
    return None


def _tensor_kinds() -> list[Callable[[np.ndarray], Any]]:
    import torch

    return [
        lambda x: torch.as_tensor(x, dtype=torch.float64),
        lambda x: torch.as_tensor(x, dtype=torch.float32),
    ]


def _answer_or_none(f: Any, x: Any) -> Any:
    """The answer to a trial call; numpy functions may warn about tensors before they fail."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return f(x)
    except Exception:
        return None


# ---- which gradients -------------------------------------------------------------------


def exact_differentiator(oracle: Oracle, answers: Answers, rng: np.random.Generator) -> Differentiator:
    """Autograd where it agrees with differences, central differences otherwise."""
    if oracle.tensor is not None and _autograd_agrees(oracle, answers, rng):
        autograd = Autograd(oracle, _precision(oracle))
        autograd.null_turn = _null_turn(oracle, autograd, rng)
        return autograd
    return exact_differences(oracle, answers.spread, rng)


def _null_turn(oracle: Oracle, autograd: Autograd, rng: np.random.Generator) -> float:
    """How far gradients at points a rounding apart seem turned: what cancellation inside the function does."""
    close = 2 * _precision(oracle)
    u = random_points(_NULL_POINTS, np.full(oracle.d, close), rng)
    everything = np.arange(oracle.d)
    here, there = autograd(u, everything), autograd(u + close * rng.choice([-1, 1], u.shape), everything)
    a, b = here.gradients[0], there.gradients[0]
    with np.errstate(invalid="ignore"):
        z = np.abs(turns(a, b)) / turn_errors(a, b, here.errors, there.errors)
    return float(np.sort(np.nan_to_num(z).max(axis=(1, 2, 3)))[-2])


def is_noisy(answers: Answers, noise: np.ndarray) -> bool:
    return bool((noise > _ROUNDING * answers.spread).any())


def _precision(oracle: Oracle) -> float:
    import torch

    assert oracle.tensor is not None
    return float(torch.finfo(oracle.tensor(np.zeros(1)).dtype).eps)


def _autograd_agrees(oracle: Oracle, answers: Answers, rng: np.random.Generator) -> bool:
    """Whether autograd gives what differences give, for every input at most of a few points where it has a slope.

    A graph that was cut (detach, numpy inside, a custom backward) shows as a partial derivative
    that is wrong everywhere; a kink near one of the points does not.
    """
    step = np.cbrt(_precision(oracle))
    u = random_points(_COMPARED, np.full(oracle.d, step), rng)
    try:
        _, slopes = oracle.gradients(u)
    except (DataError, RuntimeError, TypeError, AttributeError):
        return False
    shift = step * np.eye(oracle.d)
    stencil = np.stack([u[:, None] + shift, u[:, None] - shift])
    up, down = oracle(stencil.reshape(-1, oracle.d)).reshape(2, _COMPARED, oracle.d, -1)
    differences = ((up - down) / (2 * step)).swapaxes(1, 2)
    rounding = 100 * _precision(oracle) * answers.size[:, None] / step
    allowed = 0.02 * np.abs(differences) + rounding + 1e-4 * np.abs(differences).max(axis=2, keepdims=True)
    wrong = (np.abs(slopes - differences) > allowed).sum(axis=0)
    sloping = (np.abs(differences) > rounding).sum(axis=0)
    return bool(((wrong == 0) | (2 * wrong < sloping)).all())

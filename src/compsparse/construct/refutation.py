"""The function itself against its graph and its network, at points: what was seen can refute what was computed."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product as all_choices

import numpy as np
import torch

from compsparse.boxes import Side
from compsparse.checks import RandomState, generator_from
from compsparse.construct.enclosure import enclose_graph
from compsparse.construct.explicit import ExplicitReLU
from compsparse.construct.gadget import held_by, numbers_between
from compsparse.construct.intervals import IntervalArray
from compsparse.construct.subject import Call, Subject
from compsparse.errors import CompsparseError, GraphError
from compsparse.graph import FunctionGraph

_POINTS, _POINTS_ONE_BY_ONE = 997, 150  # a prime, so that no array of rows is taken for one of columns
_MOST_CORNERS = 64
_KEPT, _MOST_CORNERS_SEARCHED = 24, 256
_ROUNDINGS_APART = 64
"""Two ways to compute a formula may differ by so many times what its own rounding may be."""

Answering = ExplicitReLU | Call


@dataclass(frozen=True)
class LargestError:
    """The largest error that was seen, where, and at how many points.

    Attributes:
        answers: what the network answered there.
    """

    value: float
    point: tuple[float, ...]
    n_points: int
    answers: tuple[float, ...] = ()


class CertificateError(CompsparseError, RuntimeError):
    """A statement that was computed is contradicted by what a search saw."""


@dataclass(frozen=True)
class Seen:
    """What a search saw.

    Attributes:
        largest: the largest difference between the network and the function as it is called.
        at_least: how far the network is from the function in exact arithmetic at that point, at least.
    """

    largest: LargestError
    at_least: float


def search(
    network: Answering,
    subject: Subject,
    box: Sequence[Side],
    *,
    n_points: int,
    random_state: RandomState,
    dtype: torch.dtype | None = None,
) -> Seen:
    """The largest error that is found, against the function itself.

    Raises:
        GraphError: the function does not answer as its graph does, or cannot be called.
    """
    graph, ways = subject.graph, _agreeing(subject, box, random_state)
    fast = [call for way, call in ways.items() if way not in subject.by_point]
    call = fast[0] if fast else graph
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the function has to say of its arguments was said where it was made
        found = largest_error(network, call, box, n_points=n_points, random_state=random_state, dtype=dtype)
    point = np.array([found.point])
    for way, slow in ways.items():
        _check_agreement(graph, way, slow, point)
    exact = _enclosed(graph, point)
    here = np.array([found.answers])
    off = np.maximum(np.maximum(exact.lower - here, here - exact.upper), 0.0)
    return Seen(found, float(off.max()))


def _agreeing(subject: Subject, box: Sequence[Side], random_state: RandomState) -> dict[str, Call]:
    """The ways in which the function can be called, all of which answer as the graph does."""
    rng = generator_from(random_state)
    low, high = np.array(box, dtype=float).T
    corners = _corners(box, _MOST_CORNERS)
    points = np.vstack([corners, low + (high - low) * rng.random((_POINTS - len(corners), len(box)))])
    found, problems = {}, []
    for way, call in subject.calls.items():
        own = points[:_POINTS_ONE_BY_ONE] if way in subject.by_point else points
        try:
            _check_agreement(subject.graph, way, call, own)
            found[way] = call
        except _CannotBeCalledError as problem:
            problems.append(f"{way}: {problem}")
    if not found:
        raise GraphError(f"the function cannot be called, so nothing can be said of it ({problems[0]})")
    return found


class _CannotBeCalledError(Exception):
    """This is no way to call the function."""


def _check_agreement(graph: FunctionGraph, way: str, call: Call, points: np.ndarray) -> None:
    answers = _answers(call, points, len(graph.outputs))
    exact = _enclosed(graph, points)
    off = np.maximum(np.maximum(exact.lower - answers, answers - exact.upper), 0.0)
    apart = _ROUNDINGS_APART * (exact.width + np.finfo(float).eps * np.abs(answers).max(axis=0))
    wrong = np.argwhere(~(off <= apart))
    if len(wrong):
        row, output = wrong[0]
        raise GraphError(
            f"the function answers {answers[row, output]:.6g} at {at(graph, points[row])} when it is called {way}, and "
            f"its graph {float(exact.lower[row, output]):.6g}: it does not compute one formula, so nothing can be "
            "certified; do not let it look at the type of its arguments"
        )


def _answers(call: Call, points: np.ndarray, n_outputs: int) -> np.ndarray:
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            answers = call(points)
    except Exception as error:  # the user's function, called in a way that it may not be made for
        raise _CannotBeCalledError(f"{type(error).__name__}: {error}") from None
    if np.shape(answers) != (len(points), n_outputs):
        raise _CannotBeCalledError(f"it answers an array of shape {np.shape(answers)} for {len(points)} points")
    return answers


def _enclosed(graph: FunctionGraph, points: np.ndarray) -> IntervalArray:
    """Where the exact values lie at points; a function without a formula is what it answers, up to rounding."""
    columns = [IntervalArray.of(column) for column in points.T]
    if all(node.constituent is not None and node.constituent.formula is not None for node in graph.nodes):
        found = enclose_graph(graph, columns, order=0)
        values = [found[name].value.spread((len(points),)) for name in graph.outputs]
        lower, upper = (np.stack(ends, axis=1) for ends in ([v.lower for v in values], [v.upper for v in values]))
        return IntervalArray(lower, upper)
    answers = np.asarray(graph(points), dtype=float).reshape(len(points), -1)
    slack = _ROUNDINGS_APART * np.finfo(float).eps * np.abs(answers)
    return IntervalArray(answers - slack, answers + slack)


def at(graph: FunctionGraph, point: Sequence[float] | np.ndarray) -> str:
    """A point as a sentence names it."""
    shown = [f"{name} = {value:.6g}" for name, value in zip(graph.inputs, point, strict=True)]
    return ", ".join(shown[:8]) + (", …" if len(shown) > 8 else "")


# ---- the search ---------------------------------------------------------------------------------


def largest_error(
    network: Answering,
    function: Callable[[np.ndarray], np.ndarray],
    domain: Sequence[Side],
    *,
    n_points: int = 20_000,
    random_state: RandomState = None,
    dtype: torch.dtype | None = None,
) -> LargestError:
    """Corners and random points, then closer and closer to the worst of them.

    Args:
        dtype: points are numbers of this type; by default of the one in which the network computes.
    """
    rng = generator_from(random_state)
    kind = dtype or (next(network.parameters()).dtype if isinstance(network, ExplicitReLU) else torch.float64)
    sides = [numbers_between(*side, kind) or side for side in domain]
    low, high = np.array(sides, dtype=float).T
    d = len(low)
    corners = _corners(sides, _MOST_CORNERS_SEARCHED)
    share = rng.random((max(n_points // 2, 1), d))
    x = np.vstack([corners, _inside(low * (1 - share) + high * share, low, high, kind)])
    errors, answers = _errors(network, function, x)
    count, width = len(x), 0.1
    while count < n_points:
        best = np.argsort(errors)[-_KEPT:]
        more = min(max(n_points // 16, 1), n_points - count)
        start = x[best][rng.integers(len(best), size=more)]
        move = rng.standard_normal((more, d)) * (rng.random((more, d)) < max(2 / d, 0.3))
        near = _inside(start + width * move * high - width * move * low, low, high, kind)
        there = _errors(network, function, near)
        x = np.concatenate([x[best], near])
        errors, answers = (np.concatenate([a[best], b]) for a, b in zip((errors, answers), there, strict=True))
        count, width = count + more, 0.6 * width
    worst = np.argsort(errors)[-1]
    return LargestError(float(errors[worst]), tuple(x[worst].tolist()), count, tuple(answers[worst].tolist()))


def _inside(x: np.ndarray, low: np.ndarray, high: np.ndarray, dtype: torch.dtype) -> np.ndarray:
    """The nearest points of the box whose coordinates are numbers of the type; its corners are such points."""
    return np.asarray(np.clip(held_by(x, dtype), low, high))


def _errors(
    network: Answering, function: Callable[[np.ndarray], np.ndarray], x: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The largest error of any output at each point, and the answers."""
    answers = network.values(x) if isinstance(network, ExplicitReLU) else network(x)
    right = np.asarray(function(x)).reshape(answers.shape)
    errors = np.abs(answers - right).max(axis=1)
    return np.where(np.isnan(errors), np.inf, errors), answers


def _corners(box: Sequence[Side], most: int) -> np.ndarray:
    """All corners of a box, or of one with more than that the lowest and the highest."""
    return np.array(list(all_choices(*box)) if 2 ** len(box) <= most else list(zip(*box, strict=True)), dtype=float)

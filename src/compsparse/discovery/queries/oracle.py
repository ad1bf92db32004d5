"""The callable behind a counter: rows asked, answers checked, budget and clock kept."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from compsparse.checks import check_unmasked
from compsparse.clock import Deadline, now
from compsparse.discovery.queries.limits import FIRST_CALL, LARGEST_CALL, SECONDS_PER_CALL
from compsparse.errors import DataError
from compsparse.graph.operations import is_torch
from compsparse.progress import Progress, Silent
from compsparse.surroundings import callers_settings


class OutOfQueries(Exception):
    """The next question would exceed the budget; it was not asked."""


class Oracle:
    """Answers of ``f`` at points of the unit cube, which stands for the box of the bounds.

    Attributes:
        evaluations: rows asked so far; never more than ``budget``.
        tensor: makes the torch tensor that ``f`` takes, or None where it takes numpy arrays.
    """

    def __init__(
        self,
        f: Callable[[Any], Any],
        bounds: np.ndarray,
        budget: int,
        deadline: Deadline | None = None,
        progress: Progress | None = None,
    ):
        self._f = f
        self.low, self.width = bounds[:, 0], bounds[:, 1] - bounds[:, 0]
        self.budget, self.evaluations = budget, 0
        self.tensor: Callable[[np.ndarray], Any] | None = None
        self._progress = progress or Silent()
        self._started, self._deadline = now(), deadline or Deadline()
        self._rows_per_call = FIRST_CALL
        self.n_outputs: int | None = None

    @property
    def d(self) -> int:
        """How many inputs there are."""
        return len(self.low)

    @property
    def left(self) -> int:
        """Rows that the budget still allows."""
        return self.budget - self.evaluations

    @property
    def seconds(self) -> float:
        """Time since the first question could be asked."""
        return now() - self._started

    def points(self, u: np.ndarray) -> np.ndarray:
        """Points of the box that stand for points of the unit cube."""
        points: np.ndarray = np.clip(self.low + u * self.width, self.low, self.low + self.width)
        return points

    def distance(self, u: np.ndarray, v: np.ndarray) -> np.ndarray:
        """v - u as the box resolves it: far from zero, numbers lie wide apart."""
        apart: np.ndarray = (self.points(v) - self.points(u)) / self.width
        return apart

    def __call__(self, u: np.ndarray) -> np.ndarray:
        """Values of shape ``(n, k)`` at the rows of ``u``.

        Raises:
            OutOfQueries: the rows do not fit the budget (none of them is asked).
            TimeIsOver: the time limit passed before the last row was answered.
            DataError: the answer cannot be used.
        """
        self.reserve(len(u))
        return self._in_parts(u, lambda x: self._checked(x, self._ask(x)))

    def reserve(self, rows: int) -> None:
        """Makes sure that so many rows fit the budget."""
        if rows > self.left:
            raise OutOfQueries

    def gradients(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values ``(n, k)`` and gradients ``(n, k, d)`` in the unit cube, by autograd."""
        self.reserve(len(u))
        both = self._in_parts(u, self._values_and_gradients)
        return both[:, :, 0], both[:, :, 1:] * self.width

    def _in_parts(self, u: np.ndarray, ask: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Asks in calls short enough for the clock to be read between them."""
        answers = []
        start = 0
        while start < len(u):
            self._deadline.check()
            part = self.points(u[start : start + self._rows_per_call])
            asked_at = time.perf_counter()
            self.evaluations += len(part)
            answers.append(ask(part))
            speed = len(part) / max(time.perf_counter() - asked_at, 1e-9)
            self._rows_per_call = int(np.clip(speed * SECONDS_PER_CALL, 1, LARGEST_CALL))
            start += len(part)
        return np.concatenate(answers)

    def report(self, message: str) -> None:
        """Tells the listener how much of the budget is spent."""
        self._progress.update(self.evaluations, self.budget, message)

    def _ask(self, x: np.ndarray) -> Any:
        try:
            with callers_settings():
                return self._f(x if self.tensor is None else self.tensor(x))
        except Exception as error:
            raise DataError(f"the function raised {type(error).__name__}: {error}") from error

    def _values_and_gradients(self, x: np.ndarray) -> np.ndarray:
        import torch

        assert self.tensor is not None
        rows = self.tensor(x).requires_grad_()
        with torch.enable_grad():
            answer = self._ask(rows)
            values = answer if answer.ndim == 2 else answer[:, None]
            slopes = [
                torch.autograd.grad(column.sum(), rows, retain_graph=True, allow_unused=True)[0]
                for column in values.unbind(dim=1)
            ]
        filled = [torch.zeros_like(rows) if s is None else s for s in slopes]
        gradients = torch.stack(filled, dim=1).double().numpy(force=True)
        _check_finite(gradients.reshape(len(x), -1), x, "the function's gradient")
        return np.concatenate([self._checked(x, answer)[:, :, None], gradients], axis=2)

    def _checked(self, x: np.ndarray, answer: Any) -> np.ndarray:
        """The answer as ``(n, k)`` finite doubles."""
        values = _as_doubles(answer)
        if values.ndim not in (1, 2) or len(values) != len(x) or values.size == 0:
            raise DataError(
                f"the function must answer {len(x)} rows with shape ({len(x)},) or ({len(x)}, k), "
                f"got shape {values.shape}"
            )
        values = values.reshape(len(x), -1)
        if self.n_outputs is None:
            self.n_outputs = values.shape[1]
        if values.shape[1] != self.n_outputs:
            raise DataError(f"the function gave {self.n_outputs} outputs at first and {values.shape[1]} later")
        _check_finite(values, x, "the function")
        return values


def _as_doubles(answer: Any) -> np.ndarray:
    if is_torch(answer):
        answer = answer.detach().cpu().numpy()
    check_unmasked("the function's answer", answer)
    try:
        values = np.asarray(answer)
        if values.dtype.kind not in "biuf":
            raise TypeError(f"dtype {values.dtype}")
        return values.astype(float)
    except (TypeError, ValueError) as error:
        raise DataError(f"the function must answer with real numbers, got {type(answer).__name__} ({error})") from None


def _check_finite(values: np.ndarray, x: np.ndarray, what: str) -> None:
    bad = np.flatnonzero(~np.isfinite(values).all(axis=1))
    if len(bad):
        worst = values[bad[0]][~np.isfinite(values[bad[0]])][0]
        place = ", ".join(f"{v:.6g}" for v in x[bad[0]])
        raise DataError(
            f"{what} is {worst} at ({place}); choose bounds on which it is finite, or "
            "give n_runs=500: then single runs may fail"
        )

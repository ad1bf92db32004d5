"""A simulator behind a counter: called in the form that it takes, in parallel, failures survived, answers kept."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from compsparse.checks import check_count, check_name_list, check_numbers
from compsparse.clock import Deadline
from compsparse.discovery.runs.store import AnswerStore
from compsparse.errors import ConfigError, DataError
from compsparse.progress import Progress, Silent
from compsparse.surroundings import callers_settings

_TRIED, _MOST_AT_ONCE, _SECONDS_AT_ONCE = 20, 4096, 1.0
"""Rows by which the form of a function is found out; rows of one call, and the seconds that it should take."""

CallForm = Callable[[Callable[..., Any], np.ndarray, Sequence[str]], Any]


class Simulator:
    """Answers to rows, NaN where a run failed.

    It takes functions of an array (rows, inputs), of a data frame, of one row, of a column for each input or of a
    number for each.

    Args:
        names: of the inputs.
        n_jobs: processes that run at once; -1 takes all cores.
        store: a file in which answers are kept: a row that was answered before is not asked again. Runs that raised
            are asked again.

    Attributes:
        n_asked, n_known, n_lost: runs asked now, answers from the store, and runs without an answer that is finite.
        problem: what the first failed run said.
    """

    def __init__(
        self, f: Callable[..., Any], names: Sequence[str], *, n_jobs: int = 1, store: str | Path | None = None
    ):
        self.f, self.names, self.n_jobs = f, check_name_list("names", names), check_jobs(n_jobs)
        self._store = None if store is None else AnswerStore(store, self.names)
        self._form: CallForm | None = None
        self._one_by_one = False  # once a call for several rows has failed: each failure would be run twice
        self.n_asked = self.n_known = self.n_lost = 0
        self.problem = ""

    def __call__(
        self, rows: np.ndarray, deadline: Deadline | None = None, progress: Progress | None = None
    ) -> np.ndarray:
        """(rows, outputs) answers.

        Raises:
            DataError: every run failed so far, or answers are of different lengths.
            TimeIsOver: the deadline passed; what was answered is in the store.
        """
        rows = check_numbers("rows", rows)
        if rows.ndim != 2 or rows.shape[1] != len(self.names):
            raise DataError(f"rows must have {len(self.names)} columns, got an array of shape {rows.shape}")
        answers: list[np.ndarray | None] = [None] * len(rows)
        if self._store is not None:
            answers = self._store.known(rows)
        self.n_known += sum(answer is not None for answer in answers)
        waiting = [i for i, answer in enumerate(answers) if answer is None]
        at_once = 1
        while waiting:
            (deadline or Deadline()).check()
            (progress or Silent()).update(len(rows) - len(waiting), len(rows), "running the simulator")
            now, started = waiting[: at_once * self.n_jobs], time.perf_counter()
            for i, answer in zip(now, self._answered(rows[now]), strict=True):
                answers[i] = answer
            done = [i for i in now if answers[i] is not None]
            if self._store is not None and done:
                self._store.keep(rows[done], [a for a in (answers[i] for i in done) if a is not None])
            waiting = waiting[len(now) :]
            speed = at_once / max(time.perf_counter() - started, 1e-6)
            at_once = int(np.clip(speed * _SECONDS_AT_ONCE, 1, min(4 * at_once, _MOST_AT_ONCE)))
        return self._whole(answers)

    def _answered(self, rows: np.ndarray) -> list[np.ndarray | None]:
        """Answers to rows that were not asked before; None where the run raised."""
        self.n_asked += len(rows)
        if self._form is None:
            return self._in_its_form(rows)
        parts = [part for part in np.array_split(rows, self.n_jobs) if len(part)]
        settings = (self.f, self._form, self.names, self._one_by_one)
        if len(parts) == 1:
            found = [_asked(rows, *settings)]
        else:
            from joblib import Parallel, delayed

            found = Parallel(n_jobs=self.n_jobs)(delayed(_asked)(part, *settings) for part in parts)
        for part in found:
            self._notice(part)
        return [answer for part in found for answer in part.answers]

    def _notice(self, part: _Answered) -> None:
        self.problem = self.problem or part.problem
        self._one_by_one = self._one_by_one or part.was_refused

    def _in_its_form(self, rows: np.ndarray) -> list[np.ndarray | None]:
        """The same where it is not known yet how the function takes its inputs."""
        problems = []
        for form in _forms_of(self.f):
            part = _asked(rows, self.f, form, self.names)
            if any(answer is not None for answer in part.answers):
                self._form = form
                self._notice(part)
                return part.answers
            problems.append(part.problem)
        self.problem = self.problem or next(filter(None, problems), "")
        if self.n_asked >= _TRIED and not self.n_known:
            raise DataError(f"the simulator failed in all of the first {self.n_asked} runs: {self.problem}")
        return [None] * len(rows)

    def _whole(self, answers: Sequence[np.ndarray | None]) -> np.ndarray:
        sizes = {len(answer) for answer in answers if answer is not None}
        if not sizes:
            raise DataError(f"the simulator failed in all of the {len(answers)} runs: {self.problem}")
        if len(sizes) > 1:
            raise DataError(f"the simulator gave {min(sizes)} outputs in some runs and {max(sizes)} in others")
        (k,) = sizes
        values = np.stack([np.full(k, np.nan) if answer is None else answer for answer in answers])
        bad = ~np.isfinite(values).all(1)
        self.n_lost += int(bad.sum())
        values[bad] = np.nan
        if bad.any() and not self.problem:
            self.problem = "an answer that is NaN or infinite"
        return values

    def close(self) -> None:
        """Closes the store."""
        if self._store is not None:
            self._store.close()


def check_jobs(n_jobs: Any) -> int:
    """How many processes; -1 is one a core."""
    if isinstance(n_jobs, int) and n_jobs == -1:
        from joblib import cpu_count

        return int(cpu_count())
    try:
        return check_count("n_jobs", n_jobs)
    except ConfigError as error:
        raise ConfigError(f"{error}; -1 takes all cores") from None


def needed_arguments(f: Callable[..., Any]) -> list[str]:
    """Names of the inputs that a function cannot be called without; empty where it does not say."""
    try:
        parameters = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):  # a function of C
        return []
    by_place = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [p.name for p in parameters if p.kind in by_place and p.default is p.empty]


# ---- forms of calls -----------------------------------------------------------------------------


def _forms_of(f: Callable[..., Any]) -> tuple[CallForm, ...]:
    return (_columns, _numbers) if len(needed_arguments(f)) > 1 else (_table, _frame, _row)


@dataclass(frozen=True)
class _Answered:
    """Answers to some rows, None where the function raised for the row alone; what it said first of such a row.

    Attributes:
        was_refused: whether it raised for several rows at once.
    """

    answers: list[np.ndarray | None]
    problem: str = ""
    was_refused: bool = False


def _asked(
    rows: np.ndarray, f: Callable[..., Any], form: CallForm, names: Sequence[str], one_by_one: bool = False
) -> _Answered:
    if len(rows) == 1 or not one_by_one:
        try:
            with callers_settings():
                return _Answered(list(_checked(form(f, rows, names), len(rows))))
        except Exception as error:
            first_line = (str(error).strip().splitlines() or [""])[0]
            if len(rows) == 1:
                return _Answered([None], f"{type(error).__name__}: {first_line}")
    alone = [_asked(rows[i : i + 1], f, form, names) for i in range(len(rows))]
    problem = next(filter(None, (one.problem for one in alone)), "")
    return _Answered([answer for one in alone for answer in one.answers], problem, was_refused=not one_by_one)


def _checked(answer: Any, n: int) -> np.ndarray:
    answer = answer.detach().cpu().numpy() if hasattr(answer, "detach") else answer
    values = np.asarray(answer)
    if values.dtype.kind not in "biuf" or values.ndim not in (1, 2) or len(values) != n:
        raise TypeError(f"expected one number, or one row of numbers, for each of {n} runs")
    found: np.ndarray = values.astype(float).reshape(n, -1)
    return found


def _table(f: Callable[..., Any], rows: np.ndarray, names: Sequence[str]) -> Any:
    return f(rows)


def _frame(f: Callable[..., Any], rows: np.ndarray, names: Sequence[str]) -> Any:
    import pandas

    return f(pandas.DataFrame(rows, columns=list(names)))


def _row(f: Callable[..., Any], rows: np.ndarray, names: Sequence[str]) -> Any:
    return [_one(f(row)) for row in rows]


def _columns(f: Callable[..., Any], rows: np.ndarray, names: Sequence[str]) -> Any:
    return f(*rows.T)


def _numbers(f: Callable[..., Any], rows: np.ndarray, names: Sequence[str]) -> Any:
    return [_one(f(*map(float, row))) for row in rows]


def _one(answer: Any) -> np.ndarray:
    """The answer of one run, as a row of numbers."""
    answer = answer.detach().cpu().numpy() if hasattr(answer, "detach") else answer
    values = np.atleast_1d(np.asarray(answer, dtype=float))
    if values.ndim != 1:
        raise TypeError("expected one number, or one row of numbers, from one run")
    return values

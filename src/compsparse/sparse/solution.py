"""What the solvers of sparse inference return: codes, and for every signal how good they are."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np


class SignalStatus(Enum):
    """How the search for one code ended; the value is the sentence a user reads."""

    CONVERGED = "the duality gap is within the tolerance"
    ITERATIONS = "the most iterations were taken; the gap says how good the code is"
    TIME_LIMIT = "the time limit was reached; the gap says how good the code is"


@dataclass(frozen=True)
class CodeSolution:
    """Codes with their certificates. Arrays have one entry per signal.

    Attributes:
        codes: (n_signals, n_atoms), an array, or a tensor where signals were tensors.
        objective: what was minimised, at the codes.
        gap: objective minus a lower bound on the least one, from a dual feasible point, in float64.
        relative_gap: the gap over the objective of the zero code (for basis pursuit over the objective).
        lam: the penalty that each code solves the Lasso for.
        iterations: steps of the solver.
    """

    codes: Any
    objective: np.ndarray
    gap: np.ndarray
    relative_gap: np.ndarray
    lam: np.ndarray = field(repr=False)
    status: tuple[SignalStatus, ...] = field(repr=False)
    iterations: np.ndarray = field(repr=False)
    seconds: float

    @property
    def support_sizes(self) -> np.ndarray:
        """How many entries of each code are not zero."""
        return np.asarray((self.codes != 0).sum(-1).tolist(), dtype=np.int64)

    @property
    def converged(self) -> bool:
        """Whether every signal's gap is within its tolerance."""
        return all(status is SignalStatus.CONVERGED for status in self.status)


@dataclass(frozen=True)
class PathSolution:
    """Codes (n_signals, n_lams, n_atoms) along falling penalties; other arrays are (n_signals, n_lams)."""

    lams: np.ndarray
    codes: np.ndarray = field(repr=False)
    objective: np.ndarray = field(repr=False)
    gap: np.ndarray = field(repr=False)
    relative_gap: np.ndarray
    seconds: float


@dataclass(frozen=True)
class Breakpoints:
    """The whole path of one signal: between two of its penalties the code is linear in the penalty.

    Attributes:
        lams: (n_breakpoints,), falling from the one above which the code is zero.
        codes: (n_breakpoints, n_atoms).
    """

    lams: np.ndarray
    codes: np.ndarray = field(repr=False)

    def code_at(self, lam: float) -> np.ndarray:
        """The code at any penalty on the path, by linear interpolation.

        Raises:
            ConfigError: the path ends above it.
        """
        from compsparse.errors import ConfigError

        if lam < self.lams[-1]:
            raise ConfigError(f"the path was followed down to lam = {self.lams[-1]:g}, not to {lam:g}")
        if lam >= self.lams[0]:
            return np.zeros(self.codes.shape[1])
        k = int(np.searchsorted(-self.lams, -lam, side="right"))  # lams[k - 1] > ... >= lam > lams[k]
        if k == len(self.lams):
            return self.codes[-1].copy()
        upper, lower = self.lams[k - 1], self.lams[k]
        share = (upper - lam) / (upper - lower)
        return (1 - share) * self.codes[k - 1] + share * self.codes[k]


def statuses(gap: np.ndarray, tol: np.ndarray, unfinished: np.ndarray) -> tuple[SignalStatus, ...]:
    """``unfinished``: signals that the time limit cut off."""
    late = SignalStatus.TIME_LIMIT, SignalStatus.ITERATIONS
    return tuple(
        SignalStatus.CONVERGED if good else late[0] if cut else late[1]
        for good, cut in zip(gap <= tol, unfinished, strict=True)
    )


@dataclass(frozen=True)
class GreedySolution:
    """Codes of orthogonal matching pursuit, with the norm of the residual and the number of atoms of each."""

    codes: np.ndarray
    residual: np.ndarray
    support_sizes: np.ndarray
    seconds: float

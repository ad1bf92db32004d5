r"""What the solvers of sparse inference return: codes, and for every signal how good they are.

How far a code can be from the best one is known from the code alone. For :math:`P(z) = \tfrac12 \|x - W z\|^2 +
\lambda \|z\|_1` the dual is :math:`D(\theta) = \tfrac12 \|x\|^2 - \tfrac12 \|x - \theta\|^2` over
:math:`|w_j^\top \theta| \le \lambda`. The residual, scaled into that set, is the dual point.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from compsparse.certificate import Certificate, Rigour
from compsparse.checks import brief, check_count, check_flag, check_number, check_numbers, row_text
from compsparse.errors import ConfigError, DataError


class SignalStatus(Enum):
    """How the search for one code ended; the value is the sentence a user reads."""

    CONVERGED = "the duality gap is within the tolerance"
    ITERATIONS = "the most iterations were taken; the gap says how good the code is"
    TIME_LIMIT = "the time limit was reached; the gap says how good the code is"


@dataclass(frozen=True, eq=False)
class CodeSolution:
    """Codes with their certificates. Arrays have one entry per signal.

    Attributes:
        codes: (n_signals, n_atoms), an array, or a tensor where signals were tensors.
        objective: what was minimised, at the codes.
        gap: objective minus a lower bound on the least one, from a dual feasible point, in float64.
        relative_gap: the gap over the objective of the zero code (for basis pursuit over the objective).
        lam: the penalty that each code solves the Lasso for.
        status: how the search for each code ended.
        iterations: steps of the solver.
        quantity: what the objective is, in words.

    >>> from compsparse.sparse import lasso
    >>> lasso(np.array([[3.0, -0.2]]), np.eye(2), lam=1.0)
    CodeSolution(1 code over 2 atoms, all converged, largest relative gap 0)
    >>> print(lasso(np.array([[3.0, -0.2]]), np.eye(2), lam=1.0).certificate(0))
    Lasso objective of row 1 (counted from 1): exactly 2.79 (rigorous: computed so that nothing was left out, in double
        precision; a dual feasible point made of the residual)
    """

    codes: Any
    objective: np.ndarray
    gap: np.ndarray
    relative_gap: np.ndarray
    lam: np.ndarray
    status: tuple[SignalStatus, ...]
    iterations: np.ndarray
    seconds: float
    quantity: str = "Lasso objective"

    def __repr__(self) -> str:
        n, n_atoms = self.codes.shape
        converged = sum(status is SignalStatus.CONVERGED for status in self.status)
        how = "all converged" if converged == n else f"{converged:,} converged"
        return f"CodeSolution({_counted(n, 'code')} over {n_atoms:,} atoms, {how}, {_largest(self.relative_gap)})"

    @property
    def support_sizes(self) -> np.ndarray:
        """How many entries of each code are not zero."""
        return np.asarray((self.codes != 0).sum(-1).tolist(), dtype=np.int64)

    @property
    def converged(self) -> bool:
        """Whether every signal's gap is within its tolerance."""
        return all(status is SignalStatus.CONVERGED for status in self.status)

    def certificate(self, i: int) -> Certificate:
        """Between which bounds the least objective of one signal lies."""
        i = check_count("the position of a signal", i, least=0, most=len(self.objective) - 1)
        return _certificate(f"{self.quantity} of {row_text(i)}", float(self.objective[i]), float(self.gap[i]))

    @property
    def worst(self) -> Certificate:
        """The certificate of the signal whose relative gap is the largest."""
        return self.certificate(*_place_of_largest(self.relative_gap))


@dataclass(frozen=True, eq=False)
class PathSolution:
    """Codes (n_signals, n_lams, n_atoms) along falling penalties; other arrays are (n_signals, n_lams)."""

    lams: np.ndarray
    codes: np.ndarray
    objective: np.ndarray
    gap: np.ndarray
    relative_gap: np.ndarray
    seconds: float

    def __repr__(self) -> str:
        n, n_lams, n_atoms = self.codes.shape
        size = f"{_counted(n, 'signal')} at {_counted(n_lams, 'penalty', 'penalties')} over {n_atoms:,} atoms"
        return f"PathSolution({size}, {_largest(self.relative_gap)})"

    def certificate(self, i: int, p: int) -> Certificate:
        """Between which bounds the least objective of one signal at one penalty lies."""
        i = check_count("the position of a signal", i, least=0, most=len(self.lams) - 1)
        p = check_count("the position of a penalty", p, least=0, most=self.lams.shape[1] - 1)
        quantity = f"Lasso objective at lam = {self.lams[i, p]:g} of {row_text(i)}"
        return _certificate(quantity, float(self.objective[i, p]), float(self.gap[i, p]))

    @property
    def worst(self) -> Certificate:
        """The certificate of the signal and penalty whose relative gap is the largest."""
        return self.certificate(*_place_of_largest(self.relative_gap))


@dataclass(frozen=True, eq=False)
class Breakpoints:
    """The whole path of one signal: between two of its penalties the code is linear in the penalty.

    Attributes:
        lams: (n_breakpoints,), falling from the one above which the code is zero.
        codes: (n_breakpoints, n_atoms).
    """

    lams: np.ndarray
    codes: np.ndarray

    def __repr__(self) -> str:
        breaks = _counted(len(self.lams), "breakpoint")
        return (
            f"Breakpoints({breaks} from lam = {self.lams[0]:.4g} to {self.lams[-1]:.4g}, {self.codes.shape[1]:,} atoms)"
        )

    def code_at(self, lam: float) -> np.ndarray:
        """The code at any penalty on the path, by linear interpolation.

        Raises:
            ConfigError: the path ends above it.
        """
        lam = check_number("lam", lam, least=0)
        if lam < self.lams[-1]:
            raise ConfigError(f"the path was followed down to lam = {self.lams[-1]:g}, not to {lam:g}")
        if lam >= self.lams[0]:
            return np.zeros(self.codes.shape[1])
        k = int(np.searchsorted(-self.lams, -lam, side="right"))  # lams[k - 1] > ... >= lam > lams[k]
        if k == len(self.lams):
            return np.array(self.codes[-1])
        upper, lower = self.lams[k - 1], self.lams[k]
        share = (upper - lam) / (upper - lower)
        return np.asarray((1 - share) * self.codes[k - 1] + share * self.codes[k])


@dataclass(frozen=True, eq=False)
class GreedySolution:
    """Codes of orthogonal matching pursuit, with the norm of the residual and the number of atoms of each."""

    codes: np.ndarray
    residual: np.ndarray
    support_sizes: np.ndarray
    seconds: float

    def __repr__(self) -> str:
        n, n_atoms = self.codes.shape
        size = f"{_counted(n, 'code')} of at most {self.support_sizes.max(initial=0)} of {n_atoms:,} atoms"
        return f"GreedySolution({size}, largest residual {self.residual.max(initial=0.0):.3g})"


def _counted(n: int, one: str, many: str = "") -> str:
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def _place_of_largest(gap: np.ndarray) -> list[int]:
    if not gap.size:
        raise ConfigError("there is no certificate of no signals")
    return [int(i) for i in np.unravel_index(int(np.argmax(gap)), gap.shape)]


def _largest(gap: np.ndarray) -> str:
    return f"largest relative gap {gap.max(initial=0.0):.1g}"


def _certificate(quantity: str, objective: float, gap: float) -> Certificate:
    """Nothing is known of a signal whose gap is infinite: its code does not meet the program's constraints."""
    if not np.isfinite(gap):
        return Certificate(
            quantity, objective, -np.inf, np.inf, Rigour.HEURISTIC, obtained="no feasible code was found"
        )
    obtained = "a dual feasible point made of the residual"
    return Certificate(quantity, objective, objective - gap, objective, Rigour.RIGOROUS, obtained=obtained)


def statuses(gap: np.ndarray, tol: np.ndarray, unfinished: np.ndarray) -> tuple[SignalStatus, ...]:
    """How each search ended; ``unfinished`` are the signals that the time limit cut off."""
    if (gap <= tol).all():
        return (SignalStatus.CONVERGED,) * len(gap)
    late = SignalStatus.TIME_LIMIT, SignalStatus.ITERATIONS
    return tuple(
        SignalStatus.CONVERGED if good else late[0] if cut else late[1]
        for good, cut in zip(gap <= tol, unfinished, strict=True)
    )


# ---- duality gaps ------------------------------------------------------------------------


def lasso_gap(X: Any, W: Any, codes: Any, lam: Any, positive: bool = False) -> tuple[Any, Any]:
    """Objective and gap of codes, in the scaling with 1/2, one per signal; arrays or tensors of float64.

    >>> objective, gap = lasso_gap(np.eye(2), np.eye(2), 0.9 * np.eye(2), np.full(2, 0.1))
    >>> bool(np.allclose(gap, 0)), objective
    (True, array([0.095, 0.095]))
    """
    if not all(type(value).__module__.startswith("torch") and hasattr(value, "ndim") for value in (X, W, codes)):
        X, W, codes = (check_numbers(name, v, finite=False) for name, v in (("X", X), ("W", W), ("codes", codes)))
        lam = check_numbers("lam", lam, finite=False)
    check_flag("positive", positive)
    if X.ndim != 2 or W.ndim != 2 or tuple(codes.shape) != (len(X), W.shape[1]) or X.shape[1] != W.shape[0]:
        shapes = f"{tuple(X.shape)}, {tuple(W.shape)} and {tuple(codes.shape)}"
        raise DataError(f"signals (n, d), a dictionary (d, m) and codes (n, m) belong together, got {shapes}")
    if not hasattr(lam, "shape") or tuple(lam.shape) not in ((), (1,), (len(X),)) or not W.shape[1]:
        raise DataError(f"lam must be a number or one for each of {len(X)} signals, got {brief(lam)}")
    residual = X - _synthesis(codes, W)
    correlation = residual @ W
    tiny = 1e-300
    if isinstance(X, np.ndarray):
        peak = correlation.max(1) if positive else np.maximum(correlation.max(1), -correlation.min(1))
    else:
        peak = correlation.amax(1) if positive else correlation.abs().amax(1)
    rr, xr = (residual * residual).sum(1), (X * residual).sum(1)
    most = lam / peak.clip(tiny, np.inf)
    # the best multiple of the residual is x.r / |r|^2, where that is feasible
    scale = (xr / rr.clip(tiny, np.inf)).clip(0 * most if positive else -most, most)
    objective = rr / 2 + lam * abs(codes).sum(1)
    gap = objective - scale * xr + scale * scale * rr / 2
    return objective, gap.clip(0, np.inf)


def _synthesis(codes: Any, W: Any) -> Any:
    """codes W', by way of their few entries if they are few."""
    if not isinstance(codes, np.ndarray) or codes.size < 10_000 or np.count_nonzero(codes) > 0.2 * codes.size:
        return codes @ W.T
    from scipy.sparse import csr_array

    return csr_array(codes) @ np.ascontiguousarray(W.T)


def pursuit_gap(
    X: np.ndarray, W: np.ndarray, codes: np.ndarray, theta: np.ndarray, noise: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Least norm and its gap for min |z|_1 s.t. |x - Wz| <= noise, from multipliers theta scaled to |W'theta| <= 1."""
    peak = np.abs(theta @ W).max(1)
    theta = theta / np.maximum(peak, 1)[:, None]
    objective = np.abs(codes).sum(1)
    dual = (X * theta).sum(1) - noise * np.linalg.norm(theta, axis=1)
    return objective, np.maximum(objective - np.maximum(dual, 0), 0)

r"""The sparsest code exactly, :math:`\min \|z\|_0`, and the best one of k atoms, by mixed-integer programs.

With an indicator :math:`u_j \in \{0, 1\}` per atom and :math:`|z_j| \le M_j u_j` both are linear if the residual
is measured by its largest entry or its sum; the residual's 2-norm is restored by least squares on the support.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from compsparse.certificate import Certificate, Rigour
from compsparse.checks import check_number, check_numbers, check_time_limit
from compsparse.errors import DataError
from compsparse.sparse.signals import check_n_atoms, check_signals, per_signal


class SearchStatus(Enum):
    """How an exact search ended; the value is the sentence a user reads."""

    OPTIMAL = "no better code exists within the bound on its entries"
    TIME_LIMIT = "the time limit was reached; the certificate says how good a code could still be"


_SIZE = "least number of entries of a code that explains the signal"


@dataclass(frozen=True)
class SparsestCode:
    """The sparsest code that was found.

    Attributes:
        code: (n_atoms,).
        size: how many entries are not zero.
        certificate: of the size; no code with entries up to ``largest`` has fewer than its lower bound.
        residual: largest entry of x - W z in absolute value.
        largest: bound on the entries of a code that the search assumed.
    """

    code: np.ndarray = field(repr=False)
    size: int
    certificate: Certificate
    residual: float
    largest: float
    status: SearchStatus
    seconds: float


@dataclass(frozen=True)
class BestSubset:
    """The best code of at most k entries that was found.

    Attributes:
        code: (n_atoms,).
        certificate: of the sum of the absolute entries of x - W z, which was minimised.
        largest: bound on the entries of a code that the search assumed.
    """

    code: np.ndarray = field(repr=False)
    certificate: Certificate
    largest: float
    status: SearchStatus
    seconds: float

    @property
    def error(self) -> float:
        """The sum of the absolute entries of x - W z."""
        return self.certificate.value


def sparsest(
    x: ArrayLike,
    W: ArrayLike,
    *,
    noise: float = 0.0,
    largest: float | None = None,
    time_limit: float | None = 60.0,
) -> SparsestCode:
    """The code with the fewest entries such that no entry of x - W z exceeds ``noise``.

    Args:
        x: one signal (d,).
        W: dictionary (d, n_atoms).
        largest: bound on the entries of the code; by default ten times the largest entry that basis pursuit or
            least squares gives.
        time_limit: seconds, after which the best code comes with its bound; None for as long as it takes.

    Raises:
        DataError: no code explains the signal that well.

    >>> sparsest([1.2, 1.6], np.array([[1.0, 0.0, 0.6], [0.0, 1.0, 0.8]])).size
    1
    """
    started = time.perf_counter()
    signal, dictionary = _checked(x, W, time_limit)
    eps = float(per_signal("noise", noise, 1, zero=True)[0])
    known = _feasible(signal, dictionary, eps)
    big = _bound(known, largest)
    n, slack = dictionary.shape[1], eps + 1e-9 * float(np.abs(signal).max())
    if np.abs(signal).max() <= slack:
        zero = Certificate.exact(_SIZE, 0.0, Rigour.PROVED, obtained="no code has fewer entries than none")
        seconds = time.perf_counter() - started
        return SparsestCode(
            np.zeros(n), 0, zero, residual=0.0, largest=big, status=SearchStatus.OPTIMAL, seconds=seconds
        )
    A = np.hstack([dictionary, np.zeros_like(dictionary)])
    cost = np.concatenate([np.zeros(n), np.ones(n)])
    result = _program(cost, [(A, signal - slack, signal + slack)], n, big, 0, time_limit)
    code = _polished(signal, dictionary, result, n, eps)
    fits = code is not None and np.abs(signal - dictionary @ code).max() <= eps + 1e-6 * np.abs(signal).max()
    code = code if code is not None and fits and np.count_nonzero(code) <= np.count_nonzero(known) else known
    size = int(np.count_nonzero(code))
    least = min(max(int(np.ceil((result.mip_dual_bound or 0) - 1e-6)), 1), size)
    status = SearchStatus.OPTIMAL if least == size else SearchStatus.TIME_LIMIT
    error = float(np.abs(signal - dictionary @ code).max())
    return SparsestCode(
        code,
        size,
        _certified(_SIZE, float(size), float(least), big),
        residual=error,
        largest=big,
        status=status,
        seconds=time.perf_counter() - started,
    )


def best_subset(
    x: ArrayLike, W: ArrayLike, k: int, *, largest: float | None = None, time_limit: float | None = 60.0
) -> BestSubset:
    """The code of at most k entries with the least sum of absolute errors.

    >>> best_subset([3.0, 0.1], np.eye(2), k=1).code
    array([3., 0.])
    """
    started = time.perf_counter()
    signal, dictionary = _checked(x, W, time_limit)
    d, n = dictionary.shape
    k = check_n_atoms("k", k, dictionary)
    known = _greedy(signal, dictionary, k)
    big = _bound(known, largest)
    # variables z, u, e with |x - Wz| <= e, sum u <= k
    blank, eye = np.zeros((d, n)), np.eye(d)
    rows = [
        (np.hstack([dictionary, blank, eye]), signal, np.inf),
        (np.hstack([dictionary, blank, -eye]), -np.inf, signal),
        (np.concatenate([np.zeros(n), np.ones(n), np.zeros(d)])[None], 0, k),
    ]
    cost = np.concatenate([np.zeros(2 * n), np.ones(d)])
    result = _program(cost, rows, n, big, d, time_limit)
    found = known
    if result.x is not None:
        code = np.where(result.x[n : 2 * n] > 0.5, result.x[:n], 0.0)
        found = min((known, code), key=lambda z: np.abs(signal - dictionary @ z).sum())
    error = float(np.abs(signal - dictionary @ found).sum())
    least = min(max(float(result.mip_dual_bound or 0.0), 0.0), error)
    done = error - least <= 1e-4 * max(float(np.abs(signal).sum()), error)
    status = SearchStatus.OPTIMAL if done else SearchStatus.TIME_LIMIT
    quantity = f"least sum of absolute errors of a code of at most {k} entries"
    return BestSubset(
        found,
        _certified(quantity, error, least, big),
        largest=big,
        status=status,
        seconds=time.perf_counter() - started,
    )


def _certified(quantity: str, value: float, lower: float, largest: float) -> Certificate:
    return Certificate(
        quantity,
        value,
        lower,
        value,
        Rigour.RIGOROUS,
        assumes=(f"no entry of a code is larger than {largest:g}", "the tolerances of HiGHS"),
        obtained="branch and bound over all supports",
    )


# ---- the program -------------------------------------------------------------------------


def _program(
    cost: np.ndarray, rows: list[tuple[Any, Any, Any]], n: int, big: float, extra: int, time_limit: float | None
) -> Any:
    """Variables z (free), u (0 or 1) and ``extra`` errors (>= 0), with |z| <= big u."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    eye, blank = np.eye(n), np.zeros((n, extra))
    linked = [
        LinearConstraint(np.hstack([eye, -big * eye, blank]), -np.inf, 0),
        LinearConstraint(np.hstack([eye, big * eye, blank]), 0, np.inf),
    ]
    lower = np.concatenate([np.full(n, -big), np.zeros(n + extra)])
    upper = np.concatenate([np.full(n, big), np.ones(n), np.full(extra, np.inf)])
    whole = np.concatenate([np.zeros(n), np.ones(n), np.zeros(extra)])
    return milp(
        cost,
        constraints=linked + [LinearConstraint(*row) for row in rows],
        bounds=Bounds(lower, upper),
        integrality=whole,
        options={"mip_rel_gap": 1e-6} | ({} if time_limit is None else {"time_limit": time_limit}),
    )


def _feasible(x: np.ndarray, W: np.ndarray, eps: float) -> np.ndarray:
    """The sparser of what matching pursuit and min |z|_1 s.t. |x - Wz| <= eps, a linear program, find."""
    from scipy.optimize import linprog

    from compsparse.sparse.pursuit import omp

    n, slack = W.shape[1], eps + 1e-9 * float(np.abs(x).max())
    both = np.hstack([W, -W])
    result = linprog(
        np.ones(2 * n), A_ub=np.vstack([both, -both]), b_ub=np.concatenate([x + slack, slack - x]), method="highs"
    )
    if result.x is None:
        raise DataError(f"no code brings every entry of x - Wz to within noise {eps:g}: give a larger noise")
    code: np.ndarray = result.x[:n] - result.x[n:]
    greedy: np.ndarray = omp(x[None], W, residual=slack).codes[0]
    fits = np.abs(x - W @ greedy).max() <= slack
    return greedy if fits and np.count_nonzero(greedy) <= np.count_nonzero(code) else code


def _greedy(x: np.ndarray, W: np.ndarray, k: int) -> np.ndarray:
    from compsparse.sparse.pursuit import omp

    return np.asarray(omp(x[None], W, n_nonzero=k).codes[0])


def _bound(code: np.ndarray, largest: float | None) -> float:
    if largest is None:
        return 10 * float(np.abs(code).max()) or 1.0
    return check_number("largest", largest, above=0)


def _polished(x: np.ndarray, W: np.ndarray, result: Any, n: int, eps: float) -> np.ndarray | None:
    """Least squares on the support, which removes what the program's tolerances left; as found if that is worse."""
    if result.x is None:
        return None
    code = np.where(result.x[n : 2 * n] > 0.5, result.x[:n], 0.0)
    support = np.flatnonzero(code)
    squares = np.zeros(n)
    squares[support] = np.linalg.lstsq(W[:, support], x, rcond=None)[0]
    return squares if np.abs(x - W @ squares).max() <= max(eps, 1e-9 * float(np.abs(x).max())) else code


def _checked(x: ArrayLike, W: ArrayLike, time_limit: float | None) -> tuple[np.ndarray, np.ndarray]:
    check_time_limit(time_limit)
    one = check_numbers("x", x, finite=False)
    if one.ndim != 1:
        raise DataError(f"x must be one signal (d,), got shape {one.shape}")
    signals, dictionary = check_signals(one[None], W)
    return signals[0], dictionary

r"""The sparsest code exactly, :math:`\min \|z\|_0`, and the best one of k atoms, by mixed-integer programs.

With an indicator :math:`u_j \in \{0, 1\}` per atom and :math:`|z_j| \le M_j u_j` both are linear if the residual
is measured by its largest entry or its sum. Where there are few enough supports they are looked at one by one, which
needs no bound M; where not, the answer holds within the bound, and its status and certificate say so.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from compsparse.certificate import Certificate, Rigour
from compsparse.checks import check_number, check_numbers, check_time_limit
from compsparse.clock import now
from compsparse.errors import DataError
from compsparse.sparse.pursuit import omp
from compsparse.sparse.signals import check_n_atoms, check_signals, per_signal
from compsparse.sparse.supports import code_on, entry_bound, residual_of, rule_out, slack_of


class SearchStatus(Enum):
    """How an exact search ended; the value is the sentence a user reads."""

    OPTIMAL = "no better code exists"
    OPTIMAL_IN_BOX = (
        "no better code exists whose entries are at most `largest`; one with larger entries was not ruled out"
    )
    UNPROVED = "rounding kept the search from a proof; the certificate says how good a code could still be"
    TIME_LIMIT = "the time limit was reached; the certificate says how good a code could still be"


_SIZE = "least number of entries of a code that explains the signal"
_REWEIGHTED = 6
_LARGEST_BOX = 1e3  # times the first guess: the tolerances of HiGHS are lost in larger ones
_DOUBLE = ("entries are not so large that 1e-9 of the signal is lost in double precision",)


@dataclass(frozen=True, eq=False)
class SparsestCode:
    """The sparsest code that was found.

    Attributes:
        code: (n_atoms,).
        size: how many entries are not zero.
        certificate: of the size; what it assumes says whether a bound on the entries is among that.
        residual: largest entry of x - W z in absolute value, in extended precision.
        largest: bound on the entries of a code that the search assumed; infinite where it assumed none.
    """

    code: np.ndarray
    size: int
    certificate: Certificate
    residual: float
    largest: float
    status: SearchStatus
    seconds: float

    def __repr__(self) -> str:
        sure = f"at least {self.certificate.lower:g} needed, residual {self.residual:.1g}"
        return f"SparsestCode({self.size} of {len(self.code):,} entries, {sure}; {self.status.value})"


@dataclass(frozen=True, eq=False)
class BestSubset:
    """The best code of at most k entries that was found.

    Attributes:
        code: (n_atoms,).
        certificate: of the sum of the absolute entries of x - W z, which was minimised.
        largest: bound on the entries of a code in the search; it follows from the data unless the status says so.
    """

    code: np.ndarray
    certificate: Certificate
    largest: float
    status: SearchStatus
    seconds: float

    def __repr__(self) -> str:
        used = f"{np.count_nonzero(self.code)} of {len(self.code):,} entries"
        return f"BestSubset({used}, error {self.error:.4g}, at least {self.certificate.lower:.4g}; {self.status.value})"

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
    time_limit: float | None = None,
) -> SparsestCode:
    """The code with the fewest entries such that no entry of x - W z exceeds ``noise``.

    Every support of fewer columns is ruled out by its least residual, as long as there are at most two million; beyond
    that a mixed-integer program searches the codes whose entries are at most ``largest``, and the status says so. An
    error of 1e-9 of the signal's largest entry counts as rounding.

    Args:
        x: one signal (d,).
        W: dictionary (d, n_atoms); columns may repeat.
        largest: asks for codes with entries up to this only; by default any, and in the mixed-integer program ten
            times the largest entry that basis pursuit or least squares gives.
        time_limit: seconds, after which the best code comes with its bound; None for as long as it takes.

    Raises:
        DataError: no code explains the signal that well, or a column is zero.

    >>> sparsest([1.2, 1.6], np.array([[1.0, 0.0, 0.6], [0.0, 1.0, 0.8]])).size
    1
    """
    started = now()
    signal, dictionary = _checked(x, W, time_limit)
    eps = float(per_signal("noise", noise, 1, zero=True)[0])
    box = math.inf if largest is None else check_number("largest", largest, above=0)
    search = _Search(signal, dictionary, eps, slack_of(signal, eps), started, started + (time_limit or math.inf))
    if np.abs(signal).max() <= search.slack:
        zero = Certificate.exact(_SIZE, 0.0, Rigour.PROVED, obtained="no code has fewer entries than none")
        return search.solution(np.zeros(dictionary.shape[1]), zero, box, SearchStatus.OPTIMAL)
    known = _feasible(signal, dictionary, eps, search.slack, search.deadline)
    if largest is not None:
        return search.by_program(known, box, 0)
    ruled = rule_out(signal, dictionary, search.slack, int(np.count_nonzero(known)), search.deadline)
    code = known if ruled.code is None else ruled.code
    if ruled.least == np.count_nonzero(code):
        return search.proved(code)
    return search.by_program(known, 10 * float(np.abs(known).max()), ruled.least)


@dataclass(frozen=True, eq=False)
class _Search:
    x: np.ndarray
    W: np.ndarray
    noise: float
    slack: float
    started: float
    deadline: float

    def by_program(self, known: np.ndarray, box: float, least: int) -> SparsestCode:
        """The mixed-integer program over codes in the box; ``least`` entries are needed in any case."""
        x, W, n = self.x, self.W, self.W.shape[1]
        rows = [(np.hstack([W, np.zeros_like(W)]), x - self.slack, x + self.slack)]
        cost = np.concatenate([np.zeros(n), np.ones(n)])
        result = _program(cost, rows, n, box, 0, self.deadline)
        found: list[np.ndarray | None] = [known]
        if result.x is not None:
            chosen = result.x[n:] > 0.5
            found += [code_on(x, W, np.flatnonzero(chosen), self.slack), np.where(chosen, result.x[:n], 0.0)]
        code = self._sparsest_in(box, found)
        size = int(np.count_nonzero(code))
        bound = min(max(math.ceil((result.mip_dual_bound or 0) - 1e-6), least), size)
        late = SearchStatus.TIME_LIMIT if result.status == 1 else SearchStatus.UNPROVED
        if size == least:
            return self.proved(code)
        status = SearchStatus.OPTIMAL_IN_BOX if bound == size else late
        return self.solution(code, _certified(_SIZE, float(size), float(bound), box), box, status)

    def _sparsest_in(self, box: float, found: list[np.ndarray | None]) -> np.ndarray:
        """The sparsest code in the box, of those whose residual is within the slack."""
        inside = [code for code in found if code is not None and np.abs(code).max() <= box * (1 + 1e-6)]
        good = [code for code in inside if residual_of(self.x, self.W, code) <= self.slack]
        if not good:
            raise DataError(f"no code with entries up to {box:g} was found that explains the signal: give a larger one")
        return min(good, key=np.count_nonzero)

    def proved(self, code: np.ndarray) -> SparsestCode:
        """A code that no support of fewer columns can replace."""
        obtained = "the least residual of every support of fewer columns"
        size = float(np.count_nonzero(code))
        exact = Certificate.exact(_SIZE, size, Rigour.RIGOROUS, assumes=_DOUBLE, obtained=obtained)
        return self.solution(code, exact, math.inf, SearchStatus.OPTIMAL)

    def solution(self, code: np.ndarray, certificate: Certificate, box: float, status: SearchStatus) -> SparsestCode:
        """What was found, with its residual computed anew."""
        return SparsestCode(
            code,
            int(np.count_nonzero(code)),
            certificate,
            residual=residual_of(self.x, self.W, code),
            largest=box,
            status=status,
            seconds=now() - self.started,
        )


def best_subset(
    x: ArrayLike, W: ArrayLike, k: int, *, largest: float | None = None, time_limit: float | None = None
) -> BestSubset:
    """The code of at most k entries with the least sum of absolute errors.

    >>> best_subset([3.0, 0.1], np.eye(2), k=1).code
    array([3., 0.])
    """
    started = now()
    signal, dictionary = _checked(x, W, time_limit)
    deadline = started + (time_limit or math.inf)
    d, n = dictionary.shape
    k = check_n_atoms("k", k, dictionary)
    known = np.asarray(omp(signal[None], dictionary, n_nonzero=k).codes[0])
    big, follows = _box_of_subset(signal, dictionary, k, known, largest, deadline)
    # variables z, u, e with |x - Wz| <= e, sum u <= k
    blank, eye = np.zeros((d, n)), np.eye(d)
    rows = [
        (np.hstack([dictionary, blank, eye]), signal, np.inf),
        (np.hstack([dictionary, blank, -eye]), -np.inf, signal),
        (np.concatenate([np.zeros(n), np.ones(n), np.zeros(d)])[None], 0, k),
    ]
    cost = np.concatenate([np.zeros(2 * n), np.ones(d)])
    result = _program(cost, rows, n, big, d, deadline)
    found = known
    if result.x is not None:
        code = np.where(result.x[n : 2 * n] > 0.5, result.x[:n], 0.0)
        found = min((known, code), key=lambda z: np.abs(signal - dictionary @ z).sum())
    error = float(np.abs(signal - dictionary @ found).sum())
    least = min(max(float(result.mip_dual_bound or 0.0), 0.0), error)
    done = error - least <= 1e-4 * max(float(np.abs(signal).sum()), error)
    late = SearchStatus.TIME_LIMIT if result.status == 1 else SearchStatus.UNPROVED
    status = (SearchStatus.OPTIMAL if follows else SearchStatus.OPTIMAL_IN_BOX) if done else late
    quantity = f"least sum of absolute errors of a code of at most {k} entries"
    return BestSubset(
        found,
        _certified(quantity, error, least, None if follows else big),
        largest=big,
        status=status,
        seconds=now() - started,
    )


def _certified(quantity: str, value: float, lower: float, box: float | None) -> Certificate:
    assumed = () if box is None else (f"no entry of a code is larger than {box:g}",)
    return Certificate(
        quantity,
        value,
        lower,
        value,
        Rigour.RIGOROUS,
        assumes=(*assumed, "the tolerances of HiGHS"),
        obtained="branch and bound over all supports",
    )


# ---- the program -------------------------------------------------------------------------


def _program(
    cost: np.ndarray, rows: list[tuple[Any, Any, Any]], n: int, big: float, extra: int, deadline: float
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
        options={"mip_rel_gap": 1e-6} | _limit(deadline),
    )


def _limit(deadline: float) -> dict[str, float]:
    """The option of HiGHS that says how much time is left."""
    return {} if deadline == math.inf else {"time_limit": max(deadline - now(), 0.01)}


def _feasible(x: np.ndarray, W: np.ndarray, noise: float, slack: float, deadline: float) -> np.ndarray:
    """The sparsest of what matching pursuit, reweighted l1 and least squares find."""
    supports = [np.flatnonzero(omp(x[None], W, residual=slack).codes[0]), *_supports_by_l1(x, W, slack, deadline)]
    for support in sorted([*supports, np.arange(W.shape[1])], key=len):
        code = code_on(x, W, support, slack)
        if code is not None:
            return code
    raise DataError(f"no code brings every entry of x - Wz to within noise {noise:g}: give a larger noise")


def _supports_by_l1(x: np.ndarray, W: np.ndarray, slack: float, deadline: float) -> Iterator[np.ndarray]:
    """Supports of min sum w_j |z_j| s.t. |x - Wz| <= slack, weights 1, then 1 / |z_j| (Candes, Wakin, Boyd 2008)."""
    from scipy.optimize import linprog

    n, scale = W.shape[1], float(np.abs(x).max())
    both, weights = np.hstack([W, -W]), np.ones(n)
    bounds = np.concatenate([x + slack, slack - x]) / scale
    for _ in range(_REWEIGHTED):
        if now() > deadline:
            return
        rows, options = np.vstack([both, -both]), _limit(deadline)
        result = linprog(np.tile(weights, 2), A_ub=rows, b_ub=bounds, method="highs", options=options)
        if result.x is None or result.status != 0:
            return
        sizes = np.abs(result.x[:n] - result.x[n:])
        yield np.flatnonzero(sizes > 1e-9 * sizes.max())
        weights = 0.1 * sizes.max() / (sizes + 0.1 * sizes.max())


def _box_of_subset(
    x: np.ndarray, W: np.ndarray, k: int, known: np.ndarray, largest: float | None, deadline: float
) -> tuple[float, bool]:
    """A bound on the entries, and whether it follows from the data.

    A best code is as good as the known one, so that |Wz|_1 <= |x|_1 + |x - W known|_1, and |.|_2 <= |.|_1.
    """
    if largest is not None:
        return check_number("largest", largest, above=0), False
    guess = 10 * float(np.abs(known).max()) or 1.0
    proved = entry_bound(W, k, float(np.abs(x).sum() + np.abs(x - W @ known).sum()), deadline)
    return (max(guess, proved), True) if proved <= _LARGEST_BOX * guess else (guess, False)


def _checked(x: ArrayLike, W: ArrayLike, time_limit: float | None) -> tuple[np.ndarray, np.ndarray]:
    check_time_limit(time_limit)
    one = check_numbers("x", x, finite=False)
    if one.ndim != 1:
        raise DataError(f"x must be one signal (d,), got shape {one.shape}")
    signals, dictionary = check_signals(one[None], W)
    return signals[0], dictionary

"""No certificate of memorisation is false, however close to degenerate the data are.

Each is held against programs that share nothing with the solver: exact rational arithmetic for what a network does at
the data and, on a line, for the least cost itself; for a few points in more dimensions a cone program over all 2^n
patterns, whose own answers are turned into bounds. A seeded sample runs with the tests; ``make fuzz`` runs 10,000.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product

import clarabel
import numpy as np
import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from scipy import sparse

from compsparse.certificate import Rigour
from compsparse.errors import DataError
from compsparse.sparse.memorisation import MemoriseStatus, memorise

_PER_CHUNK = 20
_CHUNKS, _ALL_CHUNKS = 5, 250


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "chunk" in metafunc.fixturenames:
        everything = metafunc.config.getoption("--all-cases", default=False)
        metafunc.parametrize("chunk", range(_ALL_CHUNKS if everything else _CHUNKS))


@st.composite
def near_degenerate(draw: st.DrawFn, largest_n: int, largest_d: int) -> tuple[np.ndarray, np.ndarray]:
    """Points some of which nearly coincide, lie nearly on a line, on a grid, far from the origin or in odd units."""
    n, d = draw(st.integers(2, largest_n)), draw(st.integers(1, largest_d))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(["scattered", "grid", "line", "repeated"]))
    X = rng.normal(size=(n, d))
    if kind == "grid":
        X = rng.integers(-2, 3, size=(n, d)).astype(float)
    if kind == "line":
        X = rng.normal(size=(n, 1)) * rng.normal(size=d)
    if kind == "repeated":
        X[rng.integers(n)] = X[rng.integers(n)]
    for _ in range(draw(st.integers(0, 2))):
        apart = 10.0 ** -draw(st.integers(3, 15))
        X[rng.integers(n)] = X[rng.integers(n)] + apart * rng.normal(size=d)
    X = X * 10.0 ** draw(st.integers(-8, 8)) + draw(st.sampled_from([0.0, 0.0, 1.0, 1e5]))
    y = rng.integers(-2, 3, size=n).astype(float) if draw(st.booleans()) else rng.normal(size=n)
    return X, y * 10.0 ** draw(st.sampled_from([0, 0, -6, 6]))


def fractions(values: np.ndarray) -> list[Fraction]:
    return [Fraction(float(v)) for v in np.ravel(values)]


def exact_errors(net, X: np.ndarray, y: np.ndarray) -> list[Fraction]:
    """f(x_i) - y_i without rounding."""
    neurons = [fractions(theta) for theta in net.theta]
    z = fractions(net.z)
    errors = []
    for row, label in zip(X, fractions(y), strict=True):
        point = [*fractions(row), Fraction(1)]
        total = Fraction(float(net.constant)) - label
        for theta, coefficient in zip(neurons, z, strict=True):
            total += coefficient * max(sum(a * b for a, b in zip(theta, point, strict=True)), 0)
        errors.append(total)
    return errors


def least_cost_on_a_line(x: np.ndarray, y: np.ndarray) -> Fraction:
    """max(TV, (TV + |s_1 + s_last|) / 2) of the slopes, for a free bias, in rational arithmetic."""
    points = sorted({*zip(fractions(x), fractions(y), strict=True)})
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in pairwise(points)]
    if not slopes:
        return Fraction(0)
    variation = sum((abs(b - a) for a, b in pairwise(slopes)), Fraction(0))
    return max(variation, (variation + abs(slopes[0] + slopes[-1])) / 2)


def memorised(X: np.ndarray, y: np.ndarray, bias: str):
    labels = {}
    for row, label in zip(map(tuple, X), y, strict=True):
        labels.setdefault(row, set()).add(label)
    if max(map(len, labels.values())) == 1:
        return memorise(X, y, bias=bias)
    with pytest.raises(DataError, match="same point with two labels"):
        memorise(X, y, bias=bias)
    return None


def check_words(net, X: np.ndarray, y: np.ndarray) -> None:
    """What the record says of the network is what the network does."""
    worst = max(abs(e) for e in exact_errors(net, X, y))
    assert worst <= Fraction(net.residual)
    size = np.ptp(y) or np.abs(y).max()
    if net.status.is_solved:
        assert net.residual <= 1e-8 * size
    if net.status is MemoriseStatus.GAP:
        assert net.gap <= 1e-9
    if net.certificate.rigour is Rigour.RIGOROUS:
        assert net.certificate.lower <= net.certificate.upper * (1 + 1e-12)


def run(check, chunk: int) -> None:
    seed(chunk)(
        settings(max_examples=_PER_CHUNK, database=None, deadline=None, suppress_health_check=list(HealthCheck))(check)
    )()


def test_on_a_line_the_exact_least_cost_lies_between_the_bounds(chunk):
    @given(near_degenerate(7, 1))
    def check(case):
        X, y = case
        net = memorised(X, y, "free")
        if net is None:
            return
        check_words(net, X, y)
        if net.certificate.holds:
            least = least_cost_on_a_line(X[:, 0], y)
            assert Fraction(net.certificate.lower) <= least
            assert net.certificate.upper == np.inf or least <= Fraction(net.certificate.upper)

    run(check, chunk)


def test_in_the_plane_and_in_space_no_bound_contradicts_a_slow_program(chunk):
    @given(near_degenerate(6, 3))
    def check(case):
        X, y = case
        net = memorised(X, y, "penalised")
        if net is None:
            return
        check_words(net, X, y)
        if net.certificate.holds:
            lower, upper = slow_bounds(X, y)
            assert net.certificate.lower <= upper * (1 + 1e-9)
            assert net.certificate.upper >= lower * (1 - 1e-6)

    run(check, chunk + 1_000_000)


# ---- the slow program --------------------------------------------------------------------


def slow_bounds(X: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Bounds on the least cost from a cone program over all patterns, possible or not, as far as it can be solved."""
    points = np.column_stack([X, np.ones(len(X))])
    patterns = [np.array(p) for p in product([False, True], repeat=len(X)) if any(p)]
    u, lam = _solved(points, y, patterns)
    return _from_multipliers(points, y, lam, patterns), _from_network(X, y, u, patterns)


def _solved(points: np.ndarray, y: np.ndarray, patterns: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    n, p = points.shape
    scale = np.abs(points).max(0)
    Z = points / np.where(scale > 0, scale, 1.0)
    blocks = [(pattern, sign) for pattern in patterns for sign in (1, -1)]
    fits, sides, norms = [], [], []
    for pattern, sign in blocks:
        fits.append(np.column_stack([np.zeros(n), sign * pattern[:, None] * Z]))
        sides.append(np.column_stack([np.zeros(n), -np.where(pattern, 1.0, -1.0)[:, None] * Z]))
        norms.append(-np.diag([1.0, *(1 / np.where(scale > 0, scale, 1.0))]))
    A = sparse.vstack([np.concatenate(fits, axis=1), sparse.block_diag(sides), sparse.block_diag(norms)], format="csc")
    size = float(np.abs(y).max()) or 1.0
    b = np.concatenate([y / size, np.zeros(A.shape[0] - n)])
    cones = [clarabel.ZeroConeT(n), clarabel.NonnegativeConeT(n * len(blocks))]
    cones += [clarabel.SecondOrderConeT(p + 1)] * len(blocks)
    q = np.tile([1.0, *np.zeros(p)], len(blocks))
    options = clarabel.DefaultSettings()
    options.verbose = False
    answer = clarabel.DefaultSolver(sparse.csc_matrix((len(q), len(q))), q, A, b, cones, options).solve()
    u = np.array(answer.x).reshape(len(blocks), p + 1)[:, 1:] / np.where(scale > 0, scale, 1.0)
    return size * u, -np.array(answer.z)[:n]


def _from_network(X: np.ndarray, y: np.ndarray, u: np.ndarray, patterns: list[np.ndarray]) -> float:
    """The cost of the network, and of mending what it leaves by straight lines along a random direction."""
    if not np.isfinite(u).all():
        u = np.zeros_like(u)
    signs = np.tile([1.0, -1.0], len(patterns))

    class Network:
        theta, z, constant = u, signs, 0.0

    errors = exact_errors(Network, X, y)
    line = fractions(np.random.default_rng(5).normal(size=X.shape[1]))
    at = [sum(a * b for a, b in zip(line, fractions(row), strict=True)) for row in X]
    ordered = sorted(dict(zip(at, errors, strict=True)).items())
    turns, last = [], Fraction(0)
    for (a, e), (b, f) in pairwise(ordered):
        slope = (f - e) / (b - a)
        turns.append((abs(slope - last), a))
        last = slope
    length = float(np.linalg.norm([float(a) for a in line]))
    mended = sum(float(turn) * float(np.hypot(length, float(t))) for turn, t in turns) + abs(float(ordered[0][1]))
    return float(np.linalg.norm(u, axis=1).sum()) + mended


def _from_multipliers(points: np.ndarray, y: np.ndarray, lam: np.ndarray, patterns: list[np.ndarray]) -> float:
    """lam . y over the largest norm of sum_{i in s} lam_i x~_i, which no price in the pattern s exceeds."""
    if not np.isfinite(lam).all():
        return 0.0
    most = max(float(np.linalg.norm((pattern * lam) @ points)) for pattern in patterns)
    return float(lam @ y) / max(most, 1e-300) if most > 0 else 0.0

"""Memorisation by few neurons, by linear features, and the geometry of the cells that memorisation chooses from."""

from __future__ import annotations

import math

import numpy as np

from compsparse.claims.claim import Profile
from compsparse.claims.declared import Measured
from compsparse.claims.seeds import FIRST_SEED
from compsparse.claims.shapes import each, figure_of, seen
from compsparse.progress import Progress
from compsparse.sparse import coherence, memorise
from compsparse.sparse.memorisation.cells import enumerate_cells

# ---- n/d neurons -----------------------------------------------------------------------------------


def n_over_d_neurons(profile: Profile, progress: Progress) -> Measured:
    """Networks of thresholds (Baum 1988) and of ReLUs (Bubeck et al. 2020) through points in general position."""
    sizes = ((40, 2), (40, 4), (160, 8), (160, 16)) if profile == "quick" else ((40, 2), (160, 8), (640, 16), (640, 32))
    values: dict[str, float] = {}
    points = []
    for n, d in each(sizes, progress, "n={}, d={}"):
        rng = np.random.default_rng([n, d, FIRST_SEED])
        X, y, side = rng.standard_normal((n, d)), rng.standard_normal(n), rng.integers(0, 2, n)
        where, smooth, sharp = f"n={n}, d={d}", _relu_slabs(X, y), _threshold_slabs(X, side)
        values |= {f"error of ReLUs, {where}": float(np.abs(smooth(X) - y).max())}
        values |= {f"errors of thresholds, {where}": float((sharp(X) != side).mean())}
        values |= {f"ReLUs times d over n, {where}": smooth.n_units * d / n}
        values |= {f"thresholds times d over n, {where}": sharp.n_units * d / n}
        points += [(d, smooth.n_units / n, "ReLU"), (d, sharp.n_units / n, "threshold")]
        if d == 2:
            least = memorise(X, y, random_state=0, time_limit=None)
            values["neurons of the least norm over n"] = least.n_neurons / n
            values["norm over the least norm"] = smooth.norm / least.value
    figure = figure_of("Neurons through n points", points, "d", "neurons over n", "unit", mark="points", log_x=True)
    also = seen(values, "neurons of the least norm over n", "norm over the least norm")
    return Measured(values, (figure,), also)


class _Slabs:
    """A sum over groups of points of what a slab around the hyperplane of the group answers."""

    def __init__(self, W: np.ndarray, b: np.ndarray, c: np.ndarray, relu: bool):
        self.W, self.b, self.c, self.relu = W, b, c, relu

    @property
    def n_units(self) -> int:
        return len(self.b)

    @property
    def norm(self) -> float:
        """The path norm, which a memorising network of least norm has least of."""
        return float(np.abs(self.c) @ np.hypot(np.linalg.norm(self.W, axis=1), self.b))

    def __call__(self, X: np.ndarray) -> np.ndarray:
        z = X @ self.W.T + self.b
        answers: np.ndarray = (np.maximum(z, 0) if self.relu else z > 0) @ self.c
        return answers


def _groups(X: np.ndarray) -> list[np.ndarray]:
    """The points in groups of d, the last of those that are left."""
    return [np.arange(i, min(i + X.shape[1], len(X))) for i in range(0, len(X), X.shape[1])]


def _slab(X: np.ndarray, group: np.ndarray) -> tuple[np.ndarray, float]:
    """A hyperplane w x = 1 through a group, and half the distance from 1 of the nearest other point."""
    w = np.linalg.lstsq(X[group], np.ones(len(group)), rcond=None)[0]
    others = np.delete(X @ w, group)
    return w, float(np.abs(others - 1).min()) / 2 if len(others) else 0.5


def _threshold_slabs(X: np.ndarray, side: np.ndarray) -> _Slabs:
    """Two thresholds a group of d points of the rarer class."""
    rarer = int(side.mean() <= 0.5)
    mine = np.flatnonzero(side == rarer)
    order = np.concatenate([mine, np.flatnonzero(side != rarer)])
    W, b, c = list[np.ndarray](), list[float](), list[float]()
    for group in _groups(X[mine]):
        w, half = _slab(X[order], group)
        W, b, c = [*W, w, w], [*b, half - 1, -half - 1], [*c, 1.0, -1.0]
    slabs = _Slabs(np.array(W), np.array(b), np.array(c), relu=False)
    if rarer:
        return slabs
    return _Slabs(np.vstack([slabs.W, 0 * X[:1]]), np.append(slabs.b, 1.0), np.append(-slabs.c, 1.0), relu=False)


def _relu_slabs(X: np.ndarray, y: np.ndarray) -> _Slabs:
    """Four ReLUs a group of d points: two pairs, each the derivative of a ReLU along v, whose difference is v x there.

    Of (relu(z + delta v x) - relu(z)) / delta, with z = w x - 1 + half or - half, nothing is left but v x where z > 0.
    """
    W, b, c = list[np.ndarray](), list[float](), list[float]()
    for group in _groups(X):
        w, half = _slab(X, group)
        v = np.linalg.lstsq(X[group], y[group], rcond=None)[0]
        delta = half / (2 * np.abs(X @ v).max())
        for shift, sign in ((half, 1.0), (-half, -1.0)):
            W, b = [*W, w + delta * v, w], [*b, shift - 1, shift - 1]
            c += [sign / delta, -sign / delta]
    return _Slabs(np.array(W), np.array(b), np.array(c), relu=True)


# ---- random features -------------------------------------------------------------------------------


def linear_regime(profile: Profile, progress: Progress) -> Measured:
    """Networks linearised at random first weights: the least width that fits n random values, and what it is worth."""
    n, dims, n_seeds = (120, (4, 8, 12), 8) if profile == "quick" else (480, (8, 16, 32), 8)
    needed: dict[int, list[float]] = {d: [] for d in dims}
    worth: dict[str, list[float]] = {"test error at that width": [], "test error of 16 times that width": []}
    for seed, d in each([(s, d) for s in range(n_seeds) for d in dims], progress, "seed {}, d={}"):
        rng = np.random.default_rng([FIRST_SEED + seed, d])
        X = rng.standard_normal((n, d))
        widths = range(math.ceil(0.8 * n / d), math.ceil(2 * n / d) + 1)
        W = rng.standard_normal((16 * widths[-1], d))
        y = rng.standard_normal(n)
        fits = (m for m in widths if _unfitted(_tangents(X, W[:m]), y) <= 1e-6)
        found = next(fits, math.inf)
        needed[d].append(found * d / n)
        if math.isfinite(found):
            teacher = rng.standard_normal((3, d)) / math.sqrt(d)
            fresh = rng.standard_normal((1000, d))
            for name, m in zip(worth, (int(found), 16 * int(found)), strict=True):
                worth[name].append(_test_error(X, fresh, W[:m], teacher))
    values = {f"least width times d over n, d={d}": np.array(v) for d, v in needed.items()}
    figure = figure_of("Width at which linear features fit n values", needed.items(), "d", "width times d over n")
    values |= {name: np.array(v) for name, v in worth.items()}
    return Measured(values | {"that of the mean": 1.0}, (figure,), seen(worth, *worth))


def _tangents(X: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Derivatives of a network by its first weights, (n, width * d), for second weights of one size."""
    active = (X @ W.T > 0).astype(float)
    features: np.ndarray = (active[:, :, None] * X[:, None, :]).reshape(len(X), -1)
    return features


def _unfitted(features: np.ndarray, y: np.ndarray) -> float:
    coefficients = np.linalg.lstsq(features, y, rcond=1e-10)[0]
    return float(np.linalg.norm(features @ coefficients - y) / np.linalg.norm(y))


def _test_error(X: np.ndarray, fresh: np.ndarray, W: np.ndarray, teacher: np.ndarray) -> float:
    """Share of the variance of a network of three neurons that the least-norm fit leaves unexplained."""
    y, truth = (np.maximum(part @ teacher.T, 0).sum(1) for part in (X, fresh))
    mean = y.mean()
    kernel, cross = (_kernel(part, X, W) for part in (X, fresh))
    answers = cross @ np.linalg.lstsq(kernel, y - mean, rcond=1e-10)[0] + mean
    return float(np.mean((answers - truth) ** 2) / np.var(truth))


def _kernel(A: np.ndarray, B: np.ndarray, W: np.ndarray) -> np.ndarray:
    both: np.ndarray = (A @ B.T) * ((A @ W.T > 0).astype(float) @ (B @ W.T > 0).astype(float).T)
    return both


# ---- the matrix of cells ---------------------------------------------------------------------------


def cells_and_isometry(profile: Profile, progress: Progress) -> Measured:
    """Coherence, which is the isometry constant of two columns, of the matrix of hyperplane cells at small sizes."""
    sizes: dict[int, tuple[int, ...]] = {1: (6, 12, 24), 2: (6, 12, 20), 3: (6, 9, 12)}
    if profile == "full":
        sizes = {1: (6, 12, 24, 96), 2: (6, 12, 20, 40), 3: (6, 9, 12, 20)}
    values: dict[str, np.ndarray] = {}
    points = []
    for d in each(sizes, progress, "d={}"):
        for n in sizes[d]:
            found = np.array([_coherence_of_cells(n, d, seed) for seed in range(4)])
            points.append((n, found, f"d={d}"))
            values[f"isometry constant of 2 columns, n={n}, d={d}"] = found
    figure = figure_of("Columns of neighbouring cells", points, "n", "isometry constant of 2 columns", "dimension")
    return Measured(values, (figure,))


def _coherence_of_cells(n: int, d: int, seed: int) -> float:
    """Of columns (x_i theta_s)_+ of norm 1, with theta_s in the middle of the cell s; of both cells of a pair."""
    X = np.random.default_rng([n, d, FIRST_SEED + seed]).standard_normal((n, d))
    cells = enumerate_cells(X)
    lifted = np.column_stack([X, np.ones(n)])
    middles = np.array([cells.signed_rays(s).mean(0) for s in range(cells.count // 2)])
    A = np.maximum(lifted @ np.concatenate([middles, -middles]).T, 0)
    norms = np.linalg.norm(A, axis=0)
    return float(coherence(A[:, norms > 1e-9] / norms[norms > 1e-9]))

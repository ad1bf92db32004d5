"""An oscillating function of heavy-tailed inputs: what three layers can and shallow networks cannot do."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np
from scipy.sparse import csr_matrix, hstack
from scipy.sparse.linalg import lsmr

from compsparse.claims.claim import Finding, Outcome, Premise, Profile
from compsparse.claims.seeds import FIRST_SEED
from compsparse.claims.shapes import each, figure_of, finding_of
from compsparse.claims.trials import Draw, Trials, run_vector_trials
from compsparse.networks import count, dense
from compsparse.networks.mirroring import MirrorNetwork
from compsparse.progress import Progress
from compsparse.training import TrainingConfig, TrainingData, solve_last_layer

_EPS = 0.1
_FAILS = 0.5
_LEARNS = 0.9
"""Error in the fewest dimensions up to which training counts as having worked; the answer zero has 1."""
_RATES = (1e-2, 2e-3)
_CLOSED_FORM_UP_TO = 4096


@dataclass(frozen=True)
class Oscillation:
    r"""The target :math:`\exp(i \langle \omega, \rho(U x + b) \rangle)` with :math:`\|\omega\| = d^3`, U orthogonal."""

    U: np.ndarray
    b: np.ndarray
    omega: np.ndarray

    @property
    def d(self) -> int:
        """The number of inputs."""
        return len(self.b)

    def phase(self, X: np.ndarray) -> np.ndarray:
        """What stands in the exponent, without i."""
        return np.asarray(np.maximum(X @ self.U.T + self.b, 0) @ self.omega)

    def draw(self, rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Inputs, and the real and imaginary parts of the target."""
        X = heavy_tailed((rows, self.d), np.random.default_rng([self.d, seed]))
        return X, _circle(self.phase(X))


def oscillation(d: int, random_state: int = 0) -> Oscillation:
    """A target of d inputs, its directions drawn at random."""
    rng = np.random.default_rng([d, random_state])
    U = np.linalg.qr(rng.standard_normal((d, d)))[0]
    omega = rng.standard_normal(d)
    return Oscillation(U, rng.standard_normal(d) / 2, omega * d**3 / np.linalg.norm(omega))


def heavy_tailed(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Independent numbers of density (sin x / x)^2 / pi, by rejection from min(1, 1/x^2)."""
    found: list[np.ndarray] = []
    missing = math.prod(shape)
    while missing > 0:
        m = 3 * missing + 64
        u = rng.random(m)
        x = np.where(rng.random(m) < 0.5, u, 1 / (1 - u))
        x = x[rng.random(m) * np.minimum(1, x**-2) < np.sinc(x / np.pi) ** 2][:missing]
        found.append(x * rng.choice([-1.0, 1.0], len(x)))
        missing -= len(x)
    return np.concatenate(found).reshape(shape)


def _circle(t: np.ndarray) -> np.ndarray:
    return np.stack([np.cos(t), np.sin(t)], axis=-1)


# ---- three layers by construction --------------------------------------------------------


@dataclass(frozen=True)
class _Built:
    """A network of three layers: relu(U x + b), one unit per knot of the phase, then two sums."""

    parameters: int
    error: float


def _built(target: Oscillation) -> _Built:
    """The smallest one, of several spacings of knots and shares of the phases covered, that meets the bar."""
    seen = np.sort(target.phase(target.draw(20_000, 0)[0]))
    X, y = target.draw(20_000, 1)
    t = target.phase(X)
    tried = []
    for covered in (0.9, 0.92, 0.94, 0.96, 0.98):
        for spacing in (0.75, 1.0, 1.25, 1.5):
            low, high = np.quantile(seen, [(1 - covered) / 2, (1 + covered) / 2])
            inner = np.arange(low, high + spacing, spacing)
            # a piecewise-linear function, zero beyond its last knots, is a sum of as many ReLUs
            knots = np.concatenate([[low - spacing], inner, [inner[-1] + spacing]])
            values = np.concatenate([np.zeros((1, 2)), _circle(inner), np.zeros((1, 2))])
            answers = np.stack([np.interp(t, knots, values[:, c]) for c in (0, 1)], axis=-1)
            d, units = target.d, len(knots)
            parameters = d * (d + 1) + units * (d + 1) + 2 * (units + 1)
            tried.append(_Built(parameters, float(((answers - y) ** 2).sum(-1).mean())))
    good = [b for b in tried if b.error <= _EPS]
    return min(good, key=lambda b: b.parameters) if good else min(tried, key=lambda b: b.error)


# ---- shallow by construction -------------------------------------------------------------


_BETWEEN = (0, 15, 60, 240)
"""Directions that are drawn between those in which the target oscillates, more and more of them."""
_ROWS_A_UNIT = 10


def _best_along_directions(target: Oscillation, most_rows: int) -> float:
    """The error of the best sum of functions of one variable along the target's own directions and others.

    Where the units of a set S are active the target is a wave along omega_S U_S. A shallow network has a ridge function
    for every unit; here each of the 2^d - 1 directions gets as many units as it can use, and so do directions at
    random between them, more and more of them while there are ten rows a unit. The output layer is least squares.
    """
    sets = np.array([s for s in product((0.0, 1.0), repeat=target.d) if any(s)])
    rng = np.random.default_rng([target.d, FIRST_SEED])
    between = rng.random((_BETWEEN[-1], target.d))
    tried = [_along(target, np.concatenate([sets, between[:more]]), most_rows) for more in _BETWEEN]
    return min(error for error in tried if error is not None)


def _along(target: Oscillation, shares: np.ndarray, most_rows: int) -> float | None:
    """The error with these directions; None where others than the target's own need more rows than there may be."""
    directions = ((target.omega * shares) @ target.U).T
    grids = [_grid(t) for t in (target.draw(10_000, 4)[0] @ directions).T]
    rows = max(20_000, _ROWS_A_UNIT * sum(knots for *_, knots in grids))
    if rows > most_rows and len(shares) >= 2**target.d:
        return None
    X, y = target.draw(rows, 2)
    fresh, y_fresh = target.draw(20_000, 3)

    def features(X: np.ndarray) -> csr_matrix:
        return hstack([_hats(t, *grid) for t, grid in zip((X @ directions).T, grids, strict=True)]).tocsr()

    A, B = features(X), features(fresh)
    errors = []
    for damp in (2.0, 10.0):
        answers = np.stack([B @ lsmr(A, y[:, c], damp=damp, maxiter=40)[0] for c in (0, 1)], axis=-1)
        errors.append(float(((answers - y_fresh) ** 2).sum(-1).mean()))
    return min(errors)


def _grid(t: np.ndarray, spacing: float = 1.5) -> tuple[float, float, int]:
    """First knot, spacing and number of knots over nine tenths of the values."""
    low, high = np.quantile(t, [0.05, 0.95])
    return float(low), spacing, int((high - low) / spacing) + 2


def _hats(t: np.ndarray, low: float, spacing: float, knots: int) -> csr_matrix:
    """Piecewise-linear functions that are 1 at a knot and 0 at the others, at the rows of t."""
    place = (t - low) / spacing
    left = np.floor(place)
    rows = np.flatnonzero((left >= 0) & (left < knots - 1))
    share, left = (place - left)[rows], left[rows].astype(int)
    values, at = np.concatenate([1 - share, share]), np.concatenate([left, left + 1])
    return csr_matrix((values, (np.tile(rows, 2), at)), shape=(len(t), knots))


# ---- trained networks --------------------------------------------------------------------


@dataclass(frozen=True)
class _Trained:
    parameters: int
    trials: Trials


def _trained(draw: Draw, d: int, layers: int, parameters: int, rows: int, steps: int) -> _Trained:
    """The better of two learning rates, for the smallest network with at least so many parameters.

    Far inputs can make a network's answers worse than none; every network could answer zero, whose error is 1.
    """
    width = _width_of(d, layers, parameters)

    def finish(network: MirrorNetwork, data: TrainingData) -> None:
        if width <= _CLOSED_FORM_UP_TO:
            solve_last_layer(network, data)

    tried = []
    for rate in _RATES:
        network = dense(d, width, layers - 1, activation="relu", out_channels=2, n_replicas=3, random_state=0)
        config = TrainingConfig(n_steps=steps, batch_size=256, learning_rate=rate, weight_decay=0, clip_norm=1.0)
        tried.append(Trials(np.minimum(run_vector_trials(network, draw, rows, config, finish=finish).errors, 1.0)))
    return _Trained(count(network).parameters, min(tried, key=lambda t: t.median))


def _width_of(d: int, layers: int, parameters: int) -> int:
    """The least width w of all hidden layers with w (d + 1) + (layers - 2) w (w + 1) + 2 (w + 1) parameters."""
    w = 1
    while w * (d + 1) + (layers - 2) * w * (w + 1) + 2 * (w + 1) < parameters:
        w += 1
    return w


def _sizes(profile: Profile) -> tuple[tuple[int, ...], int, int]:
    """Dimensions, rows and steps."""
    return ((2, 3, 4, 5, 6), 100_000, 5000) if profile == "full" else ((2, 3, 4), 10_000, 600)


def three_layers_can(profile: Profile, progress: Progress) -> Finding:
    """Errors of three layers built by hand and of the best shallow networks, as the dimension grows."""
    sizes, rows, steps = _sizes(profile)
    excess = (0.25, 1, 4)
    most_rows = 1_000_000 if profile == "full" else 60_000
    built: dict[int, _Built] = {}
    shallow: dict[int, list[_Trained]] = {}
    known: dict[int, float] = {}
    for d in each(sizes, progress, "d = {}"):
        target = oscillation(d, FIRST_SEED)
        built[d] = _built(target)
        shallow[d] = [_trained(target.draw, d, 2, int(f * built[d].parameters), rows, steps) for f in excess]
        known[d] = _best_along_directions(target, most_rows)
    return judge_can(built, shallow, known)


def judge_can(built: dict[int, _Built], shallow: dict[int, list[_Trained]], known: dict[int, float]) -> Finding:
    sizes = tuple(built)
    trained = {d: min(t.trials.median for t in shallow[d]) for d in sizes}
    best = {d: min(trained[d], known[d]) for d in sizes}
    errors = {
        "3 layers, built": {d: built[d].error for d in sizes},
        "shallow, trained": trained,
        "shallow, many directions": known,
    }
    reached = all(error <= _EPS for error in errors["3 layers, built"].values())
    outcome = _outcome(sizes, best) if reached else Outcome.INCONCLUSIVE
    exponent = float(np.polyfit(np.log(sizes), np.log([built[d].parameters for d in sizes]), 1)[0])
    listed = (
        f"d={d}: {built[d].error:.2f} with {built[d].parameters:,} parameters against {trained[d]:.2f} trained and "
        f"{known[d]:.2f} along many directions"
        for d in sizes
    )
    return finding_of(
        outcome,
        expected=f"three-layer networks written down by hand reach a squared error of {_EPS} of the target's; the "
        f"error of the best shallow network grows with d, to more than {_FAILS} at d = {sizes[-1]}: of trained ones of "
        "up to 4 times the parameters, and of those that have all the directions in which the target oscillates, "
        "others between them and as many units as they can use; refuted if at "
        f"d = {sizes[-1]} it is at most {_EPS}, or smaller than at d = {sizes[0]}",
        measured=f"three layers against shallow: {'; '.join(listed)}; parameters of three layers ~ d^{exponent:.1f}",
        numbers={
            "exponent": exponent,
            **{f"error of three layers, d={d}": e for d, e in errors["3 layers, built"].items()},
            **{f"parameters of three layers, d={d}": float(built[d].parameters) for d in sizes},
            **{f"error of trained shallow, d={d}": trained[d] for d in sizes},
            **{f"error of shallow along many directions, d={d}": known[d] for d in sizes},
        },
        figures=figure_of(
            "Error as the dimension grows",
            [(d, e, name) for name, by_d in errors.items() for d, e in by_d.items()],
            "d",
            "error",
            "network",
            y_title="squared error, share of the target's",
        ),
        premises=Premise.at_most(
            f"the error of the best trained shallow network at d = {sizes[0]}", trained[sizes[0]], _LEARNS
        ),
    )


def _outcome(sizes: tuple[int, ...], best: dict[int, float]) -> Outcome:
    """Of the errors of the best shallow networks, where three layers met the bar."""
    first, last = best[sizes[0]], best[sizes[-1]]
    if last <= _EPS or last < first:
        return Outcome.REFUTED
    apart = last > _FAILS and all(best[a] < best[b] for a, b in pairwise(sizes))
    return Outcome.SUPPORTED if apart else Outcome.INCONCLUSIVE


def three_layers_learn(profile: Profile, progress: Progress) -> Finding:
    """Errors of trained networks of three layers and of shallow ones with as many parameters."""
    sizes, rows, steps = _sizes(profile)
    found: dict[tuple[int, int], _Trained] = {}
    for d, layers in each(product(sizes, (2, 3)), progress, "d = {}, {} layers"):
        target = oscillation(d, FIRST_SEED)
        found[d, layers] = _trained(target.draw, d, layers, _built(target).parameters, rows, steps)
    return judge_learned(found, rows, steps)


def judge_learned(found: dict[tuple[int, int], _Trained], rows: int, steps: int) -> Finding:
    sizes = list(dict.fromkeys(d for d, _ in found))
    learned = all(t.trials.high <= _EPS for (_, layers), t in found.items() if layers == 3)
    ahead = all(found[d, 3].trials.high <= 0.5 * found[d, 2].trials.low for d in sizes)
    neither = all(found[d, 3].trials.low >= _FAILS for d in sizes[1:])
    outcome = Outcome.REFUTED if neither else Outcome.INCONCLUSIVE
    points = [(d, t.trials.errors, "shallow" if layers == 2 else "3 layers") for (d, layers), t in found.items()]
    return finding_of(
        Outcome.SUPPORTED if learned and ahead else outcome,
        expected=f"trained three-layer networks reach a squared error of {_EPS} and half that of shallow ones with as "
        f"many parameters, at every d and in every seed; refuted if for d >= {sizes[1]} theirs stays above {_FAILS} in "
        "every seed: they do not learn it either, from so many rows and steps",
        measured="error of three layers against shallow: "
        + "; ".join(f"d={d}: {found[d, 3].trials.text()} against {found[d, 2].trials.text()}" for d in sizes),
        numbers={f"error, d={d}, {layers} layers": t.trials.median for (d, layers), t in found.items()},
        figures=figure_of(
            "Trained at equal parameters", points, "d", "error", "network", middle=np.median,
            y_title="squared error, share of the target's (median, range)",
        ),
        premises=Premise.at_most(
            f"the error of the better of both at d = {sizes[0]}",
            min(found[sizes[0], layers].trials.median for layers in (2, 3)),
            _LEARNS,
        ),
        caveats=(
            f"{rows:,} rows and {steps:,} steps of Adam at the better of two learning rates; more of both help three "
            "layers in few dimensions",
        ),
    )  # fmt: skip

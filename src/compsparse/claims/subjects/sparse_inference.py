"""Networks that infer sparse codes: shallow ones as dimensions grow, unrolled ones against what they unroll."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from compsparse.claims.claim import Finding, Outcome, Profile
from compsparse.claims.rules import Interval, all_of, fitted_exponent, judge_at_most
from compsparse.claims.seeds import FIRST_SEED, TEST_SEED
from compsparse.claims.shapes import each, figure_of, finding_of
from compsparse.claims.trials import Trials, code_draws, run_vector_trials, train_on_draws
from compsparse.networks import dense
from compsparse.progress import Progress
from compsparse.report.figure import Figure
from compsparse.sparse import (
    LassoLoss,
    SparseCodes,
    UnrolledNetwork,
    coherence,
    fista,
    gaussian_dictionary,
    isometry_constant,
    isometry_lower_bound,
    ista,
    spikes_and_hadamard,
)
from compsparse.sparse.signals import CodedSignals
from compsparse.sparse.unrolled import UnrolledVariant
from compsparse.training import TrainingConfig

# ---- shallow networks ------------------------------------------------------------------------------

_EPS = 0.1
_MOST_RIP = 0.6
_STEEPEST = 3.0


@dataclass(frozen=True)
class _Setting:
    """A dictionary of d rows and 2d columns, and the number of entries of its codes."""

    d: int
    k: int
    family: str
    W: np.ndarray
    isometry: float

    @property
    def name(self) -> str:
        return f"{self.family}, d={self.d}"


def shallow_suffices(profile: Profile, progress: Progress) -> Finding:
    """The width at which shallow networks infer codes, as the dimension grows."""
    full = profile == "full"
    sizes = (8, 16, 32, 64, 128) if full else (8, 16, 32)
    factors = (0.5, 1, 2, 4, 8, 16, 32) if full else (1, 2, 4, 8, 16)
    rows, steps = (60_000, 4000) if full else (8000, 800)
    settings = [_two_bases(d) for d in sizes] + [_gaussian(d) for d in sizes]
    found = {
        setting.name: {
            width: _shallow_error(setting, width, rows, steps) for width in (int(f * setting.d) for f in factors)
        }
        for setting in each(settings, progress, "{0.name}")
    }
    return judge_shallow(sizes, settings, found)


def _two_bases(d: int) -> _Setting:
    """Spikes and Hadamard, with the most entries, at most d/8, for which delta_2k is known to be small enough.

    Columns of one basis are orthogonal, so that the norm of what a Gram matrix of 2k columns has beside ones on its
    diagonal is at most k times the coherence.
    """
    W = spikes_and_hadamard(d)
    mu = coherence(W)
    k = max(k for k in range(1, max(2, d // 8 + 1)) if k * mu <= _MOST_RIP)
    return _Setting(d, k, "spikes and Hadamard", W, k * mu)


def _gaussian(d: int) -> _Setting:
    """As many entries, but columns at random."""
    k = _two_bases(d).k
    W = gaussian_dictionary(d, 2 * d, random_state=d)
    small = math.comb(2 * d, 2 * k) <= 100_000
    known = isometry_constant(W, 2 * k) if small else isometry_lower_bound(W, 2 * k, n_starts=4, random_state=0)
    return _Setting(d, k, "Gaussian", W, known.value)


def _shallow_error(setting: _Setting, width: int, rows: int, steps: int) -> Trials:
    d = setting.d
    network = dense(d, width, 1, activation="relu", out_channels=2 * d, n_replicas=2, random_state=0)
    config = TrainingConfig(n_steps=steps, batch_size=128, learning_rate=1e-2, weight_decay=0)
    task = SparseCodes(setting.W, setting.k, "sphere")
    return run_vector_trials(network, code_draws(task), rows, config)


def judge_shallow(sizes: Sequence[int], settings: list[_Setting], found: dict[str, dict[int, Trials]]) -> Finding:
    needed = {s.name: _width_needed(found[s.name]) for s in settings}
    good = [s for s in settings if s.family != "Gaussian"]
    widths = [needed[s.name] for s in good]
    reached = all(math.isfinite(w) for w in widths)
    exponent, power_rest, exponential_rest = _growth(sizes, widths) if reached else (math.nan,) * 3
    outcome = _polynomial(sizes, widths, power_rest, exponential_rest) if reached else Outcome.INCONCLUSIVE
    listed = [
        f"d={s.d} (k={s.k}, delta_2k {'<=' if s in good else '>='} {s.isometry:.2f}): "
        + (f"{needed[s.name]:.0f}" if math.isfinite(needed[s.name]) else f"more than {max(found[s.name])}")
        for s in settings
    ]
    half = len(sizes)
    return finding_of(
        outcome,
        measured=f"width ~ d^{exponent:.2f} (misfit in log2 {power_rest:.2f}, of an exponential "
        f"{exponential_rest:.2f}); spikes and Hadamard: {'; '.join(listed[:half])}. "
        f"Without the condition, Gaussian: {'; '.join(listed[half:])}",
        numbers={
            "exponent": exponent,
            "misfit of a power": power_rest,
            "misfit of an exponential": exponential_rest,
            **{f"width, {name}": w for name, w in needed.items()},
        },
        figures=tuple(
            _by_width(f, [s for s in settings if s.family == f], found) for f in ("spikes and Hadamard", "Gaussian")
        ),
        caveats=(
            f"{len(sizes)} sizes cannot tell a power of d from other slow growth; at d = 8, where k = 1, there are "
            "only 32 different signals",
        ),
    )


def _polynomial(sizes: Sequence[int], widths: Sequence[float], power: float, exponential: float) -> Outcome:
    """By the interval of the exponent, and by which of the two curves fits."""
    steepness = judge_at_most(fitted_exponent(sizes, widths), _STEEPEST)
    return all_of([steepness, judge_at_most(Interval(power, power), exponential, refuted_above=2 * exponential)])


def _width_needed(errors: dict[int, Trials]) -> float:
    """Where the median error crosses the bar, between widths by straight lines in logarithms."""
    widths = sorted(errors)
    for low, high in zip([None, *widths], widths, strict=False):
        if not errors[high].median <= _EPS:  # one that is no number has not got there
            continue
        if low is None:
            return float(high)
        y0, y1 = math.log(errors[low].median), math.log(max(errors[high].median, 1e-6))
        share = (y0 - math.log(_EPS)) / (y0 - y1)
        return float(low * (high / low) ** share)
    return math.inf


def _growth(sizes: Sequence[int], widths: Sequence[float]) -> tuple[float, float, float]:
    """The exponent of a power law, and the misfits of it and of an exponential, root mean square in log2."""
    y, d = np.log2(widths), np.array(sizes, dtype=float)
    power, exponential = np.polyfit(np.log2(d), y, 1), np.polyfit(d, y, 1)
    rest = [np.sqrt(np.mean((np.polyval(c, x) - y) ** 2)) for c, x in ((power, np.log2(d)), (exponential, d))]
    return float(power[0]), float(rest[0]), float(rest[1])


def _by_width(family: str, settings: list[_Setting], found: dict[str, dict[int, Trials]]) -> Figure:
    points = [
        (width, t.errors, f"d={s.d}, k={s.k}") for s in settings for width, t in found[s.name].items() if t.low > 1e-4
    ]
    return figure_of(
        f"{family}: error of shallow networks", points, "width", "error", "d", middle=np.median, low="low", high="high",
        log_x=True, log_y=True, y_title="squared error of unit codes (median, range)",
    )  # fmt: skip


# ---- unrolled networks -----------------------------------------------------------------------------

_LAM = 0.1
_SEEDS = 3
_LEAST_GAIN = 0.05
"""Share of an error by which a trained network must be ahead."""
_FAMILIES: dict[str, tuple[UnrolledVariant, float, float]] = {
    "LISTA, tied": ("tied", 0.0, 2e-3),
    "LISTA, untied": ("untied", 0.0, 1e-3),
    "LISTA-CP": ("coupled", 0.0, 2e-3),
    "LISTA-CP-SS": ("coupled", 0.02, 2e-3),
    "ALISTA": ("analytic", 0.0, 1e-2),
}
"""Variant, support selection and learning rate of each family that learns from codes."""


def lista_beats_ista(profile: Profile, progress: Progress) -> Finding:
    """Errors of unrolled networks and of ISTA and FISTA, layer for step."""
    full = profile == "full"
    d, n, k = (100, 200, 12) if full else (24, 48, 4)
    depths: tuple[int, ...] = (1, 2, 4, 8, 16) if full else (1, 2, 4, 8)
    rows, steps = (40_000, 4000) if full else (6000, 400)
    W = gaussian_dictionary(d, n, random_state=FIRST_SEED)
    task = SparseCodes(W, k)
    gap = _LassoGap(W, task)
    errors, gaps = _plain_errors(W, task, depths), _plain_gaps(W, gap, depths)
    for depth in each(depths, progress, "{} layers"):
        for name, (variant, select, rate) in _FAMILIES.items():
            network = UnrolledNetwork(W, _LAM, depth, variant, select=select, n_replicas=_SEEDS)
            config = TrainingConfig(n_steps=steps, batch_size=256, learning_rate=rate, weight_decay=0)
            errors[name, depth] = run_vector_trials(network, code_draws(task), rows, config)
        gaps["SLISTA", depth] = _learned_steps(task, depth, gap, rows, steps)
    return judge_unrolled(depths, errors, gaps)


def unrolled_starts_as_ista(profile: Profile, progress: Progress) -> Finding:
    """Answers of untrained networks against a plain loop of ISTA."""
    W = gaussian_dictionary(24, 48, random_state=FIRST_SEED)
    difference = _difference_at_start(W, SparseCodes(W, 4), 8)
    return finding_of(
        difference < 1e-12,
        measured=f"largest difference {difference:.1g}",
        numbers={"difference before training": difference},
    )


_LAMBDAS = tuple(float(lam) for lam in _LAM * np.geomspace(1 / 16, 16, 17))
"""What ISTA and FISTA choose from, for each number of steps by itself."""
_PLAIN = {"ISTA": ista, "FISTA": fista}


def _plain_errors(W: np.ndarray, task: SparseCodes, depths: Sequence[int]) -> dict[tuple[str, int], Trials]:
    """At the lambda of least error on one half of the signals, measured on the other half; three pairs of halves."""
    halves = [
        (task.sample(5000, random_state=TEST_SEED + 2 * r), task.sample(5000, random_state=TEST_SEED + 2 * r + 1))
        for r in range(_SEEDS)
    ]
    errors: dict[tuple[str, int], list[float]] = {}
    for name in _PLAIN:
        for tuning, fresh in halves:
            tuned = {lam: _step_errors(name, W, tuning, lam, depths) for lam in _LAMBDAS}
            for depth in depths:
                lam = min(_LAMBDAS, key=lambda lam: tuned[lam][depth])
                errors.setdefault((name, depth), []).append(_step_errors(name, W, fresh, lam, [depth])[depth])
    return {at: Trials(np.array(found)) for at, found in errors.items()}


def _step_errors(name: str, W: np.ndarray, sample: CodedSignals, lam: float, depths: Sequence[int]) -> dict[int, float]:
    """The unexplained share of the codes after each number of steps."""
    codes = _PLAIN[name](sample.X, W, lam, max(depths), history=True)
    total = (sample.Z**2).sum()
    return {depth: float(((codes[depth - 1].numpy() - sample.Z) ** 2).sum() / total) for depth in depths}


class _LassoGap:
    """How far the Lasso's objective is above its minimum, as a share of that of the code zero."""

    def __init__(self, W: np.ndarray, task: SparseCodes):
        self.loss = LassoLoss(W, _LAM)
        self.X = torch.as_tensor(task.sample(1000, random_state=TEST_SEED).X)
        self.least = self.loss.mean(fista(self.X, W, _LAM, 2000), self.X)
        self.most = self.X.square().sum(-1).mean()

    def __call__(self, codes: torch.Tensor) -> float:
        return float((self.loss.mean(codes, self.X) - self.least) / (self.most - self.least))


def _plain_gaps(W: np.ndarray, gap: _LassoGap, depths: Sequence[int]) -> dict[tuple[str, int], Trials]:
    return {
        (name, depth): Trials(np.array([gap(codes[depth - 1])]))
        for name, method in _PLAIN.items()
        for codes in [method(gap.X, W, _LAM, max(depths), history=True)]
        for depth in depths
    }


def _learned_steps(task: SparseCodes, depth: int, gap: _LassoGap, rows: int, steps: int) -> Trials:
    """Trained on the Lasso's objective of signals alone."""

    def draw(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        X = task.sample(rows, random_state=seed).X
        return X, X

    config = TrainingConfig(n_steps=steps, batch_size=256, learning_rate=3e-2, weight_decay=0)
    network = UnrolledNetwork(task.dictionary, _LAM, depth, "steps", n_replicas=_SEEDS)
    train_on_draws(network, draw, rows, config, loss=gap.loss)
    with torch.no_grad():
        codes = network.cpu().double()(gap.X)
    return Trials(np.array([gap(codes[r]) for r in range(_SEEDS)]))


def _difference_at_start(W: np.ndarray, task: SparseCodes, depth: int) -> float:
    """The largest difference between untrained networks and a plain loop of ISTA."""
    X = task.sample(200, random_state=0).X
    L = np.linalg.norm(W, 2) ** 2
    Z = np.zeros((len(X), W.shape[1]))
    for _ in range(depth):
        U = Z + (X - Z @ W.T) @ W / L
        Z = np.sign(U) * np.maximum(np.abs(U) - _LAM / (2 * L), 0)
    networks = [UnrolledNetwork(W, _LAM, depth, v, dtype=torch.float64) for v in ("tied", "untied", "coupled", "steps")]
    with torch.no_grad():
        return max(float(np.abs(network(torch.as_tensor(X)).numpy() - Z).max()) for network in networks)


def judge_unrolled(
    depths: Sequence[int], errors: dict[tuple[str, int], Trials], gaps: dict[tuple[str, int], Trials]
) -> Finding:
    """A family is judged by its worst depth; all of them must be ahead, and one that is behind refutes."""
    deep, last = [depth for depth in depths if depth >= 2], depths[-1]
    ahead = {
        name: all_of(_ahead(errors[name, depth], errors[plain, depth]) for depth in deep for plain in _PLAIN)
        for name in _FAMILIES
    }
    ahead["SLISTA"] = all_of(_ahead(gaps["SLISTA", depth], gaps["ISTA", depth]) for depth in deep)
    behind = [name for name, outcome in ahead.items() if outcome is not Outcome.SUPPORTED]
    return finding_of(
        ahead.values(),
        measured=f"error after {last} layers: "
        + ", ".join(f"{name} {errors[name, last].median:.2g}" for name in ("ISTA", "FISTA", *_FAMILIES))
        + f"; gap of the objective: ISTA {gaps['ISTA', last].median:.2g}, FISTA {gaps['FISTA', last].median:.2g}, "
        f"SLISTA {gaps['SLISTA', last].median:.2g}"
        + (f"; not ahead everywhere: {', '.join(behind)}" if behind else ""),
        numbers={
            **{f"error of {name} after {last} layers": errors[name, last].median for name, at in errors if at == last},
            **{f"gap of {name} after {last} layers": gaps[name, last].median for name, at in gaps if at == last},
        },
        figures=(
            _by_depth("Error of the code against layers", errors, "unexplained share of the code (median, range)"),
            _by_depth("The Lasso's objective against layers", gaps, "share of the gap that is left (median, range)"),
        ),
    )


def _ahead(ours: Trials, plain: Trials) -> Outcome:
    """Whether all of ours are smaller than all of theirs by what counts, or none is smaller, or neither."""
    ratio = Interval(ours.low, ours.high).over(Interval(plain.low, plain.high))
    return judge_at_most(ratio, 1 - _LEAST_GAIN, refuted_above=1.0)


def _by_depth(title: str, values: dict[tuple[str, int], Trials], y_title: str) -> Figure:
    points = [(depth, t.errors, name) for (name, depth), t in values.items()]
    return figure_of(title, points, "layers", "value", "method", middle=np.median, log_x=True, log_y=True,
                     y_title=y_title)  # fmt: skip

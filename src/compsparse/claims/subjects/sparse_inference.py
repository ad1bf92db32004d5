"""Networks that infer sparse codes: unrolled ones, and shallow ones as dimensions grow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from compsparse.claims.claim import Claim, Finding, Outcome, Profile
from compsparse.claims.trials import TEST_SEED, Draw, Trials, run_vector_trials, train_on_draws
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
from compsparse.sparse.unrolled import UnrolledVariant
from compsparse.training import TrainingConfig

_BRUNA = "Bruna, On sparse linear programming and neural networks"

# ---- unrolled networks -------------------------------------------------------------------

_LAM = 0.1
_SEEDS = 3
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
    W = gaussian_dictionary(d, n, random_state=0)
    task = SparseCodes(W, k)
    gap = _LassoGap(W, task)
    errors, gaps = _plain_errors(W, task, depths), _plain_gaps(W, gap, depths)
    for depth in depths:
        for name, (variant, select, rate) in _FAMILIES.items():
            network = UnrolledNetwork(W, _LAM, depth, variant, select=select, n_replicas=_SEEDS)
            config = TrainingConfig(n_steps=steps, batch_size=256, learning_rate=rate, weight_decay=0)
            errors[name, depth] = run_vector_trials(network, _codes(task), rows, config)
        gaps["SLISTA", depth] = _learned_steps(task, depth, gap, rows, steps)
        progress.update(depths.index(depth) + 1, len(depths), f"{depth} layers")
    return _judge_unrolled(depths, errors, gaps, _difference_at_start(W, task, depths[-1]))


def _codes(task: SparseCodes) -> Draw:
    def draw(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        drawn = task.sample(rows, random_state=seed)
        return drawn.X, drawn.Z

    return draw


def _plain_errors(W: np.ndarray, task: SparseCodes, depths: Sequence[int]) -> dict[tuple[str, int], Trials]:
    test = task.sample(10_000, random_state=TEST_SEED)
    total = (test.Z**2).sum()
    return {
        (name, depth): Trials(np.array([((codes[depth - 1].numpy() - test.Z) ** 2).sum() / total]))
        for name, method in (("ISTA", ista), ("FISTA", fista))
        for codes in [method(test.X, W, _LAM, max(depths), history=True)]
        for depth in depths
    }


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
        for name, method in (("ISTA", ista), ("FISTA", fista))
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


def _judge_unrolled(
    depths: Sequence[int],
    errors: dict[tuple[str, int], Trials],
    gaps: dict[tuple[str, int], Trials],
    difference: float,
) -> Finding:
    deep = [depth for depth in depths if depth >= 2]
    plain = {depth: min(errors["ISTA", depth].high, errors["FISTA", depth].high) for depth in deep}
    ahead = {name: all(errors[name, depth].high < plain[depth] for depth in deep) for name in _FAMILIES}
    steps_ahead = all(gaps["SLISTA", depth].high < gaps["ISTA", depth].high for depth in deep)
    right = difference < 1e-12 and all(ahead.values()) and steps_ahead
    last = depths[-1]
    behind = [name for name, is_ahead in ahead.items() if not is_ahead] + ([] if steps_ahead else ["SLISTA"])
    return Finding(
        Outcome.SUPPORTED if right else Outcome.REFUTED,
        expected="untrained networks differ from a plain loop of ISTA by less than 1e-12; from 2 layers on, every seed "
        "of every family that learns from codes has a smaller error than ISTA and FISTA after as many steps, and "
        "step lengths learned without codes leave a smaller gap in the Lasso's objective than ISTA's",
        measured=f"difference before training {difference:.1g}; error after {last} layers: "
        + ", ".join(f"{name} {errors[name, last].median:.2g}" for name in ("ISTA", "FISTA", *_FAMILIES))
        + f"; gap of the objective: ISTA {gaps['ISTA', last].median:.2g}, FISTA {gaps['FISTA', last].median:.2g}, "
        f"SLISTA {gaps['SLISTA', last].median:.2g}"
        + (f"; not ahead everywhere: {', '.join(behind)}" if behind else ""),
        numbers={
            "difference before training": difference,
            **{f"error of {name} after {last} layers": errors[name, last].median for name, at in errors if at == last},
            **{f"gap of {name} after {last} layers": gaps[name, last].median for name, at in gaps if at == last},
        },
        figures=(
            _by_depth("Error of the code against layers", errors, "unexplained share of the code (median, range)"),
            _by_depth("The Lasso's objective against layers", gaps, "share of the gap that is left (median, range)"),
        ),
        caveats=(
            "all learn from codes drawn as those they are tested on; ISTA and FISTA know nothing of them, and minimise "
            "the Lasso's objective, whose minimum is not the code",
            "one Gaussian dictionary; seeds differ in their data",
        ),
    )


def _by_depth(title: str, values: dict[tuple[str, int], Trials], y_title: str) -> Figure:
    rows = tuple(
        {"layers": depth, "value": t.median, "low": t.low, "high": t.high, "method": name}
        for (name, depth), t in values.items()
    )
    return Figure(
        title, rows, "layers", "value", series="method", low="low", high="high", log_x=True, log_y=True, y_title=y_title
    )


# ---- shallow networks --------------------------------------------------------------------

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
    found: dict[str, dict[int, Trials]] = {}
    for i, setting in enumerate(settings):
        found[setting.name] = {
            width: _shallow_error(setting, width, rows, steps) for width in (int(f * setting.d) for f in factors)
        }
        progress.update(i + 1, len(settings), setting.name)
    return _judge_shallow(sizes, settings, found)


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
    return run_vector_trials(network, _codes(task), rows, config)


def _judge_shallow(sizes: Sequence[int], settings: list[_Setting], found: dict[str, dict[int, Trials]]) -> Finding:
    needed = {s.name: _width_needed(found[s.name]) for s in settings}
    good = [s for s in settings if s.family != "Gaussian"]
    widths = [needed[s.name] for s in good]
    reached = all(math.isfinite(w) for w in widths)
    exponent, power_rest, exponential_rest = _growth(sizes, widths) if reached else (math.nan,) * 3
    polynomial = power_rest < exponential_rest and exponent <= _STEEPEST
    outcome = (Outcome.SUPPORTED if polynomial else Outcome.REFUTED) if reached else Outcome.INCONCLUSIVE
    listed = [
        f"d={s.d} (k={s.k}, delta_2k {'<=' if s in good else '>='} {s.isometry:.2f}): "
        + (f"{needed[s.name]:.0f}" if math.isfinite(needed[s.name]) else f"more than {max(found[s.name])}")
        for s in settings
    ]
    half = len(sizes)
    return Finding(
        outcome,
        expected=f"the width at which trained shallow networks infer unit codes up to a squared error of {_EPS} "
        f"follows a power of d, of exponent at most {_STEEPEST:g}, more closely than an exponential, in dictionaries "
        f"of delta_2k <= {_MOST_RIP}",
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
            "the corollary keeps k/d fixed; here k is the largest, up to d/8, for which delta_2k <= 0.6 is certain in "
            "dictionaries of this kind, about sqrt(d)/2",
            "the corollary is on approximation; networks that are trained may need to be wider, and the error of the "
            "widest levels off where training ends, not where approximation does",
        ),
    )


def _width_needed(errors: dict[int, Trials]) -> float:
    """Where the median error crosses the bar, between widths by straight lines in logarithms."""
    widths = sorted(errors)
    for low, high in zip([None, *widths], widths, strict=False):
        if errors[high].median > _EPS:
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
    rows = tuple(
        {"width": width, "error": t.median, "low": t.low, "high": t.high, "d": f"d={s.d}, k={s.k}"}
        for s in settings
        for width, t in found[s.name].items()
        if t.low > 1e-4
    )
    return Figure(
        f"{family}: error of shallow networks", rows, "width", "error", series="d", low="low", high="high", log_x=True,
        log_y=True, y_title="squared error of unit codes (median, range)",
    )  # fmt: skip


CLAIMS = [
    Claim(
        name="lista-beats-ista",
        statement="Unrolled networks start as steps of ISTA and, trained, infer sparse codes better than ISTA and "
        "FISTA at equal depth.",
        source=f"{_BRUNA}, slide on LISTA (Gregor and LeCun 2010)",
        status="experiment",
        experiment=lista_beats_ista,
        profiles=("quick", "full"),
    ),
    Claim(
        name="shallow-suffices-for-sparse-inference",
        statement="Where the dictionary is nearly an isometry on sparse codes, shallow networks of a width polynomial "
        "in the dimension infer them to a given error.",
        source=f"{_BRUNA}, corollary on sparse inference (Venturi and Bruna 2021)",
        status="proved",
        experiment=shallow_suffices,
        profiles=("quick", "full"),
    ),
]

"""Shallow networks that infer sparse codes, as dimensions grow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from compsparse.claims.claim import Finding, Outcome, Profile
from compsparse.claims.rules import Interval, all_of, fitted_exponent, judge_at_most
from compsparse.claims.shapes import each, figure_of, finding_of
from compsparse.claims.trials import Trials, code_draws, run_vector_trials
from compsparse.networks import dense
from compsparse.progress import Progress
from compsparse.report.figure import Figure
from compsparse.sparse import (
    SparseCodes,
    coherence,
    gaussian_dictionary,
    isometry_constant,
    isometry_lower_bound,
    spikes_and_hadamard,
)
from compsparse.training import TrainingConfig

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
    return run_vector_trials(network, code_draws(task), rows, config)


def _judge_shallow(sizes: Sequence[int], settings: list[_Setting], found: dict[str, dict[int, Trials]]) -> Finding:
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

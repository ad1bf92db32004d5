"""Unrolled networks that infer sparse codes, against the iterations they were unrolled from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from compsparse.claims.claim import Finding, Outcome, Profile
from compsparse.claims.rules import Interval, all_of, judge_at_most
from compsparse.claims.seeds import FIRST_SEED, TEST_SEED
from compsparse.claims.shapes import each, figure_of, finding_of
from compsparse.claims.trials import Trials, code_draws, run_vector_trials, train_on_draws
from compsparse.progress import Progress
from compsparse.report.figure import Figure
from compsparse.sparse import LassoLoss, SparseCodes, UnrolledNetwork, fista, gaussian_dictionary, ista
from compsparse.sparse.signals import CodedSignals
from compsparse.sparse.unrolled import UnrolledVariant
from compsparse.training import TrainingConfig

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
    return _judge_unrolled(depths, errors, gaps)


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


def _judge_unrolled(
    depths: Sequence[int],
    errors: dict[tuple[str, int], Trials],
    gaps: dict[tuple[str, int], Trials],
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

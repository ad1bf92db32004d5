"""A convolution embedded in a dense network and trained on (eFCN)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from compsparse.claims.claim import Finding, Premise, Profile
from compsparse.claims.rules import judge_at_most, mean_interval
from compsparse.claims.seeds import FIRST_SEED
from compsparse.claims.trials import gpu_if_any
from compsparse.measures import off_local_mass
from compsparse.networks import ImageNetwork, embedded
from compsparse.progress import Progress
from compsparse.report.figure import Figure
from compsparse.tasks import MotifImages
from compsparse.training import CrossEntropy, TrainingConfig, TrainingData, train

_SIDE, _CLASSES, _TO_CHOOSE, _TO_TEST = 12, 4, 500, 1000
_LEARNED = 0.5 * (1 - 1 / _CLASSES)
"""Error of a network that learned the images: half of chance."""
_LEAST_GAIN = 0.05
"""Share of its errors that a network must lose to be said to win."""
_FIRST = FIRST_SEED + 200
"""Other seeds than those that showed smaller motifs to be beyond every network of this size."""


@dataclass(frozen=True)
class _Switched:
    """Networks that were let go after a share of training, and the same ones kept convolutional; arrays are over seeds.

    Attributes:
        chosen_by: errors of those let go on rows that only choose.
        error, kept: test errors of those let go, and of those kept.
        off_local: share of the first layer's squared weights outside the windows in the end, where let go.
    """

    share: float
    chosen_by: np.ndarray
    error: np.ndarray
    kept: np.ndarray
    off_local: float


def embedded_can_win(profile: Profile, progress: Progress) -> Finding:
    """Test errors for several times at which the convolution is let go."""
    rows, steps, n_seeds = (1500, 400, 5) if profile == "quick" else (10_000, 3000, 8)
    X, y = _tables(rows, n_seeds)
    shares = (0.1, 0.3, 0.6)
    found = []
    for share in shares:
        found.append(_switched(share, X, y, rows, steps))
        progress.update(len(found), len(shares), f"let go after {share:g} of training")
    return _judge(found)


def _tables(rows: int, n_seeds: int) -> tuple[Tensor, Tensor]:
    drawn = []
    for seed in range(_FIRST, _FIRST + n_seeds):
        images = MotifImages(_SIDE, _CLASSES, random_state=seed)
        drawn.append(images.sample(rows + _TO_CHOOSE + _TO_TEST, random_state=seed))
    X, y = (np.stack(part) for part in zip(*drawn, strict=True))
    device = gpu_if_any()
    return torch.as_tensor(X, dtype=torch.float32, device=device), torch.as_tensor(y, device=device)


def _switched(share: float, X: Tensor, y: Tensor, rows: int, steps: int) -> _Switched:
    n_seeds, each = X.shape[:2]
    data = TrainingData(
        X.flatten(0, 1), y.flatten(), train=tuple(torch.arange(rows) + each * s for s in range(n_seeds))
    )
    network = ImageNetwork(
        "convolutional", (1, _SIDE, _SIDE), _CLASSES, 8, kernel=3, width=64, n_replicas=n_seeds, random_state=_FIRST
    ).to(X.device)
    first = round(share * steps)
    _train(network, data, first, _FIRST)
    loose = embedded(network)
    for one in (network, loose):
        _train(one, data, steps - first, _FIRST + 1)
    kept, wrong = (_wrong(one, X[:, rows:], y[:, rows:]) for one in (network, loose))
    off = off_local_mass(loose, loose.local_mask()).value.mean()
    chosen_by, error = wrong[:, :_TO_CHOOSE].mean(1), wrong[:, _TO_CHOOSE:].mean(1)
    return _Switched(share, chosen_by, error, kept[:, _TO_CHOOSE:].mean(1), float(off))


def _train(network: ImageNetwork, data: TrainingData, n_steps: int, seed: int) -> None:
    """Both parts of training have a whole schedule each, whether the convolution is let go between them or not."""
    config = TrainingConfig(n_steps=n_steps, batch_size=64, learning_rate=3e-3, weight_decay=1e-3)
    train(network, data, config, loss=CrossEntropy(), random_state=seed)


@torch.no_grad()
def _wrong(network: ImageNetwork, X: Tensor, y: Tensor) -> np.ndarray:
    wrong: np.ndarray = (network(X).argmax(-1) != y).double().cpu().numpy()
    return wrong


def _judge(found: list[_Switched]) -> Finding:
    best = min(found, key=lambda f: float(f.chosen_by.mean()))
    cost = mean_interval(best.error - best.kept)
    rows = tuple(
        {"share": f.share, "error": float(e.mean()), "low": float(e.min()), "high": float(e.max()), "network": name}
        for f in found
        for name, e in (("let go", f.error), ("kept convolutional", f.kept))
    )
    figure = Figure(
        "A convolution that is let go", rows, "share", "error", series="network", low="low", high="high",
        x_title="share of training before it is let go", y_title="test error (mean, range of seeds)",
    )  # fmt: skip
    return Finding(
        judge_at_most(cost, -_LEAST_GAIN * float(best.kept.mean()), refuted_above=0.0),
        measured=f"{cost.text()} more wrong than {best.kept.mean():.3f} when let go after {best.share:g} of training; "
        f"off-local mass in the end {best.off_local:.2g}",
        numbers={
            **{f"error_{f.share:g}": float(f.error.mean()) for f in found},
            **{f"kept_{f.share:g}": float(f.kept.mean()) for f in found},
            **{f"off_local_{f.share:g}": f.off_local for f in found},
        },
        figures=(figure,),
        premises=(
            Premise.at_most(f"the error of the kept convolution (chance is {1 - 1 / _CLASSES:g})", best.kept, _LEARNED),
        ),
    )

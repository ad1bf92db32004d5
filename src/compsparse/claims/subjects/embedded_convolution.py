"""A convolution embedded in a dense network and trained on (eFCN)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from compsparse.claims.claim import Finding, Premise, Profile
from compsparse.claims.image_trials import CLASSES, ImageData
from compsparse.claims.rules import judge_at_most, mean_interval
from compsparse.claims.seeds import FIRST_SEED
from compsparse.claims.shapes import each, figure_of, finding_of
from compsparse.measures import off_local_mass
from compsparse.networks import ImageNetwork, embedded
from compsparse.progress import Progress
from compsparse.training import CrossEntropy, TrainingConfig, TrainingData, train

_TO_CHOOSE = 500
_LEARNED = 0.5 * (1 - 1 / CLASSES)
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
    images = ImageData("motifs", rows, n_seeds, _FIRST, to_choose=_TO_CHOOSE)
    return _judge(
        [_switched(share, images, steps) for share in each((0.1, 0.3, 0.6), progress, "let go after {:g} of training")]
    )


def _switched(share: float, images: ImageData, steps: int) -> _Switched:
    network = ImageNetwork(
        "convolutional", (1, *images.shape), CLASSES, 8, kernel=3, width=64, n_replicas=images.n_seeds,
        random_state=_FIRST,
    ).to(images.tables[0].device)  # fmt: skip
    data, first = images.training, round(share * steps)
    _train(network, data, first, _FIRST)
    loose = embedded(network)
    for one in (network, loose):
        _train(one, data, steps - first, _FIRST + 1)
    kept, wrong = (images.wrong(one) for one in (network, loose))
    off = off_local_mass(loose, loose.local_mask()).value.mean()
    chosen_by, error = wrong[:, :_TO_CHOOSE].mean(1), wrong[:, _TO_CHOOSE:].mean(1)
    return _Switched(share, chosen_by, error, kept[:, _TO_CHOOSE:].mean(1), float(off))


def _train(network: ImageNetwork, data: TrainingData, n_steps: int, seed: int) -> None:
    """Both parts of training have a whole schedule each, whether the convolution is let go between them or not."""
    config = TrainingConfig(n_steps=n_steps, batch_size=64, learning_rate=3e-3, weight_decay=1e-3)
    train(network, data, config, loss=CrossEntropy(), random_state=seed)


def _judge(found: list[_Switched]) -> Finding:
    best = min(found, key=lambda f: float(f.chosen_by.mean()))
    cost = mean_interval(best.error - best.kept)
    points = [(f.share, e, name) for f in found for name, e in (("let go", f.error), ("kept convolutional", f.kept))]
    return finding_of(
        judge_at_most(cost, -_LEAST_GAIN * float(best.kept.mean()), refuted_above=0.0),
        measured=f"{cost.text()} more wrong than {best.kept.mean():.3f} when let go after {best.share:g} of training; "
        f"off-local mass in the end {best.off_local:.2g}",
        numbers={
            **{f"error_{f.share:g}": f.error for f in found},
            **{f"kept_{f.share:g}": f.kept for f in found},
            **{f"off_local_{f.share:g}": f.off_local for f in found},
        },
        figures=figure_of(
            "A convolution that is let go", points, "share", "error", "network",
            x_title="share of training before it is let go", y_title="test error (mean, range of seeds)",
        ),
        premises=Premise.at_most(
            f"the error of the kept convolution (chance is {1 - 1 / CLASSES:g})", best.kept, _LEARNED
        ),
    )  # fmt: skip

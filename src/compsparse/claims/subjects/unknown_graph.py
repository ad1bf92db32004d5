"""Dense networks that are not told the graph: penalties, pruning, and a convolution that is let go."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from compsparse.claims.claim import Finding, Premise, Profile
from compsparse.claims.image_trials import (
    CLASSES,
    ImageData,
    ImageKind,
    PatchData,
    PatchTrial,
    l2,
    prox_l1,
    run_patches,
)
from compsparse.claims.rules import (
    Interval,
    geometric_interval,
    interval_if_known,
    judge_at_least,
    judge_at_most,
    mean_interval,
)
from compsparse.claims.seeds import FIRST_SEED
from compsparse.claims.shapes import each, figure_of, finding_of
from compsparse.claims.trials import placed
from compsparse.measures import Locality, near_pairs, off_local_mass
from compsparse.networks import ImageNetwork, embedded
from compsparse.progress import Progress
from compsparse.training import CrossEntropy, TrainingConfig, TrainingData, train

_QUICK = TrainingConfig(n_steps=500, batch_size=64, learning_rate=1e-2, weight_decay=0)
_FULL = TrainingConfig(n_steps=3000, batch_size=128, learning_rate=3e-3, weight_decay=0)
_KNOWN_SEED = FIRST_SEED + 100
"""Of the trials with a known graph: steps and strengths were settled after a look at the seeds before."""
_SMALL = 1e-3
"""Of a layer's largest weight: what is smaller counts as pruned."""


# ---- the graph is known ----------------------------------------------------------------------------


def known_graph(profile: Profile, progress: Progress) -> Finding:
    """Networks that are wired like the target, under L1 and under L2."""
    config, seeds = (
        (replace(_QUICK, n_steps=1000), 5) if profile == "quick" else (replace(_FULL, learning_rate=1e-2), 8)
    )
    data = PatchData(4000, seeds, first_seed=_KNOWN_SEED)
    ways = {"l1": (prox_l1, (0.1, 0.3)), "l2": (l2, (0.3, 1.0))}
    trials = {name: run_patches(data, *ways[name], config, width=256, wired=True) for name in each(ways, progress)}
    return judge_known(trials["l1"].error, trials["l2"].error, *(kept_weights(trials[n]) for n in ("l1", "l2")))


def kept_weights(trial: PatchTrial) -> np.ndarray:
    """Per seed, weights of the first layer above a thousandth of the largest, as a share of those that are wired."""
    sizes = trial.network.effective()[0].detach().abs().flatten(1)
    wired = trial.network.masks()[0].flatten(1).sum(1)
    kept: np.ndarray = ((sizes > _SMALL * sizes.amax(1, keepdim=True)).sum(1) / wired).double().cpu().numpy()
    return kept


def judge_known(l1_error: np.ndarray, l2_error: np.ndarray, l1_kept: np.ndarray, l2_kept: np.ndarray) -> Finding:
    both = {"l1": mean_interval(l1_error), "l2": mean_interval(l2_error)}
    ratio = interval_if_known(np.divide(l1_kept, l2_kept, out=np.full(l1_kept.shape, np.nan), where=l2_kept > 0))
    return finding_of(
        [*(judge_at_most(i, 0.1) for i in both.values()), judge_at_most(ratio, 0.8)],
        measured=f"error {both['l1'].text()} (l1), {both['l2'].text()} (l2); weights kept by l1 over l2 {ratio.text()}",
        numbers={"error_l1": l1_error, "error_l2": l2_error, "kept_l1": l1_kept, "kept_l2": l2_kept},
    )


# ---- the graph is not known ------------------------------------------------------------------------

_WIRED, _L1, _L2 = "wired like the target", "dense, l1", "dense, l2"


def l1_approaches_local(profile: Profile, progress: Progress) -> Finding:
    """A wired network, a dense one under L1 and a dense one under L2, each at its best strength."""
    config, seeds, rows = (_QUICK, 4, 2000) if profile == "quick" else (_FULL, 8, 2000)
    data = PatchData(rows, seeds)
    ways = {_WIRED: (l2, (0.3, 1.0), True), _L1: (prox_l1, (0.3, 0.4), False), _L2: (l2, (1.0, 3.0), False)}
    trials = {}
    for name in each(ways, progress):
        penalties, strengths, wired = ways[name]
        trials[name] = run_patches(data, penalties, strengths, config, width=256, wired=wired)
    return judge_l1({n: t.error for n, t in trials.items()}, {n: t.locality for n, t in trials.items()})


def judge_l1(errors: dict[str, np.ndarray], localities: dict[str, Locality]) -> Finding:
    fails = geometric_interval(errors[_L2] / errors[_WIRED])
    better = geometric_interval(errors[_L2] / errors[_L1])
    local = interval_if_known(localities[_L1].value / localities[_L2].value, geometric=True)
    return finding_of(
        [judge_at_least(fails, 5), judge_at_least(better, 1.5), judge_at_least(local, 2)],
        measured=f"l2 over wired {fails.text()}, l2 over l1 {better.text()}, locality of l1 over l2 {local.text()}",
        numbers={
            **{f"error_{n}": e for n, e in errors.items()},
            **{f"locality_{n}": m.value for n, m in localities.items()},
        },
        figures=figure_of(
            "A target of 16 patches, 2,000 rows", errors.items(), "network", "error", middle=np.median, mark="bars",
            log_y=True, y_title="unexplained variance (median, range of seeds)",
        ),
        premises=Premise.at_most("the error of the wired network", errors[_WIRED], 0.5),
    )  # fmt: skip


# ---- pruning ---------------------------------------------------------------------------------------

_FROM_ROUND, _TO_ROUND = 5, 7
"""Rounds in which 17% to 8% of the weights are left; locality is averaged over them."""


def pruning_uncovers_locality(profile: Profile, progress: Progress) -> Finding:
    """Pairs of pixels that a unit of a pruned network reads, on images and on data without local features."""
    kinds: tuple[ImageKind, ...] = ("motifs", "shuffled", "twin", "Gaussian")
    n_seeds = 5 if profile == "quick" else 12
    points: list[tuple[int, np.ndarray, str]] = []
    excess: dict[str, np.ndarray] = {}
    for kind in each(kinds, progress):
        data = ImageData(kind, n_seeds=n_seeds)
        found = [near_pairs(r.network, data.shape, 1) for r in data.prune(_TO_ROUND).rounds]
        excess[kind] = np.mean([f.excess / f.null for f in found[_FROM_ROUND:]], axis=0)
        points += [(i, f.value / f.null, kind) for i, f in enumerate(found)]
    return judge_pruning(excess, points)


def judge_pruning(excess: dict[str, np.ndarray], points: list[tuple[int, np.ndarray, str]]) -> Finding:
    intervals = {kind: interval_if_known(e) for kind, e in excess.items()}
    images = intervals["motifs"]
    bar = float(np.nan_to_num(excess["motifs"].mean()).clip(min=0)) / 3
    above = judge_at_least(Interval(images.low, images.high), 0.05, refuted_below=0.0)
    return finding_of(
        [above, *(judge_at_most(i, bar) for kind, i in intervals.items() if kind != "motifs")],
        measured=", ".join(f"{kind} {i.text()}" for kind, i in intervals.items()) + " (excess over chance)",
        numbers={f"excess_{kind}": e for kind, e in excess.items()},
        figures=figure_of(
            "Neighbouring pixels among those that a unit reads", points, "round", "near", "data",
            x_title="round of pruning (each drops 30% of the weights)", y_title="share over that of chance",
        ),
    )  # fmt: skip


def networks_survive_pruning(profile: Profile, progress: Progress) -> Finding:
    """Test errors on images as weights go."""
    data = ImageData("motifs", n_seeds=5 if profile == "quick" else 12)
    done = data.prune(4, progress)
    errors = [data.errors(r.network) for r in done.rounds]
    return judge_survival(errors[0], errors[3], errors)


def judge_survival(dense: np.ndarray, pruned: np.ndarray, all_rounds: list[np.ndarray]) -> Finding:
    cost = mean_interval(pruned - dense)
    return finding_of(
        judge_at_most(cost, 0.03),
        premises=Premise.at_most("the dense network's error (chance is 0.75)", dense, 0.375),
        measured=f"{cost.text()} more wrong; errors by round {', '.join(f'{e.mean():.3f}' for e in all_rounds)}",
        numbers={"dense": dense, "pruned": pruned},
        figures=figure_of(
            "Error on images as weights go", enumerate(all_rounds), "round", "error",
            x_title="round of pruning (each drops 30% of the weights)", y_title="test error (mean, range of seeds)",
        ),
    )  # fmt: skip


# ---- a convolution embedded in a dense network and trained on (eFCN) --------------------------------

_TO_CHOOSE = 500
_MOST_ERROR = 0.5 * (1 - 1 / CLASSES)
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
    return judge_embedded(
        [_switched(share, images, steps) for share in each((0.1, 0.3, 0.6), progress, "let go after {:g} of training")]
    )


def _switched(share: float, images: ImageData, steps: int) -> _Switched:
    network = ImageNetwork(
        "convolutional", (1, *images.shape), CLASSES, 8, kernel=3, width=64, n_replicas=images.n_seeds,
        random_state=_FIRST,
    )  # fmt: skip
    data, first = images.training(), round(share * steps)
    _train_part(placed(network), data, first, _FIRST)
    loose = embedded(network)
    for one in (network, loose):
        _train_part(one, data, steps - first, _FIRST + 1)
    kept, wrong = (images.wrong(one) for one in (network, loose))
    off = off_local_mass(loose, loose.local_mask()).value.mean()
    chosen_by, error = wrong[:, :_TO_CHOOSE].mean(1), wrong[:, _TO_CHOOSE:].mean(1)
    return _Switched(share, chosen_by, error, kept[:, _TO_CHOOSE:].mean(1), float(off))


def _train_part(network: ImageNetwork, data: TrainingData, n_steps: int, seed: int) -> None:
    """Both parts of training have a whole schedule each, whether the convolution is let go between them or not."""
    config = TrainingConfig(n_steps=n_steps, batch_size=64, learning_rate=3e-3, weight_decay=1e-3)
    train(network, data, config, loss=CrossEntropy(), random_state=seed)


def judge_embedded(found: list[_Switched]) -> Finding:
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
            f"the error of the kept convolution (chance is {1 - 1 / CLASSES:g})", best.kept, _MOST_ERROR
        ),
    )  # fmt: skip

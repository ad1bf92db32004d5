"""Dense networks that are not told the graph: penalties and pruning, beside networks that are wired like the target."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from compsparse.claims.claim import Finding, Premise, Profile
from compsparse.claims.image_trials import ImageData, ImageKind
from compsparse.claims.patch_trials import PatchData, PatchTrial, l2, prox_l1, run_patches
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
from compsparse.measures import Locality, near_pairs
from compsparse.progress import Progress
from compsparse.training import TrainingConfig

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
    return _judge_known(trials["l1"].error, trials["l2"].error, *(kept_weights(trials[n]) for n in ("l1", "l2")))


def kept_weights(trial: PatchTrial) -> np.ndarray:
    """Per seed, weights of the first layer above a thousandth of the largest, as a share of those that are wired."""
    sizes = trial.network.effective()[0].detach().abs().flatten(1)
    wired = trial.network.masks()[0].flatten(1).sum(1)
    kept: np.ndarray = ((sizes > _SMALL * sizes.amax(1, keepdim=True)).sum(1) / wired).double().cpu().numpy()
    return kept


def _judge_known(l1_error: np.ndarray, l2_error: np.ndarray, l1_kept: np.ndarray, l2_kept: np.ndarray) -> Finding:
    both = {"l1": mean_interval(l1_error), "l2": mean_interval(l2_error)}
    ratio = interval_if_known(np.divide(l1_kept, l2_kept, out=np.full(l1_kept.shape, np.nan), where=l2_kept > 0))
    return finding_of(
        [*(judge_at_most(i, 0.1) for i in both.values()), judge_at_most(ratio, 0.8)],
        measured=f"error {both['l1'].text()} (l1), {both['l2'].text()} (l2); weights kept by l1 over l2 {ratio.text()}",
        numbers={
            "error_l1": l1_error,
            "error_l2": l2_error,
            "kept_l1": l1_kept,
            "kept_l2": l2_kept,
        },
    )


# ---- the graph is not known ------------------------------------------------------------------------

_WIRED, _L1, _L2 = "wired like the target", "dense, l1", "dense, l2"


def l1_approaches_local(profile: Profile, progress: Progress) -> Finding:
    """A wired network, a dense one under L1 and a dense one under L2, each at its best strength."""
    config, seeds, rows = (_QUICK, 4, 2000) if profile == "quick" else (_FULL, 8, 2000)
    data = PatchData(rows, seeds)
    ways = {
        _WIRED: (l2, (0.3, 1.0), True),
        _L1: (prox_l1, (0.3, 0.4), False),
        _L2: (l2, (1.0, 3.0), False),
    }
    trials = {}
    for name in each(ways, progress):
        penalties, strengths, wired = ways[name]
        trials[name] = run_patches(data, penalties, strengths, config, width=256, wired=wired)
    return _judge_l1({n: t.error for n, t in trials.items()}, {n: t.locality for n, t in trials.items()})


def _judge_l1(errors: dict[str, np.ndarray], localities: dict[str, Locality]) -> Finding:
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
    return _judge_pruning(excess, points)


def _judge_pruning(excess: dict[str, np.ndarray], points: list[tuple[int, np.ndarray, str]]) -> Finding:
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
    return _judge_survival(errors[0], errors[3], errors)


def _judge_survival(dense: np.ndarray, pruned: np.ndarray, all_rounds: list[np.ndarray]) -> Finding:
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

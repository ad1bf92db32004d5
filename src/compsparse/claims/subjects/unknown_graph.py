"""Dense networks that are not told the graph: penalties, pruning, and a convolution that is let go."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import torch

from compsparse.claims.claim import Profile
from compsparse.claims.declared import Measured
from compsparse.claims.image_trials import (
    CLASSES,
    ImageData,
    ImageKind,
    Method,
    PatchData,
    PatchTrial,
    beta_lasso,
    l2,
    no_penalty,
    prox_l1,
    run_patches,
)
from compsparse.claims.seeds import FIRST_SEED
from compsparse.claims.shapes import each, figure_of, seen
from compsparse.claims.trials import placed
from compsparse.measures import near_pairs, off_local_mass
from compsparse.networks import ImageNetwork, count, embedded
from compsparse.progress import Progress
from compsparse.training import CrossEntropy, ExponentialLoss, TrainingConfig, TrainingData, train

_QUICK = TrainingConfig(n_steps=500, batch_size=64, learning_rate=1e-2, weight_decay=0)
_FULL = TrainingConfig(n_steps=3000, batch_size=128, learning_rate=3e-3, weight_decay=0)
_KNOWN_SEED = FIRST_SEED + 100
"""Of the trials with a known graph: steps and strengths were settled after a look at the seeds before."""
_SMALL = 1e-3
"""Of a layer's largest weight: what is smaller counts as pruned."""


# ---- the graph is known ----------------------------------------------------------------------------


def known_graph(profile: Profile, progress: Progress) -> Measured:
    """Networks of more parameters than rows that are wired like the target, by SGD under L1 and under L2."""
    sizes, seeds, steps = ((1000,), 3, 3000) if profile == "quick" else ((500, 1000, 2000), 8, 10_000)
    config = TrainingConfig(n_steps=steps, batch_size=64, learning_rate=0.05, weight_decay=0, optimizer="sgd")
    ways = {"l1": (prox_l1, (0.01, 0.03)), "l2": (l2, (0.03, 0.1))}
    values: dict[str, np.ndarray] = {}
    for rows, name in each(product(sizes, ways), progress, "{} rows, {}"):
        data = PatchData(rows, seeds, first_seed=_KNOWN_SEED)
        trial = run_patches(data, *ways[name], config, width=512, wired=True)
        values |= {
            f"error of {name}, {rows} rows": trial.error,
            f"training error of {name}, {rows} rows": data.training_errors(trial.network),
            f"weights kept by {name}, {rows} rows": kept_weights(trial),
            f"parameters over rows, {rows} rows": np.array([count(trial.network).parameters / seeds / rows]),
        }
    points = [(rows, values[f"error of {name}, {rows} rows"], name) for rows in sizes for name in ways]
    figure = figure_of("The graph is built in", points, "rows", "error", "penalty", log_y=True,
                       y_title="unexplained variance (mean, range of seeds)")  # fmt: skip
    return Measured(values, (figure,), seen(values, *(n for n in values if n.startswith(("error", "training")))))


def exponential_loss(profile: Profile, progress: Progress) -> Measured:
    """Wired and dense networks of more parameters than rows, by SGD on exp(-y f) of two classes, without a penalty."""
    rows, seeds, steps = (1000, 4, 1500) if profile == "quick" else (2000, 8, 10_000)
    config = TrainingConfig(n_steps=steps, batch_size=64, learning_rate=4e-3, weight_decay=0, optimizer="sgd")
    data = PatchData(rows, seeds, first_seed=FIRST_SEED + 400)
    X, side = data.tables[0], torch.sign(data.tables[1])
    classes = replace(data.training(), y=side.flatten(0, 1))
    values: dict[str, np.ndarray] = {}
    for name in each(("wired", "dense"), progress):
        network = data.masked(512, 1) if name == "wired" else data.dense(64, 1)
        for when in ("early", "late"):  # each a whole schedule
            train(network, classes, config, loss=ExponentialLoss(), seeds=data.seeds)
            with torch.no_grad():
                margins = (network(X) * side).squeeze(-1).double().cpu().numpy()
                norms = [w.flatten(1).norm(dim=1) for w in network.effective()]
            rho = torch.stack(norms).prod(0).detach().double().cpu().numpy()
            values |= {f"rho, {name} {when}": rho, f"margin over rho, {name} {when}": margins[:, :rows].min(1) / rho}
        values[f"training error, {name}"] = 1 - (margins[:, :rows] > 0).mean(1)
        values[f"test error, {name}"] = 1 - (margins[:, rows:] > 0).mean(1)
        values[f"parameters over rows, {name}"] = np.array([count(network).parameters / seeds / rows])
    points = [(name, values[f"test error, {name}"]) for name in ("wired", "dense")]
    figure = figure_of("Exponential loss without a penalty", points, "network", "test error", mark="bars")
    return Measured(values, (figure,), seen(values, "rho"))


def kept_weights(trial: PatchTrial) -> np.ndarray:
    """Per seed, weights of the first layer above a thousandth of the largest, as a share of those that are wired."""
    sizes = trial.network.effective()[0].detach().abs().flatten(1)
    wired = trial.network.masks()[0].flatten(1).sum(1)
    kept: np.ndarray = ((sizes > _SMALL * sizes.amax(1, keepdim=True)).sum(1) / wired).double().cpu().numpy()
    return kept


# ---- the graph is not known ------------------------------------------------------------------------

_Way = tuple[Method, tuple[float, ...], TrainingConfig]


def l1_approaches_local(profile: Profile, progress: Progress) -> Measured:
    """A wired network, a dense one under L1, one under L2, each at its best strength, and one without a penalty."""
    config = _QUICK if profile == "quick" else _FULL
    ways: dict[str, _Way] = {
        "wired": (l2, (0.3, 1.0), config), "dense l1": (prox_l1, (0.3, 0.4), config),
        "dense l2": (l2, (1.0, 3.0), config), "dense, no constraint": (no_penalty, (0.0,), config),
    }  # fmt: skip
    return _on_patches(ways, 4 if profile == "quick" else 8, FIRST_SEED, progress)


def modified_l1(profile: Profile, progress: Progress) -> Measured:
    """A dense network under beta-LASSO, in the plain gradient steps of its rule, beside one under L2."""
    steps, config = (1500, _QUICK) if profile == "quick" else (10_000, _FULL)
    plain = replace(config, n_steps=steps, learning_rate=0.03, optimizer="sgd", momentum=0.0)
    ways: dict[str, _Way] = {
        "dense beta-lasso": (beta_lasso, (0.005, 0.01), plain), "dense l2": (l2, (1.0, 3.0), config)
    }  # fmt: skip
    return _on_patches(ways, 4 if profile == "quick" else 8, FIRST_SEED + 300, progress)


def _on_patches(ways: dict[str, _Way], n_seeds: int, first_seed: int, progress: Progress) -> Measured:
    data = PatchData(2000, n_seeds, first_seed=first_seed)
    trials = {}
    for name in each(ways, progress):
        penalties, strengths, config = ways[name]
        trials[name] = run_patches(data, penalties, strengths, config, width=256, wired=name == "wired")
    values = {f"error, {name}": trial.error for name, trial in trials.items()}
    values |= {f"locality, {name}": trial.locality.value for name, trial in trials.items()}
    figure = figure_of(
        "A target of 16 patches, 2,000 rows", [(n, t.error) for n, t in trials.items()], "network", "error",
        middle=np.median, mark="bars", log_y=True, y_title="unexplained variance (median, range of seeds)",
    )  # fmt: skip
    return Measured(values, (figure,), seen(values, "error", "locality"))


# ---- pruning ---------------------------------------------------------------------------------------

_FROM_ROUND, _TO_ROUND = 5, 7
"""Rounds in which 17% to 8% of the weights are left; locality is averaged over them."""


def pruning_uncovers_locality(profile: Profile, progress: Progress) -> Measured:
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
    figure = figure_of(
        "Neighbouring pixels among those that a unit reads", points, "round", "near", "data",
        x_title="round of pruning (each drops 30% of the weights)", y_title="share over that of chance",
    )  # fmt: skip
    return Measured({f"excess, {kind}": found for kind, found in excess.items()}, (figure,))


def networks_survive_pruning(profile: Profile, progress: Progress) -> Measured:
    """Test errors on images as weights go."""
    data = ImageData("motifs", n_seeds=5 if profile == "quick" else 12)
    errors = [data.errors(r.network) for r in data.prune(_TO_ROUND, progress).rounds]
    figure = figure_of(
        "Error on images as weights go", enumerate(errors), "round", "error",
        x_title="round of pruning (each drops 30% of the weights)", y_title="test error (mean, range of seeds)",
    )  # fmt: skip
    also = f"errors by round {', '.join(f'{e.mean():.3f}' for e in errors)}"
    return Measured({"dense": errors[0], "pruned": errors[-1]}, (figure,), also)


# ---- a convolution embedded in a dense network and trained on (eFCN) --------------------------------

_TO_CHOOSE = 500
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


def embedded_can_win(profile: Profile, progress: Progress) -> Measured:
    """Test errors for several times at which the convolution is let go."""
    rows, steps, n_seeds = (1500, 400, 5) if profile == "quick" else (10_000, 3000, 8)
    images = ImageData("motifs", rows, n_seeds, _FIRST, to_choose=_TO_CHOOSE)
    found = [_switched(share, images, steps) for share in each((0.1, 0.3, 0.6), progress, "let go after {:g}")]
    best = min(found, key=lambda f: float(f.chosen_by.mean()))
    points = [(f.share, e, name) for f in found for name, e in (("let go", f.error), ("kept convolutional", f.kept))]
    figure = figure_of(
        "A convolution that is let go", points, "share", "error", "network",
        x_title="share of training before it is let go", y_title="test error (mean, range of seeds)",
    )  # fmt: skip
    also = f"let go after {best.share:g} of training; off-local mass in the end {best.off_local:.2g}"
    return Measured({"let go": best.error, "kept": best.kept}, (figure,), f"{also}; {best.kept.mean():.3f} wrong kept")


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

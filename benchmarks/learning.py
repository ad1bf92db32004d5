"""What training finds when nobody gives it the graph: error and locality of every way to train a dense network.

The pilot task: white Gaussian images of 12 by 12 pixels, target = sum over 16 disjoint patches p of abs(w_p . x_p),
256 hidden units, five seeds as replicas. ``--full`` trains S-FC with and without beta-LASSO, S-LOCAL and S-CONV on
generated images of 32 by 32 pixels, best on a GPU: ``python benchmarks/learning.py --full --device cuda``.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import torch
from _report import finish, median_seconds, print_table

from compsparse.claims.image_trials import (
    DECAY_ABOVE,
    ImageData,
    PatchData,
    PatchTrial,
    l2,
    patch_trial,
    prox_l1,
    run_patches,
)
from compsparse.measures import graph_f1, near_pairs, off_local_mass
from compsparse.networks import ImageNetwork, layered
from compsparse.tasks import MotifImages
from compsparse.training import (
    BetaLasso,
    CrossEntropy,
    ProximalL1,
    PruningConfig,
    RegrowthConfig,
    TrainingConfig,
    TrainingData,
    WeightDecay,
    prune,
    regrow,
    reused_allocations,
    train,
)

ROWS, SEEDS, WIDTH = 2000, 5, 256
DENSE = TrainingConfig(n_steps=1500, batch_size=128, learning_rate=3e-3, weight_decay=0)
WIRED = TrainingConfig(n_steps=1500, batch_size=128, learning_rate=1e-2, weight_decay=0)
PLAIN_SGD = TrainingConfig(
    n_steps=3000, batch_size=64, learning_rate=8e-3, weight_decay=0, optimizer="sgd", momentum=0, schedule="cosine"
)
ROUND = TrainingConfig(n_steps=500, batch_size=64, learning_rate=3e-3, weight_decay=0)
JUDGED_ROUND = 6
"""0.7^6 of the weights are left, 12%: sparse, and well before the units come apart."""


def beta_lasso(strengths):
    return [BetaLasso(strengths, layers=[0]), BetaLasso([s / 4 for s in strengths], layers=slice(1, None))]


def row(name: str, data: PatchData, trial: PatchTrial, seconds: float) -> list[object]:
    agreement = [
        graph_f1(trial.network.effective()[0][s : s + 1], g, n_draws=3, random_state=0)
        for s, g in enumerate(data.graphs)
    ]
    mean, spread = float(trial.error.mean()), float(trial.error.std(ddof=1) / np.sqrt(len(trial.error)))
    local, null = float(trial.locality.value.mean()), float(trial.locality.null.mean())
    f1, f1_null = (float(np.mean([getattr(a, part) for a in agreement])) for part in ("value", "null"))
    return [name, f"{mean:.3f} ± {spread:.3f}", local, null, f1, f1_null, float(trial.density.mean()), seconds]


def penalised(data: PatchData, rows: list) -> dict[str, PatchTrial]:
    ways = {
        "wired like the target": (l2, (0.3, 1.0, 3.0), WIRED, True),
        "dense, prox-L1 below, decay above": (prox_l1, (0.2, 0.3, 0.4), DENSE, False),
        "dense, L2": (l2, (1.0, 3.0, 10.0), DENSE, False),
        "dense, no penalty": (l2, (0.0,), DENSE, False),
        "dense, SGD": (beta_lasso, (0.0,), PLAIN_SGD, False),
        "dense, SGD, beta-LASSO (50)": (beta_lasso, (1e-4, 1e-3), PLAIN_SGD, False),
    }
    found = {}
    for name, (penalties, strengths, config, wired) in ways.items():
        started = time.perf_counter()
        found[name] = run_patches(data, penalties, strengths, config, width=WIDTH, wired=wired)
        rows.append(row(name, data, found[name], time.perf_counter() - started))
        print(*rows[-1], flush=True)
    return found


def regrown(data: PatchData, rows: list) -> None:
    for growth, name in (("gradient", "RigL"), ("random", "SET")):
        started = time.perf_counter()
        network = regrow(
            data.dense(WIDTH, 1),
            data.training(1),
            DENSE,
            regrowth=RegrowthConfig(density=0.1, growth=growth),
            penalties={"weight_decay": 1.0},
            seeds=data.seeds,
        ).network
        trial = patch_trial(network, data.errors(network, 1)[1][:, 0], np.full(data.n_seeds, 0.1))
        rows.append(row(f"{name}, density 0.1", data, trial, time.perf_counter() - started))
        print(*rows[-1], flush=True)


def pruned(data: PatchData, name: str, rows: list, n_rounds: int) -> list[PatchTrial]:
    started = time.perf_counter()
    done = prune(
        data.dense(WIDTH, 1),
        data.training(1),
        ROUND,
        pruning=PruningConfig(n_rounds=n_rounds, rewind_step=50),
        penalties={"weight_decay": 1.0},
        seeds=data.seeds,
    )
    trials = []
    for r in done.rounds:
        trials.append(patch_trial(r.network, data.errors(r.network, 1)[1][:, 0], r.density))
        rows.append(row(f"{name}, round {r.number}", data, trials[-1], time.perf_counter() - started))
    return trials


def z(excess: np.ndarray) -> float:
    """Standard errors, over seeds, by which locality is above its null."""
    error = float(excess.std(ddof=1) / np.sqrt(len(excess)))
    return float(excess.mean()) / error if error else 0.0


def images(figures: dict[str, float]) -> None:
    rows = []
    for kind in ("motifs", "Gaussian"):
        data = ImageData(kind, n_seeds=SEEDS, first_seed=0)
        done = data.prune(n_rounds=8)
        for r in done.rounds:
            near = near_pairs(r.network, data.shape, 1)
            error = data.errors(r.network).mean()
            rows.append([kind, r.number, r.density.mean(), error, near.value.mean(), near.null[0], z(near.excess)])
            if r.number == JUDGED_ROUND:
                figures[f"pruned_images_z_{kind.lower()}"] = z(near.excess)
    print_table(["images", "round", "density", "test error", "near pairs", "null", "z over seeds"], rows)


MOST_COST, MOST_COST_ON_A_GPU = 8, 1.5
"""Of 64 replicas over one."""


def replicas(device: str | None = None) -> float:
    """Time of a step of 64 pilot networks over that of one."""

    def step(n_replicas: int):
        network = layered([144, WIDTH, 1], n_replicas=n_replicas, random_state=0, device=device)
        generator = torch.Generator().manual_seed(0)
        data = TrainingData(*(torch.randn(2000, n, generator=generator).to(device) for n in (144, 1)))
        config = TrainingConfig(n_steps=200, batch_size=32, evaluate_every=200, weight_decay=0)
        penalties = [ProximalL1(0.1, layers=[0]), WeightDecay(DECAY_ABOVE, layers=[1])]
        return lambda: train(network, data, config, penalties=penalties, random_state=0)

    with reused_allocations():
        one, many = (median_seconds(step(n), repeats=3, warm_up=1) for n in (1, 64))
    return many / one


def quick() -> None:
    data, rows, figures = PatchData(ROWS, SEEDS, first_seed=0), [], {}
    columns = ["way", "test error", "locality", "null", "graph F1", "null", "density", "seconds"]
    figures["cost_of_64_replicas"] = replicas()
    found = penalised(data, rows)
    regrown(data, rows)
    controls = {}
    trials = pruned(data, "pruned", rows, n_rounds=12)
    for name, control in (
        ("scattered", PatchData(ROWS, SEEDS, scattered=True, first_seed=0)),
        ("shuffled", PatchData(ROWS, SEEDS, shuffled=True, first_seed=0)),
    ):
        controls[name] = pruned(control, f"{name}, pruned", rows, n_rounds=JUDGED_ROUND)
    print_table(columns, rows)
    images(figures)
    wired, l1, decayed = (
        found[name] for name in ("wired like the target", "dense, prox-L1 below, decay above", "dense, L2")
    )
    figures |= {
        "error_wired": wired.error.mean(),
        "error_l1": l1.error.mean(),
        "error_l2": decayed.error.mean(),
        "error_l1_over_wired": l1.error.mean() / wired.error.mean(),
        "error_l2_over_l1": decayed.error.mean() / l1.error.mean(),
        "locality_l1": l1.locality.value.mean(),
        "locality_l1_over_l2": l1.locality.value.mean() / decayed.locality.value.mean(),
        "pruned_z": z(trials[JUDGED_ROUND].locality.excess),
        "pruned_z_scattered": z(controls["scattered"][JUDGED_ROUND].locality.excess),
        "pruned_z_shuffled": z(controls["shuffled"][JUDGED_ROUND].locality.excess),
        "pruned_best_error": min(t.error.mean() for t in trials),
    }
    finish(
        figures,
        {
            "error_l1_over_wired": (">=", 2),
            "error_l2_over_l1": (">=", 1.5),
            "locality_l1_over_l2": (">=", 2),
            "pruned_z": (">=", 3),
            "pruned_z_scattered": ("<=", 3),
            "pruned_z_shuffled": ("<=", 3),
            "pruned_images_z_motifs": (">=", 3),
            "pruned_images_z_gaussian": ("<=", 3),
            "cost_of_64_replicas": ("<=", MOST_COST),
        },
    )


# ---- the full profile ------------------------------------------------------------------------------

SIDE, CLASSES, CHANNELS = 32, 10, 16


def full(device: str | None, n_rows: int, n_epochs: int) -> None:
    """S-FC with and without beta-LASSO, S-LOCAL and S-CONV, with the paper's settings."""
    task = MotifImages(size=SIDE, n_classes=CLASSES, motif=7, copies=3, background=0.7, random_state=0)
    X, y = task.sample(n_rows + min(n_rows, 10_000), random_state=1)
    place = torch.device(device or "cpu")
    inputs = torch.as_tensor((X - X[:n_rows].mean()) / X[:n_rows].std(), dtype=torch.float32, device=place)
    classes = torch.as_tensor(y, device=place)
    data = TrainingData(inputs, classes, train=(torch.arange(n_rows),) * 2)
    config = TrainingConfig(
        n_epochs=n_epochs, batch_size=512, learning_rate=0.1, weight_decay=0, optimizer="sgd", momentum=0,
        schedule="cosine", evaluate_every=10**6,
    )  # fmt: skip
    ways = {
        "S-FC, SGD": ("dense", None),
        "S-FC, L1 by subgradients (beta 0)": ("dense", 0.0),
        "S-FC, beta-LASSO (beta 50)": ("dense", 50.0),
        "S-LOCAL, SGD": ("local", None),
        "S-CONV, SGD": ("convolutional", None),
    }
    rows, figures = [], {}
    for name, (first, beta) in ways.items():
        started = time.perf_counter()
        network = ImageNetwork(first, (1, SIDE, SIDE), CLASSES, CHANNELS, n_replicas=2, random_state=0, device=device)
        penalties = [] if beta is None else [
            BetaLasso(2e-5, layers=[0], beta=beta), BetaLasso(5e-6, layers=slice(1, None), beta=beta)
        ]  # fmt: skip
        train(network, data, config, loss=CrossEntropy(), penalties=penalties, random_state=0)
        error = _test_error(network, inputs[n_rows:], classes[n_rows:])
        mask, weight = network.local_mask(), network.effective()[0].detach()
        off, density = off_local_mass(weight, mask), float((weight != 0).double().mean())
        near = near_pairs(strongest(weight[:1, ::16]), (SIDE, SIDE), 4)
        measured = [error.mean(), density, off.value.mean(), off.null[0], near.value[0], near.null[0]]
        rows.append([name, *measured, time.perf_counter() - started])
        print(*rows[-1], flush=True)
        figures[f"test_error_{name}"] = error.mean()
        figures[f"near_pairs_{name}"] = near.value[0]
    print_table(["way", "test error", "density", "off-local mass", "null", "near pairs", "null", "seconds"], rows)
    finish(figures, {})


def strongest(weight: torch.Tensor, share: float = 0.02) -> torch.Tensor:
    """The largest weights of every unit; the others are zero."""
    n = max(2, round(share * weight.shape[-1]))
    return weight * (weight.abs() >= weight.abs().topk(n, dim=-1).values[..., -1:])


@torch.no_grad()
def _test_error(network, X, y) -> np.ndarray:
    wrong = [(network(X[i : i + 2000]).argmax(-1) != y[i : i + 2000]).double() for i in range(0, len(X), 2000)]
    return torch.cat(wrong, dim=1).mean(1).cpu().numpy()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--replicas", action="store_true", help="only what 64 replicas cost")
    parser.add_argument("--device")
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--epochs", type=int, default=100)
    given = parser.parse_args()
    if given.full:
        full(given.device, given.rows, given.epochs)
    elif given.replicas:
        most = MOST_COST if given.device in (None, "cpu") else MOST_COST_ON_A_GPU
        finish({"cost_of_64_replicas": replicas(given.device)}, {"cost_of_64_replicas": ("<=", most)})
    else:
        quick()

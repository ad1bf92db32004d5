"""What weight decay does to norms, ranks and features of networks trained by the square loss on digits."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch

from compsparse.claims.claim import Profile
from compsparse.claims.declared import Measured
from compsparse.claims.seeds import FIRST_SEED
from compsparse.claims.shapes import each, figure_of, seen
from compsparse.claims.trials import answers_of, gpu_if_any, placed
from compsparse.measures import Dynamics, DynamicsLog, equilibrium_rho
from compsparse.measures.dynamics import label_margins
from compsparse.networks import HomogeneousNetwork
from compsparse.progress import Progress
from compsparse.training import SquaredNorm, TrainingConfig, train, training_data

_TRAIN_ROWS = 1000


def _digits() -> tuple[np.ndarray, np.ndarray]:
    """Rows of 64 pixels from 0 to 1, shuffled, and their classes."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(FIRST_SEED).permutation(len(X))
    return X[order] / 16.0, y[order]


@dataclass(frozen=True)
class _Trained:
    network: HomogeneousNetwork
    points: list[Dynamics]
    test_error: np.ndarray


def _train(X: np.ndarray, y: np.ndarray, decay: float, n_seeds: int, n_steps: int, n_outputs: int = 10) -> _Trained:
    """Two hidden layers without biases, Adam, the square loss with targets 0 and 1 (or -1 and 1) and weight decay."""
    network = HomogeneousNetwork(64, n_outputs, width=64, depth=2, n_replicas=n_seeds, random_state=FIRST_SEED)
    targets = np.eye(n_outputs)[y] if n_outputs > 1 else 2.0 * y - 1
    log = DynamicsLog(X[:_TRAIN_ROWS], y[:_TRAIN_ROWS])
    log.look(placed(network), 0)
    data = training_data(X[:_TRAIN_ROWS], targets[:_TRAIN_ROWS], device=gpu_if_any())
    config = TrainingConfig(
        n_steps=n_steps, batch_size=200, learning_rate=3e-3, weight_decay=0.0, schedule="cosine",
        evaluate_every=n_steps // 5,
    )  # fmt: skip
    # the loss is a mean over outputs and the norm is not, so that equal decays mean equal pulls
    train(network, data, config, penalties=[SquaredNorm(decay)], callbacks=[log], random_state=FIRST_SEED)
    log.look(network, n_steps)
    test = DynamicsLog(X[_TRAIN_ROWS:], y[_TRAIN_ROWS:]).look(network, n_steps)
    return _Trained(network, log.points, test.error)


def decay_lowers_rho_and_rank(profile: Profile, progress: Progress) -> Measured:
    """Norms and stable ranks at the end of training, over decays of four sizes."""
    n_seeds, n_steps = (4, 1500) if profile == "quick" else (8, 10_000)
    X, y = _digits()
    decays = (1e-6, 1e-5, 1e-4, 1e-3)
    found = {decay: _train(X, y, decay, n_seeds, n_steps) for decay in each(decays, progress, "weight decay {:g}")}
    values: dict[str, np.ndarray] = {}
    points = []
    for decay, run in found.items():
        end = run.points[-1]
        ranks = {f"stable rank of layer {i + 1}": end.stable_ranks[:, i] for i in (0, 1)}
        values |= {f"{name}, {decay:g}": v for name, v in ({"rho": end.rho} | ranks).items()}
        values[f"test error, {decay:g}"] = run.test_error
        points += [(decay, v, name) for name, v in ({"rho": end.rho} | ranks).items()]
    figure = figure_of("Norms and ranks after training on digits", points, "weight decay", "value", "measure",
                       log_x=True, log_y=True, y_title="value (mean, range over seeds)")  # fmt: skip
    return Measured(values, (figure,), seen(values, "test error"))


def rho_at_equilibrium(profile: Profile, progress: Progress) -> Measured:
    """The product of norms that training ends with, beside the formula on the normalised network."""
    n_seeds, n_steps = (4, 2000) if profile == "quick" else (8, 20_000)
    X, digits = _digits()
    y = digits % 2
    ratios: dict[str, np.ndarray] = {}
    for decay in each((3e-4, 1e-3, 3e-3), progress, "weight decay {:g}"):
        run = _train(X, y, decay, n_seeds, n_steps, n_outputs=1)
        end = run.points[-1]
        answers = torch.as_tensor(answers_of(run.network, X[:_TRAIN_ROWS]))
        margins = label_margins(answers, torch.as_tensor(y[:_TRAIN_ROWS])).double().numpy()
        ratios[f"{decay:g}"] = np.array([_over_equilibrium(r, f, decay) for r, f in zip(end.rho, margins, strict=True)])
    values = {f"rho over the formula, {decay}": r for decay, r in ratios.items()}
    values |= {f"share of seeds with an equilibrium, {decay}": np.isfinite(r) for decay, r in ratios.items()}
    figure = figure_of(
        "Rho over its equilibrium, odd against even digits", [(float(d), r) for d, r in ratios.items()],
        "weight decay", "ratio", mark="points", log_x=True, y_title="rho / formula (mean, range over seeds)",
    )  # fmt: skip
    return Measured(values | {"one": 1.0}, (figure,))


def _over_equilibrium(rho: float, margins: np.ndarray, decay: float) -> float:
    """Rho over what the formula says of the normalised network; NaN where the formula has zero alone."""
    said = equilibrium_rho(margins / rho, decay, n_layers=3) if rho > 0 else 0.0
    return rho / said if said > 0 else math.nan


def features_collapse(profile: Profile, progress: Progress) -> Measured:
    """The signs of neural collapse along training, with weight decay."""
    n_seeds, n_steps = (4, 2500) if profile == "quick" else (8, 20_000)
    X, y = _digits()
    run = _train(X, y, 1e-4, n_seeds, n_steps)
    progress.update(1, 1, "digits")
    signs = {
        "within": "NC1 within classes", "angles": "NC2 angles", "lengths": "NC2 lengths", "duality": "NC3 duality",
        "nearest": "NC4 nearest mean",
    }  # fmt: skip
    values = {"training error early": run.points[1].error, "training error late": run.points[-1].error}
    for name in signs:
        early, late = (getattr(run.points[i].collapse, name) for i in (1, -1))
        values |= {f"{name} early": early + 1e-6, f"{name} late": late + 1e-6}
    points = [
        (p.step, float(getattr(p.collapse, name).mean()), sign) for p in run.points for name, sign in signs.items()
    ]
    figure = figure_of("Neural collapse on digits", points, "step", "value", "sign",
                       y_title="distance from collapse")  # fmt: skip
    return Measured(values, (figure,), seen(values, "lengths late", "nearest late"))

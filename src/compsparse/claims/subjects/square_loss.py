"""What weight decay does to norms, ranks and features of networks trained by the square loss on digits."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch

from compsparse.claims.claim import Finding, Outcome, Premise, Profile
from compsparse.claims.rules import interval_if_known, judge_at_least, judge_at_most, judge_equal
from compsparse.claims.seeds import FIRST_SEED
from compsparse.claims.shapes import each, figure_of, finding_of
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


def decay_lowers_rho_and_rank(profile: Profile, progress: Progress) -> Finding:
    """Norms and stable ranks at the end of training, over decays of four sizes."""
    n_seeds, n_steps = (4, 1500) if profile == "quick" else (8, 10_000)
    X, y = _digits()
    decays = (1e-6, 1e-5, 1e-4, 1e-3)
    found = {decay: _train(X, y, decay, n_seeds, n_steps) for decay in each(decays, progress, "weight decay {:g}")}
    ends = {decay: run.points[-1] for decay, run in found.items()}
    return judge_decay(ends, {decay: run.test_error for decay, run in found.items()})


def judge_decay(ends: dict[float, Dynamics], test_errors: dict[float, np.ndarray]) -> Finding:
    least, most = min(ends), max(ends)
    rhos = _over(ends[least].rho, ends[most].rho)
    rho = interval_if_known(rhos, geometric=True)
    ranks = [
        interval_if_known(_over(ends[least].stable_ranks[:, i], ends[most].stable_ranks[:, i]), geometric=True)
        for i in (0, 1)
    ]
    points = [
        (decay, values, name)
        for decay, end in ends.items()
        for name, values in (
            ("rho", end.rho),
            ("stable rank, layer 1", end.stable_ranks[:, 0]),
            ("stable rank, layer 2", end.stable_ranks[:, 1]),
        )
    ]
    return finding_of(
        [judge_at_least(rho, 3, refuted_below=1), *(judge_at_least(r, 1.25, refuted_below=1) for r in ranks)],
        premises=tuple(
            Premise.at_most(f"the test error at weight decay {decay:g}", e, 0.2) for decay, e in test_errors.items()
        ),
        expected=f"from weight decay {least:g} to {most:g}, rho falls by a factor of 3 at least and the stable rank of "
        "both hidden layers by a quarter at least, by the 95% interval over seeds; refuted if one rises, by all of it",
        measured=f"rho {ends[least].rho.mean():.0f} to {ends[most].rho.mean():.1f} (a factor {rho.text()}); stable "
        "ranks "
        + ", ".join(
            f"{ends[least].stable_ranks[:, i].mean():.1f} to {ends[most].stable_ranks[:, i].mean():.1f} ({r.text()})"
            for i, r in enumerate(ranks)
        )
        + "; test error "
        + ", ".join(f"{e.mean():.3f} at {decay:g}" for decay, e in test_errors.items()),
        numbers={
            "rho ratio": rhos,
            **{f"rho at {decay:g}": end.rho for decay, end in ends.items()},
            **{f"test error at {decay:g}": e for decay, e in test_errors.items()},
        },
        figures=figure_of("Norms and ranks after training on digits", points, "weight decay", "value", "measure",
                          log_x=True, log_y=True, y_title="value (mean, range over seeds)"),
    )  # fmt: skip


def _over(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Ratios; NaN over what is zero, as the weights of networks that learned nothing may be."""
    ratios: np.ndarray = np.divide(a, b, out=np.full(a.shape, np.nan), where=b > 0)
    return ratios


def rho_at_equilibrium(profile: Profile, progress: Progress) -> Finding:
    """The product of norms that training ends with, beside the formula on the normalised network."""
    n_seeds, n_steps = (4, 2000) if profile == "quick" else (8, 20_000)
    X, digits = _digits()
    y = digits % 2
    ratios = {}
    for decay in each((3e-4, 1e-3, 3e-3), progress, "weight decay {:g}"):
        run = _train(X, y, decay, n_seeds, n_steps, n_outputs=1)
        end = run.points[-1]
        answers = torch.as_tensor(answers_of(run.network, X[:_TRAIN_ROWS]))
        margins = label_margins(answers, torch.as_tensor(y[:_TRAIN_ROWS])).double().numpy()
        ratios[decay] = np.array([_over_equilibrium(r, f, decay) for r, f in zip(end.rho, margins, strict=True)])
    return judge_equilibrium(ratios)


def _over_equilibrium(rho: float, margins: np.ndarray, decay: float) -> float:
    """Rho over what the formula says of the normalised network; NaN where the formula has zero alone."""
    said = equilibrium_rho(margins / rho, decay, n_layers=3) if rho > 0 else 0.0
    return rho / said if said > 0 else math.nan


def judge_equilibrium(ratios: dict[float, np.ndarray]) -> Finding:
    intervals = {decay: interval_if_known(r) for decay, r in ratios.items()}
    known = {decay: bool(np.isfinite(r).all()) for decay, r in ratios.items()}
    return finding_of(
        [judge_equal(r - 1, 0.05) if known[decay] else Outcome.INCONCLUSIVE for decay, r in ratios.items()],
        measured="rho over the formula: " + ", ".join(f"{i.text(3)} at {decay:g}" for decay, i in intervals.items()),
        numbers={f"ratio at {decay:g}": r for decay, r in ratios.items()},
        figures=figure_of(
            "Rho over its equilibrium, odd against even digits", ratios.items(), "weight decay", "ratio", mark="points",
            log_x=True, y_title="rho / formula (mean, range over seeds)",
        ),
        premises=tuple(
            Premise(
                f"the answers at decay {decay:g} have a sign of their own and are right on average, so that rho has an "
                "equilibrium above zero",
                "they do" if is_known else "in some seed they do not",
                is_known,
            )
            for decay, is_known in known.items()
        ),
    )  # fmt: skip


_LEAST_FALL = 0.05
"""Share by which a distance must fall to be called a fall."""


def features_collapse(profile: Profile, progress: Progress) -> Finding:
    """The signs of neural collapse along training, with weight decay."""
    n_seeds, n_steps = (4, 2500) if profile == "quick" else (8, 20_000)
    X, y = _digits()
    run = _train(X, y, 1e-4, n_seeds, n_steps)
    progress.update(1, 1, "digits")
    return judge_collapse(run.points)


def judge_collapse(along: list[Dynamics]) -> Finding:
    early, late = along[1], along[-1]
    signs = {
        "within": "NC1 within classes", "angles": "NC2 angles", "lengths": "NC2 lengths", "duality": "NC3 duality",
        "nearest": "NC4 nearest mean",
    }  # fmt: skip
    falls = {
        name: interval_if_known(
            (getattr(late.collapse, name) + 1e-6) / (getattr(early.collapse, name) + 1e-6), geometric=True
        )
        for name in ("within", "angles", "lengths", "duality")
    }
    points = [(p.step, float(getattr(p.collapse, name).mean()), sign) for p in along for name, sign in signs.items()]
    return finding_of(
        [judge_at_most(falls[name], 1 - _LEAST_FALL, refuted_above=1.0) for name in ("within", "angles", "duality")],
        premises=(
            Premise.at_most("the training error after a fifth of training", early.error, 0.1),
            Premise.at_most("the training error at the end", late.error, 0.01),
        ),
        measured=f"training error {early.error.mean():.3f} then {late.error.mean():.3f}; factors: "
        + ", ".join(f"{name} {i.text()}" for name, i in falls.items())
        + f"; NC4 {late.collapse.nearest.mean():.3f}",
        numbers={name: getattr(late.collapse, name) for name in signs},
        figures=figure_of("Neural collapse on digits", points, "step", "value", "sign",
                          y_title="distance from collapse"),
    )  # fmt: skip

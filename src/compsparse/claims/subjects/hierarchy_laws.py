"""How many data random hierarchies need: laws of P* in the sizes of the model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from compsparse.claims.claim import Finding, Profile
from compsparse.claims.laws import LawPart, law_figure, law_finding
from compsparse.claims.p_star import Measured, measure_p_star
from compsparse.claims.rules import StatedExponent
from compsparse.claims.seeds import FIRST_SEED
from compsparse.claims.shapes import each
from compsparse.claims.trials import gpu_if_any
from compsparse.progress import Progress
from compsparse.report.figure import Figure
from compsparse.sweeps.kinds.hierarchy import HierarchyRun, Learner
from compsparse.sweeps.kinds.paper import rhm_protocol, srhm_sizes

CAGNETTA = "Cagnetta, Petrini, Tomasini, Favero and Wyart 2024"
TOMASINI = "Tomasini and Wyart 2024 (arXiv:2404.10727)"

_RATE = 0.05
"""Before the factor of the width, for every sparse setting: the largest at which all of them train.

The paper takes a rate per depth and sparsity. Small ones cost data as well as steps, so that exponents measured with
them are partly those of its table of rates.
"""
_RATE_CAVEAT = (
    f"one learning rate, {_RATE:g} times the width, for all settings; the paper's table of rates gives other P*",
)
_Models = Sequence[tuple[int, int, tuple[int, ...]]]
"""Levels, features and the numbers of empty slots."""


def hierarchy_run(
    learner: Learner, v: int, depth: int, s0: int = 0, *, width: int, n_epochs: int = 200, sensitivities: bool = False
) -> HierarchyRun:
    """A run by the paper's sizes, but narrower, at one learning rate and stopped at a training loss of 0.01.

    A run that has not reached it after ``n_epochs`` is stuck; more epochs do not change its test error much.
    """
    return HierarchyRun(
        n_train=2,
        n_features=v,
        sensitivities=sensitivities,
        **srhm_sizes(learner, depth, s0),
        width=width,
        learning_rate=_RATE,
        batch_size=None,
        schedule="constant",
        n_epochs=n_epochs,
        stop_at_loss=0.01,
        n_test=4000,
    )


def dense_law(profile: Profile, progress: Progress) -> Finding:
    """P* against n_c m^L on the dense model."""
    full = profile == "full"
    models = (
        ((2, 7), (2, 9), (2, 11), (2, 14), (3, 5), (3, 7), (3, 9), (4, 5))
        if full
        else ((2, 5), (2, 7), (2, 9), (2, 12), (3, 3), (3, 4), (3, 5))
    )
    points, clusters = [], []
    for depth, v in each(models, progress, "L={}, v={}"):
        setting = HierarchyRun(n_train=2, n_features=v, n_levels=depth, **rhm_protocol(128 if full else 64))
        n_seeds, natural = 6 if full else 3, setting.model.natural_size
        points.append(_measured(setting, 2.5 * natural, n_seeds))
        clusters.append(_measured(replace(setting, learner="clustering"), 1.3 * natural, 2 * n_seeds))
    part = LawPart("", points, {"n_c m^L": _natural}, {"n_c m^L": StatedExponent(1.0, rivals=(0.75, 1.25))})
    figure = law_figure(
        "P* of the dense model", (*_by_depth("CNN", points), *_by_depth("clustering", clusters)), _natural, "n_c m^L"
    )
    return law_finding(
        [part],
        figure,
        caveats=(
            "m = v = n_c throughout, so the rivals are n_c m^(L-1) and n_c m^(L+1) at L = 3; classes-and-synonyms "
            "varies n_c and m apart",
            "clustering knows v, m, s and L and reads the rules off label statistics: the line to compare with",
        ),
    )


def sparse_cnn_law(profile: Profile, progress: Progress) -> Finding:
    """P* of CNNs against s0 + 1, at L = 3, where the law of locally connected networks is another; full: at L = 2 too.

    In the full profile sizes are others than those at which the learning rate was chosen.
    """
    models: _Models = ((3, 3, (0, 1, 2)), (3, 4, (0, 1)))
    if profile == "full":
        models = ((2, 7, (0, 1, 2, 4)), (2, 9, (0, 1, 2, 4)), (3, 3, (0, 1, 2, 3)), (3, 5, (0, 1, 2)))
    return _sparse_law("cnn", models, lambda depth: 2, lambda depth, s0: 2.4 * (s0 + 1) ** 2, profile, progress)


def sparse_lcn_law(profile: Profile, progress: Progress) -> Finding:
    """P* of locally connected networks against s0 + 1, as for CNNs."""
    models: _Models = ((3, 3, (0, 1, 2)), (3, 4, (0, 1)))
    if profile == "full":
        models = ((2, 7, (0, 1, 2, 3)), (2, 9, (0, 1, 2)), (3, 3, (0, 1, 2, 3)), (3, 5, (0, 1)))
    return _sparse_law("lcn", models, lambda depth: depth, _lcn_guess, profile, progress)


def classes_and_synonyms(profile: Profile, progress: Progress) -> Finding:
    """P* against n_c and against m, the other fixed."""
    full = profile == "full"
    v = 14 if full else 9
    by_classes = [(n_c, 7 if full else 5) for n_c in ((2, 4, 7, 14) if full else (2, 4, 9))]
    by_synonyms = [(v // 2, m) for m in ((4, 5, 7, 10, 14) if full else (3, 5, 7, 9))]
    settings = list(dict.fromkeys(by_classes + by_synonyms))
    points = []
    for n_c, m in each(settings, progress, "n_c={}, m={}"):
        protocol = rhm_protocol(128 if full else 64)
        setting = HierarchyRun(n_train=2, n_features=v, n_classes=n_c, multiplicity=m, **protocol)
        points.append(_measured(setting, 2.5 * setting.model.natural_size, 5 if full else 3))
    part = LawPart(
        "",
        points,
        {"n_c": lambda p: p.setting.model.n_labels, "m": lambda p: p.setting.model.m},
        {"n_c": StatedExponent(1.0, rivals=(0.5, 1.5)), "m": StatedExponent(2.0, rivals=(1.0, 3.0))},
    )
    figure = Figure(
        f"P* with n_c and m apart (v={v}, L=2)",
        tuple(
            {"m": p.setting.model.m, "P*": p.p_star.value, "low": p.p_star.low, "high": p.p_star.high,
             "classes": f"n_c={p.setting.model.n_labels}"}
            for p in points
        ), "m", "P*", series="classes", low="low", high="high", log_x=True, log_y=True,
    )  # fmt: skip
    return law_finding([part], figure)


# ---- parts shared by the laws --------------------------------------------------------------------


def _measured(
    setting: HierarchyRun, guess: float, n_seeds: int, around: Sequence[float] = (0.5, 0.71, 1.0, 1.41, 2.0)
) -> Measured:
    return measure_p_star(setting, guess, n_seeds=n_seeds, first_seed=FIRST_SEED, around=around, device=gpu_if_any())


def _lcn_guess(depth: int, s0: int) -> float:
    return 2.6 if s0 == 0 else 3.8 * (s0 + 1) ** depth


def _sparse_law(
    learner: Learner,
    models: _Models,
    exponent: Callable[[int], float],
    guess: Callable[[int, int], float],
    profile: Profile,
    progress: Progress,
) -> Finding:
    points = _sparse_points(learner, models, guess, profile == "full", progress)
    parts = [
        LawPart(
            f"L={depth}",
            [p for p in points if p.setting.n_levels == depth],
            {"s0 + 1": _empties},
            {"s0 + 1": StatedExponent(exponent(depth), rivals=(exponent(depth) - 1, exponent(depth) + 1))},
            group=lambda p: p.setting.n_features,
        )
        for depth in sorted({depth for depth, _, _ in models})
    ]
    title = f"P* of {learner.upper()}s among empty slots"
    figure = law_figure(title, _series(points), _empties, "s0 + 1", over_natural=True)
    return law_finding(parts, figure, _RATE_CAVEAT)


def _sparse_points(
    learner: Learner, models: _Models, guess: Callable[[int, int], float], full: bool, progress: Progress
) -> list[Measured]:
    points: list[Measured] = []
    seeds_and_sizes = (4, (0.6, 0.8, 1.0, 1.3, 1.7)) if full else (2 if learner == "cnn" else 1, (0.7, 0.9, 1.2, 1.6))
    width, n_epochs = (256, 100) if full else (32, 40)
    cases = [(depth, v, s0) for depth, v, empties in models for s0 in empties]
    for depth, v, s0 in each(cases, progress, "L={}, v={}, s0={}"):
        setting = hierarchy_run(learner, v, depth, s0, width=width, n_epochs=n_epochs)
        points.append(_measured(setting, guess(depth, s0) * setting.model.natural_size, *seeds_and_sizes))
    return points


def _empties(point: Measured) -> float:
    return point.setting.n_empty + 1


def _natural(point: Measured) -> float:
    return point.natural


def _series(points: Sequence[Measured]) -> tuple[tuple[str, list[Measured]], ...]:
    found: dict[str, list[Measured]] = {}
    for p in points:
        found.setdefault(f"L={p.setting.n_levels}, v={p.setting.n_features}", []).append(p)
    return tuple(found.items())


def _by_depth(name: str, points: Sequence[Measured]) -> list[tuple[str, list[Measured]]]:
    depths = sorted({p.setting.n_levels for p in points})
    return [(f"{name}, L={depth}", [p for p in points if p.setting.n_levels == depth]) for depth in depths]

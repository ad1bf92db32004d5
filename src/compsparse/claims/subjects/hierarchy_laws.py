"""How many data random hierarchies need: laws of P* in the sizes of the model."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from compsparse.claims.claim import Claim, Finding, Outcome, Profile
from compsparse.claims.p_star import Measured, measure_p_star
from compsparse.claims.trials import gpu_if_any
from compsparse.measures import Law, fit_law
from compsparse.progress import Progress
from compsparse.report.figure import Figure
from compsparse.sweeps.kinds.hierarchy import HierarchyRun, Learner
from compsparse.sweeps.kinds.paper import rhm_protocol, srhm_protocol

CAGNETTA = "Cagnetta, Petrini, Tomasini, Favero and Wyart 2024"
TOMASINI = "Tomasini and Wyart 2024 (arXiv:2404.10727)"


_RATE_CAVEAT = (
    "the learning rate was chosen after trials: at the paper's 0.01, locally connected networks at L=2 had an exponent "
    "near 2.4 and CNNs at L=3 one near 2.5, and both needed up to twice the data",
)


def hierarchy_run(
    learner: Learner, v: int, depth: int, s0: int = 0, *, full: bool, sensitivities: bool = False
) -> HierarchyRun:
    """A run by the paper's protocol, but narrower, at one learning rate and stopped at a training loss of 0.01.

    The paper takes a rate per depth and sparsity; small rates cost data as well as steps, so all runs here
    take the largest at which all of them train.
    """
    protocol = srhm_protocol(learner, depth, s0, width=256 if full else 64)
    protocol |= {"learning_rate": 0.05, "n_epochs": 1000, "stop_at_loss": 0.01, "n_test": 4000}
    return HierarchyRun(n_train=2, n_features=v, sensitivities=sensitivities, **protocol)


def dense_law(profile: Profile, progress: Progress) -> Finding:
    """P* against n_c m^L on the dense model."""
    full = profile == "full"
    models = (
        ((2, 6), (2, 8), (2, 12), (2, 16), (3, 4), (3, 6), (3, 8), (4, 4))
        if full
        else ((2, 6), (2, 8), (2, 10), (3, 4), (3, 5))
    )
    points, clusters = [], []
    for i, (depth, v) in enumerate(models):
        setting = HierarchyRun(n_train=2, n_features=v, n_levels=depth, **rhm_protocol(128 if full else 64))
        n_seeds, natural = 6 if full else 3, setting.model.natural_size
        points.append(measure_p_star(setting, 2.5 * natural, n_seeds=n_seeds, device=gpu_if_any()))
        by_clustering = replace(setting, learner="clustering")
        clusters.append(measure_p_star(by_clustering, 1.3 * natural, n_seeds=2 * n_seeds, device=gpu_if_any()))
        progress.update(i + 1, len(models), f"L={depth}, v={v}")
    return _finding(
        fit_law({"n_c m^L": [p.natural for p in points]}, _values(points)),
        {"n_c m^L": (1.0, 0.1)},
        points,
        _law_figure(
            "P* of the dense model",
            (*_by_depth("CNN", points), *_by_depth("clustering", clusters)),
            lambda p: p.natural,
            "n_c m^L",
        ),
        caveats=(
            "clustering knows v, m, s and L and reads the rules off label statistics: the line to compare with",
            "m = v = n_c throughout; classes-and-synonyms varies them apart",
        ),
    )


def sparse_cnn_law(profile: Profile, progress: Progress) -> Finding:
    """P* of CNNs against s0 + 1."""
    full = profile == "full"
    models: Sequence[tuple[int, int, tuple[int, ...]]] = ((2, 4, (1, 2, 3)), (2, 6, (0, 1, 2)))
    if full:
        models = ((2, 6, (0, 1, 2, 4)), (2, 8, (0, 1, 2, 4)), (3, 4, (0, 1, 2, 3)))
    return _sparse_law("cnn", models, {"s0 + 1": (2.0, 0.3)}, lambda depth, s0: 2.2 * (s0 + 1) ** 2, full, progress)


def sparse_lcn_law(profile: Profile, progress: Progress) -> Finding:
    """P* of locally connected networks against s0 + 1, for each depth."""
    full = profile == "full"
    if not full:
        return _sparse_law(
            "lcn", ((2, 4, (1, 2, 3)), (2, 5, (1, 2))), {"s0 + 1": (2.0, 0.35)}, _lcn_guess, full, progress
        )
    shallow = _sparse_points("lcn", ((2, 6, (0, 1, 2, 3)), (2, 8, (0, 1, 2))), _lcn_guess, full, progress)
    deep = _sparse_points("lcn", ((3, 3, (0, 1, 2)), (3, 4, (0, 1, 2))), _lcn_guess, full, progress)
    laws = [_law_in_empties(points) for points in (shallow, deep)]
    exponents = {f"L={depth}": law.exponents["s0 + 1"] for depth, law in ((2, laws[0]), (3, laws[1]))}
    errors = {f"L={depth}": law.errors["s0 + 1"] for depth, law in ((2, laws[0]), (3, laws[1]))}
    points = [*shallow, *deep]
    law = replace(laws[1], exponents=exponents, errors=errors)
    figure = _law_figure("P* of locally connected networks", (_series(points)), _empties, "s0 + 1", over_natural=True)
    return _finding(law, {"L=2": (2.0, 0.35), "L=3": (3.0, 0.35)}, points, figure, _RATE_CAVEAT)


def classes_and_synonyms(profile: Profile, progress: Progress) -> Finding:
    """P* against n_c and against m, the other fixed."""
    full = profile == "full"
    v = 16 if full else 10
    by_classes = [(n_c, 8 if full else 6) for n_c in ((2, 4, 8, 16) if full else (2, 5, 10))]
    by_synonyms = [(v // 2, m) for m in ((4, 6, 8, 12, 16) if full else (4, 6, 8))]
    settings = list(dict.fromkeys(by_classes + by_synonyms))
    points = []
    for i, (n_c, m) in enumerate(settings):
        protocol = rhm_protocol(128 if full else 64)
        setting = HierarchyRun(n_train=2, n_features=v, n_classes=n_c, multiplicity=m, **protocol)
        guess = 2.5 * setting.model.natural_size
        points.append(measure_p_star(setting, guess, n_seeds=5 if full else 3, device=gpu_if_any()))
        progress.update(i + 1, len(settings), f"n_c={n_c}, m={m}")
    law = fit_law(
        {"n_c": [p.setting.model.n_labels for p in points], "m": [p.setting.model.m for p in points]}, _values(points)
    )
    figure = Figure(
        f"P* with n_c and m apart (v={v}, L=2)",
        tuple(
            {"m": p.setting.model.m, "P*": p.p_star.value, "low": p.p_star.low, "high": p.p_star.high,
             "classes": f"n_c={p.setting.model.n_labels}"}
            for p in points
        ), "m", "P*", series="classes", low="low", high="high", log_x=True, log_y=True,
    )  # fmt: skip
    return _finding(law, {"n_c": (1.0, 0.25), "m": (2.0, 0.25)}, points, figure)


# ---- parts shared by the laws --------------------------------------------------------------------


def _lcn_guess(depth: int, s0: int) -> float:
    return 2.3 if s0 == 0 else 3.6 * (s0 + 1) ** depth


def _sparse_law(
    learner: Learner,
    models: Sequence[tuple[int, int, tuple[int, ...]]],
    expected: dict[str, tuple[float, float]],
    guess: Callable[[int, int], float],
    full: bool,
    progress: Progress,
) -> Finding:
    points = _sparse_points(learner, models, guess, full, progress)
    figure = _law_figure(
        f"P* of {learner.upper()}s among empty slots", _series(points), _empties, "s0 + 1", over_natural=True
    )
    return _finding(_law_in_empties(points), expected, points, figure, _RATE_CAVEAT)


def _sparse_points(
    learner: Learner,
    models: Sequence[tuple[int, int, tuple[int, ...]]],
    guess: Callable[[int, int], float],
    full: bool,
    progress: Progress,
) -> list[Measured]:
    points: list[Measured] = []
    total = sum(len(empties) for _, _, empties in models)
    for depth, v, empties in models:
        for s0 in empties:
            setting = hierarchy_run(learner, v, depth, s0, full=full)
            at = guess(depth, s0) * setting.model.natural_size
            n_seeds, around = 4 if full else 3, (0.6, 0.8, 1.0, 1.3, 1.7)
            points.append(measure_p_star(setting, at, n_seeds=n_seeds, around=around, device=gpu_if_any()))
            progress.update(len(points), total, f"L={depth}, v={v}, s0={s0}")
    return points


def _empties(point: Measured) -> float:
    return point.setting.n_empty + 1


def _law_in_empties(points: Sequence[Measured]) -> Law:
    """One exponent of s0 + 1; every model of its own prefactor."""
    groups = [(p.setting.n_levels, p.setting.n_features) for p in points]
    return fit_law({"s0 + 1": [_empties(p) for p in points]}, _values(points), groups=groups)


def _values(points: Sequence[Measured]) -> list[float]:
    return [p.p_star.value for p in points]


def _series(points: Sequence[Measured]) -> tuple[tuple[str, list[Measured]], ...]:
    found: dict[str, list[Measured]] = {}
    for p in points:
        found.setdefault(f"L={p.setting.n_levels}, v={p.setting.n_features}", []).append(p)
    return tuple(found.items())


def _by_depth(name: str, points: Sequence[Measured]) -> list[tuple[str, list[Measured]]]:
    depths = sorted({p.setting.n_levels for p in points})
    return [(f"{name}, L={depth}", [p for p in points if p.setting.n_levels == depth]) for depth in depths]


def _law_figure(
    title: str,
    series: Sequence[tuple[str, Sequence[Measured]]],
    x: Callable[[Measured], float],
    x_title: str,
    *,
    over_natural: bool = False,
) -> Figure:
    rows = []
    for name, points in series:
        for p in sorted(points, key=x):
            scale = p.natural if over_natural else 1
            values = {"P*": p.p_star.value, "low": p.p_star.low, "high": p.p_star.high}
            if all(math.isfinite(value) for value in values.values()):
                rows.append({x_title: x(p), "series": name, **{k: value / scale for k, value in values.items()}})
    y_title = "P* / (n_c m^L)" if over_natural else "P*"
    return Figure(
        title, tuple(rows), x_title, "P*", series="series", low="low", high="high", log_x=True,
        log_y=True, y_title=f"{y_title} (90% interval over seeds)",
    )  # fmt: skip


def _finding(
    law: Law,
    expected: dict[str, tuple[float, float]],
    points: Sequence[Measured],
    figure: Figure,
    caveats: tuple[str, ...] = (),
) -> Finding:
    """Supported if every exponent is within its tolerance; refuted if one is off by more than its own error too.

    An exponent whose error exceeds half of what is expected supports nothing.
    """
    off = {name: abs(law.exponents[name] - value) - within for name, (value, within) in expected.items()}
    bracketed = all(p.p_star.bracketed for p in points)
    sharp = all(law.errors[name] <= value / 2 for name, (value, _) in expected.items())
    if bracketed and sharp and all(o <= 0 for o in off.values()):
        outcome = Outcome.SUPPORTED
    else:
        clear = bracketed and any(o > law.errors[name] for name, o in off.items())
        outcome = Outcome.REFUTED if clear else Outcome.INCONCLUSIVE
    wanted = ", ".join(f"{name}: {value:g} ± {within:g}" for name, (value, within) in expected.items())
    measured = ", ".join(f"{n}: {law.exponents[n]:.2f} ± {law.errors[n]:.2f}" for n in expected)
    ratios = [p.p_star.value / p.natural for p in points]
    return Finding(
        outcome,
        expected=f"exponents of P* ({wanted}); refuted where one misses by more than its 95% interval as well",
        measured=f"exponents {measured}; P* / (n_c m^L) from {min(ratios):.2g} to {max(ratios):.2g}",
        numbers={f"exponent of {n}": law.exponents[n] for n in expected}
        | {f"half width of {n}": law.errors[n] for n in expected},
        figures=(figure,),
        caveats=(
            "P* is the size at which the mean test error over seeds is 10%, interpolated in log P; every seed draws "
            "its own rules",
            *caveats,
        ),
    )


def _claim(name: str, statement: str, source: str, experiment: Callable[[Profile, Progress], Finding]) -> Claim:
    return Claim(name, statement, source, "experiment", experiment, ("quick", "full"))


CLAIMS = [
    _claim(
        "hierarchy-sample-complexity",
        "Deep networks learn the random hierarchy model from a number of data proportional to n_c m^L.",
        f"{CAGNETTA}, and the law of the dense model in {TOMASINI}",
        dense_law,
    ),
    _claim(
        "sparse-hierarchy-cnn",
        "Convolutional networks need (s0 + 1)^2 times the data when every symbol has s0 empty slots, at any depth.",
        f"{TOMASINI}, P*_CNN",
        sparse_cnn_law,
    ),
    _claim(
        "sparse-hierarchy-lcn",
        "Locally connected networks need (s0 + 1)^L times the data when every symbol has s0 empty slots.",
        f"{TOMASINI}, P*_LCN",
        sparse_lcn_law,
    ),
    _claim(
        "classes-and-synonyms",
        "P* grows linearly in the number of classes and as the power L in the number of synonyms, each by itself.",
        f"{TOMASINI}, open question 2",
        classes_and_synonyms,
    ),
]

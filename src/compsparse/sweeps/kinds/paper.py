"""The protocols of the papers on random hierarchies, and sweeps that redo their figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compsparse.sweeps.adaptive import Adaptive
from compsparse.sweeps.kinds.hierarchy import HierarchyRun, Learner
from compsparse.sweeps.sweep import Sweep

_SEEDS = (0, 1, 2)


def rhm_protocol(width: int = 64) -> dict[str, Any]:
    """Ours for the dense model, after Cagnetta et al. 2024: batches of 128, a cosine over 250 epochs, until the
    training loss is 0.01.

    Their L2 penalty is 5e-4 times the *mean* square of each tensor, which at these sizes is no penalty.
    """
    return {
        "learner": "cnn",
        "width": width,
        "learning_rate": 0.1,
        "batch_size": 128,
        "schedule": "cosine",
        "n_epochs": 250,
        "stop_at_loss": 0.01,
    }


def rhm_paper(width: int = 64) -> dict[str, Any]:
    """Cagnetta et al. 2024 as in their code: a bias per position, a cosine over 0.8 of the epochs, best accuracy."""
    return {**rhm_protocol(width), "bias_per_position": True, "cosine_share": 0.8, "test_at": "best"}


def srhm_sizes(learner: Learner, n_levels: int, n_empty: int, tuple_size: int = 2) -> dict[str, Any]:
    """What a run of Tomasini and Wyart 2024 learns, and with which network."""
    return {"learner": learner, "n_levels": n_levels, "n_empty": n_empty, "tuple_size": tuple_size}


def srhm_protocol(
    learner: Learner, n_levels: int, n_empty: int, tuple_size: int = 2, width: int | None = None
) -> dict[str, Any]:
    """Tomasini and Wyart 2024 as in their code.

    Batches of 4 per class of balanced data, shifted codes, a bias per position, a constant rate for each depth and
    sparsity, until the training loss is 0.001 (fully connected: 0.01), the best accuracy of looks every ten epochs.
    """
    is_dense = learner == "fcn"
    return {
        **srhm_sizes(learner, n_levels, n_empty, tuple_size),
        "width": width or (256 if is_dense and n_levels > 2 else 512),
        "shifted": True,
        "bias_per_position": learner == "cnn",
        "balanced": True,
        "learning_rate": _rate(learner, n_levels, n_empty, tuple_size),
        "batch_size": None,
        "schedule": "constant",
        "n_epochs": 10_000,
        "stop_at_loss": 0.01 if is_dense else 0.001,
        "test_at": "best",
    }


def _rate(learner: Learner, n_levels: int, s0: int, s: int) -> float:
    """The learning rates of the authors' code, before the factor of the width."""
    sparse = (s0 >= 4) + (s0 > 4)
    match learner:
        case "lcn":
            return 0.01 if s == 2 and s0 < 4 else 0.003
        case "fcn":
            return ((0.01, 0.003) if n_levels == 2 else (0.003, 0.001))[s0 >= 4]
        case "cnn" if s > 2:
            return (0.01, 0.003, 0.0003)[sparse]
        case "cnn" if n_levels == 1:
            return 0.1 if s0 < 4 else 0.03
        case "cnn" if s0 == 0:
            return 0.01
        case "cnn":
            return ((0.1, 0.03, 0.01) if n_levels == 2 else (0.01, 0.003, 0.001))[sparse]
    return 0.001  # networks in common use, by Adam


def _search(name: str, base: dict[str, Any], runs: Sequence[dict[str, Any]], start: int, most: int) -> Sweep:
    """Where the test error of every setting crosses a tenth."""
    search = Adaptive("n_train", "test_error", 0.1, start=start, most=most, factor=2.0, resolution=1.25)
    return Sweep(name, HierarchyRun, base, {"seed": _SEEDS}, runs, search)


def _settings(learner: Learner, sizes: tuple[int, ...], empties: tuple[int, ...]) -> list[dict[str, Any]]:
    return [{"n_features": v, **srhm_protocol(learner, depth, s0)} for v in sizes for depth in (2, 3) for s0 in empties]


def _curves(name: str, learner: Learner, v: int, s0: int, sizes: tuple[int, ...]) -> Sweep:
    base = {**srhm_protocol(learner, 2, s0), "n_features": v, "sensitivities": True}
    return Sweep(name, HierarchyRun, base, {"n_train": sizes, "seed": _SEEDS})


_DENSE = ((2, 6), (2, 8), (2, 12), (3, 4), (3, 6), (3, 8))
_TRIPLES = ((4, 2, 0), (4, 2, 1), (4, 2, 2), (6, 2, 0), (6, 2, 1), (6, 2, 2), (4, 3, 0), (4, 3, 1), (4, 3, 2))
_COMMON = {
    "n_features": 8, "n_empty": 1, "width": 64, "optimizer": "adamw", "learning_rate": 0.001, "batch_size": 128,
    "schedule": "constant", "n_epochs": 200,
}  # fmt: skip
_QUICK_GRID = {"n_train": (512, 768, 1152, 1728, 2592), "seed": _SEEDS}
_COMMON_GRID = {
    "learner": ("plain-cnn", "residual-cnn", "transformer"), "n_train": (4000, 16_000, 32_000), "seed": _SEEDS
}  # fmt: skip
_LCN = _settings("lcn", (4,), (1, 2, 4)) + _settings("lcn", (6, 8, 10), (0, 1, 2, 4))
_CNN = _settings("cnn", (4,), (1, 2, 4, 6)) + _settings("cnn", (6, 8, 10, 12), (0, 1, 2, 4, 6))
_PLACED = [srhm_protocol("lcn", 2, s0) for s0 in (1, 2, 4)]
_LCN_3 = [{"n_features": v, **srhm_protocol("lcn", depth, s0, tuple_size=3)} for v, depth, s0 in _TRIPLES]
_CNN_3 = [srhm_protocol("cnn", 2, s0, tuple_size=3) for s0 in (0, 1, 2)]
_SWEEPS = (
    Sweep("rhm-quick", HierarchyRun, {**rhm_protocol(), "n_features": 8}, _QUICK_GRID),
    _search(
        "rhm-sample-complexity",
        rhm_paper(),
        [{"n_features": v, "n_levels": depth} for depth, v in _DENSE],
        300,
        100_000,
    ),
    _curves("srhm-figure-1", "cnn", 10, 2, (2000, 4000, 8000, 16_000, 32_000)),
    _search("srhm-figure-4b", {}, _LCN, 500, 2_000_000),
    _search("srhm-figure-4c", {}, _CNN, 500, 2_000_000),
    _curves("srhm-figure-6", "lcn", 8, 1, (1000, 2000, 4000, 8000, 16_000)),
    _search("srhm-figure-7", {"n_features": 6, "placement": "B"}, _PLACED, 500, 2_000_000),
    _search("srhm-figure-10", {}, _LCN_3, 4000, 5_000_000),
    _curves("srhm-figure-12", "lcn", 8, 1, (1000, 4000, 16_000, 32_000)),
    _search("srhm-figure-13", {"n_features": 4}, _CNN_3, 4000, 5_000_000),
    _curves("srhm-figure-16", "fcn", 6, 1, (2000, 4000, 8000, 16_000)),
    Sweep("common-networks", HierarchyRun, _COMMON, _COMMON_GRID),
)
PRESETS = {sweep.name: sweep for sweep in _SWEEPS}

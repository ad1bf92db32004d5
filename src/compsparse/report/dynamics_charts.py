"""Charts of a log of training: norms, ranks, margins and neural collapse against the steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from compsparse.checks import brief, check_list
from compsparse.errors import DataError
from compsparse.report.figure import Figure

if TYPE_CHECKING:
    from compsparse.measures import Dynamics

_SIGNS = {
    "within": "NC1 within classes", "angles": "NC2 angles", "lengths": "NC2 lengths", "duality": "NC3 duality",
    "nearest": "NC4 nearest mean",
}  # fmt: skip


def dynamics_figures(points: Sequence[Dynamics]) -> tuple[Figure, ...]:
    """Four charts of the points of a :class:`~compsparse.measures.DynamicsLog`: means over replicas and their range."""
    found = check_list("points", points)
    if not found or not all(hasattr(point, "stable_ranks") and hasattr(point, "collapse") for point in found):
        raise DataError(f"points must be the points of a DynamicsLog, at least one, got {brief(points)}")
    n_layers = found[0].norms.shape[1]
    layers = range(n_layers)
    steps = [point.step for point in found]
    norms = {"rho": [p.rho for p in found], **{f"layer {i + 1}": [p.norms[:, i] for p in found] for i in layers}}
    ranks = {f"layer {i + 1}": [p.stable_ranks[:, i] for p in found] for i in layers}
    losses = {
        "loss": [p.loss for p in found],
        "error": [p.error for p in found],
        "least margin / rho": [p.margin for p in found],
    }
    collapse = {title: [getattr(p.collapse, name) for p in found] for name, title in _SIGNS.items()}
    return (
        _figure("Product of norms and norms of layers", steps, "norm", norms, log_y=True),
        _figure("Stable ranks", steps, "stable rank", ranks),
        _figure("Loss, error and normalised margin", steps, "value", losses),
        _figure("Neural collapse", steps, "distance from collapse", collapse),
    )


def _figure(
    title: str, steps: Sequence[int], y: str, series: Mapping[str, Sequence[np.ndarray]], *, log_y: bool = False
) -> Figure:
    rows = tuple(
        {"step": step, y: float(v.mean()), "low": float(v.min()), "high": float(v.max()), "of": name}
        for name, values in series.items()
        for step, v in zip(steps, values, strict=True)
    )
    y_title = f"{y} (mean, range over replicas)"
    return Figure(title, rows, "step", y, series="of", low="low", high="high", log_y=log_y, y_title=y_title)

"""The loss that bounds on the expected loss speak of: between 0 and 1, and not too steep."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from compsparse.bounds.description import PER_DOUBLING, step_above, step_below
from compsparse.checks import brief, check_array
from compsparse.errors import DataError
from compsparse.models import FittedGraph


@dataclass(frozen=True, eq=False)
class BoundedLoss:
    """Ramp loss of the margin for classes, clipped distance for numbers.

    Attributes:
        target: (rows,) places of the classes, or (rows, outputs) numbers.
        margin: how far right an answer must be to cost nothing, or how far off a number to cost 1.
        classes: whether the target holds classes.
    """

    target: Tensor
    margin: float
    classes: bool

    def values(self, outputs: Tensor) -> Tensor:
        """The loss of every row."""
        if not self.classes:
            distances: Tensor = torch.linalg.vector_norm(outputs - self.target, dim=1)
            return (distances / self.margin).clamp(max=1.0)
        return (1 - self._margins(outputs) / self.margin).clamp(0.0, 1.0)

    def mistakes(self, outputs: Tensor) -> Tensor:
        """1 where the class is wrong, else 0; for numbers the loss itself."""
        return (self._margins(outputs) <= 0).to(outputs) if self.classes else self.values(outputs)

    def _margins(self, outputs: Tensor) -> Tensor:
        """By how much the right answer is ahead."""
        if outputs.shape[1] == 1:
            return outputs[:, 0] * (2.0 * self.target - 1)
        right = outputs.gather(1, self.target[:, None])[:, 0]
        others = outputs.scatter(1, self.target[:, None], -math.inf).amax(1)
        return right - others

    @property
    def step(self) -> int:
        """The number of the point of the grid of margins whose loss is nowhere below this one."""
        return step_above(self.margin) if self.classes else step_below(self.margin)

    def on_grid(self) -> BoundedLoss:
        """The loss at that point: with a margin not below this one for classes, not above it for numbers."""
        exponent = self.step / PER_DOUBLING
        return replace(self, margin=2.0**exponent if exponent < 1024 else math.inf)

    def steepness(self, n_outputs: int) -> float:
        """What a Rademacher complexity is multiplied by when the loss is put behind the outputs.

        Ledoux and Talagrand for one output; for several, sqrt(2) by Maurer's contraction, and another sqrt(2) for
        the margin, which is the difference of two of them.
        """
        if n_outputs == 1:
            return 1.0 / self.margin
        return (2.0 if self.classes else math.sqrt(2.0)) / self.margin


def bounded_loss(model: Any, y: Any, outputs: Tensor, *, margin: float, classification: bool | None) -> BoundedLoss:
    """The loss of a target, as the model has it."""
    fitted = model if isinstance(model, FittedGraph) else getattr(model, "model_", None)
    values = check_array("y", y.detach().cpu().numpy() if isinstance(y, Tensor) else y)
    if len(np.shape(values)) == 0 or len(values) != len(outputs):
        raise DataError(f"y must have one entry for each of the {len(outputs)} rows, got {brief(values)}")
    if isinstance(fitted, FittedGraph) and fitted.classes is not None:
        return BoundedLoss(_places(values, list(fitted.classes), outputs), margin, True)
    n_outputs = outputs.shape[1]
    if classification or (classification is None and values.dtype.kind in "bui" and values.ndim == 1):
        known = sorted(set(values.tolist())) if n_outputs == 1 else list(range(n_outputs))
        if n_outputs == 1 and len(known) > 2:
            raise DataError(
                f"y holds {len(known)} classes but the model has one output: pass a target of numbers, or "
                "classification=False"
            )
        return BoundedLoss(_places(values, known, outputs), margin, True)
    if values.dtype.kind not in "buif" or not np.isfinite(values.astype(float)).all():
        raise DataError("y must hold finite numbers, or the classes that the model knows")
    numbers = torch.as_tensor(values.astype(float).reshape(len(values), -1), device=outputs.device)
    if numbers.shape[1] != n_outputs:
        raise DataError(f"the model has {n_outputs} outputs, but y has {numbers.shape[1]} columns")
    if isinstance(fitted, FittedGraph):
        centre, scale = (
            torch.as_tensor(v, dtype=numbers.dtype, device=numbers.device) for v in (fitted.centre, fitted.scale)
        )
        numbers = (numbers - centre) / scale
    return BoundedLoss(numbers, margin, False)


def _places(values: np.ndarray, known: list[Any], outputs: Tensor) -> Tensor:
    place = {label: i for i, label in enumerate(known)}
    found = [place.get(label, -1) for label in values.ravel().tolist()]
    if min(found) < 0 or values.ndim != 1:
        shown = ", ".join(map(str, known[:10]))
        raise DataError(
            f"y holds {brief(values.ravel()[int(np.argmin(found))].item())}, which is none of the classes {shown}"
        )
    return torch.tensor(found, device=outputs.device)

"""Training data: one table, and for each replica the rows it learns from and is judged on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from compsparse.errors import DataError


@dataclass(frozen=True)
class TrainingData:
    """Rows shared by all replicas and each replica's own share of them.

    Attributes:
        X: (n, d) inputs.
        y: (n, k) numbers, or (n,) integer classes.
        weight: (n,) sample weights, or None.
        train: row numbers per replica; None means all rows for everyone.
        validation: row numbers per replica to judge on; None means no validation.
    """

    X: Tensor
    y: Tensor
    weight: Tensor | None = None
    train: tuple[Tensor, ...] | None = None
    validation: tuple[Tensor, ...] | None = None

    @property
    def n_rows(self) -> int:
        return self.X.shape[0]

    def train_rows(self, replicas: int) -> tuple[Tensor, ...]:
        return self.train or (torch.arange(self.n_rows),) * replicas

    def for_replicas(self, chosen: Sequence[int]) -> TrainingData:
        """The data of some of the replicas."""
        train = None if self.train is None else tuple(self.train[i] for i in chosen)
        validation = None if self.validation is None else tuple(self.validation[i] for i in chosen)
        return replace(self, train=train, validation=validation)


def training_data(
    X: object,
    y: object,
    *,
    weight: object | None = None,
    train: Sequence[Sequence[int]] | None = None,
    validation: Sequence[Sequence[int]] | None = None,
    classes: bool = False,
    device: str | torch.device | None = None,
    dtype: torch.dtype = torch.float32,
) -> TrainingData:
    """Checks arrays and makes :class:`TrainingData` of them.

    Args:
        train, validation: row numbers, one sequence per replica.
        classes: y holds class numbers, not values.
    """
    table = _finite(X, "X", dtype, device)
    if table.ndim != 2 or table.shape[0] == 0:
        raise DataError(f"X must be a table of at least one row, got shape {tuple(table.shape)}")
    if classes:
        target = torch.as_tensor(np.asarray(y), dtype=torch.long, device=device)
    else:
        target = _finite(y, "y", dtype, device)
        target = target.unsqueeze(-1) if target.ndim == 1 else target
    if target.shape[0] != table.shape[0]:
        raise DataError(f"X has {table.shape[0]} rows but y has {target.shape[0]}")
    sample_weight = None if weight is None else _finite(weight, "weight", dtype, device)
    if sample_weight is not None and (sample_weight.shape != (table.shape[0],) or bool((sample_weight < 0).any())):
        raise DataError("weight must hold one number >= 0 per row")
    return TrainingData(
        table, target, sample_weight, _rows(train, table.shape[0]), _rows(validation, table.shape[0])
    )


def _finite(values: object, name: str, dtype: torch.dtype, device: str | torch.device | None) -> Tensor:
    tensor = values if isinstance(values, Tensor) else torch.as_tensor(np.asarray(values))
    tensor = tensor.to(device=device, dtype=dtype)
    if not bool(torch.isfinite(tensor).all()):
        bad = int((~torch.isfinite(tensor.reshape(tensor.shape[0], -1))).any(1).nonzero()[0])
        raise DataError(f"{name} holds NaN or infinite values, first in row {bad}")
    return tensor


def _rows(subsets: Sequence[Sequence[int]] | None, n: int) -> tuple[Tensor, ...] | None:
    if subsets is None:
        return None
    result = tuple(torch.as_tensor(np.asarray(rows), dtype=torch.long) for rows in subsets)
    for rows in result:
        if len(rows) == 0 or int(rows.min()) < 0 or int(rows.max()) >= n:
            raise DataError(f"each replica needs row numbers between 0 and {n - 1}, at least one")
    return result


class BatchStream:
    """An endless stream of batches per replica, each from its own shuffled rows.

    A replica's batches depend on its own rows and seed alone. A replica with fewer rows than the
    batch has room for gets all of them each time; the room left carries weight zero.
    """

    _STEPS_AHEAD = 64

    def __init__(self, rows: Sequence[Tensor], batch_size: int, seeds: Sequence[int], device: torch.device):
        self.rows = list(rows)
        self.batch = min(batch_size, max(len(r) for r in rows))
        self.device = device
        self.generators = [torch.Generator().manual_seed(int(s)) for s in seeds]
        self.left = [torch.empty(0, dtype=torch.long) for _ in rows]
        self.block = torch.empty(0, len(self.rows), self.batch, dtype=torch.long)
        self.at = 0

    def next(self) -> Tensor:
        """Row numbers (R, batch) of the next step."""
        if self.at == len(self.block):
            self.block = torch.stack([self._ahead(i) for i in range(len(self.rows))], dim=1).to(self.device)
            self.at = 0
        self.at += 1
        return self.block[self.at - 1]

    def padding_weights(self) -> Tensor | None:
        """1 for rows and 0 for padding, (R, batch); None if there is no padding."""
        if all(len(r) >= self.batch for r in self.rows):
            return None
        room = torch.arange(self.batch)
        return torch.stack([(room < len(r)) for r in self.rows]).to(self.device)

    def keep(self, chosen: Sequence[int]) -> None:
        """Drops all but the chosen replicas; their streams go on unchanged."""
        self.rows = [self.rows[i] for i in chosen]
        self.generators = [self.generators[i] for i in chosen]
        self.left = [self.left[i] for i in chosen]
        self.block = self.block[:, chosen]

    def _ahead(self, i: int) -> Tensor:
        rows, n = self.rows[i], len(self.rows[i])
        if n <= self.batch:
            everything = torch.cat([rows, rows.new_full((self.batch - n,), int(rows[0]))])
            return everything.expand(self._STEPS_AHEAD, -1)
        wanted = self._STEPS_AHEAD * self.batch
        parts = [self.left[i]]
        while sum(len(p) for p in parts) < wanted:
            parts.append(rows[torch.randperm(n, generator=self.generators[i])])
        stream = torch.cat(parts)
        self.left[i] = stream[wanted:]
        return stream[:wanted].view(self._STEPS_AHEAD, self.batch)

"""Training data: one table, and for each replica the rows it learns from and is judged on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from compsparse.checks import (
    MOST_REPLICAS,
    brief,
    check_array,
    check_count,
    check_device,
    check_dtype,
    check_flag,
    check_indices,
    check_list,
    check_numbers,
    row_text,
    suggests_options,
)
from compsparse.errors import ConfigError, DataError
from compsparse.surroundings import usual_settings
from compsparse.text import in_a_line


@in_a_line
@dataclass(frozen=True)
class TrainingData:
    """Rows shared by all replicas and each replica's own share of them.

    Attributes:
        X: (n, d) inputs.
        y: (n, k) numbers, or (n,) integer classes.
        sample_weight: (n,) sample weights, or None.
        train: row numbers per replica; None means all rows for everyone.
        validation: row numbers per replica to judge on; None means no validation.
    """

    X: Tensor
    y: Tensor
    sample_weight: Tensor | None = None
    train: tuple[Tensor, ...] | None = None
    validation: tuple[Tensor, ...] | None = None

    def __post_init__(self) -> None:
        for name in ("X", "y", "sample_weight"):
            tensor = getattr(self, name)
            if isinstance(tensor, Tensor) and tensor.is_inference():  # no gradient passes through such a one
                with torch.inference_mode(False):
                    object.__setattr__(self, name, tensor.clone())

    @property
    def n_rows(self) -> int:
        """Rows of the table."""
        return self.X.shape[0]

    def train_rows(self, n_replicas: int) -> tuple[Tensor, ...]:
        """The rows that each of so many replicas learns from."""
        n_replicas = check_count("n_replicas", n_replicas, most=MOST_REPLICAS)
        return self.train or (torch.arange(self.n_rows),) * n_replicas

    def for_replicas(self, chosen: Sequence[int]) -> TrainingData:
        """The data of some of the replicas."""
        n = next((len(rows) for rows in (self.train, self.validation) if rows is not None), MOST_REPLICAS)
        chosen = check_indices("chosen", chosen, n)
        train = None if self.train is None else tuple(self.train[i] for i in chosen)
        validation = None if self.validation is None else tuple(self.validation[i] for i in chosen)
        return replace(self, train=train, validation=validation)


@suggests_options
@usual_settings()
def training_data(
    X: object,
    y: object,
    *,
    sample_weight: object | None = None,
    train: Sequence[Sequence[int]] | None = None,
    validation: Sequence[Sequence[int]] | None = None,
    classification: bool | None = None,
    device: str | torch.device | None = None,
    dtype: torch.dtype = torch.float32,
) -> TrainingData:
    """Checks arrays and makes :class:`TrainingData` of them.

    Args:
        train, validation: row numbers, one sequence per replica.
        classification: y holds class numbers, not values; None decides by its type: of whole numbers, or of true and
            false, each row's one is its class.
        device: where the data live; None takes the CPU.
    """
    check_device(device)
    check_dtype(dtype)
    table = _finite(X, "X", dtype, device)
    if table.ndim != 2 or table.shape[0] == 0:
        raise DataError(f"X must be a table of at least one row, got shape {tuple(table.shape)}")
    if _holds_classes(y) if classification is None else check_flag("classification", classification):
        target = _class_numbers(y, device)
    else:
        target = _finite(y, "y", dtype, device)
        target = target.unsqueeze(-1) if target.ndim == 1 else target
    if target.ndim not in (1, 2) or target.numel() == 0:
        raise DataError(f"y must hold at least one row of numbers, got shape {tuple(target.shape)}")
    if target.shape[0] != table.shape[0]:
        raise DataError(f"X has {table.shape[0]} rows but y has {target.shape[0]}")
    weight = None if sample_weight is None else _finite(sample_weight, "sample_weight", dtype, device)
    if weight is not None and (weight.shape != (table.shape[0],) or bool((weight < 0).any())):
        raise DataError("sample_weight must hold one number >= 0 per row")
    return TrainingData(table, target, weight, _rows(train, table.shape[0]), _rows(validation, table.shape[0]))


def data_for(data: Any, network: nn.Module) -> TrainingData:
    """Training data, or those that a pair of X and y makes in the network's precision and on its device."""
    if isinstance(data, tuple) and len(data) == 2:
        like = next(network.parameters())
        return training_data(*data, dtype=like.dtype, device=like.device)
    if not isinstance(data, TrainingData):
        raise ConfigError(f"data must be a TrainingData or a pair (X, y), got {brief(data)}")
    return data


def _finite(values: object, name: str, dtype: torch.dtype, device: str | torch.device | None) -> Tensor:
    tensor = values if isinstance(values, Tensor) else torch.as_tensor(check_numbers(name, values, finite=False))
    if tensor.ndim == 0 or tensor.is_complex():
        raise DataError(f"{name} must be an array of real numbers, got {brief(values)}")
    tensor = tensor.to(device=device, dtype=dtype)
    if not bool(torch.isfinite(tensor).all()):
        bad = int((~torch.isfinite(tensor.reshape(tensor.shape[0], -1))).any(1).nonzero()[0])
        raise DataError(f"{name} holds NaN or infinite values, first in {row_text(bad)}")
    return tensor


def _holds_classes(values: object) -> bool:
    if isinstance(values, Tensor):
        return values.ndim == 1 and not (values.is_floating_point() or values.is_complex())
    array = check_array("y", values)
    return array.ndim == 1 and array.dtype.kind in "biu"


def _class_numbers(values: object, device: str | torch.device | None) -> Tensor:
    if not isinstance(values, Tensor):
        values = check_array("y", values)
        if values.dtype.kind not in "biufc":
            raise DataError(f"classes must be one whole number >= 0 per row, got {brief(values)}")
    tensor = torch.as_tensor(values, device=device)
    if tensor.is_floating_point() or tensor.is_complex() or tensor.ndim != 1 or bool((tensor < 0).any()):
        raise DataError(
            "classes must be one whole number >= 0 per row, "
            f"got {str(tensor.dtype).removeprefix('torch.')} of shape {tuple(tensor.shape)}; "
            "classification=False takes y for numbers"
        )
    return tensor.long()


def _rows(subsets: Sequence[Sequence[int]] | None, n: int) -> tuple[Tensor, ...] | None:
    if subsets is None:
        return None
    found = tuple(check_rows(rows, n) for rows in check_list("the rows of the replicas", subsets))
    if not found:
        raise ConfigError("the rows of at least one replica must be given")
    return found


def check_rows(rows: Sequence[int] | np.ndarray, n: int) -> Tensor:
    """Row numbers of a table of n rows, at least one."""
    array = check_array("row numbers", rows.cpu() if isinstance(rows, Tensor) else rows)
    numbers = torch.as_tensor(array.astype(np.int64)) if array.dtype.kind in "iu" else torch.zeros(0)
    if numbers.ndim != 1 or len(numbers) == 0 or int(numbers.min()) < 0 or int(numbers.max()) >= n:
        raise ConfigError(f"each replica needs row numbers between 0 and {n - 1}, at least one")
    return numbers.long()


class BatchStream:
    """An endless stream of batches per replica, each from its own shuffled rows.

    A replica's batches depend on its own rows and seed alone. A replica with fewer rows than the
    batch has room for gets all of them each time; the room left carries weight zero. All
    replicas are shuffled at once, on their device, by sorting hashes of (seed, epoch, row).
    """

    _STEPS_AHEAD = 64

    def __init__(self, rows: Sequence[Tensor], batch_size: int, seeds: Sequence[int], device: torch.device):
        self.lengths = [len(r) for r in rows]
        self.batch = min(check_count("batch_size", batch_size), max(self.lengths))
        self.rows = padded(rows, device)
        self.seeds = torch.tensor([int(s) % 2**63 for s in seeds], dtype=torch.long, device=device)
        self.block = self.rows[:0]
        self.at = self.blocks_made = 0
        self.long_epochs: dict[int, tuple[int, Tensor]] = {}

    def next(self) -> Tensor:
        """Row numbers (R, batch) of the next step."""
        if self.at == len(self.block):
            self.block, self.at = self._next_block(), 0
        self.at += 1
        return self.block[self.at - 1]

    def padding_weights(self) -> Tensor | None:
        """1 for rows and 0 for padding, (R, batch); None if there is no padding."""
        if min(self.lengths) >= self.batch:
            return None
        room = torch.arange(self.batch)
        return torch.stack([room < n for n in self.lengths]).to(self.rows.device)

    def keep(self, chosen: Sequence[int]) -> None:
        """Drops all but the chosen replicas; their streams go on unchanged."""
        self.lengths = [self.lengths[i] for i in chosen]
        self.rows, self.seeds = self.rows[chosen], self.seeds[chosen]
        self.block = self.block[:, chosen]
        self.long_epochs.clear()

    def _next_block(self) -> Tensor:
        """The batches of the next steps, (steps, R, batch), replicas of one size together."""
        steps, size = self._STEPS_AHEAD, self._STEPS_AHEAD * self.batch
        block = self.rows.new_empty(steps, len(self.lengths), self.batch)
        start = self.blocks_made * size
        for n in set(self.lengths):
            members = [i for i, length in enumerate(self.lengths) if length == n]
            rows = self.rows[members]
            if n <= self.batch:
                block[:, members] = rows[:, : self.batch].expand(steps, -1, -1)
                continue
            first_epoch, last_epoch = start // n, (start + size - 1) // n
            epochs = range(first_epoch, last_epoch + 1)
            if n > size:
                order = torch.cat([self._long_epoch(members, n, epoch) for epoch in epochs], dim=1)
            else:
                order = _orders(self.seeds[members], epochs, n)
            skipped = start - first_epoch * n
            chosen = rows.gather(1, order[:, skipped : skipped + size].long())
            block[:, members] = chosen.view(len(members), steps, self.batch).transpose(0, 1)
        self.blocks_made += 1
        return block

    def _long_epoch(self, members: list[int], n: int, epoch: int) -> Tensor:
        """The order of an epoch that many blocks are parts of, kept until the next one begins."""
        if n not in self.long_epochs or self.long_epochs[n][0] != epoch:
            self.long_epochs[n] = epoch, _orders(self.seeds[members], [epoch], n).int()
        return self.long_epochs[n][1]


def padded(rows: Sequence[Tensor], device: torch.device) -> Tensor:
    """Row numbers of all replicas side by side, short ones filled up with their first; made once per subset."""
    longest = max(len(r) for r in rows)
    place: dict[int, int] = {}
    subsets: list[Tensor] = []
    for r in rows:
        if id(r) not in place:
            place[id(r)] = len(subsets)
            subsets.append(torch.cat([r, r[:1].expand(longest - len(r))]))
    return torch.stack(subsets).to(device)[[place[id(r)] for r in rows]]


def _orders(seeds: Tensor, epochs: Sequence[int], n: int) -> Tensor:
    """The permutations of all seeds; replicas that share a seed share the work."""
    distinct, own = torch.unique(seeds, return_inverse=True)
    return _shuffled(distinct, epochs, n)[own]


def _shuffled(seeds: Tensor, epochs: Sequence[int], n: int) -> Tensor:
    """A permutation of 0..n-1 for each seed and epoch, one epoch after the other: the order of their hashes."""
    numbers = torch.arange(n, device=seeds.device)
    by_epoch = _mixed(seeds[:, None] + torch.tensor(list(epochs), device=seeds.device) * _GOLDEN)
    return _mixed(by_epoch[:, :, None] + numbers * _GOLDEN).argsort(dim=-1).flatten(1)


# constants of the splitmix64 hash, as signed 64-bit integers
_GOLDEN, _FIRST, _SECOND = -7046029254386353131, -4658895280553007687, -7723592293110705685


def _mixed(x: Tensor) -> Tensor:
    x = (x ^ _shifted(x, 30)) * _FIRST
    x = (x ^ _shifted(x, 27)) * _SECOND
    return x ^ _shifted(x, 31)


def _shifted(x: Tensor, bits: int) -> Tensor:
    """A logical shift to the right; torch's own keeps the sign."""
    return (x >> bits) & ((1 << (64 - bits)) - 1)

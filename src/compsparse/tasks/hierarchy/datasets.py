"""Data sets for torch's DataLoader: a fixed sample of a hierarchy, or a stream that never repeats."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch.utils.data import Dataset, IterableDataset, get_worker_info

from compsparse.checks import RandomState, check_count, check_flag, check_kind
from compsparse.tasks.hierarchy.encoding import one_hot
from compsparse.tasks.hierarchy.model import RandomHierarchy, check_model
from compsparse.tasks.hierarchy.sampling import draw, entropy_of, stream_of
from compsparse.tasks.hierarchy.trees import HierarchySample

_Pair = tuple[torch.Tensor, torch.Tensor]


class HierarchyDataset(Dataset[_Pair]):
    """A sample as (encoded input, label) pairs, encoded when asked for.

    >>> from torch.utils.data import DataLoader
    >>> data = RandomHierarchy(n_features=4, n_levels=2).sample(6, random_state=0)
    >>> [tuple(x.shape) for x, y in DataLoader(HierarchyDataset(data), batch_size=4)]
    [(4, 16), (2, 16)]
    """

    def __init__(self, sample: HierarchySample, *, whitened: bool = False, flat: bool = True):
        self.sample = check_kind("sample", sample, HierarchySample)
        self.whitened, self.flat = check_flag("whitened", whitened), check_flag("flat", flat)

    def __len__(self) -> int:
        return len(self.sample)

    def __getitem__(self, row: int) -> _Pair:
        return self.__getitems__([row])[0]

    def __getitems__(self, rows: list[int]) -> list[_Pair]:
        """A whole batch, encoded at once; DataLoader calls this where it can."""
        n = len(self.sample)
        for row in rows:
            check_count("a row", row, least=-n, most=n - 1)
        x = _encoded(self.sample.model, self.sample.X[rows], self.whitened, self.flat)
        return list(zip(x, torch.from_numpy(self.sample.y[rows].astype(np.int64)), strict=True))


class HierarchyStream(IterableDataset[_Pair]):
    """Fresh batches without end, or ``n_batches`` of them; for ``DataLoader(stream, batch_size=None)``.

    Batch i has a stream of random numbers of its own and workers take turns, so a seed gives the same batches in
    the same order whatever the number of workers. Iterating again gives them again, unless :meth:`set_epoch`
    came in between.

    >>> from torch.utils.data import DataLoader
    >>> stream = HierarchyStream(RandomHierarchy(n_features=4, n_levels=2), 32, n_batches=3, random_state=0)
    >>> [tuple(x.shape) for x, y in DataLoader(stream, batch_size=None)]
    [(32, 16), (32, 16), (32, 16)]
    """

    def __init__(
        self,
        model: RandomHierarchy,
        batch_size: int,
        n_batches: int | None = None,
        random_state: RandomState = None,
        *,
        whitened: bool = False,
        flat: bool = True,
    ):
        self.model, self.whitened, self.flat = (
            check_model(model),
            check_flag("whitened", whitened),
            check_flag("flat", flat),
        )
        self.batch_size = check_count("batch_size", batch_size)
        self.n_batches = None if n_batches is None else check_count("n_batches", n_batches)
        self.entropy, self.epoch = entropy_of(random_state), 0

    def set_epoch(self, epoch: int) -> None:
        """Moves on to other batches, before the DataLoader starts its workers."""
        self.epoch = check_count("epoch", epoch, least=0)

    def __iter__(self) -> Iterator[_Pair]:
        worker = get_worker_info()
        number, step = (0, 1) if worker is None else (worker.id, worker.num_workers)
        while self.n_batches is None or number < self.n_batches:
            X, y = draw(self.model, self.batch_size, stream_of(self.entropy, self.epoch, number))
            yield _encoded(self.model, X, self.whitened, self.flat), torch.from_numpy(y.astype(np.int64))
            number += step


def _encoded(model: RandomHierarchy, X: np.ndarray, whitened: bool, flat: bool) -> torch.Tensor:
    return torch.from_numpy(one_hot(X, model.v, whitened=whitened, flat=flat))

"""What every network shares: replicas as the first dimension of every parameter.

A network holds R independent replicas (seeds, restarts, training sizes) and runs them as one
tensor program. All parameters have shape ``(R, …)``, so replicas can be selected, joined and
compared by indexing.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from compsparse.checks import (
    MOST_REPLICAS,
    RandomState,
    brief,
    check_count,
    check_indices,
    check_kind,
    check_replicas,
    check_seeds,
    generator_from,
)
from compsparse.errors import ConfigError, DataError
from compsparse.sizes import check_size
from compsparse.surroundings import usual_settings


def check_tensor(x: Any) -> Tensor:
    """A tensor, which is all that networks read."""
    if not isinstance(x, Tensor):
        raise DataError(f"a network reads tensors, got {brief(x)}: torch.as_tensor makes one")
    return x


def check_weights(n_weights: float, n_replicas: int | None) -> None:
    """Refuses a network whose weights do not fit in memory, before they are drawn."""
    check_replicas(n_replicas)
    what = f"{n_weights:,.0f} weights for each of {n_replicas or 1:,} replicas"
    # while they are drawn each replica's stand beside the whole
    check_size(what, 2.0 * n_weights * (n_replicas or 1), "make the network smaller", bytes_each=4)


class ReplicatedNetwork(nn.Module, ABC):
    """A network of R replicas over ``n_inputs`` inputs and ``n_outputs`` outputs.

    ``n_replicas=None`` makes an ordinary module: ``(batch, n_inputs) -> (batch, n_outputs)``.
    With replicas the answer is ``(R, batch, n_outputs)``, and the input may be shared by all
    replicas or be ``(R, batch, n_inputs)``, one batch each.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__init__" in cls.__dict__:  # the same weights whatever torch makes by default
            cls.__init__ = usual_settings()(cls.__init__)  # type: ignore[method-assign]

    def __init__(self, n_inputs: int, n_outputs: int, n_replicas: int | None):
        super().__init__()
        check_replicas(n_replicas)
        self.n_inputs, self.n_outputs = n_inputs, n_outputs
        self.has_replicas = n_replicas is not None

    @property
    def n_replicas(self) -> int:
        """How many replicas there are; 1 for an ordinary module."""
        return next(self.parameters()).shape[0]

    @abstractmethod
    def run(self, columns: Tensor) -> Tensor:
        """From ``(R, n_inputs, batch)`` to ``(R, n_outputs, batch)``."""

    def forward(self, x: Tensor) -> Tensor:
        """From ``(batch, n_inputs)`` or ``(R, batch, n_inputs)`` to outputs of the shape that the class says."""
        return self.rows(self.run(self.columns(x)), x)

    def columns(self, x: Tensor) -> Tensor:
        """Data as :meth:`run` takes them, ``(R, n_inputs, batch)``."""
        check_tensor(x)
        if x.ndim == 0 or x.shape[-1] != self.n_inputs or x.ndim not in (2, 3):
            raise DataError(f"expected an array of shape (batch, {self.n_inputs}), got {tuple(x.shape)}")
        if x.ndim == 3 and x.shape[0] != self.n_replicas:
            raise DataError(f"the network has {self.n_replicas} replicas but the batch is for {x.shape[0]}")
        columns = x.transpose(-1, -2)
        if x.ndim == 2:
            columns = columns.expand(self.n_replicas, -1, -1)
        return columns.contiguous()

    def rows(self, columns: Tensor, x: Tensor) -> Tensor:
        """What :meth:`run` answered to x, in the shape the caller expects."""
        out = columns.transpose(-1, -2)
        return out if self.has_replicas or x.ndim == 3 else out[0]


def check_network(network: Any) -> ReplicatedNetwork:
    """A network of this package."""
    return check_kind("network", network, ReplicatedNetwork)


Network = TypeVar("Network", bound=ReplicatedNetwork)


def select(network: Network, replicas: Sequence[int] | Tensor) -> Network:
    """A copy that holds the given replicas only, in the given order."""
    check_network(network)
    if isinstance(replicas, Tensor):
        replicas = replicas.reshape(-1).tolist()
    numbers = check_indices("replicas", replicas, network.n_replicas)
    if not numbers:
        raise ConfigError("select at least one replica")
    chosen = copy.deepcopy(network)
    keep_(chosen, torch.tensor(numbers))
    return chosen


def keep_(network: ReplicatedNetwork, replicas: Tensor) -> None:
    """Drops all but the given replicas in place.

    Modules name those of their buffers that have a replica dimension in ``replica_buffers``.
    """
    for parameter in network.parameters():
        parameter.data = parameter.data[replicas.to(parameter.device)]
        parameter.grad = None
    for module, name, buffer in replica_buffers(network):
        setattr(module, name, buffer[replicas.to(buffer.device)])


def replica_buffers(network: ReplicatedNetwork) -> list[tuple[nn.Module, str, Tensor]]:
    """The buffers that have a replica dimension, with where they are kept."""
    return [
        (module, name, module.get_buffer(name))
        for module in network.modules()
        for name in getattr(module, "replica_buffers", ())
    ]


def only(network: Network, replica: int = 0) -> Network:
    """One replica as an ordinary module."""
    chosen = select(network, [replica])
    chosen.has_replicas = False
    return chosen


def replica_seeds(random_state: RandomState, n_replicas: int) -> list[int]:
    """One seed per replica; the r-th does not depend on how many there are."""
    n_replicas = check_count("n_replicas", n_replicas, most=MOST_REPLICAS)
    if isinstance(random_state, (np.random.Generator, np.random.RandomState)):
        return [int(s) for s in generator_from(random_state).integers(2**62, size=n_replicas)]
    entropy = None if random_state is None else check_count("random_state", random_state, least=0)
    children = np.random.SeedSequence(entropy).spawn(n_replicas)
    return [int(child.generate_state(1, np.uint64)[0]) >> 2 for child in children]


def chosen_seeds(random_state: RandomState, seeds: Sequence[int] | None, n_replicas: int) -> list[int]:
    """The seeds that were given, one per replica, or else those of :func:`replica_seeds`."""
    if seeds is None:
        return replica_seeds(random_state, n_replicas)
    generator_from(random_state)
    return check_seeds(seeds, n_replicas)


def per_replica_normal(shape: Sequence[int], generators: Sequence[torch.Generator]) -> Tensor:
    """Standard normal numbers, each replica's from its own generator."""
    return torch.stack([torch.randn(tuple(shape), generator=g) for g in generators])


def per_replica_uniform(shape: Sequence[int], generators: Sequence[torch.Generator]) -> Tensor:
    """Uniform numbers on [-1, 1], each replica's from its own generator."""
    return torch.stack([2 * torch.rand(tuple(shape), generator=g) - 1 for g in generators])


def per_distinct_seed(seeds: Sequence[int]) -> tuple[list[int], list[int]]:
    """The different seeds, and for every replica the place of its own among them."""
    distinct = list(dict.fromkeys(seeds))
    place = {seed: i for i, seed in enumerate(distinct)}
    return distinct, [place[seed] for seed in seeds]


def generators_for(seeds: Sequence[int]) -> list[torch.Generator]:
    """One generator of initial weights per seed."""
    return [torch.Generator().manual_seed(int(seed)) for seed in seeds]

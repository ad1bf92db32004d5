"""Networks that read symbols: small integers, one-hot only where a layer multiplies them."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import TypedDict, Unpack

import torch
from torch import Tensor, nn

from compsparse.checks import RandomState, check_count, check_flag, check_options, check_replicas, generator_from
from compsparse.errors import ConfigError, DataError
from compsparse.networks.replicas import (
    ReplicatedNetwork,
    check_tensor,
    check_weights,
    chosen_seeds,
    generators_for,
    per_replica_normal,
)
from compsparse.sizes import check_size
from compsparse.surroundings import usual_settings


class SymbolNetworkOptions(TypedDict, total=False):
    """What every symbol network can be told.

    Attributes:
        whitened, shifted: see :func:`symbol_codes`.
        n_replicas: how many independent copies to hold; None for an ordinary module.
        random_state: seed of the initial weights; replica r gets the same ones in any company.
        seeds: a list with one seed per replica instead.
    """

    whitened: bool
    shifted: bool
    n_replicas: int | None
    random_state: RandomState
    seeds: Sequence[int] | None


class SymbolNetwork(ReplicatedNetwork):
    """A classifier of rows of ``n_slots`` symbols, from 0 to ``n_symbols`` - 1, or -1 where a slot is empty.

    It reads integers ``(batch, n_slots)``, or such rows already encoded, ``(batch, n_slots, n_symbols)``
    floats; each with a leading dimension of replicas where every replica has a batch of its own.

    All subclasses take :class:`SymbolNetworkOptions` as keywords.
    """

    codes: Tensor

    def __init__(self, n_slots: int, n_symbols: int, n_outputs: int, **options: Unpack[SymbolNetworkOptions]):
        check_options(type(self).__name__, options, SymbolNetworkOptions.__annotations__)
        n_slots, n_outputs = check_count("n_slots", n_slots), check_count("n_outputs", n_outputs)
        generator_from(options.get("random_state"))
        super().__init__(n_slots, n_outputs, check_replicas(options.get("n_replicas")))
        codes = symbol_codes(n_symbols, whitened=options.get("whitened", False), shifted=options.get("shifted", False))
        self.n_symbols = codes.shape[1]
        self.register_buffer("codes", codes, persistent=False)

    @abstractmethod
    def states(self, x: Tensor) -> Iterator[Tensor]:
        """The activations of every layer, ``(R, batch, …)``, the outputs last.

        Args:
            x: ``(R, batch, n_slots, n_symbols)``, encoded.
        """

    def forward(self, x: Tensor) -> Tensor:
        """Class scores, ``(batch, n_outputs)`` or ``(R, batch, n_outputs)``."""
        *_, out = self.states(self.encoded(x))
        return out if self.has_replicas or self._has_own_batches(x) else out[0]

    def activations(self, x: Tensor) -> list[Tensor]:
        """What every layer answers to x after its nonlinearity, ``(R, batch, …)``, the outputs last."""
        return list(self.states(self.encoded(x)))

    def run(self, columns: Tensor) -> Tensor:
        """From symbols ``(R, n_slots, batch)`` to class scores ``(R, n_outputs, batch)``."""
        *_, out = self.states(self.encoded(columns.transpose(-1, -2)))
        return out.transpose(-1, -2)

    def encoded(self, x: Tensor) -> Tensor:
        """One-hot rows for every replica, ``(R, batch, n_slots, n_symbols)``."""
        own = self._has_own_batches(x)
        if own and x.shape[0] != self.n_replicas:
            raise DataError(f"the network has {self.n_replicas} replicas but the batch is for {x.shape[0]}")
        if x.is_complex():
            raise DataError("symbols must be whole numbers, got complex ones")
        if not x.is_floating_point():
            try:  # a look at the numbers beforehand would wait for the GPU, and could not be recorded there
                x = nn.functional.embedding(x.int() + 1, self.codes)
            except (IndexError, RuntimeError):
                raise DataError(f"symbols go from -1 (empty) to {self.n_symbols - 1}") from None
        return x if own else x.expand(self.n_replicas, *x.shape)

    def _has_own_batches(self, x: Tensor) -> bool:
        check_tensor(x)
        expected = (self.n_inputs, self.n_symbols) if x.is_floating_point() else (self.n_inputs,)
        leading = x.ndim - len(expected)
        if tuple(x.shape[leading:]) != expected or leading not in (1, 2):
            shape = ", ".join(map(str, ("batch", *expected)))
            raise DataError(f"expected an array of shape ({shape}), got {tuple(x.shape)}")
        return leading == 2


@usual_settings()
def symbol_codes(n_symbols: int, *, whitened: bool = False, shifted: bool = False) -> Tensor:
    """The code of an empty slot, then of every symbol: zeros and one-hot, or these changed.

    Args:
        whitened: every channel has mean 0 and variance 1 over the symbols, and an empty slot is coded as the
            absence of each.
        shifted: the absence of a symbol is -1/sqrt(v - 1) and its presence stays 1: what the launch scripts of
            Tomasini and Wyart 2024 call whitening.

    >>> symbol_codes(5, shifted=True)[:2].tolist()
    [[-0.5, -0.5, -0.5, -0.5, -0.5], [1.0, -0.5, -0.5, -0.5, -0.5]]
    """
    if check_flag("whitened", whitened) & check_flag("shifted", shifted):
        raise ConfigError("codes are whitened or shifted, not both")
    n_symbols = check_count("n_symbols", n_symbols, least=2 if whitened or shifted else 1)
    check_size(f"codes of {n_symbols:,} symbols", 2.0 * n_symbols * (n_symbols + 1), "take fewer symbols", bytes_each=4)
    codes = torch.cat([torch.zeros(1, n_symbols), torch.eye(n_symbols)])
    if shifted:
        absent = 1 / math.sqrt(n_symbols - 1)
        return codes * (1 + absent) - absent
    return (codes * n_symbols - 1) / math.sqrt(n_symbols - 1) if whitened else codes


def initial_generators(options: SymbolNetworkOptions) -> list[torch.Generator]:
    """One generator of initial weights per replica."""
    replicas = options.get("n_replicas")
    return generators_for(chosen_seeds(options.get("random_state"), options.get("seeds"), replicas or 1))


class Affine(nn.Module):
    """``count`` affine maps for each of R replicas, one batched product.

    Weights are standard normal numbers and the answer is scaled: ``scale * W x + bias_scale * b``. With a
    scale of 1/sqrt(channels) all learning rates mean the same at every width (the mean-field convention).

    Args:
        n_biases: rows come in runs of so many, each place of a run with a bias of its own.
    """

    def __init__(
        self,
        count: int,
        fan_in: int,
        fan_out: int,
        generators: Sequence[torch.Generator],
        *,
        scale: float,
        bias_scale: float | None = 0.1,
        n_biases: int = 1,
    ):
        super().__init__()
        check_weights(float(count) * (fan_in + n_biases) * fan_out, len(generators))
        self.count, self.scale, self.bias_scale, self.n_biases = count, scale, bias_scale, n_biases
        self.weight = nn.Parameter(per_replica_normal((count, fan_in, fan_out), generators))
        self.bias = None
        if bias_scale is not None:
            self.bias = nn.Parameter(per_replica_normal((count, n_biases, fan_out), generators))

    def forward(self, x: Tensor) -> Tensor:
        """From (R * count, rows, fan_in) to (R * count, rows, fan_out)."""
        weight = self.weight.flatten(0, 1)
        if self.bias is None:
            return self.scale * torch.bmm(x, weight)
        assert self.bias_scale is not None
        if self.n_biases > 1:
            out = self.scale * torch.bmm(x, weight)
            places = out.view(len(out), -1, self.n_biases, out.shape[-1])
            return (places + self.bias_scale * self.bias.flatten(0, 1)[:, None]).flatten(1, 2)
        return torch.baddbmm(self.bias.flatten(0, 1), x, weight, beta=self.bias_scale, alpha=self.scale)


class Readout(nn.Module):
    """Class scores as a mean over hidden units: the mean-field readout, without bias."""

    def __init__(self, width: int, n_outputs: int, generators: Sequence[torch.Generator]):
        super().__init__()
        self.layer = Affine(1, width, n_outputs, generators, scale=1 / width, bias_scale=None)

    def forward(self, h: Tensor) -> Tensor:
        """From (R, batch, width) to (R, batch, n_outputs)."""
        scores: Tensor = self.layer(h)
        return scores

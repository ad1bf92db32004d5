"""How local the units of a layer are, each measure beside what chance gives at the same density.

Every measure reads weights ``(R, units, inputs)``, or the first layer of a network. Raw locality rises with
sparsity by itself, so each comes with a null: the same number of weights of the same sizes at random places.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from compsparse.checks import RandomState, brief, check_count, check_list, check_numbers, generator_from
from compsparse.errors import ConfigError, DataError
from compsparse.graph import FunctionGraph
from compsparse.graph.function_graph import check_graph
from compsparse.networks.replicas import ReplicatedNetwork
from compsparse.text import in_a_line


@in_a_line
@dataclass(frozen=True)
class Locality:
    """A measure of every replica, beside its null. Arrays have one entry per replica; NaN where no unit is left.

    Attributes:
        value: mean over the units that read anything.
        null: what the same weights at random places give.
        error: standard error of the value, over units.
        n_units: units that were measured.
    """

    value: np.ndarray
    null: np.ndarray
    error: np.ndarray
    n_units: np.ndarray

    @property
    def excess(self) -> np.ndarray:
        """The value above its null."""
        return np.asarray(self.value - self.null)


def first_layer(network: ReplicatedNetwork | np.ndarray | torch.Tensor) -> np.ndarray:
    """The weights of a network's first layer, ``(R, units, inputs)``: zero where they are masked."""
    if isinstance(network, ReplicatedNetwork):
        found = getattr(network, "effective", None)
        if found is None:
            raise ConfigError(
                f"the first layer of a {type(network).__name__} is no matrix of weights: give the weights"
            )
        network = found()[0]
    if isinstance(network, torch.Tensor):
        network = network.detach().cpu().numpy()
    weights = check_numbers("weights", network)
    weights = weights[None] if weights.ndim == 2 else weights
    if weights.ndim != 3 or not weights.size:
        raise DataError(f"weights must have shape (replicas, units, inputs), got {weights.shape}")
    return weights


def patch_locality(
    network: Any, patches: Sequence[Sequence[int]] | np.ndarray, *, n_draws: int = 20, random_state: RandomState = None
) -> Locality:
    """Share of a unit's squared weights that lies in the patch where most of it lies; 1 if it reads one patch only.

    Args:
        network: a masked network, or weights ``(R, units, inputs)``.
        patches: sets of inputs.
        n_draws: random rearrangements of every unit's weights that the null is the mean of.

    >>> weights = np.zeros((1, 2, 16))
    >>> weights[0, 0, [0, 1, 4]] = 1
    >>> weights[0, 1] = 1
    >>> from compsparse.tasks import patch_pixels
    >>> float(patch_locality(weights, patch_pixels(4, 2)).value[0])
    0.625
    """
    mass = first_layer(network) ** 2
    member = _membership(patches, mass.shape[-1])

    def shares(mass: np.ndarray) -> np.ndarray:
        return _ratio((mass @ member.T).max(-1), mass.sum(-1))

    return _with_shuffled_null(mass, shares, n_draws, random_state)


def graph_f1(network: Any, graph: FunctionGraph, *, n_draws: int = 20, random_state: RandomState = None) -> Locality:
    """F1 of the inputs that a unit reads with the inputs of the node of the graph that it fits best.

    Nodes that read inputs directly count, each with the inputs it reads; weights count where they are not zero.
    """
    reads = (first_layer(network) != 0).astype(float)
    place = {name: i for i, name in enumerate(check_graph("graph", graph).inputs)}
    sets = [[place[p] for p in node.parents if p in place] for node in graph.nodes]
    member = _membership([s for s in sets if s], len(place))
    if len(place) != reads.shape[-1]:
        raise DataError(f"the graph has {len(place)} inputs but the units read {reads.shape[-1]}")

    def f1(reads: np.ndarray) -> np.ndarray:
        common, size = reads @ member.T, reads.sum(-1, keepdims=True)
        best: np.ndarray = (2 * common / (size + member.sum(1))).max(-1)
        return np.where(size[..., 0] > 0, best, np.nan)

    return _with_shuffled_null(reads, f1, n_draws, random_state)


def near_pairs(network: Any, shape: tuple[int, int], radius: int = 1) -> Locality:
    """Share of the pairs of pixels that a unit reads which lie within ``radius`` rows and columns of each other.

    The null is exact: of pixels at random places, every pair is as likely as any other.

    Args:
        shape: rows and columns of the image; inputs are its pixels row by row.
    """
    height, width = _checked_shape(shape)
    check_count("radius", radius)
    reads = _images(first_layer(network) != 0, height, width)
    n = reads.sum((-1, -2))
    pairs = _near(_displacements(reads), radius)
    share = np.where(n > 1, (pairs - n) / np.maximum(n * (n - 1), 1), np.nan)
    everything = np.ones((height, width))
    all_pairs = _near(_displacements(everything), radius)
    null = (all_pairs - height * width) / (height * width * (height * width - 1))
    value, error, count = _over_units(share)
    return Locality(value, np.where(count > 0, null, np.nan), error, count)


@in_a_line
@dataclass(frozen=True)
class DisplacementHistogram:
    """How often two pixels that one unit reads lie so many rows and columns apart.

    Attributes:
        share: ``(R, 2H - 1, 2W - 1)``, displacement (0, 0) in the middle and left out; sums to 1.
        null: ``(2H - 1, 2W - 1)``, the same of pixels at random places.
    """

    share: np.ndarray
    null: np.ndarray

    @property
    def excess(self) -> np.ndarray:
        """Shares over those of the null: above 1 where displacements are more common than by chance."""
        return _ratio(self.share, np.broadcast_to(self.null, self.share.shape))


def displacement_histogram(network: Any, shape: tuple[int, int]) -> DisplacementHistogram:
    """Displacements between all pairs of pixels that a unit reads, over the units of each replica."""
    height, width = _checked_shape(shape)
    counts = _displacements(_images(first_layer(network) != 0, height, width)).sum(1)
    null = _displacements(np.ones((height, width)))
    for table in (counts, null):
        table[..., height - 1, width - 1] = 0
    total = counts.sum((-1, -2), keepdims=True)
    return DisplacementHistogram(_ratio(counts, np.broadcast_to(total, counts.shape)), null / null.sum())


def off_local_mass(network: Any, local: Any) -> Locality:
    """Share of the squared weights outside a local mask; 0 for a convolution embedded in a dense layer.

    The null is what weights of equal size everywhere have outside.

    Args:
        local: (units, inputs), not zero where a weight is local.
    """
    mass = first_layer(network) ** 2
    mask = check_numbers("local", local.detach().cpu() if isinstance(local, torch.Tensor) else local) != 0
    if mask.shape != mass.shape[1:]:
        raise DataError(f"the local mask must have shape {mass.shape[1:]}, got {mask.shape}")
    share = _ratio((mass * ~mask).sum((-1, -2)), mass.sum((-1, -2)))
    by_unit = _ratio((mass * ~mask).sum(-1), mass.sum(-1))
    _, error, count = _over_units(by_unit)
    return Locality(share, np.full(len(share), (~mask).mean()), error, count)


# ---- parts ---------------------------------------------------------------------------------------


def _with_shuffled_null(
    values: np.ndarray, measure: Callable[[np.ndarray], np.ndarray], n_draws: int, random_state: RandomState
) -> Locality:
    rng, n_draws = generator_from(random_state), check_count("n_draws", n_draws, most=100_000)
    value, error, count = _over_units(measure(values))
    nulls = [_over_units(measure(rng.permuted(values, axis=-1)))[0] for _ in range(n_draws)]
    return Locality(value, np.mean(nulls, axis=0), error, count)


def _over_units(by_unit: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean and standard error over the units of each replica that have a value, and how many have."""
    there = np.isfinite(by_unit)
    n = there.sum(-1)
    filled = np.where(there, by_unit, 0.0)
    mean = _ratio(filled.sum(-1), n)
    spread = np.where(there, (by_unit - mean[:, None]) ** 2, 0.0).sum(-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        error = np.where(n > 1, np.sqrt(spread / np.maximum(n - 1, 1) / np.maximum(n, 1)), np.nan)
    return mean, error, n


def _ratio(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Quotients, NaN where there is nothing to divide by."""
    return np.asarray(np.divide(a, b, out=np.full(np.shape(a), np.nan), where=np.asarray(b) > 0))


def _membership(sets: Any, n_inputs: int) -> np.ndarray:
    """Which inputs each set holds, (sets, inputs)."""
    sets = check_list("patches", sets)
    member = np.zeros((len(sets), n_inputs))
    for row, pixels in zip(member, sets, strict=True):
        places = np.asarray(pixels)
        if places.dtype.kind not in "iu" or not places.size or places.min() < 0 or places.max() >= n_inputs:
            raise DataError(f"a patch must hold numbers of inputs from 0 to {n_inputs - 1}, got {brief(pixels)}")
        row[places] = 1
    if not len(member):
        raise DataError("give at least one patch")
    return member


def _checked_shape(shape: Any) -> tuple[int, int]:
    if not isinstance(shape, Sequence) or isinstance(shape, str) or len(shape) != 2:
        raise ConfigError(f"the shape of an image is (rows, columns), got {brief(shape)}")
    height, width = (check_count("a side of the image", n, most=10_000) for n in shape)
    return height, width


def _images(reads: np.ndarray, height: int, width: int) -> np.ndarray:
    if reads.shape[-1] != height * width:
        raise DataError(f"images of {height} by {width} pixels need {height * width} inputs, got {reads.shape[-1]}")
    return reads.reshape(*reads.shape[:2], height, width).astype(float)


def _displacements(images: np.ndarray) -> np.ndarray:
    """How many ordered pairs of pixels lie so far apart: the autocorrelation, by Fourier transforms."""
    height, width = images.shape[-2:]
    size = (2 * height - 1, 2 * width - 1)
    transformed = np.fft.rfft2(images, size)
    counts = np.fft.irfft2(np.abs(transformed) ** 2, size)
    return np.rint(np.fft.fftshift(counts, axes=(-2, -1)))


def _near(displacements: np.ndarray, radius: int) -> np.ndarray:
    """Ordered pairs within the radius, a pixel with itself among them."""
    rows, columns = (n // 2 for n in displacements.shape[-2:])
    top, left = max(rows - radius, 0), max(columns - radius, 0)
    return np.asarray(displacements[..., top : rows + radius + 1, left : columns + radius + 1].sum((-1, -2)))

"""What bounds say of networks with local connections: how far below dense ones, how near to one, what overlap costs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise, product
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.utils import prune

from compsparse.bounds import BoundTable, compare, empirical_rademacher, overlap_multiplicity
from compsparse.claims.claim import Profile
from compsparse.claims.declared import Measured
from compsparse.claims.seeds import FIRST_SEED
from compsparse.claims.shapes import each, figure_of, seen
from compsparse.networks import MaskedNetwork
from compsparse.origin import Origin
from compsparse.progress import Progress

# ---- networks trained on digits -----------------------------------------------------------------

_SIDE, _CLASSES, _TRAIN, _BATCH = 8, 10, 1400, 200
_SHOWN = ("block paths", "degree-aware", "Golowich", "spectral", "path norm, l1", "memo, Theorem 12", "range")


@dataclass(frozen=True)
class Digits:
    """Scikit-learn's handwritten digits, 8 x 8 pixels from 0 to 1, in an order of its own."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def digits(seed: int) -> Digits:
    """A split of 1,400 digits to train on and 397 to test."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(X))
    first, rest = order[:_TRAIN], order[_TRAIN:]
    return Digits(X[first] / 16, y[first], X[rest] / 16, y[rest])


def convolutional_digits(width: int, n_layers: int = 1) -> nn.Module:
    """Convolutions of 3 x 3 that keep the size of the image, and a linear readout."""
    channels = [1, *[width] * n_layers]
    layers = [layer for a, b in pairwise(channels) for layer in (nn.Conv2d(a, b, 3, padding=1), nn.ReLU())]
    top = nn.Linear(width * _SIDE**2, _CLASSES)
    return nn.Sequential(nn.Unflatten(1, (1, _SIDE, _SIDE)), *layers, nn.Flatten(), top)


def local_digits(width: int) -> nn.Module:
    """One layer of 3 x 3 patches without shared weights: every place has a kernel of its own."""
    patches = np.lib.stride_tricks.sliding_window_view(np.arange(_SIDE**2).reshape(_SIDE, _SIDE), (3, 3))
    reads = patches.reshape(-1, 9)
    mask = torch.zeros(len(reads) * width, _SIDE**2, dtype=torch.bool)
    for place, pixels in enumerate(reads):
        mask[place * width : (place + 1) * width, torch.as_tensor(pixels.copy())] = True
    masks = [mask, torch.ones(_CLASSES, len(mask), dtype=torch.bool)]
    active = [torch.ones(len(mask), dtype=torch.bool), torch.zeros(_CLASSES, dtype=torch.bool)]
    seed = int(torch.randint(2**31, (1,)))
    return MaskedNetwork(masks, active, "relu", random_state=seed, mask_origin=Origin.GIVEN)


def dense_digits(width: int) -> nn.Module:
    """One hidden layer of as many units as the convolution has channels."""
    return nn.Sequential(nn.Linear(_SIDE**2, width), nn.ReLU(), nn.Linear(width, _CLASSES))


@dataclass(frozen=True)
class Trained:
    """A network after training."""

    network: nn.Module
    test_error: float
    table: BoundTable


def train_on_digits(
    make: Callable[[], nn.Module], seed: int, *, n_steps: int = 150, weight_decay: float = 1e-3
) -> Trained:
    """Adam on cross-entropy with weight decay in the loss, then all bounds on the training data."""
    data = digits(seed)
    network, test_error = fitted_to(data, make, seed, n_steps, weight_decay)
    return Trained(network, test_error, compare(network, data.X, data.y, random_state=0))


def fitted_to(
    data: Digits, make: Callable[[], nn.Module], seed: int, n_steps: int, weight_decay: float = 1e-3
) -> tuple[nn.Module, float]:
    """The trained network and its test error."""
    X, y = torch.as_tensor(data.X, dtype=torch.float32), torch.as_tensor(data.y)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network = make()
    optimiser = torch.optim.Adam(network.parameters(), lr=5e-3, weight_decay=weight_decay)
    rng = np.random.default_rng(seed)
    for _ in range(n_steps):
        batch = torch.as_tensor(rng.integers(_TRAIN, size=_BATCH))
        optimiser.zero_grad()
        nn.functional.cross_entropy(network(X[batch]), y[batch]).backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    with torch.no_grad():
        answers = network(torch.as_tensor(data.X_test, dtype=torch.float32)).argmax(1).numpy()
    return network, float((answers != data.y_test).mean())


# ---- orders of magnitude ------------------------------------------------------------------------

_DEPTH = 4


def sparse_below_dense(profile: Profile, progress: Progress) -> Measured:
    """Ratio of the bound by Frobenius norms to the degree-aware one, of one trained network."""
    n_seeds, width = (10, 32) if profile == "full" else (3, 8)
    depths = (1, 2, 3, 4, 5) if profile == "full" else (1, 2, 4)
    found = {
        depth: [train_on_digits(partial(convolutional_digits, width, depth), FIRST_SEED + s) for s in range(n_seeds)]
        for depth in each(depths, progress, "{} convolutions on digits")
    }
    values = {
        f"{name}, {n} convolutions": np.array([t.table[name].complexity for t in trained])
        for n, trained in found.items()
        for name in _SHOWN
    } | {"test error": np.array([t.test_error for t in found[_DEPTH]])}
    points = [(n, float(np.median(values[f"{name}, {n} convolutions"])), name) for n in found for name in _SHOWN]
    figure = figure_of(
        "Bounds on the Rademacher complexity of networks on digits", points, "convolutions", "complexity", "bound",
        log_y=True, y_title="complexity (median over seeds)",
    )  # fmt: skip
    ratios = {n: values[f"Golowich, {n} convolutions"] / values[f"degree-aware, {n} convolutions"] for n in found}
    listed = ", ".join(f"{n}: {np.median(r):.3g}" for n, r in ratios.items())
    return Measured(values, (figure,), f"by the number of convolutions {listed}; {seen(values, 'test error')}")


# ---- real images --------------------------------------------------------------------------------


def locality_on_digits(profile: Profile, progress: Progress) -> Measured:
    """Test errors of dense, locally connected and convolutional networks on handwritten digits."""
    n_seeds = 12 if profile == "full" else 6
    makers = {
        "dense": partial(dense_digits, 16 * (_SIDE - 2) ** 2),  # as many units as the local network has
        "local": partial(local_digits, 16),
        "convolutional": partial(convolutional_digits, 16),
    }
    errors: dict[str, list[float]] = {name: [] for name in makers}
    for name, seed in each(product(makers, range(n_seeds)), progress, "{}, split {}"):
        split = FIRST_SEED + seed
        errors[name].append(fitted_to(digits(split), makers[name], split, 400)[1])
    figure = figure_of("Digits", errors.items(), "network", "error", mark="bars", y_title="test error (mean, range)")
    return Measured({name: np.array(v) for name, v in errors.items()}, (figure,), seen(errors, *errors))


# ---- close to one -------------------------------------------------------------------------------


def nearly_not_vacuous(profile: Profile, progress: Progress) -> Measured:
    """How far above 1 the best proved bound on the expected loss of a trained convolutional network lies."""
    n_seeds = 10 if profile == "full" else 3
    decays = (1e-3, 1e-2)
    found: dict[float, list[Trained]] = {decay: [] for decay in decays}
    make = partial(convolutional_digits, 16)
    for decay, seed in each(product(decays, range(n_seeds)), progress, "weight decay {:g}, seed {}"):
        found[decay].append(train_on_digits(make, FIRST_SEED + seed, weight_decay=decay))
    gaps = {decay: np.array([t.table["block paths"].gap for t in trained]) for decay, trained in found.items()}
    best = min(gaps, key=lambda decay: float(np.median(gaps[decay])))
    points = [
        (name, float(np.median([t.table[name].gap for t in trained])), f"{decay:g}")
        for decay, trained in found.items()
        for name in ("block paths", "degree-aware", "Golowich", "parameter counting", "PAC-Bayes, Gaussian")
    ]
    figure = figure_of("Gap between expected and training loss that bounds allow", points, "bound", "gap",
                       "weight decay", mark="bars", log_y=True, y_title="gap (median over seeds)")  # fmt: skip
    values = {"gap": gaps[best], "test error": np.array([t.test_error for t in found[best]])}
    published = np.median([t.table["published code"].gap for t in found[best]])
    bayes = np.median([t.table["PAC-Bayes, Gaussian"].expected_loss for t in found[best]])
    also = f"at weight decay {best:g}; the published program, which leaves out a degree, has {published:.3g}"
    return Measured(values, (figure,), f"{also}; PAC-Bayes bound {bayes:.2f}; {seen(values, 'test error')}")


# ---- overlap ------------------------------------------------------------------------------------

_OVERLAPS = ((2, 1), (3, 1), (3, 2), (4, 2), (5, 2))
"""Kernel and overlap; for (3, 1) and (5, 2) the stride does not divide the kernel."""


def overlap_costs(profile: Profile, progress: Progress) -> Measured:
    """By how much overlapping patches raise the complexity of a locally connected layer, on the data that suffer most.

    The layer's units have norm at most 1, and so has the readout. All data stand on one input that most patches hold.
    """
    n_draws, rows = (64, 24) if profile == "full" else (24, 12)
    values: dict[str, Any] = {}
    points = []
    for kernel, overlap in each(_OVERLAPS, progress, "kernel {}, overlap {}"):
        name, whole = f"K={kernel}, O={overlap}", math.sqrt(overlap_multiplicity(kernel, overlap))
        with_, without = _overlapping_and_apart(kernel, overlap, rows, n_draws)
        values |= {f"overlapping, {name}": with_, f"apart, {name}": without, f"root, {name}": whole}
        shown = {"found": float(np.exp(np.mean(np.log(with_ / without)))), "root of ceil(K/(K-O))": whole}
        shown["root of K/(K-O), as printed"] = math.sqrt(kernel / (kernel - overlap))
        points += [(name, factor, of) for of, factor in shown.items()]
    figure = figure_of("What overlap costs a locally connected layer", points, "patches", "factor", "", mark="bars")
    return Measured(values, (figure,))


def _overlapping_and_apart(kernel: int, overlap: int, rows: int, n_draws: int) -> list[np.ndarray]:
    """Complexity with overlap and without, on the same data and signs."""
    stride, n_places = kernel - overlap, 4
    n_inputs = kernel + stride * (n_places - 1)
    apart = _local_layer([range(p * kernel, (p + 1) * kernel) for p in range(n_places)], n_places * kernel)
    patches = [range(p * stride, p * stride + kernel) for p in range(n_places)]
    overlapping = _local_layer(patches, n_inputs)
    held = [sum(i in patch for patch in patches) for i in range(n_inputs)]
    values = np.random.default_rng(FIRST_SEED).normal(size=rows)
    found = []
    for network, size, where in ((overlapping, n_inputs, int(np.argmax(held))), (apart, n_places * kernel, 0)):
        X = np.zeros((rows, size))
        X[:, where] = values
        options = {"weight_class": "blocks", "n_draws": n_draws, "n_restarts": 6, "n_steps": 120}
        found.append(empirical_rademacher(network, X, random_state=FIRST_SEED, **options).maxima)  # type: ignore[arg-type]
    return found


def _local_layer(patches: list[range], n_inputs: int) -> nn.Module:
    """Linear units of norm 1, one a patch, and a linear readout of norm 1."""
    mask = torch.tensor([[float(i in patch) for i in range(n_inputs)] for patch in patches])
    layer, readout = nn.Linear(n_inputs, len(patches), bias=False), nn.Linear(len(patches), 1, bias=False)
    nn.init.constant_(layer.weight, 1 / math.sqrt(len(patches[0])))
    nn.init.constant_(readout.weight, 1 / math.sqrt(len(patches)))
    return nn.Sequential(prune.custom_from_mask(layer, "weight", mask), readout)  # type: ignore[no-untyped-call]


# ---- locality and sharing -----------------------------------------------------------------------


def locality_and_sharing(profile: Profile, progress: Progress) -> Measured:
    """Complexities of a dense, a locally connected and a convolutional layer whose units have equal norms."""
    n_draws, rows = (64, 64) if profile == "full" else (16, 32)
    values: dict[str, Any] = {}
    points: list[tuple[str, float, str]] = []
    for n_inputs, kernel in each(((16, 4), (32, 4), (32, 8)), progress, "{} inputs, kernel {}"):
        X = np.random.default_rng(FIRST_SEED + n_inputs).normal(size=(rows, n_inputs))
        where, maxima = f"n={n_inputs}, k={kernel}", {}
        for name, network in _layers_of_equal_units(n_inputs, kernel).items():
            maxima[name] = empirical_rademacher(
                network, X, weight_class="units", n_draws=n_draws, n_restarts=4, n_steps=120, random_state=FIRST_SEED
            ).maxima
            points.append((where, float(maxima[name].mean()), name))
        dense, own, shared = (np.log(m) for m in maxima.values())
        values |= {f"log gain of locality, {where}": dense - own, f"log gain of sharing, {where}": own - shared}
        values |= {f"dense, {where}": np.exp(dense), f"local, {where}": np.exp(own)}
        values[f"root of n over k, {where}"] = math.sqrt(n_inputs / kernel)
    figure = figure_of(
        "Rademacher complexity of layers of equal units, found by search", points, "inputs", "complexity", "layer",
        mark="bars",
    )  # fmt: skip
    return Measured(values, (figure,))


def _layers_of_equal_units(n_inputs: int, kernel: int) -> dict[str, nn.Module]:
    """As many ReLU units as there are patches, each of norm 1, and a readout of norm 1."""
    n = n_inputs // kernel
    patches = [range(p * kernel, (p + 1) * kernel) for p in range(n)]
    local, dense = _local_layer(patches, n_inputs), _local_layer([range(n_inputs)] * n, n_inputs)
    shared = nn.Conv1d(1, 1, kernel, kernel, bias=False)
    nn.init.constant_(shared.weight, 1 / math.sqrt(kernel))
    assert isinstance(local, nn.Sequential)
    assert isinstance(dense, nn.Sequential)
    image = nn.Unflatten(1, (1, n_inputs))
    return {
        "dense": nn.Sequential(dense[0], nn.ReLU(), dense[1]),
        "local, own weights": nn.Sequential(local[0], nn.ReLU(), local[1]),
        "local, shared weights": nn.Sequential(image, shared, nn.ReLU(), nn.Flatten(), local[1]),
    }


# ---- norms of kernels ---------------------------------------------------------------------------


def memo_theorem(profile: Profile, progress: Progress) -> Measured:
    """The complexity of binary-tree networks, found by search, over what is proved and what Theorem 12 allows."""
    n_draws, rows = (64, 40) if profile == "full" else (16, 20)
    depths = (2, 3, 4, 5) if profile == "full" else (2, 3, 4)
    values: dict[str, Any] = {}
    points, shares = [], []
    for depth in each(depths, progress, "{} layers"):
        rng = np.random.default_rng(FIRST_SEED + depth)
        normal = rng.normal(size=(rows, 2**depth))
        data = {"Gaussian": normal, "positive": np.abs(normal), "one input": normal * np.eye(2**depth)[0]}
        for name, X in data.items():
            network = _binary_tree(depth)
            found = empirical_rademacher(
                network, X, weight_class="blocks", n_draws=n_draws, n_restarts=6, n_steps=120, random_state=FIRST_SEED
            )
            table = compare(network, X, random_state=0)
            ratio = found.maxima / table["block paths"].complexity
            values[f"found over proved, {depth} layers, {name}"] = ratio
            points.append((depth, float(ratio.mean()), name))
            shares.append(found.value / table["memo, Theorem 12"].complexity)
    title = "What a search finds of what is proved, binary-tree networks"
    figure = figure_of(title, points, "layers", "found / proved", "data")
    return Measured(values | {"largest share of Theorem 12": max(shares)}, (figure,))


def _binary_tree(depth: int) -> nn.Module:
    """Kernels of two places with stride two and norm 1, one channel, shared on each layer."""
    kernels = [nn.Conv1d(1, 1, 2, 2, bias=False) for _ in range(depth)]
    for kernel in kernels:
        nn.init.constant_(kernel.weight, math.sqrt(0.5))
    hidden = [layer for kernel in kernels[:-1] for layer in (kernel, nn.ReLU())]
    return nn.Sequential(nn.Unflatten(1, (1, 2**depth)), *hidden, kernels[-1], nn.Flatten())

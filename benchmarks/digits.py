"""Small images: dense, local, convolutional, L1, pruned and attentive networks; test error, sparsity, locality, bounds.

scikit-learn's digits by default; ``--images FOLDER`` takes a folder with one subfolder a class instead, and
``--table FILE --target COLUMN`` a table whose other columns are the pixels of square images, row by row.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable

import numpy as np
import torch
from _report import finish, print_table

from compsparse import bounds
from compsparse.measures import near_pairs
from compsparse.networks import ImageNetwork, ReplicatedNetwork, as_masked, layered, only
from compsparse.networks.attention import AttentionNetwork
from compsparse.tables import read_images, read_table
from compsparse.training import (
    CrossEntropy,
    ProximalL1,
    PruningConfig,
    TrainingConfig,
    TrainingData,
    WeightDecay,
    prune,
    train,
)

SEEDS, WIDTH = 5, 144
CONFIG = TrainingConfig(n_steps=400, batch_size=64, learning_rate=3e-3, weight_decay=1e-2)
DECAYED_BY_PENALTY = TrainingConfig(n_steps=400, batch_size=64, learning_rate=3e-3, weight_decay=0)


class Digits:
    """Images of one side, scaled, with another split into training and test rows for every seed."""

    def __init__(self, X: np.ndarray, y: np.ndarray):
        self.side, self.classes = round(X.shape[1] ** 0.5), int(y.max()) + 1
        X = (X - X.mean(0)) / X.std()
        orders = [np.random.default_rng(seed).permutation(len(X)) for seed in range(SEEDS)]
        cut = round(0.7 * len(X))
        self.test = torch.as_tensor(np.stack([o[cut:] for o in orders]))
        rows = tuple(torch.as_tensor(o[:cut]) for o in orders)
        self.data = TrainingData(torch.as_tensor(X, dtype=torch.float32), torch.as_tensor(y), train=rows)

    @torch.no_grad()
    def errors(self, network: ReplicatedNetwork) -> np.ndarray:
        wrong = network(self.data.X[self.test]).argmax(-1) != self.data.y[self.test]
        return wrong.double().mean(1).numpy()


def dense(digits: Digits) -> ReplicatedNetwork:
    network = layered([digits.side**2, WIDTH, digits.classes], n_replicas=SEEDS, random_state=0)
    train(network, digits.data, CONFIG, loss=CrossEntropy(), random_state=0)
    return network


def local(digits: Digits) -> ReplicatedNetwork:
    return _image(digits, "local")


def convolutional(digits: Digits) -> ReplicatedNetwork:
    return _image(digits, "convolutional")


def _image(digits: Digits, first: str) -> ReplicatedNetwork:
    shape = (1, digits.side, digits.side)
    network = ImageNetwork(
        first, shape, digits.classes, 8, kernel=3, width=32, batch_norm=False, n_replicas=SEEDS, random_state=0
    )
    train(network, digits.data, CONFIG, loss=CrossEntropy(), random_state=0)
    return network


def l1(digits: Digits) -> ReplicatedNetwork:
    network = layered([digits.side**2, WIDTH, digits.classes], n_replicas=SEEDS, random_state=0)
    penalties = [ProximalL1(0.3, layers=[0]), WeightDecay(1e-2, layers=[1])]
    train(network, digits.data, DECAYED_BY_PENALTY, loss=CrossEntropy(), penalties=penalties, random_state=0)
    return network


def pruned(digits: Digits) -> ReplicatedNetwork:
    network = layered([digits.side**2, WIDTH, digits.classes], n_replicas=SEEDS, random_state=0)
    pruning = PruningConfig(n_rounds=6, rewind_step=40)
    done = prune(network, digits.data, CONFIG, pruning=pruning, loss=CrossEntropy(), random_state=0)
    return done.rounds[-1].network


def attentive(digits: Digits) -> ReplicatedNetwork:
    """Pixels are tokens; a class reads those that its query selects."""
    network = AttentionNetwork(
        digits.side**2, digits.classes, 2, 32, selection="entmax15", n_replicas=SEEDS, random_state=0
    )
    train(network, digits.data, CONFIG, loss=CrossEntropy(), random_state=0)
    return network


WAYS: dict[str, Callable[[Digits], ReplicatedNetwork]] = {
    "dense": dense,
    "local": local,
    "convolutional": convolutional,
    "dense, L1": l1,
    "dense, pruned to 12%": pruned,
    "attention, entmax": attentive,
}
"""Another way is one function from the images to a trained network of one replica a seed."""


def reads(network: ReplicatedNetwork, digits: Digits) -> torch.Tensor:
    """What units read of the pixels, (seeds, units, pixels): their weights, or what tokens attend to on average."""
    if isinstance(network, AttentionNetwork):
        first = network.attention(digits.data.X[digits.test[0][:200]])[0].mean(1)
        return first.flatten(1, 2)
    return network.effective()[0]


def bounds_of(network: ReplicatedNetwork, digits: Digits) -> dict[str, float]:
    """Complexities of the first seed's network, by the bound's name; none is known here for attention."""
    if isinstance(network, AttentionNetwork):
        return dict.fromkeys(("Golowich", "degree-aware"), math.nan)
    rows = digits.data.train_rows(SEEDS)[0]
    masked = as_masked(network) if isinstance(network, ImageNetwork) else network
    masked.set_masks([m * (w != 0) for m, w in zip(masked.masks(), masked.effective(), strict=True)])
    table = bounds.compare(only(masked), digits.data.X[rows].numpy(), digits.data.y[rows].numpy(), classification=True)
    return {name: float(table[name].complexity) for name in ("Golowich", "degree-aware")}


def images(given: argparse.Namespace) -> tuple[np.ndarray, np.ndarray]:
    if given.images:
        table = read_images(given.images, given.side)
        return table.X, table.y
    if given.table:
        frame = read_table(given.table)
        _, y = np.unique(frame.pop(given.target).to_numpy(), return_inverse=True)
        return frame.to_numpy(dtype=float), y
    from sklearn.datasets import load_digits

    return load_digits(return_X_y=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images")
    parser.add_argument("--side", type=int, default=16)
    parser.add_argument("--table")
    parser.add_argument("--target", default="y")
    digits = Digits(*images(parser.parse_args()))
    rows, figures = [], {}
    for name, way in WAYS.items():
        network = way(digits)
        error = digits.errors(network)
        weight = reads(network, digits)
        near = near_pairs(weight, (digits.side, digits.side), 1)
        density = float((weight != 0).double().mean())
        found = bounds_of(network, digits)
        rows.append([name, float(error.mean()), density, float(near.value.mean()), float(near.null[0]),
                     found["degree-aware"], found["Golowich"]])  # fmt: skip
        print(*rows[-1], flush=True)
        figures[f"error_{name}"] = float(error.mean())
        if math.isfinite(found["Golowich"]):
            figures[f"golowich_over_degree_aware_{name}"] = found["Golowich"] / found["degree-aware"]
    print_table(["network", "test error", "density", "near pairs", "null", "degree-aware", "Golowich"], rows)
    finish(figures, {})


if __name__ == "__main__":
    main()

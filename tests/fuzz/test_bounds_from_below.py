"""Every bound that is called proved lies above the complexity that a search finds, on random small networks.

A sample runs with the tests; ``pytest tests/fuzz --all-cases`` runs a hundred networks.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import nn

from compsparse.bounds import compare, empirical_rademacher
from compsparse.certificate import Rigour
from compsparse.graph import random_dag
from compsparse.networks import MaskedNetwork, convolutional, local, mirror

_CASES, _SAMPLE = 100, 7
CLASS_OF = {
    "block paths": "blocks",
    "degree-aware": "tiers",
    "degree-aware, unit by unit": "units",
    "Golowich": "layers",
    "spectral": "spectral",
    "range": "spectral",
    "path norm, l1": "l1 paths",
    "path norm, l2": "l2 paths",
}
"""The class whose complexity each bound is on."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "case" in metafunc.fixturenames:
        everything = metafunc.config.getoption("--all-cases", default=False)
        metafunc.parametrize("case", range(_CASES if everything else _SAMPLE))


def network_of(case: int, rng: np.random.Generator) -> tuple[nn.Module, int]:
    """A network and its number of inputs; every seventh is of one kind."""
    width, bias = int(rng.integers(1, 5)), bool(rng.integers(2))
    activation = ("relu", "relu", "tanh", "silu")[int(rng.integers(4))]
    torch.manual_seed(case)
    outputs = int(rng.integers(1, 4))
    match case % _SAMPLE:
        case 0:
            sizes = [4, *rng.integers(1, 6, rng.integers(1, 4)), outputs]
            layers = [m for a, b in pairwise(map(int, sizes)) for m in (nn.Linear(a, b, bias=bias), nn.ReLU())]
            return nn.Sequential(*layers[: -1 if bias else None]), 4
        case 1:
            return local(8, 2, 2, width, activation=activation, random_state=case), 8
        case 2:
            return convolutional(9, 3, 3, width, activation="relu", channels=width, random_state=case), 9
        case 3:
            bias = bias or case == 3  # one with pooling in every sample
            pool = nn.AvgPool1d(2, stride=1) if bias else nn.Identity()
            layers = [nn.Unflatten(1, (1, 7)), nn.Conv1d(1, width, 3, stride=2, padding=1, bias=bias), nn.ReLU(), pool]
            return nn.Sequential(*layers, nn.Flatten(), nn.Linear(width * (3 if bias else 4), outputs, bias=bias)), 7
        case 4:
            masks = [torch.rand(b, a) < 0.6 for a, b in pairwise((5, 6, 4, outputs))]
            for mask in masks:
                mask[:, 0] = True
            return MaskedNetwork(masks, [torch.rand(len(m)) < 0.7 for m in masks], "relu", random_state=case), 5
        case 5:
            return mirror(random_dag(4, 5, random_state=case), width, 1, activation, random_state=case), 4
        case _:
            kernels = [nn.Conv2d(1, width, 2, bias=bias), nn.ReLU(), nn.Conv2d(width, 2, 2, bias=bias), nn.ReLU()]
            top = nn.Linear(8, outputs, bias=bias)
            return nn.Sequential(nn.Unflatten(1, (1, 4, 4)), *kernels, nn.Flatten(), top), 16


def test_proved_bounds_are_above_what_is_found(case: int, request: pytest.FixtureRequest) -> None:
    everything = request.config.getoption("--all-cases", default=False)
    effort = {"n_draws": 6, "n_restarts": 3, "n_steps": 60 if everything else 25}
    rng = np.random.default_rng(case)
    network, n_inputs = network_of(case, rng)
    X = rng.normal(size=(int(rng.integers(3, 13)), n_inputs)) * rng.uniform(0.1, 2, n_inputs)
    table = compare(network, X)
    proved = [b for b in table.bounds if b.rigour is Rigour.PROVED and b.name in CLASS_OF]
    assert {"degree-aware, unit by unit", "spectral", "range"} <= {b.name for b in proved}
    found = {
        name: empirical_rademacher(network, X, weight_class=name, random_state=case, **effort).value
        for name in sorted({CLASS_OF[b.name] for b in proved})
    }
    assert all(value > 0 for value in found.values())
    too_low = [
        (b.name, b.complexity, found[CLASS_OF[b.name]]) for b in proved if b.complexity < found[CLASS_OF[b.name]]
    ]
    assert not too_low

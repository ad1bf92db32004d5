"""No certificate is false: random functions, and a search for points where the error exceeds its bound.

A sample runs with the tests; ``--all-cases`` runs 200 functions with a million points each.
"""

from __future__ import annotations

import numpy as np
import pytest
from functions import random_function

import compsparse as cs
from compsparse.construct import largest_error

_SEEDS, _ALL_SEEDS = 6, 200


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "function_seeds" in metafunc.fixturenames:
        everything = metafunc.config.getoption("--all-cases", default=False)
        case = (_ALL_SEEDS, 1_000_000) if everything else (_SEEDS, 4_000)
        metafunc.parametrize(("function_seeds", "n_points"), [case])


def test_no_bound_is_exceeded_and_the_median_bound_is_close(function_seeds, n_points):
    ratios = []
    for seed in range(function_seeds):
        graph = random_function(seed)
        tol = 10.0 ** -(1 + seed % 3)
        built = cs.compile(graph, (-1.0, 1.0), tol, n_points=500)
        found = largest_error(built.network, graph, built.domain, n_points=n_points, random_state=seed)
        assert built.certificate.upper <= tol
        assert found.value <= built.certificate.upper + 1e-13
        assert built.certificate.holds
        if built.bound:
            ratios.append(built.certificate.upper / found.value)
    assert np.median(ratios) <= 20

"""What people write is traced, evaluates as written, and is compiled where it is continuous."""

import numpy as np
import pytest
from idioms import IDIOMS, Idiom

import compsparse as cs
from compsparse.errors import GraphError
from compsparse.graph import trace


def points(idiom: Idiom, n: int, seed: int = 0) -> np.ndarray:
    low, high = np.array(idiom.box).T
    return np.random.default_rng(seed).uniform(low, high, (n, len(low)))


def traced(idiom: Idiom):
    return trace(idiom.function, len(idiom.box), fuse=True)


@pytest.mark.parametrize("idiom", IDIOMS, ids=lambda i: i.name)
def test_it_is_traced_and_evaluates_as_written(idiom):
    X = points(idiom, 60)
    graph = traced(idiom)
    np.testing.assert_allclose(graph(X).reshape(len(X), -1), idiom.values(X), rtol=1e-11, atol=1e-11)
    again = cs.FunctionGraph.from_json(graph.to_json())
    np.testing.assert_array_equal(again(X), graph(X))


@pytest.mark.parametrize("idiom", [i for i in IDIOMS if i.tol is not None], ids=lambda i: i.name)
def test_it_is_compiled_where_it_is_continuous(idiom):
    built = cs.compile(traced(idiom), list(idiom.box), idiom.tol, n_points=200)
    assert built.certificate.upper <= idiom.tol
    X = points(idiom, 300, seed=1)
    off = np.abs(built(X).reshape(len(X), -1) - idiom.values(X)).max()
    assert off <= built.certificate.upper + 1e-12


@pytest.mark.parametrize("idiom", [i for i in IDIOMS if i.tol is None], ids=lambda i: i.name)
def test_jumps_are_refused_by_name(idiom):
    with pytest.raises(GraphError, match="jumps"):
        cs.compile(traced(idiom), list(idiom.box), 1e-2, n_points=200)

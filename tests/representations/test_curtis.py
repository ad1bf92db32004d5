"""Ashenhurst-Curtis decomposition: exact for every table, within the arity, and smaller where there is structure."""

import numpy as np
import pytest

from compsparse.errors import ConfigError, DataError
from compsparse.representations.boolean import column_multiplicity, curtis_decomposition, evaluate_bits
from compsparse.representations.boolean.reading import all_rows
from compsparse.tasks import majority_vote, multiplexer


@pytest.mark.parametrize("most_arity", [3, 4, 5])
@pytest.mark.parametrize("n", [1, 2, 4, 6, 8])
def test_every_table_is_computed_with_small_nodes(n, most_arity):
    table = np.random.default_rng(n).integers(0, 2, (1 << n, 2))
    found = curtis_decomposition(table, most_arity)
    assert found.graph.max_arity <= most_arity
    assert np.array_equal(evaluate_bits(found.graph, all_rows(n)), table)


def test_constants_copies_and_complements():
    x = all_rows(3)
    table = np.stack([0 * x[:, 0], 0 * x[:, 0] + 1, x[:, 1], 1 - x[:, 1], x[:, 1]], axis=1)
    found = curtis_decomposition(table, names=["m0", "m", "y"], outputs=["a", "b", "c", "d", "e"])
    assert np.array_equal(evaluate_bits(found.graph, x), table)


@pytest.mark.parametrize("graph", [majority_vote(9).graph, multiplexer(3).graph], ids=["majority", "multiplexer"])
def test_structure_makes_small_graphs(graph):
    n = graph.n_inputs
    table = evaluate_bits(graph, all_rows(n))
    found = curtis_decomposition(table, most_arity=4)
    assert np.array_equal(evaluate_bits(found.graph, all_rows(n)), table)
    random = curtis_decomposition(np.random.default_rng(0).integers(0, 2, 1 << n), most_arity=4)
    assert found.graph.size <= 20
    assert random.graph.size > 4 * found.graph.size


def test_a_set_through_several_wires_is_found():
    """Nine votes: four of them tell by five counts, three wires; no set of four acts through one or two."""
    table = (all_rows(9).sum(1) > 4).astype(int)
    found = curtis_decomposition(table, most_arity=4)
    first = found.path[0]
    assert len(first.bound) == 4
    assert first.multiplicity == 5 == column_multiplicity(table, range(4))
    assert len(first.wires) == 3


def test_two_outputs_share_nodes():
    x = all_rows(6)
    counts = x.sum(1)
    both = curtis_decomposition(np.stack([counts > 2, counts > 3], axis=1), 3).graph
    alone = [curtis_decomposition(counts > c, 3).graph.size for c in (2, 3)]
    assert both.size < sum(alone)


def test_bad_tables():
    with pytest.raises(DataError, match="at most 16"):
        curtis_decomposition(np.zeros(1 << 17))
    with pytest.raises(ConfigError, match="most_arity"):
        curtis_decomposition([0, 1, 1, 0], most_arity=2)
    with pytest.raises(DataError):
        curtis_decomposition([0, 1, 2, 0])

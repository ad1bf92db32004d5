"""What is there for comparison: the memo's construction, and counts side by side."""

import math

import numpy as np
import pytest
import torch

import compsparse as cs
from compsparse.construct import (
    indicator_cells,
    indicator_network,
    indicator_units,
    shallow_log10_units,
    unit_counts,
)
from compsparse.errors import ConfigError
from compsparse.graph.parser import parse_formula

BOX = [(-1.0, 1.0)] * 2
WAVE = parse_formula("sin(2*a - b + a*b)", ["a", "b"])


def test_indicators_add_up_to_one_along_edges_and_to_two_at_corners():
    ones = indicator_network(parse_formula("1 + 0*a + 0*b", ["a", "b"]), BOX, 4).network
    at = {(-0.3, 0.1): 1, (0.2, 0.5): 1, (0.0, 0.25): 1, (0.0, 0.0): 2, (0.5, -0.5): 2, (1.0, 1.0): 1}
    values = ones(torch.tensor(list(at), dtype=torch.float64))[:, 0].tolist()
    assert values == pytest.approx(list(at.values()))


def test_a_cell_costs_eleven_units():
    """Correction 2: k = L/eps cells a side make O(L^2 eps^-2) units, quadratic in L, not linear."""
    found = indicator_network(WAVE, BOX, 6)
    assert found.network.size.units == indicator_units(6) == 11 * 36
    steep = parse_formula("sin(4*a - 2*b + 2*a*b)", ["a", "b"])
    cells = [indicator_cells(f, BOX, 0.01) for f in (WAVE, steep)]
    assert cells[1] == pytest.approx(2 * cells[0], rel=0.05)
    assert indicator_units(cells[1]) == pytest.approx(4 * indicator_units(cells[0]), rel=0.1)
    assert cells[0] == pytest.approx(500, rel=0.02)


def test_the_memo_needs_hundreds_of_times_the_units_of_a_grid():
    graph = cs.FunctionGraph(
        ["a", "b"], [cs.Node("f", ("a", "b"), cs.Constituent.from_expression("sin(2*a - b + a*b)", ["a", "b"]))]
    )
    grid = cs.compile(graph, (-1, 1), 0.01, "kuhn", n_points=100)
    memo = indicator_units(indicator_cells(WAVE, BOX, 0.01))
    assert grid.size.units <= 6000
    assert memo >= 300 * grid.size.units
    assert cs.compile(graph, (-1, 1), 0.01, n_points=100).size.units < 60


def test_bad_input_of_the_memo_construction():
    with pytest.raises(ConfigError, match="two variables"):
        indicator_network(parse_formula("a", ["a"]), [(0.0, 1.0)], 3)
    with pytest.raises(ConfigError, match="infinite slope"):
        indicator_cells(parse_formula("sqrt(a) + b", ["a", "b"]), [(0.0, 1.0)] * 2, 0.1)


def test_one_grid_over_all_inputs_is_counted_as_it_would_be_built():
    graph = cs.FunctionGraph(
        ["a", "b"], [cs.Node("f", ("a", "b"), cs.Constituent.from_expression("a**2/2 + b**2/2", ["a", "b"]))]
    )
    built = cs.compile(graph, (0, 1), 2e-4, "kuhn", n_points=100)
    assert 10 ** shallow_log10_units(graph, built.domain, 2e-4) == pytest.approx(built.size.units, rel=0.15)
    assert shallow_log10_units(cs.FunctionGraph.from_expression("abs(a)*b"), BOX, 0.01) == math.inf


def test_counts_stand_side_by_side():
    found = unit_counts(cs.compile("tanh(a*b) + sin(c*d)", (-1, 1), 0.01))
    assert found.log10_shallow == pytest.approx(4)
    assert found.units < 10**found.log10_shallow_built
    assert np.isfinite([found.log10_deep, found.log10_deep_with_factors]).all()
    with pytest.raises(ConfigError, match="one output"):
        unit_counts(cs.compile(cs.FunctionGraph.from_expression(["a*b", "a + b"]), (-1, 1), 0.1))

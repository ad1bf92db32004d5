"""Groups of inputs: products of powers and weighted sums inside wide nodes."""

from __future__ import annotations

import numpy as np
import pytest

import compsparse as cs
from compsparse.cli.discover import _units
from compsparse.discovery import Discovery
from compsparse.discovery.structure.group_search import SampledSlopes, fewest_groups, find_groups
from compsparse.discovery.structure.groups import InputGroup
from compsparse.errors import ConfigError
from compsparse.models import fit_model, learned_nodes

PIPE = {"e": (1e-5, 1e-3), "D": (0.05, 0.5), "rho": (800, 1200), "V": (0.5, 5), "mu": (5e-4, 5e-3)}


def drop_of_pressure(X):
    e, D, rho, V, mu = X.T
    return 0.25 / np.log10(e / D / 3.7 + 5.74 / (rho * V * D / mu) ** 0.9) ** 2 * rho * V**2 / D


def two_numbers(X):
    a, b, c, d = X.T
    return np.tanh(a * b / c) * np.log1p(d * b / c**2) + np.exp(-a * d / c)


def formulas(found: Discovery) -> set[str]:
    return {part.formula for part in found.parts}


@pytest.fixture(scope="module")
def pipe() -> Discovery:
    return cs.discover(drop_of_pressure, bounds=PIPE, random_state=0)


def test_queries_find_reynolds_number(pipe):
    assert formulas(pipe) >= {"e / D", "D rho V / mu"}
    (factor,) = (part for part in pipe.parts if "factor of y" in part.statement)
    assert not any(part.approximate for part in pipe.parts)
    # the factor times a function of the two groups: what is left after it depends on these alone
    rng = np.random.default_rng(0)
    low, high = np.array(list(PIPE.values())).T
    X = low + (high - low) * rng.random((50, 5))
    moved = X * np.array([2.0, 2.0, 1.0, 1.0, 2.0])  # keeps e / D and rho V D / mu
    by = _value(pipe, factor.members, moved) / _value(pipe, factor.members, X)
    np.testing.assert_allclose(drop_of_pressure(moved) / drop_of_pressure(X), by, rtol=1e-9)


UNITS = {"e": "mm", "D": "m", "rho": "kg/m^3", "V": "m/s", "mu": "Pa s", "y": "Pa/m"}


def test_units_choose_pure_numbers_among_the_groups():
    """Of the powers of rho V^2 and rho V D / mu, V mu / D is simpler than the second, and no pure number."""

    def f(X):
        rho, V, D, mu = X.T
        return np.tanh(rho * V**2 / 3) + np.log1p(rho * V * D / mu) * np.exp(-rho * V**2 / 9)

    bounds = dict.fromkeys(["rho", "V", "D", "mu"], (1, 2))
    plain = cs.discover(f, bounds=bounds, random_state=0)
    told = cs.discover(f, bounds=bounds, random_state=0, units={n: UNITS[n] for n in bounds})
    assert formulas(plain) == {"rho V^2", "V mu / D"}
    assert formulas(told) == {"rho V^2", "rho V D / mu"}


def test_units_are_said_and_contradictions_marked():
    found = cs.discover(drop_of_pressure, bounds=PIPE, units=UNITS, random_state=0)
    said = {part.formula: part.statement for part in found.parts}
    assert all("a pure number" in said[name] for name in ("e / D", "D rho V / mu"))
    wrong = cs.discover(drop_of_pressure, bounds=PIPE, units={**UNITS, "mu": "Pa"}, random_state=0)
    (doubted,) = (part for part in wrong.parts if any("no pure number" in doubt for doubt in part.doubts))
    assert doubted.formula == "D rho V / mu"


@pytest.mark.parametrize(
    ("units", "told"),
    [
        ({"rho": "kg/q"}, "there is no unit 'q'"),
        ({"roh": "kg"}, "no input or output; did you mean 'rho'"),
        ({"rho": 3}, "must be a text"),
        ("kg", "must be a mapping"),
    ],
)
def test_units_that_cannot_be_read_are_refused(units, told):
    with pytest.raises(ConfigError, match=told):
        cs.discover(drop_of_pressure, bounds=PIPE, units=units)


def _value(found, members, X):
    node = next(n for n in found.graph.nodes if n.constituent is not None and set(n.parents) == members)
    return node.constituent(*(X[:, found.graph.inputs.index(p)] for p in node.parents))


def test_nodes_carry_the_formula_and_json_keeps_it(pipe):
    known = {frozenset(n.parents) for n in pipe.graph.nodes if n.constituent is not None}
    assert {frozenset({"e", "D"}), frozenset({"D", "rho", "V", "mu"})} <= known
    again = Discovery.from_json(pipe.to_json())
    assert again.graph == pipe.graph
    assert formulas(again) == formulas(pipe)


def test_weighted_sums_by_queries():
    found = cs.discover(
        lambda X: np.sin(X @ [1.0, 2, -1, 0.5]) * np.exp(X @ [0.0, 1, 1, -1]),
        bounds=(-1, 1),
        names=list("abcd"),
        random_state=0,
    )
    weights = [_weights(part.formula) for part in found.parts]
    true = np.array([[1.0, 2, -1, 0.5], [0, 1, 1, -1]])
    assert len(weights) == 2
    assert np.linalg.svd(np.vstack([weights, true]), compute_uv=False)[2] < 1e-3


def _weights(formula):
    values = dict.fromkeys("abcd", 0.0)
    for term in formula.replace("- ", "+ -").split("+ "):
        *size, name = term.replace("-", "- ").split()
        values[name] = (-1.0 if "-" in size else 1.0) * float(next((s for s in size if s != "-"), 1.0))
    return list(values.values())


@pytest.mark.parametrize(
    "function",
    [
        lambda X: np.sin(X[:, 0] + X[:, 1] * X[:, 2]) + X[:, 3] * np.exp(X[:, 0] * X[:, 2]) + X[:, 1] * X[:, 3],
        lambda X: two_numbers(X) + 1e-3 * np.sin(3 * X[:, 0]) * X.sum(1) ** 2,
    ],
    ids=["none", "spoilt by a thousandth"],
)
def test_no_group_is_claimed_where_there_is_none(function):
    found = cs.discover(function, bounds=(0.5, 2), names=list("abcd"), random_state=0)
    assert not any(part.formula for part in found.parts)
    X = np.random.default_rng(0).uniform(0.5, 2, (400, 4))
    seen = cs.discover(X, function(X), names=list("abcd"), random_state=0, fit=False, resamples=0)
    assert not any(part.formula and not part.approximate for part in seen.parts)


def test_rows_tell_groups_and_the_model_has_their_shape():
    X = np.random.default_rng(0).uniform(0.5, 2, (500, 4))
    found = cs.discover(X, two_numbers(X), names=list("abcd"), random_state=0, fit=False, resamples=0)
    # the exponents (1, 1, -1, 0), (0, 1, -2, 1) and (1, 0, -1, 1) span a by itself, b / d and c / d
    assert formulas(found) == {"b / d", "c / d"}
    assert "a" in next(node.parents for node in found.graph.nodes if node.name == "y")
    model = fit_model(found.graph, X, two_numbers(X), names=list("abcd"), random_state=0, time_limit=10)
    test = np.random.default_rng(1).uniform(0.5, 2, (500, 4))
    assert np.corrcoef(model.predict(test), two_numbers(test))[0, 1] > 0.99
    pictures = learned_nodes(model, X).pictures
    assert all(bool(pictures[n.name]) == (n.constituent is None) for n in found.graph.nodes)


# ---- the algebra ---------------------------------------------------------------------------------


def test_the_space_of_exponents_is_spanned_by_slopes():
    """SampledSlopes along logarithms of F(x^p, x^q) are combinations of p and q, here with random coefficients."""
    rng = np.random.default_rng(0)
    rows = np.array([[1.0, -1, 0, 2, 0], [0, 1, 1, 0, -2]])
    mean = rng.standard_normal((60, 2)) @ rows
    slopes = SampledSlopes.with_errors(mean, np.full(mean.shape, 1e-6), rng)
    found = find_groups(slopes, "abcde", 3.0, "product")
    assert found is not None
    assert {g.formula for g in found.groups} == {"a d^2 / b", "b c / e^2"}
    assert found.beyond < 1 < found.last


def test_a_group_too_weak_to_be_counted_leaves_the_question_open():
    rng = np.random.default_rng(0)
    mean = rng.standard_normal((60, 2)) * [1.0, 0.02] @ np.array([[1.0, 1, 1, 1], [1, -1, 1, -1]])
    slopes = SampledSlopes.with_errors(mean, np.full(mean.shape, 0.01), rng)
    assert find_groups(slopes, "abcd", 3.0, "product") is None


@pytest.mark.parametrize("size", [0.0, 1e-9], ids=["nothing acts", "nothing is seen"])
def test_slopes_that_are_all_error_tell_nothing(size):
    mean = np.full((60, 4), size)
    slopes = SampledSlopes.with_errors(mean, np.full(mean.shape, 0.1), np.random.default_rng(0))
    assert fewest_groups(slopes, 3.0) == 0
    assert all(find_groups(slopes, list("abcd"), 3.0, "product", rank=rank) is None for rank in (None, 0, 4, 5))


def test_a_column_that_is_positive_but_for_one_row_has_no_powers():
    X = np.random.default_rng(0).uniform(0.5, 2, (400, 4))
    X[:, 3] -= 0.5
    X[0, 3] = -0.1  # one of the rows, whichever part it falls into
    y = np.tanh(X[:, 0] * X[:, 1]) + np.exp(-X[:, 1] * X[:, 2]) * X[:, 3] + X[:, 0] * X[:, 3]
    for seed in range(2):
        found = cs.discover(X, y, names=list("abcd"), random_state=seed, fit=False, resamples=0)
        assert not any("d" in part.members and "^" in part.formula for part in found.parts)


@pytest.mark.parametrize(
    ("group", "text"),
    [
        (InputGroup(("rho", "V", "mu"), (1.0, 2.0, -1.0), (0.0,) * 3, "product"), "rho V^2 / mu"),
        (InputGroup(("L", "g"), (0.5, -0.5), (0.0,) * 2, "product"), "L^(1/2) / g^(1/2)"),
        (InputGroup(("a", "b"), (-1.0, -2.0), (0.0,) * 2, "product"), "1 / (a b^2)"),
        (InputGroup(("a", "b"), (1.0, -0.25), (0.0,) * 2, "sum"), "a - 0.25 b"),
    ],
)
def test_formulas_are_written_as_one_reads_them(group, text):
    assert group.formula == text


def test_the_command_line_takes_units():
    assert _units("rho=kg/m^3, V=m/s") == {"rho": "kg/m^3", "V": "m/s"}
    assert _units(None) is None
    with pytest.raises(ConfigError, match="NAME=UNIT"):
        _units("kg/m^3")

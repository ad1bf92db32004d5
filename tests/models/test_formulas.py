"""Formulas read off fitted graphs: forms, links, constants with errors, round values, and what has none."""

import numpy as np
import pytest

import compsparse as cs
from compsparse.errors import ConfigError, DataError
from compsparse.graph.formula import render
from compsparse.graph.parser import parse_formula
from compsparse.models import fit_model, read_formula
from compsparse.models.formulas.algebra import Algebra, formula_of_sum, with_numbers
from compsparse.models.formulas.calculus import value_and_slopes, value_of
from compsparse.models.formulas.correlation import Link, rest_behind_link
from compsparse.models.formulas.polishing import free_form, polished, rounded
from compsparse.models.formulas.reading import forms_of
from compsparse.models.formulas.record import with_fractions
from compsparse.models.formulas.search import Search
from compsparse.models.formulas.shapes import LIBRARY, fitted_shapes
from compsparse.training import FitConfig, TrainingConfig

RNG = np.random.default_rng(0)
A, B, C = RNG.uniform(1, 4, (3, 600))
QUICK = FitConfig(n_restarts=2, training=TrainingConfig(n_steps=150), refine_iterations=0)


def noisy(values, share=0.005, seed=1):
    return values + share * values.std() * np.random.default_rng(seed).standard_normal(len(values))


# ---- parts --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    ["p*a**q/(b + r)", "exp(-p*a)*sin(q*b) + r", "log(a**2 + p)*sqrt(b) - q/tanh(r*b)", "arcsin(p*a/(b + 9)) + q*r"],
)
def test_derivatives_are_those_of_differences(text):
    form = parse_formula(text, ["a", "b", "p", "q", "r"])
    constants = np.array([0.7, 1.3, 0.4])
    value, slopes = value_and_slopes(form, [A, B], constants)
    np.testing.assert_allclose(value, value_of(form, [A, B], constants))
    for j, slope in slopes.items():
        step = 1e-6 * np.eye(3)[j]
        ends = [value_of(form, [A, B], constants + sign * step) for sign in (1, -1)]
        np.testing.assert_allclose(slope, (ends[0] - ends[1]) / 2e-6, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("shape", LIBRARY, ids=lambda s: s.name)
def test_every_shape_is_found_again(shape):
    """A curve that is a shape exactly is followed by it, or by another as well."""
    u = np.linspace(0.6, 1.4, 300)
    starts = shape.starts(0.6, 1.4)
    constants = [values[(3 + 2 * j) % len(values)] for j, values in enumerate(starts)]
    curve = 2 - 3 * shape.value(u, np.array(constants, dtype=float)[:, None] if constants else np.empty((0, 1))).ravel()
    if not np.isfinite(curve).all():
        pytest.skip("not defined with these constants")
    assert min(fit.rest for fit in fitted_shapes(u, curve, 3, 1e-9)) < 1e-5


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("(2*a*b**2)**0.5", "1.4142135623730951*a**0.5*b"),
        ("exp(2*log(a) + 3*b + 1)", "2.7182818284590451*a**2*exp(3*b)"),
        ("log(a**2*b**4)", "2*log(a*b**2)"),
        ("a + 2*b - a", "2*b"),
        ("3*(2*a + 4*b)**2", "12*(a + 2*b)**2"),
        ("a/b*b", "a"),
    ],
)
def test_formulas_have_one_form(text, normal):
    found = formula_of_sum(Algebra([A, B]).normal(parse_formula(text, ["a", "b"])))
    wanted = parse_formula(normal, ["a", "b"])
    np.testing.assert_allclose(value_of(found, [A, B], ()), value_of(parse_formula(text, ["a", "b"]), [A, B], ()))
    np.testing.assert_allclose(value_of(wanted, [A, B], ()), value_of(found, [A, B], ()))
    assert render(found, ["a", "b"]).replace("sqrt(a)", "a**0.5") == normal


def test_roots_of_what_changes_sign_are_not_taken_apart():
    x = np.linspace(-2, 2, 50)
    formula = parse_formula("sqrt(x**2)", ["x"])
    np.testing.assert_allclose(value_of(formula_of_sum(Algebra([x]).normal(formula)), [x], ()), np.abs(x))


def test_links_are_seen_through():
    """Up to a link, tanh(a b) is a product; in its own units its remainder is that of its noise."""
    values = noisy(np.tanh(0.1 * A * B))
    product = np.log(A) + np.log(B)
    assert Link(values).rest(product[:, None]) < 1e-3
    assert rest_behind_link(values, product) < 4e-5
    assert rest_behind_link(values, A + B) > 1e-2


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("tanh(0.1*a*b)", "a*b"),
        ("exp(-0.2*(a + 2*b))", "a + 2*b"),
        ("1/(1/a + 1/b)", "1/a + 1/b"),
        ("a/(a + b)", "a/b"),
        ("sqrt(a**2 - a*b + b**2)", "a**2 - a*b + b**2"),
        ("a*(a + b)**(-2/3)", "a*(a + b)**(-2/3)"),
    ],
)
def test_forms_up_to_a_link(text, form):
    """The first form of a node follows the true one by an increasing or a decreasing curve."""
    values = noisy(value_of(parse_formula(text, ["a", "b"]), [A, B], ()))
    found = value_of(forms_of(values, [A, B], 100, 3)[0].formula, [A, B], ())
    truth = value_of(parse_formula(form, ["a", "b"]), [A, B], ())
    assert rest_behind_link(truth, found) < 1e-4


def test_constants_and_errors_are_those_of_linear_least_squares():
    y = noisy(3 * A + 0.7 * B + 2, 0.05)
    found = polished(free_form(parse_formula("2.9*a + 0.6*b + 1.1", ["a", "b"]), [A, B])[1], [A, B], y)
    X = np.stack([A, B, np.ones_like(A)], axis=1)
    beta = np.linalg.solve(X.T @ X, X.T @ y)
    variance = ((y - X @ beta) ** 2).sum() / (len(y) - 3)
    errors = np.sqrt(np.diag(variance * np.linalg.inv(X.T @ X)))
    np.testing.assert_allclose(found.values, beta, rtol=1e-6)
    np.testing.assert_allclose(found.errors, errors, rtol=1e-6)


def test_constants_are_rounded_where_their_errors_allow():
    start = parse_formula("1.9*a**1.1/b**2.9 + 0.4", ["a", "b"])
    for truth, constants in ((2 * A / B**3 + 0.437, 1), (2.37 * A / B**3 + 0.437, 2)):
        y = noisy(truth, 0.003)
        found = rounded(polished(free_form(start, [A, B])[1], [A, B], y), [A, B], y)
        assert len(found.values) == constants
        np.testing.assert_allclose(value_of(found.form, [A, B], found.values), truth, rtol=0.02)


def test_thirds_are_shown_as_fractions():
    formula = parse_formula("2.5*a**(1/3)/b", ["a", "b"])
    assert render(with_fractions(with_numbers(formula, 2, ())), ["a", "b"]) == "2.5*a**(1/3)/b"


# ---- whole formulas -----------------------------------------------------------------------------


def text_of(search):
    found = search.best()
    return render(with_numbers(found.form, len(search.columns), found.values), search.names, digits=3)


def test_a_tree_is_read_from_nodes_that_are_right_up_to_a_link():
    graph = cs.FunctionGraph.from_groups([["a", "b"], "c"], ["a", "b", "c"])
    learned = {graph.nodes[0].name: noisy(np.tanh(1 / (A + B)))}
    truth = 1 / (1 / C + 1 / (A + B))
    y = noisy(truth, 0.01)
    enough = 1.05 * float(np.mean((y - truth) ** 2))
    found = Search(graph, {"a": A, "b": B, "c": C}, learned, y, enough=enough).best()
    assert not found.values
    np.testing.assert_allclose(value_of(found.form, [A, B, C, A], ()), truth)


@pytest.fixture(scope="module")
def beam():
    X = np.random.default_rng(0).uniform([1, 1, 2], [3, 2, 5], (400, 3))
    y = noisy(4 * X[:, 0] * X[:, 1] ** 3 / X[:, 2], 0.01)
    return fit_model(None, X, y, config=QUICK, names=["F", "L", "h"], random_state=0), X, y


@pytest.fixture(scope="module")
def deflection(beam):
    return read_formula(*beam, symbols={"y": "deflection"}, random_state=0)


def test_products_of_powers_are_read_as_such(beam, deflection):
    (_, X, _), found = beam, deflection
    assert found.text == "deflection = 4*F*L**3/h"
    assert found.latex == r"\mathrm{deflection} = \frac{4 \, F \, L^{3}}{h}"
    assert str(found.to_sympy()) == "4*F*L**3/h"
    assert found.r2 > 0.9998
    np.testing.assert_allclose(found(X), 4 * X[:, 0] * X[:, 1] ** 3 / X[:, 2])
    assert found.graph.has_functions
    assert cs.compile(found.graph, bounds={"F": (1, 3), "L": (1, 2), "h": (2, 5)}, tol=0.5).certificate
    assert "variance unexplained" in str(found)


def test_formulas_extrapolate(deflection):
    assert abs(deflection(np.array([[6.0, 4.0, 10.0]]))[0] - 4 * 6 * 64 / 10) < 1e-6


def test_what_has_no_formula_stays_learned():
    """A node that no form of the library follows is a callable of the graph, and the rest is a formula."""
    X = np.random.default_rng(0).uniform(-1, 1, (300, 3))
    rough = np.sign(np.sin(7 * X[:, 0] * X[:, 1])) + np.cos(9 * X[:, 0] - 4 * X[:, 1])
    y = 2 * rough * 1.5 + X[:, 2]
    model = fit_model([[0, 1], 2], X, y, config=QUICK, random_state=0)
    found = read_formula(model, X, y, random_state=0)
    name = next(iter(found.learned))
    assert name in found.text
    assert "learned, no formula was found" in str(found)
    assert found(X).shape == (300,)
    assert found.graph[name].constituent.formula is None
    assert abs(found.r2 - found.r2_network) < 0.1


# ---- bad input ----------------------------------------------------------------------------------


def test_symbols(beam):
    model, X, y = beam
    found = read_formula(model, X, y, symbols={"F": "force"}, random_state=0)
    assert found.inputs == ("force", "L", "h")
    with pytest.raises(ConfigError, match="'F' and 'L' both get the symbol 'L'"):
        read_formula(model, X, y, symbols={"F": "L"})
    with pytest.raises(ConfigError, match="'exp' cannot be the symbol of 'F'"):
        read_formula(model, X, y, symbols={"F": "exp"})
    with pytest.raises(ConfigError, match="names 'G', which is no column"):
        read_formula(model, X, y, symbols={"G": "g"})


def test_models_that_have_no_formula(beam):
    _, X, y = (part if i == 0 else part[:80] for i, part in enumerate(beam))
    classes = fit_model(None, X, y > y.mean(), config=QUICK, random_state=0)
    with pytest.raises(ConfigError, match="predicts classes"):
        read_formula(classes, X, y > y.mean())
    both = fit_model(None, X, np.stack([y, -y], axis=1), config=QUICK, random_state=0)
    with pytest.raises(ConfigError, match="predicts 2: fit one model for each"):
        read_formula(both, X, y)
    wide = np.random.default_rng(0).random((60, 9))
    with pytest.raises(ConfigError, match=r"up to 8 parents, and .* has 9"):
        read_formula(fit_model(None, wide, wide.sum(1), config=QUICK, random_state=0), wide, wide.sum(1))
    with pytest.raises(ConfigError, match="must be a FittedGraph"):
        read_formula(lambda X: X, X, y)


def test_rows_that_do_not_do(beam):
    model, X, y = beam
    with pytest.raises(DataError, match="at least 50 rows, got 20"):
        read_formula(model, X[:20], y[:20])
    with pytest.raises(DataError, match="X has 400 rows but y has 399"):
        read_formula(model, X, y[:-1])


def test_a_discovery_without_a_model_says_so():
    found = cs.discover(lambda X: X[:, 0] * X[:, 1] + X[:, 2], bounds=[(-1, 1)] * 3)
    if found.model is None:
        with pytest.raises(ConfigError, match="this discovery has none"):
            found.formula(np.zeros((60, 3)), np.zeros(60))


def test_forms_too_large_for_floats_are_passed_over():
    assert Link(A).rest(np.stack([A * 1e200, B], axis=1)) == np.inf
    tiny = A * 1e-190
    graph = cs.FunctionGraph(["a"], [cs.Node("y", ("a",))])
    search = Search(graph, {"a": tiny}, {}, A**4, enough=0.0)
    overflowing = parse_formula("(a*1e100*1e100)**4", ["a"])  # its values are finite, its one constant is not
    assert search._best_polished([overflowing]) is None
    assert search._best_polished([overflowing, parse_formula("a*1e190", ["a"])]) is not None

import math
from functools import reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compsparse.errors import ExpressionError, GraphError
from compsparse.graph import FunctionGraph, expanded, fused, to_expression, trace
from compsparse.graph.formula import Apply, Argument, Constant, formula_value, render
from compsparse.graph.operations import OPERATIONS
from compsparse.graph.parser import parse_formula

SMOOTH_UNARY = ["sin", "cos", "tanh", "exp", "neg", "square", "arctan", "abs", "sigmoid", "relu"]


def formulas(depth: int = 3):
    leaf = st.one_of(
        st.integers(0, 2).map(Argument),
        st.floats(-4, 4, allow_nan=False).map(Constant),
    )
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            st.builds(lambda n, a: Apply(n, (a,)), st.sampled_from(SMOOTH_UNARY), inner),
            st.builds(
                lambda n, a, b: Apply(n, (a, b)),
                st.sampled_from(["add", "sub", "mul", "maximum", "minimum"]),
                inner,
                inner,
            ),
        ),
        max_leaves=2**depth,
    )


@given(formulas())
def test_rendered_formulas_read_back_to_the_same_function(formula):
    text = render(formula, ["a", "b", "c"])
    again = parse_formula(text, ["a", "b", "c"])
    x = np.random.default_rng(0).uniform(-2, 2, (3, 20))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(
            np.broadcast_to(formula_value(formula, *x), 20), np.broadcast_to(formula_value(again, *x), 20)
        )


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2 + 3*4 + 0*a", 14),
        ("-2**2 + 0*a", -4),
        ("2**3**2 + 0*a", 512),
        ("(1 + 2)*3 - 4/8 + 0*a", 8.5),
        ("2^-1 + 0*a", 0.5),
        ("sin(pi/2) + 0*a", 1),
        ("max(1, 2, 3) + 0*a", 3),
        ("where(a > 1, 10, 20)", 20),
        ("1e-3*1000 + 0*a", 1),
        ("log(8, 2) + cbrt(27) + exp2(3) + 0*a", 14),
        ("clip(a + 5, -1, 2) + ceil(a + 0.5) + mod(7, 3)", 4),
        ("logaddexp(a + 1000, 1000)", 1000 + math.log(2)),
        ("fmax(arcsinh(a), sinc(a)) + heaviside(a, 0.5) + round(2.5)", 3.5),
    ],
)
def test_arithmetic_follows_the_usual_rules(text, value):
    assert FunctionGraph.from_expression(text)(np.zeros((1, 1)))[0] == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "problem", "place"),
    [
        ("tanh(a*b", "expected ')'", 8),
        ("a +* b", "expected a value, found '*'", 3),
        ("foo(a)", "unknown function 'foo'", 0),
        ("a $ b", "unexpected character '$'", 2),
        ("a b", "expected an operator", 2),
        ("sin(a, b)", "sin takes 1 argument, found 2", 0),
        ("clip(a)", "clip takes 3 arguments, found 1", 0),
        ("", "empty", 0),
        ("a + 1/0", "no finite value", 7),
        ("(" * 300 + "a" + ")" * 300, "nests more than", 200),
    ],
)
def test_syntax_errors_point_at_the_place(text, problem, place):
    with pytest.raises(ExpressionError) as caught:
        FunctionGraph.from_expression(text)
    assert problem in caught.value.problem
    assert caught.value.position == place
    assert str(caught.value).endswith("\n  " + " " * place + "^")


def test_unknown_variables_are_named_with_a_hint():
    with pytest.raises(ExpressionError, match="did you mean 'width'"):
        FunctionGraph.from_expression("widht*2", ["width", "height"])
    with pytest.raises(GraphError, match="is a constant"):
        FunctionGraph.from_expression("1 + 2", ["a"])


def test_text_is_never_evaluated_as_python():
    with pytest.raises(ExpressionError):
        FunctionGraph.from_expression("__import__('os').system('true')")


def test_equal_parts_become_one_node():
    graph = FunctionGraph.from_expression("sin(a*b) + cos(a*b)", fuse=False)
    assert sum(n.label == "a*b" for n in graph.nodes) == 1


@given(formulas())
def test_fusing_and_expanding_keep_the_function(formula):
    if not any(isinstance(p, Argument) for p in _parts(formula)):
        return
    graph = FunctionGraph.from_expression(render(formula, ["a", "b", "c"]) + " + a", ["a", "b", "c"], fuse=False)
    X = np.random.default_rng(1).uniform(-2, 2, (30, 3))
    with np.errstate(all="ignore"):
        for other in (fused(graph), expanded(fused(graph))):
            np.testing.assert_allclose(other(X), graph(X), rtol=1e-12, atol=1e-12)
        assert fused(graph).size <= graph.size


def _parts(formula):
    from compsparse.graph.formula import walk

    return walk(formula)


def test_expression_out_and_in_again():
    graph = FunctionGraph.from_expression(["tanh(a*b) + c", "a*b - 2.5"])
    again = FunctionGraph.from_expression(to_expression(graph), graph.inputs)
    X = np.random.default_rng(0).normal(size=(10, 3))
    np.testing.assert_allclose(again(X), graph(X))


def test_names_of_columns_stand_in_backquotes():
    names = ["wing area", "T [°C]", "a``b`", "-", "log", "2x"]
    text = "`wing area`*`T [°C]` + `a````b``` - log(`-`)*`log` + `2x`"
    graph = FunctionGraph.from_expression(text)
    assert list(graph.inputs) == names
    row = np.array([[2.0, 3.0, 5.0, np.e, 7.0, 11.0]])
    assert graph(row).item() == pytest.approx(2 * 3 + 5 - 1 * 7 + 11)
    again = FunctionGraph.from_expression(to_expression(graph), names)
    assert again(row).item() == pytest.approx(graph(row).item())
    for broken in ("a + `b", "``", "`a` `b`"):
        with pytest.raises(ExpressionError):
            parse_formula(broken, ["a", "b"])


def test_nothing_explodes_when_values_are_used_twice():
    graph = trace(lambda x: reduce(lambda v, _: v * np.sin(v), range(60), x), 1)
    with pytest.raises(GraphError, match="longer than"):
        to_expression(graph)
    X = np.linspace(0.1, 2, 5)[:, None]
    np.testing.assert_allclose(fused(graph)(X), graph(X))


@pytest.mark.parametrize("name", [n for n, op in OPERATIONS.items() if op.arity == 1 and op.lipschitz])
def test_declared_lipschitz_constants_and_ranges_hold(name):
    op = OPERATIONS[name]
    x = np.linspace(-4, 4, 4001)
    y = op.numpy(x)
    slope = np.abs(np.diff(y) / np.diff(x)).max()
    assert slope <= op.lipschitz[0] * (1 + 1e-9)
    if op.value_range:
        assert op.value_range[0] <= y.min()
        assert y.max() <= op.value_range[1]


def test_every_operation_agrees_on_numpy_and_torch():
    import torch

    rng = np.random.default_rng(0)
    for op in OPERATIONS.values():
        args = rng.uniform(0.1, 0.9, (op.arity, 50)) + (op.name == "arccosh")
        numpy_args = [args[0] > 0.5, *args[1:]] if op.name == "where" else list(args)
        torch_args = [torch.tensor(a) for a in numpy_args]
        np.testing.assert_allclose(
            op.torch(*torch_args).double().numpy(), op.numpy(*numpy_args).astype(float), rtol=1e-12
        )
    assert math.isinf(OPERATIONS["sin"].smoothness)

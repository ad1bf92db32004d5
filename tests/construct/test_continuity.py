"""Choices: those that are continuous lose their condition and no value, those that jump stay."""

from fractions import Fraction

import numpy as np
import pytest

import compsparse as cs
from compsparse.construct.continuity import without_choices
from compsparse.errors import ConfigError, GraphError
from compsparse.graph import FunctionGraph, to_expression

CONTINUOUS = [
    "where(a > 0, a, -a)",
    "where(0 >= a, -a, a)",
    "where(a > b, a, b) - where(a < b, a, b)",
    "where(a > b, (a - b)*a, 0)",
    "where(a >= 0, sin(a), a)",
    "where(a > 0, tanh(a)*b, sin(a)*exp(b))",
    "where(a > 1, log(a), a - 1)",
    "where(a < 1, a, sqrt(a))",
    "where(a < -0.5, -0.5, where(a > 0.5, 0.5, a))",
    "where(a**2 + b**2 > 1, 1, a**2 + b**2)",
    "where(a*a + b*b > 1, sqrt(a*a + b*b), 1)",
    "a*sign(a) + (b > 0)*b + relu(a)*(a > 0)",
    "(a >= 0)*a**2 + (a < 0)*a",
    "where(3*a > 1, 3*a - 1, 0)",
    "where(2*a - b > 1, a*a, ((1 + b)/2)**2)",
    "where(a > 0, where(b > 0, min(a, b), 0), 0)",
    "where(abs(a) < 0.3, 0.5*a**2, 0.3*(abs(a) - 0.15))",
    "exp(where(a > 0, a, -a)) / (2 + where(b > 0, b, 0))",
    "where(a > 0, 1, -1)*a*b",
    "where(max(a, b) > 0.5, 0.5, max(a, b))",
    "where(a > b, exp(a - b), 1 + sin(b - a)*cos(a))",
    "sqrt(where(a > b, a - b, 0))",
    "where(abs(b) > 0.5, abs(b) - 0.25, b*b + 0*a)",
    "where(a >= 0.5, 0.5, where((a >= 0)*(a < 0.5), a, 0))",
    "(a < 0)*b + (a >= 0)*(a < 1)*(b + a) + (a >= 1)*(b + 1)",
]
JUMPS = [
    "where(a > 0, a, 1 - a)",
    "where(a > 0, a, a + 1e-9)",
    "where(a > 0.1, a + 0.2, 0.3 + 1e-15)",  # twenty times what rounding may make of it
    "where(a > 0, 1, where(a < 0, 1, 2))",  # alike on both sides and not between them
    "sign(a)*sign(a)",
    "where(a > 0, b, 0)",
    "where(a > b, a*b, b)",
    "where(a > 0, sin(a), cos(a))",
    "where(a > 0, where(b > 0, a, 2*a), a) + (b > 0)",
    "floor(a)*a",
]
BOX = {"a": (-1.0, 1.5), "b": (-1.0, 1.0)}


def values(graph, n=4000):
    """The graph at random points, on a lattice that meets the cuts, and on the diagonal."""
    rng = np.random.default_rng(0)
    lattice = np.stack(np.meshgrid(np.arange(-16, 25) / 16, np.arange(-16, 17) / 16), -1).reshape(-1, 2)
    X = np.concatenate([rng.uniform([-1, -1], [1.5, 1], (n, 2)), lattice, np.repeat(lattice[:, :1], 2, axis=1)])
    with np.errstate(all="ignore"):
        return graph(X)


@pytest.mark.parametrize("text", CONTINUOUS)
def test_a_continuous_choice_loses_its_condition_and_no_value(text):
    graph = FunctionGraph.from_expression(text, ["a", "b"])
    free, jump = without_choices(graph)
    assert jump == 0
    assert free.outputs == graph.outputs
    written = " ".join(to_expression(free))
    assert not any(word in written for word in ("where", "sign", ">", "<"))
    before, after = values(graph), values(free)
    seen = np.isfinite(before)
    assert seen.mean() > 0.5
    np.testing.assert_allclose(after[seen], before[seen], rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("text", CONTINUOUS)
def test_a_continuous_choice_is_compiled(text):
    names = ["a", "b"] if "b" in text.replace("abs", "") else ["a"]
    graph = FunctionGraph.from_expression(text, names)
    built = cs.compile(graph, {name: BOX[name] for name in names}, 2e-2, n_points=500)
    assert built.certificate.upper <= 2e-2
    X = np.random.default_rng(1).uniform(*np.array([BOX[name] for name in names]).T, (500, len(names)))
    with np.errstate(invalid="ignore"):  # branches that are not taken
        off = np.abs(built(X) - graph(X)).max()
    assert off <= built.certificate.upper + 1e-12


@pytest.mark.parametrize("text", JUMPS)
def test_a_jump_stays_a_jump(text):
    graph = FunctionGraph.from_expression(text, ["a", "b"])
    with pytest.raises(GraphError, match="jumps"):
        cs.compile(graph, BOX, 1e-1, n_points=100)
    free, jump = without_choices(graph)
    assert jump == 0
    np.testing.assert_array_equal(values(free), values(graph))


@pytest.mark.parametrize(
    ("text", "jump"),
    [
        ("where(a > 0.1, a + 0.2, 0.3)", Fraction(0.1) + Fraction(0.2) - Fraction(0.3)),
        ("where(a > 0.7, 0.14 + 0.3*(a - 0.7), 0.2*a)", Fraction(0.14) - Fraction(0.2) * Fraction(0.7)),
        ("where(a <= 1.1, 1.331, a**3)", Fraction(1.1) ** 3 - Fraction(1.331)),
        ("where(a > 0.1, a + 0.2, 0.3)*where(b > 0, b, 0)", Fraction(0.1) + Fraction(0.2) - Fraction(0.3)),
    ],
)
def test_sides_that_meet_up_to_the_rounding_of_their_numbers_are_joined_and_the_jump_is_said(text, jump):
    graph = FunctionGraph.from_expression(text + " + 0*a*b", ["a", "b"])
    free, closed = without_choices(graph)
    assert closed == float(abs(jump)) > 0
    assert "where" not in " ".join(to_expression(free))
    np.testing.assert_allclose(values(free), values(graph), atol=1e-15)
    built = cs.compile(text, {name: BOX[name] for name in "ab" if name in text}, 1e-2, n_points=500)
    assert built.certificate.upper <= 1e-2
    assert f"with jumps of at most {closed:.2g} closed" in str(built).splitlines()[0]


def test_a_jump_of_rounding_that_grows_on_its_way_is_refused():
    with pytest.raises(ConfigError, match="double precision"):
        cs.compile("1e15*where(a > 0.1, a + 0.2, 0.3) - 1e15*a", (0.2, 1), 1e-2)


def test_what_is_piecewise_linear_is_exact():
    for text, units in [("where(a > 0, a, -a)", 1), ("where(a > b, a, b)", 1), ("where(3*a > 1, 3*a - 1, 0)", 1)]:
        built = cs.compile(FunctionGraph.from_expression(text, ["a", "b"]), (-1, 1), 1e-9, n_points=200)
        assert (built.bound, built.size.units) == (0, units)


def test_a_guarded_pole_stays_guarded_and_a_bare_one_shows():
    built = cs.compile("where(a > 1, log(a), a - 1)", (-3, 3), 1e-2, n_points=500)
    assert built.certificate.upper <= 1e-2
    with pytest.raises(GraphError, match=r"jumps|log"):
        cs.compile("(a > 1)*log(a)", (-3, 3), 1e-2)  # nan below 0 as it is written


def random_pieces(rng, depth=3):
    """A continuous function of a and b made of choices whose sides meet by construction, and the same without them."""
    if depth == 0:
        c = rng.choice(["a", "b", "a*b", "a - 2*b", "0.5", "sin(a)", "b**2"])
        return c, c
    (f, f0), (g, g0) = random_pieces(rng, depth - 1), random_pieces(rng, depth - 1)
    k = rng.choice([-0.25, 0.0, 0.5])
    match rng.integers(5):
        case 0:
            return f"where({f} > {g}, {f}, {g})", f"max({f0}, {g0})"
        case 1:
            return f"where(a < {k}, {f} - ({k} - a)*({g}), {f})", f"({f0} - max({k} - a, 0)*({g0}))"
        case 2:
            return f"(b >= {k})*({f})*(b - {k})", f"(max(b - {k}, 0)*({f0}))"
        case 3:
            return f"where({f} < 0, 0, {f})", f"relu({f0})"
    return f"({f} + {g})", f"({f0} + {g0})"


@pytest.mark.parametrize("seed", range(30))
def test_nested_choices_that_meet_are_seen_to_meet(seed):
    rng = np.random.default_rng(seed)
    text, plain = random_pieces(rng)
    graph = FunctionGraph.from_expression(f"{text} + 0*a*b", ["a", "b"])
    free, _ = without_choices(graph)
    np.testing.assert_allclose(values(free), values(graph), atol=1e-12)
    np.testing.assert_allclose(
        values(free), values(FunctionGraph.from_expression(plain + " + 0*a*b", ["a", "b"])), atol=1e-12
    )
    written = " ".join(to_expression(free))
    assert "where" not in written
    assert ">" not in written


def random_text(rng, depth):
    """Any choices at all: most of them jump."""
    if depth == 0:
        return str(rng.choice(["a", "b", "a", "b", "0", "0.5"]))
    x = [random_text(rng, depth - 1) for _ in range(4)]
    compared = f"{x[0]} {rng.choice(['>', '<', '>=', '<='])} {x[1]}"
    kinds = [f"where({compared}, {x[2]}, {x[3]})", f"({compared})*({x[2]})", f"sign({x[0]})*({x[1]})"]
    kinds += [f"max({x[0]}, {x[1]})", f"abs({x[0]})", f"({x[0]} - {x[1]})", f"({x[0]})*({x[1]})", f"sqrt({x[0]})"]
    return str(rng.choice(kinds))


@pytest.mark.parametrize("seed", range(40))
def test_whatever_lost_its_conditions_kept_its_values(seed):
    rng = np.random.default_rng(seed)
    graph = FunctionGraph.from_expression(f"{random_text(rng, 2 + seed % 2)} + 0*a*b", ["a", "b"])
    free, _ = without_choices(graph)
    if any(word in node.label for node in free.nodes for word in ("where", "sign", "<", ">")):
        return  # a jump: that it stays is tested above
    before, after = values(graph), values(free)
    seen = np.isfinite(after)
    np.testing.assert_allclose(after[seen], before[seen], rtol=1e-9, atol=1e-9)

"""Parts that share inputs: drawn from tables of turns, sums under links, and what the record says of them."""

from itertools import combinations

import numpy as np
import pytest

import compsparse as cs
from compsparse.discovery import Discovery
from compsparse.discovery.structure.forest import Part, grow_forest
from compsparse.discovery.structure.links import OF_QUERIES, Swaps, find_link, sets_without_third_order
from compsparse.discovery.structure.parts import conditional_parts
from compsparse.discovery.structure.turns import TurnAnswer
from compsparse.graph.modules import ModuleTree
from compsparse.report.summary import summary


def one(letters):
    return [frozenset(letter) for letter in letters]


def turned_by(letters, table):
    """The table in which each pair is turned by the letters given, and by all where it is not named."""
    d = len(letters)
    turned = np.zeros((d, d, d), dtype=bool)
    for i, j in combinations(range(d), 2):
        by = table.get(letters[i] + letters[j], letters)
        turned[i, j] = turned[j, i] = [k in by and k not in letters[i] + letters[j] for k in letters]
    return turned


def drawn(part):
    if not isinstance(part, Part):
        return "".join(sorted(part))
    return [drawn(read) for read in part.reads]


def test_a_path_is_drawn_with_two_parts_that_share_its_middle():
    # ab + bc + cd + de: slopes of a pair are turned by the neighbours of both
    path = {"ab": "c", "ac": "bd", "ad": "bce", "ae": "bd", "bc": "ad", "bd": "ace", "be": "acd", "cd": "be"}
    part = conditional_parts(turned_by("abcde", path | {"ce": "bd", "de": "c"}), one("abcde"))
    assert drawn(part) == [["a", "b", "c"], ["d", "e", "c"], "c"]
    assert [sorted(inner.shared) for inner in part.inner] == [["c"], ["c"]]
    assert part.sizes == (3, 3, 3)


def test_what_can_be_regrouped_at_fixed_values_is_joined_two_at_a_time():
    # F(a t^3 + b t^2 + c t, t, d): at given t every grouping of a, b and c holds, and d is turned by all
    table = {"ab": "t", "ac": "t", "bc": "t"}
    part = conditional_parts(turned_by("abcdt", table), one("abcdt"))
    assert drawn(part) == [[["a", "b", "t"], "c", "t"], "d", "t"]


def test_where_all_turn_all_nothing_is_drawn():
    assert conditional_parts(turned_by("abcde", {}), one("abcde")) is None


def test_children_that_are_modules_take_part_whole():
    part = conditional_parts(turned_by("abcd", {"ab": "c", "cd": "b"}), [frozenset("pq"), *one("bcd")])
    assert drawn(part) == ["pq", ["c", "d", "b"], "b"]
    leaves = {name: ModuleTree(frozenset(name)) for name in "pqbcd"}
    pair = ModuleTree(frozenset("pq"), None, (leaves["p"], leaves["q"]))
    tree = ModuleTree(frozenset("pqbcd"), "prime", (pair, leaves["b"], leaves["c"], leaves["d"]))
    graph = grow_forest(tuple("bcdpq"), {"y": tree}, insides={(tree.members, "y"): part})
    assert graph.modules == {frozenset("pq")}
    assert max(len(node.parents) for node in graph.nodes) == 3


# ---- sums under links ----------------------------------------------------------------------------


def swaps_of(f, slopes, d, rng, n=60):
    """All slopes before and after swaps of one input each."""
    rows = []
    for k in range(d):
        before = rng.uniform(-1, 1, (n, d))
        after = before.copy()
        after[:, k] = rng.uniform(-1, 1, n)
        for i in set(range(d)) - {k}:
            columns = f(before), f(after), slopes(before)[:, i], slopes(after)[:, i]
            rows += zip([i] * n, [k] * n, *columns, [1e-9] * n, strict=True)
    of, by, *rest = map(np.array, zip(*rows, strict=True))
    return Swaps(of, by, *rest)


EDGES = {(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)}


def cycle(X):
    return sum(np.sin(2 * X[:, i] * X[:, j] + i) for i, j in EDGES)


def slopes_of_cycle(X):
    slopes = np.zeros_like(X)
    for i, j in EDGES:
        inner = 2 * np.cos(2 * X[:, i] * X[:, j] + i)
        slopes[:, i] += inner * X[:, j]
        slopes[:, j] += inner * X[:, i]
    return slopes


LINKS = {
    "identity": (lambda s: s, np.ones_like),
    "exp": (np.exp, np.exp),
    "tanh": (lambda s: np.tanh(s / 2), lambda s: 0.5 / np.cosh(s / 2) ** 2),
    "cube": (lambda s: s**3, lambda s: 3 * s**2),
    "inverse": (lambda s: 1 / (s + 9), lambda s: -1 / (s + 9) ** 2),
}


@pytest.mark.parametrize("link", LINKS)
def test_a_link_is_found_with_the_pairs_that_act_together(link):
    outer, derivative = LINKS[link]
    swaps = swaps_of(
        lambda X: outer(cycle(X)),
        lambda X: derivative(cycle(X))[:, None] * slopes_of_cycle(X),
        5,
        np.random.default_rng(3),
    )
    found = find_link(swaps, 5, OF_QUERIES)
    assert {p for p in combinations(range(5), 2) if found.together[p]} == EDGES
    assert found.is_clear
    # q is log |psi'| = -log |link'|, up to a constant
    X = np.random.default_rng(4).uniform(-0.9, 0.9, (200, 5))
    true, read = -np.log(derivative(cycle(X)) * np.sign(derivative(cycle(X)))), found.scale(outer(cycle(X)))
    middle = np.abs(read - true - np.median(read - true)) < 0.02
    assert middle.mean() > 0.9


def test_no_link_is_found_where_all_act_together():
    rng = np.random.default_rng(0)
    first, second = rng.standard_normal((5, 12)), rng.standard_normal(12)
    swaps = swaps_of(
        lambda X: np.tanh(X @ first) @ second,
        lambda X: (second / np.cosh(X @ first) ** 2) @ first.T,
        5,
        rng,
    )
    assert find_link(swaps, 5, OF_QUERIES) is None


def test_three_that_act_only_two_by_two_are_pairs():
    cliques = [(0, 1, 2), (2, 3)]
    assert sets_without_third_order(cliques, {(0, 1, 2): True}) == [(0, 1, 2), (2, 3)]
    assert sets_without_third_order(cliques, {(0, 1, 2): False}) == [(0, 1), (0, 2), (1, 2), (2, 3)]
    four = dict.fromkeys(combinations(range(4), 3), False) | {(0, 1, 2): True}
    assert sets_without_third_order([(0, 1, 2, 3)], four) == [(0, 1, 2), (0, 3), (1, 3), (2, 3)]


# ---- by queries ----------------------------------------------------------------------------------


def terms(found):
    graph = found.graph
    below = (set(graph.ancestors(n.name)) & set(graph.inputs) for n in graph.nodes if n.name not in graph.outputs)
    return {"".join(sorted(inputs)) for inputs in below}


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda a, b, c, d, e: np.exp(a * b + b * c + c * d + d * e + e * a), {"ab", "bc", "cd", "de", "ae"}),
        (lambda a, b, c, d: (a * b - b + 0.2) * (b * c + c - 0.3) * (c * d + d + c / 2), {"ab", "bc", "cd"}),
    ],
)
def test_queries_draw_parts_that_share_inputs(function, expected):
    d = function.__code__.co_argcount
    found = cs.discover(lambda X: function(*X.T), bounds=[(-1, 1)] * d, names=list("abcde"[:d]), random_state=0)
    assert terms(found) == expected
    assert found.modules == frozenset()
    assert {"".join(sorted(e.members)) for e in found.parts} == expected
    assert all(e.shared <= e.members and not e.approximate for e in found.parts)
    assert Discovery.from_json(found.to_json()) == found
    assert any(sentence.startswith("Inputs are shared by terms of a sum") for sentence in summary(found))


def test_a_program_with_a_shared_input_is_drawn_as_it_was_written():
    def program(X):
        a, b, c, d, t = X.T
        one, two = a * b + t * a, np.exp(c * t - d) + c
        return np.tanh(one * two) + 0.3 * one**2 + np.sin(two) * t

    found = cs.discover(program, bounds=[(0.2, 1.2)] * 5, names=list("abcdt"), random_state=0)
    assert terms(found) == {"abt", "cdt"}
    assert [sorted(e.shared) for e in found.parts] == [["t"], ["t"]]
    assert "other groups" not in str(found.parts[0])
    assert summary(found)[-1].endswith("{a, b} given t, {c, d} given t.")
    assert found.turns["y"].answer("a", "b", by="c") is TurnAnswer.NO
    assert found.turns["y"].answer("a", "b", by="t") is TurnAnswer.YES


def test_nothing_is_drawn_inside_a_dense_function():
    rng = np.random.default_rng(1)
    first, second = rng.standard_normal((5, 12)), rng.standard_normal(12)
    found = cs.discover(lambda X: np.tanh(X @ first) @ second, bounds=[(-1, 1)] * 5, random_state=0)
    assert not found.parts
    assert found.graph.max_arity == 5


# ---- from data -----------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_rows_tell_the_terms_of_a_sum_that_share_inputs(noise):
    rng = np.random.default_rng(1)
    X = rng.uniform(0.2, 1.2, (1000, 4))
    y = X[:, 0] * X[:, 1] + X[:, 1] * X[:, 2] + X[:, 2] * X[:, 3]
    y += noise * y.std() * rng.standard_normal(len(y))
    found = cs.discover(X, y, names=list("abcd"), random_state=0, fit=False, resamples=0)
    assert terms(found) == {"ab", "bc", "cd"}
    assert not any("no module was found" in caveat for caveat in found.caveats)


def test_a_network_has_the_shape_of_shared_parts():
    graph = cs.discover(
        lambda X: np.exp(X[:, 0] * X[:, 1] + X[:, 1] * X[:, 2] + X[:, 2] * X[:, 3]),
        bounds=[(-1, 1)] * 4,
        names=list("abcd"),
        random_state=0,
    ).graph
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (300, 4))
    y = np.exp(X[:, 0] * X[:, 1] + X[:, 1] * X[:, 2] + X[:, 2] * X[:, 3])
    model = cs.GraphRegressor(graph, n_restarts=1, n_steps=200, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.98

"""What a discovery knows, in the words of other tools."""

from dataclasses import replace

import pytest
from tests.fitted import discovery_of

import compsparse as cs
from compsparse.discovery import independent_groups, to_ebm_interactions, to_pysr_template
from compsparse.errors import ConfigError
from compsparse.graph import FunctionGraph, Node
from compsparse.models import Importance, Importances, PairStrength

NAMES = ["a", "b", "c", "d", "e", "idle"]
GRAPH = FunctionGraph(NAMES, [Node("m0", ("a", "b", "c")), Node("y", ("m0", "d", "e"), kind="complete")])
PAIRS = (("a", "b"), ("b", "c"), ("a", "c"), ("d", "e"), ("a", "e"))
STRENGTHS = (0.3, 0.2, 0.1, 0.05, 1e-6)


def shares(pairs=PAIRS):
    inputs = tuple(Importance(name, (name,), 0.1, 0.01, 0.1, 0.01) for name in NAMES[:5])
    strengths = tuple(PairStrength(pair, s, 1e-8) for pair, s in zip(pairs, STRENGTHS, strict=False))
    return Importances("Sobol indices", inputs, (), strengths)


@pytest.fixture
def found():
    evidence = replace(discovery_of(GRAPH, None).evidence[0], members=frozenset("abc"))
    return discovery_of(GRAPH, None, evidence=(evidence,), path=(), influence=shares())


def test_terms_are_those_that_act_together_the_strongest_first(found):
    pairs = [("a", "b"), ("b", "c"), ("a", "c"), ("d", "e")]
    assert to_ebm_interactions(found) == pairs
    assert to_ebm_interactions(found, largest=3) == [("a", "b", "c"), *pairs]
    assert to_ebm_interactions(found, 2, largest=3) == [("a", "b", "c"), ("a", "b")]
    without_one = replace(found, influence=shares(PAIRS[:2]))  # not all of the three act together
    assert to_ebm_interactions(without_one, largest=3) == pairs[:2]


def test_a_function_adds_up_over_independent_groups(found):
    assert independent_groups(found) == [("a", "b", "c"), ("d", "e")]
    apart = replace(found, influence=shares(()), evidence=())
    assert independent_groups(apart) == [("a",), ("b",), ("c",), ("d",), ("e",)]
    unasked = replace(shares(()), pairs_not_asked=(("d", "e"),))
    assert ("d", "e") in independent_groups(replace(apart, influence=unasked))


def test_a_template_has_an_expression_for_every_node(found):
    assert to_pysr_template(found) == {
        "combine": "f2(f1(a, b, c), d, e)",
        "expressions": ["f1", "f2"],
        "variable_names": ["a", "b", "c", "d", "e"],
    }
    clash = FunctionGraph(["f1", "b"], [Node("y", ("f1", "b"))])
    assert to_pysr_template(clash)["combine"] == "f_1(f1, b)"


@pytest.mark.parametrize(
    ("graph", "sentence"),
    [
        (FunctionGraph(["a [m]", "b"], [Node("y", ("a [m]", "b"))]), r"'a \[m\]' cannot be a name in a template"),
        (FunctionGraph(["a", "b"], [Node("y", ("a",)), Node("z", ("b",))], ["y", "z"]), "the graph has 2"),
        (FunctionGraph(["a", "b", "c"], [Node("m", ("a", "b"), channels=2), Node("y", ("m", "c"))]), "several numbers"),
    ],
)
def test_what_a_template_cannot_hold(graph, sentence):
    with pytest.raises(ConfigError, match=sentence):
        to_pysr_template(graph)


def test_without_importances_nothing_is_guessed():
    found = cs.discover(lambda a, b: a * b, bounds=[(0, 1)] * 2)
    for export in (to_ebm_interactions, independent_groups):
        with pytest.raises(ConfigError, match="which inputs act together is not known"):
            export(found)

from itertools import pairwise
from xml.etree import ElementTree

import pytest

from compsparse.certificate import Rigour
from compsparse.errors import ConfigError
from compsparse.graph import (
    FunctionGraph,
    balanced_tree,
    chain,
    complete,
    draw_svg,
    draw_text,
    random_dag,
    to_dot,
    to_mermaid,
    to_networkx,
)
from compsparse.graph.drawing import coordinates, layers

GRAPH = FunctionGraph.from_groups([complete("a", "b", "c"), ["d<", 'e"']], ["a", "b", "c", "d<", 'e"', "unused"])


@pytest.mark.parametrize("direction", ["up", "right"])
def test_svg_is_well_formed_and_shows_everything(direction):
    root = ElementTree.fromstring(draw_svg(GRAPH, direction=direction, hover={"g0": "a hint"}))
    text = "".join(root.itertext())
    assert all(name in text for name in (*GRAPH.inputs, "g0", "a hint", "inert", "complete"))
    boxes = list(root.iter("{http://www.w3.org/2000/svg}g"))
    assert len(boxes) == len(GRAPH.index)


def test_the_key_of_a_narrow_drawing_is_not_cut_off():
    root = ElementTree.fromstring(draw_svg(FunctionGraph.from_groups(complete("a", "b", "c"))))
    key = next(e for e in root.iter("{http://www.w3.org/2000/svg}text") if e.get("class") == "key")
    widest_character = 6.7  # of a monospaced font of 11 pixels
    assert float(key.get("x")) + widest_character * len(key.text) <= float(root.get("width"))


@pytest.mark.parametrize("graph", [balanced_tree(16), chain(7), random_dag(8, 14, 3, random_state=0)])
def test_boxes_of_a_level_do_not_overlap(graph):
    rows = {}
    for name, (across, level) in coordinates(graph).items():
        rows.setdefault(level, []).append((across, name))
    for row in rows.values():
        places = sorted(p for p, _ in row)
        assert all(b - a > 0.99 for a, b in pairwise(places))


def test_trees_are_laid_out_without_crossings():
    graph = balanced_tree(16)
    order = layers(graph)[0]
    assert order == sorted(order, key=lambda n: int(n[1:]))


def test_text_names_shared_nodes_once_and_marks_complete_ones():
    text = draw_text(FunctionGraph.from_expression("sin(a*b)*c + cos(a*b)"))
    assert text.count("= a*b") == 1
    assert "(above)" in text
    assert "⊕" in draw_text(GRAPH)
    assert "inert: unused" in draw_text(GRAPH)
    assert "more nodes" in draw_text(chain(500))


def test_dot_mermaid_and_networkx_hold_the_same_edges():
    n = GRAPH.n_edges
    assert to_dot(GRAPH).count("->") == n
    assert r"e\"" in to_dot(GRAPH)
    assert to_mermaid(GRAPH).count("-->") == n
    assert to_networkx(GRAPH).number_of_edges() == n


def test_complexity_is_the_theorem():
    count = balanced_tree(8).complexity(0.1, derivatives=2)
    assert count.log10_shallow == pytest.approx(8 / 2)
    assert count.deep == pytest.approx(7 * 10 ** (2 / 2))
    assert sum(10**t.log10_units for t in count.terms) == pytest.approx(count.deep)
    for certificate, most in (
        (count.deep_certificate, count.log10_deep),
        (count.shallow_certificate, count.log10_shallow),
    ):
        assert (certificate.lower, certificate.value, certificate.upper) == (-float("inf"), most, most)
        assert certificate.rigour is Rigour.PROVED
        assert certificate.assumes == count.assumptions
    rough = FunctionGraph.from_expression("abs(a*b) + sqrt(c)").complexity(0.01)
    assert rough.log10_shallow == pytest.approx(2 * 3 / 1)
    assert any("sqrt" in line for line in rough.assumptions)
    assert balanced_tree(4096).complexity(0.01).shallow == float("inf")
    assert FunctionGraph.from_expression("sign(a)*b").complexity(0.1).log10_deep == float("inf")
    with pytest.raises(ConfigError):
        balanced_tree(4).complexity(2.0)

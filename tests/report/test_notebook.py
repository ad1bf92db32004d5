"""What a notebook shows of records: the verdict first, a drawing, a small table; every text is shown, not obeyed."""

from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.fitted import GRAPH, TABLE, Y, discovery_of, numbers_model

import compsparse as cs
from compsparse.bounds import compare
from compsparse.discovery import Cost, Discovery, DiscoveryStatus, Evidence
from compsparse.estimators import MinimalReLURegressor
from compsparse.graph import FunctionGraph, Node
from compsparse.sparse import memorise

VOID = {"br", "input", "meta"}
HOSTILE = "<script>alert(1)</script>&\"'"


class Tags(HTMLParser):
    """The tags of a text and its words; it must close what it opens."""

    def __init__(self, html):
        super().__init__()
        self.open, self.seen, self.words = [], [], []
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def fitted():
    return numbers_model()


@pytest.fixture(scope="module")
def found(fitted):
    return discovery_of(GRAPH, fitted, caveats=("There are few rows.",))


@pytest.fixture(scope="module")
def points():
    rng = np.random.default_rng(0)
    return rng.normal(size=(12, 2)), rng.normal(size=12)


def test_a_discovery_begins_with_its_verdict(found):
    shown = Tags(found._repr_html_())
    order = ["4 of 5 inputs act", "(strong): {a, b}", "how sure", "25.0%", "What to keep in mind (1)", "few rows"]
    places = [shown.text.index(part) for part in order]
    assert places == sorted(places)
    assert shown.seen.count("svg") == 1
    assert shown.seen.count("tr") == 1 + 2
    assert len(found._repr_html_()) < 6_000


def test_a_search_that_was_cut_short_says_so_first(found):
    shown = Tags(replace(found, status=DiscoveryStatus.OUT_OF_TIME)._repr_html_()).text
    assert shown.index("The time limit was reached") < shown.index("4 of 5 inputs act")


def test_only_the_first_of_many_groups_are_listed(found):
    names = [f"x{i}" for i in range(60)]
    nodes = [Node(f"m{i}", tuple(names[2 * i : 2 * i + 2])) for i in range(30)]
    graph = FunctionGraph(names, [*nodes, Node("y", tuple(f"m{i}" for i in range(30)))], ["y"])
    entries = tuple(Evidence(frozenset(n.parents), None, ("y",), "held-out gain", -0.5) for n in nodes)
    shown = Tags(replace(found, graph=graph, evidence=entries)._repr_html_())
    assert shown.seen.count("tr") == 1 + 12
    assert "and 18 more groups." in shown.text


def test_every_text_is_shown_and_not_obeyed():
    graph = FunctionGraph([HOSTILE, "b"], [Node(f"y{HOSTILE}", (HOSTILE, "b"))], [f"y{HOSTILE}"])
    entry = Evidence(
        frozenset({HOSTILE}), "prime", graph.outputs, HOSTILE, 1.0, 0.0, 2.0, 0.5, 1, 3, HOSTILE, HOSTILE, (HOSTILE,)
    )
    found = Discovery(graph, (entry,), DiscoveryStatus.FINISHED, Cost(1.0), "data", caveats=(HOSTILE,))
    for record in (found, entry):
        shown = Tags(record._repr_html_())
        assert "script" not in shown.seen
        assert HOSTILE in shown.text


def test_evidence_is_a_sentence(found):
    entry = found.evidence[1]
    assert Tags(entry._repr_html_()).text.endswith(f"strong : {{c <m/s>, metal}} {entry.sentence}.")


def test_a_compiled_network_begins_with_its_size_and_error():
    built = cs.compile(FunctionGraph.from_expression("tanh(a*b)"), bounds=(-1, 1), tol=0.1, n_points=100)
    shown = Tags(built._repr_html_())
    assert f"{built.size.units} ReLUs in {built.size.depth} layers" in shown.text
    assert f"at most {built.certificate.upper:.3g}." in shown.text
    assert f"{built.nodes[0].name}: {built.nodes[0].units} units" in shown.text
    assert built.certificate.rigour.sentence in shown.text


def test_a_memorised_network_lists_its_largest_neurons(points):
    network = memorise(*points)
    shown = Tags(network._repr_html_())
    assert shown.text.count(f"{network.n_neurons} neurons in one layer, cost {network.value:.4g}") == 1
    assert f"costs less than {network.certificate.lower:.4g}" in shown.text
    sizes = [abs(float(word)) for word in shown.text.split("then bias ")[1].replace(",", " ").split()[::4]]
    assert sizes == sorted(sizes, reverse=True)
    assert np.isclose(sizes[0], np.abs(network.z).max(), rtol=1e-3)


def test_the_table_of_bounds_says_first_how_many_say_something(fitted):
    bounds = compare(fitted, TABLE, Y)
    silent = [row for row in bounds.cells() if all("vacuous" in c or not c for c in row[1:4])]
    shown = Tags(bounds._repr_html_())
    assert f"{len(bounds.bounds) - len(silent)} of {len(bounds.bounds)} bounds say something" in shown.text
    assert shown.seen.count("tr") == 1 + len(bounds.bounds)
    best = replace(bounds.bounds[0], name="a sharp one", expected_loss=0.25)
    sharp = replace(bounds, bounds=(best, *bounds.bounds[1:]))
    assert "the expected loss is at most 0.25, by a sharp one" in Tags(sharp._repr_html_()).text


def test_the_graph_stands_in_the_box_of_scikit_learn(points):
    X, y = points
    graph = FunctionGraph.from_expression("x0*x1")
    model = cs.GraphRegressor(graph, n_restarts=1, n_steps=2, refine_iterations=0)
    assert "cs-graph" not in model._repr_html_()
    model.fit(X, y)
    box = model._repr_html_()
    assert box.index("sk-toggleable__content") < box.index("Fitted attributes") < box.index("cs-graph")
    assert "Predicts y from 2 of 2 inputs: 1 network of this graph" in box
    line = make_pipeline(StandardScaler(), model).fit(X, y)._repr_html_()
    step = line.index("GraphRegressor</div>")
    assert step < line.index("cs-graph")
    assert line.index("checked") < step  # the line is open, and the box of its step is folded
    assert "checked" not in line[line.rindex("<input", 0, step) : step]


def test_other_estimators_show_what_they_learned(points):
    model = MinimalReLURegressor().fit(*points)
    assert f"{model.n_neurons_} neurons in one layer" in model._repr_html_()
    assert "What was learned" not in Ridge().fit(*points)._repr_html_()

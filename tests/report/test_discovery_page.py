import math
import struct
import zlib
from dataclasses import replace
from html import unescape
from xml.etree import ElementTree

import numpy as np
import pandas
import pytest
from tests.fitted import CLASS_GRAPH, GRAPH, RNG, TABLE, classes_model, discovery_of, model_of, numbers_model

from compsparse.discovery import Cost, Discovery, DiscoveryStatus, Step
from compsparse.discovery.agreement import agreement
from compsparse.discovery.data.strategy import from_data
from compsparse.graph import FunctionGraph, Node
from compsparse.models import Assessment, ClassScore, Score, assess, learned_nodes
from compsparse.report.discovery_page import DiscoveryReport, discovery_page, path_figures, step_text
from compsparse.report.evidence import evidence_by_node, node_evidence
from compsparse.report.node_cards import hover_texts, node_cards
from compsparse.report.pictures import picture_svg, png, ticks_between
from compsparse.report.predictions import fit_figures
from compsparse.tables import split_table
from compsparse.tasks import tanh_tree
from compsparse.training import FitConfig, TrainingConfig


@pytest.fixture(scope="module")
def numbers() -> Discovery:
    return discovery_of(GRAPH, numbers_model())


@pytest.fixture(scope="module")
def classes() -> Discovery:
    return discovery_of(CLASS_GRAPH, classes_model())


@pytest.mark.parametrize("name", ["m0", "m1", "y", "z"])
def test_pictures_are_well_formed_and_have_marks(numbers, name):
    for picture in learned_nodes(numbers.model, TABLE).pictures[name]:
        drawing = ElementTree.fromstring(f"<div>{picture_svg(picture)}</div>")
        marks = [e for e in drawing.iter() if e.get("class") == "mark"]
        assert len(marks) >= len(picture.series)
        assert "nan" not in picture_svg(picture)


def test_png_holds_the_pixels():
    pixels = RNG.integers(0, 256, (5, 7, 3), dtype=np.uint8)
    data = png(pixels)
    assert struct.unpack(">II", data[16:24]) == (7, 5)
    start = data.index(b"IDAT") + 4
    rows = np.frombuffer(zlib.decompress(data[start:-16]), np.uint8).reshape(5, 1 + 7 * 3)
    np.testing.assert_array_equal(rows[:, 1:].reshape(5, 7, 3), pixels)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]), (990, 1110, [1000, 1050, 1100]), (-2, 3, [-2, -1, 0, 1, 2, 3]), (4, 4, [4])],
)
def test_ticks_are_round(low, high, expected):
    assert ticks_between(low, high) == expected


# ---- words --------------------------------------------------------------------------------------


def test_evidence_says_what_was_measured(numbers):
    assert node_evidence(numbers, "m0") == [
        "strong: joined into one number: that cuts the error by 25.0%; found again in 90% of the resamples"
    ]
    unmeasured = replace(numbers.evidence[0], value=math.nan)
    assert "not put to the test" in unmeasured.sentence


def test_hover_names_members_kind_evidence_and_users(numbers):
    texts = hover_texts(numbers.graph, evidence_by_node(numbers))
    assert set(texts) == set(GRAPH.index)
    for part in ("{a, b}", "strong: joined into one number", "found again in 90%", "read by y"):
        assert part in texts["m0"]
    assert "reaches y, z" in texts["m1"]
    assert "inert: no effect of it was seen" in texts["idle"]
    assert "no smaller group separates" in texts["y"]


def test_steps_in_words():
    assert step_text(Step("merge", frozenset({"x1", "x0"}), "y", 0.1, 0.0)) == "merge {x0, x1}"
    assert step_text(Step("drop", frozenset("abcde"), "y", 0.1, 0.0)) == "drop {a, b, c, …}"
    assert step_text(Step("start", frozenset(), "y", 0.1, 0.0)) == "all inputs, no structure"


KNOWN = FunctionGraph.from_expression("tanh(a*b) + c*d*(1 + e/1000)", ["a", "b", "c", "d", "e"])
ROWS = pandas.DataFrame(RNG.uniform(-1, 1, (200, 5)), columns=list("abcde"))


def found_graph(groups) -> FunctionGraph:
    return FunctionGraph.from_groups(groups, inputs=list("abcde"))


def test_agreement_with_the_formula():
    assert agreement(KNOWN, KNOWN, ROWS).holds
    same = agreement(found_graph([["a", "b"], ["c", "d"]]), KNOWN, ROWS)
    assert same.holds
    assert same.left_out == ("e",)
    assert 0 < same.left_out_share < 1e-5
    assert "at the resolution of the data" in same.sentences()[0]
    wrong = agreement(found_graph([["a", "c"], ["b", "d"]]), KNOWN, ROWS)
    assert not wrong.holds
    assert frozenset("ac") in wrong.extra
    assert frozenset("ab") in wrong.missing
    assert "differ" in wrong.sentences()[0]


def test_an_input_that_the_formula_does_without_is_no_agreement():
    known = FunctionGraph.from_expression("tanh(a*b) + c*d", list("abcde"))
    with_more = found_graph([["a", "b"], ["c", "d"]])
    with_more = FunctionGraph(list("abcde"), [*with_more.nodes[:-1], Node("y", (*with_more.nodes[-1].parents, "e"))])
    assert with_more.modules == known.modules
    result = agreement(with_more, known, ROWS)
    assert not result.holds
    assert result.idle == ("e",)
    assert "The discovery also uses e, which the formula does not." in result.sentences()


def test_a_complete_node_implies_modules_and_may_claim_too_much():
    nodes = [Node("y", tuple("abcd"), kind="complete")]
    result = agreement(FunctionGraph(list("abcde"), nodes), KNOWN, ROWS)
    assert frozenset("ab") in result.implied
    assert result.regrouped == (frozenset("abcd"),)
    assert "claims more" in result.sentences()[0]
    total = FunctionGraph.from_expression("a + b + c + d + e", list("abcde"))
    assert not agreement(total, total, ROWS).regrouped


# ---- the page -----------------------------------------------------------------------------------


def page_of(tmp_path, report: DiscoveryReport) -> str:
    return discovery_page(tmp_path / "page.html", report).read_text(encoding="utf-8")


def test_the_page_of_several_outputs(numbers, tmp_path):
    observed = np.stack([TABLE["a"] * TABLE["b"], TABLE["c <m/s>"] ** 2], axis=1)
    own, other = Score("discovered graph (compsparse)", 0.9, 1.0, (0.95, 0.85)), Score("other", 0.5, 1.0, (0.4, 0.6))
    assessment = Assessment(("y", "z"), observed, numbers.model.predict(TABLE), own, len(TABLE), (other,))
    learned = learned_nodes(numbers.model, TABLE)
    report = DiscoveryReport("T", numbers, learned=learned, assessment=assessment, notes=("a note",))
    text = page_of(tmp_path, report)
    assert [f.title.split(" (")[0] for f in fit_figures(assessment)] == [
        "Predicted against observed y",
        "Predicted against observed z",
    ]
    assert len(path_figures(numbers)) == 1
    assert all(row["low"] > 0 for row in path_figures(numbers)[0].rows)
    assert text.count("data-card=") == 2 * len(GRAPH.index)  # for a wide screen and for a phone
    assert "<m/s>" not in text
    for part in ("idle", "a note", "0.90000", "compsparse predict model.json", "Discovery.from_json"):
        assert part in unescape(text)
    assert 'role="alert"' not in text


def test_the_page_of_classes(classes, tmp_path):
    observed = np.array([1, 2, 0])[np.digitize(TABLE["a"] * TABLE["b"], [180, 260])]
    shares = classes.model.predict_proba(TABLE)
    own = ClassScore("discovered graph (compsparse)", 0.5, 1.0, 1.1, 1.0)
    assessment = Assessment(
        ("grade",), observed, shares.argmax(1), own, len(TABLE), classes=classes.model.classes, probabilities=shares
    )
    text = page_of(tmp_path, DiscoveryReport("T", classes, assessment=assessment))
    counts = [int(c.split("<")[0]) for c in text.split('transparent)">')[1:]]
    assert sum(counts) == len(TABLE)
    (calibration,) = fit_figures(assessment)
    assert sum(row["rows"] for row in calibration.rows) == len(TABLE)


@pytest.mark.parametrize("status", [s for s in DiscoveryStatus if s is not DiscoveryStatus.FINISHED])
def test_an_unfinished_search_says_so(numbers, tmp_path, status):
    text = page_of(tmp_path, DiscoveryReport("T", replace(numbers, status=status)))
    assert 'role="alert"' in text
    assert status.value[1:] in text


def test_a_graph_without_a_model_has_a_page(tmp_path):
    found = discovery_of(GRAPH, None, source="queries", account="found by asking the function", path=())
    text = page_of(tmp_path, DiscoveryReport("T", found))
    assert "found by asking the function" in text
    assert "Use the model" not in text


def test_wide_and_inert_graphs_stay_readable(tmp_path):
    names = [f"x{i}" for i in range(60)]
    graph = FunctionGraph(names, [Node("y", tuple(names[:30]), kind="prime")])
    table = pandas.DataFrame(RNG.normal(size=(80, 60)), columns=names)
    found = Discovery(
        graph,
        (),
        DiscoveryStatus.FINISHED,
        Cost(1.0),
        "data",
        model=model_of(graph, table[["x0"]].to_numpy(), table),
    )
    learned = learned_nodes(found.model, table)
    assert "the 12 parents along which it moves most, of 30" in node_cards(found.graph, learned)
    text = page_of(tmp_path, DiscoveryReport("T", found, learned=learned))
    assert text.count("data-card=") == 31
    assert "x59" in text


def test_a_discovery_from_data_has_a_page(tmp_path):
    sample = tanh_tree(4).sample(300, random_state=0)
    config = FitConfig(n_restarts=4, training=TrainingConfig(n_steps=300))
    found = from_data(sample.X, sample.y, effort=0.2, fit_config=config, random_state=0)
    read_back = Discovery.from_json(found.to_json())
    split = split_table(sample.X, sample.y, random_state=0)
    for one in (found, read_back):
        learned, assessment = learned_nodes(one.model, sample.X), assess(one.model, split)
        text = page_of(tmp_path, DiscoveryReport("T", one, learned=learned, assessment=assessment))
        assert "merge" in text
        assert text.count('class="pic"') >= 3

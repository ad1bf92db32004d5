import math
import struct
import zlib
from dataclasses import replace
from html import unescape
from xml.etree import ElementTree

import numpy as np
import pandas
import pytest
import torch

from compsparse.discovery import Cost, Discovery, DiscoveryStatus, Evidence, Step
from compsparse.discovery.agreement import agreement
from compsparse.discovery.data.strategy import from_data
from compsparse.errors import DataError
from compsparse.graph import FunctionGraph, Node
from compsparse.models.comparison import ClassScore, Score, compared, score_classes, score_numbers
from compsparse.models.constituents import LearnedNodes, node_values
from compsparse.models.fitted_graph import FittedGraph, fit_model
from compsparse.report.discovery_page import DiscoveryReport, discovery_page, fit_figures, path_figures, step_text
from compsparse.report.evidence import node_evidence
from compsparse.report.node_cards import hover_texts, node_cards
from compsparse.report.pictures import picture_svg, png, ticks_between
from compsparse.tables.coding import code_for
from compsparse.tables.splitting import SplitTable
from compsparse.tasks import tanh_tree
from compsparse.training import FitConfig, TrainingConfig

TINY = FitConfig(n_restarts=2, training=TrainingConfig(n_steps=20))
RNG = np.random.default_rng(0)
TABLE = pandas.DataFrame(RNG.uniform(10, 20, (120, 4)), columns=["a", "b", "c <m/s>", "idle"])
TABLE["metal"] = RNG.choice(["iron", "tin", "zinc"], 120)
GRAPH = FunctionGraph(
    ["a", "b", "c <m/s>", "idle", "metal"],
    [
        Node("m0", ("a", "b"), kind="prime"),
        Node("m1", ("c <m/s>", "metal"), kind="prime"),
        Node("y", ("m0", "m1", "a"), kind="prime"),
        Node("z", ("m1",)),
    ],
    ["y", "z"],
)


def model_of(graph: FunctionGraph, y: np.ndarray, classes=None, table=TABLE) -> FittedGraph:
    code = code_for(table)
    return fit_model(graph, code, code.encoded(table), y, classes=classes, config=TINY, width=4, random_state=0)


def discovery_of(graph: FunctionGraph, model: FittedGraph | None, **changes) -> Discovery:
    words = "held-out error -25.0% ± 5.0% when the module is imposed"
    evidence = tuple(
        Evidence(frozenset(m), "prime", graph.outputs[:1], "held-out gain", -0.25, 0.05, recurrence=0.9, wording=words)
        for m in (("a", "b"), ("c <m/s>", "metal"))
    )
    path = (
        Step("start", frozenset(), graph.outputs[0], 0.3, 0.02),
        Step("drop", frozenset({"idle"}), graph.outputs[0], 0.2, 0.3),
        Step("merge", frozenset({"a", "b"}), graph.outputs[0], 0.1, 0.01),
    )
    found = Discovery(graph, evidence, DiscoveryStatus.FINISHED, Cost(1.0), "data", path=path, model=model)
    return replace(found, **changes)


@pytest.fixture(scope="module")
def numbers() -> Discovery:
    y = np.stack([TABLE["a"] * TABLE["b"], TABLE["c <m/s>"] ** 2], axis=1)
    return discovery_of(GRAPH, model_of(GRAPH, y))


@pytest.fixture(scope="module")
def classes() -> Discovery:
    graph = FunctionGraph(GRAPH.inputs, [*GRAPH.nodes[:2], Node("grade", ("m0", "m1"), kind="prime")], ["grade"])
    labels = np.digitize(TABLE["a"] * TABLE["b"], [180, 260])
    return discovery_of(graph, model_of(graph, labels, ("high", "low", "mid")))


# ---- what nodes learned -------------------------------------------------------------------------


def test_node_values_end_in_the_network_s_outputs(numbers):
    model = numbers.model
    encoded = model.code.encoded(TABLE)
    for replica in range(model.network.n_replicas):
        values = node_values(model.network, encoded, replica)
        together = torch.cat([values["y"], values["z"]]).T
        torch.testing.assert_close(together, model.network(torch.as_tensor(encoded))[replica])


def test_two_numbers_make_a_heat_map_in_their_own_units(numbers):
    learned = LearnedNodes(numbers.model, TABLE)
    (picture,) = learned.pictures("m0")
    assert (picture.across.label, picture.down.label, picture.value_label) == ("a", "b", "m0 (learned)")
    assert 9.9 < picture.across.ticks[0] < picture.across.ticks[-1] < 20.1
    assert picture.points.shape[1] == 2
    assert picture.points.min() >= 10
    assert len(picture.frame()) == len(picture.across.ticks) * len(picture.down.ticks)
    # a learned number is shown with mean 0 and spread 1, rising with its output
    wire = learned._readable("m0", 0, learned.values["m0"][0])
    assert abs(wire.mean()) < 1e-9
    assert wire.std() == pytest.approx(1)
    assert np.corrcoef(wire, learned.values["y"][0])[0, 1] >= 0


def test_a_number_and_a_category_make_a_curve_per_level(numbers):
    (picture,) = LearnedNodes(numbers.model, TABLE).pictures("m1")
    assert picture.down is None
    assert picture.series == ("metal = iron", "metal = tin", "metal = zinc")
    assert len(picture.frame()) == 3 * len(picture.across.ticks)


def test_three_parents_make_a_curve_each_on_one_scale(numbers):
    pictures = LearnedNodes(numbers.model, TABLE).pictures("y")
    assert {p.across.label for p in pictures} == {"m0 (learned)", "m1 (learned)", "a"}
    assert len({p.value_range for p in pictures}) == 1
    assert all(list(p.across.ticks) == sorted(p.across.ticks) for p in pictures)
    assert all("median" in p.note for p in pictures)


def test_one_parent_makes_the_curve_that_the_data_lie_on(numbers):
    learned = LearnedNodes(numbers.model, TABLE)
    (picture,) = learned.pictures("z")
    parent = learned._readable("m1", 0, learned.values["m1"][0])
    value = learned._readable("z", 0, learned.values["z"][0])
    inside = (parent >= picture.across.ticks[0]) & (parent <= picture.across.ticks[-1])
    on_curve = np.interp(parent, picture.across.ticks, picture.values[0])
    np.testing.assert_allclose(on_curve[inside], value[inside], atol=0.02 * np.ptp(value))


def test_classes_are_shown_as_probabilities(classes):
    pictures = LearnedNodes(classes.model, TABLE).pictures("grade")
    assert [p.value_label for p in pictures] == [f"P(grade = …) {c}" for c in ("high", "low", "mid")]
    np.testing.assert_allclose(sum(p.values for p in pictures), 1)


def test_two_classes_need_one_picture_and_few_values_are_levels():
    table = pandas.DataFrame({"flag": np.tile([0, 1], 40), "x": RNG.normal(size=80)})
    graph = FunctionGraph(["flag", "x"], [Node("y", ("flag", "x"))])
    model = model_of(graph, (table["x"] > 0).to_numpy(int), (False, True), table)
    (picture,) = LearnedNodes(model, table).pictures("y")
    assert picture.value_label == "P(y = True)"
    assert picture.series == ("flag = 0", "flag = 1")
    only_flag = FunctionGraph(["flag", "x"], [Node("y", ("flag",))])
    (picture,) = LearnedNodes(model_of(only_flag, table[["x"]].to_numpy(), None, table), table).pictures("y")
    assert picture.across.ticks == ("0", "1")


@pytest.mark.parametrize("name", ["m0", "m1", "y", "z"])
def test_pictures_are_well_formed_and_have_marks(numbers, name):
    for picture in LearnedNodes(numbers.model, TABLE).pictures(name):
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
        "held-out error -25.0% ± 5.0% when the module is imposed; came back in 90% of resamples"
    ]
    unmeasured = replace(numbers.evidence[0], value=math.nan)
    assert "not measured" in unmeasured.sentence


def test_hover_names_members_kind_evidence_and_users(numbers):
    texts = hover_texts(numbers)
    assert set(texts) == set(GRAPH.index)
    for part in ("{a, b}", "prime, of two parts", "came back in 90%", "used by y"):
        assert part in texts["m0"]
    assert "used by y, z" in texts["m1"]
    assert "no output depends on it" in texts["idle"]
    assert "allow no other grouping" in texts["y"]


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


def test_a_complete_node_implies_modules_and_may_claim_too_much():
    nodes = [Node("y", tuple("abcd"), kind="complete")]
    result = agreement(FunctionGraph(list("abcde"), nodes), KNOWN, ROWS)
    assert frozenset("ab") in result.implied
    assert result.regrouped == (frozenset("abcd"),)
    assert "claims more" in result.sentences()[0]
    total = FunctionGraph.from_expression("a + b + c + d + e", list("abcde"))
    assert not agreement(total, total, ROWS).regrouped


# ---- scores -------------------------------------------------------------------------------------


def test_scores_in_closed_form():
    numbers = score_numbers("m", np.array([0.0, 2.0]), np.array([0.0, 1.0]), 1.0)
    assert numbers.unexplained == pytest.approx(0.5)
    both = score_numbers("m", np.array([[0.0, 0], [2, 2]]), np.array([[0.0, 0], [1, 2]]), 1.0)
    assert both.by_output == (0.5, 1.0)
    shares = np.array([[0.5, 0.5], [0.25, 0.75]])
    classes = score_classes("m", np.array([0, 1]), shares, np.array([0.5, 0.5]), 1.0)
    assert classes.accuracy == 1
    assert classes.unexplained == pytest.approx((math.log(2) - math.log(0.75)) / (2 * math.log(2)))


def test_every_class_stays_in_the_rows_to_learn_from(classes):
    labels = pandas.DataFrame({"grade": ["high"] * 60 + ["low"] * 58 + ["mid"] * 2})
    split = SplitTable(TABLE, labels, seed=1)
    assert set(split.y) == {"high", "low", "mid"}
    assert len(split.X_test) == 39
    scores = compared(classes.model, split, "discovered graph (compsparse)", classes.cost.seconds)
    assert {type(s) for s in scores} == {ClassScore}
    assert [s.unexplained for s in scores] == sorted(s.unexplained for s in scores)
    with pytest.raises(DataError, match="too few"):
        SplitTable(TABLE[:6], labels[57:63])


# ---- the page -----------------------------------------------------------------------------------


def page_of(tmp_path, report: DiscoveryReport) -> str:
    return discovery_page(tmp_path / "page.html", report).read_text(encoding="utf-8")


def test_the_page_of_several_outputs(numbers, tmp_path):
    observed = np.stack([TABLE["a"] * TABLE["b"], TABLE["c <m/s>"] ** 2], axis=1)
    scores = [Score("discovered graph (compsparse)", 0.9, 1.0, (0.95, 0.85)), Score("other", 0.5, 1.0, (0.4, 0.6))]
    report = DiscoveryReport("T", numbers, TABLE, TABLE, observed, scores, notes=("a note",))
    text = page_of(tmp_path, report)
    assert [f.title.split(" (")[0] for f in fit_figures(report)] == [
        "Predicted against observed y",
        "Predicted against observed z",
    ]
    assert len(path_figures(numbers)) == 1
    assert all(row["low"] > 0 for row in path_figures(numbers)[0].rows)
    assert text.count("data-card=") == len(GRAPH.index)
    assert "<m/s>" not in text
    for part in ("idle", "a note", "0.90000", "compsparse predict model.json", "Discovery.from_json"):
        assert part in unescape(text)
    assert 'role="alert"' not in text


def test_the_page_of_classes(classes, tmp_path):
    observed = np.array(["low", "mid", "high"])[np.digitize(TABLE["a"] * TABLE["b"], [180, 260])]
    report = DiscoveryReport("T", classes, TABLE, TABLE, observed)
    text = page_of(tmp_path, report)
    counts = [int(c.split("<")[0]) for c in text.split('transparent)">')[1:]]
    assert sum(counts) == len(TABLE)
    (calibration,) = fit_figures(report)
    assert sum(row["rows"] for row in calibration.rows) == len(TABLE)


@pytest.mark.parametrize("status", [s for s in DiscoveryStatus if s is not DiscoveryStatus.FINISHED])
def test_an_unfinished_search_says_so(numbers, tmp_path, status):
    text = page_of(tmp_path, DiscoveryReport("T", replace(numbers, status=status), TABLE))
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
        model=model_of(graph, table[["x0"]].to_numpy(), None, table),
    )
    assert "the 12 parents along which it moves most, of 30" in node_cards(found, table)
    text = page_of(tmp_path, DiscoveryReport("T", found, table))
    assert text.count("data-card=") == 31
    assert "x59" in text


def test_a_discovery_from_data_has_a_page(tmp_path):
    sample = tanh_tree(4).sample(300, random_state=0)
    config = FitConfig(n_restarts=4, training=TrainingConfig(n_steps=300))
    found = from_data(sample.X, sample.y, effort=0.2, fit_config=config, random_state=0)
    read_back = Discovery.from_json(found.to_json())
    for one in (found, read_back):
        text = page_of(tmp_path, DiscoveryReport("T", one, sample.X, sample.X, sample.y))
        assert "merge" in text
        assert text.count('class="pic"') >= 3

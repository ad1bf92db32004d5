"""The page of a discovery by mouse, finger and keyboard, from a narrow phone to a wide screen, on paper."""

import numpy as np
import pytest
from tests.browser import needs_browser, opened
from tests.fitted import GRAPH, TABLE, Y, discovery_of, numbers_model

from compsparse.discovery import Evidence
from compsparse.graph import FunctionGraph, Node
from compsparse.models import assess, learned_nodes
from compsparse.report.discovery_page import DiscoveryReport, discovery_page
from compsparse.report.graph_view import graph_sections
from compsparse.report.page import write_page
from compsparse.report.predictions import residual_figures
from compsparse.tables import split_table


@pytest.fixture(scope="module")
def assessment():
    return assess(numbers_model(), split_table(TABLE, Y, random_state=0))


@pytest.fixture(scope="module")
def page_path(assessment, tmp_path_factory):
    found = discovery_of(GRAPH, numbers_model())
    learned = learned_nodes(found.model, TABLE)
    report = DiscoveryReport("A title", found, learned=learned, assessment=assessment)
    return discovery_page(tmp_path_factory.mktemp("page") / "page.html", report)


def test_residuals_are_what_predictions_leave(assessment):
    for k, figure in enumerate(residual_figures(assessment)):
        rows = figure.frame()
        assert np.allclose(rows["left"] + rows["predicted"], assessment.observed[:, k])
        assert figure.title.startswith(f"Residuals of {assessment.targets[k]}")


@pytest.mark.parametrize(
    ("n_inputs", "sizes"), [(2, ["drawing"]), (8, ["drawing wide", "drawing narrow"]), (30, ["drawing"])]
)
def test_inputs_stand_below_each_other_where_there_is_no_room(n_inputs, sizes):
    names = [f"input {i}" for i in range(n_inputs)]
    graph = FunctionGraph(names, [Node("y", tuple(names))])
    html = graph_sections(graph, None, {})[0].html
    assert [part.split('"')[0] for part in html.split('<div class="')[1:] if part.startswith("drawing")] == sizes
    assert html.count("data-card=") == len(sizes) * (n_inputs + 1)


def test_boxes_of_modules_say_how_sure_they_are(page_path):
    found = discovery_of(GRAPH, None)
    doubted = Evidence(frozenset({"a", "b"}), "prime", ("y",), "held-out gain", -0.2, doubts=("of a doubt",))
    for evidence, label in ((found.evidence, "m0: strong"), ((doubted,), "m0: not sure")):
        report = DiscoveryReport("T", discovery_of(GRAPH, None, evidence=evidence))
        assert f">{label}</text>" in discovery_page(page_path.with_name("labels.html"), report).read_text()


@needs_browser
@pytest.mark.parametrize("width", [320, 1280, 3840])
def test_nothing_is_cut_and_nothing_lies_over_the_text(page_path, width):
    with opened(page_path, width=width) as (page, troubles):
        page.wait_for_function("document.querySelectorAll('.chart svg').length > 3")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.locator("main").count() == 1
        cut = "[...document.querySelectorAll('td, th, dd')].filter(e => e.scrollWidth > e.clientWidth + 1).length"
        assert page.evaluate(cut) == 0
        fixed = "[...document.querySelectorAll('body *')].filter(e => getComputedStyle(e).position === 'fixed').length"
        assert page.evaluate(fixed) == 0
        node = page.locator("svg.cs-graph .node:visible").first
        node.click()
        panel, graph = page.locator("#float").bounding_box(), page.locator(".graph").bounding_box()
        assert panel["x"] >= graph["x"] + graph["width"] or panel["y"] >= graph["y"] + graph["height"]
        assert troubles == []


@needs_browser
def test_the_keyboard_reaches_every_node(page_path):
    with opened(page_path) as (page, troubles):
        nodes = page.locator("svg.cs-graph .node:visible")
        panel, seen = page.locator("#float"), []
        for i in range(nodes.count()):
            page.keyboard.press("Tab")
            label = page.evaluate("document.activeElement.getAttribute('aria-label')")
            assert label.startswith(nodes.nth(i).text_content().strip() + ": ")
            seen.append(panel.inner_text())
        assert len(set(seen)) == len(GRAPH.index)
        page.keyboard.press("Enter")
        pressed = "document.querySelectorAll('[aria-pressed=true]').length"
        assert page.evaluate(pressed) == 1
        page.keyboard.press("Shift+Tab")
        assert panel.inner_text() == seen[-2]
        page.evaluate("document.activeElement.blur()")
        assert panel.inner_text() == seen[-1]  # the one that was chosen stays
        page.keyboard.press("Escape")
        assert page.evaluate(pressed) == 0
        assert "Point at a node" in panel.inner_text()
        assert troubles == []


@needs_browser
def test_paper_has_no_panel_and_dark_ink(page_path):
    with opened(page_path, dark=True) as (page, _):
        page.wait_for_function("document.querySelectorAll('.chart svg').length > 3")
        page.emulate_media(media="print")
        assert not page.locator("#float").is_visible()
        assert page.evaluate("getComputedStyle(document.body).color") == "rgb(17, 17, 17)"
        assert page.evaluate("getComputedStyle(document.querySelector('.chart text')).fill") == "rgb(17, 17, 17)"


def test_a_name_of_300_letters_and_one_from_right_to_left_make_a_page(tmp_path):
    names = ["n" * 300, "שלום", "<i>"]
    graph = FunctionGraph(names, [Node("y", tuple(names))])
    text = write_page(tmp_path / "page.html", "T", "", graph_sections(graph, None, {})).read_text()
    assert "שלום" in text
    assert "<i>" not in text

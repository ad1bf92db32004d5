"""Tables of more columns than a search can look at."""

import numpy as np
import pytest

from compsparse import Discovery, FunctionGraph, discover
from compsparse.clock import Deadline
from compsparse.discovery import DiscoveryStatus
from compsparse.discovery.data import outputs, screening
from compsparse.discovery.data.request import read_request
from compsparse.discovery.data.screening import looked_at, use_in_forest
from compsparse.discovery.data.sketch import Sketch
from compsparse.errors import GraphError
from compsparse.graph import compare_graphs
from compsparse.graph.drawing import draw_svg
from compsparse.report.graph_view import graph_sections
from compsparse.report.summary import summary
from compsparse.training import FitConfig, TrainingConfig

RNG = np.random.default_rng(0)
N, D = 500, 150
X = RNG.uniform(-1, 1, (N, D))
NAMES = [f"c{i}" for i in range(D)]
Y = np.exp(X[:, 7] * X[:, 30]) + X[:, 140]
TRUE = FunctionGraph.from_expression("exp(c7*c30) + c140", inputs=NAMES)


def found_in(y=Y, **options):
    return discover(X, y, names=NAMES, random_state=0, **{"fit": False, **options})


@pytest.fixture(scope="module")
def found():
    quick = FitConfig(n_restarts=2, n_keep=1, training=TrainingConfig(n_steps=50), refine_iterations=0)
    return found_in(fit=True, fit_config=quick, resamples=0)


# ---- which are looked at ------------------------------------------------------------------------


def test_a_forest_sees_factors_whose_averages_are_nothing_and_all_signs_of_a_text():
    level = RNG.integers(0, 3, N)
    columns = {f"c{i}": X[:, [i]] for i in range(60)} | {"text": np.eye(3)[level]}
    y = X[:, 3] * X[:, 5] + 0.3 * (level == 1)
    use = use_in_forest(columns, (y / y.std())[:, None], 0, Deadline())
    assert set(sorted(use, key=use.get)[-3:]) == {"c3", "c5", "text"}
    assert sum(use.values()) == pytest.approx(screening.TREES)


def test_one_tree_is_grown_however_short_the_time():
    use = use_in_forest({f"c{i}": X[:, [i]] for i in range(D)}, Y[:, None], 0, Deadline.after(1e-9))
    assert sum(use.values()) == pytest.approx(1)


def test_few_columns_are_all_looked_at(monkeypatch):
    request = read_request(X[:, : screening.MOST_SEARCHED], Y, {"fit": False})
    assert looked_at(request) == (request, frozenset())
    monkeypatch.setattr(screening, "MOST_SEARCHED", 10)
    narrow, others = looked_at(request)
    assert len(narrow.table.code.names) == screening.MOST_LOOKED_AT == screening.MOST_SEARCHED - len(others) + 110
    assert not others & set(narrow.table.code.names)
    place = [int(name[1:]) for name in narrow.table.code.names]
    np.testing.assert_array_equal(narrow.table.X, request.table.X[:, place])


# ---- what is said of the others -----------------------------------------------------------------


def test_the_tree_is_found_and_what_was_not_looked_at_is_called_so_and_not_inert(found):
    assert compare_graphs(found.graph, TRUE).exact
    unknown = set(found.not_looked_at)
    assert len(unknown) == D - screening.MOST_LOOKED_AT
    assert not unknown & set(found.inert)
    assert unknown | set(found.inert) == set(found.graph.unread) == set(NAMES) - {"c7", "c30", "c140"}
    (sentence,) = [s for s in found.caveats if "not looked at" in s]
    assert sentence.startswith("110 of 150 inputs were not looked at")
    assert sentence.endswith("and 105 more")
    assert not any(name in s for s in found.caveats if s.startswith("not needed") for name in unknown)


def test_drawing_page_and_summary_have_words_for_it(found):
    drawn = str(found.graph).splitlines()
    assert drawn[-2].startswith("inert: ")
    assert drawn[-1].startswith("not looked at: ")
    name = found.not_looked_at[0]
    small = FunctionGraph.from_expression("a + b", inputs=["a", "b", name, "d"]).without_looking_at([name])
    svg = draw_svg(small)
    assert all(text in svg for text in (f"{name}: input (not looked at)", "d: input (inert)", "dotted: not looked at"))
    page = "".join(section.html for section in graph_sections(found.graph, None, {}))
    assert "110 inputs that were not looked at (nothing is known of them)" in page
    assert "37 inert inputs" in page
    (which, *_) = summary(found)
    assert which == "3 of 150 inputs act: c7, c30, c140. 110 were not looked at; no effect of the other 37 was seen."


def test_files_and_models_know_it_too(found):
    again = Discovery.from_json(found.to_json())
    assert again.not_looked_at == found.not_looked_at
    assert again.inert == found.inert
    np.testing.assert_array_equal(again.model.predict(X[:5]), found.model.predict(X[:5]))
    assert found.model.graph.not_looked_at == set(found.not_looked_at)


def test_an_input_that_the_forest_passed_over_is_put_on_the_root_if_residuals_go_with_it():
    request = read_request(X[:, [7, 30, 140, 141]], Y, {"names": ["a", "b", "late", "idle"], "fit": False})
    tree = FunctionGraph.from_expression("exp(a*b)").module_tree
    units = outputs.SearchRows(request).units(without=["late", "idle"])
    plain = outputs.FoundTree(tree=tree, sketch=Sketch(units), status=DiscoveryStatus.FINISHED)
    found = outputs.with_late_ones(request, plain, 0, frozenset({"late", "idle"}), Deadline())
    assert found.unplaced == {"late"}
    assert found.tree.members == {"a", "b", "late"}
    assert outputs.with_late_ones(request, plain, 0, frozenset({"late"}), Deadline.after(1e-9)) is plain


def test_ctrl_c_in_the_forest_gives_the_plain_answer(monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(outputs, "looked_at", interrupted)
    found = found_in()
    assert found.status is DiscoveryStatus.INTERRUPTED
    assert not found.modules | set(found.inert)


# ---- the graph ----------------------------------------------------------------------------------


def test_only_inputs_that_nothing_reads_can_count_as_not_looked_at():
    graph = FunctionGraph.from_expression("a + b", inputs=["a", "b", "c"])
    for name, message in (("a", "'a' cannot count as not looked at: it is read"), ("z", "it is no input")):
        with pytest.raises(GraphError, match=message):
            graph.without_looking_at([name])


def test_other_forms_of_a_graph_keep_it():
    graph = FunctionGraph.from_expression("a + b", inputs=["a", "b", "c", "d"]).without_looking_at(["d"])
    forms = [graph.structure(), graph.pruned(), FunctionGraph.from_json(graph.to_json()), graph.rename({"a": "e"})]
    assert all(form.not_looked_at == {"d"} and form.inert == ("c",) for form in forms)
    assert graph.rename({"d": "e"}).not_looked_at == {"e"}

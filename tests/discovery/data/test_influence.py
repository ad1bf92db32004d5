"""Importances that a discovery carries: within the rows that were searched, by the columns that the model reads."""

from dataclasses import replace

import numpy as np
import pandas
import pytest
from tests.fitted import GRAPH, TABLE, TINY, Y, discovery_of, model_of

from compsparse.discovery import Discovery
from compsparse.discovery.data.influence import weighed
from compsparse.models import fit_model
from compsparse.report.discovery_page import DiscoveryReport, discovery_page
from compsparse.report.summary import summary
from compsparse.training import FitConfig, TrainingConfig

RNG = np.random.default_rng(0)
X = pandas.DataFrame(RNG.uniform(-1, 1, (400, 4)), columns=["a", "b", "c", "idle"])
TARGET = X["a"] * X["b"] + 0.5 * X["c"]
CONFIG = FitConfig(n_restarts=2, training=TrainingConfig(n_steps=300))


@pytest.fixture(scope="module")
def model():
    return fit_model([["a", "b"], "c"], X, TARGET, config=CONFIG, random_state=0)


def test_shares_are_those_of_the_function(model):
    found = weighed(model, X, TARGET, {}, 0).importances
    assert {i.name for i in found.inputs} == {"a", "b", "c"}  # nothing reads the other
    whole = 1 / 9 + 1 / 12
    for module, share in ((("c",), 1 / 12 / whole), (("a", "b"), 1 / 9 / whole)):
        entry = found.of(*module)
        assert abs(entry.total - share) < 3 * entry.total_error + 0.03
    (pair,) = found.together
    assert pair.pair == ("a", "b")
    assert weighed(model, X, TARGET, {}, 0).importances == found


def test_rows_without_weight_and_other_names_are_heeded(model):
    odd = pandas.concat([X, X.tail(1) * 1e6], ignore_index=True)
    weights = np.append(np.ones(400), 0.0)
    plain = weighed(model, X, TARGET, {}, 0).importances
    assert weighed(model, odd, None, {"sample_weight": weights}, 0).importances == plain
    assert weighed(model, X.to_numpy(), None, {"names": list(X)}, 0).importances == plain


def test_parts_of_a_date_are_asked_as_one_column():
    table = X.assign(when=pandas.date_range("2020-01-01", periods=400, freq="3D"))
    y = table["when"].dt.month + 3 * table["a"]
    model = fit_model(None, table[["a", "when"]], y, config=TINY, random_state=0)
    assert len(model.code.names) > 2
    found = weighed(model, table, y, {}, 0).importances
    assert [i.name for i in found.inputs] == ["a", "when"]


def test_what_is_not_measured_is_said(model):
    few = weighed(model, X.head(40), TARGET.head(40), {}, 0)
    assert few.importances is None
    assert few.problem == "importances were not measured: effects within the data need at least 64 rows, got 40"


def test_page_summary_and_file_carry_them(model, tmp_path):
    importances = weighed(model, X, TARGET, {}, 0).importances
    found = replace(discovery_of(model.graph, model, evidence=(), path=()), influence=importances)
    assert Discovery.from_json(found.to_json()).influence == importances
    assert summary(found)[-1].startswith("Share of the variation that is lost where an input is not known: a 5")
    assert "act together" in str(found)
    page = discovery_page(tmp_path / "page.html", DiscoveryReport("T", found)).read_text()
    assert "Which inputs matter" in page
    assert "Act together: a and b (5" in page
    shown = found._repr_html_()
    assert "Which inputs matter" in shown
    assert shown.count("<td>") >= 3 * 4


def test_several_targets_are_added_up():
    entry = weighed(model_of(GRAPH, Y), TABLE, None, {}, 0).importances
    assert {i.name for i in entry.inputs} == {"a", "b", "c <m/s>", "metal"}

"""Contributions to one prediction: sums that are exact, averages over all orders, modules, classes, bad input."""

from itertools import permutations

import numpy as np
import pandas
import pytest
from tests.browser import needs_browser, opened
from tests.fitted import CLASS_GRAPH, GRAPH, LABELS, TABLE, Y, classes_model, discovery_of, numbers_model

from compsparse.errors import ConfigError, DataError
from compsparse.models import RowExplanation, assess, explain_row, fit_model
from compsparse.models.explaining_rows import example_rows
from compsparse.report.discovery_page import DiscoveryReport, discovery_page
from compsparse.tables import split_table
from compsparse.training import FitConfig, TrainingConfig

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (300, 4))
CONFIG = FitConfig(n_restarts=2, training=TrainingConfig(n_steps=300))


@pytest.fixture(scope="module")
def model():
    return fit_model([["x0", "x1"], "x2"], X, X[:, 0] * X[:, 1] + X[:, 2], config=CONFIG, random_state=0)


@pytest.fixture(scope="module")
def numbers():
    return numbers_model()


def test_contributions_add_up_and_modules_have_what_their_inputs_have(model):
    row = X[7]
    found = model.explain_row(row, X, random_state=0)
    assert found.prediction == pytest.approx(model.predict(row[None])[0])
    assert found.average + sum(c.amount for c in found.inputs) == pytest.approx(found.prediction)
    (node,) = [n for n in found.nodes if set(n.members) == {"x0", "x1"}]
    assert node.amount == pytest.approx(found.of("x0").amount + found.of("x1").amount)
    assert [c.depth for c in found.entries if c.name in ("x0", "x1")] == [1, 1]
    assert {c.name for c in found.inputs} == {"x0", "x1", "x2"}  # nothing reads the other


def test_amounts_are_averages_over_all_orders_that_keep_modules_together(model):
    row, other = X[3], X[11]

    def predicted(names):
        mixed = other.copy()
        for name in names:
            mixed[int(name[1])] = row[int(name[1])]
        return model.predict(mixed[None])[0]

    orders = [o for o in permutations(["x0", "x1", "x2"]) if o[1] != "x2"]
    shares = dict.fromkeys(["x0", "x1", "x2"], 0.0)
    for order in orders:
        for i, name in enumerate(order):
            shares[name] += (predicted(order[: i + 1]) - predicted(order[:i])) / len(orders)
    found = explain_row(model, row, np.tile(other, (256, 1)), random_state=0)
    for name, share in shares.items():
        assert abs(found.of(name).amount - share) <= 3 * found.of(name).error + 1e-9


def test_of_a_sum_every_input_has_its_distance_from_the_mean(model):
    found = explain_row(model, X[7], X, random_state=0)
    entry = found.of("x2")
    assert abs(entry.amount - (X[7, 2] - X[:, 2].mean())) < 3 * entry.error + 0.02


def test_what_if_is_what_the_model_predicts(model):
    found = explain_row(model, X[7], X, random_state=0)
    curve = found.what_if("x0")
    rows = np.tile(X[7], (len(curve.across.ticks), 1))
    rows[:, 0] = curve.across.ticks
    assert np.allclose(curve.values[0], model.predict(rows))
    assert curve.here == (pytest.approx(X[7, 0]), pytest.approx(found.prediction))
    with pytest.raises(ConfigError, match="the model reads no input 'x3'"):
        found.what_if("x3")


def test_rows_may_be_mappings_series_and_tables(numbers):
    row = TABLE.iloc[5]
    found = [
        explain_row(numbers, given, TABLE, target="y", random_state=0)
        for given in (row, row.to_dict(), TABLE.iloc[[5]], row.drop("idle").to_dict())
    ]
    assert len({str(f) for f in found}) == 1
    assert found[0].of("metal").value == row["metal"]
    assert found[0].what_if("metal").here[0] == row["metal"]
    shared = found[0].of("m0")  # its input a is read by y too
    assert shared.amount is None
    assert shared not in found[0].entries


def test_of_classes_the_likeliest_is_explained():
    model = classes_model()
    row = TABLE.iloc[[3]]
    found = explain_row(model, row, TABLE, random_state=0)
    label = model.predict(row)[0]
    assert found.target == f"the probability of grade = {label}"
    assert found.prediction == pytest.approx(model.predict_proba(row).max())
    low = explain_row(model, row, TABLE, target="low", random_state=0)
    assert low.prediction == pytest.approx(model.predict_proba(row)[0, list(model.classes).index("low")])
    with pytest.raises(ConfigError, match="the model has no class 'lo'; did you mean 'low'"):
        explain_row(model, row, TABLE, target="lo")


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        (TABLE.head(2), "one row is explained at a time, got 2"),
        ({"a": 1.0}, "there are no columns 'b', 'c <m/s>', 'metal'"),
        ([1.0, 2.0], "the table has 2 columns, but the model was fitted on 5"),
    ],
)
def test_rows_that_do_not_do(numbers, row, sentence):
    with pytest.raises(DataError, match=sentence):
        explain_row(numbers, row, TABLE, target="y")


def test_targets_must_be_said_where_there_are_several(numbers):
    with pytest.raises(ConfigError, match="the model predicts y, z: say which as target"):
        explain_row(numbers, TABLE.head(1), TABLE)


def test_explanations_show_themselves(model):
    found = explain_row(model, X[7], X, random_state=0)
    assert isinstance(found, RowExplanation)
    assert str(found).startswith("y is predicted as ")
    assert list(found.frame()["name"]) == [c.name for c in found.entries]
    shown = found._repr_html_()
    assert shown.count('class="bar"') == len(found.entries)


@pytest.mark.parametrize(
    ("graph", "targets", "made"), [(GRAPH, Y, numbers_model), (CLASS_GRAPH, LABELS, classes_model)]
)
def test_examples_are_told_apart(graph, targets, made):
    split = split_table(TABLE, targets, random_state=0)
    model = made()
    examples = example_rows(model, split.X, split.X_test, assess(model, split), 0)
    assert 1 < len({e.label for e in examples}) == len(examples)


@needs_browser
def test_one_of_several_rows_is_chosen_by_keyboard(numbers, tmp_path):
    split = split_table(TABLE, Y, random_state=0)
    assessment = assess(numbers, split)
    examples = example_rows(numbers, split.X, split.X_test, assessment, 0)
    report = DiscoveryReport("T", discovery_of(GRAPH, numbers), assessment=assessment, examples=examples)
    path = discovery_page(tmp_path / "page.html", report)
    with opened(path, width=380) as (page, troubles):
        shown = [f"#row-{i}" for i in range(len(examples)) if page.locator(f"#row-{i}").is_visible()]
        assert shown == ["#row-0"]
        page.locator("select.rows").focus()
        page.keyboard.press("ArrowDown")
        assert not page.locator("#row-0").is_visible()
        assert page.locator("#row-1").is_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 380
        assert troubles == []


def test_a_column_of_dates_is_one_value_for_its_parts():
    table = pandas.DataFrame({"when": pandas.date_range("2020-01-01", periods=200, freq="3D"), "a": RNG.random(200)})
    model = fit_model(None, table, table["when"].dt.month + table["a"], config=CONFIG, random_state=0)
    found = explain_row(model, table.iloc[[10]], table, random_state=0)
    parts = [c for c in found.inputs if c.name.startswith("when")]
    assert len(parts) > 1
    assert len({c.value for c in parts}) == 1

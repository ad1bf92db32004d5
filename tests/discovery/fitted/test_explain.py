"""Graphs of fitted models: planted structure behind models of every kind, fidelity, support, files, bad input."""

import json
import pickle

import numpy as np
import onnx
import pandas
import pytest
import torch
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from tests.fitted import TABLE, classes_model, doubling, numbers_model
from typer.testing import CliRunner

import compsparse as cs
from compsparse.cli import app
from compsparse.discovery.fitted import Explanation
from compsparse.discovery.fitted.asked import asked_model, log_odds
from compsparse.discovery.fitted.asking import _rows_like
from compsparse.discovery.fitted.files import read_model
from compsparse.errors import ConfigError, DataError
from compsparse.tables import Table
from compsparse.training import FitConfig, TrainingConfig

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (400, 4))
QUICK = {"effort": 0.2, "random_state": 0, "fit_config": FitConfig(n_restarts=2, training=TrainingConfig(n_steps=400))}
Y = np.exp(X[:, 0] * X[:, 1] + X[:, 0]) + np.sin(3 * X[:, 2])


@pytest.fixture(scope="module")
def polynomial():
    return make_pipeline(PolynomialFeatures(5), LinearRegression()).fit(X, Y)


@pytest.fixture(scope="module")
def explained(polynomial) -> Explanation:
    return cs.explain(polynomial, X, Y, **QUICK)


def test_planted_structure_is_found_behind_a_model(explained):
    assert explained.modules == {frozenset({"x0", "x1"})}
    assert explained.discovery.inert == ("x3",)
    assert explained.fidelity.to_model > 0.98
    assert explained.fidelity.measure == "R2"
    assert explained.fidelity.graph_on_data > 0.95
    assert explained.tolerance == pytest.approx(0.001, abs=0.01)


def test_an_explanation_begins_with_its_fidelity(explained):
    assert str(explained).startswith("Faithful: the graph explains 9")
    assert "Faithful" in explained._repr_html_()
    row = explained.explain_row(X[0], X, random_state=0)
    assert row.average + sum(c.amount for c in row.inputs) == pytest.approx(row.prediction)


def test_rows_are_asked_within_the_support_of_dependent_columns():
    together = X.copy()
    together[:, 1] = together[:, 0] + 0.01 * X[:, 1]
    table = Table.of(together, list("abcd"))
    rows = _rows_like(table, asked_model(lambda rows: rows[:, 0], X), 1000, np.random.default_rng(0))
    asked = np.stack(rows.columns, axis=1)
    apart = np.abs(asked[:, 1] - asked[:, 0])
    assert np.quantile(apart, 0.95) < 0.1  # independent columns would be 1.5 apart
    assert len(np.unique(asked, axis=0)) > 950  # new rows, not copies


def test_classes_are_explained_by_log_odds():
    labels = np.where(X[:, 0] * X[:, 1] + 0.5 * X[:, 2] > 0, "yes", "no")
    model = make_pipeline(PolynomialFeatures(2), LogisticRegression(C=100)).fit(X, labels)
    found = cs.explain(model, X, labels, **QUICK)
    assert found.of == "log odds"
    assert found.graph.outputs == ("log odds of yes",)
    assert found.fidelity.measure == "accuracy"
    assert found.fidelity.model_on_data > 0.9
    assert found.fidelity.graph_on_data > 0.85


def test_log_odds_of_sure_answers_are_finite():
    odds = log_odds(np.array([[0.0, 1.0], [0.5, 0.5], [0.9, 0.1]]))
    assert odds.ravel() == pytest.approx([np.log(0.95 / 0.05), 0.0, -np.log(9)])
    centred = log_odds(np.array([[0.2, 0.3, 0.5]]))
    assert centred.sum() == pytest.approx(0)
    assert centred[0, 2] - centred[0, 0] == pytest.approx(np.log(2.5))


# ---- kinds of models ----------------------------------------------------------------------------


def test_models_of_every_kind_are_asked(polynomial):
    table = Table.of(X, list("abcd"))
    assert np.allclose(asked_model(polynomial, X)(table)[:, 0], polynomial.predict(X))
    frame = pandas.DataFrame(X, columns=list("abcd"))
    named = LinearRegression().fit(frame, Y)  # would warn if its columns lost their names
    assert np.allclose(asked_model(named, frame)(table)[:, 0], named.predict(frame))
    network = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Dropout(0.5))
    network.train()
    asked = asked_model(network, X)
    assert np.allclose(asked(table), asked(table))  # as it predicts, without dropout
    assert network.training
    assert asked_model(lambda rows: rows[:, 0], X)(table).shape == (400, 1)
    forest = RandomForestClassifier(5, random_state=0).fit(X, np.digitize(Y, [1, 2]))
    assert asked_model(forest, X).classes == ("0", "1", "2")
    graph = cs.FunctionGraph.from_expression("a*b + sin(c) + d")
    assert np.allclose(asked_model(graph, X)(table)[:, 0], graph(X))
    own = asked_model(numbers_model(), TABLE)
    assert own(Table.of(TABLE)).shape == (120, 2)
    assert asked_model(classes_model(), TABLE).classes == ("high", "low", "mid")


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (LinearRegression, "expected a fitted model, got the class LinearRegression"),
        (3, "expected a model with predict, a torch module or a function of rows, got 3"),
        (cs.FunctionGraph.from_groups([[0, 1], 2, 3]), "the graph is structure alone"),
    ],
)
def test_what_is_no_model(model, sentence):
    with pytest.raises(ConfigError, match=sentence):
        cs.explain(model, X)


@pytest.mark.parametrize(
    ("model", "rows", "target", "sentence"),
    [
        (LinearRegression(), X, None, "the model raised NotFittedError: This LinearRegression"),
        (LinearRegression().fit(X[:, :2], Y), X, None, "the model raised ValueError: X has 4 features, but"),
        (lambda rows: np.full(len(rows), np.nan), X, None, "holds NaN or infinite values"),
        (lambda rows: np.ones(len(rows)), X, None, "the same answer to every row"),
        (lambda rows: rows[:3, 0], X, None, "the model must answer"),
        (lambda rows: rows[:, 0], X[:30], None, "within at least 40 rows, got 30"),
        (lambda rows: rows[:, 0], X, Y[:50], "X has 400 rows but y has 50"),
    ],
)
def test_what_cannot_be_explained(model, rows, target, sentence):
    with pytest.raises(DataError, match=sentence):
        cs.explain(model, rows, target, random_state=0)


@pytest.mark.parametrize("options", [{"n_rows": 3}, {"tolerance": 1}, {"effort": 0}, {"n_row": 100}])
def test_options_that_make_no_sense(options):
    with pytest.raises(cs.CompsparseError, match=next(iter(options))):
        cs.explain(lambda rows: rows[:, 0], X, **options)


# ---- files --------------------------------------------------------------------------------------


def test_onnx_files_are_asked(tmp_path):
    model = doubling()
    model.ir_version, model.opset_import[0].version = 10, 17  # onnxruntime follows onnx with a delay
    onnx.save_model(model, tmp_path / "model.onnx")
    asked = read_model(tmp_path / "model.onnx")
    assert np.allclose(asked(np.array([[1.0, 2.0]])), [[2.0, 1.0]])
    (tmp_path / "odd.onnx").write_bytes(b"nothing")
    for name, sentence in (("odd.onnx", "cannot read an ONNX model"), ("none.onnx", "no such file")):
        with pytest.raises(DataError, match=sentence):
            read_model(tmp_path / name)
    with pytest.raises(ConfigError, match=r"the suffix must be \.json, \.onnx"):
        read_model(tmp_path / "model.bin")


@pytest.mark.parametrize("suffix", [".pkl", ".joblib"])
def test_pickles_are_opened_only_where_that_is_said(polynomial, tmp_path, suffix):
    path = tmp_path / f"model{suffix}"
    path.write_bytes(pickle.dumps(polynomial))
    with pytest.raises(ConfigError, match="can run any program while it is read: add --trust-pickle"):
        read_model(path)
    assert np.allclose(read_model(path, trust_pickle=True).predict(X), polynomial.predict(X))
    path.write_bytes(b"nothing")
    with pytest.raises(DataError, match="cannot read a model from"):
        read_model(path, trust_pickle=True)


def test_the_command_explains_a_file(tmp_path):
    model = numbers_model()
    model.save(tmp_path / "fitted.json")
    TABLE.assign(y=TABLE["a"]).to_csv(tmp_path / "data.csv", index=False)
    paths = ["--out", str(tmp_path / "page.html"), "--model", str(tmp_path / "explained.json")]
    arguments = ["explain", str(tmp_path / "fitted.json"), str(tmp_path / "data.csv"), "--time-limit", "3s", *paths]
    result = CliRunner().invoke(app, [*arguments, "--effort", "0.1", "--random-state", "0", "--json"])
    assert result.exit_code == 0, result.exception
    told = json.loads(result.output.strip().splitlines()[-1])
    assert set(told["graph"]["inputs"]) == {"a", "b", "c <m/s>", "metal"}
    assert 0 <= told["fidelity"]["to_model"] <= 1
    page = (tmp_path / "page.html").read_text()
    assert "What fitted.json has learned" in page
    assert "of the variation of the model" in page

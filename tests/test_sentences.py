"""The same mistake gets the same error and the same sentence, whichever way in it is made."""

import datetime
import re

import numpy as np
import pandas
import pytest
from typer.testing import CliRunner

import compsparse as cs
from compsparse.checks import brief
from compsparse.cli import app
from compsparse.errors import CellError, CompsparseError, ConfigError, DataError
from compsparse.graph import FunctionGraph
from compsparse.models import FittedGraph, fit_model
from compsparse.training import FitConfig, TrainingConfig

N = 60
RNG = np.random.default_rng(0)
X = pandas.DataFrame(RNG.normal(size=(N, 2)), columns=["a", "b"])
Y = pandas.Series(X["a"] * X["b"], name="y")
CLASSES = pandas.Series(np.where(Y > 0, "up", "down"), name="y")
GRAPH = FunctionGraph.from_expression("a*b")
TINY = FitConfig(n_restarts=1, training=TrainingConfig(n_steps=1), refine_iterations=0)
QUICK = {"n_restarts": 1, "n_steps": 1}
CLASSIFIERS = ("GraphClassifier", "CompositionalClassifier")


def by_estimator(estimator, X, y, settings):
    labels = CLASSES[: len(y)] if y.equals(Y[: len(y)]) else y
    make = getattr(cs, estimator)
    graph = [GRAPH] if estimator.startswith("Graph") else []
    make(*graph, **{**QUICK, **settings}).fit(X, labels if estimator in CLASSIFIERS else y)


def by_function(X, y, settings):
    config = FitConfig(settings.pop("n_restarts")) if "n_restarts" in settings else TINY
    fit_model(GRAPH, X, y, config=config, **settings)


def by_discover(X, y, settings):
    config = FitConfig(settings.pop("n_restarts")) if "n_restarts" in settings else TINY
    cs.discover(X, y, fit_config=config, **settings)


def by_command(folder, command, X, y, settings):
    table = folder / "data.csv"
    if X is not None:
        assert len(X) == len(y)
        X.assign(y=np.asarray(y)).to_csv(table, index=False)
    places = ["--out", str(folder / "page.html"), "--model", str(folder / "model.json")]
    graph = ["--graph", "a*b"] if command == "fit" else []
    options = [f"--{name.replace('_', '-')}={value}" for name, value in settings.items()]
    shout(command, str(table), "--target=y", *graph, *places, *options)


def shout(*arguments):
    result = CliRunner().invoke(app, list(arguments))
    if result.exception is not None:
        raise result.exception


WAYS = {
    **{
        name: lambda folder, X, y, settings, name=name: by_estimator(name, X, y, settings)
        for name in ("GraphRegressor", "GraphClassifier", "CompositionalRegressor", "CompositionalClassifier")
    },
    "fit_model": lambda folder, X, y, settings: by_function(X, y, settings),
    "cs.discover": lambda folder, X, y, settings: by_discover(X, y, settings),
    "compsparse discover": lambda folder, X, y, settings: by_command(folder, "discover", X, y, settings),
    "compsparse fit": lambda folder, X, y, settings: by_command(folder, "fit", X, y, settings),
}
PYTHON = [name for name in WAYS if not name.startswith("compsparse")]
OF_NUMBERS = [name for name in WAYS if name not in CLASSIFIERS]
SEARCHES = ["CompositionalRegressor", "CompositionalClassifier", "cs.discover", "compsparse discover"]


def spoiled(value, row=6):
    column = X["a"].astype(object if isinstance(value, str) else float)
    column.iloc[row] = value
    return X.assign(a=column)


def cell(problem, what="column 'a'"):
    return rf"{what} {problem} in row 7 \(counted from 1\)(: fill in such values, or leave their rows out)?"


def foreign(value):
    column = X["a"].astype(object)
    column.iat[6] = value
    return X.assign(a=column)


FOREIGN = {
    "a date": datetime.date(2020, 2, 29),
    "a time with its zone": pandas.Timestamp("2020-02-29", tz="UTC"),
    "a period": pandas.Period("2020-02", "M"),
    "a list": [1, 2],
    "bytes": b"12",
    "an interval": pandas.Interval(0, 1),
    "an array": np.ones(2),
    "a mapping": {"a": 1},
}
NO_CELL = "each cell of this argument must be a string or a number, so turn such cells into one of the two first"


def gap(value):
    return Y.where(Y.index != 6, value)


INFINITE = r"has an infinite value \(inf\)"
NO_NUMBER = (
    r"column 'a' must hold numbers, got 'much' in row 7 \(counted from 1\): correct such cells, or say that they are "
    r"missing \(na=\['much'\], --na much\)"
)


MISTAKES = {
    "text cell": (spoiled("much"), Y, {}, DataError, NO_NUMBER, WAYS),
    "text cell after a gap in the target": (
        spoiled("much"), Y.where(Y.index != 2, np.nan), {}, DataError, NO_NUMBER, OF_NUMBERS
    ),
    "no target at all": (X, Y * np.nan, {}, DataError, "target 'y' is missing in every row", OF_NUMBERS),
    "two mistakes": (
        spoiled("much"), gap(np.inf), {}, DataError,
        "the table has 2 problems:\n- target 'y' has an infinite value .*\n- " + NO_NUMBER, OF_NUMBERS,
    ),
    "inf in the target": (X, gap(np.inf), {}, DataError, cell(INFINITE, "target 'y'"), OF_NUMBERS),
    "constant target": (X, Y * 0 + 3, {}, DataError, "target 'y' is constant: there is .*", WAYS),
    "one row": (X[:1], Y[:1], {}, DataError, r"found 1 row \(1 sample\): at least 2 are needed", WAYS),
    "no rows": (X[:0], Y[:0], {}, DataError, r"found 0 rows \(0 samples\): at least 2 are needed", PYTHON),
    "lengths": (X, Y[:50], {}, DataError, "X has 60 rows but y has 50", PYTHON),
    "two columns of one name": (
        X.set_axis(["a", "a"], axis=1), Y, {}, DataError, "the table has two columns named 'a'", WAYS
    ),
    "unknown column": (
        X.rename(columns={"b": "c"}), Y, {}, DataError,
        r"there is no column 'b'; the columns are a, c \(the graph needs it\)",
        ["GraphRegressor", "GraphClassifier", "fit_model", "compsparse fit"],
    ),
    "negative seed": (
        X, Y, {"random_state": -1}, ConfigError, "random_state must be a whole number >= 0, got -1", WAYS
    ),
    "bad device": (X, Y, {"device": "abacus"}, ConfigError, "cannot use device 'abacus': .*", WAYS),
    "bad time limit": (
        X, Y, {"time_limit": -1.0}, ConfigError, r"time_limit must be a finite number > 0, got -1\.0", WAYS
    ),
    "no effort": (X, Y, {"effort": 0.0}, ConfigError, "effort must be .*", SEARCHES),
    "no width": (X, Y, {"width": 0}, ConfigError, "width must be a whole number >= 1, got 0", PYTHON),
    "no restarts": (X, Y, {"n_restarts": 0}, ConfigError, "n_restarts .*", PYTHON),
    **{
        what: (foreign(value), Y, {}, CellError, cell(f"holds {re.escape(brief(value))}") + f": {NO_CELL}", PYTHON)
        for what, value in FOREIGN.items()
    },
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_one_mistake_one_sentence(mistake, tmp_path):
    table, y, settings, error, pattern, ways = MISTAKES[mistake]
    told = {}
    for way in ways:
        with pytest.raises(CompsparseError) as caught:
            WAYS[way](tmp_path, table, y, dict(settings))
        assert isinstance(caught.value, error), way
        assert re.fullmatch(pattern, str(caught.value)), f"{way}: {caught.value}"
        told.setdefault(str(caught.value), []).append(way)
    # classes and numbers are constant each in its own words
    assert len(told) == 1 or mistake == "constant target", told


@pytest.mark.parametrize(
    ("name", "content", "pattern"),
    [
        ("nothing.csv", None, "there is no file .*nothing.csv"),
        ("data.ods", b"", "cannot read data.ods: expected a .csv, .tsv, .txt, .xlsx or .parquet file"),
        ("data.xlsx", b"no sheet", "cannot read data.xlsx: .*"),
        ("bytes.csv", b"\x00\x01\x02", "cannot read bytes.csv: .*"),
        ("ragged.csv", b"a,b\n1,2\n1,2,3\n", "cannot read ragged.csv: .*"),
        ("fake.parquet", b"no parquet", "cannot read fake.parquet: .*"),
        ("empty.csv", b"", "cannot read empty.csv: .*"),
        ("header.csv", b"a,b\n", "header.csv has no rows"),
        ("twice.csv", b"a,a\n1,2\n", "the table has two columns named 'a'"),
    ],
)
def test_every_command_says_the_same_of_a_file(name, content, pattern, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if content is not None:
        (tmp_path / name).write_bytes(content)
    fit_model(GRAPH, X, Y, config=TINY, random_state=0).save("fitted.json")
    told = set()
    for arguments in (
        ["discover", name, "--target", "y"],
        ["fit", name, "--target", "y", "--graph", "a*b"],
        ["predict", "fitted.json", name],
    ):
        with pytest.raises(DataError) as caught:
            shout(*arguments)
        assert re.fullmatch(pattern, str(caught.value)), arguments
        told.add(str(caught.value))
    assert len(told) == 1


def test_a_target_that_is_no_column(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X.to_csv("data.csv", index=False)
    for command in (["discover"], ["fit", "--graph", "a*b"]):
        with pytest.raises(DataError, match=r"^there is no column 'z'; the columns are a, b$"):
            shout(*command, "data.csv", "--target", "z")


@pytest.mark.parametrize(
    ("table", "pattern"),
    [
        (spoiled("much"), NO_NUMBER),
    ],
)
def test_a_bad_cell_where_a_model_predicts(table, pattern, tmp_path):
    model = fit_model(GRAPH, X, Y, config=TINY, random_state=0)
    model.save(tmp_path / "model.json")
    table.to_csv(tmp_path / "new.csv", index=False)
    estimators = [cs.GraphRegressor(GRAPH, **QUICK).fit(X, Y), cs.GraphClassifier(GRAPH, **QUICK).fit(X, CLASSES)]
    estimators += [cs.CompositionalRegressor(**QUICK, effort=0.01, time_limit=1e6).fit(X[:40], Y[:40])]
    ways = [
        lambda: model.predict(table),
        lambda: FittedGraph.load(tmp_path / "model.json").predict(table),
        lambda: shout("predict", str(tmp_path / "model.json"), str(tmp_path / "new.csv")),
        *(lambda one=one: one.predict(table) for one in estimators),
    ]
    told = set()
    for way in ways:
        with pytest.raises(DataError) as caught:
            way()
        told.add(str(caught.value))
    assert len(told) == 1
    assert re.fullmatch(pattern, told.pop())


def test_predicting_asks_for_its_columns(tmp_path):
    model = fit_model(GRAPH, X, Y, config=TINY, random_state=0)
    model.save(tmp_path / "model.json")
    X[["a"]].to_csv(tmp_path / "new.csv", index=False)
    sentence = r"there is no column 'b'; the columns are a \(the model needs it\)"
    with pytest.raises(DataError, match=sentence):
        model.predict(X[["a"]])
    with pytest.raises(DataError, match=sentence):
        shout("predict", str(tmp_path / "model.json"), str(tmp_path / "new.csv"))
    with pytest.raises(DataError, match=r"there are no columns 'a', 'b'; the columns are q \(the model needs them\)"):
        model.predict(X.rename(columns={"a": "q"})[["q"]])

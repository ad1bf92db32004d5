"""Cells as tables of other libraries have them: masked, of foreign types, or none at all."""

from datetime import date
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas
import pytest

import compsparse as cs
from compsparse.errors import CellError, DataError
from compsparse.estimators import MinimalReLURegressor, SparseCoder
from compsparse.models import FittedGraph, fit_model, learned_nodes
from compsparse.tables import code_for, coded_table, split_table
from compsparse.training import FitConfig, TrainingConfig

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
Y = X[:, 0] * X[:, 1]
CLASSES = np.where(Y > 0, "up", "down")
TINY = FitConfig(n_restarts=1, training=TrainingConfig(n_steps=1), refine_iterations=0)
QUICK = {"n_restarts": 1, "n_steps": 1}
GRAPH = [[0], [1]]


@pytest.fixture(scope="module")
def model() -> FittedGraph:
    return fit_model(cs.FunctionGraph.from_groups(["x0", "x1"], inputs=["x0", "x1"]), X, Y, config=TINY, random_state=0)


# ---- masks --------------------------------------------------------------------------------------


def masked(values, *place):
    hidden = np.zeros(np.shape(values), dtype=bool)
    hidden[place] = True
    return np.ma.array(values, mask=hidden)


WAYS = {
    "discover": lambda X, y, **more: cs.discover(X, y, fit_config=TINY, effort=0.01, random_state=0, **more),
    "coded_table": coded_table,
    "split_table": split_table,
    "GraphRegressor": lambda X, y, **more: cs.GraphRegressor(GRAPH, **QUICK).fit(X, y, **more),
    "CompositionalRegressor": lambda X, y, **more: cs.CompositionalRegressor(**QUICK, effort=0.01).fit(X, y, **more),
    "MinimalReLURegressor": lambda X, y: MinimalReLURegressor().fit(X, y),
    "training_data": cs.training_data,
    "memorise": cs.memorise,
}
TAKES_GAPS = ("discover", "coded_table", "split_table", "GraphRegressor", "CompositionalRegressor")


@pytest.mark.parametrize("way", WAYS)
def test_what_is_masked_is_missing(way):
    missing = r"has a (missing|masked) value.* in row 7 \(counted from 1\)"
    if way in TAKES_GAPS:
        WAYS[way](masked(X, 6, 1), masked(Y, 6))
        with pytest.raises(DataError, match="is missing in every row"):
            WAYS[way](X, np.ma.masked_all(60))
    else:
        with pytest.raises(DataError, match=missing):
            WAYS[way](masked(X, 6, 1), Y)
        with pytest.raises(DataError, match=missing):
            WAYS[way](X, masked(Y, 6))
    if way in ("discover", "coded_table", "GraphRegressor", "CompositionalRegressor", "training_data"):
        with pytest.raises(DataError, match=missing):
            WAYS[way](X, Y, sample_weight=masked(np.ones(60), 6))


@pytest.mark.parametrize("classes", [CLASSES, CLASSES == "up", np.where(Y > 0, 1, 2)], ids=["text", "bool", "int"])
def test_rows_with_masked_classes_are_left_out(classes):
    table = coded_table(masked(X, 6, 0), masked(classes, 6), classification=True)
    assert table.n_without_target == 1
    assert table.target.classes == tuple(np.unique(classes).tolist())
    np.testing.assert_array_equal(table.X[:6], coded_table(np.delete(X, 6, 0), Y[:-1]).X[:6])
    fitted = cs.GraphClassifier(GRAPH, **QUICK).fit(X, masked(classes, 6))
    assert fitted.classes_.tolist() == np.unique(classes).tolist()


def test_a_mask_that_hides_nothing_changes_nothing(model):
    np.testing.assert_array_equal(model.predict(np.ma.array(X)), model.predict(X))
    np.testing.assert_array_equal(
        coded_table(np.ma.array(X), np.ma.array(Y), sample_weight=np.ma.ones(60)).X, coded_table(X, Y).X
    )


def test_masks_are_seen_where_there_is_a_model_and_inside_lists(model):
    gone = np.where(np.arange(60) == 6, np.nan, X[:, 0])
    expected = model.predict(np.stack([gone, X[:, 1]], axis=1))
    np.testing.assert_array_equal(model.predict(masked(X, 6, 0)), expected)
    assert not np.array_equal(expected, model.predict(X))
    with pytest.raises(DataError, match=r"row 7 \(counted from 1\)"):
        model.predict([*X[:6], np.ma.masked_all(2), *X[7:]])
    coder = SparseCoder(dictionary=np.eye(2)).fit(X)
    for ask in (coder.fit, coder.transform):
        with pytest.raises(DataError, match="X has a masked value in row 7"):
            ask(masked(X, 6, 0))


# ---- types --------------------------------------------------------------------------------------


def test_numbers_of_other_libraries_are_numbers():
    table = pandas.DataFrame({"d": [Decimal(i) / 4 for i in range(60)], "f": [Fraction(i, 3) for i in range(60)]})
    plain = pandas.DataFrame({"d": np.arange(60) / 4, "f": np.arange(60) / 3})
    np.testing.assert_allclose(coded_table(table, Y).X, coded_table(plain, Y).X)
    np.testing.assert_allclose(coded_table(plain, table["d"]).target.values, plain[["d"]])


def test_cells_of_a_list_keep_their_types():
    rows = [[name, number] for name, number in zip(["iron", "tin"] * 30, Y.tolist(), strict=True)]
    code = code_for(rows)
    assert [type(column).__name__ for column in code.inputs] == ["TextColumn", "NumberColumn"]
    fitted = cs.GraphRegressor(GRAPH, **QUICK).fit(rows, Y)
    assert fitted.model_.code == code
    with pytest.raises(CellError, match=r"column 'x0' holds datetime.date\(2020, 1, 1\) in row 1"):
        cs.GraphRegressor(GRAPH, **QUICK).fit([[date(2020, 1, 1), 1.0], *X[1:].tolist()], Y)
    dates = [[date(2020, 1, 1 + i % 28), y] for i, y in enumerate(Y.tolist())]
    assert [type(column).__name__ for column in code_for(dates).inputs][:2] == ["DateColumn", "DateColumn"]


def test_a_number_no_float_can_hold_is_named():
    table = pandas.DataFrame({"a": pandas.Series([1] * 59 + [10**400], dtype=object), "b": Y})
    for fit in (coded_table, cs.GraphRegressor(GRAPH, **QUICK).fit):
        with pytest.raises(DataError, match=r"column 'a' must hold numbers, got 1000.* in row 60"):
            fit(table, Y)


# ---- no rows ------------------------------------------------------------------------------------


def test_tables_without_rows_are_refused(model):
    for ask in (model.predict, model.code.encoded, code_for, lambda rows: learned_nodes(model, rows)):
        for empty in (X[:0], pandas.DataFrame(X[:0], columns=["x0", "x1"])):
            with pytest.raises(DataError, match="the table has no rows"):
                ask(empty)
    with pytest.raises(DataError, match="the table has no rows"):
        cs.GraphRegressor(GRAPH, **QUICK).fit(X, Y).predict(X[:0])
    assert model.network(cs.training_data(X, Y).X[:0].double()).shape == (1, 0, 1)

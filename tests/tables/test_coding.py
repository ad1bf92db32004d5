import tracemalloc

import numpy as np
import pandas
import polars
import pytest

from compsparse.errors import ConfigError, DataError
from compsparse.tables import NumberColumn, Table, TextColumn, code_for, coded_table, coding, split_table, target_for
from compsparse.tables.columns import rows_of
from compsparse.tables.targets import labels_as_array

RNG = np.random.default_rng(0)
FRAME = pandas.DataFrame({"x": RNG.normal(3, 2, 40), "side": RNG.choice(["l", "r"], 40), "n": np.arange(40) % 4})


def test_numbers_are_standardised_and_texts_become_signs():
    code = code_for(FRAME.assign(metal=RNG.choice(["iron", "tin", "zinc"], 40)))
    assert [type(c) for c in code.inputs] == [NumberColumn, TextColumn, NumberColumn, TextColumn]
    encoded = code.encoded(FRAME.assign(metal="tin"))
    np.testing.assert_allclose(encoded[:, 0].mean(), 0, atol=1e-12)
    np.testing.assert_allclose(encoded[:, 0].std(), 1)
    np.testing.assert_array_equal(encoded[:, 1], np.where(FRAME["side"] == "r", 1.0, -1.0))
    np.testing.assert_array_equal(encoded[:, 3:], np.tile([-1.0, 1.0, -1.0], (40, 1)))
    assert list(code.columns) == ["x", "side", "n", "metal"]


def test_weights_count_like_repeats():
    weight = np.arange(40) % 3
    weighted = code_for(FRAME[weight > 0], sample_weight=weight[weight > 0])
    repeated = code_for(FRAME.loc[np.repeat(FRAME.index, weight)])
    for one, other in zip(weighted.inputs, repeated.inputs, strict=True):
        if isinstance(one, NumberColumn):
            assert (one.mean, one.scale) == pytest.approx((other.mean, other.scale))


@pytest.mark.parametrize("kind", ["pandas", "polars", "array", "table"])
def test_every_kind_of_table_is_read_alike(kind):
    numbers = FRAME[["x", "n"]]
    made = {"pandas": numbers, "polars": polars.DataFrame({c: numbers[c].to_numpy() for c in numbers})}
    made |= {"array": numbers.to_numpy(), "table": Table.of(numbers)}
    X = made[kind]
    table = Table.of(X, names=["x", "n"])
    assert table.names == ("x", "n")
    np.testing.assert_array_equal(table.columns[0], FRAME["x"])
    kept = np.arange(40) < 5
    assert Table.of(rows_of(X, kept)).n_rows == 5
    split = split_table(X, FRAME["x"].to_numpy(), random_state=0)
    assert Table.of(split.X).n_rows == 27
    assert Table.of(split.X_test).n_rows == len(split.target_test.values) == 13


def test_columns_that_could_hold_gaps_and_do_not_are_plain_numbers():
    table = Table.of(
        pandas.DataFrame({"n": pandas.array([1, 2], "Int64"), "b": pandas.array([True, False], "boolean")})
    )
    assert [c.dtype.kind for c in table.columns] == ["i", "b"]


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (
            [*map(str, range(60)), "many", "few"],
            r"'c' must hold numbers, got 'many' in row 61 .* and in 1 more row: .*",
        ),
        ([f"{d}.12.2024" for d in range(1, 31)] + ["soon"], r"'c' must hold dates, got 'soon' in row 31 .*--na soon\)"),
        ([(1, 2), (3,)], r"'c' holds \(1, 2\) in row 1"),
        ([*map(str, range(60)), "many"], r"'c' must hold numbers, got 'many' in row 61 \(counted from 1\)"),
        ([1j, 2j], "'c' holds complex128 values; turn them into numbers first"),
    ],
)
def test_bad_cells_are_named_by_column_and_row(column, message):
    with pytest.raises(DataError, match=f"column {message}"):
        code_for(pandas.DataFrame({"c": column}))


def test_names_that_are_given_are_a_setting():
    with pytest.raises(ConfigError, match="need as many names"):
        Table.of(FRAME, names=["a"])
    with pytest.raises(ConfigError, match="'x' is both"):
        target_for([1.0, 2.0], ["x"], ["x"])
    with pytest.raises(DataError, match=r"column 2 \(counted from 1\) needs a name"):
        Table.of(pandas.DataFrame([[1, 2]], columns=["a", ""]))


@pytest.mark.parametrize(
    ("y", "labels"),
    [
        (np.array([5, 2, 5], np.int16), [2, 5]),
        (np.array(["b", "a", "b"]), ["a", "b"]),
        (np.array([True, False, True]), [False, True]),
        (np.array([np.int64(1), "a", 1], object), [1, "a"]),
    ],
)
def test_labels_are_plain_and_come_back_as_they_were(y, labels):
    target = target_for(y, ["x"], classification=True)
    assert list(target.classes) == labels
    assert [type(c) for c in target.classes] == [type(label) for label in labels]
    assert [labels[i] for i in target.values] == y.tolist()
    assert labels_as_array(target.classes).tolist() == labels


def test_labels_of_other_kinds_are_refused():
    for y in (
        np.array(["2020-01-01", "2021-01-01"], "M8[D]"),
        np.array([b"a", b"b"]),
        np.array([(1,), (2, 3)], object),
    ):
        with pytest.raises(DataError, match="texts, numbers or true and false"):
            target_for(y, ["x"], classification=True)


def test_rows_of_weight_zero_are_left_out_before_anything_is_looked_at():
    X = FRAME[["x"]].assign(x=FRAME["x"].where(FRAME.index != 3))
    weight = (FRAME.index != 3).astype(float)
    table = coded_table(X, FRAME["n"], sample_weight=weight, classification=False)
    assert len(table.X) == len(table.target.values) == len(table.sample_weight) == 39
    for bad in (np.zeros(40), np.ones(39), -weight, ["a"] * 40):
        with pytest.raises(DataError, match="sample_weight must hold"):
            coded_table(FRAME, FRAME["n"], sample_weight=bad)


def test_a_table_that_cannot_fit_is_refused_before_it_is_coded(monkeypatch):
    monkeypatch.setattr("compsparse.sizes.memory_limit", lambda: 10**6)
    texts = [f"t{i % 50}" for i in range(1000)]
    frame = pandas.DataFrame({"a": np.arange(1000.0), "b": texts, "c": ["x", "y"] * 500, "d": np.ones(1000)})
    with pytest.raises(ConfigError, match=r"1,000 rows of 53 encoded columns do not fit in memory.*part of the rows"):
        coded_table(frame, np.arange(1000.0))


def test_no_more_memory_is_taken_than_was_estimated():
    X = np.random.default_rng(0).uniform(size=(20_000, 40))
    y = X[:, 0].copy()
    tracemalloc.start()
    coded_table(X, y).without_copies()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < coding._COPIES * X.nbytes < 2 * peak

"""Splits that people need: given, by group, by time; copies of a row on one side."""

import numpy as np
import pandas
import pytest
from typer.testing import CliRunner

from compsparse.cli import app
from compsparse.cli.tables import split_file
from compsparse.errors import ConfigError, DataError
from compsparse.tables import given_split, split_table
from compsparse.tables.splitting import _joined

RNG = np.random.default_rng(0)
N = 120
FRAME = pandas.DataFrame(
    {
        "x": RNG.normal(size=N),
        "patient": [f"p{i}" for i in RNG.integers(0, 15, N)],
        "day": pandas.Timestamp("2024-01-01") + pandas.to_timedelta(RNG.permutation(N), "D"),
        "y": RNG.normal(size=N),
    }
)
X, Y = FRAME[["x", "patient", "day"]], FRAME["y"]


def sides(split):
    return split.X, split.X_test


def test_a_group_is_on_one_side():
    train, test = sides(split_table(X, Y, groups=FRAME["patient"], random_state=0))
    assert not set(train["patient"]) & set(test["patient"])
    assert len(train) + len(test) == N
    assert N / 5 < len(test) <= N / 3 + 15


@pytest.mark.parametrize("times", [FRAME["day"], FRAME["day"].dt.strftime("%d.%m.%Y"), FRAME["day"].astype("int64")])
def test_the_last_rows_are_for_the_test(times):
    train, test = sides(split_table(X, Y, times=times, random_state=0))
    assert train["day"].max() < test["day"].min()
    assert len(test) == N // 3


def test_copies_stay_together_beside_groups_and_times():
    twice = pandas.concat([FRAME, FRAME.assign(patient="copied")], ignore_index=True)
    inputs = twice[["x", "day"]]
    train, test = sides(split_table(inputs, twice["y"], groups=np.arange(2 * N), random_state=0))
    assert not set(train["x"]) & set(test["x"])
    one = _joined(np.array([0, 0, 1, 2, 3]), np.array([5, 6, 6, 7, 8]))
    assert len(set(one[:3])) == 1  # 0 and 1 are copies, 1 and 2 a group
    assert len(set(one)) == 3


def test_rows_without_a_target_leave_groups_and_times_as_they_are():
    gaps = Y.where(FRAME.index % 7 != 0)
    train, test = sides(split_table(X, gaps, times=FRAME["day"], random_state=0))
    assert train["day"].max() < test["day"].min()
    assert len(train) + len(test) == gaps.notna().sum()


def test_rows_to_test_on_can_be_given():
    split = given_split(X[:80], Y[:80], X[80:], Y[80:].where(FRAME.index[80:] != 90))
    assert (len(split.X), len(split.X_test)) == (80, 39)
    np.testing.assert_array_equal(split.target.values[:, 0], Y[:80])
    assert split.notes == ("1 row of the test without a target was left out",)
    labels = np.where(Y > 0, "up", "down")
    classes = given_split(X[:80], labels[:80], X[80:], labels[80:])
    assert classes.classes == ("down", "up")
    np.testing.assert_array_equal(classes.target_test.values, Y[80:] > 0)
    with pytest.raises(DataError, match=r"holds 'odd' in row 3 \(counted from 1\) of the test, which is no class"):
        given_split(X[:80], labels[:80], X[80:], np.where(np.arange(40) == 2, "odd", labels[80:]))


def test_a_class_must_stand_where_it_can_be_learned():
    labels = np.where(FRAME["day"] > "2024-04-15", "late", "early")
    with pytest.raises(DataError, match="class 'late' has rows in the test alone"):
        split_table(X, labels, times=FRAME["day"], random_state=0)
    with pytest.raises(DataError, match="the column of times must hold dates or numbers"):
        split_table(X, Y, times=FRAME["patient"], random_state=0)
    with pytest.raises(DataError, match="has a missing cell in row 4"):
        split_table(X, Y, times=FRAME["day"].where(FRAME.index != 3), random_state=0)


def test_the_command_line_splits_likewise(tmp_path):
    FRAME[:80].to_csv(tmp_path / "train.csv", index=False)
    FRAME[80:].to_csv(tmp_path / "test.csv", index=False)
    train = tmp_path / "train.csv"
    given = split_file(train, ["y"], None, None, 0, test=tmp_path / "test.csv")
    assert (len(given.X), len(given.X_test)) == (80, 40)
    grouped = split_file(train, ["y"], None, None, 0, group="patient")
    assert list(grouped.X.columns) == ["x", "day"]
    timed = split_file(train, ["y"], None, None, 0, time_split="day")
    assert timed.X["day"].max() < timed.X_test["day"].min()
    with pytest.raises(ConfigError, match="give one of them"):
        split_file(train, ["y"], None, None, 0, group="patient", time_split="day")
    for option in ("--group", "--time-split"):
        result = CliRunner().invoke(app, ["discover", str(train), "--target", "y", option, "nobody"])
        assert isinstance(result.exception, DataError)
        assert "no column 'nobody'" in str(result.exception)

import sys

import numpy as np
import pytest

from compsparse.errors import DataError, MissingDependencyError
from compsparse.tables import embedded_table, inputs_and_targets, read_table, split_table
from compsparse.tasks import borehole


def test_the_embedded_table_is_the_formula():
    X, y = inputs_and_targets(embedded_table("borehole"), ["flow"])
    assert X.shape == (1500, 8)
    clean = borehole().graph(X.to_numpy())
    assert np.std(y["flow"] - clean) / np.std(clean) == pytest.approx(0.01, rel=0.1)
    with pytest.raises(DataError, match="no embedded table"):
        embedded_table("nothing")


def test_tables_are_read_from_csv_and_parquet(tmp_path):
    frame = embedded_table("borehole").head(20)
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert read_table(tmp_path / "t.csv").shape == (20, 9)
    frame.to_parquet(tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet").shape == (20, 9)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("missing.csv", None, "there is no file"),
        ("t.ods", "x", "expected a .csv, .tsv, .txt, .xlsx or .parquet file"),
        ("t.csv", "", "cannot read"),
        ("t.csv", "a,b\n", "has no rows"),
        ("t.parquet", "junk", "cannot read"),
    ],
)
def test_unreadable_tables_are_refused(tmp_path, name, text, message):
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=message):
        read_table(tmp_path / name)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n", "no column 'y'; the columns are a, b"),
        ("y\n1\n", "no column beside the target"),
        ("a,y\n1,2\n,3\n", "every column is constant"),
        ("a,y\n1,\n2,\n", "target 'y' is missing in every row"),
        ("a,y\n1,2\n2,inf\n3,-inf\n", r"target 'y' has an infinite value \(inf\) in row 2 .* and in 1 more row:"),
    ],
)
def test_bad_columns_are_named(tmp_path, text, message):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(DataError, match=message):
        split_table(*inputs_and_targets(read_table(tmp_path / "t.csv"), ["y"]))


def test_two_columns_of_one_name_are_seen_in_the_file(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,a\n1,2,3\n")
    with pytest.raises(DataError, match="two columns named 'a'"):
        read_table(tmp_path / "t.csv")


def test_parquet_asks_for_pyarrow(tmp_path, monkeypatch):
    embedded_table("borehole").head(3).to_parquet(tmp_path / "t.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingDependencyError, match=r"Parquet files need pyarrow: pip install 'compsparse\[report\]'"):
        read_table(tmp_path / "t.parquet")

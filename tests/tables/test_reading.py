import numpy as np
import pytest

from compsparse.errors import DataError
from compsparse.tables.reading import embedded_table, read_table, split_target
from compsparse.tasks import borehole


def test_the_embedded_table_is_the_formula():
    frame = embedded_table("borehole")
    X, y = split_target(frame, "flow")
    assert X.shape == (1500, 8)
    clean = borehole().graph(X.to_numpy())
    assert np.std(y - clean) / np.std(clean) == pytest.approx(0.01, rel=0.1)
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
        ("t.xlsx", "x", "expected a .csv or .parquet"),
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
        ("a,b\n1,2\n", "no column 'y'"),
        ("y\n1\n", "no column beside the target"),
        ("a,y\nx,2\n", "column 'a' holds"),
        ("a,y\n1,2\n,3\n", "column 'a' has a missing or infinite value in row 2"),
    ],
)
def test_bad_columns_are_named(tmp_path, text, message):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(DataError, match=message):
        split_target(read_table(tmp_path / "t.csv"), "y")

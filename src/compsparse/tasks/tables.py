"""Tables of data from files, checked column by column, and the table that comes along."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from compsparse.errors import DataError, MissingDependencyError

if TYPE_CHECKING:
    import pandas

EMBEDDED = ("borehole",)


def read_table(path: str | Path) -> pandas.DataFrame:
    """Reads a CSV or Parquet file.

    Raises:
        DataError: the file is missing, empty, of another kind, or cannot be read.
    """
    pandas = _pandas()
    path = Path(path)
    if not path.is_file():
        raise DataError(f"there is no file {path}")
    readers = {".csv": pandas.read_csv, ".parquet": pandas.read_parquet}
    if path.suffix.lower() not in readers:
        raise DataError(f"cannot read {path.name}: expected a .csv or .parquet file")
    try:
        frame = readers[path.suffix.lower()](path)
    except (ValueError, OSError, pandas.errors.ParserError, pandas.errors.EmptyDataError) as error:
        raise DataError(f"cannot read {path.name}: {error}") from None
    except ImportError:
        raise MissingDependencyError("reading Parquet files needs pyarrow: pip install 'compsparse[report]'") from None
    if frame.empty:
        raise DataError(f"{path.name} has no rows")
    return frame


def embedded_table(name: str) -> pandas.DataFrame:
    """A table that comes with compsparse: ``borehole`` (1,500 runs of that formula, 1% noise)."""
    if name not in EMBEDDED:
        raise DataError(f"there is no embedded table {name!r}, only {list(EMBEDDED)}")
    with resources.as_file(resources.files("compsparse.tasks") / "data" / f"{name}.csv") as path:
        return read_table(path)


def split_target(frame: pandas.DataFrame, target: str) -> tuple[pandas.DataFrame, np.ndarray]:
    """Inputs and target of a table, all of them finite numbers.

    Raises:
        DataError: names the column and the row that cannot be used.
    """
    if target not in frame.columns:
        raise DataError(f"there is no column {target!r}; the columns are {', '.join(map(str, frame.columns))}")
    if len(frame.columns) < 2:
        raise DataError(f"the table has no column beside the target {target!r}")
    for name in frame.columns:
        column = frame[name]
        if column.dtype.kind not in "iufb":
            raise DataError(f"column {str(name)!r} holds {column.dtype} values; numbers are needed")
        bad = np.flatnonzero(~np.isfinite(column.to_numpy(dtype=float)))
        if len(bad):
            raise DataError(f"column {str(name)!r} has a missing or infinite value in row {bad[0] + 1}")
    return frame.drop(columns=[target]).astype(float), frame[target].to_numpy(dtype=float)


def _pandas():  # type: ignore[no-untyped-def]
    try:
        import pandas
    except ImportError:
        raise MissingDependencyError("tables need pandas: pip install 'compsparse[report]'") from None
    return pandas

"""Tables of data from files, checked column by column, and the table that comes along."""

from __future__ import annotations

from collections.abc import Sequence
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
        problem = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise DataError(f"cannot read {path.name}: {problem}") from None
    except ImportError:
        raise MissingDependencyError("reading Parquet files needs pyarrow: pip install 'compsparse[report]'") from None
    if frame.empty:
        raise DataError(f"{path.name} has no rows")
    return frame


def embedded_table(name: str) -> pandas.DataFrame:
    """A table that comes with compsparse: ``borehole`` (1,500 runs of that formula, 1% noise)."""
    if name not in EMBEDDED:
        raise DataError(f"there is no embedded table {name!r}, only {list(EMBEDDED)}")
    with resources.as_file(resources.files("compsparse.tables") / "data" / f"{name}.csv") as path:
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


def inputs_and_targets(
    frame: pandas.DataFrame, targets: Sequence[str], exclude: Sequence[str] = ()
) -> tuple[pandas.DataFrame, pandas.DataFrame]:
    """Inputs and targets of a table that may hold texts; no value is missing or infinite.

    Raises:
        DataError: names the column that is not there, or the row that cannot be used.
    """
    frame = frame.rename(columns=str)
    for name in (*targets, *exclude):
        if name not in frame.columns:
            raise DataError(f"there is no column {name!r}; the columns are {', '.join(frame.columns)}")
    both = [name for name in targets if name in exclude]
    if both:
        raise DataError(f"the target {both[0]!r} cannot be left out as well")
    X, y = frame.drop(columns=[*targets, *exclude]), frame[list(dict.fromkeys(targets))]
    if X.shape[1] == 0:
        raise DataError(f"the table has no column beside the target {targets[0]!r} to learn from")
    for name in [*y.columns, *X.columns]:
        _check_values(frame[name], name)
    return _plain_numbers(X), _plain_numbers(y)


def _plain_numbers(frame: pandas.DataFrame) -> pandas.DataFrame:
    """Columns that could hold gaps, and do not, as ordinary numbers."""
    kinds = {name: getattr(column.dtype, "numpy_dtype", None) for name, column in frame.items()}
    return frame.astype({name: kind for name, kind in kinds.items() if kind is not None and kind.kind in "iufb"})


def _check_values(column: pandas.Series, name: str) -> None:
    missing = column.isna().to_numpy(dtype=bool)
    infinite = column.isin([np.inf, -np.inf]).to_numpy(dtype=bool)
    rows = np.flatnonzero(missing | infinite)
    if len(rows):
        others = f" and {len(rows) - 1:,} more" if len(rows) > 1 else ""
        raise DataError(
            f"column {name!r} has a missing or infinite value in row {rows[0] + 1}{others}: "
            "fill in the values, or leave out these rows or the column"
        )


def held_out_rows(labels: np.ndarray | None, n_rows: int, share: float, seed: int) -> np.ndarray:
    """Which rows to hold out for the test; of every label the same share, and never its last row."""
    chosen = np.zeros(n_rows, dtype=bool)
    generator = np.random.default_rng(seed)
    groups = [np.arange(n_rows)] if labels is None else [np.flatnonzero(labels == value) for value in np.unique(labels)]
    for rows in groups:
        chosen[generator.permutation(rows)[: int(share * len(rows))]] = True
    return chosen


def _pandas():  # type: ignore[no-untyped-def]
    try:
        import pandas
    except ImportError:
        raise MissingDependencyError("tables need pandas: pip install 'compsparse[report]'") from None
    return pandas

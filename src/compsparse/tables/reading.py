"""Tables from files, the table that comes along, and which of their columns are inputs and targets."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compsparse.errors import DataError
from compsparse.optional import needs
from compsparse.tables.columns import no_such_columns

if TYPE_CHECKING:
    import pandas

EMBEDDED = ("borehole",)
"""Names of the tables that come with compsparse."""


def read_table(path: str | Path) -> pandas.DataFrame:
    """Reads a CSV or Parquet file.

    Raises:
        DataError: the file is missing, empty, of another kind, or cannot be read.
        MissingDependencyError: pandas, or pyarrow for Parquet, is not installed.
    """
    library: Any = needs("pandas", "tables", "report")
    path = Path(path)
    if not path.is_file():
        raise DataError(f"there is no file {path}")
    suffix = path.suffix.lower()
    if suffix not in (".csv", ".parquet"):
        raise DataError(f"cannot read {path.name}: expected a .csv or .parquet file")
    if suffix == ".parquet":
        needs("pyarrow", "Parquet files", "report")
    try:
        if suffix == ".csv":
            _check_header(library.read_csv(path, header=None, nrows=1, dtype=str))
        frame: pandas.DataFrame = library.read_csv(path) if suffix == ".csv" else library.read_parquet(path)
    except DataError:
        raise
    except (ValueError, OSError, library.errors.ParserError, library.errors.EmptyDataError) as error:
        problem = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise DataError(f"cannot read {path.name}: {problem}") from None
    if frame.empty:
        raise DataError(f"{path.name} has no rows")
    return frame.rename(columns=str)


def embedded_table(name: str) -> pandas.DataFrame:
    """A table that comes with compsparse: ``borehole`` (1,500 runs of that formula, 1% noise)."""
    if name not in EMBEDDED:
        raise DataError(f"there is no embedded table {name!r}, only {list(EMBEDDED)}")
    with resources.as_file(resources.files("compsparse.tables") / "data" / f"{name}.csv") as path:
        return read_table(path)


def inputs_and_targets(
    frame: pandas.DataFrame, targets: Sequence[str], exclude: Sequence[str] = ()
) -> tuple[pandas.DataFrame, pandas.DataFrame]:
    """The columns to learn from and those to predict; ``exclude`` leaves some out.

    Raises:
        DataError: names the column that is not there.
    """
    frame = frame.rename(columns=str)
    missing = [name for name in dict.fromkeys((*targets, *exclude)) if name not in frame.columns]
    if missing:
        raise DataError(no_such_columns(missing, list(frame.columns)))
    both = [name for name in targets if name in exclude]
    if both:
        raise DataError(f"the target {both[0]!r} cannot be left out as well")
    X, y = frame.drop(columns=[*targets, *exclude]), frame[list(dict.fromkeys(targets))]
    if X.shape[1] == 0:
        raise DataError(f"the table has no column beside the target {targets[0]!r} to learn from")
    return X, y


def _check_header(first: pandas.DataFrame) -> None:
    """Pandas would number columns of one name without a word."""
    names = first.iloc[0].dropna().tolist()
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        raise DataError(f"the table has two columns named {twice!r}")

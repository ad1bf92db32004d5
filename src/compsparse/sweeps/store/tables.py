"""Results as a file: one column a field of the specs and of the results."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from compsparse.errors import ConfigError, DataError
from compsparse.files import whole_file
from compsparse.sweeps.records import Row, row_frame
from compsparse.text import printable

if TYPE_CHECKING:
    import pandas


def write_table(rows: Iterable[Row], path: Path) -> int:
    """Writes a .parquet or .csv file, whole or not at all; returns the number of rows."""
    if path.suffix not in (".parquet", ".csv"):
        raise ConfigError(f"expected a .parquet or .csv file, got {printable(path)}")
    table = row_frame(rows)
    if table.empty:
        raise DataError("there are no results to export")
    with whole_file(path) as temporary:
        if path.suffix == ".csv":
            table.to_csv(temporary, index=False)
        else:
            _one_type_a_column(table).to_parquet(temporary, index=False)
    return len(table)


def _one_type_a_column(table: pandas.DataFrame) -> pandas.DataFrame:
    """Two kinds may give one name to a number and to a text; Parquet wants one type."""
    mixed = [
        name for name in table.columns if len({str if isinstance(v, str) else float for v in table[name].dropna()}) > 1
    ]
    return table.assign(**{name: table[name].map(str, na_action="ignore") for name in mixed})

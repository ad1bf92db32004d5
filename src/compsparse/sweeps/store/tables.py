"""Results as a table: one column a field of the specs and of the results."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compsparse.errors import ConfigError, DataError
from compsparse.sweeps.rows import Row

if TYPE_CHECKING:
    import pandas

_ABOUT = ("key", "kind", "version", "status", "seconds", "started", "finished", "host", "code", "traceback")


def frame(rows: Iterable[Row]) -> pandas.DataFrame:
    """Spec columns, then result columns, then the rest; a name taken twice gets ``result.`` or ``run.`` before it.

    Nested results are flattened with dots; lists become JSON texts.
    """
    import pandas

    rows = list(rows)
    specs = [_flat(row.spec) for row in rows]
    results = [_flat(row.result or {}) for row in rows]
    spec_names = {name for spec in specs for name in spec}
    result_names = {name for result in results for name in result}
    records = [
        {
            **spec,
            **{f"result.{k}" if k in spec_names else k: v for k, v in result.items()},
            **{f"run.{k}" if k in spec_names | result_names else k: getattr(row, k) for k in _ABOUT},
        }
        for row, spec, result in zip(rows, specs, results, strict=True)
    ]
    return pandas.DataFrame.from_records(records)


def _flat(data: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in data.items():
        if isinstance(value, Mapping):
            found |= _flat(value, f"{prefix}{name}.")
        else:
            found[f"{prefix}{name}"] = json.dumps(value) if isinstance(value, (list, tuple)) else value
    return found


def export(rows: Iterable[Row], path: Path) -> int:
    """Writes a .parquet or .csv file, whole or not at all; returns the number of rows."""
    from compsparse.files import whole_file

    if path.suffix not in (".parquet", ".csv"):
        raise ConfigError(f"expected a .parquet or .csv file, got {path}")
    table = frame(rows)
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

"""Tables from files, the table that comes along, and which of their columns are inputs and targets."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Collection, Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compsparse.checks import check_choice, check_text
from compsparse.errors import CompsparseError, DataError
from compsparse.optional import needs
from compsparse.tables.columns import no_such_columns
from compsparse.tables.formats import TextFormat, format_of, is_packed
from compsparse.tables.notation import notation_of
from compsparse.tables.problems import Problems
from compsparse.tables.values import is_missing

if TYPE_CHECKING:
    import pandas

EMBEDDED = ("borehole",)
"""Names of the tables that come with compsparse."""
_TEXTS, _SHEETS, _PARQUETS = (".csv", ".tsv", ".txt"), (".xlsx", ".xlsm"), (".parquet", ".pq")
_ROWS_TO_LOOK_AT = 1000
_CODE = re.compile(r"0\d+")


def read_table(
    path: str | Path,
    *,
    sep: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    texts: Collection[str] = (),
) -> pandas.DataFrame:
    """Reads a text file (.csv, .tsv, .txt, gzip too), an Excel sheet or a Parquet file as it is.

    Empty cells are missing; what else means missing is decided column by column when the table is coded, since "NA"
    may be a country. Numbers with percent signs, currencies or units are texts here, and numbers to a model.

    Args:
        sep, decimal, encoding: of a text file; found out by default.
        texts: columns to read as texts, whatever they look like.

    Raises:
        DataError: the file is missing, empty, of another kind, or cannot be read.
        MissingDependencyError: pandas, or what reads Parquet and Excel files, is not installed.
    """
    path = Path(path)
    if not path.is_file():
        raise DataError(f"there is no file {path}")
    kind = _kind_of(path)
    library: Any = needs("pandas", "tables", "report")
    try:
        if kind in _PARQUETS:
            needs("pyarrow", "Parquet files", "report")
            frame: pandas.DataFrame = library.read_parquet(path)
        elif kind in _SHEETS:
            needs("openpyxl", "Excel files", "excel")
            frame = _sheet(library, path, decimal)
        else:
            frame = _text_file(library, path, _wanted(kind, sep, decimal, encoding), texts)
    except CompsparseError:
        raise
    except Exception as error:  # readers of foreign formats raise whatever they like
        problem = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise DataError(f"cannot read {path.name}: {problem}") from None
    if frame.empty:
        raise DataError(f"{path.name} has no rows")
    return frame.rename(columns=str)


def text_format(path: str | Path, **wanted: str | None) -> TextFormat | None:
    """How :func:`read_table` reads a text file; None for other files."""
    path = Path(path)
    kind = _kind_of(path)
    return format_of(path, _wanted(kind, **wanted)) if kind in _TEXTS else None


def _kind_of(path: Path) -> str:
    name = path.name.lower().removesuffix(".gz")
    kind = next((suffix for suffix in (*_TEXTS, *_SHEETS, *_PARQUETS) if name.endswith(suffix)), None)
    if kind is None:
        raise DataError(f"cannot read {path.name}: expected a .csv, .tsv, .txt, .xlsx or .parquet file")
    return kind


def _wanted(kind: str, sep: str | None = None, decimal: str | None = None, encoding: str | None = None) -> TextFormat:
    if sep is not None:
        sep = {"\\t": "\t", "tab": "\t", "space": " "}.get(check_text("sep", sep), sep)
        check_text("sep", sep)
        if len(sep) != 1:
            raise DataError(f"sep must be one character, tab or space, got {sep!r}")
    if decimal is not None:
        check_choice("decimal", decimal, (".", ","))
    if encoding is not None:
        check_text("encoding", encoding)
    return TextFormat("\t" if sep is None and kind == ".tsv" else sep, decimal, encoding)


# ---- text files ---------------------------------------------------------------------------------


def _text_file(library: Any, path: Path, wanted: TextFormat, texts: Collection[str]) -> pandas.DataFrame:
    form = format_of(path, wanted)
    options: dict[str, Any] = {
        "sep": form.sep,
        "encoding": form.encoding,
        "keep_default_na": False,
        "na_values": [""],
        "skipinitialspace": True,
        "compression": "gzip" if is_packed(path) else None,
        "index_col": False,
    }
    with warnings.catch_warnings():
        # cells beyond the header would be lost
        warnings.simplefilter("error", library.errors.ParserWarning)
        header = library.read_csv(path, header=None, nrows=1, dtype=str, **options)
        names = _names(header.iloc[0].tolist())
        options |= {"header": 0, "names": names}
        first = library.read_csv(path, nrows=_ROWS_TO_LOOK_AT, dtype=str, **options)
        as_texts = {name: str for name in names if name in texts or first[name].str.fullmatch(_CODE).any()}
        frame = library.read_csv(path, dtype=as_texts, decimal=form.decimal, low_memory=False, **options)
    return frame if form.decimal != "," else _pointed(frame, as_texts)


def _names(cells: Sequence[Any]) -> list[str]:
    """The names in the first row; a column without one is "Unnamed: " and its place, as pandas has it."""
    names = [str(cell) if isinstance(cell, str) else f"Unnamed: {i}" for i, cell in enumerate(cells)]
    problems = Problems()
    for name in dict.fromkeys(name for i, name in enumerate(names) if name in names[:i]):
        with problems.noted():
            raise DataError(f"the table has two columns named {name!r}")
    problems.told()
    return names


def _pointed(frame: pandas.DataFrame, but: Collection[str]) -> pandas.DataFrame:
    """Numbers in texts, such as "1.234,5 €", with a decimal point, as every other file has them."""
    for name in frame.columns:
        cells = frame[name]
        if name in but or cells.dtype.kind in "iufb":
            continue
        notation = notation_of(Counter(cells.dropna()), ",")
        if notation is not None and notation.decimal == ",":
            frame[name] = cells.map(_with_point, na_action="ignore")
    return frame


def _with_point(text: str) -> str:
    return text.replace(".", "").replace(",", ".")


# ---- sheets -------------------------------------------------------------------------------------


def _sheet(library: Any, path: Path, decimal: str | None) -> pandas.DataFrame:
    """The first sheet of a workbook; texts in it follow the same decimal sign."""
    cells = library.read_excel(path, header=None, keep_default_na=False, na_values=[""], dtype=object)
    cells = cells.dropna(how="all").dropna(how="all", axis=1)
    if not len(cells):
        raise DataError(f"cannot read {path.name}: the file is empty")
    names = _names([None if is_missing(cell) else str(cell) for cell in cells.iloc[0]])
    frame = cells.iloc[1:].set_axis(names, axis=1).reset_index(drop=True).infer_objects()
    return _pointed(frame, ()) if decimal == "," else frame


# ---- which columns ------------------------------------------------------------------------------


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
        DataError: names the columns that are not there.
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

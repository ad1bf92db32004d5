"""Figures are data: each gives its table and its chart, and can travel as JSON."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from compsparse.checks import check_choice, check_flag
from compsparse.errors import ConfigError, DataError
from compsparse.files import check_writable, whole_file
from compsparse.optional import needs
from compsparse.text import in_a_line

if TYPE_CHECKING:
    import altair
    import pandas

Mark = Literal["line", "points", "bars", "dots", "heat"]
_SUFFIXES = (".png", ".svg", ".pdf", ".html", ".json")


@in_a_line
@dataclass(frozen=True)
class Figure:
    """A chart of rows, each a mapping from column names to values.

    Attributes:
        x, y: columns across and up; ``series`` the column that tells colours apart.
        mark: ``dots`` lists the values of x one below the other and draws y across, so that long names can be read;
            ``heat`` colours the cells of a grid of numbers x and y.
        low, high: columns of the spread around y, drawn as a band or as error bars.
        log_x, log_y: logarithmic axes.
        diagonal: draw the line y = x (predicted against observed).
        x_title, y_title: axis titles; by default the columns' names.
        value: the column that colours the cells of ``heat``.
        curve: a column that depends on x alone, drawn over the cells of ``heat`` as a line.
    """

    title: str
    rows: tuple[dict[str, Any], ...]
    x: str
    y: str
    mark: Mark = "line"
    series: str | None = None
    low: str | None = None
    high: str | None = None
    log_x: bool = False
    log_y: bool = False
    diagonal: bool = False
    x_title: str | None = None
    y_title: str | None = None
    value: str | None = None
    curve: str | None = None

    def __post_init__(self) -> None:
        _check_texts(self)
        object.__setattr__(self, "rows", tuple(dict(row) for row in self.rows))
        columns = (self.x, self.y, self.series, self.low, self.high, self.value, self.curve)
        used = [c for c in columns if c is not None]
        for column in used:
            if not all(column in row for row in self.rows):
                raise ConfigError(f"figure {self.title!r} lacks the column {column!r} in some row")
        if (self.mark == "heat") != (self.value is not None):
            raise ConfigError(
                f"figure {self.title!r}: mark 'heat' needs the column of its colours as value, no other does"
            )

    def frame(self) -> pandas.DataFrame:
        """The figure's table."""
        frame: pandas.DataFrame = needs("pandas", "tables", "report").DataFrame(list(self.rows))
        return frame

    def chart(self) -> altair.LayerChart:
        """The figure as a Vega-Altair chart."""
        from compsparse.report.charts import chart_of

        chart: altair.LayerChart = chart_of(self)
        return chart

    def save(self, path: str | Path) -> Path:
        """Writes the chart by the path's suffix: png, svg, pdf, html (works offline) or json."""
        path = check_writable(path)
        if path.suffix not in _SUFFIXES:
            raise ConfigError(f"cannot write a chart to {path.name!r}: the suffix must be one of {_SUFFIXES}")
        if path.suffix == ".html":
            from compsparse.report.page import Section, write_page

            return write_page(path, self.title, "", [Section("", figures=(replace(self, title=""),))])
        chart: Any = self.chart()
        options = {"scale_factor": 2} if path.suffix == ".png" else {}
        with whole_file(path) as temporary:
            chart.save(str(temporary), format=path.suffix[1:], **options)
        return path

    def _repr_svg_(self) -> str:
        drawing = io.StringIO()
        self.chart().save(drawing, format="svg")
        return drawing.getvalue()

    def to_dict(self) -> dict[str, Any]:
        """The figure as JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Figure:
        """Reads what :meth:`to_dict` made.

        Raises:
            DataError: something is missing, or does not belong there.
        """
        if not isinstance(data, Mapping):
            raise DataError("a figure must be a JSON object")
        known = [f.name for f in fields(cls)]
        for name in ("title", "rows", "x", "y"):
            if name not in data:
                raise DataError(f"a figure has no {name}")
        for name in data:
            if name not in known:
                raise DataError(f"a figure has no place for {name!r}")
        try:
            return cls(**data)
        except ConfigError as error:
            raise DataError(str(error)) from None


def _check_texts(figure: Figure) -> None:
    for name in ("title", "x", "y"):
        if not isinstance(getattr(figure, name), str):
            raise ConfigError(f"the {name} of a figure must be a text, got {getattr(figure, name)!r}")
    for name in ("series", "low", "high", "x_title", "y_title", "value", "curve"):
        if not isinstance(getattr(figure, name), str | None):
            raise ConfigError(f"the {name} of a figure must be a text or None, got {getattr(figure, name)!r}")
    for name in ("log_x", "log_y", "diagonal"):
        check_flag(f"the {name} of a figure", getattr(figure, name))
    check_choice("the mark of a figure", figure.mark, get_args(Mark))
    rows: Any = figure.rows
    if isinstance(rows, str) or not isinstance(rows, Sequence) or not all(isinstance(row, Mapping) for row in rows):
        raise ConfigError(f"the rows of a figure must be mappings from columns to values, got {rows!r}")

"""Figures are data: each gives its table and its chart, and can travel as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from compsparse.errors import ConfigError
from compsparse.optional import needs

if TYPE_CHECKING:
    import altair
    import pandas

Mark = Literal["line", "points", "bars", "dots", "heat"]
_SUFFIXES = (".png", ".svg", ".pdf", ".html", ".json")


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
        path = Path(path)
        if path.suffix not in _SUFFIXES:
            raise ConfigError(f"cannot write a chart to {path.name!r}: the suffix must be one of {_SUFFIXES}")
        chart = self.chart()
        options: dict[str, Any] = {"inline": True} if path.suffix == ".html" else {}
        if path.suffix == ".png":
            options["scale_factor"] = 2
        chart.save(str(path), **options)
        return path

    def to_dict(self) -> dict[str, Any]:
        """The figure as JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Figure:
        """Reads what :meth:`to_dict` made."""
        return cls(**{**data, "rows": tuple(data["rows"])})

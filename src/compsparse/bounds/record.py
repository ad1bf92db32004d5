"""What a bound says, of what it is made, what it takes for granted and how sure it is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from compsparse.certificate import Certificate, Rigour
from compsparse.optional import needs

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Bound:
    """One bound of one model on one set of data.

    Attributes:
        name: as tables call it.
        says: what it bounds by what, in a sentence.
        complexity: the Rademacher complexity of the class is at most this; NaN where the bound is of another kind.
        gap: with the stated confidence the expected loss exceeds the training loss by at most this; NaN where the
            bound says nothing of losses.
        expected_loss: an upper bound of it; NaN without a target.
        terms: the numbers that it is made of.
        rigour: how sure it is.
        assumes: what it takes for granted.
    """

    name: str
    says: str
    complexity: float
    gap: float
    rigour: Rigour
    terms: Mapping[str, float] = field(default_factory=dict)
    assumes: tuple[str, ...] = ()
    expected_loss: float = math.nan

    @property
    def certificate(self) -> Certificate:
        """The complexity, or else the gap, with its bounds."""
        is_complexity = not math.isnan(self.complexity)
        value = self.complexity if is_complexity else self.gap
        quantity = "Rademacher complexity" if is_complexity else "expected loss minus training loss"
        lower = 0.0 if is_complexity else -math.inf
        return Certificate(quantity, value, lower, value, self.rigour, self.assumes, self.says)

    def to_dict(self) -> dict[str, Any]:
        """The bound as JSON values; what was not computed is None."""
        numbers = {name: _plain(getattr(self, name)) for name in ("complexity", "gap", "expected_loss")}
        words = {"rigour": self.rigour.value, "assumes": list(self.assumes), "says": self.says}
        return {"name": self.name, **numbers, "terms": {k: _plain(v) for k, v in self.terms.items()}, **words}


def _plain(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


@dataclass(frozen=True)
class BoundTable:
    """All bounds of one model on one set of data, on one data term.

    Attributes:
        bounds: in the order of the table.
        n_rows, n_parameters: of the data and of the model.
        confidence: of the statements on losses.
        margin: of the loss.
        training_loss: mean bounded loss on the data; NaN without a target.
        training_error: share of wrong classes; NaN for numbers or without a target.
        notes: what holds for all of them.
    """

    bounds: tuple[Bound, ...]
    n_rows: int
    n_parameters: int
    confidence: float
    margin: float
    training_loss: float = math.nan
    training_error: float = math.nan
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Bound:
        """The bound of a name."""
        for bound in self.bounds:
            if bound.name == name:
                return bound
        raise KeyError(name)

    def rows(self) -> list[dict[str, Any]]:
        """One mapping a bound, as the table shows it."""
        return [
            {
                "bound": b.name,
                "complexity": b.complexity,
                "gap": b.gap,
                "expected loss": b.expected_loss,
                "status": b.rigour.value,
            }
            for b in self.bounds
        ]

    def frame(self) -> pandas.DataFrame:
        """The table as a data frame, terms and assumptions included."""
        rows = [
            {**row, "says": b.says, "terms": dict(b.terms), "assumes": "; ".join(b.assumes)}
            for row, b in zip(self.rows(), self.bounds, strict=True)
        ]
        frame: pandas.DataFrame = needs("pandas", "tables", "report").DataFrame(rows)
        return frame

    def to_dict(self) -> dict[str, Any]:
        """The table as JSON values."""
        numbers = ("n_rows", "n_parameters", "confidence", "margin", "training_loss", "training_error")
        plain = {name: _plain(getattr(self, name)) for name in numbers}
        return {**plain, "bounds": [b.to_dict() for b in self.bounds], "notes": list(self.notes)}

    def __str__(self) -> str:
        columns = ["bound", "complexity", "gap", "expected loss", "status"]
        cells = [columns, *([_cell(row[c]) for c in columns] for row in self.rows())]
        widths = [max(len(row[i]) for row in cells) for i in range(len(columns))]
        lines = [
            "  ".join(
                v.ljust(w) if i in (0, 4) else v.rjust(w) for i, (v, w) in enumerate(zip(row, widths, strict=True))
            )
            for row in cells
        ]
        head = f"{self.n_rows:,} rows, {self.n_parameters:,} parameters"
        if not math.isnan(self.training_loss):
            head += f", training loss {self.training_loss:.3g} at margin {self.margin:g}"
        return "\n".join([head, lines[0].rstrip(), *(line.rstrip() for line in lines[1:]), *self.notes])


def _cell(value: object) -> str:
    if not isinstance(value, float):
        return str(value)
    return "" if math.isnan(value) else f"{value:.3g}"

"""What a bound says, of what it is made, what it takes for granted and how sure it is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from compsparse.certificate import Certificate, Rigour
from compsparse.digest import equal_by_content
from compsparse.optional import needs
from compsparse.text import in_a_line, notebook_html

if TYPE_CHECKING:
    import pandas


COLUMNS = ("bound", "complexity", "gap", "expected loss", "status")
"""Of the table of bounds."""
CERTAIN = 0.999
"""An expected loss above this promises nothing: no loss is above 1."""


@in_a_line
@equal_by_content
@dataclass(frozen=True)
class Bound:
    """One bound of one model on one set of data.

    Attributes:
        name: as tables call it.
        says: what it bounds by what, in a sentence.
        complexity: the Rademacher complexity of the networks of this graph and these norms is at most this; NaN where
            the bound is of another kind.
        gap: with the stated confidence the expected loss exceeds the training loss by at most this; NaN where the
            bound says nothing of losses.
        expected_loss: an upper bound of it; NaN without a target.
        terms: the numbers that it is made of.
        rigour: how sure the complexity and the expected loss are.
        gap_rigour: how sure the gap is, where that differs.
        of: whose loss it is, where that is not the model's own.
        assumes: what it takes for granted; what begins with "losses:" concerns the gap and the expected loss alone.
    """

    name: str
    says: str
    complexity: float
    gap: float
    rigour: Rigour
    terms: Mapping[str, float] = field(default_factory=dict)
    assumes: tuple[str, ...] = ()
    expected_loss: float = math.nan
    gap_rigour: Rigour | None = None
    of: str = ""

    @property
    def rigours(self) -> dict[str, Rigour]:
        """How sure each of its numbers is, those left out that were not computed."""
        found = {"complexity": self.rigour, "gap": self.gap_rigour or self.rigour, "expected loss": self.rigour}
        values = (self.complexity, self.gap, self.expected_loss)
        return {name: found[name] for name, value in zip(found, values, strict=True) if not math.isnan(value)}

    @property
    def status(self) -> str:
        """The same in words, and of whom losses speak if not of the model."""
        of = f", of {self.of}" if self.of else ""
        if len(set(self.rigours.values())) < 2:
            return self.rigour.value + of
        return "; ".join(f"{name} {rigour.value}" for name, rigour in self.rigours.items()) + of

    @property
    def certificate(self) -> Certificate:
        """The complexity, or else the expected loss, with its bounds."""
        is_complexity = not math.isnan(self.complexity)
        value = self.complexity if is_complexity else self.expected_loss
        quantity = "Rademacher complexity" if is_complexity else f"expected loss{f' of {self.of}' if self.of else ''}"
        return Certificate(quantity, value, 0.0, value, self.rigour, self.assumes, self.says)

    def to_dict(self) -> dict[str, Any]:
        """The bound as JSON values; what was not computed is None."""
        numbers = {name: _plain(getattr(self, name)) for name in ("complexity", "gap", "expected_loss")}
        words = {"rigour": self.rigour.value, "assumes": list(self.assumes), "says": self.says, "of": self.of}
        rigours = {name: rigour.value for name, rigour in self.rigours.items()}
        terms = {name: _plain(value) for name, value in self.terms.items()}
        return {"name": self.name, **numbers, "terms": terms, "rigours": rigours, **words}


def _plain(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


@in_a_line
@equal_by_content
@dataclass(frozen=True)
class BoundTable:
    """All bounds of one model on one set of data, on one data term.

    Attributes:
        bounds: in the order of the table.
        n_rows, n_parameters: of the data and of the model.
        confidence: of all statements on losses at once.
        margin: of the loss.
        training_loss: mean bounded loss on the data; NaN without a target.
        training_error: share of wrong classes; NaN for numbers or without a target.
        notes: what losses take for granted of the model, or pay for.
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
        cells = ((b.name, b.complexity, b.gap, b.expected_loss, b.status) for b in self.bounds)
        return [dict(zip(COLUMNS, row, strict=True)) for row in cells]

    def vacuous(self, bound: Bound) -> tuple[str, ...]:
        """Which of its numbers say no more than what is known without it.

        A loss is at most 1, and no complexity is above the range bound, which knows of nothing but the size of outputs.
        """
        most = next((b.complexity for b in self.bounds if b.name == "range"), math.inf)
        promises_nothing = bound.expected_loss > CERTAIN
        is_vacuous = {
            "complexity": bound.complexity >= most,
            "gap": promises_nothing,
            "expected loss": promises_nothing,
        }
        return tuple(name for name in bound.rigours if is_vacuous[name])

    def cells(self) -> list[list[str]]:
        """The rows as texts, with a word where a number is vacuous."""
        shown = []
        for bound, row in zip(self.bounds, self.rows(), strict=True):
            vacuous = self.vacuous(bound)
            shown.append([_cell(value) + " (vacuous)" * (name in vacuous) for name, value in row.items()])
        return shown

    def frame(self) -> pandas.DataFrame:
        """The table as a data frame, terms and assumptions included."""
        rows = self.rows()
        for row, b in zip(rows, self.bounds, strict=True):
            row |= {"vacuous": ", ".join(self.vacuous(b)), "says": b.says}
            row |= {"terms": dict(b.terms), "assumes": "; ".join(b.assumes)}
        frame: pandas.DataFrame = needs("pandas", "tables", "report").DataFrame(rows)
        return frame

    def to_dict(self) -> dict[str, Any]:
        """The table as JSON values."""
        numbers = ("n_rows", "n_parameters", "confidence", "margin", "training_loss", "training_error")
        plain = {name: _plain(getattr(self, name)) for name in numbers}
        bounds = [{**b.to_dict(), "vacuous": list(self.vacuous(b))} for b in self.bounds]
        return {**plain, "bounds": bounds, "notes": list(self.notes)}

    def __str__(self) -> str:
        cells = [[*COLUMNS], *self.cells()]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        pad = (str.ljust, str.rjust, str.rjust, str.rjust, str.ljust)
        lines = ["  ".join(to(v, w) for to, v, w in zip(pad, row, widths, strict=True)) for row in cells]
        head = f"{self.n_rows:,} rows, {self.n_parameters:,} parameters"
        if not math.isnan(self.training_loss):
            head += f", training loss {self.training_loss:.3g} at margin {self.margin:g}"
        return "\n".join([head, *(line.rstrip() for line in lines), *self.notes])

    def _repr_html_(self) -> str:
        return notebook_html(self, "bounds_html")


def _cell(value: object) -> str:
    if not isinstance(value, float):
        return str(value)
    return "" if math.isnan(value) else f"{value:.3g}"

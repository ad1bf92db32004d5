"""What was done to the columns of a table, as a part of a page."""

from __future__ import annotations

from collections.abc import Sequence

from compsparse.report.page import Section, table
from compsparse.tables.looking import Treatment


def treatments_sections(treatments: Sequence[Treatment]) -> list[Section]:
    """A small table, a row for each column; nothing where all columns are numbers that were taken as they are."""
    if not any(treatment.is_worth_telling for treatment in treatments):
        return []
    rows = [(t.column, t.sentence, ", ".join(t.inputs)) for t in treatments]
    return [Section("What was done to the columns", table(["column", "what was done", "inputs of the model"], rows))]

"""What a sweep returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from compsparse.sweeps.adaptive import Crossing
from compsparse.sweeps.rows import Row

if TYPE_CHECKING:
    import pandas


class SweepStatus(Enum):
    """How a sweep ended; the value is what the user reads."""

    FINISHED = "finished"
    INTERRUPTED = "interrupted: what is done is kept, run the same command to go on"
    ELSEWHERE = "the rest is being run elsewhere"


@dataclass(frozen=True)
class SweepRecord:
    """The results of a sweep and how it went.

    Attributes:
        rows: every result of the sweep that there is, by key, in the sweep's order.
        total: runs the sweep asked for.
        existing: results that were there before.
        done, failed: results of this call.
        crossings: (settings of the group, where its curve crosses the threshold), if the sweep is adaptive.
    """

    name: str
    status: SweepStatus
    total: int
    existing: int
    done: int
    failed: int
    seconds: float
    rows: Mapping[str, Row]
    crossings: tuple[tuple[dict[str, Any], Crossing], ...] = ()

    def frame(self) -> pandas.DataFrame:
        """One line a run: fields of the spec, of the result, and how it was run."""
        from compsparse.sweeps.store.tables import frame

        return frame(self.rows.values())

    def crossing_frame(self) -> pandas.DataFrame:
        """One line a group of an adaptive sweep: its settings, and where its curve crosses."""
        import pandas

        return pandas.DataFrame([{**group, **vars(crossing)} for group, crossing in self.crossings])

    @property
    def failures(self) -> list[Row]:
        return [row for row in self.rows.values() if row.status == "failed"]

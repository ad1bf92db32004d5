"""Where a graph or a mask comes from, as far as is known: bounds pay for what may have been chosen on the data."""

from __future__ import annotations

from enum import Enum


class Origin(Enum):
    """The value is the word in files and tables. What nobody vouches for is not known."""

    GIVEN = "fixed before the data were seen"
    DISCOVERED = "discovered on the data"
    PRUNED = "pruned on the data"
    FITTED = "fitted to the data"
    UNKNOWN = "of unknown origin"

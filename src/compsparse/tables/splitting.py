"""A table split into rows to learn from and rows to test on."""

from __future__ import annotations

from typing import Any

from compsparse.errors import ConfigError, DataError
from compsparse.tables.coding import code_for
from compsparse.tables.reading import held_out_rows
from compsparse.tables.targets import target_for

_TEST_SHARE = 1 / 3
_FEWEST_ROWS = 10


class SplitTable:
    """Inputs and targets, checked as a whole and then split.

    Attributes:
        X, y: tables of the rows to learn from; ``X_test``, ``y_test`` of those to test on.
        values, values_test: targets as (rows, outputs) numbers, or as class numbers.
        classes: the labels, or None for numbers.
    """

    def __init__(self, X: Any, y: Any, classify: bool | None = None, seed: int = 0):
        if seed < 0:
            raise ConfigError(f"the seed must not be negative, got {seed}")
        y = y.iloc[:, 0] if y.shape[1] == 1 else y
        # before the split, so that rows are named as they stand in the file
        code_for(X)
        target = target_for(y, list(X.columns), None, classify)
        if len(X) < _FEWEST_ROWS:
            raise DataError(f"{len(X)} rows are too few to learn from and to test: at least {_FEWEST_ROWS} are needed")
        test = held_out_rows(None if target.classes is None else target.values, len(X), _TEST_SHARE, seed)
        if not test.any():
            raise DataError("every class has too few rows to hold some out for the test")
        self.seed, self.classes = seed, target.classes
        self.X, self.X_test, self.y, self.y_test = X[~test], X[test], y[~test], y[test]
        self.values, self.values_test = target.values[~test], target.values[test]

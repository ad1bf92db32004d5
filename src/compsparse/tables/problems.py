"""All that is wrong with a table, said at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from compsparse.errors import DataError

_MOST_TOLD = 20


class _SeveralErrors(DataError):
    """Errors that are told together."""

    def __init__(self, errors: Sequence[DataError]):
        self.errors = tuple(errors)
        lines = [f"- {error}" for error in errors[:_MOST_TOLD]]
        lines += [f"- and {len(errors) - _MOST_TOLD} more"] * (len(errors) > _MOST_TOLD)
        super().__init__("\n".join([f"the table has {len(errors)} problems:", *lines]))


class Problems:
    """Collects errors, to raise them together.

    >>> problems = Problems()
    >>> for name in "ab":
    ...     with problems.noted():
    ...         raise DataError(f"column {name!r} is odd")
    >>> problems.told()
    Traceback (most recent call last):
    compsparse.tables.problems._SeveralErrors: the table has 2 problems:
    - column 'a' is odd
    - column 'b' is odd
    """

    def __init__(self) -> None:
        self.errors: list[DataError] = []

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Keeps an error of the block for later."""
        try:
            yield
        except DataError as error:
            self.errors += error.errors if isinstance(error, _SeveralErrors) else [error]

    def told(self) -> None:
        """Raises what was collected: one error as it is, several as one that lists them."""
        if not self.errors:
            return
        if len(self.errors) == 1:
            raise self.errors[0]
        raise _SeveralErrors(self.errors)

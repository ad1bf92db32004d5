"""When memorisation stops, and what it does not begin: how long each step takes is estimated before it is taken.

Estimates are seconds of one core, from timings of 50 to 2,000 points; they need to be right to a factor of two.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from compsparse.clock import Deadline
from compsparse.sizes import memory_limit

OVERTIME = 0.5
"""Share of the limit in which the best network so far may be finished."""
_PART_OF_MEMORY = 0.25
"""Share of the memory that one program may fill."""


def never() -> bool:
    """There is always time."""
    return False


@dataclass(frozen=True)
class StoppingRule:
    """When to stop: at a relative gap, at a deadline, or after rounds; ``overtime`` is for finishing a network."""

    tol: float
    deadline: Deadline
    max_rounds: int
    overtime: float = 0.0

    @property
    def is_late(self) -> bool:
        """Whether the deadline is over."""
        return self.deadline.is_over

    def has_time_for(self, seconds: float) -> bool:
        """Whether a step of so many seconds of one core ends before the deadline."""
        return not self.deadline.is_set or seconds <= self.deadline.left

    @property
    def finishing(self) -> StoppingRule:
        """The same with the overtime."""
        return replace(self, deadline=Deadline(self.deadline.at + self.overtime))


def has_memory_for(n_numbers: float) -> bool:
    """Whether so many numbers leave room for others."""
    return 8 * n_numbers <= _PART_OF_MEMORY * memory_limit()


# ---- estimates, in seconds -----------------------------------------------------------------


def seconds_of_listing(n_incidences: int, n: int) -> float:
    """To list cells by their rays, each with its pattern."""
    return 2e-8 * n_incidences * n


def seconds_of_atoms(n: int, n_atoms: int) -> float:
    """To solve the linear program over so many neurons."""
    return 1.2e-8 * n * n * n_atoms


def seconds_of_elimination(n: int, n_atoms: int, pivots: bool) -> float:
    """To fit n of the neurons by a QR factorisation, which picks them if it has pivots."""
    return (3e-10 if pivots else 6e-11) * n * n * n_atoms


def seconds_of_fit(n: int, n_unknowns: int) -> float:
    """To correct a network once, by least squares over all its weights."""
    return 1e-9 * n * n * n_unknowns + 1e-3 * n


def seconds_of_cone(n_entries: int) -> float:
    """To set up a cone program with so many entries, and to take the first step."""
    return 3e-6 * n_entries


def seconds_of_check(n: int) -> float:
    """To sum up a network of n neurons at n points in twice the precision."""
    return 3e-7 * n * n

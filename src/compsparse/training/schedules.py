"""Learning-rate schedules: from the share of training done to a factor on the peak rate."""

from __future__ import annotations

import math
from collections.abc import Callable

from compsparse.checks import check_choice, check_number

Schedule = Callable[[float], float]
"""From the share of training done to a factor on the peak learning rate."""


def constant(done: float) -> float:
    """The peak rate throughout."""
    return 1.0


def cosine(done: float) -> float:
    """From the peak rate to zero along half a cosine."""
    return 0.5 * (1 + math.cos(math.pi * done))


def cosine_over(share: float) -> Schedule:
    """A cosine that reaches zero after a share of training and then comes back, as torch's annealing does.

    >>> round(cosine_over(0.8)(0.8), 9), round(cosine_over(0.8)(1.0), 3)
    (0.0, 0.146)
    """
    check_number("share", share, above=0, most=1)
    return lambda done: cosine(done / share)


def one_cycle(done: float, warm_up: float = 0.3, start: float = 0.04) -> float:
    """A linear rise over the first ``warm_up`` share, then a cosine fall to (almost) nothing."""
    if done < warm_up:
        return start + (1 - start) * done / warm_up
    return max(1e-4, cosine((done - warm_up) / (1 - warm_up)))


SCHEDULES: dict[str, Schedule] = {"constant": constant, "cosine": cosine, "one_cycle": one_cycle}
"""The schedules by name."""


def schedule(name: str | Schedule) -> Schedule:
    """The schedule of a name, or the function that was given."""
    return name if callable(name) else SCHEDULES[check_choice("schedule", name, SCHEDULES)]

"""Both sides of every ``if``: a traced function is run once for each way its conditions can fall."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compsparse.errors import TraceError

_MOST_RUNS = 256
_MOST_IN_A_RUN = 64


class Decisions:
    """How the conditions of one run fall: as the script says, and true beyond its end."""

    def __init__(self, script: tuple[bool, ...]):
        self.script = script
        self.made: dict[str, bool] = {}

    def ask(self, condition: str) -> bool:
        """The answer for a condition; the same condition gets the same answer throughout a run."""
        if condition not in self.made:
            if len(self.made) >= _MOST_IN_A_RUN:
                raise TraceError(
                    f"the function branches on a value more than {_MOST_IN_A_RUN} times in one run, as a loop does "
                    "whose end depends on a value: give the loop a fixed number of steps"
                )
            place = len(self.made)
            self.made[condition] = self.script[place] if place < len(self.script) else True
        return self.made[condition]


def explored(run: Callable[[Decisions], Any], join: Callable[[str, Any, Any], Any]) -> Any:
    """The result of ``run`` for every way its conditions can fall, joined condition by condition.

    Args:
        join: makes one result of a condition and the results where it holds and where it does not.
    """
    count = 0

    def below(script: tuple[bool, ...]) -> Any:
        """The joined results of all runs that begin with this script."""
        nonlocal count
        count += 1
        if count > _MOST_RUNS:
            raise TraceError(
                f"the function branches on values in more than {_MOST_RUNS} ways: use np.where, np.maximum or "
                "np.minimum, which need no branches"
            )
        decisions = Decisions(script)
        result = run(decisions)
        conditions = list(decisions.made)
        for place in reversed(range(len(script), len(conditions))):
            falls = list(decisions.made.values())[:place]
            result = join(conditions[place], result, below((*falls, False)))
        return result

    return below(())

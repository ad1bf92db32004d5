"""What a sweep needs of an engine."""

from __future__ import annotations

from abc import ABC, abstractmethod

from compsparse.sweeps.packs import Pack
from compsparse.sweeps.records import Row


class Engine(ABC):
    """Runs packs somewhere; each member of a pack comes back as one row, done or failed.

    A run that raises is a failed row, not an error of the engine. A worker that dies costs only the packs it was
    running, which are tried again.
    """

    name: str

    @property
    @abstractmethod
    def workers(self) -> int:
        """How many packs run at a time."""

    @abstractmethod
    def start(self) -> None:
        """Makes workers ready; called once, before the first pack."""

    @property
    @abstractmethod
    def room(self) -> int:
        """How many more packs to submit now."""

    @abstractmethod
    def submit(self, pack: Pack) -> None:
        """Takes a pack to run; there must be room."""

    @abstractmethod
    def completed(self, timeout: float) -> list[Row]:
        """The rows of packs that ended since the last call; waits for some at most ``timeout`` seconds."""

    @property
    def partial_load(self) -> float:
        """The load that is done within running packs, where the engine hears of it."""
        return 0.0

    @property
    def note(self) -> str:
        """What whoever waits should know, if there is something."""
        return ""

    @abstractmethod
    def stop(self) -> None:
        """Ends all work at once; what was not returned is lost."""

"""Stores of results: a SQLite file, or a PostgreSQL database that many drivers share."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

from compsparse.checks import check_flag
from compsparse.errors import ConfigError
from compsparse.files import check_outputs, check_place, check_writable
from compsparse.optional import needs

needs("sqlalchemy", "stores of results", "lab")

from compsparse.sweeps import DEFAULT_STORE  # noqa: E402
from compsparse.sweeps.records import SweepState, write_table  # noqa: E402
from compsparse.sweeps.store.database import Database  # noqa: E402
from compsparse.sweeps.store.leases import Leases, SweepStates  # noqa: E402
from compsparse.sweeps.store.results import Results, Spill  # noqa: E402


class Store:
    """Results by key, leases on what is being run, and the sweeps' progress; use it as a context manager."""

    def __init__(self, database: Database):
        if not isinstance(database, Database):
            raise ConfigError(f"a store is opened by open_store(place), got {database!r}")
        self.database = database
        self.results = Results(database)
        self.leases = Leases(database)
        self.sweeps = SweepStates(database)

    @property
    def name(self) -> str:
        """Its place, without a password."""
        return self.database.name

    def spill(self) -> Spill:
        """A file for results that the store cannot take, beside it if it is a file."""
        return Spill([self.database.folder], self.name)

    def import_spill(self, path: str | Path) -> tuple[int, int]:
        """Brings a spill file or another store in; returns how many results it holds and how many were new."""
        return self.results.bring_in(check_place("a file of results", path))

    def export(self, path: str | Path, kind: str | None = None) -> int:
        """Writes the results to a .parquet or .csv file; returns how many."""
        place = check_writable(path)
        if self.database.is_sqlite:
            check_outputs([place], self.database.files)
        return write_table(self.results.all(kind), place)

    def compact(self, failed: bool = False) -> dict[str, int]:
        """Removes dead leases and ended sweeps (and failed results, so that they run again), and frees space."""
        check_flag("failed", failed)
        removed = {
            "leases": self.leases.drop_expired(),
            "sweeps": self.sweeps.drop_ended(),
            "failed": self.results.forget_failed() if failed else 0,
        }
        self.database.compact()
        return removed

    def close(self) -> None:
        """Ends all connections."""
        self.database.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()


def open_store(place: str | Path = DEFAULT_STORE, *, create: bool = True, read_only: bool = False) -> Store:
    """Opens a store: the path of a SQLite file, or ``postgresql://user:password@host/database``.

    Args:
        create: make the file if there is none.
        read_only: only to look: nothing is written, and of a damaged file what can be read is read, with a warning.
            Where nothing can be written it is opened so anyway.
    """
    return Store(Database(place, create, read_only))


__all__ = ["Leases", "Results", "Spill", "Store", "SweepState", "SweepStates", "open_store"]

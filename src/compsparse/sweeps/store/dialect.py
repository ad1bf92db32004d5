"""What SQLite and PostgreSQL spell alike, but SQLAlchemy keeps apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql, sqlite

Item = TypeVar("Item")


def upsert(connection: Connection, table: Table) -> postgresql.Insert | sqlite.Insert:
    """An insert that can say what happens on a conflict."""
    return sqlite.insert(table) if connection.dialect.name == "sqlite" else postgresql.insert(table)


def chunks(items: Sequence[Item], size: int = 500) -> Iterator[Sequence[Item]]:
    """Parts of a list that fit into one statement."""
    for first in range(0, len(items), size):
        yield items[first : first + size]

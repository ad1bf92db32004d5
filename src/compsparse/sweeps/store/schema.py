"""The tables of a store, the same in SQLite and PostgreSQL: a column for each field of what is kept."""

from __future__ import annotations

from dataclasses import Field, fields
from typing import Any

from sqlalchemy import Column, Double, Integer, MetaData, String, Table, Text

from compsparse.digest import SEAL
from compsparse.sweeps.records import Row, SweepState

SCHEMA_VERSION = 2

metadata = MetaData()


def _column(field: Field[Any]) -> Column[Any]:
    """The column of a field, by the name of its type; what is nested is JSON in a text."""
    kind, _, more = str(field.type).partition(" | ")
    if field.name in ("key", "id"):
        return Column(field.name, String(64), primary_key=True)
    return Column(field.name, {"int": Integer, "float": Double}.get(kind, Text), nullable=more == "None")


meta_table = Table(
    "compsparse_meta",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("value", Text, nullable=False),
)

results_table = Table("compsparse_results", metadata, *map(_column, fields(Row)), Column(SEAL, String(64)))

leases_table = Table(
    "compsparse_leases",
    metadata,
    Column("key", String(64), primary_key=True),
    Column("owner", Text, nullable=False, index=True),
    Column("sign", String(64), nullable=False),
    Column("seconds", Double, nullable=False),
)

sweeps_table = Table("compsparse_sweeps", metadata, *map(_column, fields(SweepState)))

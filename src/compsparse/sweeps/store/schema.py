"""The tables of a store, the same in SQLite and PostgreSQL."""

from __future__ import annotations

from sqlalchemy import Column, Double, Integer, MetaData, String, Table, Text

SCHEMA_VERSION = 2
"""2: results carry digests, and leases a sign of life in place of times."""

metadata = MetaData()

meta_table = Table(
    "compsparse_meta",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("value", Text, nullable=False),
)

results_table = Table(
    "compsparse_results",
    metadata,
    Column("key", String(64), primary_key=True),
    Column("kind", Text, nullable=False, index=True),
    Column("version", Integer, nullable=False),
    Column("spec", Text, nullable=False),
    Column("status", String(16), nullable=False),
    Column("result", Text),
    Column("traceback", Text),
    Column("seconds", Double, nullable=False),
    Column("started", Double, nullable=False),
    Column("finished", Double, nullable=False),
    Column("host", Text, nullable=False),
    Column("code", Text, nullable=False),
    Column("digest", String(64)),
)

leases_table = Table(
    "compsparse_leases",
    metadata,
    Column("key", String(64), primary_key=True),
    Column("owner", Text, nullable=False, index=True),
    Column("sign", String(64), nullable=False),
    Column("seconds", Double, nullable=False),
)

sweeps_table = Table(
    "compsparse_sweeps",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("name", Text, nullable=False),
    Column("host", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("total", Integer, nullable=False),
    Column("done", Integer, nullable=False),
    Column("failed", Integer, nullable=False),
    Column("running", Integer, nullable=False),
    Column("existing", Integer, nullable=False),
    Column("share", Double, nullable=False),
    Column("started", Double, nullable=False),
    Column("heartbeat", Double, nullable=False),
    Column("finished", Double),
    Column("message", Text, nullable=False),
)

NEW_IN_2 = {"compsparse_results": ("digest",), "compsparse_leases": ("sign", "seconds")}
"""Columns that a store of schema 1 does not have."""

"""Tables: read, coded as numbers, checked and split once, with what was done to each column."""

from compsparse.tables.coding import NumberColumn, TableCode, TextColumn, code_for
from compsparse.tables.reading import embedded_table, inputs_and_targets, read_table
from compsparse.tables.splitting import SplitTable
from compsparse.tables.targets import Target, target_for

__all__ = [
    "NumberColumn",
    "SplitTable",
    "TableCode",
    "Target",
    "TextColumn",
    "code_for",
    "embedded_table",
    "inputs_and_targets",
    "read_table",
    "target_for",
]

"""Tables: read, coded as numbers, checked and split once, with what was done to each column."""

from compsparse.tables.coded import CodedTable, coded_table
from compsparse.tables.coding import TableCode, code_for
from compsparse.tables.columns import Table
from compsparse.tables.images import ImageTable, read_images
from compsparse.tables.inputs import DateColumn, LeftOutColumn, MeanColumn, NumberColumn, TextColumn
from compsparse.tables.looking import Treatment
from compsparse.tables.reading import embedded_table, inputs_and_targets, read_table
from compsparse.tables.splitting import SplitTable, given_split, split_table
from compsparse.tables.targets import Target, target_for

__all__ = [
    "CodedTable",
    "DateColumn",
    "ImageTable",
    "LeftOutColumn",
    "MeanColumn",
    "NumberColumn",
    "SplitTable",
    "Table",
    "TableCode",
    "Target",
    "TextColumn",
    "Treatment",
    "code_for",
    "coded_table",
    "embedded_table",
    "given_split",
    "inputs_and_targets",
    "read_images",
    "read_table",
    "split_table",
    "target_for",
]

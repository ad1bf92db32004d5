"""Function graphs of Boolean functions: the discrete twin of discovery by gradient directions."""

from compsparse.discovery.boolean.strategy import TRUTH_TABLE, BooleanOptions, from_boolean_callable, from_truth_table
from compsparse.representations.boolean import column_multiplicity, wires

__all__ = [
    "TRUTH_TABLE",
    "BooleanOptions",
    "column_multiplicity",
    "from_boolean_callable",
    "from_truth_table",
    "wires",
]

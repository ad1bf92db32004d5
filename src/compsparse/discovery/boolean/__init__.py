"""Function graphs of Boolean functions: the discrete twin of discovery by gradient directions."""

from compsparse.discovery.boolean.cofactors import column_multiplicity, wires
from compsparse.discovery.boolean.strategy import from_boolean_callable, from_truth_table

__all__ = ["column_multiplicity", "from_boolean_callable", "from_truth_table", "wires"]

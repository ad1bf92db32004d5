"""Function graphs: build, evaluate, trace, compare, count, draw. Needs no torch."""

from compsparse.checks import input_names
from compsparse.graph.builder import GraphBuilder
from compsparse.graph.comparison import GraphComparison, compare_graphs, equivalent, to_networkx
from compsparse.graph.complexity import Complexity, ComplexityTerm
from compsparse.graph.constituent import Constituent, DeclaredProperties
from compsparse.graph.drawing import draw_svg, draw_text, to_dot, to_mermaid
from compsparse.graph.expression import expanded, from_expression, fused, to_expression
from compsparse.graph.function_graph import FunctionGraph, Kind, Node
from compsparse.graph.generators import (
    balanced_tree,
    chain,
    complete,
    from_groups,
    pyramid,
    random_dag,
    random_tree,
    single_node,
)
from compsparse.graph.modules import ModuleTree, module_tree
from compsparse.graph.tracing import AnyGraph, as_graph, trace

__all__ = [
    "AnyGraph",
    "Complexity",
    "ComplexityTerm",
    "Constituent",
    "DeclaredProperties",
    "FunctionGraph",
    "GraphBuilder",
    "GraphComparison",
    "Kind",
    "ModuleTree",
    "Node",
    "as_graph",
    "balanced_tree",
    "chain",
    "compare_graphs",
    "complete",
    "draw_svg",
    "draw_text",
    "equivalent",
    "expanded",
    "from_expression",
    "from_groups",
    "fused",
    "input_names",
    "module_tree",
    "pyramid",
    "random_dag",
    "random_tree",
    "single_node",
    "to_dot",
    "to_expression",
    "to_mermaid",
    "to_networkx",
    "trace",
]

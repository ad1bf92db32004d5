"""Graphs for other tools: Graphviz DOT, Mermaid, networkx."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compsparse.graph.function_graph import FunctionGraph, check_graph

if TYPE_CHECKING:
    import networkx


def to_dot(graph: FunctionGraph) -> str:
    """Graphviz source, inputs at the bottom."""
    check_graph("graph", graph)
    lines = ["digraph {", "  rankdir=BT;", '  node [fontname="Helvetica"];']
    for name in graph.inputs:
        lines.append(f"  {_quoted(name)} [shape=plaintext];")
    for node in graph.nodes:
        shape = "doublecircle" if node.kind == "complete" else "box"
        bold = ", penwidth=2" if node.name in graph.outputs else ""
        lines.append(f"  {_quoted(node.name)} [shape={shape}, label={_quoted(node.label)}{bold}];")
        lines += [f"  {_quoted(parent)} -> {_quoted(node.name)};" for parent in node.parents]
    return "\n".join([*lines, "}"])


def to_mermaid(graph: FunctionGraph) -> str:
    """Mermaid source, as GitHub and many notebooks draw it."""
    check_graph("graph", graph)
    key = {name: f"n{i}" for name, i in graph.index.items()}
    lines = ["flowchart BT"]
    lines += [f'  {key[name]}(["{_escaped(name)}"])' for name in graph.inputs]
    for node in graph.nodes:
        left, right = ("(((", ")))") if node.kind == "complete" else ("[", "]")
        lines.append(f'  {key[node.name]}{left}"{_escaped(node.label)}"{right}')
        lines += [f"  {key[parent]} --> {key[node.name]}" for parent in node.parents]
    return "\n".join(lines)


def to_networkx(graph: FunctionGraph) -> networkx.DiGraph:
    """A networkx graph; nodes carry ``role``, ``constituent``, ``kind``, edges their ``position``."""
    check_graph("graph", graph)
    import networkx

    result = networkx.DiGraph()
    for name in graph.inputs:
        result.add_node(name, role="input", output=_place(graph, name))
    for node in graph.nodes:
        result.add_node(
            node.name,
            role="node",
            constituent=node.constituent,
            kind=node.kind,
            channels=node.channels,
            output=_place(graph, node.name),
        )
        for position, parent in enumerate(node.parents):
            result.add_edge(parent, node.name, position=position)
    return result


def _place(graph: FunctionGraph, name: str) -> int | None:
    """Which output a name is, if it is one."""
    return graph.outputs.index(name) if name in graph.outputs else None


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")

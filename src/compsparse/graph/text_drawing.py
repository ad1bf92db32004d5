"""Graphs drawn with characters, for terminals and docstrings."""

from __future__ import annotations

from compsparse.checks import check_count
from compsparse.graph.function_graph import FunctionGraph

_MARK = {"complete": " ⊕", "prime": "", None: ""}


def draw_text(graph: FunctionGraph, most_lines: int = 200) -> str:
    """Each output as a tree of what it is made of; a node met again is named, not repeated.

    Complete nodes carry the mark ⊕.
    """
    most_lines = check_count("most_lines", most_lines)
    lines: list[str] = []
    drawn: set[str] = set()
    left_out = 0
    # last in, first out: (name, prefix of its line, prefix of its children's lines)
    waiting = [(name, "", "") for name in reversed(graph.outputs)]
    while waiting:
        name, prefix, below = waiting.pop()
        if len(lines) >= most_lines:
            left_out += 1
            continue
        lines.append(prefix + _line(graph, name, name in drawn))
        if name in graph.inputs or name in drawn:
            continue
        drawn.add(name)
        parents = graph[name].parents
        for i, parent in reversed(list(enumerate(parents))):
            last = i == len(parents) - 1
            waiting.append((parent, below + ("└─ " if last else "├─ "), below + ("   " if last else "│  ")))
    if left_out:
        lines.append(f"… and {graph.size - len(drawn)} more nodes")
    if graph.inert:
        lines.append(f"inert: {', '.join(graph.inert)}")
    return "\n".join(lines)


def _line(graph: FunctionGraph, name: str, again: bool) -> str:
    if name in graph.inputs:
        return name
    node = graph[name]
    if again:
        return f"{name} (above)"
    channels = f" [{node.channels} channels]" if node.channels > 1 else ""
    label = "" if node.label == name else f" = {node.label}"
    return f"{name}{label}{_MARK[node.kind]}{channels}"

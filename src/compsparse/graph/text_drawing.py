"""Graphs drawn with characters, for terminals and docstrings."""

from __future__ import annotations

from compsparse.checks import check_count
from compsparse.graph.function_graph import FunctionGraph, check_graph

_LONGEST_LABEL = 400
_DEEPEST = 3 * 150
"""Characters of indentation beyond which a drawing goes no deeper."""
_MARK = {"complete": " ⊕", "prime": "", None: ""}


def draw_text(graph: FunctionGraph, most_lines: int = 200) -> str:
    """Each output as a tree of what it is made of; a node met again is named, not repeated.

    Complete nodes carry the mark ⊕.
    """
    check_graph("graph", graph)
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
        if graph.levels[name] == 0 or name in drawn:
            continue
        drawn.add(name)
        parents = graph[name].parents
        if len(below) > _DEEPEST:
            lines.append(f"{below}… and what these are made of")
            continue
        # what lies beyond the last line is counted, not drawn
        for i, parent in reversed(list(enumerate(parents[: most_lines + 1]))):
            last = i == len(parents) - 1
            waiting.append((parent, below + ("└─ " if last else "├─ "), below + ("   " if last else "│  ")))
    if left_out:
        lines.append(f"… and {graph.size - len(drawn)} more nodes")
    if graph.inert:
        lines.append(f"inert: {shortened(', '.join(graph.inert), len(graph.inert))}")
    return "\n".join(lines)


def shortened(text: str, n_names: int) -> str:
    """A text of many names that fits on a line, with their number."""
    return text if len(text) <= _LONGEST_LABEL else f"{text[: _LONGEST_LABEL - 1]}… ({n_names:,} names)"


def _line(graph: FunctionGraph, name: str, again: bool) -> str:
    if graph.levels[name] == 0:
        return name
    node = graph[name]
    if again:
        return f"{name} (above)"
    channels = f" [{node.channels} channels]" if node.channels > 1 else ""
    label = "" if node.label == name else f" = {shortened(node.label, node.arity)}"
    return f"{name}{label}{_MARK[node.kind]}{channels}"

"""The search for the tree of one output by what structures predict, from the first merge to the gate."""

from __future__ import annotations

from collections.abc import Mapping

from compsparse.discovery.data.gate import Gated, GateRows, pass_gate
from compsparse.discovery.data.kinds import settle_kinds
from compsparse.discovery.data.limits import CLEARLY_LESS, MOST_MOVED, UNRESOLVED
from compsparse.discovery.data.merging import merge_all
from compsparse.discovery.data.placing import move, readmit
from compsparse.discovery.data.regrouping import look_into_wide_nodes
from compsparse.discovery.data.sketch import Bench, Sketch, Support
from compsparse.discovery.data.verification import verify_modules
from compsparse.discovery.structure.forest import Members
from compsparse.graph.modules import ModuleTree


def search_tree(bench: Bench, sketch: Sketch, rows: GateRows) -> tuple[Sketch, Gated]:
    """Finds the tree that passes the gate, and the sketch that led to it.

    Raises:
        TimeIsOver, KeyboardInterrupt: from outside; ``bench.kept`` is the best sketch then.
    """
    sketch = find_modules(bench, sketch)
    sketch, left = verify_modules(bench, sketch)
    tree = settle_kinds(bench, sketch)
    if left <= UNRESOLVED and left <= CLEARLY_LESS * bench.smooth.unexplained:
        # next to nothing is left, and much less than a smooth fit leaves: no free fit could do better
        return sketch, Gated(tree, left - bench.smooth.unexplained, False, (), left)
    return sketch, pass_gate(tree, weakest_first(tree, sketch.support), rows)


def find_modules(bench: Bench, sketch: Sketch) -> Sketch:
    """Merges what belongs together, offers again what was left out, moves inputs, looks into wide nodes."""
    sketch = merge_all(bench, sketch)
    moved: list[str] = []
    while True:
        while sketch.parked:
            sketch, came_back = readmit(bench, sketch)
            if not came_back:
                break
            sketch = merge_all(bench, bench.keep(sketch))
        if len(moved) == MOST_MOVED:
            break
        sketch, name = move(bench, sketch, moved)
        bench.keep(sketch)
        if name is None:
            break
        moved.append(name)
    return bench.keep(look_into_wide_nodes(bench, sketch))


def weakest_first(tree: ModuleTree, support: Mapping[Members, Support]) -> list[Members]:
    """The modules of a tree, those that gain least before the others, larger ones before what they hold."""
    gain = {m: support[m].change if m in support else 0.0 for m in tree.modules}
    return sorted(tree.modules, key=lambda m: (-gain[m], -len(m), sorted(m)))

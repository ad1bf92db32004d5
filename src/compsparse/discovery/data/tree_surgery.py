"""Surgery on module trees: taking nodes apart, putting inputs back, regrouping."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import torch

from compsparse.discovery.data.units import Units, combination_of, leaf
from compsparse.graph.modules import ModuleTree


def replaced(tree: ModuleTree, old: ModuleTree, new: Sequence[ModuleTree]) -> list[ModuleTree]:
    """The tree with a subtree replaced by others; more than one tree where that is the root itself."""
    if tree.members == old.members:
        return list(new)
    if not old.members <= tree.members:
        return [tree]
    children = [part for child in tree.children for part in replaced(child, old, new)]
    return [with_children(children)]


def with_children(children: Sequence[ModuleTree]) -> ModuleTree:
    """The prime node over some children, in their order."""
    return ModuleTree(frozenset().union(*(c.members for c in children)), "prime", tuple(children))


def dissolved(units: Units, module: ModuleTree) -> Units:
    """The units without one module: its children take its place."""
    return units.with_trees(part for tree in units.trees for part in replaced(tree, module, module.children))


def forgotten(units: Units, modules: Sequence[ModuleTree]) -> Units:
    """The units with some modules unlearned."""
    gone = {combination_of(m) for m in modules}
    return replace(units, learned={c: layers for c, layers in units.learned.items() if c not in gone})


def regrouped(units: Units, old: ModuleTree, new: ModuleTree) -> Units:
    """The units with one node in the place of another."""
    return units.with_trees(part for tree in units.trees for part in replaced(tree, old, [new]))


def exposed(units: Units, extra: Sequence[ModuleTree], nodes: Sequence[ModuleTree] | None = None) -> Units:
    """The units with extra trees read by the given nodes, or by all of them and the top, beside what they read."""
    learned = dict(units.learned)

    def widened(tree: ModuleTree) -> ModuleTree:
        if not tree.children:
            return tree
        own = [e for e in extra if e not in tree.children] if nodes is None or tree in nodes else []
        wide = with_children([*(widened(child) for child in tree.children), *own])
        if combination_of(tree) in learned:
            first, *rest = learned[combination_of(tree)]
            # weights of zero: the node starts as it was
            n_columns = sum(_n_wires(units, e) for e in own)
            learned[combination_of(wide)] = (torch.cat([first, first.new_zeros(*first.shape[:2], n_columns)], 2), *rest)
        return wide

    trees = [widened(tree) for tree in units.trees]
    on_top = [e for e in extra if e not in units.trees] if nodes is None else []
    return Units(units.columns, (*trees, *on_top), learned)


def _n_wires(units: Units, tree: ModuleTree) -> int:
    """How many numbers a node reads of a tree."""
    return 1 if tree.children else len(units.columns[min(tree.members)])


def pruned(units: Units, name: str) -> Units:
    """The units without one input; a node that is left with one child goes, the others keep what they learned."""
    learned = dict(units.learned)

    def cut(tree: ModuleTree) -> tuple[ModuleTree | None, bool]:
        """What is left of a tree, and whether its top is the node that it was."""
        if name not in tree.members:
            return tree, True
        parts = [cut(child) for child in tree.children]
        kept = [part for part, _ in parts if part is not None]
        if len(kept) < 2:
            return (kept[0] if kept else None), False
        rest = with_children(kept)
        # what reads another node than before starts afresh
        if combination_of(tree) in learned and all(is_same or part is None for part, is_same in parts):
            first, *others = learned[combination_of(tree)]
            widths = [_n_wires(units, child) for child in tree.children]
            stays = [part is not None for (part, _), width in zip(parts, widths, strict=True) for _ in range(width)]
            learned[combination_of(rest)] = (first[:, :, torch.tensor(stays)], *others)
        return rest, True

    trees = [left for left, _ in map(cut, units.trees) if left is not None]
    return Units(units.columns, (), learned).with_trees(trees)


def with_bypass(units: Units, module: ModuleTree, parent: ModuleTree | None) -> Units:
    """The units with the inputs of a module read by its parent as well, or by the top where it has none."""
    inputs = [leaf(name) for name in sorted(module.members)]
    if parent is not None:
        return exposed(units, inputs, [parent])
    return Units(units.columns, (*units.trees, *inputs), units.learned)


def pairings(units: Units, parts: Sequence[ModuleTree]) -> Iterator[tuple[list[ModuleTree], ModuleTree]]:
    """Every way to join two of some parts: the parts then, and the pair among them."""
    for two in combinations(parts, 2):
        pair = units.joined(two)
        yield [pair, *(part for part in parts if part not in two)], pair


def parent_of(units: Units, module: ModuleTree) -> ModuleTree | None:
    """The node that reads a module; None where it is a unit, read by the top."""
    for tree in units.trees:
        for node in tree.inner:
            if module in node.children:
                return node
    return None

r"""The tree of strong modules of one Boolean function, without looking at all subsets.

Write \(f(x_S, c)\) for the function of \(x_S\) that a context \(c\) (the other inputs' values) leaves.
S is a module exactly when all contexts that leave it anything leave the same function, up to complement.

**Closure.** Two contexts that both leave something, but not the same, *disagree* about S. Take a
context c and, of those that disagree with it, one c' that differs from c in fewest inputs K. Then
every module M that contains S contains K. For otherwise change c in \(K \cap M\) alone: f reads
M through one g, c' shows that g still varies with \(x_S\) after that change, and c that the rest still
listens to g, so what is left is g's restriction, as at c' up to complement. That context disagrees
with c and is nearer. Adding K until no contexts disagree therefore ends at the least module that
contains S; each round is one pass over the table.

**Contraction.** The least module of two inputs is decomposed by itself and then becomes one input
of a smaller table. Pairs that only the whole holds together stay such pairs and end any closure that
meets them. A complete node comes out as nested pairs, which are joined.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from compsparse.graph.function_graph import Kind
from compsparse.representations.boolean.bits import ones
from compsparse.representations.boolean.cofactors import Cube, cofactors, depends_on


@dataclass(frozen=True)
class Module:
    """A module as a gate over smaller modules; a leaf is one input.

    Children stand in the order of their first inputs and every gate answers 0 to zeros. So modules
    are equal exactly when they compute the same function up to complement.

    Attributes:
        members: positions of its inputs, ascending.
        gate: truth table over the children, a byte each, the first child as the most significant bit.
    """

    members: tuple[int, ...]
    children: tuple[Module, ...] = ()
    gate: bytes = b""

    @property
    def cube(self) -> Cube:
        """The gate with one axis per child."""
        return np.frombuffer(self.gate, dtype=bool).reshape((2,) * len(self.children))

    @property
    def kind(self) -> Kind:
        """Whether any regrouping of the children is a module too."""
        return "complete" if is_parity(self.cube) or lone_cell(self.cube) else "prime"


def decompose(cube: Cube, stop: Callable[[], bool] = lambda: False) -> tuple[Module, bool]:
    """The tree of the inputs that matter, and whether the function is its complement.

    Args:
        stop: asked between closures; once true, what is not yet decomposed stays one gate.
    """
    active = [axis for axis in range(cube.ndim) if depends_on(cube, axis)]
    seen = cube[tuple(slice(None) if axis in active else 0 for axis in range(cube.ndim))]
    return _Contraction(seen, [Module((axis,)) for axis in active], stop).root(), bool(seen.flat[0])


class _Contraction:
    """A function of modules found so far: one axis of the table for each."""

    def __init__(self, cube: Cube, parts: list[Module], stop: Callable[[], bool]):
        self.cube, self.parts, self.stop = cube, parts, stop
        self.far_apart = np.eye(len(parts), dtype=bool)
        """Pairs that no module but the whole contains."""

    def root(self) -> Module:
        while len(self.parts) > 2 and not self.far_apart.all() and not self.stop():
            i, j = divmod(int(np.argmin(self.far_apart)), len(self.parts))
            inside = self._closure((i, j))
            if len(inside) < len(self.parts):
                self._contract(inside)
            else:
                self.far_apart[i, j] = self.far_apart[j, i] = True
        return self.parts[0] if len(self.parts) == 1 else _canonical(self.parts, self.cube ^ self.cube.flat[0])

    def _closure(self, pair: tuple[int, int]) -> list[int]:
        inside, forced = sorted(pair), set(pair)
        while forced:
            inside = sorted({*inside, *forced})
            if any(self.far_apart[p] for p in combinations(inside, 2)):
                return list(range(len(self.parts)))
            forced = _forced(self.cube, inside)
        return inside

    def _contract(self, inside: list[int]) -> None:
        rows = cofactors(self.cube, inside)
        left = rows ^ rows[0]
        gate = left[:, int(np.argmax(left.any(axis=0)))]
        outside = [i for i in range(len(self.parts)) if i not in inside]
        module = _Contraction(gate.reshape((2,) * len(inside)), [self.parts[i] for i in inside], self.stop).root()
        self.cube = rows[[0, int(np.argmax(gate))]].reshape((2,) * (1 + len(outside)))
        self.parts = [module, *(self.parts[i] for i in outside)]
        far = np.eye(len(self.parts), dtype=bool)
        far[1:, 1:] = self.far_apart[np.ix_(outside, outside)]
        far[0, 1:] = far[1:, 0] = self.far_apart[np.ix_(inside, outside)].any(axis=0)
        self.far_apart = far


def _forced(cube: Cube, inside: list[int]) -> set[int]:
    """Inputs that every module around ``inside`` contains; none exactly when it is a module."""
    rows = cofactors(cube, inside)
    left = rows ^ rows[0]
    listening = left.any(axis=0)
    context = int(np.argmax(listening))
    disagreeing = np.flatnonzero(listening & (left != left[:, [context]]).any(axis=0))
    if not len(disagreeing):
        return set()
    apart = disagreeing ^ context
    distance = ones(apart)
    nearest = int(np.bitwise_or.reduce(apart[distance == distance.min()]))
    outside = [axis for axis in range(cube.ndim) if axis not in inside]
    return {axis for bit, axis in enumerate(reversed(outside)) if nearest >> bit & 1}


# ---- complete gates ----------------------------------------------------------------------


def parity(n: int) -> Cube:
    """The exclusive or of n arguments."""
    return (ones(np.arange(1 << n)) % 2).astype(bool).reshape((2,) * n)


def is_parity(gate: Cube) -> bool:
    """Whether the gate is the exclusive or of its arguments, or its complement."""
    return bool(np.array_equal(gate ^ gate.flat[0], parity(gate.ndim)))


def lone_cell(gate: Cube) -> tuple[tuple[int, ...], bool] | None:
    """Where an and-like gate (of arguments or complements) has the value it has nowhere else, and that value."""
    ones = np.count_nonzero(gate)
    if ones not in (1, gate.size - 1):
        return None
    value = ones == 1
    cell = np.unravel_index(int(np.argmax(gate == value)), gate.shape)
    return tuple(int(bit) for bit in cell), value


def _canonical(children: Sequence[Module], gate: Cube) -> Module:
    parts, gate = _joined(children, gate)
    order = sorted(range(len(parts)), key=lambda i: parts[i].members)
    members = sorted(member for part in parts for member in part.members)
    table = np.ascontiguousarray(gate.transpose(order))
    return Module(tuple(members), tuple(parts[i] for i in order), table.tobytes())


def _joined(children: Sequence[Module], gate: Cube) -> tuple[list[Module], Cube]:
    """The gate with those children taken apart that regroup with it."""
    parts: list[Module] = []
    if is_parity(gate):
        for child in children:
            parts += child.children if child.children and is_parity(child.cube) else [child]
        return parts, parity(len(parts)) ^ gate.flat[0]
    lone = lone_cell(gate)
    if lone is None:
        return list(children), gate
    cell: tuple[int, ...] = ()
    for child, bit in zip(children, lone[0], strict=True):
        inner = lone_cell(child.cube) if child.children else None
        joins = inner is not None and inner[1] == bit
        parts += child.children if joins else [child]
        cell += inner[0] if inner is not None and joins else (bit,)
    whole = np.full((2,) * len(parts), not lone[1])
    whole[cell] = lone[1]
    return parts, whole

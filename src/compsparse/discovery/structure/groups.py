"""Groups of inputs: products of powers or weighted sums, as they are read and as nodes of a graph."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from compsparse.discovery.structure.forest import Members, Part
from compsparse.discovery.structure.units import Dimension
from compsparse.graph import Constituent

GroupForm = Literal["product", "sum"]
LARGEST_DENOMINATOR = 6
"""Of a rounded exponent."""


@dataclass(frozen=True)
class InputGroup:
    """A product of powers of some inputs, or a weighted sum of them.

    Attributes:
        inputs: their names.
        exponents: or weights; whole numbers and fractions where these could be told.
        errors: of the exponents as they were measured.
        is_factor: whether the function is this group times a function of the others.
        unit: its dimension, where the units of its inputs were given.
    """

    inputs: tuple[str, ...]
    exponents: tuple[float, ...]
    errors: tuple[float, ...]
    form: GroupForm
    is_factor: bool = False
    unit: Dimension | None = None

    @property
    def formula(self) -> str:
        """As one reads it: ``rho V D / mu``."""
        text = _product_text if self.form == "product" else _sum_text
        return text(self.inputs, self.exponents)


@dataclass(frozen=True)
class FoundGroups:
    """The groups through which a function acts on some inputs.

    Attributes:
        beyond: the largest sign of one group more, in units of what passes for none.
        last: the same of the last group that there is.
        unseen: share of the slopes that one group more may have had unseen.
    """

    groups: tuple[InputGroup, ...]
    beyond: float
    last: float
    unseen: float

    @property
    def inputs(self) -> frozenset[str]:
        """All inputs of the groups."""
        return frozenset(name for group in self.groups for name in group.inputs)


# ---- nodes ---------------------------------------------------------------------------------------


def part_of_groups(found: FoundGroups, children: Sequence[Members]) -> Part:
    """A node drawn with one part for every group; what is beside a factor is a node of its own."""
    users = {name: sum(name in group.inputs for group in found.groups) for name in found.inputs}
    reads: list[Members | Part] = [_part(g, children, users) for g in found.groups]
    reads += [members for members in children if not members & found.inputs]
    if found.groups[0].is_factor and len(reads) > 2:
        reads = [reads[0], Part(tuple(reads[1:]))]
    return Part(tuple(reads))


def _part(group: InputGroup, children: Sequence[Members], users: Mapping[str, int]) -> Members | Part:
    reads = [members for members in children if members & set(group.inputs)]
    if len(reads) == 1:
        return reads[0]
    shared = frozenset(members for members in reads if any(users[name] > 1 for name in members))
    order = [name for members in reads for name in members]
    is_known = len(order) == len(reads) == len(group.inputs)
    return Part(
        tuple(reads),
        shared,
        kind="complete" if len(reads) > 2 else None,
        constituent=_constituent(group, order) if is_known else None,
    )


def _constituent(group: InputGroup, order: Sequence[str]) -> Constituent:
    letters = {name: f"x{place}" for place, name in enumerate(order)}
    renamed = replace(group, inputs=tuple(letters[name] for name in group.inputs))
    text = renamed.formula.replace("^", "**")
    text = text.replace(" / ", "/").replace(" ", "*") if group.form == "product" else re.sub(r"(\d) x", r"\1*x", text)
    return Constituent.from_expression(text, list(letters.values()), name=group.formula)


# ---- texts ---------------------------------------------------------------------------------------


def _product_text(inputs: Sequence[str], exponents: Sequence[float]) -> str:
    above, below = (
        [_power(n, abs(e)) for n, e in zip(inputs, exponents, strict=True) if (e > 0) == is_above]
        for is_above in (True, False)
    )
    under = " ".join(below)
    text = " ".join(above) or "1"
    return text if not below else f"{text} / ({under})" if len(below) > 1 else f"{text} / {under}"


def _power(name: str, exponent: float) -> str:
    if exponent == 1:
        return name
    fraction = Fraction(exponent).limit_denominator(LARGEST_DENOMINATOR)
    if abs(float(fraction) - exponent) > 1e-12:
        return f"{name}^{exponent:.4g}"
    return f"{name}^{fraction}" if fraction.denominator == 1 else f"{name}^({fraction})"


def _sum_text(inputs: Sequence[str], weights: Sequence[float]) -> str:
    text = ""
    for name, weight in zip(inputs, weights, strict=True):
        sign = ("- " if weight < 0 else "+ ") if text else ("-" if weight < 0 else "")
        size = "" if abs(weight) == 1 else f"{abs(weight):.4g} "
        text += f"{' ' * bool(text)}{sign}{size}{name}"
    return text

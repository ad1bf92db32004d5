"""Why a model predicts what it predicts for one row: what every input and node contributes, and what-if curves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from compsparse.checks import check_known, check_text
from compsparse.models.pictures import Picture
from compsparse.optional import needs
from compsparse.text import in_a_line, notebook_html

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Contribution:
    """What one input, or a node with all inputs below it, adds to the prediction of a row.

    Attributes:
        name: of the input or node.
        members: the inputs that it stands for.
        value: of an input as the row has it; of a node the number that it passes on, with mean 0 and spread 1 over
            the other rows, rising with the prediction.
        amount: in the units of the prediction; None for a node that shares inputs with others, which are listed alone.
        error: standard error of the amount.
        depth: how many modules it lies in.
    """

    name: str
    members: tuple[str, ...]
    value: float | str
    amount: float | None
    error: float = 0.0
    depth: int = 0

    @property
    def shown(self) -> str:
        """The value as a reader sees it."""
        return self.value if isinstance(self.value, str) else f"{self.value:.4g}"


@in_a_line
@dataclass(frozen=True, eq=False)
class RowExplanation:
    """A prediction taken apart: the average over other rows and the contributions of the inputs add up to it.

    Attributes:
        target: what is predicted; of classes, the probability of one of them.
        prediction: for the row.
        average: of the predictions for the rows that it is compared with.
        inputs: contributions of the inputs that the model reads, the largest first.
        nodes: of the inner nodes of the graph; each holds the contributions of its inputs.
        curves: prediction along every input, the others as they are in the row.
        n_rows: rows that it is compared with.
    """

    target: str
    prediction: float
    average: float
    inputs: tuple[Contribution, ...]
    nodes: tuple[Contribution, ...]
    curves: Mapping[str, Picture] = field(repr=False)
    n_rows: int = 0

    def of(self, name: str) -> Contribution:
        """The contribution of an input or node."""
        known = {c.name: c for c in (*self.inputs, *self.nodes)}
        check_known(check_text("name", name), list(known), "the explanation has no input or node")
        return known[name]

    def what_if(self, name: str) -> Picture:
        """What would be predicted if one input had other values, and the others those of the row."""
        check_known(check_text("name", name), list(self.curves), "the model reads no input")
        return self.curves[name]

    @property
    def entries(self) -> tuple[Contribution, ...]:
        """Nodes and inputs as the graph nests them: every module before what it is made of, large ones first."""
        kept = {frozenset(c.members): c for c in self.inputs}
        for node in self.nodes:
            if node.amount is not None and len(node.members) < len(self.inputs):
                kept.setdefault(frozenset(node.members), node)
        return tuple(_nested(list(kept.values()), 0))

    def frame(self) -> pandas.DataFrame:
        """Contributions, one row each."""
        library: Any = needs("pandas", "tables", "report")
        rows = [
            {"name": c.name, "value": c.value, "contribution": c.amount, "error": c.error, "depth": c.depth}
            for c in self.entries
        ]
        frame: pandas.DataFrame = library.DataFrame(rows)
        return frame

    @property
    def sentence(self) -> str:
        """The prediction beside the average."""
        return (
            f"{self.target} is predicted as {self.prediction:.4g}; the average over {self.n_rows:,} other rows is "
            f"{self.average:.4g}."
        )

    def __str__(self) -> str:
        names = [f"{'  ' * c.depth}{c.name}" for c in self.entries]
        width = max(map(len, names), default=0)
        values = [c.shown for c in self.entries]
        wide = max(map(len, values), default=0)
        rows = zip(names, values, self.entries, strict=True)
        lines = [f"  {n:{width}}  {v:>{wide}}  {c.amount:+.4g} ± {c.error:.1g}" for n, v, c in rows]
        return "\n".join([self.sentence, *lines])

    def _repr_html_(self) -> str:
        return notebook_html(self, "row_html")


@dataclass(frozen=True, eq=False)
class ExampleRow:
    """A row of a table for a page.

    Attributes:
        label: which one it is, and why it was chosen.
        observed: the target there.
    """

    label: str
    observed: str
    explanation: RowExplanation


def _nested(entries: list[Contribution], depth: int) -> list[Contribution]:
    at_this_depth = sorted((c for c in entries if c.depth == depth), key=lambda c: -abs(c.amount or 0.0))
    found = []
    for entry in at_this_depth:
        inside = [c for c in entries if c.depth > depth and set(c.members) <= set(entry.members)]
        found += [entry, *_nested(inside, depth + 1)]
    return found

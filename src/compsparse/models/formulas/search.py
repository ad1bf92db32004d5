"""From nodes to one formula: forms from the bottom up, the best of them by what the whole leaves of the target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from compsparse.clock import Deadline
from compsparse.graph import FunctionGraph
from compsparse.graph.formula import Apply, Argument, Formula, substitute
from compsparse.models.formulas.calculus import value_of
from compsparse.models.formulas.correlation import LARGEST
from compsparse.models.formulas.polishing import Polished, free_form, polished, rounded, score_of, simplified
from compsparse.models.formulas.reading import NodeForm, forms_of, with_links

_FORMS_OF_NODE, _FORMS_OF_ROOT, _LINKS, _POLISHED, _ROUNDED = 3, 4, 4, 8, 3
_EVIDENCE = 40.0
"""A learned node is right up to a small error: its rows count as so many."""
_POOR = 0.05
"""A node of which forms leave more than this share up to a link stays learned."""
_ROUNDS = 2
_FEW_CONSTANTS = 2
_NEAR_ZERO, _MIXED = 0.3, 0.03
"""Rows so near to zero, in spreads, say nothing of a quotient; so many signs may differ by noise."""


@dataclass(eq=False)
class Search:
    """Reads a tree of nodes.

    Attributes:
        graph: whose nodes are read; one output.
        variables: what formulas are over: inputs, and behind them nodes that stay learned.
        columns: values of the variables at the rows.
        enough: mean square that a formula may leave; with one that leaves less the search ends.
        learned: values of every inner node, up to a monotone change.
    """

    graph: FunctionGraph
    inputs: Mapping[str, np.ndarray]
    learned: Mapping[str, np.ndarray]
    y: np.ndarray
    enough: float = 0.0
    keep_learned: frozenset[str] = frozenset()
    deadline: Deadline = field(default_factory=Deadline)

    def __post_init__(self) -> None:
        self.root = self.graph.outputs[0]
        self.names = [*self.inputs, *(name for name in self.learned)]
        self.columns = [*self.inputs.values(), *self.learned.values()]
        self._forms: dict[tuple[str, tuple[int, ...]], list[NodeForm]] = {}

    def best(self) -> Polished | None:
        """The best formula of the target; None where none is defined at every row."""
        inner = [node.name for node in self.graph.nodes if node.name != self.root]
        choice = dict.fromkeys(inner, 0)
        found = self._whole(choice)
        for _ in range(_ROUNDS):
            before = found
            for name in inner:
                for k in range(_FORMS_OF_NODE + 1):
                    if k == choice[name] or self.deadline.is_over or self._is_enough(found):
                        continue
                    other = {**choice, name: k}
                    tried = self._whole(other)
                    if tried is not None and (found is None or tried.score < found.score - 2):
                        found, choice = tried, other
            if found is before:
                break
        return found

    def _is_enough(self, found: Polished | None) -> bool:
        """Whether a formula is as good as it need be, and so short that a shorter one is not to be expected."""
        as_good = found is not None and found.squares <= self.enough * found.n_rows
        return as_good and found is not None and len(found.values) <= _FEW_CONSTANTS

    def _whole(self, choice: Mapping[str, int]) -> Polished | None:
        """The best formula of the target, given which form each inner node takes."""
        formulas: dict[str, Formula] = {name: Argument(i) for i, name in enumerate(self.inputs)}
        values: dict[str, np.ndarray] = dict(self.inputs)
        for node in self.graph.nodes:
            if node.name == self.root:
                continue
            form = self._chosen(node.name, node.parents, values, choice)
            if form is None:
                formulas[node.name] = Argument(self.names.index(node.name))
                values[node.name] = self.learned[node.name]
                continue
            formulas[node.name] = substitute(form.formula, [formulas[p] for p in node.parents])
            with np.errstate(all="ignore"):
                values[node.name] = value_of(form.formula, [values[p] for p in node.parents], ())
            if not (np.abs(values[node.name]) < LARGEST).all():
                return None
        root = self.graph[self.root]
        parents = [values[p] for p in root.parents]
        candidates: list[Formula] = []
        for form in forms_of(self.y, parents, len(self.y), _FORMS_OF_ROOT):
            candidates += with_links(form, parents, self.y, _LINKS, form.rest)
        candidates += _behind_a_sign(self.y, parents)
        whole = [substitute(c, [formulas[p] for p in root.parents]) for c in candidates]
        return self._best_polished(whole)

    def _chosen(
        self, name: str, parents: Sequence[str], values: Mapping[str, np.ndarray], choice: Mapping[str, int]
    ) -> NodeForm | None:
        if name in self.keep_learned:
            return None
        below = sorted(self.graph.ancestors(name) & set(choice))
        key = (name, tuple(choice[b] for b in below))
        if key not in self._forms:
            self._forms[key] = forms_of(self.learned[name], [values[p] for p in parents], _EVIDENCE, _FORMS_OF_NODE)
        forms = self._forms[key]
        if choice[name] >= len(forms) or forms[choice[name]].rest > _POOR:
            return None
        return forms[choice[name]]

    def _best_polished(self, formulas: Sequence[Formula]) -> Polished | None:
        """The best after its constants were polished and rounded; those most likely to be it are tried."""
        starts = []
        for formula in formulas:
            with np.errstate(all="ignore"):
                rest = value_of(formula, self.columns, ()) - self.y
                squares = float((rest**2).sum())
            if not np.isfinite(squares):
                continue
            with suppress(OverflowError):  # a constant of its one form is beyond floats
                start = free_form(formula, self.columns)[1]
                starts.append((score_of(start.formula, len(start.values), squares, len(rest)), start))
        starts.sort(key=lambda pair: pair[0])
        tried = (polished(start, self.columns, self.y) for _, start in starts[:_POLISHED])
        found = sorted((done for done in tried if done is not None), key=lambda done: done.score)
        return min(map(self._finished, found[:_ROUNDED]), key=lambda done: done.score, default=None)

    def _finished(self, found: Polished) -> Polished:
        """Rounded and brought to the one form, again while that makes it shorter."""
        for _ in range(3):
            done = simplified(rounded(found, self.columns, self.y), self.columns, self.y)
            if len(done.values) >= len(found.values) and done.form == found.form:
                return done
            found = done
        return found


def _behind_a_sign(y: np.ndarray, parents: Sequence[np.ndarray]) -> list[Formula]:
    """Where the target changes sign with one parent: formulas of that parent times forms of the others."""
    found: list[Formula] = []
    for k, u in enumerate(parents):
        clear = np.abs(u) > _NEAR_ZERO * u.std()
        others = [p[clear] for j, p in enumerate(parents) if j != k]
        same = np.sign(y[clear]) == np.sign(u[clear])
        if (
            not others
            or clear.sum() < len(y) / 2
            or (u > 0).all()
            or (u < 0).all()
            or _MIXED < same.mean() < 1 - _MIXED
        ):
            continue
        quotient = y[clear] / u[clear]
        places: list[Formula] = [Argument(j) for j in range(len(parents)) if j != k]
        for form in forms_of(quotient, others, float(clear.sum()), _FORMS_OF_ROOT):
            formulas = with_links(form, others, quotient, _LINKS, form.rest)
            found += [Apply("mul", (Argument(k), substitute(f, places))) for f in formulas]
    return found

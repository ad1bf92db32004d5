r"""Contributions to one prediction, along the graph.

One after another the inputs of another row are replaced by those of the row to be explained, and each gets the change
that it makes: averaged over all orders, that is Shapley's value (1953). Orders keep the inputs of a module together,
so that a module gets what its inputs get: the values of Owen (1977), whose levels are those of the graph. Changes add
up to the difference of the two predictions for every single order and row, so the sums are exact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from compsparse.checks import RandomState, brief, check_kind, check_known, generator_from, suggests_options
from compsparse.errors import ConfigError, DataError
from compsparse.graph.modules import ModuleTree
from compsparse.models.constituents import Constituents
from compsparse.models.fitted_graph import FittedGraph
from compsparse.models.pictures import Picture
from compsparse.models.row_explanation import Contribution, ExampleRow, RowExplanation
from compsparse.networks.nodes import node_values
from compsparse.surroundings import usual_settings
from compsparse.tables.columns import Table, rows_of
from compsparse.tables.values import even_array, text_of

if TYPE_CHECKING:
    from compsparse.models.assessment import Assessment

_MOST_ROWS = 256
"""Other rows that the row is compared with, each in one order and its reverse."""
_ROWS_PER_CALL = 65_536


@suggests_options
@usual_settings()
def explain_row(
    model: FittedGraph, row: Any, X: Any, *, target: Any = None, random_state: RandomState = None
) -> RowExplanation:
    """What every input and node contributes to the prediction for one row, beside other rows; and what-if curves.

    Args:
        model: a fitted graph.
        row: a mapping from columns to values, a table of one row, or numbers in the order of the table.
        X: other rows, such as those that the model was fitted to; 256 of them are compared with.
        target: which one, where the model predicts several; of classes which label, the likeliest by default.

    Raises:
        ConfigError: the target is not known, or not said where there are several.
        DataError: row or X cannot be used.

    >>> import compsparse as cs
    >>> from compsparse.training import FitConfig, TrainingConfig
    >>> X = np.random.default_rng(0).random((200, 3))
    >>> quick = FitConfig(n_restarts=2, training=TrainingConfig(n_steps=200))
    >>> model = cs.models.fit_model([[0, 1], 2], X, X[:, 0] * X[:, 1] + X[:, 2], config=quick, random_state=0)
    >>> found = explain_row(model, [0.9, 0.9, 0.1], X, random_state=0)
    >>> bool(np.isclose(found.average + sum(c.amount for c in found.inputs), found.prediction))
    True
    """
    check_kind("the model", model, FittedGraph)
    rng = generator_from(random_state)
    unread = model.graph.unread
    here, others = _one_row(model, row), model.code.chosen(X, unread)
    codes, background = model.code.encoded(here, unread), model.code.encoded(others, unread)
    ask = _Asked(model, target, codes)
    picked = rng.permutation(len(background))[:_MOST_ROWS]
    tree = model.graph.module_tree
    inputs = [name for name in model.graph.inputs if name in tree.members]
    if not inputs:
        raise DataError("the model reads no input, so it predicts the same for every row")
    changes = _changes(ask, codes[0], background[picked], tree, inputs, model.code.columns, rng)
    amounts = {name: changes[:, i] for i, name in enumerate(inputs)}
    depth = _depths(tree)
    values = dict(zip(here.names or (), (column[0] for column in here.columns), strict=True))
    columns = {c.name: c.column for c in model.code.inputs}
    read = [_contribution(name, (name,), _shown(values[columns[name]]), amounts, depth) for name in inputs]
    constituents = Constituents(model, others)
    carried = node_values(model.network, torch.as_tensor(codes))
    graph = model.graph.pruned()
    nodes = []
    for node in graph.nodes:
        if node.name not in graph.outputs and node.channels == 1:
            below = graph.ancestors(node.name)
            members = tuple(name for name in inputs if name in below)
            value = float(constituents.readable(node.name, 0, carried[node.name][0].numpy())[0])
            nodes.append(_contribution(node.name, members, value, amounts, depth))
    return RowExplanation(
        target=ask.label,
        prediction=float(ask(codes)[0]),
        average=float(ask(background[picked]).mean()),
        inputs=tuple(sorted(read, key=lambda c: -abs(c.amount or 0.0))),
        nodes=tuple(nodes),
        curves={name: _curve(ask, codes, constituents, name) for name in inputs},
        n_rows=len(picked),
    )


class _Asked:
    """One number for every row of codes, in the units of the reader."""

    def __init__(self, model: FittedGraph, target: Any, codes: np.ndarray):
        self.model = model
        if model.classes is None:
            if target is None and len(model.targets) > 1:
                raise ConfigError(f"the model predicts {', '.join(model.targets)}: say which as target")
            self.place = 0 if target is None else _place(target, model.targets, "the model has no target")
            self.label = model.targets[self.place]
            return
        self.place = 0
        likeliest = int(self._raw(codes)[0].argmax())
        self.place = likeliest if target is None else _place(target, model.classes, "the model has no class")
        self.label = f"the probability of {model.targets[0]} = {model.classes[self.place]}"

    def _raw(self, codes: np.ndarray) -> np.ndarray:
        parts = [torch.as_tensor(codes[i : i + _ROWS_PER_CALL]) for i in range(0, len(codes), _ROWS_PER_CALL)]
        with torch.no_grad():
            raw: np.ndarray = torch.cat([self.model.network(part).mean(0) for part in parts]).numpy()
        return raw

    def __call__(self, codes: np.ndarray) -> np.ndarray:
        raw = self._raw(codes)
        if self.model.classes is None:
            numbers: np.ndarray = raw[:, self.place] * self.model.scale[self.place] + self.model.centre[self.place]
            return numbers
        shares: np.ndarray = torch.softmax(torch.as_tensor(raw), -1).numpy()[:, self.place]
        return shares


def _place(target: Any, known: Sequence[Any], what: str) -> int:
    """Where a target or class stands, by its text."""
    if not isinstance(target, (str, int, float, np.generic)):
        raise ConfigError(f"target must be one of {', '.join(map(text_of, known))}, got {brief(target)}")
    texts = [text_of(value) for value in known]
    return texts.index(check_known(text_of(target), texts, what))


def _changes(
    ask: _Asked,
    row: np.ndarray,
    background: np.ndarray,
    tree: ModuleTree,
    inputs: Sequence[str],
    columns: Mapping[str, tuple[str, ...]],
    rng: np.random.Generator,
) -> np.ndarray:
    """(other rows, inputs) the change that each input makes, the mean of an order and of its reverse."""
    blocks = _blocks(columns)
    place = {name: i for i, name in enumerate(inputs)}
    orders = [[place[name] for name in _order(tree, rng)] for _ in background]
    changes = np.zeros((len(background), len(inputs)))
    for way in (1, -1):
        steps = np.repeat(background[:, None], len(inputs) + 1, axis=1)
        for k, order in enumerate(orders):
            for step, i in enumerate(order[::way]):
                steps[k, step + 1 :, blocks[inputs[i]]] = row[blocks[inputs[i]]]
        answers = ask(steps.reshape(-1, steps.shape[2])).reshape(len(background), -1)
        for k, order in enumerate(orders):
            changes[k, order[::way]] += np.diff(answers[k]) / 2
    return changes


def _blocks(columns: Mapping[str, tuple[str, ...]]) -> dict[str, slice]:
    """Where the encoded columns of every input stand."""
    ends = np.cumsum([len(own) for own in columns.values()])
    return {name: slice(end - len(own), end) for (name, own), end in zip(columns.items(), ends, strict=True)}


def _order(tree: ModuleTree, rng: np.random.Generator) -> list[str]:
    """The inputs in an order by chance that keeps those of every module together."""
    if not tree.children:
        return sorted(tree.members)
    children = sorted(tree.children, key=lambda child: sorted(child.members))
    return [name for i in rng.permutation(len(children)) for name in _order(children[i], rng)]


def _depths(tree: ModuleTree, depth: int = 0) -> dict[frozenset[str], int]:
    """In how many modules each module and each input lies, the whole not counted."""
    found = {tree.members: max(depth - 1, 0)}
    for child in tree.children:
        found |= _depths(child, depth + 1)
    return found


def _contribution(
    name: str,
    members: tuple[str, ...],
    value: float | str,
    amounts: Mapping[str, np.ndarray],
    depth: Mapping[frozenset[str], int],
) -> Contribution:
    if frozenset(members) not in depth:
        return Contribution(name, members, value, None)
    changes = np.sum([amounts[member] for member in members], axis=0)
    error = float(changes.std(ddof=1) / np.sqrt(len(changes))) if len(changes) > 1 else float("nan")
    return Contribution(name, members, value, float(changes.mean()), error, depth[frozenset(members)])


def _curve(ask: _Asked, codes: np.ndarray, constituents: Constituents, name: str) -> Picture:
    """The prediction along one input, and where the row stands on it."""
    axis, along = constituents.places(name)
    block = _blocks(ask.model.code.columns)[name]
    rows = np.repeat(codes, len(along), axis=0)
    rows[:, block] = along
    own = codes[0, block]
    place: float | str
    if axis.has_levels:
        place = str(axis.ticks[int(((along - own) ** 2).sum(1).argmin())])
    else:
        place = float(constituents.readable(name, 0, own[:1])[0])
    return Picture(ask.label, axis, ask(rows)[None], here=(place, float(ask(codes)[0])))


def _shown(value: Any) -> float | str:
    if not isinstance(value, (int, float, np.number)):
        return text_of(value)
    return "missing" if np.isnan(value) else float(value)


def _one_row(model: FittedGraph, row: Any) -> Table:
    """The row as a table of the columns that the model reads."""
    if hasattr(row, "to_frame") and hasattr(row, "index"):  # a series of pandas
        row = dict(row)
    if isinstance(row, Mapping):
        row = Table(tuple(map(str, row)), tuple(np.array([value]) for value in row.values()), 1)
    elif not isinstance(row, Table) and not hasattr(row, "columns"):
        row = np.atleast_2d(even_array(row, "the row"))
    table = model.code.chosen(row, model.graph.unread)
    if table.n_rows != 1:
        raise DataError(f"one row is explained at a time, got {table.n_rows:,}")
    return table


def example_rows(
    model: FittedGraph, X: Any, X_test: Any, assessment: Assessment, random_state: int
) -> list[ExampleRow]:
    """A few telling test rows of the first target, explained beside the rows that were learned from."""
    chosen = _of_classes(assessment) if assessment.probabilities is not None else _of_numbers(assessment)
    target = model.targets[0] if model.classes is None else None
    examples: dict[int, ExampleRow] = {}
    for what, i in chosen.items():
        if i in examples:
            continue
        row = rows_of(X_test, np.arange(assessment.n_test) == i)
        found = explain_row(model, row, X, target=target, random_state=random_state)
        observed = assessment.observed[i] if model.classes is not None else assessment.observed[i, 0]
        shown = f"{observed:.4g}" if model.classes is None else str(model.classes[observed])
        examples[i] = ExampleRow(f"test row {i + 1:,}, {what}", shown, found)
    return list(examples.values())


def _of_numbers(assessment: Assessment) -> dict[str, int]:
    predicted = assessment.predicted[:, 0]
    order = np.argsort(predicted, kind="stable")
    return {
        "the largest prediction": int(order[-1]),
        "a middling prediction": int(order[len(order) // 2]),
        "the smallest prediction": int(order[0]),
        "the largest error": int(np.abs(assessment.observed[:, 0] - predicted).argmax()),
    }


def _of_classes(assessment: Assessment) -> dict[str, int]:
    assert assessment.probabilities is not None
    given = assessment.probabilities.max(1)
    right = assessment.probabilities[np.arange(assessment.n_test), assessment.observed]
    return {
        "the surest prediction": int(given.argmax()),
        "the least sure prediction": int(given.argmin()),
        "the worst mistake": int(right.argmin()),
    }

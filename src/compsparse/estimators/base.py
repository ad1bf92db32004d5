"""What the estimators of graphs share: reading tables, drawing seeds, fitting a known graph."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_feature_names, validate_data

from compsparse.checks import check_count, check_number, seed_from
from compsparse.errors import DataError
from compsparse.models import FittedGraph
from compsparse.tables import Table, TableCode
from compsparse.tables.targets import free_names, names_in
from compsparse.tables.values import (
    check_cells,
    check_kinds,
    even_array,
    holds_numbers,
    missing_cells,
    plain_values,
    unmasked,
)
from compsparse.text import notebook_html

Estimator = TypeVar("Estimator", bound=BaseEstimator)
Given = ParamSpec("Given")
Answer = TypeVar("Answer")


def whole_or_not_at_all(
    fit: Callable[Concatenate[Estimator, Given], Answer],
) -> Callable[Concatenate[Estimator, Given], Answer]:
    """A fit that fails or is interrupted leaves the estimator as it was, names and number of columns included."""

    @functools.wraps(fit)
    def fit_whole(self: Estimator, /, *args: Given.args, **options: Given.kwargs) -> Answer:
        before = dict(vars(self))
        try:
            return fit(self, *args, **options)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return fit_whole


class _WithWhatWasLearned:
    """The fitted attributes of an estimator's box, and below them what was learned."""

    def __init__(self, attributes: Any, learned: str):
        self._attributes, self._learned = attributes, learned

    def __len__(self) -> int:
        return len(self._attributes) + bool(self._learned)

    def _repr_html_inner(self) -> str:
        return (self._attributes._repr_html_inner() if len(self._attributes) else "") + self._learned


class ShowsWhatItLearned:
    """In a notebook, the graph stands in scikit-learn's own box, open or folded as the box is.

    Versions of scikit-learn before 1.8 show no fitted attributes; their box stays as it is.
    """

    def _get_fitted_attr_html(self, doc_link: str = "") -> _WithWhatWasLearned:
        attributes = super()._get_fitted_attr_html(doc_link)  # type: ignore[misc]
        return _WithWhatWasLearned(attributes, notebook_html(self, "estimator_html"))


class TableEstimator(ShowsWhatItLearned, BaseEstimator):
    """Reads tables: names and counts by scikit-learn's rules, cells by those of :mod:`compsparse.tables`."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        return tags

    def _table(self, X: Any, *, reset: bool) -> Table:
        """The columns of X; ``reset`` takes note of their names, otherwise they must be the ones of ``fit``."""
        X = _as_given(X)
        own = Table.of(X) if _keeps_types(X) else None
        if own is not None and not all(holds_numbers(column) for column in own.columns):
            _check_feature_names(self, X, reset=reset)
            if reset:
                self.n_features_in_ = len(own.columns)
            return own
        # what is wrong with a cell is said by name and row when the table is coded
        options = {"dtype": np.float64, "ensure_all_finite": False, "ensure_min_samples": 0}
        values = validate_data(self, X, reset=reset, **options)
        names = getattr(self, "feature_names_in_", None)
        return Table(None if names is None else tuple(names), tuple(values.T), len(values))

    def _table_for(self, code: TableCode, X: Any) -> Table:
        """Rows to predict, every column checked as in the fit: also one that the graph does not read."""
        table = self._table(X, reset=False)
        code.encoded(table)
        return table

    def _target(self, y: Any, *, classification: bool) -> np.ndarray:
        if y is None:
            raise DataError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        if not classification:
            return even_array(y, "y")
        labels: np.ndarray = column_or_1d(unmasked(y), warn=True)
        there = ~missing_cells(labels)
        if there.any():  # rows without a label are left out later
            filled = plain_values(labels[np.where(there, np.arange(len(labels)), np.argmax(there))])
            what = f"target {(names_in(y) or ['y'])[0]!r}"
            check_cells(filled, what)
            check_kinds(filled, what)
            check_classification_targets(plain_values(labels[there]))
        return labels


class PredictsNumbers(RegressorMixin):
    """Predicts numbers, shaped like the target of ``fit``."""

    flat_target_: bool

    def predict(self, X: Any) -> np.ndarray:
        """Predicted values, shaped like the target of ``fit``."""
        table = self._rows_to_predict(X)
        values: np.ndarray = self._predictor.predict(table)
        return values if self.flat_target_ else values.reshape(len(values), -1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class PredictsClasses(ClassifierMixin):
    """Predicts classes."""

    classes_: np.ndarray

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of every class, in the order of ``classes_``."""
        table = self._rows_to_predict(X)
        shares: np.ndarray = self._predictor.predict_proba(table)
        return shares

    def predict(self, X: Any) -> np.ndarray:
        """The likeliest class of each row."""
        likeliest = self.predict_proba(X).argmax(1)
        labels: np.ndarray = self.classes_[likeliest]
        return labels


def check_verbose(verbose: Any) -> bool:
    """Whether to show progress; numbers say how much, as in scikit-learn."""
    return bool(check_number("verbose", verbose, least=0) if not isinstance(verbose, bool) else verbose)


def _as_given(X: Any) -> Any:
    """A list with cells of other types than numbers, and an array with a mask, as arrays that keep them."""
    if not isinstance(X, (list, tuple)):
        return unmasked(X)
    array = even_array(X, "X")
    return array if array.ndim == 2 and array.dtype.kind not in "biuf" else X


def _keeps_types(X: Any) -> bool:
    """Whether columns, or the cells of an array, are of types of their own."""
    if isinstance(X, np.ndarray):
        return X.ndim == 2 and X.dtype.kind in "OUSVMm"
    return hasattr(X, "columns") and hasattr(X, "shape")


def target_names(y: Any, table: Table) -> list[str] | None:
    """The names that a target carries, kept apart from the columns'; None where it carries none."""
    named = names_in(y)
    return None if named is None else free_names(named, table.names or ())


def classes_like(model: FittedGraph, y: Any) -> np.ndarray:
    """The labels of a model in the type in which the target had them."""
    labels: np.ndarray = np.array(list(model.classes or ()), dtype=np.asarray(y).dtype)
    return labels


def drawn_seed(random_state: Any) -> int:
    """A seed drawn as scikit-learn draws, from what it takes for a random state and from numpy's generators."""
    if isinstance(random_state, np.random.Generator):
        return seed_from(random_state)
    if random_state is not None and not isinstance(random_state, np.random.RandomState):
        random_state = check_count("random_state", random_state, least=0, most=2**32 - 1)
    return int(check_random_state(random_state).randint(2**31 - 1))

"""What the estimators of graphs share: reading tables, drawing seeds, fitting a known graph."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_feature_names, check_is_fitted, validate_data

from compsparse.checks import check_count, check_number, seed_from
from compsparse.errors import DataError
from compsparse.models import FittedGraph, fit_model
from compsparse.networks import Sharing
from compsparse.progress import shown
from compsparse.tables import Table, TableCode
from compsparse.tables.targets import free_names, names_in
from compsparse.tables.values import check_cells, check_kinds, even_array, holds_numbers, plain_values, unmasked
from compsparse.training import FitConfig, TrainingConfig, TrainingStatus
from compsparse.training.recipes import HALVING_TWICE, usual_steps

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


class TableEstimator(BaseEstimator):
    """Reads tables: names and counts by scikit-learn's rules, cells by those of :mod:`compsparse.tables`."""

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
        cells, what = plain_values(labels), f"target {(names_in(y) or ['y'])[0]!r}"
        check_cells(cells, what)
        check_kinds(cells, what)
        check_classification_targets(labels)
        return labels


class PredictsNumbers(RegressorMixin):
    """Predicts numbers with ``model_``, shaped like the target of ``fit``."""

    model_: FittedGraph
    flat_target_: bool

    def predict(self, X: Any) -> np.ndarray:
        """Predicted values, shaped like the target of ``fit``."""
        table = self._rows_to_predict(X)
        values = self.model_.predict(table)
        return values if self.flat_target_ else values.reshape(len(values), -1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class PredictsClasses(ClassifierMixin):
    """Predicts the classes of ``model_``."""

    model_: FittedGraph
    classes_: np.ndarray

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of every class, in the order of ``classes_``."""
        table = self._rows_to_predict(X)
        return self.model_.predict_proba(table)

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
        return X.ndim == 2 and X.dtype.kind in "OUSV"
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


class GraphEstimator(TableEstimator):
    """Base of :class:`GraphRegressor` and :class:`GraphClassifier`; they document the parameters."""

    def __init__(
        self,
        graph: Any = None,
        *,
        width: int = 24,
        depth: int = 2,
        activation: str = "silu",
        channels: int = 1,
        share: Sharing = "none",
        n_restarts: int = 64,
        n_keep: int = 4,
        n_steps: int | None = None,
        batch_size: int | None = 128,
        learning_rate: float = 1.5e-2,
        weight_decay: float = 1e-3,
        refine_iterations: int = 60,
        layerwise: bool = False,
        penalties: Any = (),
        validation_fraction: float = 0.2,
        time_limit: float | None = None,
        device: str | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ):
        self.graph = graph
        self.width = width
        self.depth = depth
        self.activation = activation
        self.channels = channels
        self.share = share
        self.n_restarts = n_restarts
        self.n_keep = n_keep
        self.n_steps = n_steps
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.refine_iterations = refine_iterations
        self.layerwise = layerwise
        self.penalties = penalties
        self.validation_fraction = validation_fraction
        self.time_limit = time_limit
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, X: Any, y: Any, sample_weight: Any, *, classification: bool) -> None:
        """Fits ``model_``."""
        table = self._table(X, reset=True)
        target = self._target(y, classification=classification)
        with shown(f"fitting {type(self).__name__}", check_verbose(self.verbose)) as progress:
            self.model_: FittedGraph = fit_model(
                self.graph,
                table,
                target,
                outputs=target_names(y, table),
                classification=classification,
                sample_weight=sample_weight,
                width=self.width,
                depth=self.depth,
                activation=self.activation,
                channels=self.channels,
                share=self.share,
                config=self._fit_config(table.n_rows),
                penalties=self.penalties,
                validation_fraction=self.validation_fraction,
                random_state=drawn_seed(self.random_state),
                device=self.device,
                progress=progress,
                time_limit=self.time_limit,
            )
        self.graph_, self.network_ = self.model_.graph, self.model_.network
        self.n_iter_, self.fit_seconds_ = self.model_.n_iter, self.model_.seconds
        self.validation_loss_ = self.model_.validation_loss
        if self.model_.status in (TrainingStatus.INTERRUPTED, TrainingStatus.OUT_OF_TIME):
            warnings.warn(self.model_.status.value, UserWarning, stacklevel=3)

    def _fit_config(self, n_rows: int) -> FitConfig:
        return FitConfig(
            n_restarts=self.n_restarts,
            n_keep=self.n_keep,
            training=TrainingConfig(
                n_steps=usual_steps(n_rows) if self.n_steps is None else self.n_steps,
                batch_size=self.batch_size,
                learning_rate=self.learning_rate,
                weight_decay=self.weight_decay,
                rungs=HALVING_TWICE,
            ),
            layerwise=self.layerwise,
            refine_iterations=self.refine_iterations,
        )

    def _rows_to_predict(self, X: Any) -> Table:
        check_is_fitted(self, "model_")
        return self._table_for(self.model_.code, X)

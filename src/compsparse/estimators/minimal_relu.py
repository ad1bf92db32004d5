"""Regression by the smallest shallow ReLU network that passes through all the data."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from compsparse.checks import check_unmasked, seed_from, suggests_options
from compsparse.estimators.base import ShowsWhatItLearned, whole_or_not_at_all
from compsparse.sparse.memorisation import memorise
from compsparse.sparse.memorisation.problem import Bias, Norm


@suggests_options
@dataclass(kw_only=True, eq=False, repr=False)
class MinimalReLURegressor(ShowsWhatItLearned, RegressorMixin, BaseEstimator):
    """Interpolates the training data by the shallow ReLU network of least norm.

    For few, noise-free data: the network meets every label. Rows that are repeated must have equal labels.

    Parameters:
        norm, bias: what is least, see :func:`~compsparse.sparse.memorisation.memorise`.
        time_limit: seconds after which the best network so far is taken, with a warning; None takes as long as it
            takes.
        max_rounds: the same in rounds of column generation.
        tol: relative gap to reach.
        random_state: seed of the search for cells.

    Attributes:
        memorised_: the :class:`~compsparse.sparse.memorisation.Memorised` record.
        n_neurons_: neurons of the network, at most as many as data.
        gap_: how far its cost may be above the least, relatively;
            ``memorised_.certificate.rigour`` says how sure that is.

    >>> import numpy as np
    >>> X = np.linspace(-1, 1, 9)[:, None]
    >>> model = MinimalReLURegressor().fit(X, np.abs(X[:, 0]))
    >>> bool(model.gap_ < 1e-8), bool(model.score(X, np.abs(X[:, 0])) > 0.999)
    (True, True)
    """

    norm: Norm = "weight-decay"
    bias: Bias = "penalised"
    time_limit: float | None = None
    max_rounds: int = 200
    tol: float = 1e-9
    random_state: Any = None

    @whole_or_not_at_all
    def fit(self, X: Any, y: Any) -> MinimalReLURegressor:
        """Finds the network."""
        check_unmasked("y", y)
        X, y = validate_data(self, check_unmasked("X", X), y, dtype=np.float64, y_numeric=True, ensure_min_samples=2)
        seed = seed_from(self.random_state)
        self.memorised_ = memorise(
            X,
            y,
            norm=self.norm,
            bias=self.bias,
            time_limit=self.time_limit,
            max_rounds=self.max_rounds,
            tol=self.tol,
            random_state=seed,
        )
        if self.memorised_.status.is_cut_short:
            warnings.warn(self.memorised_.status.value, UserWarning, stacklevel=2)
        self.n_neurons_, self.gap_ = self.memorised_.n_neurons, self.memorised_.gap
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The network's values."""
        check_is_fitted(self, "memorised_")
        return self.memorised_.predict(validate_data(self, check_unmasked("X", X), dtype=np.float64, reset=False))

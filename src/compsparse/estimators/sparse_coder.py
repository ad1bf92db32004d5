"""Sparse codes as a scikit-learn transformer."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, get_args

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from compsparse.checks import check_choice, check_count, check_numbers, check_unmasked, generator_from, suggests_options
from compsparse.errors import DataError
from compsparse.estimators.base import whole_or_not_at_all
from compsparse.sizes import check_size
from compsparse.sparse.penalised import lasso
from compsparse.sparse.pursuit import basis_pursuit, omp
from compsparse.sparse.solution import CodeSolution, GreedySolution

CoderMethod = Literal["lasso", "basis_pursuit", "omp"]


@suggests_options
@dataclass(eq=False, repr=False)
class SparseCoder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""Turns rows into sparse codes over a dictionary, given or learned, each with its duality gap.

    Parameters:
        dictionary: (n_features, n_atoms), a column per atom; None learns one from the rows given to ``fit``.
        n_atoms: size of a learned dictionary; twice the number of columns by default.
        method: ``lasso``; ``basis_pursuit``, the least norm within ``noise``; ``omp``, at most ``n_nonzero`` atoms.
        lam: penalty of the Lasso, :math:`\|x - W z\|^2 + \lambda \|z\|_1`; None is a tenth of the penalty above
            which a row's code is zero, for each row.
        tol: largest duality gap over the row's squared norm (half of it in the scaling with 1/2), one for all rows
            or one per row.
        noise: largest norm of the residual for basis pursuit, one for all rows or one per row.
        n_nonzero: most atoms of a code of matching pursuit; a tenth of the columns, at least 1, by default.
        positive: Lasso codes must not be negative.
        n_passes: passes over the rows while a dictionary is learned.
        random_state: an integer gives the same dictionary twice.

    Attributes:
        dictionary_: (n_features, n_atoms).
        gap_: relative duality gaps of the codes of the rows given to ``fit``; None for ``omp``. Those of other rows
            are in :meth:`solution`.

    >>> coder = SparseCoder(np.eye(2), lam=1.0).fit(np.zeros((1, 2)))
    >>> coder.transform([[3.0, -0.2]])
    array([[2.5, 0. ]])
    """

    dictionary: Any = None
    _: KW_ONLY
    n_atoms: int | None = None
    method: CoderMethod = "lasso"
    lam: Any = None
    tol: Any = 1e-6
    noise: Any = 0.0
    n_nonzero: int | None = None
    positive: bool = False
    n_passes: int = 20
    random_state: Any = None

    def fit(self, X: Any, y: Any = None) -> SparseCoder:
        """Takes the dictionary, or learns one from the rows."""
        self.fit_transform(X, y)
        return self

    @whole_or_not_at_all
    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Codes of the rows that the dictionary is fitted to."""
        check_choice("method", self.method, get_args(CoderMethod))
        rows = validate_data(self, check_unmasked("X", X), dtype=np.float64)
        self.dictionary_ = self._learned(rows) if self.dictionary is None else self._given(rows.shape[1])
        self._n_features_out = self.dictionary_.shape[1]
        solution = self._solve(rows)
        self.gap_ = getattr(solution, "relative_gap", None)
        return np.asarray(solution.codes)

    def transform(self, X: Any) -> np.ndarray:
        """Codes (n_rows, n_atoms)."""
        return np.asarray(self.solution(X).codes)

    def solution(self, X: Any) -> CodeSolution | GreedySolution:
        """Codes with the gap and status of every row."""
        check_is_fitted(self, "dictionary_")
        return self._solve(validate_data(self, check_unmasked("X", X), dtype=np.float64, reset=False))

    def _solve(self, rows: np.ndarray) -> CodeSolution | GreedySolution:
        W = self.dictionary_
        if self.method == "omp":
            return omp(rows, W, max(W.shape[0] // 10, 1) if self.n_nonzero is None else self.n_nonzero)
        if self.method == "basis_pursuit":
            return basis_pursuit(rows, W, noise=self.noise, tol=self.tol)
        return lasso(rows, W, self._penalties(rows), self.tol, positive=self.positive)

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Rows that the codes X stand for."""
        check_is_fitted(self, "dictionary_")
        Z = check_numbers("X", X, finite=False)
        if Z.ndim != 2 or Z.shape[1] != self.dictionary_.shape[1]:
            raise DataError(f"codes must have shape (n_rows, {self.dictionary_.shape[1]}), got {Z.shape}")
        return np.asarray(Z @ self.dictionary_.T)

    def _penalties(self, rows: np.ndarray) -> Any:
        if self.lam is not None:
            return self.lam
        peak = 2 * np.abs(rows @ self.dictionary_).max(axis=1)
        return np.where(peak > 0, 0.1 * peak, 1.0)

    def _given(self, n_features: int) -> np.ndarray:
        from compsparse.sparse.dictionaries import check_dictionary

        W = check_dictionary(self.dictionary)
        if len(W) != n_features:
            raise DataError(f"a dictionary of shape {W.shape} has no codes for rows of {n_features} columns")
        return W

    def _learned(self, rows: np.ndarray) -> np.ndarray:
        from sklearn.decomposition import MiniBatchDictionaryLearning

        n_atoms = 2 * rows.shape[1] if self.n_atoms is None else check_count("n_atoms", self.n_atoms)
        # scikit-learn's learner keeps two such tables and a square one
        size = float(n_atoms) * (3 * rows.shape[1] + n_atoms + len(rows))
        check_size(f"{n_atoms:,} atoms", size, "ask for fewer")
        rng = generator_from(self.random_state)
        # one penalty for all rows, in scikit-learn's scaling with 1/2
        scale = float(np.linalg.norm(rows, axis=1).mean())
        learner = MiniBatchDictionaryLearning(
            n_atoms,
            alpha=0.1 * scale or 1.0,
            max_iter=check_count("n_passes", self.n_passes),
            fit_algorithm="cd",
            batch_size=min(256, len(rows)),
            random_state=int(rng.integers(2**31)) if rng is self.random_state else self.random_state,
        )
        atoms = learner.fit(rows).components_.T
        # atoms that no row used may be zero: they become directions at random
        empty = np.linalg.norm(atoms, axis=0) < 1e-8
        atoms[:, empty] = rng.standard_normal((len(atoms), int(empty.sum())))
        return np.asarray(atoms / np.linalg.norm(atoms, axis=0))

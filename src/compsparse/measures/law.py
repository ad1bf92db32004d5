"""Effective laws: straight lines through logarithms, with confidence intervals."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from compsparse.checks import check_number, check_numbers, check_options
from compsparse.errors import ConfigError, DataError

_MOST_ENTRIES = 10**7


@dataclass(frozen=True)
class Law:
    r"""y = C \prod_i x_i^{a_i}, fitted by least squares to logarithms.

    Attributes:
        exponents, errors: by the name of the variable; errors are half widths of confidence intervals.
        prefactor: C.
        residual: standard deviation of log y around the law.
    """

    exponents: Mapping[str, float]
    errors: Mapping[str, float]
    prefactor: float
    residual: float
    confidence: float
    n_points: int

    def text(self) -> str:
        """The law as a formula, exponents with their errors."""
        terms = " ".join(f"{n}^({self.exponents[n]:.2f} ± {self.errors[n]:.2f})" for n in self.exponents)
        return f"{self.prefactor:.3g} {terms}"

    def __call__(self, **variables: float) -> float:
        """What the law says at a point."""
        for name in self.exponents:
            if name not in variables:
                raise ConfigError(f"the law needs a value of {name!r}")
        check_options("the law", variables, self.exponents)
        for name, value in variables.items():
            check_number(name, value, above=0)
        return self.prefactor * float(np.prod([variables[n] ** a for n, a in self.exponents.items()]))


def fit_law(
    variables: Mapping[str, Sequence[float]],
    y: Sequence[float],
    *,
    groups: Sequence[object] | None = None,
    confidence: float = 0.95,
) -> Law:
    """Fits a power law.

    Errors are infinite where there are only as many sizes as parameters, since nothing is left to judge the fit by.

    Args:
        variables: the values of each variable, by its name.
        groups: a label per point; each group has a prefactor of its own and only exponents are shared. The
            law's prefactor is then the geometric mean of theirs.

    >>> law = fit_law({"m": [2, 4, 8]}, [12, 48, 192])
    >>> round(law.exponents["m"], 6), round(law.prefactor, 6)
    (2.0, 3.0)
    """
    check_number("confidence", confidence, above=0, below=1)
    if not isinstance(variables, Mapping) or not variables:
        raise DataError(f"a law needs a mapping from names of variables to their values, got {variables!r}")
    target = check_numbers("y", y, finite=False)
    found = [check_numbers(str(name), x, finite=False) for name, x in variables.items()]
    if target.ndim != 1 or any(x.shape != target.shape for x in found):
        raise DataError("a law needs one value of every variable for each y")
    columns = np.array(found)
    if not all(np.all(np.isfinite(values) & (values > 0)) for values in (columns, target)):
        raise DataError("a power law needs positive finite numbers")
    is_listed = isinstance(groups, (Sequence, np.ndarray)) and not isinstance(groups, str)
    if groups is not None and not (is_listed and all(isinstance(label, Hashable) for label in groups)):
        raise DataError(f"groups must be labels, one per point, got {groups!r}")
    labels = [0] * len(target) if groups is None else list(groups)
    if len(labels) != len(target):
        raise DataError(f"{len(target)} points need as many groups, got {len(labels)}")
    if len(target) * len(set(labels)) > _MOST_ENTRIES:
        raise DataError(f"{len(target):,} points in {len(set(labels)):,} groups are too many for one fit")
    offsets = np.array([[label == other for other in dict.fromkeys(labels)] for label in labels], dtype=float)
    design, log_y = np.column_stack([np.log(columns).T, offsets]), np.log(target)
    n, n_parameters = design.shape
    if n < n_parameters:
        raise DataError(
            f"{n} size{'' if n == 1 else 's'} cannot determine a law of {n_parameters} parameters (an exponent for "
            "each variable, a prefactor for each group): measure more of them"
        )
    if np.linalg.matrix_rank(design) < n_parameters:
        raise DataError(f"{len(target)} points do not determine the exponents of {list(variables)}")
    solution = np.linalg.lstsq(design, log_y, rcond=None)[0]
    freedom = n - n_parameters
    residual = float(np.sqrt(np.sum((log_y - design @ solution) ** 2) / freedom)) if freedom else 0.0
    spread = residual * np.sqrt(np.diag(np.linalg.inv(design.T @ design)))
    half = spread * stats.t.ppf((1 + confidence) / 2, freedom) if freedom else np.full(len(solution), np.inf)
    k = len(variables)
    return Law(
        dict(zip(variables, solution[:k].tolist(), strict=True)),
        dict(zip(variables, half[:k].tolist(), strict=True)),
        float(np.exp(solution[k:].mean())),
        residual,
        confidence,
        len(target),
    )

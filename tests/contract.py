"""The checks of scikit-learn's contract as parameters of a test, the longest of them marked."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import estimator_checks_generator


def contract(
    *estimators: BaseEstimator, light: Mapping[str, int], expected_failures: Mapping[str, str] | None = None
) -> pytest.MarkDecorator:
    """Parametrises a test of ``(estimator, check)``.

    Args:
        light: how many variants of a long check (its types of arrays) run every time, by its name; the others
            are heavy, and ``make test-all`` runs them.
        expected_failures: reason by the name of the check.
    """
    entries = [entry for e in estimators for entry in _entries(e, light, dict(expected_failures or {}))]
    return pytest.mark.parametrize(("estimator", "check"), entries)


def _entries(estimator: BaseEstimator, light: Mapping[str, int], expected_failures: dict[str, str]) -> Iterator[Any]:
    seen: Counter[str] = Counter()
    for entry in estimator_checks_generator(estimator, expected_failed_checks=expected_failures, mark="xfail"):
        # an expected failure comes as a parameter with its mark
        marks, (one, check) = getattr(entry, "marks", ()), getattr(entry, "values", entry)
        name = check.func.__name__ if hasattr(check.func, "__name__") else check.func.func.__name__
        seen[name] += 1
        is_heavy = seen[name] > light.get(name, seen[name])
        marks = (*marks, pytest.mark.heavy) if is_heavy else marks
        yield pytest.param(one, check, marks=marks, id=f"{type(estimator).__name__}-{name}")

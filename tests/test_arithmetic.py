"""Sums of products against rational arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compsparse.arithmetic import bounded_product, two_product, two_sum

numbers = st.floats(-1e60, 1e60, allow_subnormal=False).filter(lambda v: v == 0 or abs(v) > 1e-60)


@given(numbers, numbers)
def test_nothing_is_lost(a, b):
    total, dropped = two_sum(np.array(a), np.array(b))
    assert Fraction(float(total)) + Fraction(float(dropped)) == Fraction(a) + Fraction(b)
    product, lost = two_product(np.array(a), np.array(b))
    assert Fraction(float(product)) + Fraction(float(lost)) == Fraction(a) * Fraction(b)


@settings(max_examples=60)
@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=12), st.booleans())
def test_the_exact_sum_lies_between_the_bounds(terms, cancel):
    if cancel:
        terms = [*terms, *((-a, b) for a, b in terms), (1e-7, 1.0)]
    A, B = np.array([[a for a, _ in terms]]), np.array([[b] for _, b in terms])
    found = bounded_product(A, B)
    exact = sum(Fraction(a) * Fraction(b) for a, b in terms)
    assert Fraction(float(found.lower[0, 0])) <= exact <= Fraction(float(found.upper[0, 0]))
    size = sum(abs(a * b) for a, b in terms)
    assert found.error[0, 0] <= 1e-15 * abs(found.value[0, 0]) + 1e-28 * size


@pytest.mark.parametrize("off", [0.0, 1e-3, 2.0])
def test_errors_of_the_entries_are_passed_on(off):
    A, B = np.array([[1.0, 2.0]]), np.array([[3.0], [-4.0]])
    found = bounded_product(A, B, np.full((1, 2), off))
    worst = (A + off * np.sign(B.T)) @ B
    assert found.lower[0, 0] <= -worst[0, 0] + 2 * (A @ B)[0, 0]
    assert found.upper[0, 0] >= worst[0, 0]

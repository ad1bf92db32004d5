"""The counting bound against all circuits of few gates."""

from itertools import combinations, product

import numpy as np
import pytest

from compsparse.errors import ConfigError
from compsparse.representations.boolean import circuits_log2, least_gates
from compsparse.representations.boolean.reading import all_rows


def functions_of(n, most_gates):
    """All functions of n bits that so many gates of two arguments compute, as numbers, by trying all circuits."""
    full = (1 << (1 << n)) - 1
    inputs = [sum(int(b) << r for r, b in enumerate(column)) for column in all_rows(n).T]
    found = {0, full, *inputs, *(full ^ x for x in inputs)}
    circuits = {tuple(inputs)}
    for _ in range(most_gates):
        grown = set()
        for values in circuits:
            for (a, b), table in product(combinations(values, 2), product((0, 1), repeat=4)):
                rows = [full & (a if i else ~a) & (b if j else ~b) for i, j in product((0, 1), repeat=2)]
                value = sum(row for row, bit in zip(rows, table, strict=True) if bit)
                if value not in values:
                    grown.add((*values, value))
        circuits = grown
        found |= {values[-1] for values in circuits}
    return found


@pytest.mark.parametrize(("n", "gates"), [(2, 1), (3, 1), (3, 2)])
def test_there_are_no_more_functions_than_counted(n, gates):
    exact = len(functions_of(n, gates))
    assert np.log2(exact) <= circuits_log2(n, gates)
    assert exact > len(functions_of(n, gates - 1))


def test_most_functions_need_gates_that_grow_as_two_to_the_n_over_n():
    needed = np.array([least_gates(n).lower for n in (12, 14, 16)])
    assert np.allclose(needed / [2**n / (2 * n) for n in (12, 14, 16)], 1.45, atol=0.15)
    certificate = least_gates(5)
    assert certificate.holds
    assert certificate.lower <= certificate.value < certificate.upper
    # with one gate fewer the circuits do not suffice
    assert circuits_log2(5, int(certificate.lower)) >= 2**5 - 1 > circuits_log2(5, int(certificate.lower) - 1)


def test_a_table_of_a_thousand_variables_holds_more_bits_than_the_universe():
    """The 2022 memo's argument: 2^1000 values, against a circuit of as many gates as variables."""
    assert 2**1000 > 10**80
    assert circuits_log2(1000, 1000) < 30_000  # a circuit is told by few bits


def test_bad_questions():
    with pytest.raises(ConfigError):
        least_gates(25)
    with pytest.raises(ConfigError):
        least_gates(5, share=1.0)

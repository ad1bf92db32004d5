"""The rules by which claims on programs and written answers are judged."""

import numpy as np
import pytest
from tests.claims.declared import outcome_of

from compsparse.claims import Outcome

S, R, U = Outcome.SUPPORTED, Outcome.REFUTED, Outcome.INCONCLUSIVE
GOOD = {
    "error in units of 2^-m, sum, m=4": 0.0,
    "error in units of 2^-m, sine, CORDIC, m=4": 0.9,
    "arity, sum, m=4": 3.0,
    "network differs, sum, m=4": 0.0,
    "exponent of the gates, sum": [0.9, 1.0],
    "exponent of the gates, quotient, long division": [1.9, 2.1],
    "exponent of the gates, sine, CORDIC": [1.3, 1.7],
    "exponent of the gates, root, Newton": [2.7, 3.1],
}


@pytest.mark.parametrize(
    ("changed", "outcome"),
    [
        ({}, S),
        ({"error in units of 2^-m, sine, CORDIC, m=4": 7.0}, R),
        ({"arity, sum, m=4": 4.0}, R),
        ({"network differs, sum, m=4": 0.01}, R),
        ({"exponent of the gates, root, Newton": [4.0, 5.0]}, R),
        ({"exponent of the gates, root, Newton": [3.0, 5.0]}, U),
    ],
)
def test_programs_are_judged_by_errors_arities_networks_and_gates(changed, outcome):
    values = {name: np.atleast_1d(value) for name, value in (GOOD | changed).items()}
    assert outcome_of("programs-are-sparse-graphs", values) is outcome


@pytest.mark.parametrize(("wrong", "exponent", "outcome"), [(0.0, 1.0, S), (0.1, 1.0, R), (0.0, 2.0, R)])
def test_written_answers_must_be_right_and_cheap(wrong, exponent, outcome):
    values = {
        "wrong answers": np.full(3, wrong),
        "arity": np.full(3, 2.0),
        "exponent of the gates": np.array([exponent]),
    }
    assert outcome_of("written-answers-are-sparse-graphs", values) is outcome

"""What a discovery found, in a few sentences."""

from dataclasses import replace

import numpy as np
import pytest
from tests.fitted import CLASS_GRAPH, GRAPH, LABELS, TABLE, Y, classes_model, discovery_of, numbers_model

from compsparse.discovery import discover
from compsparse.models import Score, assess
from compsparse.report.summary import summary
from compsparse.tables import split_table


@pytest.fixture(scope="module")
def numbers():
    return discovery_of(GRAPH, numbers_model())


def test_the_inputs_that_act_come_first_then_groups_by_how_sure_they_are(numbers):
    assert summary(numbers) == [
        "4 of 5 inputs act: a, b, c <m/s>, metal. No effect of the others was seen.",
        "Each of these groups acts through one number (strong): {a, b}, {c <m/s>, metal}.",
    ]
    first, second = numbers.evidence
    doubted = replace(numbers, evidence=(first, replace(second, doubts=("it may not hold",))))
    assert summary(doubted)[1:] == [
        "This group of inputs acts through one number (strong): {a, b}.",
        "This group of inputs acts through one number (not sure): {c <m/s>, metal}.",
    ]


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (lambda X: X.sum(1), "They combine as in a sum or a product"),
        (lambda X: X[:, 0] * X[:, 1] + X[:, 1] * X[:, 2] + X[:, 2] * X[:, 0], "The 3 inputs act together"),
    ],
)
def test_what_acts_together_is_said_where_there_are_no_groups(function, told):
    act, together = summary(discover(function, bounds=[(0.5, 1.5)] * 3, random_state=0))
    assert act == "All 3 inputs act."
    assert together.startswith(told)


def test_the_typical_error_is_the_root_of_the_mean_square(numbers):
    split = split_table(TABLE, Y, random_state=0)
    assessment = assess(numbers.model, split, others=[Score("boosting (untuned)", 0.5, 1.0)])
    *_, scores, errors = summary(numbers, assessment)
    assert scores.endswith("boosting 0.500.")
    size = np.sqrt(np.mean((assessment.observed[:, 0] - assessment.predicted[:, 0]) ** 2))
    assert f"{size:.3g} in {assessment.targets[0]}" in errors


def test_classes_are_counted():
    found = discovery_of(CLASS_GRAPH, classes_model())
    assessment = assess(found.model, split_table(TABLE, LABELS, classification=True, random_state=0))
    *_, scores = summary(found, assessment)
    assert (
        scores
        == f"Right on {assessment.n_test} rows that none of them saw: fitted graph {assessment.own.accuracy:.1%}."
    )

"""Premises and rules that are declared: each kind of bar, on numbers whose outcome is plain."""

import numpy as np
import pytest

from compsparse.claims import Bar, Claim, Measured, Outcome, judge_measured, run_claim
from compsparse.errors import ConfigError

S, R, U = Outcome.SUPPORTED, Outcome.REFUTED, Outcome.INCONCLUSIVE
VALUES = {
    "low": np.array([0.09, 0.1, 0.11]),
    "high": np.array([0.9, 1.0, 1.1]),
    "zero": np.zeros(3),
    "error": np.array([0.0, 0.0, 0.9]),
    "unit": 10.0,
    "slope, a": np.array([-2.01, -1.99, -2.0]),
    "slope, b": np.array([-1.02, -0.98, -1.0]),
}


@pytest.mark.parametrize(
    ("bar", "outcome"),
    [
        ({"of": "low", "at_most": 0.2}, S),
        ({"of": "high", "at_most": 0.2}, R),
        ({"of": "low", "at_most": 0.1}, U),
        ({"of": "high", "at_most": 0.2, "refuted_beyond": 2}, U),
        ({"of": "high", "at_least": 0.2, "in_units_of": "unit"}, R),
        ({"of": "high", "over": "low", "within": [5, 20]}, S),
        ({"of": "high", "over": "zero", "at_least": 1}, U),
        ({"of": "high", "less": "low", "at_least": 0.5}, S),
        ({"of": "low", "less": "zero", "equal": 0.2}, S),
        ({"of": "zero", "less": "zero", "equal": 0.2}, U),
        ({"of": "high", "where": {"error": 0.1}, "at_least": 0.1}, S),
        ({"of": "high", "where": {"error": -1}, "at_least": 0.5}, U),
        ({"of": "high", "spread": "seeds", "at_most": 1}, U),
        ({"of": "unit", "spread": "seeds", "at_least": 9}, S),
        ({"of": "unit", "at_least": 9}, U),
        ({"of": "slope, a", "exponent": -2, "rivals": [-1, -3]}, S),
        ({"of": "slope, *", "exponent": -2, "rivals": [-1, -3]}, R),
    ],
)
def test_rules(bar, outcome):
    assert judge_measured(Measured(VALUES), (Bar.declared(bar),), ()).outcome is outcome


@pytest.mark.parametrize(
    ("premise", "holds"),
    [
        ({"of": "low", "at_most": 0.2}, True),
        ({"of": "error", "at_most": 0.2}, False),
        ({"of": "high", "over": "zero", "at_most": 9}, False),
        ({"of": "high", "where": {"error": -1}, "at_least": 0}, False),
    ],
)
def test_nothing_is_decided_where_a_premise_fails(premise, holds):
    found = judge_measured(Measured(VALUES), (Bar("low", at_most=0.2),), (Bar.declared(premise),))
    assert found.outcome is (S if holds else U)
    assert [p.holds for p in found.premises] == [holds]


@pytest.mark.parametrize(
    ("bar", "message"),
    [
        ({"of": "low"}, "asks one thing"),
        ({"of": "low", "at_most": 1, "at_least": 0}, "asks one thing"),
        ({"of": "low", "at_mots": 1}, "did you mean 'at_most'"),
        ({"of": "lwo", "at_most": 1}, "no value that was measured is called 'lwo'"),
        ({"of": "slope; *", "at_most": 1}, "no value that was measured is called"),
    ],
)
def test_bars_that_ask_nothing_are_refused(bar, message):
    with pytest.raises(ConfigError, match=message):
        judge_measured(Measured(VALUES), (Bar.declared(bar),), ())


def test_a_declared_claim_is_run_and_says_what_it_found():
    rules, premises = (Bar("low", at_most=0.2),), (Bar("error", at_most=0.5, what="the error"),)
    claim = Claim(
        "toy", "One is one.", "Peano 1889", "proved", lambda profile, progress: Measured(VALUES, also="more"),
        expected="small", rules=rules, premises=premises,
    )  # fmt: skip
    verdict = run_claim(claim)
    assert verdict.outcome is S
    assert verdict.measured == "low 0.075 to 0.12; more"
    assert verdict.expected == "small. Nothing is decided unless the error is at most 0.5"
    assert verdict.numbers["high"] == pytest.approx(1.0)

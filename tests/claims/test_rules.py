"""The rules of claims on synthetic data: what supports, what refutes and what decides nothing."""

import math

import numpy as np
import pytest
from scipy import stats

from compsparse.claims import Finding, Outcome, Premise
from compsparse.claims.rules import (
    Interval,
    StatedExponent,
    all_of,
    exponent_interval,
    geometric_interval,
    judge_at_least,
    judge_at_most,
    judge_equal,
    judge_exponent,
    judge_law,
    judge_within,
    mean_interval,
    share_interval,
)
from compsparse.errors import ConfigError, DataError
from compsparse.measures import fit_law, threshold

SQUARE = StatedExponent(2.0, rivals=(1.0, 3.0))
SIZES = np.array([1.0, 2.0, 3.0, 5.0])


def drawn(exponent, noise, rng, *, groups=2, sizes=SIZES):
    """P* of several models with prefactors of their own, and log-normal noise."""
    x = np.tile(sizes, groups)
    labels = np.repeat(np.arange(groups), len(sizes))
    return x, 7.0 * 3.0**labels * x**exponent * np.exp(noise * rng.standard_normal(len(x))), labels.tolist()


def fitted(exponent, noise, rng, **shape):
    x, y, groups = drawn(exponent, noise, rng, **shape)
    return fit_law({"x": x}, y, groups=groups)


def outcomes(exponent, noise, *, trials=300, **shape):
    rng = np.random.default_rng(1)
    found = [judge_law(fitted(exponent, noise, rng, **shape), {"x": SQUARE}) for _ in range(trials)]
    return {outcome: found.count(outcome) / trials for outcome in Outcome}


def test_data_of_the_law_support_it_and_seldom_refute_it():
    shares = outcomes(2.0, 0.15)
    assert shares[Outcome.SUPPORTED] > 0.93
    assert shares[Outcome.REFUTED] < 0.025


@pytest.mark.parametrize("exponent", [1.0, 1.5, 2.5, 3.0])
def test_data_of_another_exponent_refute_the_law(exponent):
    shares = outcomes(exponent, 0.1)
    assert shares[Outcome.REFUTED] > 0.9
    assert shares[Outcome.SUPPORTED] < 0.05


@pytest.mark.parametrize("shape", [{"noise": 2.0}, {"noise": 0.3, "groups": 1, "sizes": np.array([1.0, 1.5, 2.0])}])
def test_noisy_or_few_data_decide_nothing(shape):
    noise = shape.pop("noise")
    for exponent in (2.0, 2.5):
        assert outcomes(exponent, noise, **shape)[Outcome.INCONCLUSIVE] > 0.85


def test_an_exponent_of_a_rival_is_never_supported_beyond_the_level_of_the_test():
    for exponent in (1.0, 3.0):
        for noise in (0.05, 0.2, 0.5, 1.0):
            assert outcomes(exponent, noise)[Outcome.SUPPORTED] <= 0.05


@pytest.mark.parametrize(("noise", "shape"), [(0.1, {}), (0.5, {"groups": 3}), (0.2, {"groups": 1})])
def test_intervals_of_exponents_hold_the_truth_19_times_in_20(noise, shape):
    rng, trials = np.random.default_rng(0), 2000
    intervals = [exponent_interval(fitted(2.3, noise, rng, **shape), "x") for _ in range(trials)]
    held = np.mean([i.low <= 2.3 <= i.high for i in intervals])
    assert held == pytest.approx(0.95, abs=4 * math.sqrt(0.95 * 0.05 / trials))


def measured_p_star(true, rng, n_seeds=3):
    """P* of learning curves like those of networks: every seed has a place and a steepness of its own."""
    sizes = np.round(true * np.array([0.5, 0.71, 1.0, 1.41, 2.0]))
    places = true * np.exp(0.15 * rng.standard_normal((n_seeds, len(sizes)))) / 8 ** (1 / 3)
    errors = 0.9 / (1 + (sizes / places) ** 3)
    return threshold(dict(zip(sizes, errors.T.tolist(), strict=True)), n_resamples=1).value


def test_intervals_hold_the_truth_when_sizes_are_read_off_learning_curves():
    """End to end: curves of three seeds, thresholds, a law with a prefactor a model, its interval."""
    rng, trials, held = np.random.default_rng(2), 400, 0
    x, groups = np.tile([1.0, 2.0, 3.0], 2), [0, 0, 0, 1, 1, 1]
    for _ in range(trials):
        y = [measured_p_star(400 * 3.0**g * s**2.0, rng) for s, g in zip(x, groups, strict=True)]
        interval = exponent_interval(fit_law({"x": x}, y, groups=groups), "x")
        held += interval.low <= 2.0 <= interval.high
    assert held / trials == pytest.approx(0.95, abs=4 * math.sqrt(0.95 * 0.05 / trials))


def test_the_full_runs_that_were_called_support_do_not_support():
    assert judge_exponent(SQUARE, Interval(2.12, 2.30)) is Outcome.REFUTED
    assert judge_exponent(StatedExponent(1.0, rivals=(0.5, 1.5)), Interval(1.02, 1.32)) is Outcome.INCONCLUSIVE
    assert judge_exponent(StatedExponent(3.0, rivals=(2.0, 4.0)), Interval(3.03, 3.63)) is Outcome.INCONCLUSIVE


@pytest.mark.parametrize(
    ("low", "high", "outcome"),
    [
        (1.95, 2.05, Outcome.SUPPORTED),
        (2.02, 2.08, Outcome.SUPPORTED),  # equivalent, though 2 is outside
        (2.02, 2.14, Outcome.INCONCLUSIVE),  # neither holds 2 nor lies within the margin
        (1.5, 3.2, Outcome.INCONCLUSIVE),  # a rival is left
        (2.11, 2.14, Outcome.REFUTED),
        (-math.inf, math.inf, Outcome.INCONCLUSIVE),
    ],
)
def test_exponents_by_their_intervals(low, high, outcome):
    assert judge_exponent(SQUARE, Interval(low, high)) is outcome


def test_a_law_with_as_many_sizes_as_parameters_decides_nothing():
    law = fit_law({"x": [1.0, 2.0]}, [1.0, 4.0])
    assert judge_law(law, {"x": SQUARE}) is Outcome.INCONCLUSIVE


@pytest.mark.parametrize(
    ("variables", "y", "groups", "message"),
    [
        ({"x": [2.0]}, [3.0], None, "1 size cannot determine a law of 2 parameters"),
        ({"x": [1.0, 2.0], "z": [3.0, 5.0]}, [1.0, 2.0], None, "2 sizes cannot determine a law of 3 parameters"),
        ({"x": [1.0, 2.0, 3.0]}, [1.0, 2.0, 3.0], ["a", "b", "c"], "3 sizes cannot determine a law of 4 parameters"),
    ],
)
def test_fewer_sizes_than_parameters_are_said_to_be_too_few(variables, y, groups, message):
    with pytest.raises(DataError, match=message):
        fit_law(variables, y, groups=groups)


def test_a_law_without_rivals_is_refused():
    with pytest.raises(ConfigError, match="at least one rival"):
        StatedExponent(2.0, rivals=())
    with pytest.raises(ConfigError, match="within the margin"):
        StatedExponent(2.0, rivals=(2.05,))


def test_bars_are_judged_by_the_whole_interval():
    assert judge_at_most(Interval(1, 1.9), 2) is Outcome.SUPPORTED
    assert judge_at_most(Interval(1, 3), 2) is Outcome.INCONCLUSIVE
    assert judge_at_most(Interval(2.5, 3), 2) is Outcome.REFUTED
    assert judge_at_most(Interval(2.5, 3), 2, refuted_above=2.8) is Outcome.INCONCLUSIVE
    assert judge_at_least(Interval(4.1, 5), 4) is Outcome.SUPPORTED
    assert judge_at_least(Interval(2.5, 3), 4, refuted_below=2) is Outcome.INCONCLUSIVE
    assert judge_at_least(Interval(1, 1.9), 4, refuted_below=2) is Outcome.REFUTED
    assert judge_within(Interval(0.6, 1.9), 0.5, 2) is Outcome.SUPPORTED
    assert judge_within(Interval(0.4, 1.9), 0.5, 2) is Outcome.INCONCLUSIVE
    assert judge_within(Interval(2.1, 3), 0.5, 2) is Outcome.REFUTED


@pytest.mark.parametrize(
    "judged",
    [
        lambda i: judge_at_most(i, 1.0),
        lambda i: judge_at_least(i, 1.0),
        lambda i: judge_within(i, 1.0, 1.0),
        lambda i: judge_within(i, 1.0, 2.0),
        lambda i: judge_within(i, 0.0, 1.0),
    ],
)
@pytest.mark.parametrize("tie", [Interval(1.0, 1.0), Interval(-math.inf, math.inf), Interval(1 - 1e-12, 1 + 1e-12)])
def test_a_tie_supports_nothing_and_refutes_nothing(judged, tie):
    assert judged(tie) is Outcome.INCONCLUSIVE


@pytest.mark.parametrize(
    ("differences", "outcome"),
    [
        ([0.01, -0.01, 0.0], Outcome.SUPPORTED),
        ([0.0, 0.0, 0.0], Outcome.INCONCLUSIVE),  # two arms that were run differ in a digit
        ([0.2, 0.21, 0.22], Outcome.REFUTED),
        ([0.2, -0.2, 0.0], Outcome.INCONCLUSIVE),
        ([0.01], Outcome.INCONCLUSIVE),
    ],
)
def test_equal_arms_are_judged_by_their_differences(differences, outcome):
    assert judge_equal(differences, 0.05) is outcome


@pytest.mark.parametrize("judged", [mean_interval, geometric_interval, lambda x: judge_equal(x, 0.1)])
def test_what_is_no_number_has_no_interval(judged):
    with pytest.raises(DataError):
        judged([math.nan, 1.0, 1.0])
    with pytest.raises(DataError):
        Interval(math.nan, math.nan)


def test_shares_have_the_interval_of_the_binomial():
    for found, of in ((3, 13), (0, 5), (7, 7)):
        interval = share_interval(found, of)
        if found:
            assert stats.binom.sf(found - 1, of, interval.low) == pytest.approx(0.025)
        if found < of:
            assert stats.binom.cdf(found, of, interval.high) == pytest.approx(0.025)
    assert share_interval(0, 0) == Interval(0, 1)


def finding(outcome, *premises, **more):
    return Finding(outcome, "1", "2", premises=premises, **more)


@pytest.mark.parametrize("outcome", list(Outcome))
def test_nothing_is_decided_where_a_premise_fails_or_time_was_over(outcome):
    fitted, not_fitted = (Premise.at_most("the training error", errors, 0.1) for errors in ([0.0, 0.1], [0.5, 0.4]))
    assert finding(outcome, fitted).outcome is outcome
    assert finding(outcome, fitted, not_fitted).outcome is Outcome.INCONCLUSIVE
    assert finding(outcome, cut_short=True).outcome is Outcome.INCONCLUSIVE
    told = finding(outcome, fitted, not_fitted)
    assert told.expected_under_premises().endswith("unless " + "; ".join(["the training error is at most 0.1"] * 2))
    assert told.measured_under_premises() == "a premise fails (the training error is at most 0.1, but it is 0.45); 2"
    assert not Premise.at_least("a share", [math.nan], 0.0).holds
    assert not Premise.at_most("a share", [], 1.0).holds


def test_parts_are_judged_together():
    yes, no, open_ = Outcome.SUPPORTED, Outcome.REFUTED, Outcome.INCONCLUSIVE
    assert all_of([yes, yes]) is yes
    assert all_of([yes, open_]) is open_
    assert all_of([yes, open_, no]) is no
    assert all_of([]) is open_


def test_intervals_of_means():
    assert mean_interval([1.0]) == Interval(-math.inf, math.inf)
    found = mean_interval([1.0, 2.0, 3.0])
    assert found.low == pytest.approx(2 - 4.302653 / math.sqrt(3), abs=1e-5)  # t of two degrees of freedom
    logs = geometric_interval(np.exp([1.0, 2.0, 3.0]))
    assert (math.log(logs.low), math.log(logs.high)) == pytest.approx((found.low, found.high))
    with pytest.raises(DataError, match="positive"):
        geometric_interval([1.0, 0.0])
    assert Interval(2, 4).over(Interval(1, 2)) == Interval(1, 4)
    assert Interval(2, math.inf).over(Interval(1, 2)) == Interval(1, math.inf)
    assert Interval(math.inf, math.inf).over(Interval(math.inf, math.inf)) == Interval(0, math.inf)
    with pytest.raises(DataError, match="from low to high"):
        Interval(2, 1)

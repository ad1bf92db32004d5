"""Certificates: what they say, how they travel, and how sure a conclusion from several is."""

import json
import math
from dataclasses import replace
from itertools import combinations_with_replacement

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compsparse.certificate import Certificate, Rigour, weakest
from compsparse.errors import DataError

BETWEEN = Certificate("cost", 2.0, 1.5, 2.0, Rigour.RIGOROUS, ("no noise",), "every cell was priced")


def test_from_the_surest_down():
    words = [rigour.value for rigour in Rigour]
    assert words == ["proved", "rigorous", "declared", "memo", "heuristic", "estimated"]
    assert [rigour.holds for rigour in Rigour] == [True, True, False, False, False, False]
    assert len({rigour.sentence for rigour in Rigour}) == len(words)


@pytest.mark.parametrize(("surer", "less_sure"), [*combinations_with_replacement(Rigour, 2)])
def test_a_conclusion_is_as_sure_as_the_least_sure_of_its_grounds(surer, less_sure):
    assert weakest([surer, less_sure]) is less_sure
    assert weakest([less_sure, surer, surer]) is less_sure


def test_a_conclusion_from_nothing_is_proved():
    assert weakest([]) is Rigour.PROVED


def test_gaps():
    assert BETWEEN.gap == 0.5
    assert BETWEEN.relative_gap == 0.25
    assert replace(BETWEEN, upper=math.inf).gap == math.inf
    assert replace(BETWEEN, upper=math.inf).relative_gap == math.inf
    assert math.isnan(replace(BETWEEN, lower=2.5).gap)
    assert replace(BETWEEN, lower=2.0 + 1e-12).gap == 0
    assert Certificate.exact("nothing", 0.0, Rigour.PROVED).relative_gap == 0
    assert Certificate.exact("no rate", math.inf, Rigour.PROVED).gap == 0


def test_bounds_that_leave_no_room_are_exact():
    exact = Certificate.exact("count", 3.0, Rigour.PROVED, assumes=("a",), obtained="by hand")
    assert exact == Certificate("count", 3.0, 3.0, 3.0, Rigour.PROVED, ("a",), "by hand")
    assert exact.is_exact
    assert exact.holds
    assert not BETWEEN.is_exact
    assert not replace(BETWEEN, rigour=Rigour.HEURISTIC).holds


def test_consistency_allows_for_rounding_only():
    assert BETWEEN.is_consistent
    assert replace(BETWEEN, value=2.0 + 1e-12).is_consistent
    assert not replace(BETWEEN, value=2.1).is_consistent
    assert not replace(BETWEEN, value=1.4).is_consistent
    assert not replace(BETWEEN, lower=3.0).is_consistent
    assert not replace(BETWEEN, value=math.nan).is_consistent
    assert replace(BETWEEN, lower=-math.inf, upper=math.inf, value=1e300).is_consistent


@pytest.mark.parametrize(("lower", "upper", "words"), [
    (1.5, 2.0, "cost: 2, between 1.5 and 2 (rigorous: "),
    (2.0, 2.0, "cost: exactly 2 (rigorous: "),
    (1.5, math.inf, "cost: 2, at least 1.5 (rigorous: "),
    (-math.inf, 2.0, "cost: 2, at most 2 (rigorous: "),
    (-math.inf, math.inf, "cost: 2, with no bounds (rigorous: "),
])  # fmt: skip
def test_it_reads_as_a_sentence(lower, upper, words):
    text = str(replace(BETWEEN, lower=lower, upper=upper))
    assert text.startswith(words)
    assert text.endswith("in double precision; every cell was priced)")
    assert str(replace(BETWEEN, obtained="")).endswith("in double precision)")


@given(st.floats(), st.floats(allow_nan=False), st.floats(allow_nan=False), st.sampled_from(Rigour))
def test_json_gives_the_same_certificate(value, lower, upper, rigour):
    sent = Certificate("cost", value, lower, upper, rigour, ("no noise",), "by hand")
    text = json.dumps(sent.to_dict(), allow_nan=False)
    again = Certificate.from_dict(json.loads(text))
    assert repr(again) == repr(sent)


@pytest.mark.parametrize("change", [
    {"rigour": "sure"}, {"lower": "low"}, {"assumes": None}, {"value": [1]},
])  # fmt: skip
def test_damaged_certificates_are_refused(change):
    with pytest.raises(DataError, match="damaged or incomplete"):
        Certificate.from_dict({**BETWEEN.to_dict(), **change})
    with pytest.raises(DataError, match="damaged or incomplete"):
        Certificate.from_dict({k: v for k, v in BETWEEN.to_dict().items() if k not in change})

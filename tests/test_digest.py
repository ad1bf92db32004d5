"""Digests say the same of what is the same, and not of anything else; JSON that says two things is not read."""

import json
import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compsparse.digest import SEAL, arrays_digest, check_seal, equal_by_content, parse_json, sealed
from compsparse.errors import DataError

FINITE = st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | FINITE | st.text(st.characters(exclude_categories=())),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None)
@given(st.dictionaries(st.text(max_size=3).filter(lambda key: key != SEAL), VALUES, max_size=4))
def test_what_is_written_is_read_whatever_its_layout(content):
    data = sealed(content)
    text = json.dumps(dict(reversed(data.items())), indent=1)
    assert check_seal(parse_json(text), "it") == json.loads(json.dumps(content))
    assert sealed(data) == data


@pytest.mark.parametrize(
    "other", [{"a": 1.0}, {"a": True}, {"a": "1"}, {"a": [1]}, {"b": 1}, {"a": 1, "b": None}, {}, {"a": -1}]
)
def test_other_content_has_another_digest(other):
    assert sealed(other)[SEAL] != sealed({"a": 1})[SEAL]
    with pytest.raises(DataError, match="its digest does not fit"):
        check_seal({**other, SEAL: sealed({"a": 1})[SEAL]}, "it")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"a": 1}, "it is damaged or incomplete, .* has no digest of its content; make it again$"),
        ({"a": 1, SEAL: 3}, "its digest does not fit its content; make it again$"),
        ({"a": 1, SEAL: ["x"]}, "does not fit"),
        ({"a": float("nan"), SEAL: "x"}, "a value that JSON does not have"),
        ({"a": {1, 2}, SEAL: "x"}, "a value that JSON does not have"),
        ([1], "expected a JSON object"),
        (None, "expected a JSON object"),
    ],
)
def test_what_carries_no_digest_that_fits_is_refused(data, message):
    with pytest.raises(DataError, match=message):
        check_seal(data, "it", "make it again")


@pytest.mark.parametrize("value", [float("inf"), {1, 2}, np.zeros(2)])
def test_what_json_does_not_have_is_not_written(value):
    with pytest.raises(DataError, match="cannot be written as JSON"):
        sealed({"a": value})


def test_arrays_have_one_digest_whatever_their_order_and_layout():
    a, b = np.arange(6.0).reshape(2, 3), np.arange(3, dtype=np.int64)
    same = arrays_digest({"a": a, "b": b})
    assert arrays_digest({"b": b, "a": np.asfortranarray(a)}) == same
    assert arrays_digest({"a": a.astype(">f8"), "b": b}) == same
    others = [
        {"a": a + 1e-16 + np.eye(2, 3), "b": b},
        {"a": a.reshape(3, 2), "b": b},
        {"a": a.astype(np.float32), "b": b},
        {"a": b, "b": a},
        {"a": a},
        {"c": a, "b": b},
        {"a": np.where(a == 0, -0.0, a), "b": b},
    ]
    assert len({arrays_digest(other) for other in others} | {same}) == len(others) + 1


def test_records_with_a_nan_are_equal_to_their_like():
    @equal_by_content
    @dataclass(frozen=True)
    class Measured:
        name: str
        value: float

    assert Measured("a", math.nan) == Measured("a", float("nan"))
    assert Measured("a", math.nan) != Measured("b", math.nan)
    assert Measured("a", math.nan) != Measured("a", 1.0)
    assert Measured("a", 1.0) != ("a", 1.0)
    assert len({Measured("a", 1.0), Measured("a", 1.0)}) == 1

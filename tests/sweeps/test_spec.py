import math
from dataclasses import dataclass
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compsparse.errors import ConfigError
from compsparse.sweeps import Spec


@dataclass(frozen=True)
class Many(Spec):
    kind = "many"

    name: str
    rate: float = 1.0
    n: int = 3
    widths: tuple[int, ...] = ()
    pair: tuple[int, float] = (1, 2.0)
    limit: int | None = None
    mode: Literal["a", "b"] = "a"
    on: bool = False


def test_the_key_is_the_content_and_stays():
    assert Many("m").to_json() == (
        '{"limit":null,"mode":"a","n":3,"name":"m","on":false,"pair":[1,2.0],"rate":1.0,"widths":[]}'
    )
    assert Many("m").key == "a4aeb8a00b14e9e701f74d61e2766789"  # stored results are found by it
    assert Many("m", rate=1).key == Many("m", rate=1.0).key
    assert Many("m", widths=[1, 2]).key == Many("m", widths=(1, 2)).key
    assert len({Many("m").key, Many("k").key, Many("m", n=4).key, Many("m", rate=1 + 2**-52).key}) == 4

    @dataclass(frozen=True)
    class Newer(Many):
        version = 2

    assert Newer("m").key != Many("m").key


def test_toml_can_say_none():
    assert Many.from_dict({"name": "none", "limit": "none"}) == Many("none", limit=None)


@given(
    st.text(), st.floats(allow_nan=False, allow_infinity=False), st.integers(), st.lists(st.integers()), st.booleans()
)
def test_specs_survive_json(name, rate, n, widths, on):
    spec = Many(name, rate, n, tuple(widths), limit=n, on=on)
    again = Many.from_json(spec.to_json())
    assert again == spec
    assert again.key == spec.key


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "needs the field name"),
        ({"name": "m", "widht": 1}, "no field 'widht'; did you mean 'widths'?"),
        ({"name": 1}, "many.name must be a text, got 1"),
        ({"name": "m", "n": 1.5}, "many.n must be a whole number, got 1.5"),
        ({"name": "m", "n": True}, "many.n must be a whole number, got True"),
        ({"name": "m", "rate": "1"}, "many.rate must be a number, got '1'"),
        ({"name": "m", "rate": math.nan}, "must be finite"),
        ({"name": "m", "rate": math.inf}, "must be finite"),
        ({"name": "m", "widths": 3}, "many.widths must be a list, got 3"),
        ({"name": "m", "widths": [1, "2"]}, r"many.widths\[1\] must be a whole number"),
        ({"name": "m", "pair": [1]}, "must hold 2 values"),
        ({"name": "m", "limit": "x"}, "must be a whole number or nothing"),
        ({"name": "m", "mode": "c"}, "many.mode must be one of 'a', 'b', got 'c'"),
        ({"name": "m", "mode": True}, "many.mode must be one of 'a', 'b', got True"),
        ({"name": "m", "on": 1}, "must be true or false"),
    ],
)
def test_bad_fields_are_named(data, message):
    with pytest.raises(ConfigError, match=message):
        Many.from_dict(data)


@pytest.mark.parametrize("step", [3, True, "1"])
def test_choices_may_be_numbers(step):
    @dataclass(frozen=True)
    class Stepped(Spec):
        kind = "stepped"

        step: Literal[1, 2]

    assert Stepped.from_dict({"step": 2}).step == 2
    with pytest.raises(ConfigError, match=f"stepped.step must be one of 1, 2, got {step!r}"):
        Stepped.from_dict({"step": step})

"""Charts of characters: each value at its place on the figure's scale."""

import math

import numpy as np
import pytest

from compsparse.errors import ConfigError
from compsparse.report import Figure, text_chart


def place(line):
    """How far along its scale a mark lies."""
    scale = line.split("|")[1]
    return scale.index("●") / (len(scale) - 1)


@pytest.mark.parametrize("log_y", [False, True])
@pytest.mark.parametrize("width", [30, 79])
def test_marks_lie_where_the_axis_puts_them(log_y, width):
    values = [1.0, 3.0, 10.0, 40.0, 100.0]
    rows = tuple({"n": i, "error": v} for i, v in enumerate(values))
    _, *lines = text_chart(Figure("E", rows, "n", "error", log_y=log_y), width)
    scale = [math.log(v) for v in values] if log_y else values
    for line, value, at in zip(lines, values, scale, strict=True):
        assert place(line) == pytest.approx((at - scale[0]) / (scale[-1] - scale[0]), abs=0.06)
        assert line.endswith(f"| {value:.3g}")
        assert len(line) <= width


def test_series_have_their_names_and_long_ones_are_thinned_evenly():
    rows = tuple({"n": i, "y": float(i), "who": who} for who in ("a", "b") for i in range(100))
    lines = text_chart(Figure("E", rows, "n", "y", series="who"), 79, most_rows=5)
    assert [line.strip() for line in lines if "|" not in line] == ["E (y, from 0 to 99)", "a", "b"]
    assert [line.split("|")[0].split()[1] for line in lines if "|" in line] == ["0", "25", "50", "74", "99"] * 2


def test_scales_are_equally_long_whatever_stands_beside_them():
    rows = tuple({"n": n, "y": y, "who": str(y)} for n, y in ((1, 1.0), (10_000, 123456.0), (7, 0.001)))
    for width in (30, 79):
        lines = text_chart(Figure("E", rows, "n", "y", series="who"), width)
        assert len({len(line.split("|")[1]) for line in lines if "|" in line}) == 1
        assert max(map(len, lines)) <= width


def test_what_has_no_place_is_left_out_and_clouds_are_counted():
    rows = ({"n": 1, "y": 0.0}, {"n": 2, "y": math.nan}, {"n": 3, "y": 5.0}, {"n": 4, "y": None})
    assert len(text_chart(Figure("E", rows, "n", "y", log_y=True), 79)) == 2
    assert text_chart(Figure("E", rows, "n", "y", mark="points"), 79) == ["E: 4 rows, drawn on the page"]
    assert text_chart(Figure("E", rows[1:2], "n", "y"), 79) == ["E: 1 rows, drawn on the page"]


ODD = [float("nan"), float("inf"), -float("inf"), 0.0, -1.0, np.float64(2), np.float32(3), 10**400, None, "3", True, []]


@pytest.mark.parametrize("log_y", [False, True])
@pytest.mark.parametrize("value", ODD, ids=str)
def test_any_value_gives_a_chart(value, log_y):
    rows = ({"n": 1, "y": value}, {"n": 2, "y": 5.0})
    lines = text_chart(Figure("E", rows, "n", "y", log_y=log_y), 79)
    assert lines[-1].endswith("| 5")
    assert max(map(len, lines)) <= 79


def test_control_characters_are_shown():
    rows = ({"n\x1b": "a\x1b[2J", "y": 1.0},)
    assert "\x1b" not in "\n".join(text_chart(Figure("\x1b[2J", rows, "n\x1b", "y", mark="bars"), 79))


def test_odd_arguments_meet_a_sentence():
    with pytest.raises(ConfigError, match="width must be a whole number >= 30"):
        text_chart(Figure("E", (), "n", "y"), 3)
    with pytest.raises(ConfigError, match="figure must be a Figure"):
        text_chart("no figure")

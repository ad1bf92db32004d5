"""What residuals say of inputs that a tree does without."""

import numpy as np
import pytest

from compsparse.clock import Deadline, TimeIsOver
from compsparse.discovery.data.left_out import examine_left_out, explained_by_boosting

RNG = np.random.default_rng(0)
N = 1200
A, B, C = RNG.uniform(-1, 1, (3, N, 1))
LEVEL = RNG.integers(0, 3, N)
ONE_HOT = np.eye(3)[LEVEL]
NOISE = 0.1 * RNG.standard_normal((N, 1))


def examined(y, **columns):
    given = {"a": A, "b": B, "c": C, "level": ONE_HOT} | columns
    return examine_left_out(given, y / y.std(), frozenset({"a", "b"}), 0, Deadline())


def test_inputs_with_which_residuals_go_act():
    seen = examined(A * B + 0.3 * np.sin(3 * C) + 0.2 * (LEVEL == 1)[:, None] + NOISE)
    assert seen.acting == {"c", "level"}


def test_inputs_that_do_nothing_leave_no_trace_and_little_room():
    seen = examined(A * B + NOISE)
    assert seen.acting == frozenset()
    assert set(seen.room) == {"c", "level"}
    assert max(seen.room.values()) < 0.1


def test_a_copy_with_noise_of_an_input_that_acts_does_not_act():
    assert not examined(A * B + NOISE, c=A + 0.3 * RNG.standard_normal((N, 1))).acting


def test_room_holds_the_effect_that_is_there_in_most_tables():
    """The bound is that of two standard errors; an effect too small to be seen lies below it nearly always."""
    below = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        a, c = rng.uniform(-1, 1, (2, 400, 1))
        y = np.sin(2 * a) + 0.02 * c + 0.2 * rng.standard_normal((400, 1))
        y = y / y.std()
        room = examine_left_out({"a": a, "c": c}, y, frozenset("a"), 0, Deadline()).room
        below += 0.02 * c.std() / y.std() < room.get("c", np.inf)
    assert below >= 18


def test_nothing_is_said_where_there_is_no_time_or_nothing_was_left_out():
    assert examine_left_out({"a": A}, A, frozenset("a"), 0, Deadline()).room is None
    with pytest.raises(TimeIsOver):
        examine_left_out({"a": A, "c": C}, A, frozenset("a"), 0, Deadline.after(1e-9))


def test_boosting_says_whether_inputs_act_where_networks_explain_nothing():
    columns = {"a": A, "b": B, "c": C, "level": ONE_HOT}
    y = np.sign(A * B) * (LEVEL == 1)[:, None] + NOISE
    assert explained_by_boosting(columns, y / y.std(), 0, Deadline()) > 0.3
    assert explained_by_boosting(columns, NOISE / NOISE.std(), 0, Deadline()) == 0
    with pytest.raises(TimeIsOver):
        explained_by_boosting(columns, y, 0, Deadline.after(1e-9))


def test_inputs_that_act_only_on_each_other_act():
    D = RNG.uniform(-1, 1, (N, 1))
    seen = examined(A * B + 0.7 * C * D + NOISE, d=D)
    assert seen.acting == {"c", "d"}

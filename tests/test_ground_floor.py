"""One deadline, one way from random_state to a seed, one reader of boxes."""

import time

import numpy as np
import pytest

from compsparse.boxes import n_sides, read_box, read_box_text
from compsparse.checks import generator_from, own_seed, seed_from
from compsparse.clock import Deadline, TimeIsOver, look_at_clock, within
from compsparse.errors import ConfigError
from compsparse.networks.replicas import replica_seeds

BOX = ((0.0, 1.0), (2.0, 3.0))


@pytest.mark.parametrize("bounds", [[(0, 1), (2, 3)], np.array(BOX), {"b": (2, 3), "a": [0, 1]}])
def test_boxes_are_read_in_order_and_by_name(bounds):
    assert read_box(bounds, ["a", "b"]) == BOX
    assert n_sides(bounds) == 2


def test_one_pair_serves_all_inputs_whose_number_is_known():
    assert read_box((0, 1), ["a", "b"]) == ((0.0, 1.0),) * 2
    assert n_sides((0, 1)) is None
    assert read_box({"a": (0, 1), "b": (2, 3)}) == BOX


@pytest.mark.parametrize(
    ("bounds", "names", "sentence"),
    [
        ((0, 1), None, "one per input"),
        ([], None, "got none"),
        (3, ["a"], "bounds must be"),
        ("ab", ["a"], "bounds must be"),
        ([(0, 1)], ["a", "b"], "each of the 2 inputs, got 1"),
        ({"c": (0, 1)}, ["a"], "no input; the inputs are a"),
        ({"a": (0, 1)}, ["a", "b"], "no side for input 'b'"),
        ([(1, 0)], ["a"], "low < high"),
        ([(0, np.inf)], None, "bounds of input 'x0' must be a finite number"),
        ([(0, 1, 2)], None, "must be"),
    ],
)
def test_a_box_that_is_none_meets_a_sentence(bounds, names, sentence):
    with pytest.raises(ConfigError, match=sentence):
        read_box(bounds, names)


def test_boxes_of_a_command_line():
    assert read_box_text("-1:1") == (-1.0, 1.0)
    for text in ("a=1", "0:1,b=0:1", "a=0:1,a=0:2"):
        with pytest.raises(ConfigError):
            read_box_text(text)


def test_a_deadline_counts_down_and_ends_work():
    deadline = Deadline.after(1e-3)
    time.sleep(2e-3)
    assert deadline.is_set
    assert deadline.is_over
    assert deadline.left < 0
    with pytest.raises(TimeIsOver):
        deadline.check()
    assert not Deadline.after(None).is_over
    assert not Deadline.after(None).is_set
    assert Deadline.after(1e-3).within(100).left < 1


def test_the_earlier_of_two_limits_counts():
    with within(100), within(1e-4):
        time.sleep(1e-3)
        with pytest.raises(TimeIsOver):
            look_at_clock()


@pytest.mark.parametrize("seed", [0, np.int64(7)])
def test_a_seed_gives_one_seed(seed):
    assert seed_from(seed) == seed_from(int(seed))


@pytest.mark.parametrize("kind", [np.random.default_rng, np.random.RandomState])
def test_generators_of_both_kinds_give_seeds_in_turn(kind):
    one, other = kind(3), kind(3)
    seeds = [seed_from(one), seed_from(one)]
    assert seeds == [seed_from(other), seed_from(other)]
    assert seeds[0] != seeds[1]
    assert isinstance(generator_from(kind(0)), np.random.Generator)


@pytest.mark.parametrize("kind", [np.random.default_rng, np.random.RandomState, int, np.int64])
def test_every_kind_of_random_state_gives_seeds(kind):
    assert own_seed(kind(7)) == own_seed(kind(7))
    assert replica_seeds(kind(7), 3) == replica_seeds(kind(7), 3)
    assert len(set(replica_seeds(kind(7), 3))) == 3


def test_a_number_is_the_seed_itself():
    assert own_seed(7) == own_seed(np.int64(7)) == 7
    assert own_seed(None) != own_seed(None)

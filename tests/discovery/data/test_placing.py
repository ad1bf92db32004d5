"""Inputs that come back or move, and pairs inside wide nodes, on functions whose tree is known."""

import pytest
import torch
from tests.discovery.data.trial_tables import modules, work

from compsparse.clock import TimeIsOver
from compsparse.discovery.data import placing
from compsparse.discovery.data.placing import move, put_back, readmit
from compsparse.discovery.data.regrouping import look_into_wide_nodes, regroup
from compsparse.discovery.data.tree_search import find_modules
from compsparse.discovery.data.units import leaf


def two_pairs(a, b, c, d):
    return torch.tanh(3 * a * b) + torch.sin(3 * c * d)


# ---- inputs that were left out -------------------------------------------------------------------


def test_an_input_that_acts_comes_back_to_its_place():
    bench, sketch = work("abcd", two_pairs, groups=["ab"], parked="d")
    found, came_back = readmit(bench, sketch)
    assert came_back
    assert found.parked == ()
    assert modules(found) <= {"ab", "cd"}
    assert next(step.action for step in found.path) == "readmit"


def test_an_input_that_does_nothing_stays_out_and_leaves_no_doubt_where_all_is_explained():
    bench, sketch = work("abc", lambda a, b, c: torch.tanh(2 * a + b), parked="c", effort=1.0)
    found, came_back = readmit(bench, sketch)
    assert not came_back
    assert found.parked == ("c",)
    assert found.may_lack == ()
    assert found.units is sketch.units


def test_inputs_that_act_through_one_number_come_back_together():
    """Neither says anything by itself, beside inputs that say much."""

    def y(a, b, c, d):
        return torch.tanh(2 * a + b) + 0.7 * torch.sin(5 * c * d)

    bench, sketch = work("abcd", y, groups=["ab"], parked="cd", n=600, effort=0.5)
    found, came_back = readmit(bench, sketch)
    assert came_back
    assert found.members == frozenset("abcd")


def test_an_input_is_put_where_it_helps():
    bench, sketch = work("abcd", two_pairs, groups=["ab"], parked="d")
    away = sketch.with_units(sketch.units.with_trees([sketch.units.joined([*sketch.units.trees])]))
    found = put_back(bench, away, leaf("d"))
    assert "cd" in modules(found)


# ---- inputs in the wrong place -------------------------------------------------------------------


def test_an_input_in_the_wrong_place_moves():
    bench, sketch = work(
        "abcde", lambda a, b, c, d, e: torch.tanh(3 * a * b) + torch.sin(3 * c * d * e), groups=["abc", "de"], n=500
    )
    found, name = move(bench, sketch)
    assert name == "c"
    assert "abc" not in modules(found)
    assert found.strays == ()
    assert "move" in [step.action for step in found.path]


def test_an_input_moves_once():
    bench, sketch = work(
        "abcde", lambda a, b, c, d, e: torch.tanh(3 * a * b) + torch.sin(3 * c * d * e), groups=["abc", "de"], n=500
    )
    found, name = move(bench, sketch, ["c"])
    assert name != "c"
    assert name is not None or "c" in found.strays


def test_nothing_moves_in_a_tree_that_is_right():
    bench, sketch = work("abcd", two_pairs, groups=["ab", "cd"], effort=0.5)
    found, name = move(bench, sketch)
    assert name is None
    assert found.units is sketch.units


def test_a_search_that_ends_while_an_input_moves_keeps_it_where_it_was(monkeypatch):
    def late(*arguments):
        raise TimeIsOver("now")

    monkeypatch.setattr(placing, "put_back", late)
    bench, sketch = work(
        "abcde", lambda a, b, c, d, e: torch.tanh(3 * a * b) + torch.sin(3 * c * d * e), groups=["abc", "de"], n=500
    )
    with pytest.raises(TimeIsOver):
        move(bench, sketch)
    assert bench.kept is sketch


@pytest.mark.heavy
def test_a_tree_is_found_with_an_input_that_was_left_out_at_first():
    bench, sketch = work("abcd", two_pairs, parked="d", effort=0.5, knows_inert=True)
    assert modules(find_modules(bench, sketch)) == {"ab", "cd"}


# ---- pairs inside wide nodes ---------------------------------------------------------------------


def in_a_node(a, b, c, d):
    return torch.sin(2 * torch.tanh(3 * a * b) + 2 * c) * (1 + d)


def test_a_pair_inside_a_wide_node_is_told_apart():
    bench, sketch = work("abcd", in_a_node, groups=["abc"], n=500)
    found = regroup(bench, sketch, sketch.modules[0])
    assert modules(found) == {"ab", "abc"}
    assert found.told_apart[frozenset("ab")] > 0
    assert found.path[-1].action == "merge"


def test_a_pair_of_units_is_told_apart_in_the_same_way():
    bench, sketch = work("abc", lambda a, b, c: torch.tanh(3 * b * c) + torch.sin(3 * a))
    assert modules(regroup(bench, sketch, None)) == {"bc"}


def test_a_pair_that_was_refuted_is_not_joined_again():
    bench, sketch = work("abcd", in_a_node, groups=["abc"], n=500, refuted=frozenset([frozenset("ab")]))
    assert "ab" not in modules(regroup(bench, sketch, sketch.modules[0]))


@pytest.mark.heavy
def test_every_wide_node_is_looked_into():
    def y(a, b, c, d, e, f):
        return in_a_node(a, b, c, 0 * d) + in_a_node(d, e, f, 0 * a)

    bench, sketch = work("abcdef", y, groups=["abc", "def"], n=600, effort=0.5)
    assert {"ab", "de"} <= modules(look_into_wide_nodes(bench, sketch))

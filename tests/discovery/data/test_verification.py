"""A last look at every module: what holds stays with its support, what does not goes, on functions that are known."""

from dataclasses import replace

import pytest
import torch
from tests.discovery.data.trial_tables import modules, work

from compsparse.discovery.data.limits import LONG
from compsparse.discovery.data.verification import look_again, speaks_against_module, verify_modules
from compsparse.discovery.structure.statistics import BEYOND_DOUBT


def nested(a, b, c):
    return torch.sin(2 * a + 2 * torch.tanh(3 * b * c))


def sure(sketch, *members):
    """The sketch with modules told apart beyond doubt, so that they get no second look."""
    return replace(sketch, told_apart={frozenset(m): BEYOND_DOUBT + 3 for m in members})


@pytest.mark.parametrize("is_shared", [True, False], ids=["an input acts beside it", "a module"])
def test_a_module_goes_where_an_input_acts_beside_it(is_shared):
    def y(a, b, c):
        return torch.tanh(3 * a * b) + (torch.sin(3 * a * c) if is_shared else c)

    bench, sketch = work("abc", y, groups=["ab"], n=500)
    found, _ = verify_modules(bench, sure(sketch, "ab"))
    assert (frozenset("ab") in found.support) is not is_shared
    assert found.leaks == (frozenset("ab"),) * is_shared


def test_another_grouping_takes_the_place_of_a_false_module():
    bench, sketch = work(
        "abcd", lambda a, b, c, d: torch.tanh(3 * a * b) + torch.sin(3 * c * d), groups=["ac"], n=500, effort=0.4
    )
    found, _ = verify_modules(bench, sure(sketch, "ac"))
    assert found.refuted == {frozenset("ac")}
    assert frozenset("ac") not in found.support
    assert {frozenset("ab"), frozenset("cd")} & found.support.keys()


def test_a_false_pair_that_was_not_told_apart_gives_way_to_its_rival():
    """Its tree has learned to live with it: it is worse without it, and around it too."""
    bench, sketch = work("abc", nested, groups=["ab"], n=500)
    sketch = sketch.with_units(bench.table.relearned(bench.fit(sketch.units, LONG), 0))
    found, left = verify_modules(bench, sketch)
    assert modules(found) == {"bc"}
    assert found.support[frozenset("bc")].change < 0
    assert left < 0.1


def test_a_second_look_at_a_unit_finds_the_right_pair():
    bench, sketch = work("abc", nested, groups=["ab"], n=500)
    found, is_other = look_again(bench, sketch, sketch.modules[0])
    assert is_other
    assert modules(found) == {"bc"}


def test_a_second_look_keeps_the_right_pair():
    bench, sketch = work("abc", nested, groups=["bc"], n=500)
    found, is_other = look_again(bench, sketch, sketch.modules[0])
    assert not is_other
    assert modules(found) == {"bc"}


@pytest.mark.parametrize(
    ("unexplained", "ratio", "speaks"),
    [(0.05, 0.7, False), (0.02, 0.7, True), (0.05, 0.4, True)],
    ids=["larger networks would help as much", "little is left", "it halves what is left"],
)
def test_a_way_around_speaks_against_a_module_where_capacity_does_not_explain_it(unexplained, ratio, speaks):
    assert speaks_against_module(unexplained, ratio) is speaks

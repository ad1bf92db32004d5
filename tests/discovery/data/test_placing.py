"""Inputs that come back or move, and pairs inside wide nodes, with rehearsed losses."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from tests.discovery.data.trial_tables import table

from compsparse.discovery import DiscoveryStatus, Step
from compsparse.discovery.data import placing, regrouping
from compsparse.discovery.data.placing import find_tree, move, readmit
from compsparse.discovery.data.regrouping import look_into_wide_nodes, regroup
from compsparse.discovery.data.search import TableSearch
from compsparse.discovery.data.settings import LONG, LONGEST
from compsparse.discovery.data.smooth.asking import unasked
from compsparse.discovery.data.trials import Halted, Trial
from compsparse.discovery.data.units import Units, leaf

N_ROWS = 120
SPREAD = np.resize([0.1, -0.1], N_ROWS)


def of_t(t: float, spread: np.ndarray = SPREAD) -> np.ndarray:
    """Losses whose difference from others without a spread has this t."""
    return t * 0.1 / np.sqrt(N_ROWS) + spread


@dataclass
class Rehearsed(TableSearch):
    """A search whose fits have losses by a rule, of the units and the number of steps."""

    losses: Callable = field(kw_only=True)

    def fit_tree(self, units, steps=LONG, n_replicas=0):
        losses = np.broadcast_to(self.losses(units, steps), N_ROWS)
        return Trial((), units, losses[None], np.ones(N_ROWS), None, None)


def raw(names):
    return Units.raw({name: (name,) for name in names})


def inner(units):
    return [m for tree in units.trees for m in tree.inner]


def two_pairs():
    """{a, b} and {c, d}."""
    units = raw("abcd")
    return units.with_trees([units.joined(units.trees[:2]), units.joined(units.trees[2:])])


def put_on_top(search, part):
    search.units = search.units.with_trees([*search.units.trees, part])


def put_beside_first(search, part):
    first, *others = search.units.trees
    search.units = search.units.with_trees([search.units.joined([first, part]), *others])


def is_beside_first(units):
    """Whether d is joined with {a, b}, which is another thing than to read it there too."""
    return any(m.members == set("abd") and len(m.children) == 2 for m in inner(units))


# ---- inputs that were left out -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("t", "level", "at_length", "inert", "comes_back", "stays_in_doubt"),
    [
        (-5.0, 1.0, 0.0, (), True, False),
        (-2.5, 1.0, -5.0, (), True, False),
        (-2.5, 1.0, -2.5, (), False, True),
        (-1.0, 1.0, -5.0, (), False, True),
        (-1.5, 0.05, -5.0, (), True, False),
        (-1.5, 0.05, -2.5, (), False, True),
        (-1.0, 1.0, -5.0, ("d",), False, False),
    ],
    ids=[
        "it helps",
        "it helps at length",
        "it may help",
        "much is left unexplained",
        "it helps much in a few rows, and at length",
        "it helps much in a few rows alone",
        "a smooth fit says so",
    ],
)
def test_an_input_that_was_left_out_comes_back_or_leaves_a_doubt(
    monkeypatch, t, level, at_length, inert, comes_back, stays_in_doubt
):
    """With d the fits have the t that is asked for; where the level is low, the same t is a large part of it."""

    def losses(units, steps):
        has_d = any("d" in tree.members for tree in units.trees)
        return level + has_d * of_t(t if steps == LONG else at_length)

    monkeypatch.setattr(placing, "put_back", put_on_top)
    units = raw("abcd")
    trees = [units.joined(units.trees[:2]), units.trees[2]]
    oracle = replace(unasked(), inert=inert)
    search = Rehearsed(table(), units.with_trees(trees), parked=["d"], oracle=oracle, losses=losses)
    assert readmit(search) is comes_back
    assert search.parked == ([] if comes_back else ["d"])
    assert search.may_lack == (("d",) if stays_in_doubt else ())


@pytest.mark.parametrize(
    ("needed", "comes_back", "parked"), [("cde", True, []), ("cd", True, ["e"]), ("", False, ["c", "d", "e"])]
)
def test_a_weak_branch_comes_back_through_one_number_without_what_it_does_not_need(
    monkeypatch, needed, comes_back, parked
):
    """Inputs by themselves tell nothing; one number of them helps, more if it reads all that it needs."""

    def losses(units, steps):
        branches = [m.members - set("ab") for m in inner(units) if not m.members & set("ab")]
        branches += [m.members - set("ab") for m in inner(units) if leaf("a") in m.children and len(m.children) == 3]
        gain = max((len(members & set(needed)) for members in branches if len(members) > 1), default=0)
        return 9 - 0.2 * gain + (gain > 0) * SPREAD

    monkeypatch.setattr(placing, "regroup", lambda search, node: None)
    units = raw("abcde")
    start = units.with_trees([units.joined(units.trees[:2])])
    search = Rehearsed(table(d=5), start, parked=list("cde"), losses=losses)
    assert readmit(search) is comes_back
    assert search.parked == parked
    assert search.units.members(search.units.every) == frozenset("ab") | set(needed)


@pytest.mark.parametrize(
    ("t_of_branch", "t_of_all", "way"),
    [(-12.0, -5.0, "branch"), (-6.0, -5.0, "alone"), (-12.0, -30.0, "alone")],
    ids=["through one number", "one of them does it", "not through one number"],
)
def test_inputs_come_back_as_a_branch_where_it_is_better_than_each_alone_and_no_worse_than_all(
    monkeypatch, t_of_branch, t_of_all, way
):
    """c alone helps by a t of -5."""

    def losses(units, steps):
        read = {tree for parts in (units.trees, *(m.children for m in inner(units))) for tree in parts}
        if any(tree.members == set("cd") for tree in read):
            return 9 + of_t(t_of_branch, np.roll(SPREAD, 1))
        return 9 + of_t(t_of_all if {leaf("c"), leaf("d")} <= read else -5.0) * (leaf("c") in read)

    came = []

    def put(search, part):
        came.append(part.members)
        put_on_top(search, part)

    monkeypatch.setattr(placing, "put_back", put)
    units = raw("abcd")
    start = units.with_trees([units.joined(units.trees[:2])])
    search = Rehearsed(table(), start, parked=list("cd"), losses=losses)
    assert readmit(search)
    assert came == ([{"c", "d"}] if way == "branch" else [{"c"}])


# ---- inputs in the wrong place -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("helps", "moved", "strays"),
    [(-5.0, -5.0, ()), (-5.0, 0.0, ("d",)), (-2.0, -5.0, ()), (-2.0, -2.0, ()), (-1.0, -5.0, ())],
)
def test_an_input_in_the_wrong_place_moves_or_leaves_a_doubt(monkeypatch, helps, moved, strays):
    """It helps at all other nodes by one t, and where it is put by another."""

    def losses(units, steps):
        return 1 + (leaf("d") in units.trees) * of_t(helps) + is_beside_first(units) * of_t(moved)

    def put(search, part):
        put_beside_first(search, part)
        search.told_apart[frozenset("ab")] = 9.0
        search.path.append(Step("merge", frozenset("ab"), "y", 0.5, 0.0))

    monkeypatch.setattr(placing, "put_back", put)
    units = two_pairs()
    search = Rehearsed(table(), units, losses=losses)
    if helps < -1.75 and moved < -3:
        assert move(search) == "d"
        assert [sorted(tree.members) for tree in search.units.trees] == [["a", "b", "d"], ["c"]]
        assert [step.action for step in search.path] == ["merge", "move"]
    else:
        assert move(search) is None
        assert search.units is units
        assert search.path == []
        assert search.told_apart == {}
    assert search.strays == strays


@pytest.mark.parametrize(
    ("level", "share", "is_moved"), [(1.0, 0.7, False), (1.0, 0.4, True), (0.01, 0.7, True)], ids=str
)
def test_a_move_that_only_takes_a_module_apart_is_judged_like_a_way_around_it(monkeypatch, level, share, is_moved):
    """Where much is left, networks that are too small for the function are better for every input that they get."""

    def losses(units, steps):
        return level * (share if leaf("d") in units.trees else 1.0) * (1 + SPREAD)

    monkeypatch.setattr(placing, "put_back", put_on_top)
    units = two_pairs()
    search = Rehearsed(table(), units, losses=losses)
    assert placing._moves(search, "d", search.fit_tree(units)) is is_moved
    assert (search.units is units) is not is_moved


def test_an_input_that_comes_back_to_its_place_has_not_moved(monkeypatch):
    """However much better the tree is fitted then."""
    units, fits = two_pairs(), iter([1.0, 0.1])
    monkeypatch.setattr(placing, "put_back", lambda search, part: setattr(search, "units", two_pairs()))
    search = Rehearsed(table(), units, losses=lambda units, steps: next(fits, 0.1) * (1 + SPREAD))
    assert not placing._moves(search, "d", search.fit_tree(units))
    assert search.units is units
    assert search.path == []


def test_a_search_that_ends_while_an_input_moves_keeps_it_where_it_was(monkeypatch):
    def losses(units, steps):
        return 1 - any(leaf("d") in m.children for m in inner(units) if len(m.children) > 2) + SPREAD

    def put(search, part):
        search.told_apart[frozenset("ab")] = 9.0
        raise Halted(DiscoveryStatus.OUT_OF_TIME)

    monkeypatch.setattr(placing, "put_back", put)
    units = two_pairs()
    search = Rehearsed(table(), units, losses=losses)
    with pytest.raises(Halted):
        move(search)
    assert search.units is units
    assert search.told_apart == {}


@pytest.mark.parametrize(("left", "is_moved"), [(0.1, True), (0.5, False)])
def test_an_input_moves_where_it_takes_away_an_error_of_a_few_rows(monkeypatch, left, is_moved):
    """Three rows of 120 hold the error: t is -1.7 whether nearly all of it goes or half."""

    def losses(units, steps):
        few = np.zeros(N_ROWS)
        few[:3] = 1.0
        return 1e-3 + few * (left if is_beside_first(units) else 1.0) + 1e-9 * SPREAD

    monkeypatch.setattr(placing, "put_back", put_beside_first)
    units = two_pairs()
    search = Rehearsed(table(), units, losses=losses)
    stays = search.fit_tree(units)
    assert placing._moves(search, "d", stays) is is_moved
    assert (search.units is units) is not is_moved


def test_an_input_moves_once(monkeypatch):
    def losses(units, steps):
        return 1 + (leaf("d") in units.trees or is_beside_first(units)) * of_t(-5.0)

    monkeypatch.setattr(placing, "put_back", put_beside_first)
    search = Rehearsed(table(), two_pairs(), losses=losses)
    assert move(search, ["d"]) is None
    assert search.strays == ("d",)
    assert move(search) == "d"


@pytest.mark.parametrize(("t", "stays_merged"), [(-2.0, True), (0.5, True), (2.0, False)])
def test_units_merge_again_after_an_input_has_moved_unless_the_tree_is_worse_for_it(monkeypatch, t, stays_merged):
    """To the top, say, where it may belong with another unit."""

    class Merging(Rehearsed):
        def merge_all(self):
            ab, c, d = self.units.trees
            self.units = self.units.with_trees([self.units.joined([ab, d]), c])

    def losses(units, steps):
        if len(units) == 3:
            return 0.01
        is_merged = any(len(tree.members) == 3 for tree in units.trees)
        return 0.01 + of_t(t) if is_merged else 1.0

    monkeypatch.setattr(placing, "put_back", put_on_top)
    units = two_pairs()
    search = Merging(table(), units, losses=losses)
    assert placing._moves(search, "d", search.fit_tree(units))
    assert [sorted(tree.members) for tree in search.units.trees] == (
        [["a", "b", "d"], ["c"]] if stays_merged else [["a", "b"], ["c"], ["d"]]
    )


def test_a_tree_is_found_by_merging_then_moving_then_a_look_into_wide_nodes(monkeypatch):
    done, names = [], ["c", None]
    monkeypatch.setattr(placing, "move", lambda search, moved: done.append("move") or names.pop(0))
    monkeypatch.setattr(placing, "look_into_wide_nodes", lambda search: done.append("look"))
    search = Rehearsed(table(), two_pairs(), losses=lambda units, steps: 1.0)
    monkeypatch.setattr(search, "merge_all", lambda: done.append("merge"))
    find_tree(search)
    assert done == ["merge", "move", "move", "look"]


# ---- pairs inside wide nodes ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("short", "long", "against_whole", "lengths", "found"),
    [
        (5.0, 5.0, 0.0, {LONG}, True),
        (2.0, 5.0, 0.0, {LONG, LONGEST}, True),
        (2.0, 2.0, 0.0, {LONG, LONGEST}, False),
        (1.0, 5.0, 0.0, {LONG}, False),
        (5.0, 5.0, 3.0, {LONG, LONGEST}, False),
        (5.0, 5.0, 9.0, {LONG}, False),
    ],
    ids=["told apart", "at length", "never", "not nearly", "a worse tree", "a much worse tree"],
)
def test_a_pair_inside_a_wide_node_is_told_apart_at_once_or_at_length(
    monkeypatch, short, long, against_whole, lengths, found
):
    """The pair of a and b is better than its rivals by a t, and worse than the whole by another."""
    asked = set()

    def losses(units, steps):
        asked.add(steps)
        pairs = {m.members for m in inner(units) if len(m.members) == 2}
        if not pairs:
            return 9.0
        apart = short if steps == LONG else long
        # pairs share their spread, so that a and b differ from the whole by it, and from rivals by their own
        return 9 + of_t(against_whole) + (0 if frozenset("ab") in pairs else of_t(apart))

    units = raw("abcd")
    wide = units.joined(units.trees[:3])
    search = Rehearsed(table(), units.with_trees([wide, units.trees[3]]), losses=losses)
    monkeypatch.setattr(search.table, "relearned", lambda trial, c: trial.units)
    regroup(search, wide)
    assert asked == lengths
    assert (frozenset("ab") in {m.members for m in search.modules}) is found
    assert ("merge" in [step.action for step in search.path]) is found


def test_a_pair_of_units_is_told_apart_in_the_same_way(monkeypatch):
    def losses(units, steps):
        is_right = [sorted(tree.members) for tree in units.trees] == [["a"], ["b", "c"]]
        return 9 + (of_t(-5.0) if is_right else 0)

    search = Rehearsed(table(d=3), raw("abc"), losses=losses)
    monkeypatch.setattr(search.table, "relearned", lambda trial, c: trial.units)
    regroup(search, None)
    assert [sorted(m.members) for m in search.modules] == [["b", "c"]]
    assert search.told_apart[frozenset("bc")] == pytest.approx(5.0, abs=0.1)


def test_every_wide_node_is_looked_into_once(monkeypatch):
    looked = []
    monkeypatch.setattr(regrouping, "regroup", lambda search, node: looked.append(sorted(node.members)))
    units = raw("abcdefg")
    wide = [units.joined(units.trees[:3]), units.joined(units.trees[3:])]
    look_into_wide_nodes(TableSearch(table(d=7), units.with_trees(wide)))
    assert looked == [["a", "b", "c"], ["d", "e", "f", "g"]]

import math
from dataclasses import dataclass
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.sweeps.conftest import toys
from tests.sweeps.toy import Toy

from compsparse.errors import CompsparseError, ConfigError
from compsparse.sweeps import Adaptive, Spec, Sweep, get_kind, get_preset, presets
from compsparse.sweeps.packing import packed


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
        ({"name": "m", "mode": "c"}, "must be one of 'a', 'b'"),
        ({"name": "m", "on": 1}, "must be true or false"),
    ],
)
def test_bad_fields_are_named(data, message):
    with pytest.raises(ConfigError, match=message):
        Many.from_dict(data)


# ---- sweeps -------------------------------------------------------------------------------------


def sweep_of(tmp_path, text):
    (tmp_path / "s.toml").write_text(text)
    return Sweep.from_toml(tmp_path / "s.toml")


HEAD = "kind = 'tests.sweeps.toy:Toy'\n"


def test_a_grid_is_a_product_without_doubles(tmp_path):
    text = "[base]\nfolder = 'f'\n[grid]\nx = [1, 2, 1.0]\nseed = {from = 0, to = 2}\n[[runs]]\nn = 1\n[[runs]]\nn = 2"
    specs = sweep_of(tmp_path, HEAD + text).specs()
    assert [(s.n, s.x, s.seed) for s in specs] == [
        (n, x, seed) for n in (1, 2) for x in (1.0, 2.0) for seed in (0, 1, 2)
    ]
    ranges = (
        "[base]\nfolder = 'f'\n[grid]\nn = {from = 10, to = 1000, factor = 10}\nx = {from = 0.5, to = 1.5, step = 0.5}"
    )
    assert [(s.n, s.x) for s in sweep_of(tmp_path, HEAD + ranges).specs()][:4] == [
        (10, 0.5),
        (10, 1.0),
        (10, 1.5),
        (100, 0.5),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind = ", "s.toml is not TOML"),
        ("[base]\nx = 1", "needs its kind"),
        ("kind = 3", "kind must be a text"),
        ("kind = 'nonsense'", "no kind of run 'nonsense'"),
        ("kind = 'hierarchi'", "did you mean 'hierarchy'"),
        ("kind = 'nowhere:Toy'", "cannot import the kind"),
        ("kind = 'tests.sweeps.toy:lines'", "must derive from"),
        (HEAD + "gird = 1", "did you mean 'grid'"),
        (HEAD + "base = 1", "base must be a table"),
        (HEAD + "[base]\nx = 1", "needs the field folder"),
        (HEAD + "[base]\nx = 1\nfolder = 'f'\nsede = 3", "no field 'sede'; did you mean 'seed'"),
        (HEAD + "[base]\nx = 'one'\nfolder = 'f'", "toy.x must be a number"),
        (HEAD + "[base]\nfolder = 'f'\n[grid]\nx = 3", "grid.x must be a list"),
        (HEAD + "[base]\nfolder = 'f'\n[grid]\nx = []", "grid.x must be a list"),
        (HEAD + "[base]\nfolder = 'f'\n[grid]\nx = 'abc'", "grid.x must be a list"),
        (HEAD + "[base]\nfolder = 'f'\n[grid]\nx = {from = 1}", "or a range such as"),
        (HEAD + "[base]\nfolder = 'f'\n[grid]\nx = {from = 5, to = 1}", "does not grow"),
        (HEAD + "[base]\nfolder = 'f'\n[grid]\nx = {from = 1, to = 5, factor = 1}", "does not grow"),
        (HEAD + "[base]\nfolder = 'f'\n[runs]\nx = 1", r"write \[\[runs\]\]"),
        (HEAD + "[base]\nfolder = 'f'\nx = 1\n[adaptive]\nover = 'n'", "adaptive needs metric, threshold, start, most"),
    ],
)
def test_bad_sweeps_are_refused_in_a_sentence(tmp_path, text, message):
    with pytest.raises(CompsparseError, match=message):
        sweep_of(tmp_path, text)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("over = 'm'", "adaptive.over names 'm'"),
        ("over = 'x'", "must not set it"),
        ("start = 2.5", "whole number"),
        ("start = 99999", "least <= start <= most"),
        ("start = []", "holds no value"),
        ("factor = 1", "must exceed 1"),
        ("resolution = 0.5", "must exceed 1"),
        ("side = 'beside'", "one of 'below', 'above'"),
        ("threshhold = 1", "did you mean 'threshold'"),
    ],
)
def test_bad_searches_are_refused(tmp_path, line, message):
    good = {"over": "'n'", "metric": "'error'", "threshold": "0.1", "start": "8", "most": "4096"}
    name, _, value = line.partition(" = ")
    table = "\n".join(f"{k} = {v}" for k, v in (good | {name: value}).items())
    with pytest.raises(ConfigError, match=message):
        sweep_of(tmp_path, HEAD + f"[base]\nfolder = 'f'\nx = 1\n[adaptive]\n{table}")


def test_files_that_cannot_be_read(tmp_path):
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe\x00")
    for path, message in (
        (tmp_path / "none.toml", "there is no file"),
        (tmp_path, "cannot read"),
        (tmp_path / "bytes.toml", "not a text"),
    ):
        with pytest.raises(CompsparseError, match=message):
            Sweep.from_toml(path)


def test_kinds_and_presets_by_name():
    assert get_kind("tests.sweeps.toy:Toy") is Toy
    assert all(sweep.specs() for sweep in presets().values())
    with pytest.raises(ConfigError, match="no preset 'nonsense'"):
        get_preset("nonsense")


# ---- the search for a threshold -----------------------------------------------------------------


def searched(adaptive, metric):
    curve = {}
    while values := adaptive.next_values(curve):
        assert not set(values) & set(curve)
        assert all(adaptive.least <= v <= adaptive.most for v in values)
        curve |= {v: metric(v) for v in values}
        assert len(curve) < 60
    return curve


@given(
    st.integers(2, 10**6), st.integers(1, 10**6), st.floats(1.01, 3), st.floats(1.5, 10), st.sampled_from([0.3, 1, 3])
)
def test_the_search_ends_around_the_threshold(truth, start, resolution, factor, slope):
    adaptive = Adaptive("n", "e", 0.1, start=start, most=10**7, resolution=resolution, factor=factor)
    curve = searched(adaptive, lambda n: 0.1 * (truth / n) ** slope)
    found = adaptive.crossing(curve)
    assert found.high is not None
    if found.low is None:  # all values down to the least are on the wanted side
        assert found.high == adaptive.least >= truth
    else:
        assert found.low < truth <= found.high
        assert found.high <= found.low * resolution or found.high == found.low + 1
        assert found.low <= found.value <= found.high
    # resumable: any part of the curve that a search could have left leads to the same end
    part = dict(list(curve.items())[: len(curve) // 2])
    while values := adaptive.next_values(part):
        part |= {v: curve[v] for v in values}
    assert adaptive.crossing(part) == found


def test_a_search_ends_where_it_may_not_go_on():
    adaptive = Adaptive("n", "e", 0.1, start=(8, 32), most=1000, least=2)
    assert adaptive.next_values({}) == [8, 32]
    never = searched(adaptive, lambda n: 1.0)
    assert max(never) == 1000
    assert adaptive.crossing(never).high is None
    always = searched(adaptive, lambda n: 0.0)
    assert min(always) == 2
    assert adaptive.crossing(always).low is None
    assert adaptive.next_values({8: None, 32: None}) == []
    assert adaptive.next_values({8: 1.0, 32: 0.0, 16: None}) == []
    assert adaptive.summary([0.1, math.nan, 0.3]) == 0.3
    assert adaptive.summary([None, None]) is None
    assert adaptive.crossing({8: math.inf, 9: 0.0}).value == 9
    accuracy = Adaptive("n", "acc", 0.9, start=10, most=10**4, side="above", resolution=1.05)
    assert accuracy.crossing(searched(accuracy, lambda n: 1 - 10 / n)).value == pytest.approx(100, rel=0.02)
    assert accuracy.values_left({10: 0.0}) >= 1
    # a curve that comes back above the threshold: the last crossing counts
    assert adaptive.crossing({8: 1.0, 16: 0.05, 32: 0.5, 64: 0.01}).low == 32


# ---- packs --------------------------------------------------------------------------------------


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 100)), min_size=1), st.integers(1, 9), st.integers(1, 5)
)
def test_packs_hold_every_spec_once_within_their_size(loads, n_replicas, workers):
    specs = {s.key: s for s in (Toy(float(i), f, n=n) for i, (f, n) in enumerate(loads))}
    packs = packed(list(specs.values()), n_replicas, workers)
    assert sorted(s.key for p in packs for s in p.specs) == sorted(specs)
    assert all(1 <= len(p.specs) <= n_replicas for p in packs)
    assert all(len({s.pack_key() for s in p.specs}) == 1 for p in packs)
    assert [p.load for p in packs] == sorted((p.load for p in packs), reverse=True)
    assert len(packs) >= min(workers, len(specs)) or len({s.folder for s in specs.values()}) > 1


def test_few_runs_are_spread_over_the_workers(tmp_path):
    specs = toys(tmp_path, n=10).specs()
    assert [len(p.specs) for p in packed(specs, 64, workers=2)] == [5, 5]
    assert [len(p.specs) for p in packed(specs, 64, workers=1)] == [10]

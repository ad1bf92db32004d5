from hypothesis import given
from hypothesis import strategies as st
from tests.sweeps.conftest import toys
from tests.sweeps.kinds.toy import Toy

from compsparse.sweeps.packs import packed


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 100)), min_size=1), st.integers(1, 9), st.integers(1, 5)
)
def test_packs_hold_every_spec_once_within_their_size(loads, max_replicas, workers):
    specs = {s.key: s for s in (Toy(float(i), f, n=n) for i, (f, n) in enumerate(loads))}
    packs = packed(list(specs.values()), max_replicas, workers)
    assert sorted(s.key for p in packs for s in p.specs) == sorted(specs)
    assert all(1 <= len(p.specs) <= max_replicas for p in packs)
    assert all(len({s.pack_key() for s in p.specs}) == 1 for p in packs)
    assert [p.load for p in packs] == sorted((p.load for p in packs), reverse=True)
    assert len(packs) >= min(workers, len(specs)) or len({s.folder for s in specs.values()}) > 1


def test_few_runs_are_spread_over_the_workers(tmp_path):
    specs = toys(tmp_path, n=10).specs()
    assert [len(p.specs) for p in packed(specs, 64, workers=2)] == [5, 5]
    assert [len(p.specs) for p in packed(specs, 64, workers=1)] == [10]

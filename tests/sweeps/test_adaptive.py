import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compsparse.sweeps import Adaptive


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

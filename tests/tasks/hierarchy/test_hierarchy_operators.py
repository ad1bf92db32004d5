"""Transformations that keep the label: what they change, how often, and what stays."""

import numpy as np
import pytest
from scipy import stats
from tests.tasks.hierarchy.models import DENSE, SPARSE_B, UNEVEN

from compsparse.errors import ConfigError
from compsparse.tasks import SparseRandomHierarchy, diffeomorphism, exchange_synonyms

WIDE = SparseRandomHierarchy(n_features=4, multiplicity=4, n_levels=3, n_empty=1)


@pytest.mark.parametrize("allow_identity", [True, False])
@pytest.mark.parametrize("level", [1, 2, 3])
def test_synonyms_change_from_a_level_down(level, allow_identity):
    data = WIDE.sample(4000, random_state=0)
    other = exchange_synonyms(data, level, random_state=1, allow_identity=allow_identity)
    np.testing.assert_array_equal(other.y, data.y)
    for above in range(level, 4):
        np.testing.assert_array_equal(other.symbols[above], data.symbols[above])
    assert all(a is b for a, b in zip(other.slots, data.slots, strict=True))
    np.testing.assert_array_equal(other.X >= 0, data.X >= 0)
    assert WIDE.read(other.X).numbers == other.numbers
    for below in range(1, 4):
        same = (other.choices[below - 1] == data.choices[below - 1]).mean()
        at_level_itself = 1 / 4 if allow_identity else 0
        assert same == pytest.approx(1 if below > level else at_level_itself if below == level else 1 / 4, abs=0.03)


@pytest.mark.parametrize("model", [WIDE, SparseRandomHierarchy(4, multiplicity=4, n_levels=3, placement="B")])
@pytest.mark.parametrize("allow_identity", [True, False])
def test_slots_change_from_a_level_down(model, allow_identity):
    data = model.sample(4000, random_state=0)
    moved = diffeomorphism(data, 2, random_state=1, allow_identity=allow_identity)
    assert all(np.array_equal(a, b) for a, b in zip(moved.symbols, data.symbols, strict=True))
    same = [(a == b).all(axis=-1).mean() for a, b in zip(moved.slots, data.slots, strict=True)]
    share = 1 / model.n_placements
    assert same == pytest.approx([share, share if allow_identity else 0, 1], abs=0.03)
    assert model.read(moved.X).numbers == moved.numbers


def test_exchanged_synonyms_follow_the_probabilities_of_the_others():
    data = UNEVEN.sample(9000, random_state=0)
    other = exchange_synonyms(data, 2, random_state=1, allow_identity=False)
    after = other.choices[1][data.choices[1] == 0]
    assert stats.chisquare(np.bincount(after, minlength=3)[1:], len(after) * np.array([0.25, 0.75])).pvalue > 1e-4
    assert np.bincount(other.choices[0].ravel()) / 18_000 == pytest.approx([0.6, 0.1, 0.3], abs=0.02)


def test_operators_say_what_cannot_be():
    data = DENSE.sample(10, random_state=0)
    with pytest.raises(ConfigError, match="two placements"):
        diffeomorphism(data, 1, allow_identity=False)
    with pytest.raises(ConfigError, match="two synonyms"):
        exchange_synonyms(SPARSE_B.sample(10, random_state=0), 1, allow_identity=False)
    for level, problem in ((0, "whole number >= 1"), (3, "at most 2, got 3"), (1.0, "whole"), (True, "whole")):
        with pytest.raises(ConfigError, match=f"level must be .*{problem}"):
            exchange_synonyms(data, level)
    with pytest.raises(ConfigError, match="random_state must be a whole number >= 0, got -1"):
        diffeomorphism(data, 1, random_state=-1)
    with pytest.raises(ConfigError, match="allow_identity must be True or False"):
        exchange_synonyms(data, 1, allow_identity=0)

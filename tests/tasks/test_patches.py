import numpy as np
import pytest

from compsparse.errors import ConfigError
from compsparse.tasks import patch_pixels, patch_sum


def test_the_target_is_the_formula_written_by_hand():
    task = patch_sum(12, 3, random_state=3)
    weights = np.random.default_rng(3).standard_normal((16, 9))
    X = np.random.default_rng(0).standard_normal((20, 144))
    images = X.reshape(20, 12, 12)
    by_hand = sum(
        np.abs(images[:, 3 * i : 3 * i + 3, 3 * j : 3 * j + 3].reshape(20, 9) @ weights[4 * i + j])
        for i in range(4)
        for j in range(4)
    )
    np.testing.assert_allclose(task.graph(X), by_hand, rtol=1e-12)
    drawn = task.sample(4000, random_state=1)
    assert abs(drawn.X.mean()) < 0.01
    assert abs(drawn.X.std() - 1) < 0.01


def test_scattered_pixels_keep_the_sparsity_and_lose_the_places():
    local, scattered = patch_sum(6, 3), patch_sum(6, 3, scattered=True)
    assert [n.arity for n in local.graph.nodes] == [n.arity for n in scattered.graph.nodes]
    assert sorted(p for n in scattered.graph.nodes[:4] for p in n.parents) == sorted(local.graph.inputs)
    assert local.graph.nodes[0].parents == ("x0", "x1", "x2", "x6", "x7", "x8", "x12", "x13", "x14")
    assert scattered.graph.modules != local.graph.modules


def test_patches_overlap_where_the_stride_is_smaller():
    assert patch_pixels(3, 2, 1).tolist() == [[0, 1, 3, 4], [1, 2, 4, 5], [3, 4, 6, 7], [4, 5, 7, 8]]


def test_patches_that_do_not_fit_are_refused():
    with pytest.raises(ConfigError, match="do not cover a side of 10 exactly"):
        patch_sum(10, 3)
    with pytest.raises(ConfigError, match="Gaussian: only uniform ones can be correlated"):
        patch_sum(4, 2).with_correlation(0.5)

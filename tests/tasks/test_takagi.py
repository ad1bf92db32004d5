"""The Takagi class as tasks."""

import numpy as np
import pytest

from compsparse.errors import ConfigError
from compsparse.tasks.takagi import hat_sum, hats, takagi_coefficients, takagi_sum


def test_the_graph_is_a_chain_of_hats_read_by_a_sum():
    task = takagi_sum(6)
    assert task.graph.depth == 7
    assert task.graph.max_arity == 6
    x = np.linspace(0, 1, 65)
    np.testing.assert_allclose(task.graph(x[:, None]), hat_sum(x, takagi_coefficients(6)), atol=1e-14)
    assert task.sample(5, random_state=0).X.min() >= 0


def test_a_parabola_and_a_long_sum():
    x = np.linspace(0, 1, 33)
    np.testing.assert_allclose(takagi_sum(20, 0.25).graph(x[:, None]), x * (1 - x), atol=1e-12)
    assert hats([1.0] + [0.0] * 299).graph(x[:, None]).max() == 1


def test_what_is_refused():
    with pytest.raises(ConfigError, match="ratio must be"):
        takagi_sum(5, 1.5)
    with pytest.raises(ConfigError, match="needs 1 to"):
        hats([])

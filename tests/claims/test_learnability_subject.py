"""The claim on chains of products: its rules, and what its networks are told."""

import numpy as np
import pytest
import torch
from tests.claims.declared import outcome_of

from compsparse.claims import Outcome
from compsparse.claims.subjects import learnability
from compsparse.claims.subjects.learnability import _Setting

S, R, U = Outcome.SUPPORTED, Outcome.REFUTED, Outcome.INCONCLUSIVE
JITTER = np.array([0.97, 1.0, 1.03])


@pytest.mark.parametrize(
    ("at_once", "in_steps", "outcome"), [(2.2, 1.2, S), (1.2, 1.2, R), (2.2, 2.2, R), (np.nan, 1.2, U), (1.0, 1.0, R)]
)
def test_chains_are_judged_by_growth(at_once, in_steps, outcome):
    values = {"at once": at_once * JITTER, "intermediate products": in_steps * JITTER}
    named = {f"growth a unit of length, {name}": v for name, v in values.items()}
    assert outcome_of("intermediate-products-make-chains-learnable", named) is outcome


def test_growth_is_that_of_an_exponential_and_unknown_where_something_was_not_learned():
    samples = np.array([[100.0, 200.0], [200.0, 400.0], [400.0, 800.0]])
    np.testing.assert_allclose(learnability._growth((2, 3, 4), samples), 2)
    samples[2, 1] = np.inf
    assert np.isnan(learnability._growth((2, 3, 4), samples)).all()


@pytest.mark.parametrize(
    "way", [learnability._at_once, learnability._staircase, learnability._curriculum, learnability._in_steps]
)
def test_short_chains_of_few_signs_are_learned_every_way(way):
    done = way(_Setting(4, 2, 400), 2)
    assert np.isfinite(done).all()


def test_a_chain_of_networks_reads_its_own_answers():
    """Networks that answer the product of the last input, which is the answer before, and the first sign."""

    def product(rows):
        return (rows[..., -1] * rows[..., 0])[..., None]

    test = 2.0 * torch.randint(2, (20, 3), generator=torch.Generator().manual_seed(0)) - 1
    found = learnability._chained(product, test, 2, 3)
    torch.testing.assert_close(found, (test[:, 0] ** 3).expand(2, -1))

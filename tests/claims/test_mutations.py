"""No claim supports itself: not where nothing is trained, nor where labels or numbers say nothing.

A sample runs with the tests; ``pytest tests/claims/test_mutations.py --all-cases`` runs every claim in every world.
"""

import numpy as np
import pytest
import torch
from tests.claims.mutations import NUMBERS, WORLDS, changed, in_world, judged_again, supported, verdicts

from compsparse.claims import Claim, Finding, Outcome, all_claims, judge_at_most, mean_interval
from compsparse.networks import dense
from compsparse.training import TrainingConfig, TrainingData, train

SAMPLE = {
    "nothing trained": (
        *("features-collapse", "rho-at-equilibrium", "embedded-convolution-can-win", "networks-survive-pruning"),
        *("attention-misses-flat-parity", "overfitting-shows-in-sensitivities", "depth-favours-hierarchy"),
        *("memorisation-width-drops-out", "oscillation-is-learned"),
    ),
    "one answer for all": ("features-collapse", "networks-survive-pruning", "memorisation-width-drops-out"),
    "labels shuffled": ("features-collapse", "networks-survive-pruning"),
}
"""Each in the first world with all numbers that say nothing; those that are quick where nothing is learned."""


def pytest_generate_tests(metafunc):
    if "case" not in metafunc.fixturenames:
        return
    sampled = [(world, name) for world, names in SAMPLE.items() for name in names]
    claims = [name for name, claim in all_claims().items() if not claim.is_check]
    everything = [(world, name) for world in WORLDS for name in claims]
    chosen = everything if metafunc.config.getoption("--all-cases", default=False) else sampled
    metafunc.parametrize("case", chosen, ids=[f"{name}, {world}" for world, name in chosen])


def test_no_claim_supports_itself(case):
    world, name = case
    claim = all_claims()[name]
    found = verdicts(claim, [world]) if world == "nothing trained" else {world: in_world(claim, world)[0]}
    assert supported(found) == []


# ---- the suite itself ----------------------------------------------------------------------------


def fitted():
    """A small error, and the loss that training says it has."""
    x = torch.linspace(-1, 1, 40)[:, None]
    network = dense(1, 4, n_replicas=3, random_state=0)
    said = train(network, TrainingData(x, x), TrainingConfig(n_steps=300), random_state=0).train_loss
    with torch.no_grad():
        return float((network(x) - x).square().mean()), said


def believer(profile, progress):
    """Judges the loss of a network by a bar that everything meets."""
    return judge_believer(fitted()[1])


def judge_believer(loss: np.ndarray) -> Finding:
    return Finding(judge_at_most(mean_interval(loss), 1e6), "at most a million", f"{loss.mean():.2g}")


@pytest.mark.parametrize("world", WORLDS)
def test_a_claim_that_supports_itself_is_found_out(world):
    outcome, seen = in_world(Claim("believer", "Errors are small.", "Nobody 2020", "memo", believer), world)
    assert (outcome, seen.trainings) == (Outcome.SUPPORTED.value, 1)


@pytest.mark.parametrize("world", WORLDS)
def test_nothing_true_is_learned_in_the_worlds_and_they_leave_no_trace(world):
    before = fitted()[0]
    with changed(world):
        there = fitted()[0]
    assert before < 1e-3
    assert there > 0.1
    assert fitted()[0] == before


def test_loops_with_an_optimiser_of_their_own_are_reached():
    weight = torch.nn.Parameter(torch.ones(1))
    optimiser = torch.optim.SGD([weight], lr=0.1)
    with changed("nothing trained") as world:
        weight.square().sum().backward()
        optimiser.step()
    assert (weight.item(), world.steps) == (1.0, 1)


def test_judges_are_asked_again_with_numbers_that_say_nothing():
    claim = all_claims()["embedded-convolution-can-win"]
    _, world = in_world(claim, "one answer for all")
    assert [judge.__name__ for judge, _, _ in world.judged] == ["judge_measured"]
    for numbers in NUMBERS:
        assert judged_again(world, numbers)[0] in ("inconclusive", "refuted", "refused")

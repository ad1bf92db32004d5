"""Rules of the claims on attention, memories and the square loss, fed with made-up measurements of every outcome."""

from types import SimpleNamespace

import numpy as np
import pytest

from compsparse.claims import Outcome
from compsparse.claims.subjects import associative, attention, square_loss
from compsparse.measures import Dynamics, NeuralCollapse, SelectionMeasures
from compsparse.networks.associative import hebbian_bit_error
from compsparse.progress import Silent
from compsparse.tasks import token_parity

S, R, U = Outcome.SUPPORTED, Outcome.REFUTED, Outcome.INCONCLUSIVE


def about(value, spread=0.01, n=5):
    return value + spread * np.linspace(-1, 1, n)


def selection(mass=0.9, precision=1.0, non_zeros=3.0, spread=0.01):
    column = about(mass, spread)[:, None]
    return SelectionMeasures(
        column, np.full((5, 1), precision), column, np.full((5, 1), 2.0), about(non_zeros, 10 * spread)[:, None]
    )


@pytest.mark.parametrize(
    ("precision", "outcome"), [([1.0] * 5, S), ([1, 1, 1, 1, 2 / 3], U), ([1 / 3, 1 / 3, 2 / 3, 1 / 3, 0], R)]
)
def test_the_support_is_selected_in_every_seed(precision, outcome):
    found = selection()
    measured = SelectionMeasures(found.mass, np.array(precision)[:, None], *[found.auroc] * 3)
    task = token_parity(16, 3, random_state=0)
    weights = np.full((5, 1, 16), 1 / 16)
    run = SimpleNamespace(task=task, errors=np.zeros(5), network=None, X=None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(attention, "mean_attention", lambda *_: weights)
        finding = attention.judge_support({"parity": measured}, {"parity": run}, {"parity": weights})
    assert finding.outcome is outcome


@pytest.mark.parametrize(
    ("error", "spread", "control", "outcome"),
    [(0.5, 0.01, 0.0, S), (0.02, 0.01, 0.0, R), (0.35, 0.2, 0.0, U), (0.5, 0.01, 0.5, U), (0.02, 0.01, 0.5, U)],
)
def test_failure_counts_where_an_easier_task_is_learned(error, spread, control, outcome):
    finding = attention.judge_failure(about(error, spread), selection(), 1000, np.full(5, control))
    assert finding.outcome is outcome


@pytest.mark.parametrize(
    ("mass", "non_zeros", "spread", "outcome"),
    [(0.85, 3.4, 0.01, S), (0.3, 3.4, 0.01, R), (0.85, 12, 0.01, R), (0.6, 3.4, 0.2, U)],
)
def test_entmax_is_judged_by_mass_and_non_zeros(mass, non_zeros, spread, outcome):
    found = {"softmax": selection(0.6, non_zeros=16, spread=1e-6), "entmax15": selection(mass, 1.0, non_zeros, spread)}
    assert attention.judge_entmax(found).outcome is outcome


@pytest.mark.parametrize(
    ("flat", "steps", "outcome"), [(0.5, 0.0, S), (0.0, 0.0, R), (0.5, 0.5, R), (0.5, 0.2, U), (0.3, 0.0, U)]
)
def test_thoughts_must_help_where_the_flat_task_fails(flat, steps, outcome):
    assert (
        attention.judge_thoughts(
            np.full(5, flat), np.full(5, steps), np.ones(5), np.full((5, 20), 0.05), 6, 1000
        ).outcome
        is outcome
    )


def test_steps_are_learned_and_then_taken_by_the_network_itself(monkeypatch):
    """The whole way of the chain of thought, on a chain of two steps that is learned in no time."""
    monkeypatch.setattr(attention, "_ROWS", 2000)
    task = attention.token_chain(6, 3, random_state=0)
    _, errors = attention._trained_in_steps(task, 1, 150)
    assert errors[0] < 0.1


@pytest.mark.parametrize(("auroc", "error", "outcome"), [(0.98, 0.0, S), (0.5, 0.0, R), (0.85, 0.0, U), (0.98, 0.5, U)])
def test_rollout_counts_where_the_tree_was_learned(auroc, error, outcome):
    found = {seed: (about(auroc, 0.005), about(0.9), np.full(5, error)) for seed in range(3)}
    assert attention.judge_rollout(found).outcome is outcome


@pytest.mark.parametrize(
    ("gap", "spread", "error", "outcome"),
    [
        (0.0, 0.01, 0.1, S),
        (0.2, 0.01, 0.1, R),
        (0.05, 0.1, 0.1, U),
        (0.0, 0.01, 0.5, U),  # at chance, both
        (0.0, 0.0, 0.1, U),  # the same numbers twice
    ],
)
def test_forms_are_judged_by_their_difference_where_one_learned(gap, spread, error, outcome):
    base = np.full(12, error)
    errors = {"sequential": base, "parallel": base + about(gap, spread, 12), "printed": base}
    assert attention.judge_forms(errors).outcome is outcome


@pytest.mark.parametrize(
    ("change", "spread", "error", "outcome"),
    [
        (-0.2, 0.1, 0.0, S),
        (0.2, 0.1, 0.0, R),
        (0.0, 0.1, 0.0, U),
        (0.0, 0.0, 0.0, U),  # nothing changed
        (-0.01, 1e-4, 0.0, U),  # sure and next to nothing
        (-0.2, 0.1, 0.5, U),
    ],
)
def test_isometry_is_judged_by_its_change(change, spread, error, outcome):
    before = {name: about(0.8, 0.02, 12) for name in ("coherence", "isometry")}
    after = {name: values + about(change, spread, 12)[::-1] for name, values in before.items()}
    assert attention.judge_isometry(before, after, np.full(12, error)).outcome is outcome


@pytest.mark.parametrize(
    ("share", "spread", "error", "outcome"),
    [(0.9, 0.02, 0.0, S), (0.5, 0.02, 0.0, R), (0.68, 0.1, 0.0, U), (0.9, 0.02, 0.5, U)],
)
def test_a_metric_is_judged_by_symmetry(share, spread, error, outcome):
    assert attention.judge_metric(about(0.5), about(share, spread, 8), np.full(8, error)).outcome is outcome


@pytest.mark.parametrize(("mass", "error", "outcome"), [(0.5, 0.0, S), (0.14, 0.0, R), (0.23, 0.0, U), (0.5, 0.5, U)])
def test_siblings_count_where_the_hierarchy_was_learned(mass, error, outcome):
    finding = attention.judge_siblings(about(0.14), about(mass, 0.005), np.full(5, error), 1 / 7)
    assert finding.outcome is outcome


# ---- memories -----------------------------------------------------------------------------------


def memories(hebbian=1.0, exact=0.0, beyond=0.1, soft=0.0):
    loads = (32, 64, 128, 256, 512)
    found = {("Hebbian", P): hebbian * hebbian_bit_error(256, P) * about(1, 0.005) for P in loads}
    found |= {("pseudo-inverse", P): about(beyond, 0.001) if P > 256 else np.full(5, exact) for P in loads}
    return found | {("softmax, 20% flipped", P): np.full(5, soft) for P in loads}


@pytest.mark.parametrize(
    ("settings", "outcome"),
    [({}, S), ({"hebbian": 1.3}, R), ({"exact": 0.01}, R), ({"beyond": 0.0}, R), ({"soft": 0.1}, R)],
)
def test_capacity_has_three_parts(settings, outcome):
    assert associative.judge_capacity(memories(**settings)).outcome is outcome


def test_chains_must_arrive():
    good, bad = np.zeros((5, 8)), np.full((5, 8), 0.3)
    assert associative.judge_chains({"Hebbian": good, "softmax": good}).outcome is S
    assert associative.judge_chains({"Hebbian": good, "softmax": bad}).outcome is R


def test_the_quick_memories_run():
    assert associative.chains("quick", Silent()).outcome in (S, R, U)


# ---- the square loss ----------------------------------------------------------------------------


def state(rho=1.0, ranks=5.0, collapse=1.0, spread=0.01, step=0, error=0.0):
    n = 4
    value = np.exp(about(np.log(collapse), spread, n))
    column = np.exp(about(np.log(ranks), spread, n))[:, None] * np.ones(3)
    rhos = np.exp(about(np.log(rho), spread, n))
    rest = NeuralCollapse(value, value, value, value, value)
    return Dynamics(step, np.arange(n), rhos, np.full(n, error), column, rhos, column, rhos, rest)


@pytest.mark.parametrize(
    ("rho", "ranks", "spread", "outcome"),
    [(20, 2.0, 0.05, S), (20, 8.0, 0.05, R), (400, 2.0, 0.05, R), (20, 4.5, 0.05, U), (20, 2.0, 2.0, U)],
)
def test_decay_must_lower_norms_and_ranks(rho, ranks, spread, outcome):
    ends = {1e-6: state(200, 5.0, spread=0.01), 1e-3: state(rho, ranks, spread=spread)}
    assert square_loss.judge_decay(ends, {k: np.zeros(4) for k in ends}).outcome is outcome


@pytest.mark.parametrize(
    ("ratio", "spread", "outcome"), [(1.0, 0.01, S), (1.3, 0.01, R), (1.0, 0.3, U), (np.nan, 0.01, U)]
)
def test_equilibrium_is_judged_within_a_margin(ratio, spread, outcome):
    assert square_loss.judge_equilibrium({d: about(ratio, spread, 4) for d in (1e-3, 1e-2)}).outcome is outcome


@pytest.mark.parametrize(
    ("late", "spread", "error", "outcome"),
    [
        (0.2, 0.05, 0.0, S),
        (3.0, 0.05, 0.0, R),
        (1.0, 1.0, 0.0, U),
        (1.0, 0.01, 0.0, U),  # nothing changed
        (0.999, 0.01, 0.0, U),  # sure and next to nothing
        (0.2, 0.05, 0.9, U),
    ],
)
def test_collapse_is_judged_by_what_falls_in_networks_that_fitted(late, spread, error, outcome):
    points = [state(), state(step=1, error=error), state(collapse=late, spread=spread, step=2, error=error)]
    assert square_loss.judge_collapse(points).outcome is outcome

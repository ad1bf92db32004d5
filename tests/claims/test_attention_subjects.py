"""Rules of the claims on attention, memories and the square loss, fed with made-up measurements of every outcome."""

import numpy as np
import pytest
from tests.claims.declared import outcome_of

from compsparse.claims import Outcome, get_claim, run_claim
from compsparse.claims.subjects import attention

S, R, U = Outcome.SUPPORTED, Outcome.REFUTED, Outcome.INCONCLUSIVE


def about(value, spread=0.01, n=5):
    return value + spread * np.linspace(-1, 1, n)


@pytest.mark.parametrize(
    ("precision", "error", "outcome"),
    [([1.0] * 5, 0.0, S), ([1, 1, 1, 1, 2 / 3], 0.0, U), ([1 / 3, 1 / 3, 2 / 3, 1 / 3, 0], 0.0, R), ([1] * 5, 0.5, U)],
)
def test_the_support_is_selected_in_every_seed(precision, error, outcome):
    values = {"precision, parity": np.array(precision), "error, parity": np.full(5, error)}
    assert outcome_of("attention-selects-the-support", values) is outcome


@pytest.mark.parametrize(
    ("error", "spread", "control", "outcome"),
    [(0.5, 0.01, 0.0, S), (0.02, 0.01, 0.0, R), (0.35, 0.2, 0.0, U), (0.5, 0.01, 0.5, U), (0.02, 0.01, 0.5, U)],
)
def test_failure_counts_where_an_easier_task_is_learned(error, spread, control, outcome):
    values = {"error": about(error, spread), "control": np.full(5, control)}
    assert outcome_of("attention-misses-flat-parity", values) is outcome


@pytest.mark.parametrize(
    ("mass", "tokens", "spread", "error", "outcome"),
    [(0.85, 3.4, 0.01, 0.0, S), (0.3, 3.4, 0.01, 0.0, R), (0.85, 12, 0.01, 0.0, R), (0.6, 3.4, 0.2, 0.0, U),
     (0.85, 3.4, 0.01, 0.5, U)],
)  # fmt: skip
def test_entmax_is_judged_by_mass_and_tokens(mass, tokens, spread, error, outcome):
    values = {
        "mass, entmax15": about(mass, spread), "tokens with weight, entmax15": about(tokens, 10 * spread),
        "tokens with weight, softmax": about(16, 1e-6), "error, entmax15": np.full(5, error),
    }  # fmt: skip
    assert outcome_of("entmax-selects-few", values) is outcome


@pytest.mark.parametrize(
    ("flat", "steps", "outcome"), [(0.5, 0.0, S), (0.0, 0.0, R), (0.5, 0.5, R), (0.5, 0.2, U), (0.3, 0.0, U)]
)
def test_thoughts_must_help_where_the_flat_task_fails(flat, steps, outcome):
    values = {"error at once": np.full(5, flat), "error in steps": np.full(5, steps)}
    assert outcome_of("thoughts-make-parity-learnable", values) is outcome


def test_steps_are_learned_and_then_taken_by_the_network_itself(monkeypatch):
    """The whole way of the chain of thought, on a chain of two steps that is learned in no time."""
    monkeypatch.setattr(attention, "_ROWS", 2000)
    task = attention.token_chain(6, 3, random_state=0)
    _, errors = attention._trained_in_steps(task, 1, 150)
    assert errors[0] < 0.1


@pytest.mark.parametrize(("auroc", "error", "outcome"), [(0.98, 0.0, S), (0.5, 0.0, R), (0.85, 0.0, U), (0.98, 0.5, U)])
def test_rollout_counts_where_the_tree_was_learned(auroc, error, outcome):
    values = {"rollout": about(auroc, 0.005), "error": np.full(5, error)}
    assert outcome_of("rollout-finds-ancestors", values) is outcome


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
    values = {"sequential": base, "parallel": base + about(gap, spread, 12)}
    assert outcome_of("parallel-blocks-are-as-good", values) is outcome


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
    before = about(0.8, 0.02, 12)
    after = before + about(change, spread, 12)[::-1]
    values = {"isometry before": before, "isometry after": after, "error": np.full(12, error)}
    assert outcome_of("training-makes-scores-isometric", values) is outcome


@pytest.mark.parametrize(
    ("share", "spread", "error", "outcome"),
    [(0.9, 0.02, 0.0, S), (0.25, 0.02, 0.0, R), (0.45, 0.1, 0.0, U), (0.9, 0.02, 0.5, U)],
)
def test_a_metric_is_judged_by_its_positive_part(share, spread, error, outcome):
    values = {"share of a metric after": about(share, spread, 8), "error": np.full(8, error)}
    assert outcome_of("attention-learns-a-metric", values) is outcome


@pytest.mark.parametrize(("mass", "error", "outcome"), [(0.5, 0.0, S), (0.14, 0.0, R), (0.23, 0.0, U), (0.5, 0.5, U)])
def test_siblings_count_where_the_hierarchy_was_learned(mass, error, outcome):
    values = {"mass on siblings": about(mass, 0.005), "chance": 1 / 7, "error": np.full(5, error)}
    assert outcome_of("attention-groups-tuples", values) is outcome


# ---- memories -----------------------------------------------------------------------------------


def memories(hebbian=1.0, exact=0.0, beyond=0.1, soft=0.0):
    values = {f"Hebbian over theory, P={P}": hebbian * about(1, 0.005) for P in (64, 128)}
    values |= {f"pseudo-inverse, P={P}": np.full(5, exact) for P in (32, 64)}
    return values | {"pseudo-inverse of too many": about(beyond, 0.001), "softmax, P=64": np.full(5, soft)}


@pytest.mark.parametrize(
    ("settings", "outcome"),
    [({}, S), ({"hebbian": 1.3}, R), ({"exact": 0.01}, R), ({"beyond": 0.0}, R), ({"soft": 0.1}, R)],
)
def test_capacity_has_four_parts(settings, outcome):
    assert outcome_of("associative-memory-capacity", memories(**settings)) is outcome


@pytest.mark.parametrize(("error", "outcome"), [(0.0, S), (0.3, R)])
def test_chains_must_arrive(error, outcome):
    values = {"wrong at the end, Hebbian": np.zeros(5), "wrong at the end, softmax": np.full(5, error)}
    assert outcome_of("associations-compose", values) is outcome


@pytest.mark.parametrize("name", ["associations-compose", "associative-memory-capacity"])
def test_the_quick_memories_run(name):
    assert run_claim(get_claim(name)).outcome is S


# ---- the square loss ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rho", "ranks", "spread", "error", "outcome"),
    [(20, 2.0, 0.05, 0.0, S), (20, 8.0, 0.05, 0.0, R), (400, 2.0, 0.05, 0.0, R), (20, 4.5, 0.05, 0.0, U),
     (20, 2.0, 2.0, 0.0, U), (20, 2.0, 0.05, 0.9, U)],
)  # fmt: skip
def test_decay_must_lower_norms_and_ranks(rho, ranks, spread, error, outcome):
    values = {"test error, 1e-06": np.full(4, error)}
    for name, least, most in (
        ("rho", 200, rho),
        ("stable rank of layer 1", 5.0, ranks),
        ("stable rank of layer 2", 5.0, ranks),
    ):
        values |= {
            f"{name}, 1e-06": np.exp(about(np.log(least), 0.01, 4)),
            f"{name}, 0.001": np.exp(about(np.log(most), spread, 4)[::-1]),
        }
    assert outcome_of("weight-decay-lowers-rho-and-rank", values) is outcome


@pytest.mark.parametrize(
    ("ratio", "spread", "outcome"), [(1.0, 0.01, S), (1.3, 0.01, R), (1.0, 0.3, U), (np.nan, 0.01, U)]
)
def test_equilibrium_is_judged_within_a_margin(ratio, spread, outcome):
    values = {f"rho over the formula, {d}": about(ratio, spread, 4) for d in (1e-3, 1e-2)} | {"one": 1.0}
    known = {"share of seeds with an equilibrium, 0.001": np.isfinite(about(ratio, spread, 4))}
    assert outcome_of("rho-at-equilibrium", values | known) is outcome


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
    values = {f"training error {when}": np.full(4, error) for when in ("early", "late")}
    for name in ("within", "angles", "duality"):
        values |= {f"{name} early": np.ones(4), f"{name} late": np.exp(about(np.log(late), spread, 4))}
    assert outcome_of("features-collapse", values) is outcome

"""The rules by which claims on explicit networks are judged."""

import numpy as np
import pytest
from tests.claims.declared import outcome_of

from compsparse.claims import Outcome
from compsparse.claims.subjects import construction
from compsparse.claims.subjects.construction import _Count

S, R, U = Outcome.SUPPORTED, Outcome.REFUTED, Outcome.INCONCLUSIVE


def counts(deep, shallow):
    return [
        _Count(n, 10.0**-digits, 2 + deep * digits, 2 + (shallow or n / 2) * digits)
        for n in (4, 8)
        for digits in (1.0, 2.0, 3.0)
    ]


def test_counts_are_judged_by_both_exponents():
    assert construction.judge_counts(counts(1.0, None)).outcome is Outcome.SUPPORTED
    assert construction.judge_counts(counts(1.3, None)).outcome is Outcome.REFUTED
    assert construction.judge_counts(counts(1.0, 1.0)).outcome is Outcome.REFUTED
    bent = counts(1.0, None)
    bent[4] = _Count(8, 0.01, bent[4].log10_deep + 0.25, bent[4].log10_shallow)
    assert construction.judge_counts(bent).outcome is Outcome.SUPPORTED  # from 0.75 to 1.25 holds 1 and no rival
    bent[4] = _Count(8, 0.01, bent[4].log10_deep + 3, bent[4].log10_shallow)
    assert construction.judge_counts(bent).outcome is Outcome.INCONCLUSIVE


@pytest.mark.parametrize(
    ("exponents", "sup", "outcome"),
    [((0.97, 0.95), 0.9, S), ((0.5, 0.52), 0.9, R), ((0.97, 0.95), 0.01, R), ((0.45, 1.1), 0.9, U)],
)
def test_lemma_two_is_judged_by_both_norms(exponents, sup, outcome):
    values = {
        "L2 exponent, 2 inputs": np.array(exponents), "units over (n - 1) k^2, 2 inputs": np.full(3, 11.0),
        "sup error, one node": np.full(3, sup),
    }  # fmt: skip
    assert outcome_of("lemma-2-l2-only", values) is outcome


def test_a_tree_of_the_exact_node_is_the_tree():
    x = np.random.default_rng(0).uniform(-1, 1, (5, 4))
    found = construction._up_the_tree(x, lambda pair: pair[:, 0] * pair[:, 1])
    np.testing.assert_allclose(found, x.prod(1))


@pytest.mark.parametrize(("excess", "outcome"), [(0.05, S), (0.5, R), (-0.5, R), (0.2, U)])
def test_derivatives_are_judged_in_every_cell(excess, outcome):
    values = {"exponent less d/m, d=1, m=1": about(0.0), "exponent less d/m, d=3, m=2": about(excess)}
    assert outcome_of("local-polynomials-use-all-derivatives", values) is outcome


def about(value):
    return value + np.array([-0.02, 0.02, 0.01, -0.01])


def test_trees_have_one_constituent_at_every_node():
    graph = construction._tree(8)
    assert graph.is_tree
    assert (graph.n_inputs, graph.size, graph.max_arity) == (8, 7, 2)

"""The rules by which claims on explicit networks are judged."""

from compsparse.claims import Outcome
from compsparse.claims.subjects import construction
from compsparse.claims.subjects.construction import _Count, _Measured


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


def test_lemma_two_is_judged_by_both_norms():
    def outcome(rate, sup):
        return construction.judge_lemma_two([_Measured(k, k**-rate, sup) for k in (4, 8, 16)]).outcome

    assert outcome(1.0, 0.9) is Outcome.SUPPORTED
    assert outcome(0.5, 0.9) is Outcome.REFUTED
    assert outcome(1.0, 0.01) is Outcome.REFUTED
    mixed = [_Measured(4, 0.25, 0.9), _Measured(8, 0.125, 0.9), _Measured(16, 0.0625, 0.1)]
    assert construction.judge_lemma_two(mixed).outcome is Outcome.INCONCLUSIVE


def test_trees_have_one_constituent_at_every_node():
    graph = construction._tree(8)
    assert graph.is_tree
    assert (graph.n_inputs, graph.size, graph.max_arity) == (8, 7, 2)

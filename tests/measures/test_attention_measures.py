"""Measures of selection on weights that are known, against slow counts, and on networks with planted attention."""

import numpy as np
import pytest
import torch

from compsparse.errors import CompsparseError
from compsparse.graph import FunctionGraph, Node
from compsparse.measures import (
    ablation,
    ancestor_matrix,
    attention_graph,
    edge_auroc,
    mean_attention,
    parent_matrix,
    rollout,
    score_geometry,
    score_matrices,
    score_metric_share,
    score_symmetry,
    selection_measures,
    sibling_mass,
)
from compsparse.networks import ReplicatedNetwork
from compsparse.networks.attention import AttentionNetwork, sparsemax
from compsparse.sparse import coherence, isometry_constant
from compsparse.tasks import token_chain, token_gates

RNG = np.random.default_rng(0)
X = 2.0 * RNG.integers(2, size=(50, 6)) - 1


def planted(scores):
    """A selection that answers given weights, (outputs, tokens), whatever the scores."""
    weights = torch.tensor(scores)

    def select(z):
        return weights.expand(z.shape)

    return select


def network(weights, **settings):
    return AttentionNetwork(
        6, len(weights), width=8, n_heads=2, selection=planted(weights), n_replicas=2, random_state=0, **settings
    )


def test_measures_of_planted_weights():
    weights = [[0.5, 0.5, 0.0, 0.0, 0.0, 0.0], [0.25, 0.0, 0.25, 0.25, 0.25, 0.0]]
    reads = np.array([[1, 1, 0, 0, 0, 0], [1, 1, 0, 0, 0, 0]], dtype=bool)
    found = selection_measures(network(weights), X, reads)
    assert np.allclose(found.mass, [[1, 0.25]] * 2)
    assert np.allclose(found.precision, [[1, 0.5]] * 2)
    assert np.allclose(found.effective_tokens, [[2, 4]] * 2)
    assert np.allclose(found.non_zeros, [[2, 4]] * 2)
    assert np.allclose(found.auroc, [[1, 0.375]] * 2)  # second output: 0.25 and 0 against three of 0.25 and one of 0
    assert np.allclose(mean_attention(network(weights), X), [weights] * 2)


def test_auroc_against_all_pairs():
    scores, edges = RNG.integers(4, size=(3, 2, 5)).astype(float), RNG.random((2, 5)) < 0.4
    yes, no = scores[:, edges], scores[:, ~edges]
    pairs = yes[:, :, None] - no[:, None, :]
    slow = ((pairs > 0) + 0.5 * (pairs == 0)).mean((1, 2))
    assert np.allclose(edge_auroc(scores, edges), slow)
    assert np.isnan(edge_auroc(scores, np.ones((2, 5)))).all()


def test_rollout_by_hand_over_two_layers():
    net = AttentionNetwork(3, 1, n_layers=2, width=8, n_heads=1, random_state=0)
    x = 2.0 * RNG.integers(2, size=(4, 3)) - 1
    first, last = (layer[0, :, 0].numpy().astype(float) for layer in net.attention(torch.tensor(x).float()))
    expected = []
    for a, b in zip(first, last, strict=True):
        tokens, query = (a[:3] + np.eye(3)) / 2, a[3:] / 2
        expected.append((b @ tokens + query) / 2)
    expected = np.mean(expected, axis=0)
    assert np.allclose(rollout(net, x)[0], expected / expected.sum(), atol=1e-6)
    one = AttentionNetwork(3, 1, width=8, random_state=0)
    assert np.allclose(rollout(one, x), mean_attention(one, x), atol=1e-6)


def test_sibling_mass_of_planted_weights():
    weights = torch.full((5, 4), 0.1)  # four tokens and an output; each of the tokens prefers its neighbour
    for i in range(4):
        weights[i, i ^ 1] = 0.6

    def select(z):
        return weights[-z.shape[-2] :].expand(z.shape)

    net = AttentionNetwork(4, n_layers=2, width=8, n_heads=2, selection=select, n_replicas=2, random_state=0)
    assert np.allclose(sibling_mass(net, X[:, :4], 2), 0.6 / 0.8)
    with pytest.raises(CompsparseError, match="4 tokens cannot be divided into groups of 3"):
        sibling_mass(net, X[:, :4], 3)
    with pytest.raises(CompsparseError, match="needs n_layers > 1"):
        sibling_mass(AttentionNetwork(4, width=8), X[:, :4], 2)


class Product(ReplicatedNetwork):
    """x0 x1, and 3 x2 beside it."""

    def __init__(self):
        super().__init__(6, 2, 1)
        self.scale = torch.nn.Parameter(torch.ones(1, 1, 1))

    def run(self, columns):
        return self.scale * torch.stack([columns[:, 0] * columns[:, 1], 3 * columns[:, 2]], dim=1)


def test_ablation_finds_what_is_used():
    rows = 2.0 * np.random.default_rng(1).integers(2, size=(4000, 6)) - 1
    found = ablation(Product(), rows, random_state=0)
    expected = np.array([[[1, 1, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0]]])
    assert np.allclose(found, expected, atol=0.1)
    assert (found[expected == 0] == 0).all()


def test_attention_alone_is_not_causal():
    """All weight on one token whose value never reaches the output: attention names it, ablation does not."""
    net = network([[0.0, 0.0, 1.0, 0.0, 0.0, 0.0]])
    with torch.no_grad():
        net.value.zero_()
    assert mean_attention(net, X)[0, 0].argmax() == 2
    assert np.allclose(ablation(net, X, random_state=0), 0, atol=1e-9)


def test_matrices_of_a_graph():
    graph = FunctionGraph(["a", "b", "c", "d"], [Node("u", ("a", "b")), Node("y", ("u", "c"))], "y")
    assert ancestor_matrix(graph).tolist() == [[True, True, True, False]]
    assert parent_matrix(graph).tolist() == [[False, False, True, False]]
    chain = token_chain(5, 3, random_state=0)
    tokens = [*chain.graph.inputs, "step1"]
    direct = parent_matrix(chain.graph, tokens)
    assert direct.sum(1).tolist() == [2, 2]
    assert direct[1, -1]
    gates = token_gates(8, 4, random_state=0, all_nodes=True)
    assert ancestor_matrix(gates.graph).sum(1).tolist() == [2, 2, 4]


def test_a_graph_from_scores():
    chain = token_chain(6, 4, random_state=0)
    tokens = [*chain.graph.inputs, *chain.graph.outputs[:-1]]
    truth = parent_matrix(chain.graph, tokens)
    scores = np.where(truth, 0.4, 0.05)
    for found in (
        attention_graph(scores, tokens, chain.graph.outputs),
        attention_graph(scores, tokens, chain.graph.outputs, k=2),
    ):
        assert found.inputs == chain.graph.inputs
        assert {n.name: set(n.parents) for n in found.nodes} == {n.name: set(n.parents) for n in chain.graph.nodes}


def test_score_matrices_are_the_memos_product():
    net = AttentionNetwork(5, width=8, n_heads=2, n_replicas=2, random_state=0)
    x = torch.tensor(X[:3, :5]).float()
    tokens = net.first_tokens(x)
    heads = net.block(0).heads
    S = score_matrices(net, X[:3, :5])
    for r in range(2):
        W = (heads.query.weight[r, :, 4:] @ heads.key.weight[r, :, 4:].T).detach()
        assert torch.allclose(tokens[r, 1] @ W @ tokens[r, 1].T / 2, torch.tensor(S[r, 1, 1]), atol=1e-5)
    found = score_geometry(net, X[:1, :5], k=2)
    unit = S[1, 0, 1] / np.linalg.norm(S[1, 0, 1], axis=0)
    assert found.coherence[1, 1] == pytest.approx(coherence(unit), abs=1e-5)
    assert found.isometry[1, 1] == pytest.approx(isometry_constant(unit, 2).value, abs=1e-5)


def test_a_form_that_ignores_who_asks_is_symmetric():
    net = AttentionNetwork(5, width=16, n_heads=2, n_replicas=3, random_state=0)
    heads = net.block(0).heads
    assert np.abs(score_symmetry(net) - 0.5).max() < 0.15
    with torch.no_grad():
        heads.key.weight[1].copy_(heads.query.weight[1])
        heads.query.weight[2].copy_(torch.eye(16))
        heads.key.weight[2].copy_(torch.eye(16).roll(1, 0))  # a shift of the channels: who asks matters
    assert np.allclose(score_symmetry(net)[1], 1)
    assert score_symmetry(net)[2].max() < 0.6


def test_a_metric_is_positive_as_well_as_symmetric():
    net = AttentionNetwork(5, width=16, n_heads=2, n_replicas=3, random_state=0)
    heads = net.block(0).heads
    assert np.abs(score_metric_share(net) - 0.25).max() < 0.15
    with torch.no_grad():
        heads.key.weight[1].copy_(heads.query.weight[1])
        heads.key.weight[2].copy_(-heads.query.weight[2])
    assert np.allclose(score_metric_share(net)[1], 1)
    assert np.allclose(score_metric_share(net)[2], 0)
    assert np.allclose(score_symmetry(net)[2], 1)


def test_lemma_1_weights_that_make_the_scores_an_isometry():
    """With tokens that are independent vectors, W_Q = W_K = X^+ gives the identity, whose constants are all zero."""
    tokens = np.random.default_rng(0).standard_normal((6, 10))
    W = np.linalg.pinv(tokens)
    scores = tokens @ W @ W.T @ tokens.T
    assert isometry_constant(scores, 3).value == pytest.approx(0, abs=1e-9)
    assert sparsemax(torch.tensor(8 * scores)).allclose(torch.eye(6, dtype=torch.float64))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: selection_measures(Product(), X, np.ones((1, 6))), "network must be an AttentionNetwork, got Product"),
        (lambda: selection_measures(network([[1.0] + [0.0] * 5]), X, np.zeros((1, 6))), "read at least one token"),
        (lambda: selection_measures(network([[1.0] + [0.0] * 5]), X, np.ones((2, 6))), "reads must be truth values"),
        (lambda: mean_attention(network([[1.0] + [0.0] * 5]), X[:, :4]), "X must have shape"),
        (lambda: attention_graph([[1.0, 0.0]], ["a", "b"], ["y"], k=3), "k = 3 of 2 tokens cannot be selected"),
        (lambda: attention_graph([[1.0, 0.0]], ["a", "b"], ["y"], share=0), "share must be"),
        (lambda: score_geometry(network([[1.0] + [0.0] * 5]), X[:1], k=7), "k must be"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(CompsparseError, match=message):
        call()

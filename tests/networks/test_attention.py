"""Attention networks: shapes, replicas, block forms by hand, the short way of the first block, thoughts."""

from functools import partial

import pytest
import torch
from torch.nn import functional

from compsparse.errors import CompsparseError
from compsparse.networks import only, replica_seeds, select
from compsparse.networks.attention import AttentionNetwork, think, top_k
from compsparse.networks.attention.blocks import Block
from compsparse.networks.replicas import generators_for

FORMS = ("sequential", "parallel", "printed")


def signs(*shape, seed=0):
    return 2.0 * torch.randint(2, shape, generator=torch.Generator().manual_seed(seed)) - 1


def by_hand(block, asking, tokens):
    """The formulas of the blocks for one datum of one replica, with loops over heads."""

    def ln(x):
        return (x - x.mean(-1, keepdim=True)) / (x.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()

    def linear(layer, x):
        return x @ layer.weight[0] + (0 if layer.bias is None else layer.bias[0])

    def mlp(x):
        return linear(block.down, functional.relu(linear(block.up, x)))

    heads, q, kv = block.heads, ln(asking), ln(tokens)
    Q, K, V = linear(heads.query, q), linear(heads.key, kv), linear(heads.value, kv)
    size = Q.shape[-1] // heads.n_heads
    mixed = []
    for h in range(heads.n_heads):
        part = slice(h * size, (h + 1) * size)
        mixed.append(heads.selection(Q[:, part] @ K[:, part].T / size**0.5) @ V[:, part])
    attended = linear(heads.out, torch.cat(mixed, dim=-1))
    match block.form:
        case "sequential":
            u = asking + attended
            return u + mlp(ln(u))
        case "parallel":
            return asking + mlp(ln(asking)) + attended
    return asking + mlp(ln(asking + attended))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("selection", ["softmax", "entmax15"])
def test_blocks_are_the_formulas_of_the_memo(form, selection):
    network = AttentionNetwork(5, n_layers=2, width=12, n_heads=3, form=form, selection=selection, random_state=0)
    block = network.blocks[0]
    x = torch.randn(1, 1, 5, 12, generator=torch.Generator().manual_seed(1))
    out, weights = block(x, x)
    assert torch.allclose(out[0, 0], by_hand(block, x[0, 0], x[0, 0]), atol=1e-5)
    assert weights.shape == (1, 1, 3, 5, 5)


@pytest.mark.parametrize("form", FORMS)
def test_the_short_way_of_the_first_block_is_the_long_way(form):
    network = AttentionNetwork(7, 3, width=16, form=form, selection="sparsemax", n_replicas=2, random_state=0)
    x = torch.randn(11, 7, generator=torch.Generator().manual_seed(2))  # any numbers, not signs alone
    tokens = network._embedded(network.columns(x))
    asking = network.queries.unsqueeze(1).expand(-1, 11, -1, -1)
    out, weights = network.blocks[0](asking, tokens)
    assert torch.allclose(network(x), network._read(out).transpose(1, 2), atol=1e-5)
    assert torch.allclose(network.attention(x)[0], weights, atol=1e-5)


def test_a_replica_is_the_same_alone_and_in_company():
    seeds, x = replica_seeds(3, 4), signs(6, 8)
    together = AttentionNetwork(8, 2, 2, width=16, n_replicas=4, seeds=seeds)
    alone = AttentionNetwork(8, 2, 2, width=16, seeds=seeds[2:3])
    assert torch.allclose(together(x)[2], alone(x), atol=1e-5)
    assert torch.equal(only(together, 2)(x), select(together, [2])(x)[0])
    own = torch.stack([x] * 4)
    assert torch.allclose(together(own), together(x), atol=1e-6)


def test_symbols_have_vectors_of_their_own():
    network = AttentionNetwork(5, 3, 2, width=16, n_symbols=4, n_replicas=2, random_state=0)
    x = torch.randint(4, (6, 5), generator=torch.Generator().manual_seed(0))
    assert network(x).shape == (2, 6, 3)
    expected = network.value[1][x[2, 3]] + network.places[1, 3]
    got = network.first_tokens(x)[1, 2, 3]
    assert torch.allclose(got, functional.layer_norm(expected, (16,)), atol=1e-5)
    assert torch.equal(network(x), network(x.float()))  # the training loop may hand over symbols as floats
    with pytest.raises(CompsparseError, match="symbols must be whole numbers from 0 to 3"):
        network(x + 4)


def test_attention_weights_are_shares_of_the_tokens():
    network = AttentionNetwork(9, 2, 3, width=16, selection=partial(top_k, k=2), n_replicas=2, random_state=0)
    first, second, last = network.attention(signs(5, 9))
    assert first.shape == second.shape == (2, 5, 4, 11, 9)
    assert last.shape == (2, 5, 4, 2, 9)
    for weights in (first, second, last):
        assert torch.allclose(weights.sum(-1), torch.ones(weights.shape[:-1]), atol=1e-5)
        assert ((weights > 0).sum(-1) == 2).all()


@pytest.mark.parametrize("n_layers", [1, 2])
def test_thoughts_see_what_came_before_them_and_nothing_else(n_layers):
    network = AttentionNetwork(8, 4, n_layers, width=16, n_thoughts=3, random_state=0)
    x = signs(20, 8)
    for j in range(3):
        changed = x.clone()
        changed[:, 5 + j] *= -1
        same = (network(x) == network(changed)).all(0)
        assert same.tolist() == [True] * (j + 1) + [False] * (3 - j)


def test_thinking_feeds_answers_back():
    network = AttentionNetwork(6, 3, width=16, n_thoughts=2, n_replicas=2, random_state=0)
    x = signs(9, 4)
    answers = think(network, x)
    thoughts = torch.where(answers[..., :2] >= 0, 1.0, -1.0)
    rows = torch.cat([x.expand(2, -1, -1), thoughts], dim=-1)
    assert torch.allclose(network(rows), answers, atol=1e-6)


def test_blocks_are_drawn_from_the_generators_alone():
    first, second = (Block(8, 2, torch.relu, "parallel", generators_for([1, 2])) for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: AttentionNetwork(8, width=10, n_heads=4), "a width of 10 cannot be shared by 4 heads"),
        (lambda: AttentionNetwork(8, selection="hardmax"), "selection must be one of 'softmax', 'relu', 'sparsemax'"),
        (lambda: AttentionNetwork(8, selection=3), "selection must be one of .* or a function of scores, got 3"),
        (lambda: AttentionNetwork(8, form="serial"), "form must be one of 'sequential', 'parallel', 'printed'"),
        (lambda: AttentionNetwork(8, n_thoughts=8, n_outputs=9), "8 thoughts leave none of 8 tokens"),
        (lambda: AttentionNetwork(8, n_thoughts=2), "a chain of 2 thoughts has 3 outputs"),
        (lambda: AttentionNetwork(8)(torch.zeros(2, 7)), r"expected an array of shape \(batch, 8\), got \(2, 7\)"),
        (lambda: AttentionNetwork(8, selection=partial(top_k, k=9))(torch.zeros(2, 8)), "k = 9 of 8 tokens"),
        (lambda: AttentionNetwork(8, width=10**6), "do not fit in memory"),
        (lambda: think(AttentionNetwork(8), torch.zeros(2, 8)), "the network has no thoughts"),
        (lambda: think(3, torch.zeros(2, 8)), "network must be an AttentionNetwork, got int"),
        (
            lambda: think(AttentionNetwork(8, 3, n_thoughts=2), torch.zeros(2, 8)),
            r"expected an array of shape \(batch, 6\), the tokens without the thoughts, got \(2, 8\)",
        ),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(CompsparseError, match=message):
        call()

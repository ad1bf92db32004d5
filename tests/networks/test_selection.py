"""Selections against slow references, their defining property, and numerical gradients."""

from functools import partial

import pytest
import torch
from scipy.optimize import brentq

from compsparse.errors import CompsparseError
from compsparse.networks.attention import SELECTIONS, entmax, entmax15, softmax, sparsemax, top_k

SPARSE = {
    "sparsemax": (sparsemax, 2.0),
    "entmax15": (entmax15, 1.5),
    "entmax 1.2": (partial(entmax, alpha=1.2), 1.2),
    "entmax 1.5": (partial(entmax, alpha=1.5), 1.5),
    "entmax 3": (partial(entmax, alpha=3.0), 3.0),
}


def rows(n=40, size=7, dtype=torch.float64):
    generator = torch.Generator().manual_seed(0)
    scales = torch.logspace(-1, 1, n, dtype=dtype)[:, None]
    return scales * torch.randn(n, size, generator=generator, dtype=dtype)


def by_root(z, alpha):
    """The definition, one row at a time: the threshold is where the weights sum to one."""

    def weights(tau):
        return ((alpha - 1) * z - tau).clamp(min=0) ** (1 / (alpha - 1))

    top = float((alpha - 1) * z.max())
    tau = brentq(lambda t: float(weights(t).sum()) - 1, top - 1 - 1e-9, top, xtol=1e-14)
    return weights(tau)


@pytest.mark.parametrize("name", SPARSE)
def test_against_the_definition_solved_row_by_row(name):
    select, alpha = SPARSE[name]
    z = rows()
    expected = torch.stack([by_root(row, alpha) for row in z])
    assert torch.allclose(select(z), expected, atol=1e-7)
    assert ((select(z) == 0) == (expected < 1e-12)).float().mean() > 0.99


@pytest.mark.parametrize("name", SPARSE)
def test_gradients_of_first_and_second_order(name):
    select, _ = SPARSE[name]
    z = torch.tensor([[0.9, 0.3, -0.2, -3.0], [0.1, 0.0, 0.2, 0.05]], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(select, z, atol=1e-4)
    assert torch.autograd.gradgradcheck(select, z, atol=1e-3)


def test_sparsemax_is_the_nearest_point_of_the_simplex():
    z = rows()
    p = sparsemax(z)
    others = torch.softmax(3 * rows(n=200, size=7).flip(0), -1)
    nearest = (z - p).square().sum(-1)
    apart = (z[:, None] - others[None]).square().sum(-1)
    assert (nearest[:, None] <= apart + 1e-12).all()


def test_alpha_leads_from_softmax_to_sparsemax():
    z = rows()
    assert torch.equal(entmax(z, alpha=1), softmax(z))
    assert torch.allclose(entmax(z, alpha=1.001), softmax(z), atol=2e-3)
    assert torch.allclose(entmax(z, alpha=2), sparsemax(z), atol=1e-9)
    non_zeros = [int((entmax(z, alpha=a) > 0).sum()) for a in (1.0, 1.3, 1.5, 2.0, 4.0)]
    assert non_zeros == sorted(non_zeros, reverse=True)
    assert non_zeros[0] == z.numel()


@pytest.mark.parametrize("select", [*SELECTIONS.values(), partial(entmax, alpha=1.3), partial(top_k, k=2)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_weights_are_shares_and_closed_doors_stay_closed(select, dtype):
    z = rows(dtype=dtype).view(5, 8, 7)
    z[..., 3] = -torch.inf
    z[0, 0] = 0.0  # all alike
    z[1, 0] *= 1e6
    p = select(z)
    assert (p >= 0).all()
    assert torch.allclose(p.sum(-1), torch.ones(5, 8, dtype=dtype), atol=1e-6)
    assert (p[1:, :, 3] == 0).all()
    if select is not SELECTIONS["relu"]:  # what is positive is a matter of the scores themselves
        assert torch.allclose(p, select(z + 5), atol=1e-5)


@pytest.mark.parametrize("select", [*SELECTIONS.values(), partial(entmax, alpha=1.3), partial(top_k, k=2)])
def test_a_row_that_is_masked_whole_selects_nobody_and_leaves_the_others_alone(select):
    z = rows(n=6)
    open_rows = select(z)
    z[2] = z[4] = -torch.inf
    z.requires_grad_()
    p = select(z)
    assert (p[[2, 4]] == 0).all()
    assert torch.equal(p[[0, 1, 3, 5]], open_rows[[0, 1, 3, 5]])
    (slopes,) = torch.autograd.grad(p.square().sum(), z)
    assert (slopes[[2, 4]] == 0).all()
    assert torch.isfinite(slopes).all()
    assert (slopes[[0, 1, 3, 5]] != 0).any()


def test_correction_14_softmax_leaves_nobody_out_and_x_times_a_threshold_is_the_relu():
    """The memos' xH(x) is the ReLU; the softmax has full support, however far apart scores are in exact arithmetic."""
    z = rows()
    assert torch.equal(z * (z > 0), torch.relu(z))
    assert not torch.allclose(torch.relu(z).sum(-1), torch.ones(len(z), dtype=z.dtype), atol=0.1)
    assert (softmax(z) > 0).all()
    for select in (sparsemax, entmax15, partial(top_k, k=3)):
        assert (select(z) == 0).any(-1).float().mean() > 0.5


def test_top_k_is_softmax_on_the_k_highest():
    z = rows()
    p = top_k(z, 3)
    assert ((p > 0).sum(-1) == 3).all()
    best = z.topk(3).indices
    assert torch.allclose(p.gather(-1, best), torch.softmax(z.gather(-1, best), -1))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: top_k(torch.zeros(4), 5), "k = 5 of 4 tokens cannot be selected: k must be at most 4"),
        (lambda: top_k(torch.zeros(4), 0), "k must be a whole number >= 1"),
        (lambda: entmax(torch.zeros(4), alpha=0.5), "alpha must be a finite number >= 1, got 0.5"),
        (lambda: sparsemax([1.0]), "a network reads tensors"),
        (lambda: entmax15(torch.zeros(3, dtype=torch.long)), "scores must be a tensor of at least one real number"),
        (lambda: softmax(torch.zeros(2, 0)), "scores must be a tensor of at least one real number"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(CompsparseError, match=message):
        call()

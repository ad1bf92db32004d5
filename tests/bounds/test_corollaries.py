"""What block paths prove of the memo's forms, and how second moments compare with exponential ones."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import nn

from compsparse.bounds import compare, empirical_rademacher, lower
from compsparse.bounds.blocks import block_graph
from compsparse.bounds.forms import FORMS, Member, kernel_class_complexity, moment_distance
from compsparse.certificate import Rigour

RNG = np.random.default_rng(5)


def tree(depth, kernel=2, stride=None, channels=1, bias=False):
    """Convolutions without padding, a ReLU between them, and the least number of inputs that leaves one output."""
    torch.manual_seed(depth + 10 * kernel)
    stride, size = kernel if stride is None else stride, 1
    for _ in range(depth):
        size = (size - 1) * stride + kernel
    widths = [1, *[channels] * (depth - 1), 1]
    layers = [m for a, b in pairwise(widths) for m in (nn.Conv1d(a, b, kernel, stride, bias=bias), nn.ReLU())]
    return nn.Sequential(nn.Unflatten(1, (1, size)), *layers[:-1], nn.Flatten()).double(), size


def member_of(network, X):
    lowered = lower(network, X)
    return Member(lowered.members[0], (X**2).sum(0), len(X))


@pytest.mark.parametrize(("depth", "kernel", "channels"), [(1, 3, 1), (2, 2, 1), (2, 5, 3), (3, 3, 2), (5, 2, 1)])
def test_theorem_11_is_what_second_moments_say_of_patches_that_are_apart(depth, kernel, channels):
    network, size = tree(depth, kernel, channels=channels)
    X = RNG.normal(size=(20, size))
    table = compare(network, X)
    norms = [float(m.weight.detach().norm()) for m in network if isinstance(m, nn.Conv1d)]
    expected = 2 ** (depth - 1) * math.prod(norms) * np.linalg.norm(X)
    assert moment_distance(member_of(network, X).blocks) == pytest.approx(expected)
    assert table["memo, Theorem 11"].complexity == pytest.approx(expected / 20)
    assert table["memo, Theorem 11"].rigour is Rigour.PROVED
    assert table["block paths"].complexity <= table["memo, Theorem 11"].complexity * (1 + 1e-12)


@pytest.mark.parametrize(("depth", "kernel", "stride"), [(2, 3, 2), (2, 3, 1), (3, 2, 1), (3, 5, 2)])
def test_conjecture_5_is_a_corollary_where_patches_overlap(depth, kernel, stride):
    network, size = tree(depth, kernel, stride)
    table = compare(network, RNG.normal(size=(20, size)))
    conjecture = table["memo, Conjecture 5"]
    assert conjecture.rigour is Rigour.PROVED
    assert any("a corollary of block paths" in a for a in conjecture.assumes)


@pytest.mark.parametrize("depth", range(2, 8))
def test_theorem_12_is_proved_for_two_layers_and_up_to_the_root_of_two_for_more(depth):
    network, size = tree(depth)
    X = RNG.normal(size=(10, size))
    bound = compare(network, X)["memo, Theorem 12"]
    proved = kernel_class_complexity(member_of(network, X))
    assert proved <= math.sqrt(2) * bound.complexity
    assert bound.rigour is (Rigour.PROVED if depth == 2 else Rigour.MEMO)
    assert (proved <= bound.complexity) == (depth == 2)


def test_memo_forms_stay_memos_where_they_are_below_what_is_proved():
    """Constant inputs at every block, which the memo counts once, and patches that overlap in Theorem 11."""
    network, size = tree(3, bias=True)
    with torch.no_grad():
        for module in network:
            if isinstance(module, nn.Conv1d):
                module.weight.mul_(0.3)
    assert compare(network, 0.01 * RNG.normal(size=(20, size)))["memo, Theorem 11"].rigour is Rigour.MEMO
    overlapping, size = tree(2, 3, 1)
    assert compare(overlapping, RNG.normal(size=(20, size)))["memo, Theorem 11"].rigour is Rigour.MEMO
    several = nn.Sequential(nn.Linear(4, 3, bias=False), nn.ReLU(), nn.Linear(3, 2, bias=False))
    assert compare(several, RNG.normal(size=(20, 4)))["memo, Theorem 11"].rigour is Rigour.MEMO


def test_a_corollary_is_about_kernels_up_to_the_largest_of_their_level():
    """One large kernel and one small one: the class lets both be large, and what is proved of it must too."""
    torch.manual_seed(0)
    layer, top = nn.Linear(4, 2, bias=False), nn.Linear(2, 1, bias=False)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[3.0, 4.0, 0.0, 0.0], [0.0, 0.0, 0.03, 0.04]]))
    network, X = nn.Sequential(layer, nn.ReLU(), top).double(), RNG.normal(size=(10, 4))
    member = member_of(network, X)
    own = block_graph(member.network, member.energies, 10)
    equal = replace(own, norms=np.where(own.tier == 0, 5.0, own.norms))
    assert kernel_class_complexity(member) == pytest.approx(moment_distance(equal) / 10)
    assert kernel_class_complexity(member) > compare(network, X)["block paths"].complexity


@pytest.mark.parametrize("kernel", [2, 3])
def test_a_search_stays_below_second_moments(kernel):
    network, size = tree(2, kernel)
    X = np.abs(RNG.normal(size=(8, size)))
    found = empirical_rademacher(network, X, n_draws=12, n_restarts=4, n_steps=60).value
    assert 0 < found <= moment_distance(member_of(network, X).blocks) / 8


@pytest.mark.parametrize("form", [f for f in FORMS if "published" not in f.name], ids=lambda form: form.name)
@pytest.mark.parametrize("bias", [False, True])
def test_a_complexity_is_homogeneous_in_one_norm_a_level_at_most(form, bias):
    """What rounding norms up to a grid leans on: norms times q give at most q^depth times the complexity."""
    network, size = tree(3, 3, 2, channels=2, bias=bias)
    X, q = RNG.normal(size=(10, size)), 1.2
    before = form.compute(member_of(network, X))
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.mul_(q)
    after = form.compute(member_of(network, X))
    assert after.value <= q**3 * before.value * (1 + 1e-9)
    assert len(after.norms) == len(before.norms)
    assert all(b <= a <= q**3 * b * (1 + 1e-9) for a, b in zip(after.norms, before.norms, strict=True))

"""Inputs that act so little that rounding hides their place: set aside and named, and in nobody's way."""

import pytest
from tests.discovery.queries.callables import UNIT, by_values

from compsparse.discovery import DiscoveryStatus
from compsparse.discovery.queries import from_queries
from compsparse.graph import FunctionGraph

STRONG = [f"x{i}" for i in range(5)]
BOX = (0.5, 1.5)
MODULES = {frozenset({"x0", "x1"}), frozenset({"x2", "x3"}), frozenset({"x2", "x3", "x4"})}


def weak_sum(eps, text="tanh(x0*x1) + exp(x2*x3)*x4 + {eps}*w", weak=("w",)):
    return FunctionGraph.from_expression(text.format(eps=f"{eps:.3e}"), [*STRONG[:3], *weak, *STRONG[3:]])


def find(graph, seed=0, autograd=False, box=BOX):
    f = graph if autograd else by_values(graph)
    return from_queries(f, [box] * graph.n_inputs, graph.inputs, random_state=seed)


def over_strong(found, strong=STRONG):
    """The modules found, over the strong inputs."""
    parts = {members & frozenset(strong) for members in found.modules}
    return {m for m in parts if 1 < len(m) < len(strong)}


def claims_of_weak(found):
    """Modules with an input that is not strong."""
    return {m for m in found.modules if m - set(STRONG)}


@pytest.mark.parametrize("autograd", [False, True], ids=["differences", "autograd"])
@pytest.mark.parametrize("eps", [0, *(10.0**-k for k in range(3, 17))])
def test_a_weak_summand_is_in_nobodys_way(eps, autograd):
    for seed in range(2):
        found = find(weak_sum(eps), seed, autograd)
        assert found.status is DiscoveryStatus.FINISHED
        assert over_strong(found) == found.modules == MODULES
        assert found.cost.evaluations < 5000


PLACES = {
    "inside a module": "tanh(x0*x1 + {eps}*w) + exp(x2*x3)*x4",
    "a factor of a module": "tanh((1 + {eps}*w)*x0*x1) + exp(x2*x3)*x4",
    "a factor of everything": "(1 + {eps}*w)*(tanh(x0*x1) + exp(x2*x3)*x4)",
    "a curved summand": "tanh(x0*x1) + exp(x2*x3)*x4 + {eps}*sin(3*w)",
    "large numbers": "1e6*(tanh(x0*x1 + {eps}*w) + exp(x2*x3)*x4)",
    "beside a large constant": "1e6 + tanh(x0*x1 + {eps}*w) + exp(x2*x3)*x4",
    "two that interact": "tanh(x0*x1) + exp(x2*x3)*x4 + {eps}*w*v",
    "two apart": "tanh(x0*x1 + {eps}*w) + exp(x2*x3)*x4 + {eps}*v",
}


@pytest.mark.parametrize("text", PLACES.values(), ids=PLACES.keys())
@pytest.mark.parametrize("eps", [1e-4, 1e-6, 1e-8, 1e-10])
def test_strong_inputs_have_their_modules_wherever_the_weak_one_acts(text, eps):
    weak = ("w", "v") if "v" in text.replace("inverse", "") else ("w",)
    graph = weak_sum(eps, text, weak)
    found = find(graph)
    assert found.status is DiscoveryStatus.FINISHED
    assert over_strong(found) == MODULES
    aside = frozenset(found.inert)
    true = {m - aside for m in graph.modules}
    assert claims_of_weak(found) <= true


@pytest.mark.parametrize("eps", [1e-8, 1e-9, 1e-11])
def test_what_is_set_aside_is_named_with_its_size(eps):
    found = find(weak_sum(eps))
    assert found.inert == ("w",)
    (caveat,) = (c for c in found.caveats if "set aside" in c)
    words = caveat.split()
    assert words[:2] == ["y:", "w"]
    seen, needed = (float(word.strip(",;")) for word in words if "e-" in word)
    assert 0.8 * eps <= seen <= eps * (1 + 1e-3)  # a swap goes across most of the range, whose length is one
    assert seen < needed < 1e-5


def test_what_is_set_aside_does_not_depend_on_the_seed():
    for eps in (1e-5, 3e-7, 1e-9):
        graphs = {find(weak_sum(eps, PLACES["inside a module"]), seed).graph for seed in range(4)}
        assert len(graphs) == 1


def test_the_size_follows_the_scale_of_the_answers():
    def needed(factor, constant):
        f = by_values(weak_sum(1e-9))
        found = from_queries(lambda x: constant + factor * f(x), [BOX] * 6, weak_sum(1).inputs, random_state=0)
        (caveat,) = (c for c in found.caveats if "set aside" in c) if found.caveats else ("",)
        return float(caveat.split()[-1]) / factor if caveat else None

    usual = needed(1.0, 0.0)
    assert needed(2.0**20, 0.0) == pytest.approx(usual, rel=2e-2)  # it is printed to three digits
    assert needed(1.0, 100.0) > 2 * usual  # a constant costs digits


def test_a_weak_input_that_rarely_acts_strongly_has_its_place():
    graph = FunctionGraph.from_expression(
        "tanh(x0*x1) + exp(x2*x3)*x4 + 1e-10*w + relu(w + x0 - 1.9)", [*STRONG[:3], "w", *STRONG[3:]]
    )
    for seed in range(3):
        assert find(graph, seed, box=UNIT).inert == ()


def test_nothing_is_set_aside_where_all_inputs_are_alike():
    """The answers have hardly any digits, so all slopes are poor; nobody is weaker than the others."""
    found = from_queries(lambda x: 1e8 + x[:, 0] * x[:, 1] + x[:, 2], [UNIT] * 3, random_state=0)
    assert found.inert == ()
    assert not any("set aside" in caveat for caveat in found.caveats)


def test_a_jump_is_not_taken_for_a_weak_slope():
    found = from_queries(lambda x: x[:, 0] * x[:, 1] + 1e-3 * (x[:, 2] > 0.5), [UNIT] * 3, random_state=0)
    assert found.inert == ()

import math
from math import sqrt

import numpy as np
import pytest
import scipy.special
import torch

from compsparse.errors import TraceError
from compsparse.graph import trace
from compsparse.graph.symbols import Symbol

X = np.random.default_rng(0).uniform(0.2, 0.9, (40, 3))


def with_operators(a, b, c):
    return (a + 2 * b) ** 3 / (1 + c**2) - abs(a) + 2**b


def with_math(a, b, c):
    return math.sin(a) * math.exp(-b) + sqrt(c) + math.pow(a, 3) + max(a, b, c) - min(a, b)


def with_numpy(x):
    return np.maximum(np.tanh(x[0] * x[1]), np.where(x[2] > 0.5, x[0], x[1])) + np.float64(2) * x[2] + np.sum(x)


W = np.array([[1.0, 2.0, -1.0], [0.5, 0.0, 3.0]])


def with_a_network(x):
    hidden = np.tanh(W @ x + np.array([0.1, -0.2]))
    return np.dot(hidden, [1.0, -2.0]) + x.sum() + np.mean(x[1:]) + np.max(x) * np.prod(x)


def with_torch(a, b, c):
    return torch.sigmoid(a * b) + torch.relu(c - 0.5) + torch.pow(a, 2)


def helper(t):
    return math.cos(t) + 1


def with_helper(a, b, c):
    return helper(a * b) * helper(c)


def slow(function, row):
    if function is with_torch:
        return float(function(*(torch.tensor(v) for v in row)))
    return float(function(row)) if function in (with_numpy, with_a_network) else float(function(*row))


@pytest.mark.parametrize("function", [with_operators, with_math, with_numpy, with_a_network, with_torch, with_helper])
def test_traced_graphs_agree_with_the_function_row_by_row(function):
    expected = [slow(function, row) for row in X]
    for fuse in (False, True):
        np.testing.assert_allclose(trace(function, 3, fuse=fuse)(X), expected, rtol=1e-12)


def test_names_numbers_and_closures():
    k = math.pi

    def scaled(width, height):
        return k * width * height + math.floor(2.7)

    graph = trace(scaled)
    assert graph.inputs == ("width", "height")
    assert graph(np.array([[1.0, 2.0]]))[0] == pytest.approx(2 * math.pi + 2)
    assert trace(lambda x: x[..., 0] + x[..., 1], ["p", "q"]).inputs == ("p", "q")
    assert trace(lambda a, b: (a + b, a * b, a + b)).outputs[0] != trace(lambda a, b: (a + b, a * b, a + b)).outputs[2]


def test_recursion_and_loops_unroll():
    def horner(x, n=5):
        return 1 + x * horner(x, n - 1) if n else x

    assert trace(horner, 1)(np.array([[0.5]]))[0] == pytest.approx(horner(0.5))


class Model:
    def __init__(self, k):
        self.k = k

    def value(self, a, b):
        return self.k * math.tanh(a) + b

    def through_self(self, a, b):
        self.seen = self.value(a, b)
        return self.seen + self.fixed(b)

    @staticmethod
    def fixed(b):
        return math.cos(b)

    def __call__(self, a, b):
        return self.through_self(a, b)


def test_methods_are_traced_through_self_and_leave_the_object_alone():
    model, point = Model(3.0), np.array([[0.5, 1.0]])
    value = 3 * math.tanh(0.5) + 1
    assert trace(model.value)(point)[0] == pytest.approx(value)
    assert trace(model.through_self)(point)[0] == pytest.approx(value + math.cos(1))
    assert not isinstance(getattr(model, "seen", 0.0), Symbol)
    assert trace(model)(point)[0] == pytest.approx(value + math.cos(1))


def endless(a):
    while a > 0:
        a = a - 0.1
    return a


def by_identity(a):
    return a if (a > 0) is True else -a


def by_kind(a):
    return a if isinstance(a, float) else 2 * a


def many_ways(x):
    return sum(v if v > 0 else 2 * v for v in x)


def checked(a):
    if a < 0:
        raise ValueError("must not be negative")
    return math.sqrt(a)


@pytest.mark.parametrize(
    ("function", "inputs", "message"),
    [
        (lambda a: 1 + float(a), None, "plain number"),
        (lambda a: [10.0, 20.0][int(a)], None, "plain number"),
        (lambda a: 3.0, None, "does not depend"),
        (lambda a: "text", None, "no traced value"),
        (lambda a: None, None, "no traced value"),
        (lambda a: np.fft.fft(a) + 1, None, "np.fft.fft is not supported"),
        (math.gamma, ["a"], "math.gamma is not supported"),
        (lambda a: math.remainder(a, 2), None, "math.remainder is not supported"),
        (lambda a: scipy.special.jv(1, a), None, "jv is not supported"),
        (lambda a: np.isnan(a) * a, None, "np.isnan is not supported"),
        (torch.fft.fft, ["a"], "torch.fft_fft is not supported"),
        (lambda a: a + "x", None, "type str"),
        (lambda a: a * 1j, None, "type complex"),
        (lambda *a: a[0], None, "say how many inputs"),
        (endless, None, "fixed number of steps"),
        (many_ways, 9, "in more than 256 ways"),
        (checked, None, "must not be negative on one of its branches"),
        (by_identity, None, "looks at what kind of value"),
        (by_kind, None, "looks at what kind of value"),
        (lambda a: a + np.random.default_rng().normal(), None, "it is random"),
        (lambda a: (a, a) if a > 0 else a, None, "returns 2 values on one branch and 1 on another"),
        (lambda x: np.linalg.inv(np.outer(x, x)), 2, "np.linalg.inv is not supported"),
        (lambda x: x[np.argmax(x)], 3, "np.argmax is not supported"),
        (lambda x: x[x > 0].mean(), 3, "mean"),
        (lambda x: x[x > 0] + x[x < 1], 3, "another condition"),
        (lambda x: np.stack([x[x > 0]]), 3, r"x\[condition\] is not supported"),
        (lambda x: x[x > 0], 3, "no traced value"),
        (lambda X: (X - X.mean(axis=0))[:, 0], 3, "mixes the rows"),
        (lambda X: X[:, 0] / len(X), 3, "mixes the rows"),
        (lambda X: X[:, 0] - X[::-1, 0], 3, "mixes the rows"),
        (lambda x: np.asarray(x, dtype=int)[0], 2, "dtype"),
        (lambda a: round(a, 2), None, "np.round"),
    ],
)
def test_what_a_graph_cannot_hold_is_refused(function, inputs, message):
    with pytest.raises(TraceError, match=message):
        trace(function, inputs)


def test_every_way_of_a_branch_is_explored_once():
    seen = []

    def function(a, b):
        seen.append(1 if isinstance(a, Symbol) else 0)  # plain numbers come in where the graph is compared
        low = a if a < b else b
        return low * 2 if a < b else -low  # the same condition falls the same way throughout a run

    X = np.random.default_rng(0).normal(size=(50, 2))
    np.testing.assert_allclose(trace(function)(X), np.where(X[:, 0] < X[:, 1], 2 * X[:, 0], -X[:, 1]))
    assert sum(seen) == 2


def test_globals_stay_untouched():
    trace(with_math)
    assert math.sin(0.5) == pytest.approx(np.sin(0.5))
    assert isinstance(with_math(0.5, 0.5, 0.5), float)

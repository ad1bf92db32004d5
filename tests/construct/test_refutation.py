"""What a search sees can refute what was computed: declared bounds, traced graphs, formulas that lose digits, files."""

import math

import numpy as np
import onnx
import pytest
import torch

import compsparse as cs
from compsparse.certificate import Rigour
from compsparse.clock import TimeIsOver
from compsparse.construct import DeclaredBounds, ExplicitReLU, compiling, load_explicit, save_explicit
from compsparse.construct.refutation import CertificateError, LargestError, Seen
from compsparse.errors import ConfigError, DataError, GraphError
from compsparse.graph import Constituent, FunctionGraph, Node


def steep(a):
    return np.array([math.sin(5 * t) for t in np.atleast_1d(a)])


def test_declared_bounds_that_do_not_hold_are_refused_with_a_point():
    with pytest.raises(ConfigError, match=r"declared bounds of f do not hold: at x0 = .* off by 1\.3"):
        cs.compile(steep, [(-1, 1)], tol=0.1, declared={"f": DeclaredBounds(lipschitz=(0.1,))})


def test_estimated_bounds_that_do_not_hold_are_refused_with_a_point():
    def spike(a):  # so narrow that samples miss it, at a corner where the search looks
        return np.array([max(0.0, (float(t) - 0.99999) * 1e5) for t in a])

    with pytest.raises(ConfigError, match=r"estimated from samples do not hold: at x0 = (1|0.9999)"):
        cs.compile(spike, [(-1, 1)], tol=0.1, estimate=True)


def test_what_rests_on_declared_bounds_says_so_first():
    built = cs.compile(steep, [(-1, 1)], tol=0.1, declared={"f": DeclaredBounds(lipschitz=(5.0,))})
    assert str(built).startswith("largest error of the network on the domain, if the declared bounds of f hold: ")
    assert built.certificate.rigour is Rigour.DECLARED
    assert built.nodes[0].rigour is Rigour.DECLARED


def test_a_formula_that_loses_more_digits_than_tol_is_refused():
    text = "((1+1e-12*a)-1)*1e12"
    with pytest.raises(ConfigError, match=r"off from its formula: at a = .* differs from the network by 0\.000"):
        cs.compile(text, (-1, 1), tol=1e-6)
    built = cs.compile(text, (-1, 1), tol=1e-3)  # where the loss stays below tol it is named
    assert built.certificate.upper < 1e-12 < built.observed.value
    seen = "against the formula in exact arithmetic (the function as it is computed was seen to be off by "
    assert f"{seen}{built.observed.value:.3g} at a = " in str(built).splitlines()[0]
    assert "exact arithmetic" in built.certificate.assumes[0]


def test_what_is_read_back_says_what_the_function_itself_is_off_by(tmp_path):
    cs.compile("((1+1e-12*a)-1)*1e12", (-1, 1), tol=1e-3).save(tmp_path / "net.safetensors")
    found = cs.construct.verify(tmp_path / "net.safetensors", n_points=2000)
    assert found.holds
    assert found.observed.value > found.certificate.upper
    assert "of which the rounding of the function itself may be the cause" in str(found).splitlines()[0]
    assert "was seen to be off by 0.0001" in str(found).splitlines()[1]


@pytest.mark.parametrize(
    ("function", "way"),
    [
        (lambda a, b: a * b + 0.5 if isinstance(a, np.ndarray) else a * b, "with arrays"),
        (lambda a, b: a * b + 0.5 if isinstance(a, float) else a * b, "with floats"),
        (lambda a, b: a * b + 0.5 if isinstance(a, torch.Tensor) else a * b, "with tensors"),
        (lambda x: x[0] * x[1] + 0.5 * isinstance(x, np.ndarray), "with an array|with floats"),
        (lambda a, b: a * b if type(a).__name__ == "Symbol" else a + b, "when it is called"),
    ],
)
def test_a_function_that_does_not_answer_as_its_graph_is_refused(function, way):
    with pytest.raises(GraphError, match=f"{way}|looks at what kind of value it gets"):
        cs.compile(function, [(-1, 1)] * 2, tol=0.01)


def test_a_function_that_can_only_be_traced_is_refused():
    def picky(a):
        if type(a).__module__.startswith("compsparse"):
            return a * a
        raise RuntimeError("not today")

    with pytest.raises(GraphError, match=r"cannot be called, so nothing can be said of it .*not today"):
        cs.compile(picky, (-1, 1), tol=0.01)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x[0] * np.sin(x[1]),
        lambda x: x[..., 0] * np.sin(x[..., 1]),
        lambda a, b: math.exp(a) * b,
        lambda a, b: torch.tanh(a) + b,
        lambda a, b: (a + b) * 1.0,
    ],
)
def test_functions_are_asked_in_the_forms_that_they_take(function):
    built = cs.compile(function, [(-1, 1)] * 2, tol=0.05)
    assert built.observed.value <= built.certificate.upper <= 0.05


def test_a_bound_below_what_was_seen_is_an_error(monkeypatch):
    seen = Seen(LargestError(0.5, (0.25,), 10), 0.4)
    monkeypatch.setattr(compiling, "search", lambda *_, **__: seen)
    with pytest.raises(CertificateError, match=r"does not hold: at a = 0\.25 the network is off by 0\.4"):
        cs.compile("sin(a)", (-1, 1), tol=0.01)


@pytest.mark.parametrize(
    ("text", "domain", "tol"),
    [
        ("a", (-1, 1), 1e-3),
        ("max(a, 5)", (-1, 1), 1e-3),
        ("max(min(a*b, 3), 4) + 0.1", (-1, 1), 1e-3),
        ("b", {"a": (0, 1), "b": (0, 1)}, 1e-3),
        ("sin(a)", (1, 1 + 1e-15), 1e-3),
        ("tanh(a)", (-1e300, 1e300), 1e-3),
        ("sqrt(a)", (0, 1e6), 1e-2),
        ("log(a)", (1e-9, 1), 1e-2),
        ("exp(90*a)", (0, 1), 1e36),
        ("sin(a)*b + 1e-14*a", (1e3, 1e3 + 1e-9), 1e-3),
        ("1/(1e-6 + a**2)", (-1, 1), 1.0),
    ],
)
def test_extreme_domains_compile(text, domain, tol):
    graph = FunctionGraph.from_expression(text)
    built = cs.compile(
        FunctionGraph(list(domain), graph.nodes, graph.outputs) if isinstance(domain, dict) else graph, domain, tol
    )
    assert built.observed.value <= built.certificate.upper <= tol
    assert built.certificate.holds


def test_a_curve_that_turns_between_two_numbers_is_refused_by_name():
    with pytest.raises(ConfigError, match="node 'pow_0': the numbers of float64 lie too far apart"):
        cs.compile("a**(2**54)", (0, 1), tol=1e-2)


# ---- single precision ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "domain", "tol"),
    [
        ("log(a)", (1e-9, 1), 1e-2),
        ("sqrt(a)", (0, 1e6), 1.0),
        ("tanh(a)", (-1e30, 1e30), 1e-3),
        ("sin(a*b) + max(a, b)", (-1, 1), 1e-3),
        ("sin(a + b/3)*c", (-2, 2), 1e-3),
        ("exp(80*a)", (0, 1), 1e32),
        ("sin(a)", (1000, 1001), 1e-2),
    ],
)
def test_single_precision_keeps_its_certificate(text, domain, tol, tmp_path):
    built = cs.compile(text, domain, tol, dtype="float32", n_points=2000)
    built.to_onnx(tmp_path / "net.onnx")
    found = cs.construct.verify(tmp_path / "net.onnx", n_points=20_000, random_state=5)
    assert found.holds
    assert found.observed.value <= found.certificate.upper <= tol
    assert found.dtype == "float32"


@pytest.mark.parametrize(
    ("text", "domain", "tol"),
    [
        ("exp(90*a)", (0, 1), 1e36),  # reaches 1e39
        ("a*1e300", (0, 1e-300), 0.1),
        ("sin(a)", (1e8, 1e8 + 100), 1e-2),  # numbers of single precision are 8 apart there
        ("a - b", {"a": (1e9, 1e9 + 100), "b": (1e9, 1e9 + 100)}, 1e-6),
    ],
)
def test_what_single_precision_cannot_do_is_refused(text, domain, tol):
    with pytest.raises(ConfigError, match=r"single precision|float32"):
        cs.compile(text, domain, tol, dtype="float32")


def test_weights_that_vanish_in_single_precision_are_counted():
    with pytest.raises(ConfigError, match="single precision"):
        cs.compile("max(1e-41*a, 0)", (-1e38, 1e38), 1e-6, dtype="float32")
    built = cs.compile("max(1e-41*a, 0)", (-1e38, 1e38), 0.1, dtype="float32")
    assert built.observed.value <= built.certificate.upper <= 0.1


def test_a_side_without_a_number_of_the_precision_is_refused():
    with pytest.raises(ConfigError, match="no number of float32 on the side of 'a'"):
        cs.compile("a*a", (1 + 1e-9, 1 + 2e-9), 1e-3, dtype="float32")


# ---- files --------------------------------------------------------------------------------------


@pytest.fixture(params=["net.onnx", "net.safetensors"])
def written(request, tmp_path):
    built = cs.compile("sin(a)*b", {"a": (-1, 2), "b": (0, 1)}, 1e-3)
    path = tmp_path / request.param
    (built.to_onnx if path.suffix == ".onnx" else built.save)(path)
    return built, path


def test_files_carry_what_they_state(written):
    built, path = written
    found = cs.construct.verify(path)
    assert found.holds
    assert found.graph == built.graph
    assert found.domain == built.domain == ((-1.0, 2.0), (0.0, 1.0))
    assert (found.tol, found.dtype) == (1e-3, "float64")
    assert found.certificate == built.certificate
    assert 0 < found.observed.value <= built.certificate.upper
    assert str(found).startswith("Not contradicted: of 100,")


def test_another_function_refutes_the_file(written):
    found = cs.construct.verify(written[1], "sin(a)*b + 0.1", n_points=1000)
    assert not found.holds
    assert "Refuted" in str(found)


def test_weights_that_were_changed_are_named(tmp_path):
    built = cs.compile("sin(a)", (-1, 1), 1e-2)
    built.to_onnx(tmp_path / "net.onnx")
    model = onnx.load_model(tmp_path / "net.onnx")
    largest = max(model.graph.initializer, key=lambda t: len(t.raw_data))
    largest.raw_data = largest.raw_data[:-1] + bytes([largest.raw_data[-1] ^ 1])
    onnx.save_model(model, str(tmp_path / "net.onnx"))
    with pytest.raises(DataError, match="digest does not fit its content"):
        cs.construct.verify(tmp_path / "net.onnx")


def test_networks_without_a_statement_say_so(tmp_path):
    network = cs.compile("abs(a)", (-1, 1)).network
    save_explicit(network, tmp_path / "bare.safetensors")
    assert isinstance(load_explicit(tmp_path / "bare.safetensors"), ExplicitReLU)
    with pytest.raises(DataError, match="says nothing of its network"):
        cs.construct.verify(tmp_path / "bare.safetensors")


def test_functions_that_no_file_holds_are_asked_for(tmp_path):
    graph = FunctionGraph(["x"], [Node("f", ("x",), Constituent.from_callable(np.sin, 1, lipschitz=(1.0,)))])
    built = cs.compile(graph, (0, 3), 1e-2)
    built.save(tmp_path / "net.safetensors")
    with pytest.raises(ConfigError, match="which no file holds: give the function"):
        cs.construct.verify(tmp_path / "net.safetensors")
    assert cs.construct.verify(tmp_path / "net.safetensors", graph).holds


# ---- time ---------------------------------------------------------------------------------------


def test_a_time_limit_ends_what_is_not_built_and_keeps_what_is(monkeypatch):
    with pytest.raises(TimeIsOver, match="time for this work was over"):
        cs.compile("sin(a*b) + exp(c)", (-1, 1), time_limit=1e-9)

    def over(*_):
        raise TimeIsOver("over")

    full = cs.compile("sin(a*b)", (-1, 1), 0.05)
    monkeypatch.setattr(compiling, "_cheaper_on_a_grid", over)
    built = cs.compile("sin(a*b)", (-1, 1), 0.05, time_limit=60)
    assert built.certificate.upper <= 0.05
    assert built.size.units >= full.size.units

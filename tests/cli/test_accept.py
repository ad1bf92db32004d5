"""``compsparse accept``: a change made on purpose is taken over, a broken file is not."""

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.fitted import GRAPH, TABLE, discovery_of, doubling, numbers_model
from typer.testing import CliRunner

from compsparse.cli import app
from compsparse.construct import ExplicitReLU, SparseLayer, load_explicit, save_explicit
from compsparse.discovery import Discovery
from compsparse.errors import CompsparseError
from compsparse.files import read_text
from compsparse.graph import FunctionGraph, balanced_tree
from compsparse.models import FittedGraph
from compsparse.networks import check_onnx, load, mirror, save
from compsparse.networks.onnx_files import write_program
from compsparse.networks.tensor_files import read_tensors, write_sealed

MODEL = numbers_model()
NETWORK = mirror(balanced_tree(4), width=3, depth=1, n_replicas=2, random_state=0, dtype=torch.bfloat16)


def accept(path):
    result = CliRunner().invoke(app, ["accept", str(path)])
    if result.exception is not None:
        raise result.exception
    return result.output


def edit_json(path, change):
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data, indent=1))


def about_of(path):
    return read_tensors(path)[0]


def test_a_model(tmp_path):
    path = tmp_path / "model.json"
    MODEL.save(path)
    assert "is as compsparse wrote it: there is nothing to accept" in accept(path)
    edit_json(path, lambda data: data["centre"].__setitem__(0, data["centre"][0] + 5))
    with pytest.raises(CompsparseError, match="run 'compsparse accept' on the file"):
        FittedGraph.load(path)
    told = accept(path)
    assert "holds a fitted model, and its digest now fits" in told
    assert "the loss on validation rows" in told
    again = FittedGraph.load(path)
    np.testing.assert_allclose(again.predict(TABLE)[:, 0], MODEL.predict(TABLE)[:, 0] + 5)
    assert np.isnan(again.validation_loss)
    edit_json(path, lambda data: data.pop("digest"))
    assert "accepted" in accept(path)
    assert "removed" not in accept(path)


def test_a_discovery_says_that_it_was_changed(tmp_path):
    path = tmp_path / "found.json"
    path.write_text(discovery_of(GRAPH, MODEL).to_json())
    edit_json(path, lambda data: data["model"]["scale"].pop())
    with pytest.raises(
        CompsparseError, match=r"cannot accept .*found.json: .*damaged or incomplete: the network has 2 outputs"
    ):
        accept(path)
    path.write_text(discovery_of(GRAPH, MODEL).to_json())
    for source in ("mine", "yours"):
        edit_json(path, lambda data, source=source: data.update(source=source))
        with pytest.raises(CompsparseError, match="was changed"):
            FittedGraph.load(path)
        assert "holds a discovery" in accept(path)
    found = Discovery.from_json(read_text(path))
    assert found.source == "yours"
    assert ["changed by hand" in caveat for caveat in found.caveats] == [True]
    np.testing.assert_array_equal(FittedGraph.load(path).predict(TABLE), MODEL.predict(TABLE))


def test_a_graph(tmp_path):
    path = tmp_path / "graph.json"
    path.write_text(FunctionGraph.from_expression("tanh(a) + b").to_json())
    edit_json(path, lambda data: data["nodes"][0]["constituent"].update(expression="sin(a)"))
    with pytest.raises(CompsparseError, match="was changed"):
        FunctionGraph.from_json(path.read_text())
    assert "holds a function graph" in accept(path)
    assert "sin(a)" in FunctionGraph.from_json(path.read_text()).nodes[0].label
    assert path.read_text().startswith("{\n")  # laid out as the hand left it
    edit_json(path, lambda data: data["nodes"][0]["constituent"].update(expresion="tanh(a)"))
    with pytest.raises(CompsparseError, match="a constituent has no entry 'expresion'; did you mean 'expression'"):
        accept(path)


def test_a_mirrored_network(tmp_path):
    path, x = tmp_path / "net.safetensors", torch.ones(2, 4, dtype=torch.bfloat16)
    save(NETWORK, path)
    about = about_of(path)
    tensors = load_file(path)
    tensors["blocks.0.biases.0"] = tensors["blocks.0.biases.0"] + 1
    save_file(tensors, path, metadata=about)
    with pytest.raises(CompsparseError, match="it has no digest"):
        load(path)
    assert "holds a mirrored network, and its digest now fits" in accept(path)
    assert about_of(path) == about
    assert not torch.equal(load(path)(x), NETWORK(x))
    tensors["blocks.0.biases.0"] *= float("nan")
    save_file(tensors, path, metadata=about)
    before = path.read_bytes()
    with pytest.raises(CompsparseError, match="hold NaN"):
        accept(path)
    assert path.read_bytes() == before


def test_what_was_stated_of_a_network_goes(tmp_path):
    path = tmp_path / "net.safetensors"
    network = ExplicitReLU([SparseLayer.of([[1.5]], [0.5], relu=False)])
    save_explicit(network, path)
    bare, tensors = read_tensors(path)
    write_sealed({**bare, "compsparse.certificate": "rigorous"}, tensors, path)
    assert "there is nothing to accept" in accept(path)
    save_file({**tensors, "bias_0": tensors["bias_0"] + 1}, path, metadata={**about_of(path), "digest": "0"})
    told = accept(path)
    assert "holds an explicit network" in told
    assert "removed, since it was about the content before the change: certificate" in told
    assert about_of(path) == bare
    assert load_explicit(path)(torch.zeros(1, 1, dtype=torch.float64)).item() == 1.5


def test_an_onnx_model(tmp_path):
    path = tmp_path / "net.onnx"
    write_program(doubling(), {}, path)
    assert check_onnx(path) == {"format": "compsparse.onnx/1"}
    assert "there is nothing to accept" in accept(path)
    model = onnx.load(path)
    model.metadata_props.add(key="certificate", value="rigorous")
    onnx.save(model, path)
    with pytest.raises(CompsparseError, match=r"net\.onnx is damaged or incomplete, or was changed"):
        check_onnx(path)
    told = accept(path)
    assert "holds an ONNX model" in told
    assert "before the change: certificate" in told
    assert check_onnx(path) == {"format": "compsparse.onnx/1"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "No such file"),
        (b"", "it holds no graph, model, discovery or network"),
        (b"hello", "it holds no graph, model, discovery or network"),
        (b"{", "Expecting property name"),
        (b'{"format": "compsparse.store"}', "it holds no graph, model, discovery or network"),
        (b'{"a": 1, "a": 2}', "the key 'a' stands twice in one object"),
        (b'{"format": "compsparse.graph", "version": NaN}', "NaN is no number"),
        (b'{"format": ["compsparse.graph"]}', "it holds no graph"),
        (b"\xff\0\0\0\0\0\0\0{", "no whole safetensors file"),
    ],
)
def test_other_files_are_not_accepted(content, message, tmp_path):
    path = tmp_path / "file"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(CompsparseError, match=f"^cannot accept .*file: .*({message})") as caught:
        accept(path)
    assert "\n" not in str(caught.value)
    assert content is None or Path(path).read_bytes() == content


def test_folders_and_protected_files_are_not_accepted(tmp_path):
    with pytest.raises(CompsparseError, match="cannot accept"):
        accept(tmp_path)
    MODEL.save(tmp_path / "model.json")
    (tmp_path / "model.json").chmod(0o444)
    with pytest.raises(CompsparseError, match="protected against writing"):
        accept(tmp_path / "model.json")

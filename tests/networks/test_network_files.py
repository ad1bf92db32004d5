"""Network files that were damaged, or that ask for more than they hold."""

import json

import pytest
import torch
from safetensors.torch import save_file

from compsparse.errors import DataError
from compsparse.graph import balanced_tree
from compsparse.networks import load, mirror, save
from compsparse.networks.tensor_files import write_sealed

NETWORK = mirror(balanced_tree(4), width=3, depth=1, n_replicas=2, random_state=0)
CONFIG = {
    "width": 3,
    "depth": 1,
    "activation": "silu",
    "channels": 1,
    "out_channels": 1,
    "share": "none",
    "n_replicas": 2,
}


def written(path, *, config=None, graph=None, tensors=None):
    about = {
        "format": "compsparse.mirror/1",
        "graph": NETWORK.graph.to_json() if graph is None else graph,
        "config": json.dumps(CONFIG if config is None else config),
    }
    write_sealed(about, dict(NETWORK.state_dict()) if tensors is None else tensors, path)
    return path


def test_a_whole_file_is_read(tmp_path):
    save(NETWORK, tmp_path / "saved.safetensors")
    x = torch.ones(2, 4)
    for path in (tmp_path / "saved.safetensors", written(tmp_path / "written.safetensors")):
        torch.testing.assert_close(load(path)(x), NETWORK(x))


@pytest.mark.parametrize(
    "change",
    [
        {"config": {**CONFIG, "width": 20_000}},
        {"config": {**CONFIG, "width": 10**8}},
        {"config": {**CONFIG, "n_replicas": 10**6}},
        {"config": {**CONFIG, "n_replicas": -1}},
        {"config": {**CONFIG, "width": "wide"}},
        {"config": {**CONFIG, "more": 1}},
        {"config": {"width": 3}},
        {"config": [1]},
        {"graph": "{}"},
        {"graph": balanced_tree(8).to_json()},
        {"tensors": {"blocks.0.weights.0": torch.zeros(2, 2)}},
        {"tensors": {k: v * float("nan") for k, v in NETWORK.state_dict().items()}},
        {"tensors": {f"other.{k}": v.clone() for k, v in NETWORK.state_dict().items()}},
    ],
    ids=lambda change: str(change)[:60],
)
def test_damaged_files_are_named(tmp_path, change):
    with pytest.raises(DataError, match=r"damaged|does not hold|do not have|NaN"):
        load(written(tmp_path / "network.safetensors", **change))


def test_files_that_are_no_networks_are_named(tmp_path):
    (tmp_path / "text").write_text("no network")
    with pytest.raises(DataError, match="no whole safetensors file"):
        load(tmp_path / "text")
    for about in (None, {"format": "pt"}):
        save_file(dict(NETWORK.state_dict()), str(tmp_path / "foreign"), metadata=about)
        with pytest.raises(DataError, match=r"holds no network that compsparse wrote$"):
            load(tmp_path / "foreign")
    with pytest.raises(DataError, match="there is no such file"):
        load(tmp_path / "nothing")

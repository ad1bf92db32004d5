"""Networks on disk: safetensors for compsparse itself, ONNX for everything else."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import warnings
from collections.abc import Iterator

import torch

from compsparse.checks import check_device, check_kind, check_replicas
from compsparse.digest import parse_json
from compsparse.errors import ConfigError, DataError
from compsparse.files import check_place
from compsparse.graph import FunctionGraph
from compsparse.networks.mirroring import MirrorConfig, MirrorNetwork, n_weights
from compsparse.networks.onnx_files import write_program
from compsparse.networks.plan import make_plan
from compsparse.networks.replicas import ReplicatedNetwork, check_network
from compsparse.networks.tensor_files import read_tensors, write_tensors
from compsparse.optional import needs

_FORMAT = "compsparse.mirror/1"


def save(network: MirrorNetwork, path: str | os.PathLike[str]) -> None:
    """Writes a mirrored network, its graph and its shape to one safetensors file.

    The file appears whole or not at all.
    """
    needs("safetensors", "saved networks", "export")
    check_kind("network", network, MirrorNetwork)
    place = check_place("path", path)
    config = network.config
    if not isinstance(config.share, str):
        raise ConfigError("only networks whose sharing is 'none', 'level' or 'all' can be saved")
    about = {
        "format": _FORMAT,
        "graph": network.graph.to_json(),
        "config": json.dumps({**config.__dict__, "n_replicas": network.n_replicas if network.has_replicas else None}),
    }
    write_tensors(network, about, place)


def load(path: str | os.PathLike[str], device: str | torch.device | None = None) -> MirrorNetwork:
    """Reads what :func:`save` wrote."""
    needs("safetensors", "saved networks", "export")
    place = check_device(device)
    source = check_place("path", path)
    about, tensors = read_tensors(source)
    if about.get("format") != _FORMAT:
        raise DataError(f"{source} holds no compsparse network of a format this version reads")
    return _network(about, tensors, str(source)).to(place)


def _network(about: dict[str, str], tensors: dict[str, torch.Tensor], source: str) -> MirrorNetwork:
    """What a damaged file asks for is compared with the weights it has before anything is made."""
    try:
        config = parse_json(about["config"])
        replicas = check_replicas(config.pop("n_replicas"))
        graph, shape = FunctionGraph.from_json(about["graph"]), MirrorConfig(**config)
        plan = make_plan(graph.pruned(), shape.channels, shape.out_channels, shape.share)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        raise DataError(f"the description of the network in {source} is damaged or incomplete") from None
    there = sum(t.numel() for t in tensors.values())
    if not there or n_weights(plan, shape) * (replicas or 1) != there:
        raise DataError(f"{source} does not hold the {n_weights(plan, shape):,.0f} weights that its description says")
    if not all(bool(torch.isfinite(t).all()) for t in tensors.values()):
        raise DataError(f"the weights in {source} hold NaN or infinite values")
    network = MirrorNetwork(graph, shape, replicas, [0] * (replicas or 1))
    if {k: v.shape for k, v in network.state_dict().items()} != {k: v.shape for k, v in tensors.items()}:
        raise DataError(f"the weights in {source} do not have the shapes that its description says")
    network.to(next(iter(tensors.values())).dtype).load_state_dict(tensors)
    return network


def to_onnx(network: ReplicatedNetwork, path: str | os.PathLike[str]) -> None:
    """Writes the network as an ONNX model with a free batch size: ``x`` (batch, inputs) -> ``y``.

    Its metadata hold a digest, by which :func:`~compsparse.networks.check_onnx` sees whether the file was changed.
    """
    check_network(network)
    write_onnx(network, network.n_inputs, check_place("path", path))


def write_onnx(module: torch.nn.Module, n_inputs: int, path: str | os.PathLike[str]) -> None:
    """Writes a module that answers (batch, inputs) as an ONNX model with a free batch size."""
    for package in ("onnx", "onnxscript"):
        needs(package, "ONNX models", "export")
    was_training = module.training
    parameter = next(module.parameters())
    sample = torch.zeros(3, n_inputs, dtype=parameter.dtype, device=parameter.device)
    with _quiet():
        program = torch.onnx.export(
            module.eval(),
            (sample,),
            dynamo=True,
            input_names=["x"],
            output_names=["y"],
            dynamic_shapes=({0: torch.export.Dim("batch", min=1)},),
            verbose=False,
        )
        if program is None:
            raise ConfigError("torch made no ONNX program of the network")
    model = program.model_proto
    for part in (*model.graph.node, *model.graph.value_info):
        del part.metadata_props[:]  # torch's notes for its own developers, with paths of this machine
    write_program(model, {}, path)
    module.train(was_training)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """torch's exporter warns about its own internals."""
    loggers = [logging.getLogger(name) for name in ("torch.onnx", "onnxscript", "onnx_ir")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)

"""Weights and a few words about them in one safetensors file, written whole and read with sentences."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from compsparse.errors import DataError
from compsparse.files import whole_file
from compsparse.optional import needs


def write_tensors(module: torch.nn.Module, about: Mapping[str, str], place: Path) -> None:
    """Writes the state of a module; the file appears whole or not at all."""
    safetensors = needs("safetensors.torch", "saved networks", "export")
    tensors = {name: t.detach().cpu().contiguous() for name, t in module.state_dict().items()}
    with whole_file(place) as temporary:
        safetensors.save_file(tensors, str(temporary), metadata=dict(about))


def read_tensors(source: Path) -> tuple[dict[str, str], dict[str, Tensor]]:
    """What was said about the weights, and the weights by name."""
    needs("safetensors", "saved networks", "export")
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(str(source), framework="pt") as file:
            return file.metadata() or {}, {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 (no dict)
    except FileNotFoundError:
        raise DataError(f"cannot read a network from {source}: there is no such file") from None
    except (OSError, SafetensorError):
        raise DataError(f"cannot read a network from {source}: it is no whole safetensors file") from None

"""Weights and a few words about them in one safetensors file, written whole and read with sentences."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from compsparse.digest import SEAL, arrays_digest, canonical, check_digest, digest_of
from compsparse.errors import ConfigError, DataError
from compsparse.files import whole_file
from compsparse.optional import needs
from compsparse.text import printable


def write_tensors(module: torch.nn.Module, about: Mapping[str, str], place: Path) -> None:
    """Writes the state of a module, and a digest of it and of the words; the file appears whole or not at all."""
    tensors = {name: t.detach().cpu().contiguous() for name, t in module.state_dict().items()}
    write_sealed(about, tensors, place)


def write_sealed(about: Mapping[str, str], tensors: Mapping[str, Tensor], place: Path) -> None:
    """The same for tensors by name."""
    safetensors = needs("safetensors.torch", "saved networks", "export")
    from safetensors import SafetensorError

    words = {key: text for key, text in about.items() if key != SEAL}
    with whole_file(place) as temporary:
        try:
            metadata = {**words, SEAL: tensors_digest(words, tensors)}
            safetensors.save_file(dict(tensors), str(temporary), metadata=metadata)
        except SafetensorError as error:  # its own words for what the system said
            raise ConfigError(f"cannot write {printable(place)}: {error}") from None


def read_tensors(source: Path) -> tuple[dict[str, str], dict[str, Tensor]]:
    """What was said about the weights, and the weights by name.

    Raises:
        DataError: there is no such file, or it is not as it was written.
    """
    about, tensors = read_unchecked(source)
    if not about.get("format", "").startswith("compsparse."):
        raise DataError(f"{source} holds no network that compsparse wrote")
    written = about.pop(SEAL, None)
    check_digest(written, tensors_digest(about, tensors), str(source))
    return about, tensors


def is_tensor_file(source: Path) -> bool:
    """Whether a file begins as a safetensors file does: eight bytes for the length of the JSON that follows."""
    try:
        with source.open("rb") as opened:
            start = opened.read(9)
    except OSError as error:
        raise DataError(f"cannot read {printable(source)}: {error.strerror}") from None
    return start[8:] == b"{" and int.from_bytes(start[:8], "little") < 2**32


def read_unchecked(source: Path) -> tuple[dict[str, str], dict[str, Tensor]]:
    """The same whatever the digest says, which stays among the words."""
    needs("safetensors", "saved networks", "export")
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(str(source), framework="pt") as file:
            return file.metadata() or {}, {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 (no dict)
    except FileNotFoundError:
        raise DataError(f"cannot read a network from {source}: there is no such file") from None
    except (OSError, SafetensorError):
        raise DataError(f"cannot read a network from {source}: it is no whole safetensors file") from None


def tensors_digest(about: Mapping[str, str], tensors: Mapping[str, Tensor]) -> str:
    """One digest for words and tensors, their types and shapes included."""
    kinds = {name: [str(t.dtype), list(t.shape)] for name, t in tensors.items()}
    numbers = arrays_digest({name: _bytes(t) for name, t in tensors.items()})
    return digest_of(canonical({"about": dict(about), "tensors": kinds, "numbers": numbers}))


def _bytes(tensor: Tensor) -> np.ndarray:
    """What lies in memory: numpy lacks some of torch's types."""
    if not tensor.numel():
        return np.zeros(0, dtype=np.uint8)
    return np.asarray(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())

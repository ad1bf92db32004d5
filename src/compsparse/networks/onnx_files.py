"""ONNX files that say what they hold: a few words in their metadata, with a digest of the words and the program."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from compsparse.digest import SEAL, check_digest, digest_of
from compsparse.errors import DataError
from compsparse.files import check_place, whole_file
from compsparse.optional import needs

ONNX_FORMAT = "compsparse.onnx/1"


def write_program(model: Any, about: Mapping[str, str], place: str | os.PathLike[str]) -> None:
    """Writes an ONNX model with words about it and a digest of both; the file appears whole or not at all."""
    onnx = needs("onnx", "ONNX models", "export")
    words = {"format": ONNX_FORMAT, **about}
    _take_out(model, {*words, SEAL})
    for key in sorted(words):
        model.metadata_props.add(key=key, value=words[key])
    model.metadata_props.add(key=SEAL, value=_digest(model))
    with whole_file(place) as temporary:
        onnx.save_model(model, str(temporary))


def read_program(source: Path) -> tuple[dict[str, str], Any]:
    """What was said about an ONNX model, and the model.

    Raises:
        DataError: there is no such file, compsparse did not write it, or it is not as it was written.
    """
    about, model = read_program_unchecked(source)
    written = _take_out(model, {SEAL})
    check_digest(" ".join(written) or None, _digest(model), str(source))
    return {key: text for key, text in about.items() if key != SEAL}, model


def read_program_unchecked(source: Path) -> tuple[dict[str, str], Any]:
    """The same whatever the digest says, which stays among the words."""
    onnx = needs("onnx", "ONNX models", "export")
    protobuf = needs("google.protobuf.message", "ONNX models", "export")
    try:
        model = onnx.load_model(str(source), load_external_data=False)
    except FileNotFoundError:
        raise DataError(f"cannot read an ONNX model from {source}: there is no such file") from None
    except (OSError, protobuf.DecodeError):
        raise DataError(f"cannot read an ONNX model from {source}: it is no whole ONNX file") from None
    about = {entry.key: entry.value for entry in model.metadata_props}
    if not all(isinstance(word, str) for entry in about.items() for word in entry):  # protobuf leaves them as bytes
        raise DataError(f"cannot read an ONNX model from {source}: its metadata are no texts")
    if about.get("format") != ONNX_FORMAT:
        raise DataError(f"{source} holds no ONNX model that this version of compsparse wrote")
    return about, model


def check_onnx(path: str | os.PathLike[str]) -> dict[str, str]:
    """What an ONNX file says of itself, if it is as compsparse wrote it.

    Raises:
        DataError: it was changed, or compsparse did not write it.
    """
    return read_program(check_place("path", path))[0]


def _take_out(model: Any, keys: Collection[str]) -> list[str]:
    """Removes words from an ONNX model and returns them."""
    words = [(entry.key, entry.value) for entry in model.metadata_props]
    del model.metadata_props[:]
    for key, value in words:
        if key not in keys:
            model.metadata_props.add(key=key, value=value)
    return [value for key, value in words if key in keys]


def _digest(model: Any) -> str:
    return digest_of(model.SerializeToString(deterministic=True))

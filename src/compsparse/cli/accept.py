"""``compsparse accept``: a file that was changed on purpose gets a digest that fits."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from compsparse.cli.app import app, say
from compsparse.digest import SEAL, parse_json, sealed
from compsparse.errors import CompsparseError, DataError
from compsparse.files import check_writable, read_text, write_text
from compsparse.text import printable

if TYPE_CHECKING:
    from compsparse.discovery import Discovery
    from compsparse.models import FittedGraph

_UNKNOWN = "it holds no graph, model, discovery or network that this version of compsparse reads"
_CAVEAT = (
    "this record was changed by hand after the search, or written without a digest, and accepted: "
    "its evidence is about what was found then"
)


_WORDS = {"format", "graph", "config", "n_inputs", "n_layers"}
"""What a network cannot be read without; other words beside its weights state something of them."""
_Way = tuple[str, Callable[[Any], Any], Callable[..., Any]]
"""What a file holds, how it is read and how it is written."""


@dataclass(frozen=True)
class Accepted:
    """A file that was read: what it holds, and what it stated of itself that was removed; None if nothing was wrong."""

    kind: str
    removed: list[str] | None = None


@app.command()
def accept(
    file: Annotated[Path, typer.Argument(help="A graph, model, discovery or network that you changed by hand.")],
) -> None:
    """Accept a change that was made to a file by hand: check the whole file, and write its digest anew.

    What the file stated of its content before the change, such as a certificate, is removed: it is no longer known.
    """
    try:
        found = _accepter(file)(check_writable(file))
    except CompsparseError as error:
        raise DataError(f"cannot accept {printable(file)}: {error}") from None
    if found.removed is None:
        say(f"{file} holds {found.kind} and is as compsparse wrote it: there is nothing to accept")
        return
    say(f"accepted: {file} holds {found.kind}, and its digest now fits")
    if found.removed:
        say(f"removed, since it was about the content before the change: {', '.join(found.removed)}")


def _accepter(file: Path) -> Callable[[Path], Accepted]:
    """Which of the ways below reads the file, by how it begins."""
    try:
        with file.open("rb") as opened:
            start = opened.read(9)
    except OSError as error:
        raise DataError(error.strerror or str(error)) from None
    # safetensors: eight bytes for the length of the JSON that follows
    if start[8:] == b"{" and int.from_bytes(start[:8], "little") < 2**32:
        return _accept_tensors
    return _accept_json if start.lstrip().startswith(b"{") else _accept_onnx


def _way(ways: dict[str, _Way], found: object) -> _Way:
    if not isinstance(found, str) or found not in ways:
        raise DataError(_UNKNOWN)
    return ways[found]


def _reads(read: Callable[[Any], Any], source: Any) -> bool:
    try:
        read(source)
    except CompsparseError:
        return False
    return True


# ---- JSON ----------------------------------------------------------------------------------------


def _accept_json(file: Path) -> Accepted:
    from compsparse.discovery import Discovery
    from compsparse.graph.json_format import from_dict, to_dict
    from compsparse.models import FittedGraph

    text = read_text(file)
    data = parse_json(text)
    ways: dict[str, _Way] = {
        "compsparse.graph": ("a function graph", from_dict, lambda graph: (to_dict(graph), [])),
        "compsparse.model": ("a fitted model", FittedGraph.from_dict, _model_afresh),
        "compsparse.discovery": ("a discovery", Discovery.from_dict, _discovery_afresh),
    }
    kind, read, write = _way(ways, data.get("format"))
    if _reads(read, data):
        return Accepted(kind)
    content, removed = write(read(_resealed(data)))
    write_text(file, json.dumps(content, indent=2 if "\n" in text.strip() else None, allow_nan=False))
    return Accepted(kind, removed)


def _resealed(data: Any) -> Any:
    """The same JSON value with digests that fit, from the inside out."""
    if isinstance(data, list):
        return [_resealed(value) for value in data]
    if not isinstance(data, dict):
        return data
    content = {key: _resealed(value) for key, value in data.items()}
    return sealed(content) if SEAL in data or str(data.get("format")).startswith("compsparse.") else content


def _model_afresh(model: FittedGraph) -> tuple[dict[str, Any], list[str]]:
    return replace(model, validation_loss=math.nan).to_dict(), _stated_of(model)


def _discovery_afresh(found: Discovery) -> tuple[dict[str, Any], list[str]]:
    model = None if found.model is None else replace(found.model, validation_loss=math.nan)
    caveats = found.caveats if _CAVEAT in found.caveats else (*found.caveats, _CAVEAT)
    return replace(found, model=model, caveats=caveats).to_dict(), _stated_of(found.model)


def _stated_of(model: FittedGraph | None) -> list[str]:
    return [] if model is None or math.isnan(model.validation_loss) else ["the loss on validation rows"]


# ---- networks ------------------------------------------------------------------------------------


def _accept_tensors(file: Path) -> Accepted:
    from compsparse.construct import load_explicit, save_explicit
    from compsparse.networks import load, save
    from compsparse.networks.tensor_files import read_unchecked, write_sealed

    about, tensors = read_unchecked(file)
    ways: dict[str, _Way] = {
        "compsparse.mirror": ("a mirrored network", load, save),
        "compsparse.explicit": ("an explicit network", load_explicit, save_explicit),
    }
    kind, read, write = _way(ways, about.get("format", "").partition("/")[0])
    if _reads(read, file):
        return Accepted(kind)
    words = {key: text for key, text in about.items() if key in _WORDS}
    with tempfile.TemporaryDirectory() as folder:
        write_sealed(words, tensors, Path(folder) / file.name)
        write(read(Path(folder) / file.name), file)
    return Accepted(kind, _stated(about.keys() - words.keys()))


def _accept_onnx(file: Path) -> Accepted:
    from compsparse.networks.onnx_files import read_program, read_program_unchecked, write_program

    if _reads(read_program, file):
        return Accepted("an ONNX model")
    try:
        about, model = read_program_unchecked(file)
    except DataError:
        raise DataError(_UNKNOWN) from None
    del model.metadata_props[:]
    write_program(model, {}, file)
    return Accepted("an ONNX model", _stated(about.keys() - {"format"}))


def _stated(words: Iterable[str]) -> list[str]:
    return sorted(word.removeprefix("compsparse.") for word in words if word != SEAL)

"""One random edit of a file that compsparse wrote: it is refused in one sentence, or says what it said before.

A seeded sample runs with the tests; ``make fuzz`` makes 2,000 edits, spread over all kinds of files.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from tests.fitted import doubling

import compsparse as cs
from compsparse.construct import ExplicitReLU, SparseLayer, load_explicit, save_explicit
from compsparse.digest import parse_json
from compsparse.discovery import Discovery
from compsparse.errors import CompsparseError
from compsparse.files import read_text
from compsparse.graph import FunctionGraph, balanced_tree
from compsparse.models import FittedGraph, fit_model
from compsparse.networks import check_onnx, load, mirror, save
from compsparse.networks.onnx_files import write_program
from compsparse.sparse.memorisation import Memorised
from compsparse.training import FitConfig, TrainingConfig

SAMPLE, ALL = 20, 200
"""Edits of every kind of file by default, and with ``--all-cases``."""
RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (60, 3))
Y = X[:, 0] * X[:, 1] + X[:, 2]
TINY = FitConfig(n_restarts=1, training=TrainingConfig(n_steps=10), refine_iterations=0)
GRAPH = FunctionGraph.from_expression("tanh(1.25*a*b) + c")
NETWORK = mirror(balanced_tree(4), width=3, depth=1, n_replicas=2, random_state=0)


def explicit() -> ExplicitReLU:
    first = SparseLayer.of([[1.5, 0], [1, -0.25]], [0.5, -0.5], [False, True])
    return ExplicitReLU([first, SparseLayer.of([[2, -4]], [0.125], relu=False)], torch.float32)


@cache
def fitted(classes: bool = False) -> FittedGraph:
    return fit_model([[0, 1], 2], X, Y > 0 if classes else Y, width=3, config=TINY, random_state=0)


@cache
def discovered() -> Discovery:
    found = cs.discover(X, Y, fit_config=TINY, width=3, effort=0.05, random_state=0)
    assert found.model is not None
    return found


@cache
def compiled() -> cs.construct.Compiled:
    return cs.compile("tanh(a)*b", (-1, 1), 0.1, n_points=50)


def verified(path: Path) -> cs.construct.Verification:
    return cs.construct.verify(path, n_points=20)


# ---- what a file says, read without compsparse ---------------------------------------------------


def json_content(path: Path) -> str:
    return json.dumps(json.loads(path.read_bytes()), sort_keys=True)


def tensor_content(path: Path) -> Any:
    with safe_open(str(path), framework="pt") as file:
        tensors = {key: file.get_tensor(key) for key in sorted(file.keys())}
        shown = {
            k: (str(t.dtype), tuple(t.shape), t.reshape(-1).view(torch.uint8).tolist()) for k, t in tensors.items()
        }
        return file.metadata(), shown


def onnx_content(path: Path) -> bytes:
    return onnx.load(path).SerializeToString(deterministic=True)


@dataclass(frozen=True)
class Kind:
    write: Callable[[Path], Any]
    read: Callable[[Path], Any]
    content: Callable[[Path], Any] = json_content


def text_of(make: Callable[[], str]) -> Callable[[Path], Any]:
    return lambda path: path.write_text(make())


KINDS = {
    "model of numbers": Kind(lambda path: fitted().save(path), FittedGraph.load),
    "model of classes": Kind(lambda path: fitted(classes=True).save(path), FittedGraph.load),
    "discovery": Kind(text_of(lambda: discovered().to_json()), lambda path: Discovery.from_json(read_text(path))),
    "discovery, for its model": Kind(text_of(lambda: discovered().to_json(indent=1)), FittedGraph.load),
    "truth table": Kind(
        text_of(lambda: cs.discover([0, 0, 0, 1, 1, 1, 1, 0], names=["a", "b", "c"]).to_json(indent=1)),
        lambda path: Discovery.from_json(read_text(path)),
    ),
    "graph": Kind(text_of(lambda: GRAPH.to_json(indent=1)), lambda path: FunctionGraph.from_json(path.read_bytes())),
    "memorised": Kind(
        text_of(lambda: cs.memorise(X[:8, :2], Y[:8]).to_json()),
        lambda path: Memorised.from_dict(parse_json(path.read_bytes())),
    ),
    "mirrored network": Kind(lambda path: save(NETWORK, path), load, tensor_content),
    "explicit network": Kind(lambda path: save_explicit(explicit(), path), load_explicit, tensor_content),
    "compiled network": Kind(lambda path: compiled().save(path), verified, tensor_content),
    "compiled network, in ONNX": Kind(lambda path: compiled().to_onnx(path), verified, onnx_content),
    "ONNX": Kind(lambda path: write_program(doubling(), {"bound": "0.5"}, path), check_onnx, onnx_content),
}


# ---- edits ---------------------------------------------------------------------------------------


def flip_a_bit(path: Path, rng: random.Random) -> None:
    data = bytearray(path.read_bytes())
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    path.write_bytes(data)


def cut_out(path: Path, rng: random.Random) -> None:
    data = path.read_bytes()
    start = rng.randrange(len(data))
    path.write_bytes(data[:start] + data[start + rng.choice([1, 4, 60]) :])


def swap_words(path: Path, rng: random.Random) -> None:
    data = bytearray(path.read_bytes())
    i, j = (rng.randrange(len(data) - 4) for _ in range(2))
    data[i : i + 4], data[j : j + 4] = data[j : j + 4], data[i : i + 4]
    path.write_bytes(data)


def change_a_digit(path: Path, rng: random.Random) -> None:
    data = bytearray(path.read_bytes())
    places = [i for i, byte in enumerate(data) if chr(byte).isdigit() and byte < 128]
    data[rng.choice(places)] = ord(rng.choice("0123456789"))
    path.write_bytes(data)


def delete_a_line(path: Path, rng: random.Random) -> None:
    lines = path.read_bytes().split(b"\n")
    del lines[rng.randrange(len(lines))]
    path.write_bytes(b"\n".join(lines))


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every value of a JSON document as (its holder, its key)."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else []
    return [place for key in keys for place in [(value, key), *places(value[key])]]


def with_json(change: Callable[[list[tuple[Any, Any]], random.Random], None]) -> Callable[[Path, random.Random], None]:
    def edit(path: Path, rng: random.Random) -> None:
        data = json.loads(path.read_text())
        change(places(data), rng)
        path.write_text(json.dumps(data))

    return edit


def rename_a_key(where: list[tuple[Any, Any]], rng: random.Random) -> None:
    holder, key = rng.choice([(h, k) for h, k in where if isinstance(h, dict)])
    holder[key[:-1] + rng.choice("xyz_")] = holder.pop(key)


def swap_values(where: list[tuple[Any, Any]], rng: random.Random) -> None:
    (a, i), (b, j) = rng.choice(where), rng.choice(where)
    one, two = json.dumps(a[i]), json.dumps(b[j])
    a[i], b[j] = json.loads(two), json.loads(one)


def delete_a_value(where: list[tuple[Any, Any]], rng: random.Random) -> None:
    holder, key = rng.choice(where)
    del holder[key]


def change_a_value(where: list[tuple[Any, Any]], rng: random.Random) -> None:
    holder, key = rng.choice(where)
    number = isinstance(holder[key], (int, float)) and not isinstance(holder[key], bool)
    holder[key] = holder[key] * 1.5 + 1 if number else rng.choice([None, True, "", "tanh(a)", 0, [], {}])


def write_a_key_twice(path: Path, rng: random.Random) -> None:
    text = path.read_text()
    starts = [i for i, letter in enumerate(text) if letter == "{"]
    key = rng.choice([key for holder, key in places(json.loads(text)) if isinstance(holder, dict)])
    at = rng.choice(starts) + 1
    path.write_text(f"{text[:at]}{json.dumps(key)}: {rng.choice(['0', 'null', 'NaN', '1e999'])}, {text[at:]}")


def change_a_weight(path: Path, rng: random.Random) -> None:
    (about, _), tensors = tensor_content(path), {}
    with safe_open(str(path), framework="pt") as file:
        tensors = {key: file.get_tensor(key).clone() for key in file.keys()}  # noqa: SIM118 (no dict)
    chosen = tensors[rng.choice(sorted(tensors))].view(-1)
    chosen[rng.randrange(len(chosen))] += 1
    save_file(tensors, str(path), metadata=about)


def change_a_word(path: Path, rng: random.Random) -> None:
    about, _ = tensor_content(path)
    with safe_open(str(path), framework="pt") as file:
        tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 (no dict)
    key = rng.choice(sorted(about))
    value = about.pop(key)
    about |= rng.choice([{key + "x": value}, {key: value.replace("1", "2", 1) + " "}, {}, {key: value, "more": "1"}])
    save_file(tensors, str(path), metadata=about)


ANYWHERE = (flip_a_bit, cut_out, swap_words, change_a_digit)
IN_JSON = (
    delete_a_line,
    *(with_json(change) for change in (rename_a_key, swap_values, delete_a_value, change_a_value)),
    write_a_key_twice,
)
EDITS = {
    json_content: (*ANYWHERE, *IN_JSON),
    tensor_content: (*ANYWHERE, change_a_weight, change_a_word),
    onnx_content: ANYWHERE,
}


# ---- the property --------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=KINDS)
def whole(request, tmp_path_factory) -> tuple[Kind, Path]:
    kind, path = KINDS[request.param], tmp_path_factory.mktemp("whole") / "file"
    kind.write(path)
    kind.read(path)
    return kind, path


def says_the_same(kind: Kind, path: Path, before: Any) -> bool:
    try:
        return bool(kind.content(path) == before)
    except (ValueError, RecursionError, SafetensorError, OSError, onnx.onnx_cpp2py_export.checker.ValidationError):
        return False
    except Exception as error:
        if type(error).__name__ != "DecodeError":  # protobuf's, whose home depends on its version
            raise
        return False


def refusal(kind: Kind, path: Path) -> str | None:
    try:
        kind.read(path)
    except CompsparseError as error:
        return str(error)
    return None


def test_no_edit_changes_a_file_in_silence(whole, tmp_path, request):
    kind, path = whole
    before, edited = kind.content(path), tmp_path / "edited"
    rng, silent = random.Random(7), []
    n = ALL if request.config.getoption("--all-cases", default=False) else SAMPLE
    n_changes = 0
    for _ in range(n):
        edited.write_bytes(path.read_bytes())
        edit = rng.choice(EDITS[kind.content])
        edit(edited, rng)
        if says_the_same(kind, edited, before):
            continue
        n_changes += 1
        told = refusal(kind, edited)
        if told is None:
            silent.append(edited.read_bytes())
        else:
            assert "\n" not in told, told
    assert not silent
    assert n_changes > n / 2

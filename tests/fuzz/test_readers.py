"""Files that are damaged, cut, empty or of another kind, for every reader: a sentence or an answer, nothing else.

A seeded sample runs with the tests; ``make fuzz`` reads many more. What a change in a file does to its digest is held
elsewhere: here nothing may crash, hang or take the file away.
"""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from entries_runs import FOLDER as RUNS
from entries_runs import KINDS, RESULTS, STORE
from odd import Hang, bounded

import compsparse as cs
from compsparse import claims, construct, networks, sweeps
from compsparse.cli.graph import graph_from
from compsparse.discovery import Discovery
from compsparse.errors import CompsparseError
from compsparse.files import read_text
from compsparse.models import FittedGraph
from compsparse.tables import read_images, read_table
from compsparse.training import FitConfig, TrainingConfig

SAMPLE, MANY, SEED = 60, 60, 13
"""Cases in all that are drawn for every change, and damages of each file that ``make fuzz`` makes."""
TINY = FitConfig(n_restarts=1, training=TrainingConfig(n_steps=3), refine_iterations=0)
NOTHINGS = {
    "empty": b"",
    "null": b"null",
    "list": b"[]",
    "object": b"{}",
    "nan": b"NaN",
    "deep": b"[" * 100_000,
    "zeros": bytes(1000),
    "latin": "größe;ß\n1;2\n".encode("latin-1"),
    "utf-16": "a,b\n1,2\n".encode("utf-16"),
}


def _store(path: Path) -> Any:
    with sweeps.open_store(str(path), create=False) as kept:
        return list(kept.results.all()), kept.sweeps.all(3), kept.results.counts()


def _spill(path: Path) -> Any:
    with sweeps.open_store(str(path.with_name("fresh.sqlite"))) as kept:
        return kept.import_spill(path)


def _images(path: Path) -> Any:
    for name in ("a", "b"):
        (path.parent / "classes" / name).mkdir(parents=True, exist_ok=True)
        shutil.copy(path, path.parent / "classes" / name / "x.png")
    return read_images(path.parent / "classes", 4)


READERS: dict[str, Callable[[Path], Any]] = {
    "graph.json": lambda path: graph_from(str(path)),
    "model.json": FittedGraph.load,
    "discovery.json": lambda path: Discovery.from_json(read_text(path)),
    "model in discovery.json": FittedGraph.load,
    "network.safetensors": networks.load,
    "compiled.safetensors": construct.load_explicit,
    "verdict.json": lambda path: claims.kept(path.parent),
    "sweep.toml": lambda path: sweeps.Sweep.from_toml(path, kinds=KINDS),
    "store.sqlite": _store,
    "spill.jsonl": _spill,
    "table.csv": read_table,
    "table.parquet": read_table,
    "image.png": _images,
}


def made(folder: Path) -> dict[str, bytes]:
    """One good file for every reader."""
    from PIL import Image

    X = np.random.default_rng(0).normal(size=(60, 2))
    found = cs.discover(X, X[:, 0], names=["a", "b"], fit_config=TINY, width=3, effort=0.05, random_state=0)
    assert found.model is not None
    found.model.save(folder / "model.json")
    networks.save(cs.dense(2, 3, random_state=0), folder / "network.safetensors")
    cs.compile("tanh(a)", (-1, 1), tol=0.1).save(folder / "compiled.safetensors")
    frame = pandas.DataFrame(X, columns=["a", "b"]).assign(t=["x", "y"] * 30)
    frame.to_csv(folder / "table.csv", index=False)
    frame.to_parquet(folder / "table.parquet")
    Image.fromarray(np.arange(64, dtype=np.uint8).reshape(8, 8)).save(folder / "image.png")
    text = found.to_json().encode()
    here = {p.name: p.read_bytes() for p in folder.iterdir()}
    there = {
        "graph.json": found.graph.to_json().encode(),
        "discovery.json": text,
        "model in discovery.json": text,
        "verdict.json": next(RESULTS.glob("*.json")).read_bytes(),
        "sweep.toml": (RUNS / "sweep.toml").read_bytes(),
        "store.sqlite": Path(STORE).read_bytes(),
        "spill.jsonl": (RUNS / "spill.jsonl").read_bytes(),
    }
    return {**here, **there}


def damaged(content: bytes, number: int) -> bytes:
    """Cut short, some bytes changed, a part taken out, doubled or put elsewhere; by the number of the damage."""
    rng = random.Random(number)
    at, to = sorted(rng.randrange(len(content) + 1) for _ in range(2))
    match number % 6:
        case 0:
            return content[:at]
        case 1:
            return content[:at] + content[to:]
        case 2:
            return content[:to] + content[at:to] + content[to:]
        case 3:
            return content[to:] + content[:to]
        case _:
            changed = bytearray(content)
            for _ in range(1 if number % 6 == 4 else 20):
                changed[rng.randrange(len(changed))] = rng.choice(b'0129-.,:"{}[]e\x00\xff\n aN')
            return bytes(changed)


def damages(every: bool) -> Iterator[tuple[str, str]]:
    """Reader and damage: a number, a file that says nothing, or the file of another reader."""
    others = [*NOTHINGS, *(f"a {name}" for name in READERS)]
    cases = [(name, what) for name in READERS for what in (*others, *map(str, range(MANY))) if what != f"a {name}"]
    yield from cases if every else random.Random(SEED).sample(cases, SAMPLE)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "damage" in metafunc.fixturenames:
        chosen = list(damages(metafunc.config.getoption("--all-cases", default=False)))
        metafunc.parametrize(("reader", "damage"), chosen)


@pytest.fixture(scope="module")
def files() -> Iterator[dict[str, bytes]]:
    with tempfile.TemporaryDirectory() as folder:
        yield made(Path(folder))


@pytest.mark.parametrize("reader", READERS)
def test_a_good_file_is_read(reader: str, files: dict[str, bytes], tmp_path: Path) -> None:
    (tmp_path / reader).write_bytes(files[reader])
    assert READERS[reader](tmp_path / reader) is not None


def said_of(read: Callable[[Path], Any], path: Path) -> str | None:
    """The sentence that refuses a file; None where it was read."""
    try:
        with bounded():
            read(path)
    except CompsparseError as error:
        return str(error)
    except Hang:
        pytest.fail("it did not end")
    return None


@pytest.mark.filterwarnings("ignore")
def test_any_other_file_meets_a_sentence(reader: str, damage: str, files: dict[str, bytes], tmp_path: Path) -> None:
    content = (
        damaged(files[reader], int(damage))
        if damage.isdigit()
        else NOTHINGS[damage]
        if damage in NOTHINGS
        else files[damage.removeprefix("a ")]
    )
    path = tmp_path / reader
    path.write_bytes(content)
    sentence = said_of(READERS[reader], path)
    assert sentence is None or (sentence.strip() and "Error(" not in sentence)
    assert path.exists()
    if reader != "store.sqlite":
        assert path.read_bytes() == content

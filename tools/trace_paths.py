"""Writes docs/paths.md: the files that each of some first things to do meets, as a trace of them sees it.

``make paths`` runs it; with ``--check`` it takes the short walks alone and says where the page is not as the code is.
What a worker process does and what a compiled kernel does is not seen.
"""

from __future__ import annotations

import ast
import contextlib
import os
import re
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import compsparse as cs

SOURCE = Path(cs.__file__).parent
PAGE = Path(__file__).parent.parent / "docs" / "paths.md"
_IS_FUNCTION = 1  # CO_OPTIMIZED: the body of a module or of a class is none
Met = dict[str, str]
"""The first function that ran of each file, in the order in which the files were met."""


@dataclass(frozen=True)
class Walk:
    """From what a user types to what the user gets."""

    title: str
    about: str
    take: Callable[[], object]
    is_short: bool = False


# ---- the walks ----------------------------------------------------------------------------------


def command(*arguments: object) -> None:
    """A command as the shell would run it, with its output swallowed."""
    from typer.testing import CliRunner

    from compsparse.cli import app

    result = CliRunner().invoke(app, [str(a) for a in arguments])
    if result.exit_code:
        raise RuntimeError(f"{arguments[0]} ended with {result.exit_code}: {result.output}") from result.exception


def discover_a_table() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (150, 4))
    y = np.abs(X[:, 0] - X[:, 1]) + np.sign(X[:, 2]) * np.maximum(X[:, 2], X[:, 3]) + 0.05 * rng.standard_normal(150)
    np.savetxt("data.csv", np.column_stack([X, y]), delimiter=",", header="a,b,c,d,y", comments="")
    command("discover", "data.csv", "--target", "y", "--effort", 0.02, "--random-state", 0)


def sweep_a_hierarchy() -> None:
    Path("my.toml").write_text(
        'name = "small"\nkind = "hierarchy"\n[base]\nn_levels = 2\nn_features = 3\nmultiplicity = 2\nn_epochs = 2\n'
        "[grid]\nn_train = [8, 16]\nseed = [0, 1]\n",
        encoding="utf-8",
    )
    command("sweep", "my.toml", "--workers", 1, "--report", "curves.html")


WALKS = (
    Walk(
        "A table: `compsparse discover data.csv --target y`",
        "The table is read, coded and split; a smooth fit proposes and denies; where it explains too little, "
        "structures are fitted and judged on held-out rows; the graph that is left is fitted, scored beside dense "
        "models and shown.",
        discover_a_table,
    ),
    Walk(
        "A callable: `cs.discover(f, bounds=…)`",
        "The function is asked at points that the search chooses; slopes and what turns them give the tree.",
        lambda: cs.discover(lambda a, b, c, d: np.tanh(a * b) + c * d**2, bounds=(-1, 1), random_state=0),
        is_short=True,
    ),
    Walk(
        "A formula: `cs.compile(f, bounds, tol)`",
        "The formula is taken apart into affine forms, ReLUs, curves and products; their errors are carried to the "
        "outputs and stacked into one network, and a search tries to refute the certificate.",
        lambda: cs.compile("tanh(a*b) + abs(c)", (-1, 1), 0.05, random_state=0, n_points=500),
        is_short=True,
    ),
    Walk(
        "The smallest network: `cs.memorise(X, y)`",
        "A cone program over cells of the hyperplanes, priced until nothing is missing; then the network is cut down, "
        "and the prices give the certificate.",
        lambda: cs.memorise(np.random.default_rng(0).normal(size=(12, 2)), np.arange(12.0) % 3, random_state=0),
        is_short=True,
    ),
    Walk(
        "Sparse codes: `cs.lasso(X, W, lam=…)`",
        "All signals at once, each with its duality gap.",
        lambda: cs.lasso(np.random.default_rng(0).normal(size=(9, 5)), np.eye(5, 8) + 0.1, lam=0.3),
        is_short=True,
    ),
    Walk(
        "A claim: `compsparse claims run full-spectra-are-hard`",
        "A statement is looked up in the files that declare claims, its trials are run, its rule decides, and the "
        "verdict is kept.",
        lambda: command("claims", "run", "full-spectra-are-hard"),
    ),
    Walk(
        "A sweep: `compsparse sweep my.toml`",
        "What is missing is planned, reserved, packed and kept; it runs in worker processes, where the trace does not "
        "follow.",
        sweep_a_hierarchy,
    ),
)


# ---- the trace ------------------------------------------------------------------------------------


def traced(take: Callable[[], object]) -> Met:
    """Takes a walk in a folder of its own, and notes the files that it meets; what runs on import is left out."""
    met: Met = {}
    imports = threading.local()

    def see(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if code.co_name == "<module>":
            depth = getattr(imports, "depth", 0)
            imports.depth = max(0, depth + {"call": 1, "return": -1}.get(event, 0))
        elif event == "call" and code.co_flags & _IS_FUNCTION and not getattr(imports, "depth", 0):
            name = code.co_filename.removeprefix(f"{SOURCE}{os.sep}")
            if name != code.co_filename and Path(name).suffix == ".py":
                met.setdefault(Path(name).as_posix(), code.co_qualname)

    with _folder(), _profile(see):
        take()
    return {name: first for name, first in met.items() if "/" in name}  # the ground floor stands below all of them


@contextlib.contextmanager
def _folder() -> Iterator[None]:
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        yield


@contextlib.contextmanager
def _profile(see: Callable[[FrameType, str, Any], None]) -> Iterator[None]:
    threading.setprofile(see)
    sys.setprofile(see)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


# ---- the page -------------------------------------------------------------------------------------

_HEAD = """# Paths through the code

What a user types, and the files that it meets until the user gets an answer. \
`make paths` writes this page from a trace of each walk, so it is as the code is: \
the packages in the order in which they are met, their files likewise, each with what it says of itself. \
Paths are relative to `src/compsparse`. \
The files beside the packages (`checks.py`, `errors.py` and the other modules of the ground floor) \
stand below all of them and are not named; kernels that are compiled and worker processes are not seen.
"""


def page(walks: dict[str, Met]) -> str:
    """The page of what was met on each walk, by title."""
    about = {walk.title: walk.about for walk in WALKS}
    return _HEAD + "".join(f"\n## {title}\n\n{about[title]}\n\n{_listed(met)}" for title, met in walks.items())


def _listed(met: Met) -> str:
    packages: dict[str, list[str]] = {}
    for name in met:
        packages.setdefault(name.split("/")[0], []).append(name)
    lines = []
    for package, names in packages.items():
        lines.append(f"- **{package}**")
        lines += [f"  - `{name}`: {_says(SOURCE / name)}" for name in names]
    return "\n".join(lines) + "\n"


def _says(path: Path) -> str:
    """The first sentence of a module's docstring."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    sentence = " ".join(text.split("\n\n")[0].split())
    return sentence if sentence.endswith((".", "?")) else f"{sentence}."


def differences() -> list[str]:
    """Where the page and the code do not agree on the walks that take a second or two."""
    text, found = PAGE.read_text(encoding="utf-8"), []
    for walk in WALKS:
        if walk.is_short:
            named = set(re.findall(r"`([\w/]+\.py)`", text.partition(f"## {walk.title}\n")[2].partition("\n## ")[0]))
            found += [f"{walk.title}: {name} is on one of the two" for name in sorted(named ^ set(traced(walk.take)))]
    return found


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit("; ".join(differences()) or 0)
    PAGE.write_text(page({walk.title: traced(walk.take) for walk in WALKS}), encoding="utf-8")
    print(f"{PAGE.name}: {len(WALKS)} walks")

"""Runs the README as in the environment of ``make demo``: whatever is not installed there cannot be imported.

``python demo_environment.py export,lab`` reads a JSON list of commands, each a list of words, from standard input, runs
the Python blocks of the README and then the commands, and prints what came of each. It stands alone: pytest is not
part of that environment.
"""

import io
import json
import re
import signal
import sys
import time
import tomllib
from contextlib import redirect_stderr, redirect_stdout
from importlib import metadata
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
SECONDS_TO_CTRL_C = 4.0


def installed(extras):
    """Names of the distributions that ``pip install '.[extras]'`` brings."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    ours = project["optional-dependencies"]
    waiting = [(Requirement(line), "") for line in project["dependencies"]]
    waiting.append((Requirement(f"compsparse[{extras}]"), ""))
    found = {}
    while waiting:
        requirement, extra = waiting.pop()
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        name = canonicalize_name(requirement.name)
        new = {"", *requirement.extras} - found.setdefault(name, set())
        found[name] |= new
        for wanted in new:
            lines = ours.get(wanted, ()) if name == "compsparse" else metadata.requires(name) or ()
            waiting += [(Requirement(line), wanted) for line in lines]
    return found.keys()


class Hidden(PathFinder):
    """Finds no package of a distribution that is not part of the environment."""

    names: frozenset[str] = frozenset()

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in cls.names else super().find_spec(name, path, target)


def hide_all_but(distributions):
    for name, homes in metadata.packages_distributions().items():
        if not {canonicalize_name(home) for home in homes} & {*distributions, "pip", "setuptools"}:
            Hidden.names |= {name}
    sys.meta_path = [Hidden if finder is PathFinder else finder for finder in sys.meta_path]
    for name in [name for name in sys.modules if name.partition(".")[0] in Hidden.names]:
        del sys.modules[name]


def run_blocks():
    """The Python of the README, one block after the other, and what it promises of its first."""
    scope, promised = {}, None
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for block in re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        exec(compile(block, "README.md", "exec"), scope)
        promised = promised or outcome(scope["model"], scope["X"], scope["y"])
    return promised


def outcome(model, X, y):
    graph = model.graph_
    return {"modules": sorted(map(sorted, graph.modules)), "inert": graph.inert, "score": model.score(X, y)}


def run_command(words, ctrl_c):
    """Exit status and output of a command line; Ctrl-C comes after some seconds where that is wanted."""
    from compsparse.cli import main

    told, started = io.StringIO(), time.perf_counter()
    sys.argv = list(words)
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, SECONDS_TO_CTRL_C if ctrl_c else 0)
    try:
        with redirect_stdout(told), redirect_stderr(told):
            main()
        status = 0
    except SystemExit as ended:
        status = ended.code or 0
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return {"status": status, "told": told.getvalue(), "seconds": time.perf_counter() - started}


if __name__ == "__main__":
    hide_all_but(installed(sys.argv[1]))
    commands = json.load(sys.stdin)
    with redirect_stdout(io.StringIO()):
        blocks = run_blocks()
    done = [run_command(words, ctrl_c) for words, ctrl_c in commands]
    beyond = [name for name in ("dask", "hypothesis", "psycopg", "pytest") if find_spec(name)]
    print(json.dumps({"blocks": blocks, "commands": done, "beyond": beyond}))

"""Examples of the docs and ``examples/`` run and use public names; every page stands in the contents."""

import ast
import importlib
import inspect
import re
import runpy
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

import compsparse

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
WITHOUT_PYTHON = {"bad-input.md", "choosing.md", "design.md", "glossary.md", "index.md", "paths.md", "theory.md"}
REACHES_DEEPER = {"discovery.md", "extending.md"}  # the thresholds of the search, and how to add to the library


def blocks(page: Path) -> list[str]:
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def test_pages_that_should_show_python_do():
    assert {page.name for page in PAGES if not blocks(page)} == WITHOUT_PYTHON


def parsing_repairs_slots(scope):
    assert (scope["repaired"] != scope["data"].X).mean() < (scope["seen"] != scope["data"].X).mean()


def the_rules_are_learned(scope):
    assert scope["learned"].evaluate(scope["test"].X, scope["test"].y) < 0.1


def the_support_is_selected(scope):
    assert (scope["found"].precision == 1).all()


def ablation_gives_the_graph(scope):
    assert scope["graph"]["y"].parents == tuple(f"x{i}" for i in scope["task"].support)


def thoughts_are_right(scope):
    assert (scope["answers"][:, -1].sign().numpy() != scope["sample"].y[:100, -1]).mean() < 0.05


PROMISED = {
    ("attention.md", 1): the_support_is_selected,
    ("attention.md", 2): ablation_gives_the_graph,
    ("attention.md", 3): thoughts_are_right,
    ("hierarchies.md", 2): parsing_repairs_slots,
    ("hierarchies.md", 3): the_rules_are_learned,
}
"""What a page says of the outcome of its blocks, by number."""


# the README's run in the environment to which it leads: tests/test_readme.py
@pytest.mark.parametrize("page", [p for p in PAGES[1:] if blocks(p)], ids=lambda p: p.name)
def test_examples_of_a_page_run_one_after_the_other(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scope: dict = {}
    done = []
    for number, block in enumerate(blocks(page)):
        exec(compile(block, str(page), "exec"), scope)
        if (page.name, number) in PROMISED:
            PROMISED[page.name, number](scope)
            done.append((page.name, number))
    assert done == [place for place in PROMISED if place[0] == page.name]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.name)
def test_examples_run(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out


def names_used(code: str) -> set[str]:
    """Full names of what code takes from compsparse: by import, or as ``cs.name`` and ``cs.package.name``."""
    found = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "compsparse":
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.startswith("compsparse.")}
        elif isinstance(node, ast.Attribute) and (dotted := _dotted(node)).startswith("cs."):
            first, *rest = dotted.split(".")[1:]
            is_package = inspect.ismodule(getattr(compsparse, first, None))
            found.add(".".join(["compsparse", first, *(rest[:1] if is_package else [])]))
    return found


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def is_public(name: str) -> bool:
    """Whether a package exports it, or it is a package that the root exports."""
    home, _, last = name.rpartition(".")
    return last in getattr(importlib.import_module(home), "__all__", ())


@pytest.mark.parametrize("path", [*EXAMPLES, *PAGES], ids=lambda p: p.name)
def test_examples_use_public_names(path):
    code = [path.read_text(encoding="utf-8")] if path.suffix == ".py" else blocks(path)
    if path.name in REACHES_DEEPER:
        pytest.skip("shows the inside of the library")
    used = set().union(*map(names_used, code))
    assert not [name for name in sorted(used) if not is_public(name)]


def test_names_that_are_not_public_are_seen():
    code = "from compsparse.graph.parser import variables\ncs.graph.drawing\ncs.mirror\ncs.nothing"
    hidden = {name for name in names_used(code) if not is_public(name)}
    assert hidden == {"compsparse.graph.parser.variables", "compsparse.graph.drawing", "compsparse.nothing"}


def test_every_page_is_listed():
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    for page in (ROOT / "docs").glob("*.md"):
        assert page.stem == "index" or page.stem in index


def test_walks_through_the_code_are_as_a_trace_sees_them():
    tool = [sys.executable, str(ROOT / "tools" / "trace_paths.py"), "--check"]
    run = subprocess.run(tool, check=False, capture_output=True, text=True)
    assert run.returncode == 0, f"run `make paths`: {run.stderr}"


def test_walks_through_the_code_name_each_file_once():
    walks = (ROOT / "docs" / "paths.md").read_text().split("\n## ")[1:]
    assert len(walks) == 7
    for walk in walks:
        files = re.findall(r"`([\w/]+\.py)`", walk)
        assert len(files) >= 5
        assert len(files) == len(set(files))
        missing = [name for name in files if not (ROOT / "src" / "compsparse" / name).is_file()]
        assert not missing


WITH_TABLES = [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", ROOT / "benchmarks" / "RESULTS.md"]
BETWEEN_CELLS = re.compile(r"(?<!\\)\|")


def n_cells(row: str) -> int:
    return len(BETWEEN_CELLS.split(row.strip().removeprefix("|").removesuffix("|")))


def uneven_rows(text: str) -> list[str]:
    """Rows of tables that have more or fewer cells than the head of their table."""
    uneven, wanted = [], None
    for above, row in pairwise(["", *re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL).splitlines()]):
        if not row.startswith("|"):
            wanted = None
        elif wanted is None and set(row) <= set("|-: "):
            wanted = n_cells(above)
        if wanted is not None and n_cells(row) != wanted:
            uneven.append(row)
    return uneven


@pytest.mark.parametrize("page", WITH_TABLES, ids=lambda p: p.name)
def test_every_row_of_a_table_has_as_many_cells_as_its_head(page):
    assert not uneven_rows(page.read_text(encoding="utf-8"))


def test_rows_that_lack_a_cell_are_seen():
    table = "| a | b |\n|---|---|\n| 1 | 2 |\n| 1 |\n| $\\|x\\|$ | 2 |\n| 1 | 2 | 3 |"
    assert uneven_rows(table) == ["| 1 |", "| 1 | 2 | 3 |"]

"""A package imports only from packages above it in the order of flow."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import compsparse

SOURCE = Path(compsparse.__file__).parent
DESIGN = Path(__file__).parent.parent / "docs" / "design.md"


def flow() -> list[str]:
    """The packages in the order of the table in docs/design.md, which is the one list of them."""
    section = DESIGN.read_text(encoding="utf-8").split("## The flow")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`.*?`) \|", section, re.MULTILINE)
    return [name for row in rows for name in re.findall(r"`(\w+)`", row)]


FLOW = flow()


def packages_imported(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        modules = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules = [f"{node.module}.{alias.name}" for alias in node.names]
        names |= {m.split(".")[1] for m in modules if m.startswith("compsparse.") and m.count(".") >= 1}
    return names & set(FLOW)


@pytest.mark.parametrize("path", sorted(p for p in SOURCE.rglob("*.py") if p != SOURCE / "__init__.py"))
def test_imports_follow_the_flow(path):
    mine = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    allowed = set(FLOW[: FLOW.index(mine) + 1])
    assert packages_imported(path) <= allowed


def test_the_design_page_lists_what_there_is():
    packages = {p.parent.name for p in SOURCE.glob("*/__init__.py")}
    modules = {p.stem for p in SOURCE.glob("*.py")} - {"__init__"}
    assert set(FLOW) == packages | modules
    assert len(FLOW) == len(set(FLOW))


def test_graphs_need_no_torch_and_networks_no_scikit_learn():
    code = (
        "import sys, compsparse.graph, compsparse.progress, compsparse.files, compsparse.checks, compsparse.optional;"
        "import compsparse.certificate; assert 'torch' not in sys.modules;"
        "import compsparse.tasks, compsparse.training; assert 'sklearn' not in sys.modules;"
        "assert 'pandas' not in sys.modules and 'altair' not in sys.modules"
    )
    result = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def test_every_public_name_resolves():
    assert all(hasattr(compsparse, name) for name in compsparse.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        _ = compsparse.nonsense
    with pytest.raises(AttributeError, match="has no attribute 'memorize'; did you mean 'memorise'"):
        _ = compsparse.memorize

"""What the package says of itself: versions that agree, the lowest that are tested, no torch where none is needed."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import compsparse

ROOT = Path(__file__).parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def floors() -> dict[str, str]:
    """The lowest version of everything that the package and its tests ask for."""
    project = PYPROJECT["project"]
    lines = [*project["dependencies"], *PYPROJECT["dependency-groups"]["test"]]
    lines += [line for extra in project["optional-dependencies"].values() for line in extra]
    asked = [Requirement(line) for line in lines if not line.startswith("compsparse[")]
    return {canonicalize_name(r.name): str(r.specifier).removeprefix(">=") for r in asked}


def pins(name: str) -> dict[str, str]:
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    pairs = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(package): version for package, version in pairs}


def padded(version: str) -> list[int]:
    parts = [int(part) for part in re.findall(r"\d+", version)]
    return parts + [0] * (3 - len(parts))


def test_the_lowest_versions_that_are_tested_are_those_that_are_claimed():
    lowest = pins("constraints-min.txt")
    for name, floor in floors().items():
        if name != "torch":
            assert padded(lowest[name]) == padded(floor), name


def test_torch_is_the_same_in_both_sets_of_versions():
    assert pins("constraints-min.txt")["torch"] == pins("constraints.txt")["torch"]


def test_what_is_tested_is_pinned():
    tested = pins("constraints.txt")
    groups = PYPROJECT["dependency-groups"]
    asked = {canonicalize_name(Requirement(line).name) for name in ("test", "lint", "docs") for line in groups[name]}
    assert not sorted((set(floors()) | asked) - set(tested))


def test_the_citation_is_of_this_version():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version: {compsparse.__version__}\n" in citation
    assert f"license: {PYPROJECT['project']['license']}\n" in citation


def test_every_step_of_the_workflow_is_a_target_of_the_makefile():
    steps = re.findall(r"- run: (.*)", (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert steps
    assert {step.removeprefix("make ") for step in steps} <= set(targets)


WITHOUT_TORCH = {
    "import": "import compsparse",
    "graphs": "cs.compare_graphs('tanh(a*b) + c', lambda a, b, c: a * b + c)",
    "queries": "cs.discover(lambda a, b, c: a * b + c, bounds=(0, 1), random_state=0)",
    "truth tables": "cs.discover([0, 1, 1, 0])",
    "lasso": "cs.lasso([[1.0, 2.0]], [[1.0, 0.0], [0.0, 1.0]], lam=0.1)",
    "memorise": "cs.memorise([[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0], random_state=0)",
    "claims": "from compsparse.claims import all_claims; all_claims()",
}


@pytest.mark.parametrize("use", WITHOUT_TORCH.values(), ids=WITHOUT_TORCH)
def test_torch_is_not_loaded_where_none_is_needed(use):
    code = f"import sys; import compsparse as cs; {use}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_callable_is_searched_without_the_representations():
    code = f"import sys; import compsparse as cs; {WITHOUT_TORCH['queries']}; "
    code += "sys.exit(any(name.startswith('compsparse.representations') for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_lasso_loads_neither_memorisation_nor_training():
    code = f"import sys; import compsparse as cs; {WITHOUT_TORCH['lasso']}; "
    code += "sys.exit(any(part in name for name in sys.modules for part in ('memorisation', 'compsparse.training')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

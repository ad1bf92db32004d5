"""Compiled kernels are kept, found again by the next process, and say when they are not there yet."""

import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from types import SimpleNamespace

import pytest

_SOURCE = Path(__file__).parents[2] / "src"
_MODULE = """
    from compsparse.sparse.kernels import gram_kernel

    @gram_kernel
    def twice(x):
        return 2 * x
"""
_CALL = """
    import logging
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    from {package}.mine import twice
    assert twice(2.0) == 4.0
    print("hits", sum(twice.stats.cache_hits.values()))
"""


def _run(folder: Path, package: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(folder), str(_SOURCE)])
    home = {"HOME": str(folder / "home"), "XDG_CACHE_HOME": str(folder / "home" / "cache")}
    environment = {**os.environ, **home, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    call = [sys.executable, "-c", dedent(_CALL.format(package=package))]
    return subprocess.run(call, env=environment, capture_output=True, text=True, check=True, cwd=folder)


@pytest.mark.parametrize("writable", [True, False], ids=["writable", "read-only install"])
def test_kernels_are_kept_for_the_next_process(tmp_path, writable):
    package = tmp_path / "kept"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "mine.py").write_text(dedent(_MODULE))
    if not writable:  # where a folder should be is a file, which stops root too
        (package / "__pycache__").write_text("")
    assert "hits 0" in _run(tmp_path, "kept").stdout
    assert "hits 1" in _run(tmp_path, "kept").stdout
    assert any((package / "__pycache__").glob("*.nbi")) if writable else any(tmp_path.glob("home/**/*.nbi"))


def test_compiling_is_announced_once_and_loading_is_not(caplog):
    from compsparse import compilation
    from compsparse.sparse import kernels

    event, foreign = (
        SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=function)})
        for function in (kernels.solve.py_func, print)
    )
    notice = compilation._Notice()
    with caplog.at_level("INFO", logger="compsparse"):
        notice.on_start(foreign)
        assert not caplog.messages
        notice.on_start(event)
        notice.on_start(event)
    assert len(caplog.messages) == 1
    assert "compiling kernels" in caplog.messages[0]

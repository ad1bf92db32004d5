import pickle
import sys
from pathlib import Path

import pytest
from tests.sweeps.kinds.toy import Toy

from compsparse.errors import CompsparseError, ConfigError
from compsparse.sweeps import Sweep, all_kinds, get_kind, get_preset, presets

HEAD = "kind = 'toy'\n"
KINDS = Path(__file__).parent / "kinds"


def sweep_of(tmp_path, text):
    (tmp_path / "s.toml").write_text(text)
    return Sweep.from_toml(tmp_path / "s.toml", kinds=KINDS)


def test_a_grid_is_a_product_without_doubles(tmp_path):
    text = "[base]\nfolder = 'f'\n[grid]\nx = [1, 2, 1.0]\nseed = {from = 0, to = 2}\n[[runs]]\nn = 1\n[[runs]]\nn = 2"
    specs = sweep_of(tmp_path, HEAD + text).specs()
    assert [(s.n, s.x, s.seed) for s in specs] == [
        (n, x, seed) for n in (1, 2) for x in (1.0, 2.0) for seed in (0, 1, 2)
    ]
    ranges = (
        "[base]\nfolder = 'f'\n[grid]\nn = {from = 10, to = 1000, factor = 10}\nx = {from = 0.5, to = 1.5, step = 0.5}"
    )
    assert [(s.n, s.x) for s in sweep_of(tmp_path, HEAD + ranges).specs()][:4] == [
        (10, 0.5),
        (10, 1.0),
        (10, 1.5),
        (100, 0.5),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind = ", "s.toml is not TOML"),
        ("[base]\nx = 1", "needs its kind"),
        ("kind = 3", "kind must be a text"),
        ("kind = 'nonsense'", "no kind of run 'nonsense'"),
        ("kind = 'hierarchi'", "did you mean 'hierarchy'"),
        ("kind = 'this:x'", "no kind of run 'this:x'"),
        ("kind = 'tests.sweeps.kinds.toy:Toy'", "no kind of run"),
        (HEAD + "gird = 1", "did you mean 'grid'"),
        (HEAD + "base = 1", "base must be a table"),
        (HEAD + "[base]\nx = 1", "needs the field folder"),
        (HEAD + "[base]\nx = 1\nfolder = 'f'\nsede = 3", "no field 'sede'; did you mean 'seed'"),
        (HEAD + "[base]\nx = 'one'\nfolder = 'f'", "toy.x must be a number"),
        (HEAD + "[base]\nfolder = 'f'\n[grid]\nx = 3", "grid.x must be a list"),
        (HEAD + "[base]\nfolder = 'f'\n[grid]\nx = []", "grid.x must be a list"),
        (HEAD + "[base]\nfolder = 'f'\n[grid]\nx = 'abc'", "grid.x must be a list"),
        (HEAD + "[base]\nfolder = 'f'\n[grid]\nx = {from = 1}", "or a range such as"),
        (HEAD + "[base]\nfolder = 'f'\n[grid]\nx = {from = 5, to = 1}", "does not grow"),
        (HEAD + "[base]\nfolder = 'f'\n[grid]\nx = {from = 1, to = 5, factor = 1}", "does not grow"),
        (HEAD + "[base]\nfolder = 'f'\n[runs]\nx = 1", r"write \[\[runs\]\]"),
        (
            HEAD + "[base]\nfolder = 'f'\nx = 1\n[adaptive]\nover = 'n'",
            "'adaptive' needs the fields metric, threshold, start, most",
        ),
    ],
)
def test_bad_sweeps_are_refused_in_a_sentence(tmp_path, text, message):
    with pytest.raises(CompsparseError, match=message):
        sweep_of(tmp_path, text)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("over = 'm'", "adaptive.over names a field that 'toy' does not have: 'm'"),
        ("over = 'x'", "must not set it"),
        ("start = 2.5", "whole number"),
        ("start = 99999", "least <= start <= most"),
        ("start = []", "holds no value"),
        ("factor = 1", "must exceed 1"),
        ("resolution = 0.5", "must exceed 1"),
        ("side = 'beside'", "one of 'below', 'above'"),
        ("threshhold = 1", "did you mean 'threshold'"),
    ],
)
def test_bad_searches_are_refused(tmp_path, line, message):
    good = {"over": "'n'", "metric": "'error'", "threshold": "0.1", "start": "8", "most": "4096"}
    name, _, value = line.partition(" = ")
    table = "\n".join(f"{k} = {v}" for k, v in (good | {name: value}).items())
    with pytest.raises(ConfigError, match=message):
        sweep_of(tmp_path, HEAD + f"[base]\nfolder = 'f'\nx = 1\n[adaptive]\n{table}")


def test_files_that_cannot_be_read(tmp_path):
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe\x00")
    for path, message in (
        (tmp_path / "none.toml", "there is no file"),
        (tmp_path, "cannot read"),
        (tmp_path / "bytes.toml", "not a text"),
    ):
        with pytest.raises(CompsparseError, match=message):
            Sweep.from_toml(path)


def test_kinds_and_presets_by_name():
    assert get_kind("toy", KINDS)(1.0, "f").key == Toy(1.0, "f").key
    assert get_kind("hierarchy").kind == "hierarchy"
    assert "rhm-quick" in presets()
    assert all(sweep.specs() for sweep in presets().values())
    with pytest.raises(ConfigError, match="no preset 'nonsense'"):
        get_preset("nonsense")


# ---- kinds of a folder ---------------------------------------------------------------------------


def test_a_file_imports_nothing(tmp_path, monkeypatch, capsys):
    (tmp_path / "evil.py").write_text("print('imported')\nKINDS = []\n")
    (tmp_path / "s.toml").write_text("kind = 'evil:x'")
    monkeypatch.syspath_prepend(str(tmp_path))
    for kind in ("evil:x", "this:x", "evil", "os.path:join"):
        (tmp_path / "s.toml").write_text(f"kind = '{kind}'")
        with pytest.raises(ConfigError, match=r"no kind of run.*--kinds FOLDER"):
            Sweep.from_toml(tmp_path / "s.toml")
    assert capsys.readouterr().out == ""
    assert "evil" not in sys.modules
    assert "this" not in sys.modules


KIND = """
from __future__ import annotations
from dataclasses import dataclass
from compsparse.sweeps import Spec
from .{other} import NUMBER

@dataclass(frozen=True)
class Json(Spec):
    kind = "mine"
    x: float

KINDS = [Json]
"""


def folder_of(tmp_path, text):
    folder = tmp_path / "kinds"
    folder.mkdir(exist_ok=True)
    (folder / "json.py").write_text(text)
    return folder


def test_kinds_of_a_folder_are_a_package_of_their_own(tmp_path):
    folder = folder_of(tmp_path, KIND.format(other="_common"))
    (folder / "_common.py").write_text("NUMBER = 3\n")
    (folder / "not-a-module.py").write_text("raise ValueError")
    kind = get_kind("mine", folder)
    import json

    assert hasattr(json, "dumps")
    assert get_kind("mine", str(folder)) is kind
    spec = kind(2.0)
    again = pickle.loads(pickle.dumps(spec))
    assert (again, type(again)) == (spec, kind)
    assert set(all_kinds(folder)) == {"mine", *all_kinds()}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 / 0", "cannot import .*json.py: ZeroDivisionError"),
        ("def", "cannot import .*json.py: SyntaxError"),
        ("raise SystemExit", "cannot import"),
        ("KINDS = 3", "must be a list of kinds"),
        ("KINDS = [3]", "derives from compsparse.sweeps.Spec, got 3"),
        ("x = 3", "lists its kinds of run in KINDS"),
        (KIND.format(other="missing"), "cannot import"),
        (KIND.format(other="_common").replace("mine", "hierarchy"), "but so has compsparse"),
        (KIND.format(other="_common").replace("kind = ", "name = "), "with its name as kind"),
        (KIND.format(other="_common").replace("x: float", "x: Nothing"), "the fields of Json cannot be read"),
    ],
)
def test_folders_that_hold_no_kinds(tmp_path, text, message):
    (folder_of(tmp_path, text) / "_common.py").write_text("NUMBER = 3\n")
    with pytest.raises(ConfigError, match=message):
        get_kind("mine", tmp_path / "kinds")


def test_a_folder_of_kinds_that_is_not_there(tmp_path):
    for kinds in (tmp_path / "none", __file__, "", 3):
        with pytest.raises(ConfigError, match="folder of kinds"):
            get_kind("hierarchy", kinds)


# ---- sizes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "grid",
    [
        "x = {from = 0, to = 100000000}",
        "x = {from = 1, to = 1e300, factor = 1.0000001}",
        "x = {from = 0.0, to = 1e30, step = 1e-30}",
        "x = {from = 0, to = 9999}\nn = {from = 1, to = 9999}",
    ],
)
def test_runs_are_counted_before_they_are_made(tmp_path, grid):
    with pytest.raises(ConfigError, match="100,000"):
        sweep_of(tmp_path, HEAD + f"[base]\nfolder = 'f'\n[grid]\n{grid}")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ("{from = -3, to = -1}", [-3, -2, -1]),
        ("{from = 999999999998, to = 1000000000000}", [999999999998, 999999999999, 1000000000000]),
        ("{from = 0.1, to = 0.3, step = 0.1}", [0.1, 0.2, pytest.approx(0.3)]),
        ("{from = 9007199254740993, to = 9007199254740994}", [9007199254740993, 9007199254740994]),
        ("{from = 1e20, to = 1e20, step = 1.0}", [1e20]),
        ("{from = 1, to = 8, factor = 2}", [1, 2, 4, 8]),
    ],
)
def test_ranges_hold_their_ends(tmp_path, values, expected):
    field = "x" if "." in values or "e" in values else "n"
    rest = "n = [1]" if field == "x" else "x = [1]"
    sweep = sweep_of(tmp_path, HEAD + f"[base]\nfolder = 'f'\n[grid]\n{rest}\n{field} = {values}")
    assert [getattr(s, field) for s in sweep.specs()] == expected

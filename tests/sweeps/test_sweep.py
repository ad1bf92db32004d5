import pytest
from tests.sweeps.toy import Toy

from compsparse.errors import CompsparseError, ConfigError
from compsparse.sweeps import Sweep, get_kind, get_preset, presets

HEAD = "kind = 'tests.sweeps.toy:Toy'\n"


def sweep_of(tmp_path, text):
    (tmp_path / "s.toml").write_text(text)
    return Sweep.from_toml(tmp_path / "s.toml")


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
        ("kind = 'nowhere:Toy'", "cannot import the kind"),
        ("kind = 'tests.sweeps.toy:lines'", "must derive from"),
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
    assert get_kind("tests.sweeps.toy:Toy") is Toy
    assert get_kind("hierarchy").kind == "hierarchy"
    assert "rhm-quick" in presets()
    assert all(sweep.specs() for sweep in presets().values())
    with pytest.raises(ConfigError, match="no preset 'nonsense'"):
        get_preset("nonsense")

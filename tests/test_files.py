import contextlib
import os
import resource

import numpy as np
import pytest

from compsparse.construct import ExplicitReLU, SparseLayer, explicit_to_onnx, save_explicit
from compsparse.errors import ConfigError, DataError
from compsparse.files import check_outputs, check_place, check_writable, read_text, whole_file, write_text
from compsparse.progress import ProgressBar
from compsparse.text import printable


def test_control_characters_are_shown():
    assert printable("\x1b[2J\a\x7f\x9b[red]") == "\\x1b[2J\\x07\\x7f\\x9b[red]"
    assert printable("\u202eabc\u2066\udcff\u2028") == "\\u202eabc\\u2066\\udcff\\u2028"
    assert printable("a\n\tb\r") == "a\\n\\tb\\r"
    assert printable("a\n\tb\r", several_lines=True) == "a\n\tb\\r"
    assert printable("Größe [m/s] 日本 👩‍🔬") == "Größe [m/s] 日本 👩‍🔬"
    assert printable(3) == "3"


def test_a_bar_shows_its_title_as_it_is(capsys):
    with ProgressBar("[red]a[/red]\x1b[2J[/]") as bar:
        bar.update(1, 2, "[bold]\x1b[2J")
    assert "\x1b[2J" not in capsys.readouterr().err


def test_places_that_cannot_be_written(tmp_path, monkeypatch):
    (tmp_path / "kept.txt").write_text("kept")
    (tmp_path / "kept.txt").chmod(0o444)
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    monkeypatch.chdir(tmp_path)
    for path, message in (
        ("", "must have a name"),
        ("a\0b", "must have a name"),
        (None, "must be a path, got None"),
        (3, "must be a path, got 3"),
        (b"bytes", "must be a path"),
        (".", "it is a folder"),
        (tmp_path, "it is a folder"),
        ("no/a.html", "there is no folder no"),
        ("kept.txt/a.html", "there is no folder kept.txt"),
        ("n" * 300, "longer than 255 bytes"),
        ("é" * 200, "longer than 255 bytes"),
        ("a/" * 3000 + "b", "cannot write"),
        ("kept.txt", "protected against writing"),
        ("/dev/null", "it is no file, but a device"),
        ("/proc/a.html", "its folder takes no files"),
        ("\x1b[2J/a", r"there is no folder \\x1b\[2J"),
        ("loop/a.html", "cannot write"),
    ):
        with pytest.raises(ConfigError, match=message):
            check_writable(path)
    assert check_writable("new.html") == check_place("a", "new.html")
    assert (tmp_path / "kept.txt").read_text() == "kept"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["kept.txt", "loop"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_takes_no_files(tmp_path):
    tmp_path.chmod(0o555)
    with pytest.raises(ConfigError, match="takes no files"):
        check_writable(tmp_path / "a")


def test_what_is_read_is_not_written_to(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data, folder = tmp_path / "d.csv", tmp_path / "folder"
    data.write_text("a,b\n")
    folder.mkdir()
    (tmp_path / "link.csv").symlink_to(data)
    os.link(data, tmp_path / "hard.csv")
    for path in ("d.csv", data, "./d.csv", "folder/../d.csv", "link.csv", "hard.csv"):
        with pytest.raises(ConfigError, match="read by the same command"):
            check_outputs([path], [data])
    for pair in (("a", "a"), ("a", tmp_path / "a"), ("a", "folder/../a"), ("d.csv", "link.csv")):
        with pytest.raises(ConfigError, match="two outputs"):
            check_outputs(pair)
    assert [p.name for p in check_outputs(["a", None, "b"], [data, None, "none.csv"])] == ["a", "b"]


def test_a_link_is_written_through_and_long_names_work(tmp_path):
    (tmp_path / "a").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    write_text(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "a").read_text() == "new"
    write_text(tmp_path / ("n" * 255), "long")
    with pytest.raises(TypeError), whole_file(tmp_path / "a") as temporary:
        temporary.write_text(3)
    with pytest.raises(ConfigError, match="expected a text to write"):
        write_text(tmp_path / "a", 3)
    assert (tmp_path / "a").read_text() == "new"
    assert len(list(tmp_path.iterdir())) == 3


@contextlib.contextmanager
def room_for(n_bytes):
    """No file grows longer, as on a disk that is nearly full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("writes", ["text", "tensors", "ONNX"])
def test_a_full_disk_is_named_with_the_file(writes, tmp_path):
    path = tmp_path / "wanted"
    path.write_text("old")
    network = ExplicitReLU([SparseLayer.of(np.ones((40, 40)), np.zeros(40))])
    write = {
        "text": lambda: write_text(path, "x" * 4000),
        "tensors": lambda: save_explicit(network, path),
        "ONNX": lambda: explicit_to_onnx(network, path),
    }[writes]
    with pytest.raises(ConfigError, match=f"^cannot write {path}: .*(File too large|os error 27)"), room_for(2000):
        write()
    assert path.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1
    write()
    assert path.stat().st_size > 2000


def test_what_cannot_be_read(tmp_path):
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    for path, error, message in (
        (tmp_path / "none", DataError, "there is no file"),
        (tmp_path, DataError, "it is a folder"),
        (tmp_path / "bytes", DataError, "is not a text file"),
        (tmp_path / ("n" * 300), DataError, "too long"),
        ("", ConfigError, "must have a name"),
        (None, ConfigError, "must be a path"),
    ):
        with pytest.raises(error, match=message):
            read_text(path)

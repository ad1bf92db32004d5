import json

import pytest

from compsparse.cli.app import main, print_json


def test_errors_show_what_they_quote(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["compsparse", "graph", "no\x1b[2J[red]:smile:[/nothing].json"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert "there is no file no\\x1b[2J[red]:smile:[/nothing].json" in capsys.readouterr().err


def test_machines_read_no_nan(capsys):
    print_json({"a": [float("nan"), 1.5, {"b": float("inf")}], "c": (1,)})
    assert json.loads(capsys.readouterr().out, parse_constant=pytest.fail) == {"a": [None, 1.5, {"b": None}], "c": [1]}

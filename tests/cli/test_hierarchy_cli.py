import json

import numpy as np
import pytest
from typer.testing import CliRunner

from compsparse.cli import app
from compsparse.errors import ConfigError
from compsparse.tasks.hierarchy import SparseRandomHierarchy, parse


def test_the_command_line_draws(tmp_path):
    arguments = ["hierarchy", "sample", "--n-features", "4", "--n-levels", "3", "--n-empty", "1", "--placement", "B"]
    shown = CliRunner().invoke(app, [*arguments, "--n", "2", "--svg", str(tmp_path / "a.svg")])
    assert shown.exit_code == 0
    assert "64 slots, 8 of them full" in shown.output
    assert shown.output.count("label") == 2
    assert (tmp_path / "a.svg").read_text().startswith("<svg")
    data = json.loads(CliRunner().invoke(app, [*arguments, "--n", "2", "--json"]).output)
    model = SparseRandomHierarchy(n_features=4, n_levels=3, n_empty=1, placement="B")
    assert data["y"] == parse(model, np.array(data["X"])).y.tolist()
    assert data["rules"] == [level.tolist() for level in model.rules]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--placement", "C"], "placement must be one of 'A', 'B', got 'C'"),
        (["--random-state", "-1"], "random_state must be a whole number >= 0, got -1"),
        (["--n", "0"], "n must be a whole number >= 1, got 0"),
        (["--multiplicity", "9"], "at most 8"),
        (["--svg", "nowhere/a.svg"], "there is no folder nowhere"),
        (["--n", "1000000000"], "n must be at most 1,000,000"),
        (["--n", "1000000"], "too many to show: at most 1,000,000 slots"),
        (["--n-levels", "1000000000"], "make more than 1,000,000 slots"),
        (["--n-levels", "5", "--n-empty", "1000000000"], "make more than 1,000,000 slots"),
    ],
)
def test_the_command_line_refuses_in_one_sentence(arguments, message):
    error = CliRunner().invoke(app, ["hierarchy", "sample", *arguments]).exception
    assert isinstance(error, ConfigError)
    assert message in str(error)

"""``compsparse bounds``: the table in the terminal, as JSON and on a page."""

import json

import pytest
from tests.fitted import LABELS, TABLE, Y, classes_model, numbers_model
from typer.testing import CliRunner

from compsparse.bounds import compare
from compsparse.cli import app
from compsparse.errors import CompsparseError
from compsparse.models import FittedGraph

RUNNER = CliRunner()


def run(*arguments):
    result = RUNNER.invoke(app, list(arguments))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("bounds")
    numbers_model().save(place / "model.json")
    TABLE.assign(y=Y[:, 0], z=Y[:, 1]).to_csv(place / "data.csv", index=False)
    TABLE.to_csv(place / "bare.csv", index=False)
    return place


def test_bounds_of_a_saved_model_are_shown_and_kept_on_a_page(folder):
    model, data, page = (str(folder / name) for name in ("model.json", "data.csv", "page.html"))
    shown = run("bounds", model, data, "--report", page).output
    assert "block paths" in shown
    assert "heuristic" in shown  # the model has silu units
    assert "What each says and takes for granted" in (folder / "page.html").read_text()
    told = json.loads(run("bounds", model, data, "--target", "y", "--target", "z", "--json").output)
    assert told["training_loss"] == pytest.approx(compare(FittedGraph.load(model), TABLE, Y).training_loss)
    assert told["report"] is None
    assert "nothing is said of losses" in run("bounds", model, str(folder / "bare.csv")).output


def test_bounds_of_classes_are_shown(tmp_path):
    classes_model().save(tmp_path / "model.json")
    TABLE.assign(grade=LABELS).to_csv(tmp_path / "data.csv", index=False)
    told = json.loads(run("bounds", str(tmp_path / "model.json"), str(tmp_path / "data.csv"), "--json").output)
    assert 0 <= told["training_error"] <= 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--target", "q"], "no column 'q'"),
        (["--margin", "0"], "margin must be a finite number > 0"),
        (["--confidence", "1"], "confidence must be"),
        (["--report", "nowhere/page.html"], "no folder nowhere"),
    ],
)
def test_bounds_refuse_what_they_cannot_do(folder, arguments, message):
    with pytest.raises(CompsparseError, match=message):
        run("bounds", str(folder / "model.json"), str(folder / "bare.csv"), *arguments)

"""What must not matter does not: the units of columns and targets, copies of rows, the file that a model came from."""

import base64
import copy
import json

import numpy as np
import pandas
import pytest
from typer.testing import CliRunner

import compsparse as cs
from compsparse.cli import app
from compsparse.digest import sealed
from compsparse.errors import ConfigError, DataError
from compsparse.tables import coded_table, split_table
from compsparse.training import FitConfig, TrainingConfig

QUICK = {"effort": 0.15, "width": 6, "fit_config": FitConfig(n_restarts=2, training=TrainingConfig(n_steps=60))}
RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (160, 4))
Y = np.tanh(2 * X[:, 0] * X[:, 1]) + X[:, 2] + 0.01 * RNG.standard_normal(160)


@pytest.fixture(scope="module")
def plain() -> cs.Discovery:
    return cs.discover(X, Y, random_state=0, **QUICK)


# ---- units ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "target"),
    [
        ([1e-12, 1, 1, 1], 1.0),
        ([1, 1e-6, 1e6, 1], 1e9),
        ([1e-300, 1e300, 1e-100, 1e12], 1e-9),
        ([1, 1, 1, 1], 1e300),
    ],
)
def test_structure_and_predictions_do_not_depend_on_units(plain, columns, target):
    units = np.array(columns)
    other = cs.discover(X * units, Y * target, random_state=0, **QUICK)
    assert other.graph == plain.graph
    assert other.inert == plain.inert
    for one, two in zip(plain.evidence, other.evidence, strict=True):
        assert two.members == one.members
        assert two.value == pytest.approx(one.value, rel=1e-3, abs=1e-6, nan_ok=True)
    assert plain.model is not None
    assert other.model is not None
    # the model's own standard deviation is the measure: errors in other units have no size of their own
    spread = plain.model.predict(X).std()
    np.testing.assert_allclose(
        other.model.predict(X * units) / target / spread, plain.model.predict(X) / spread, atol=1e-4
    )


@pytest.mark.parametrize("unit", [1e-12, 1e12])
def test_a_known_graph_is_fitted_alike_in_any_unit(unit):
    quick = {"width": 6, "n_restarts": 2, "n_steps": 60, "random_state": 0}
    plain = cs.GraphRegressor([[0, 1], 2, 3], **quick).fit(X, Y).predict(X)
    other = cs.GraphRegressor([[0, 1], 2, 3], **quick).fit(X * unit, Y * unit).predict(X * unit)
    np.testing.assert_allclose(other / unit, plain, atol=1e-4)


# ---- copies of rows ------------------------------------------------------------------------------


def test_copies_of_rows_stay_on_one_side_of_the_split():
    noise = RNG.standard_normal((80, 4))
    table = pandas.DataFrame(np.tile(noise, (3, 1)), columns=list("abcd"))
    split = split_table(table[["a", "b", "c"]], table[["d"]], random_state=0)
    assert not set(split.X["a"]) & set(split.X_test["a"])
    assert len(split.X_test) == pytest.approx(80, abs=3)


def test_noise_with_every_row_three_times_is_not_predicted():
    noise = RNG.standard_normal((80, 3))
    tripled = np.tile(noise, (3, 1))
    found = cs.discover(tripled, np.tile(RNG.standard_normal(80), 3), random_state=0, **QUICK)
    assert not found.modules
    assert any("160 of 240 rows repeat another exactly" in caveat for caveat in found.caveats)


def test_a_table_with_copies_is_the_table_with_weights():
    once, weight = coded_table(X, Y), np.ones(160)
    weight[:40] = 3
    thrice = coded_table(np.concatenate([X, X[:40], X[:40]]), np.concatenate([Y, Y[:40], Y[:40]])).without_copies()
    assert thrice.n_copies == 80
    assert len(thrice.X) == len(once.X)
    np.testing.assert_array_equal(thrice.sample_weight, weight)
    weighted = coded_table(X, Y, sample_weight=weight)
    np.testing.assert_allclose(thrice.X, weighted.X, atol=1e-12)


def test_equal_answers_to_a_questionnaire_are_no_copies():
    answers = RNG.integers(0, 2, (400, 3)).astype(float)
    labels = np.where(RNG.uniform(size=400) < 0.2 + 0.5 * answers[:, 0], "yes", "no")
    assert coded_table(answers, labels).without_copies().n_copies == 0


# ---- labels --------------------------------------------------------------------------------------


@pytest.mark.parametrize("labels", [(2, 5), ("no", "yes")])
def test_labels_survive_the_record_and_its_file(labels):
    y = np.array(labels)[(X[:, 0] * X[:, 1] > 0).astype(int)]
    model = cs.CompositionalClassifier(effort=0.03, width=6, n_restarts=2, n_steps=60, random_state=0).fit(X, y)
    loaded = cs.Discovery.from_json(model.discovery_.to_json())
    assert set(model.predict(X)) <= set(labels)
    assert (loaded.model.predict(X) == model.predict(X)).all()
    assert loaded.model.predict(X).dtype == model.predict(X).dtype


# ---- files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options", [["--out", "d.csv"], ["--model", "d.csv"], ["--out", "./d.csv"], ["--out", "m", "--model", "m"]]
)
@pytest.mark.parametrize("command", [["discover"], ["fit", "--graph", "a + b"]])
def test_inputs_are_never_written_to(tmp_path, monkeypatch, command, options):
    monkeypatch.chdir(tmp_path)
    pandas.DataFrame(X[:, :3], columns=["a", "b", "y"]).to_csv("d.csv", index=False)
    before = (tmp_path / "d.csv").read_bytes()
    result = CliRunner().invoke(app, [command[0], "d.csv", "--target", "y", *command[1:], *options])
    assert isinstance(result.exception, ConfigError)
    assert (tmp_path / "d.csv").read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["d.csv"]


def _weights(record, value):
    entry = next(iter(record["weights"].values()))
    kind = "float32" if "float32" in entry else "float64"
    size = int(np.prod(entry["shape"]))
    entry[kind] = base64.b64encode(np.full(size, value, "<f4" if kind == "float32" else "<f8").tobytes()).decode()


DAMAGES = {
    "weights of NaN": lambda r: _weights(r, np.nan),
    "infinite weights": lambda r: _weights(r, np.inf),
    "no weights": lambda r: r["weights"].clear(),
    "a huge width": lambda r: r["shape"].update(width=20_000),
    "a huge depth": lambda r: r["shape"].update(depth=10**6),
    "many replicas": lambda r: r["shape"].update(n_replicas=10**7),
    "a scale of zero": lambda r: r.update(scale=[0.0]),
    "a negative scale": lambda r: r.update(scale=[-1.0]),
    "no scale": lambda r: r.pop("scale"),
    "a column's scale of zero": lambda r: r["inputs"][0].update(scale=0.0),
    "a column without a mean": lambda r: r["inputs"][0].pop("mean"),
    "a mean that is no number": lambda r: r["inputs"][0].update(mean="x"),
    "a shape that is a text": lambda r: r.update(shape="x"),
    "another graph": lambda r: r["graph"].update(nodes=[]),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_damaged_models_do_not_predict(plain, damage, tmp_path):
    record = copy.deepcopy(plain.to_dict())
    damage(record["model"])
    with pytest.raises(DataError, match="run 'compsparse accept'"):
        cs.Discovery.from_dict(json.loads(json.dumps(record)))
    record["model"] = sealed(record["model"])
    record = sealed(record)
    with pytest.raises(DataError) as caught:
        cs.Discovery.from_dict(json.loads(json.dumps(record)))
    assert "Error(" not in str(caught.value)
    path = tmp_path / "model.json"
    path.write_text(json.dumps(record["model"]))
    with pytest.raises(DataError, match="holds no model"):
        cs.models.FittedGraph.load(path)

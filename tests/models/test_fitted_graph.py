import json

import numpy as np
import onnxruntime
import pandas
import pytest
from tests.fitted import GRAPH, LABELS, TABLE, TINY, Y, classes_model, numbers_model

from compsparse.digest import sealed
from compsparse.errors import ConfigError, DataError
from compsparse.graph import FunctionGraph, Node, balanced_tree
from compsparse.models import FittedGraph, fit_model
from compsparse.models.matching import matched_graph
from compsparse.networks import check_onnx, count
from compsparse.tables import Table, coded_table
from compsparse.tasks import tanh_tree
from compsparse.training import TrainingStatus

SAMPLE = tanh_tree(4).sample(60, random_state=0)


def small(graph, X=SAMPLE.X, y=SAMPLE.y, **settings) -> FittedGraph:
    return fit_model(graph, X, y, width=4, config=TINY, random_state=0, **settings)


@pytest.mark.parametrize(
    "make",
    [
        numbers_model,
        classes_model,
        lambda: small(balanced_tree(4), channels=2, share="level", depth=1, activation="tanh"),
        lambda: small(balanced_tree(4), y=SAMPLE.y > 0),
        lambda: small(balanced_tree(4), y=np.stack([SAMPLE.y, SAMPLE.X[:, 0]], 1)),
        lambda: small(tanh_tree(4).graph, X=SAMPLE.X[:15], y=SAMPLE.y[:15]),
    ],
    ids=["numbers", "classes", "shared", "booleans", "several targets", "no validation rows"],
)
def test_a_file_holds_the_whole_model(make, tmp_path):
    model = make()
    table = TABLE if "metal" in model.code.names else SAMPLE.X
    model.save(tmp_path / "model.json")
    assert [p.name for p in tmp_path.iterdir()] == ["model.json"]
    loaded = FittedGraph.load(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.predict(table), model.predict(table))
    assert loaded.predict(table).dtype == model.predict(table).dtype
    assert loaded.to_dict() == model.to_dict()
    assert loaded.graph == model.graph
    assert (loaded.targets, loaded.classes, loaded.status) == (model.targets, model.classes, model.status)
    assert loaded.size == count(model.network)
    np.testing.assert_equal(loaded.validation_loss, model.validation_loss)


def test_predicting_needs_the_columns_that_the_graph_reads():
    model, expected = numbers_model(), numbers_model().predict(TABLE)
    assert model.graph.inert == ("idle",)
    used = TABLE.drop(columns="idle")
    for table in (used, used[used.columns[::-1]], used.assign(more="text"), TABLE.assign(idle=np.nan)):
        np.testing.assert_array_equal(model.predict(table), expected)
        assert model.code.new_levels(table, model.graph.inert) == {}
    with pytest.raises(DataError, match=r"no columns 'a', 'metal'; the columns are b, .* \(the model needs them\)"):
        model.predict(used.drop(columns=["a", "metal"]))
    with pytest.raises(DataError, match="has 4 columns, but the model was fitted on 5"):
        model.predict(used.to_numpy())
    assert model.code.surprises(used.assign(b=np.nan), model.graph.inert) == [
        f"column 'b' has {len(used)} missing cells, which take the mean"
    ]
    filled = model.predict(used.assign(b=used["b"].mean()))
    np.testing.assert_allclose(model.predict(used.assign(b=np.nan)), filled, rtol=1e-9)


def test_models_of_version_1_are_read():
    model = numbers_model()
    data = model.to_dict()
    old = [
        {"name": c["name"], "levels": c["levels"]}
        if c["kind"] == "levels"
        else {"name": c["name"], "mean": c["mean"], "scale": c["scale"]}
        for c in data["inputs"]
    ]
    data = {k: v for k, v in data.items() if k not in ("treatments", "na")} | {"version": 1, "inputs": old}
    loaded = FittedGraph.from_dict(sealed(data))
    np.testing.assert_array_equal(loaded.predict(TABLE), model.predict(TABLE))


def damaged(change):
    data = numbers_model().to_dict()
    change(data)
    return json.dumps(sealed(data))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hello", "holds no model that compsparse wrote: Expecting value"),
        ("[]", "expected a JSON object with format 'compsparse.model'"),
        (balanced_tree(4).to_json(), "expected a JSON object with format 'compsparse.model'"),
        ('{"format": "compsparse.discovery", "model": null}', "without a fitted model"),
        (damaged(lambda d: d.update(version=99)), "format version 99 is unknown"),
        (damaged(lambda d: d.pop("scale")), "there is no 'scale'"),
        (damaged(lambda d: d["weights"].popitem()), "damaged or incomplete"),
        (damaged(lambda d: next(iter(d["weights"].values())).update(float32="%%%")), "damaged or incomplete"),
        (damaged(lambda d: next(iter(d["weights"].values())).update(shape=[1, 2, 3])), "damaged or incomplete"),
        (damaged(lambda d: d.update(centre=[1.0])), "the network has 2 outputs"),
        (damaged(lambda d: d["shape"].update(width=0)), "damaged or incomplete"),
        (damaged(lambda d: d["inputs"].pop()), "damaged or incomplete"),
        (damaged(lambda d: d.update(status="SLEEPING")), "damaged or incomplete"),
    ],
)
def test_damaged_files_get_one_sentence(text, message, tmp_path):
    (tmp_path / "model.json").write_text(text)
    with pytest.raises(DataError, match=message) as caught:
        FittedGraph.load(tmp_path / "model.json")
    assert "model.json" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("y", [SAMPLE.y, np.stack([SAMPLE.y, 50 + SAMPLE.X[:, 0]], 1), SAMPLE.y > 0])
def test_onnx_holds_the_scaling_and_the_mean_over_networks(y, tmp_path):
    X = 1e5 + 20 * SAMPLE.X
    X[:20, 1] = np.nan
    model = small(balanced_tree(4), X=X, y=y, validation_fraction=0.0)
    assert [column.marks_missing for column in model.code.inputs] == [False, True, False, False]
    X[30, 2], X[31, 0] = np.inf, np.nan
    assert model.network.n_replicas > 1
    model.to_onnx(tmp_path / "model.onnx")
    assert check_onnx(tmp_path / "model.onnx") == {"format": "compsparse.onnx/1"}
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    for rows in (X, X[:1]):
        (answer,) = session.run(None, {"x": rows})
        expected = model.predict_proba(rows) if model.classes else model.predict(rows).reshape(len(rows), -1)
        np.testing.assert_allclose(answer, expected, rtol=1e-9, atol=1e-9)


def test_onnx_takes_no_categories(tmp_path):
    with pytest.raises(ConfigError, match="column 'metal' holds categories"):
        numbers_model().to_onnx(tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_a_coded_table_gives_the_same_model_as_the_table():
    table = coded_table(TABLE, Y, outputs=GRAPH.outputs)
    again = fit_model(GRAPH, table, config=TINY, width=4, random_state=0)
    np.testing.assert_array_equal(again.predict(TABLE), numbers_model().predict(TABLE))
    with pytest.raises(ConfigError, match="holds its target"):
        fit_model(GRAPH, table, Y)
    with pytest.raises(ConfigError, match="give a target y"):
        fit_model(GRAPH, TABLE)


def test_seeds_repeat_and_generators_are_drawn_from():
    one, other = (small(None, X=SAMPLE.X[:, :2]).predict(SAMPLE.X[:, :2]) for _ in range(2))
    np.testing.assert_array_equal(one, other)
    settings = {"config": TINY, "width": 4}
    drawn = [fit_model(None, SAMPLE.X, SAMPLE.y, random_state=np.random.default_rng(1), **settings) for _ in range(2)]
    np.testing.assert_array_equal(drawn[0].predict(SAMPLE.X), drawn[1].predict(SAMPLE.X))


def test_targets_are_named_by_their_own_names():
    assert small(balanced_tree(4), y=pandas.Series(SAMPLE.y, name="flow")).targets == ("flow",)
    assert small(balanced_tree(4), y=pandas.DataFrame({"u": SAMPLE.y, "v": SAMPLE.X[:, 0]})).targets == ("u", "v")
    assert small(balanced_tree(4)).targets == ("y",)
    assert fit_model("a*b", TABLE, LABELS, config=TINY, width=4, random_state=0).classes == ("high", "low", "mid")


def test_a_fit_out_of_time_says_so():
    model = fit_model(balanced_tree(4), SAMPLE.X, SAMPLE.y, time_limit=0.3, random_state=0)
    assert model.status is TrainingStatus.OUT_OF_TIME
    assert FittedGraph.from_dict(model.to_dict()).status is TrainingStatus.OUT_OF_TIME


def test_inputs_are_matched_by_name_or_by_position():
    named = Table.of(pandas.DataFrame({"b": [1.0], "a": [2.0], "u": [3.0]}))
    graph, columns = matched_graph("a - sin(b)", named)
    assert graph.inputs == columns.names == ("b", "a", "u")
    graph, columns = matched_graph(FunctionGraph.from_expression("a - sin(b)"), named)
    assert columns.names == graph.inputs == ("a", "b")
    assert [float(c[0]) for c in columns.columns] == [2.0, 1.0]
    by_place = FunctionGraph(["x0", "x1", "x2"], [Node("u", ("x0", "x1")), Node("y", ("u", "x2"))])
    graph, columns = matched_graph(by_place, named)
    assert graph.inputs == columns.names == named.names
    assert graph.nodes[0].parents == ("b", "a")
    assert graph.nodes[1].parents == ("u_", "u")
    graph, columns = matched_graph(by_place, Table.of(np.ones((1, 3))))
    assert columns.names == ("x0", "x1", "x2")
    for bad in ("a + q", FunctionGraph.from_expression("a + q")):
        with pytest.raises(DataError, match=r"no column 'q'; the columns are b, a, u \(the graph needs it\)"):
            matched_graph(bad, named)
    with pytest.raises(DataError, match="3 inputs, but X has 2 features"):
        matched_graph(by_place, Table.of(np.ones((1, 2))))

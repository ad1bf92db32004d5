"""Tables as people have them: from file to page to predictions without an edit, and every treatment told."""

import datetime
import gzip
import json
from html import escape

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from messy import TARGET, german, messy_frame, write_messy
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from typer.testing import CliRunner

import compsparse as cs
from compsparse.cli import app
from compsparse.errors import ConfigError, DataError
from compsparse.models import FittedGraph, fit_model, learned_nodes
from compsparse.models.blending import load_predictor
from compsparse.tables import coded_table, inputs_and_targets, read_table, split_table
from compsparse.tables.notation import Notation, notation_of
from compsparse.training import FitConfig, TrainingConfig

TINY = FitConfig(n_restarts=1, training=TrainingConfig(n_steps=20), refine_iterations=0)
RNG = np.random.default_rng(0)
LEFT_OUT = ("Lfd. Nr.", "Prüfling", "Kopie", "Version")


@pytest.fixture(scope="module")
def rig(tmp_path_factory):
    """The file, what was measured, and its split."""
    path = tmp_path_factory.mktemp("rig") / "rig.csv"
    frame = write_messy(path)
    return path, frame, split_table(*inputs_and_targets(read_table(path), [TARGET]), random_state=0)


@pytest.fixture(scope="module")
def fitted(rig):
    split = rig[2]
    return fit_model(None, split.X, split.y, config=TINY, width=4, random_state=0)


def shell(*arguments):
    result = CliRunner().invoke(app, list(map(str, arguments)))
    if result.exception is not None:
        raise result.exception
    return result.output


# ---- one file with everything ---------------------------------------------------------------------


def test_one_file_goes_from_file_to_page_to_predictions(rig, tmp_path, monkeypatch):
    path, frame, _ = rig
    monkeypatch.chdir(tmp_path)
    given = ("--target", TARGET, "--random-state", 0, "--time-limit", "3s", "--effort", 0.05)
    told = shell("discover", path, *given)
    model, page = FittedGraph.load("model.json"), (tmp_path / "report.html").read_text()
    treatments = model.code.treatments
    assert {t.column for t in treatments} == set(frame.columns)
    for treatment in treatments:
        assert escape(treatment.sentence) in page
        assert treatment.sentence == "the target" or str(treatment) in told
    assert "separated by semicolons, decimal commas, cp1252" in told
    assert "rows without a target were left out" in told
    assert f"{int(frame[TARGET].isna().sum())} rows without a target" in told
    assert set(model.code.left_out) == set(LEFT_OUT)
    # new rows need the columns that are used, may have gaps and new levels, and come in another form
    new = messy_frame(n=40, seed=5).drop(columns=[*LEFT_OUT, TARGET])
    new.loc[3, "Last"] = np.nan
    new.loc[4, "Werk"] = "Ulm"
    texts = german(new.assign(**{TARGET: 0.0, "Lfd. Nr.": 0, "Last": new["Last"].fillna(50)}))
    texts.to_csv("new.csv", sep=";", index=False)
    new.assign(läuft=texts["läuft"]).to_parquet("new.parquet")
    said = shell("predict", "model.json", "new.parquet", "--out", "one.csv")
    shell("predict", "model.json", "new.csv", "--out", "two.csv", "--encoding", "utf-8")
    one, two = (pandas.read_csv(f)[TARGET].to_numpy() for f in ("one.csv", "two.csv"))
    assert np.isfinite(one).all()
    same = np.arange(40) != 3
    np.testing.assert_allclose(one[same], two[same], atol=0.02)  # the texts have three digits
    predictor = load_predictor("model.json")
    np.testing.assert_allclose(one, predictor.predict(read_table("new.parquet")), rtol=1e-9)
    assert "Last" in said
    assert "Ulm" in said


def test_the_file_says_what_was_measured(rig):
    path, frame, _ = rig
    read = read_table(path)
    assert list(read.columns) == list(frame.columns)
    table = coded_table(*inputs_and_targets(read, [TARGET]))
    there = frame[TARGET].notna().to_numpy()
    np.testing.assert_allclose(table.target.values[:, 0], frame[TARGET][there], atol=6e-4)
    found = {column.column: column for column in table.code.inputs if column.column == column.name}
    cells = {name: read[name].to_numpy() for name in read}
    np.testing.assert_allclose(found["Preis"].numbers(cells["Preis"]), frame["Preis"], atol=6e-3)
    np.testing.assert_allclose(found["Last"].numbers(cells["Last"]), frame["Last"], atol=6e-4)
    np.testing.assert_allclose(found["Temperatur"].numbers(cells["Temperatur"]), frame["Temperatur"], atol=6e-4)
    when = frame["Zeit"] - frame["Zeit"].min().normalize()
    np.testing.assert_allclose(found["Zeit"].part_of(cells["Zeit"]), when / pandas.Timedelta(days=1), atol=1e-9)
    hour = next(column for column in table.code.inputs if column.name == "Zeit_hour")
    expected = frame["Zeit"].dt.hour + frame["Zeit"].dt.minute / 60
    np.testing.assert_allclose(hour.part_of(cells["Zeit"]), expected, atol=1e-6)
    assert set(found["Code"].levels) == {"01", "1", "007"}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le"])
@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
def test_every_encoding_and_packing_reads_alike(rig, encoding, name, tmp_path):
    write_messy(tmp_path / name, encoding)
    pandas.testing.assert_frame_equal(read_table(tmp_path / name), read_table(rig[0]))


def test_sheets_tabs_and_packed_files_read_alike(tmp_path):
    frame = pandas.DataFrame({"a": [1.5, 2.25], "b": ["x", "y, z"], "when": pandas.to_datetime(["2024-01-02"] * 2)})
    frame.to_excel(tmp_path / "t.xlsx", index=False)
    frame.to_csv(tmp_path / "t.tsv", index=False, sep="\t")
    (tmp_path / "u.txt").write_bytes(gzip.compress(frame.to_csv(index=False, sep="|").encode()))
    for name in ("t.xlsx", "t.tsv", "u.txt"):
        read = read_table(tmp_path / name)
        assert read[["a", "b"]].to_dict("list") == frame[["a", "b"]].to_dict("list")
        assert read["when"].astype("datetime64[s]").tolist() == frame["when"].tolist()


def test_what_is_found_out_can_be_overridden(tmp_path):
    (tmp_path / "t.csv").write_bytes("größe;b\n1,234;x\n5,678;y\n".encode("latin-1"))
    assert read_table(tmp_path / "t.csv")["größe"].tolist() == [1.234, 5.678]
    assert read_table(tmp_path / "t.csv", decimal=".")["größe"].tolist() == ["1,234", "5,678"]
    with pytest.raises(DataError, match="Length of header"):
        read_table(tmp_path / "t.csv", sep=",")
    assert list(read_table(tmp_path / "t.csv", encoding="cp1250").columns) == ["größe", "b"]
    with pytest.raises(DataError, match="not written in utf-8; name another"):
        read_table(tmp_path / "t.csv", encoding="utf-8")
    with pytest.raises(ConfigError, match="decimal"):
        read_table(tmp_path / "t.csv", decimal="x")


# ---- texts ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["1,234.50", "12"], [1234.5, 12]),
        (["1.234,50", "12,5"], [1234.5, 12.5]),
        (["12%", "7.5 %", "n/a"], [12, 7.5, np.nan]),
        (["$5", "-$1,200.25"], [5, -1200.25]),
        (["5 €", "1 200,75 €"], [5, 1200.75]),
        (["3 mm", "2.5e-3 mm", "-"], [3, 0.0025, np.nan]),
        (["08:30", "17:45:36"], [8.5, 17.76]),
        (["1'234", "−5"], [1234, -5]),
        (["3,5 m²", "4 m²"], [3.5, 4]),
        (["3 m2", "4.25 m2"], [3, 4.25]),
    ],
)
def test_numbers_as_people_write_them(cells, numbers):
    notation = notation_of(dict.fromkeys(cells, 1))
    np.testing.assert_allclose([notation.number(cell) for cell in cells], numbers)


@pytest.mark.parametrize("cells", [["01", "12"], ["A12", "A13"], ["12A", "13B"], ["1-2", "3-4"], ["x"], ["n/a"]])
def test_codes_are_no_numbers(cells):
    assert notation_of(dict.fromkeys(cells, 1)) is None
    with pytest.raises(ValueError, match="A12"):
        Notation().number("A12")


# ---- no row knows its own target ----------------------------------------------------------------------


def test_no_target_leaks_into_the_codes_of_levels():
    """With targets that are noise, codes that knew a row's own target would correlate with it: here by 0.6."""
    n, levels = 900, 300
    X = pandas.DataFrame({"site": [f"s{i % levels}" for i in range(n)], "x": RNG.normal(size=n)})
    y = RNG.normal(size=n)
    table = coded_table(X, y)
    leaky = table.code.encoded(X)[:, 0]
    assert np.corrcoef(leaky, y)[0, 1] > 0.4
    assert abs(np.corrcoef(table.X[:, 0], y)[0, 1]) < 0.12


def test_test_rows_do_not_enter_the_code(rig):
    split = rig[2]
    y, y_test = split.target.values[:, 0], split.target_test.values[:, 0]
    code = coded_table(split.X, y, leaves_out=True).code
    both = pandas.concat([split.X, split.X_test]), np.concatenate([y, 100 * y_test])
    with_test = coded_table(*both, leaves_out=True).code
    fitted = cs.GraphRegressor(None, n_restarts=1, n_steps=1, refine_iterations=0).fit(split.X, y).model_.code
    assert fitted == code
    assert next(c for c in with_test.inputs if c.name == "Standort") != next(
        c for c in code.inputs if c.name == "Standort"
    )


def test_levels_are_coded_by_what_the_target_does_there():
    effect = RNG.normal(size=60)
    site = RNG.integers(0, 60, 3000)
    X = pandas.DataFrame({"site": [f"s{i}" for i in site]})
    y = effect[site] + 0.5 * RNG.normal(size=3000)
    table = coded_table(X, y)
    assert np.corrcoef(table.X[:, 0], effect[site])[0, 1] > 0.97
    classes = coded_table(X, np.digitize(effect[site], [-0.5, 0.5]), classification=True)
    assert classes.X.shape == (3000, 3)
    rows = pandas.DataFrame({"site": ["never seen", None, "s1"]})
    assert np.isfinite(table.code.encoded(rows)).all()


def test_copies_keep_one_code():
    X = pandas.DataFrame({"site": [f"s{i % 100}" for i in range(600)], "x": RNG.normal(size=600)})
    y = RNG.normal(size=600)
    twice = coded_table(pandas.concat([X, X]), np.concatenate([y, y])).without_copies()
    assert (twice.n_copies, len(twice.X)) == (600, 600)


# ---- types ------------------------------------------------------------------------------------------


def typed_frames():
    n = 60
    x, flag = RNG.normal(size=n), RNG.random(n) < 0.5
    when = pandas.date_range("2024-01-01", periods=n, freq="37h")
    plain = pandas.DataFrame({"x": x, "n": np.arange(n) % 7, "flag": flag, "when": when, "level": ["a", "b", "c"] * 20})
    nullable = plain.assign(
        n=plain["n"].astype("Int64"), flag=plain["flag"].astype("boolean"), level=plain["level"].astype("category")
    )
    arrow = plain.convert_dtypes(dtype_backend="pyarrow").assign(
        when=plain["when"].astype(pandas.ArrowDtype(pyarrow.timestamp("us")))
    )
    objects = plain.astype(object).assign(when=[t.to_pydatetime() for t in when])
    zoned = plain.assign(when=plain["when"].dt.tz_localize("Europe/Berlin"))
    period = plain.assign(when=plain["when"].dt.to_period("h"))
    table = pyarrow.Table.from_pandas(plain)
    frames = {"plain": plain, "nullable": nullable, "pyarrow": arrow, "objects": objects, "zoned": zoned}
    frames |= {"period": period, "a table of pyarrow": table}
    columns = {name: plain[name].to_numpy() for name in plain}
    return frames | {
        "polars": polars.DataFrame(columns),
        "texts": plain.assign(when=when.strftime("%d/%m/%Y %H:%M:%S")),
    }


FRAMES = typed_frames()
Y = RNG.normal(size=60)


@pytest.mark.parametrize("kind", FRAMES)
def test_the_same_table_in_every_type_is_coded_alike(kind):
    expected, found = coded_table(FRAMES["plain"], Y), coded_table(FRAMES[kind], Y)
    assert found.code.names == ("x", "n", "flag", "when", "when_weekday", "when_hour", "level")
    np.testing.assert_allclose(found.X, expected.X, atol=1e-9)


def test_categories_are_what_their_type_says():
    numbers = pandas.Series([1, 2, 3] * 20)
    for column in (numbers.astype("category"), numbers.astype(str).astype("category")):
        (made,) = coded_table(pandas.DataFrame({"c": column}), Y).code.inputs
        assert made.levels == ("1", "2", "3")
    enum = polars.DataFrame({"c": polars.Series(["1", "2", "3"] * 20, dtype=polars.Categorical)})
    assert coded_table(enum, Y).code.inputs[0].levels == ("1", "2", "3")


def test_times_and_durations_are_numbers():
    frame = pandas.DataFrame(
        {
            "took": pandas.to_timedelta(np.arange(60), "min"),
            "at": [datetime.time(i % 24, 30) for i in range(60)],
        }
    )
    took, at = coded_table(frame, Y).code.inputs
    assert (took.low, took.high) == (0, 59 * 60)
    assert (at.low, at.high) == (0.5, 23.5)


def test_missing_and_infinite_cells_have_codes_of_their_own():
    x = RNG.normal(size=200)
    x[:20], x[20], x[21] = np.nan, np.inf, -np.inf
    few = RNG.normal(size=200)
    few[5] = np.nan
    X = pandas.DataFrame({"x": x, "few": few, "t": np.where(np.arange(200) < 30, None, "abc")})
    table = coded_table(X, RNG.normal(size=200))
    marks = table.X[:, 1]
    np.testing.assert_array_equal(marks, np.where(np.isnan(x), 1.0, -1.0))
    np.testing.assert_array_equal(table.X[:20, 0], np.zeros(20))
    there = np.isfinite(x)
    assert table.X[20, 0] == table.X[there, 0].max()
    assert table.X[21, 0] == table.X[there, 0].min()
    assert table.X[5, 2] == 0
    np.testing.assert_array_equal(table.X[:, 3], np.where(np.arange(200) < 30, 1.0, -1.0))
    told = {t.column: t.sentence for t in table.code.treatments}
    assert told["x"] == (
        "numbers; 20 missing cells take the mean, and a column marks them; "
        "2 cells infinite, moved to the ends of the others"
    )
    assert told["t"] == "1 level; 30 missing cells are a level"


def test_words_for_what_is_missing_can_be_given(tmp_path):
    X = pandas.DataFrame({"x": RNG.normal(size=60).round(3), "c": ["a", "b", "gone"] * 20})
    X.loc[::4, "x"] = -999
    model = fit_model(None, X, Y, config=TINY, width=2, na=["-999", "gone"], random_state=0)
    number, text = model.code.inputs
    assert number.marks_missing
    assert text.levels == ("a", "b")
    model.save(tmp_path / "m.json")
    loaded = FittedGraph.load(tmp_path / "m.json")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X.assign(x=X["x"].where(X["x"] != -999))))


# ---- models -----------------------------------------------------------------------------------------


def test_a_file_holds_every_way_to_read_a_column(fitted, rig, tmp_path):
    test = rig[2].X_test
    fitted.save(tmp_path / "m.json")
    loaded = FittedGraph.load(tmp_path / "m.json")
    assert loaded.code == fitted.code
    assert loaded.code.treatments == fitted.code.treatments
    np.testing.assert_array_equal(loaded.predict(test), fitted.predict(test))
    np.testing.assert_array_equal(loaded.predict(test.drop(columns=list(LEFT_OUT))), fitted.predict(test))
    assert json.loads((tmp_path / "m.json").read_text())["version"] == 3
    kinds = {type(column).__name__ for column in fitted.code.inputs}
    assert kinds == {"NumberColumn", "TextColumn", "MeanColumn", "DateColumn", "LeftOutColumn"}
    learned = learned_nodes(fitted, rig[2].X)
    assert learned.pictures
    assert set(learned.ranges) >= {"Zeit", "Zeit_hour", "Temperatur"}


def test_other_forms_of_a_model_refuse_by_name(fitted, tmp_path):
    with pytest.raises(ConfigError, match=r"column 'Zeit' holds dates, and an ONNX model takes numbers alone"):
        fitted.to_onnx(tmp_path / "m.onnx")
    with pytest.raises(ConfigError, match="column 'Zeit' holds categories or dates"):
        cs.compile(fitted, (-1, 1))


def test_a_graph_names_dates_and_columns_with_spaces(rig):
    split = rig[2]
    model = fit_model("sin(Zeit_hour) + `Last`*Temperatur", split.X, split.y, config=TINY, width=2, random_state=0)
    assert set(model.graph.inputs) - set(model.graph.inert) == {"Zeit_hour", "Last", "Temperatur"}
    used = split.X_test[["Zeit", "Last", "Temperatur"]]
    np.testing.assert_array_equal(model.predict(used), model.predict(split.X_test))
    with pytest.raises(DataError, match=r"the columns make no input 'Preis_hour'; the inputs are .*Zeit_hour"):
        fit_model("sin(Preis_hour)", split.X, split.y, config=TINY)
    X = pandas.DataFrame({"wing area": RNG.normal(size=60), "rho": RNG.normal(size=60)})
    assert fit_model("`wing area`*rho", X, Y, config=TINY, width=2).graph.inputs == ("wing area", "rho")


def test_the_same_in_a_pipeline_and_in_cross_validation(rig):
    split = rig[2]
    X, y = split.X, split.target.values[:, 0]
    model = cs.GraphRegressor(None, n_restarts=1, n_steps=20, width=4, random_state=0, refine_iterations=0)
    pipe = make_pipeline(FunctionTransformer(), model)
    scores = cross_val_score(pipe, X, y, cv=3, error_score="raise")
    assert np.isfinite(scores).all()
    pipe.fit(X, y)
    assert np.isfinite(pipe.predict(split.X_test)).all()


# ---- all problems at once -----------------------------------------------------------------------------


def test_all_problems_of_a_table_are_told_at_once():
    X = pandas.DataFrame(
        {
            "good": RNG.normal(size=60),
            "mixed": [*np.arange(59).astype(object), "much"],
            "lists": [[1]] * 60,
            "when": [*[f"2024-01-{1 + i % 30:02}" for i in range(58)], "soon", "2024-02-01"],
        }
    )
    y = np.where(np.arange(60) == 3, np.inf, Y)
    with pytest.raises(DataError) as caught:
        coded_table(X, y)
    lines = str(caught.value).splitlines()
    assert lines[0] == "the table has 4 problems:"
    for start, row in zip(
        ("target 'y' has an infinite", "column 'mixed' must hold numbers, got 'much'", "column 'lists' holds [1]",
         "column 'when' must hold dates, got 'soon'"), (4, 60, 1, 59), strict=True,
    ):  # fmt: skip
        (line,) = [line for line in lines if line.startswith(f"- {start}")]
        assert f"row {row} (counted from 1)" in line

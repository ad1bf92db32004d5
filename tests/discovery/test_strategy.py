"""The seam: options and their entries, the verb's choice, the registry, and a strategy of a few lines."""

import inspect
import subprocess
import sys
import time
from dataclasses import replace
from types import SimpleNamespace
from typing import TypedDict, is_typeddict

import numpy as np
import pandas
import pytest

import compsparse as cs
from compsparse.discovery import Cost, Discovery, DiscoveryStatus, Evidence, Findings, assembled, discover
from compsparse.discovery.boolean import TRUTH_TABLE, from_boolean_callable, from_truth_table
from compsparse.discovery.data import DATA, from_data
from compsparse.discovery.queries import QUERIES, from_queries
from compsparse.discovery.runs import RUNS, from_runs
from compsparse.discovery.strategy import register, strategies, unregister
from compsparse.errors import ConfigError, DataError
from compsparse.graph import FunctionGraph
from compsparse.graph.modules import ModuleTree
from compsparse.report.discovery_page import DiscoveryReport, discovery_page
from compsparse.training import TrainingStatus

X = np.random.default_rng(0).uniform(-1, 1, (60, 3))
Y = X[:, 0] * X[:, 1]
TABLE = [0, 0, 0, 1, 1, 1, 1, 0]


def product_and_sum(x):
    return x[:, 0] * x[:, 1] + x[:, 2]


# ---- options -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("strategy", "entries", "data"),
    [
        (DATA, [from_data], {"X", "y"}),
        (QUERIES, [from_queries], {"f"}),
        (RUNS, [from_runs], {"f"}),
        (TRUTH_TABLE, [from_truth_table, from_boolean_callable], {"table", "f"}),
    ],
    ids=lambda v: getattr(v, "name", None),
)
def test_options_are_those_of_the_entries(strategy, entries, data):
    def given(entry):
        parameters = inspect.signature(entry).parameters.values()
        (rest,) = (p.annotation for p in parameters if p.kind is p.VAR_KEYWORD)
        declared = vars(sys.modules[entry.__module__])[rest.removeprefix("Unpack[").removesuffix("]")]
        return {p.name for p in parameters if p.kind is not p.VAR_KEYWORD} | set(declared.__annotations__)

    assert set(strategy.options.__annotations__) == set().union(*map(given, entries)) - data


@pytest.mark.parametrize("strategy", [DATA, QUERIES, RUNS, TRUTH_TABLE], ids=lambda s: s.name)
def test_every_option_is_explained(strategy):
    declared = vars(sys.modules[strategy.options.__module__]).values()
    text = "".join(d.__doc__ for d in declared if is_typeddict(d))
    assert all(f"        {name}: " in text for name in strategy.options.__annotations__)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((X, Y), {"efort": 1}, "'data' has no option 'efort'; did you mean 'effort'?"),
        ((X, Y), {"bugdet": 3}, "'data' has no option 'bugdet'; known: names, outputs"),
        (
            (product_and_sum,),
            {"bounds": [(0, 1)] * 3, "bugdet": 9},
            "'queries' has no option 'bugdet'; .* 'budget'",
        ),
        ((TABLE,), {"time_limt": 9}, "'truth table' has no option 'time_limt'; did you mean 'time_limit'?"),
        ((X, Y), {"strategy": "queries", "fit": False}, "'queries' has no option 'fit'"),
        ((X, Y), {"strategy": "dta"}, "there is no strategy 'dta'; did you mean 'data'?"),
        ((X, Y), {"strategy": 3}, "there is no strategy 3"),
        ((product_and_sum, Y), {"bounds": [(0, 1)] * 3}, "a callable gives its own answers: y belongs to a table X"),
        ((product_and_sum, Y), {"n_inputs": 3}, "a callable gives its own answers: y belongs to a table X"),
        ((product_and_sum, Y), {"strategy": "queries", "bounds": [(0, 1)] * 3}, "a callable gives its own answers"),
        ((TABLE, TABLE), {"strategy": "truth table"}, "a truth table gives its own answers"),
        ((product_and_sum,), {}, r"a callable needs bounds=\[\(low, high\), …\], or n_inputs=… if it is Boolean"),
        ((product_and_sum,), {"strategy": "truth table"}, "a Boolean callable needs n_inputs"),
        ((X,), {"bounds": [(0, 1)] * 3}, "bounds belong to a callable; for data give X and y"),
        ((X, Y), {"bounds": [(0, 1)] * 3}, "bounds belong to a callable; for data give X and y"),
        ((X,), {}, "give a target y beside the table X, or a truth table of zeros and ones alone"),
        (([[1, 2], [3]],), {}, "give a target y beside the table X"),
        ((TABLE,), {"n_inputs": 3}, "n_inputs belongs to a callable"),
        ((X, Y), {"seed": 0}, "'data' has no option 'seed'; did you mean 'random_state'?"),
        ((product_and_sum,), {"domain": [(0, 1)] * 3}, "'queries' has no option 'domain'; did you mean 'bounds'?"),
        ((product_and_sum, [(0, 1)] * 3), {}, r"bounds are given by their name: discover\(f, bounds="),
        ((product_and_sum, (0, 1)), {}, r"bounds are given by their name: discover\(f, bounds="),
        ((product_and_sum, {"a": (0, 1)}), {}, r"bounds are given by their name: discover\(f, bounds="),
        ((cs.GraphRegressor(), [(0, 1)] * 3), {}, r"a fitted model is asked by its method: discover\(model.predict"),
        ((cs.GraphRegressor(),), {"bounds": (0, 1)}, r"a fitted model is asked by its method"),
    ],
)
def test_wrong_combinations_get_one_sentence(arguments, options, message):
    with pytest.raises(ConfigError, match=message):
        discover(*arguments, **options)


def test_a_function_of_several_numbers_names_its_inputs():
    by_rows = discover(product_and_sum, bounds=[(0, 1), (-1, 1), (0, 3)], names=list("abc"), random_state=0)
    for bounds in ([(0, 1), (-1, 1), (0, 3)], {"c": (0, 3), "a": (0, 1), "b": (-1, 1)}):
        found = discover(lambda a, b, c, scale=1.0: scale * a * b + c, bounds=bounds, random_state=0)
        assert (found.graph, found.cost.evaluations) == (by_rows.graph, by_rows.cost.evaluations)
    assert discover(lambda a, b: np.tanh(a * b), bounds=(-1, 1), names=["p", "q"]).graph.inputs == ("p", "q")
    assert discover(lambda a, b, c: a ^ (b & c), n_inputs=3).graph == discover(TABLE, names=list("abc")).graph


def test_a_column_of_a_frame_may_be_named_as_the_target():
    import polars

    columns = dict(zip("abc", X.T, strict=True)) | {"t": Y}
    quick = {"fit": False, "effort": 0.1, "random_state": 0}
    wanted = discover(pandas.DataFrame(X, columns=list("abc")), pandas.Series(Y, name="t"), **quick)
    for frame in (pandas.DataFrame(columns), polars.DataFrame(columns)):
        assert discover(frame, "t", **quick).graph == wanted.graph
    with pytest.raises(DataError, match="there is no column 's'; the columns are a, b, c, t"):
        discover(pandas.DataFrame(columns), "s")
    with pytest.raises(DataError, match="no column beside the target 't' to learn from"):
        discover(pandas.DataFrame({"t": Y}), "t")
    with pytest.raises(DataError, match=r"got 't': of a data frame give X.drop\(columns='t'\) and X\['t'\]"):
        cs.CompositionalRegressor().fit(pandas.DataFrame(columns), "t")
    with pytest.raises(DataError, match=r"got 'data.csv'; compsparse.tables.read_table reads a file"):
        discover("data.csv", "t")


def test_a_named_strategy_says_what_is_wrong_with_its_data():
    with pytest.raises(DataError, match="0 and 1 alone"):
        discover([0, 2], strategy="truth table")
    with pytest.raises(DataError, match="expected a callable, got ndarray"):
        discover(X, strategy="queries", bounds=[(0, 1)])


def test_options_that_are_none_say_nothing():
    assert discover(TABLE, bounds=None, names=["a", "b", "c"]).source == "truth table"
    assert discover(lambda x: x[:, 0] ^ x[:, 1], bounds=None, n_inputs=3, outputs=None).source == "truth table"
    assert discover(product_and_sum, bounds=[(0, 1)] * 3, n_inputs=None, random_state=0).source == "queries"


@pytest.mark.parametrize(
    ("arguments", "options", "entry", "account"),
    [
        ((X, Y), {"fit": False, "effort": 0.1, "random_state": 0}, from_data, "found in data"),
        (
            (product_and_sum,),
            {"bounds": [(0, 1)] * 3, "random_state": 0},
            from_queries,
            "found by asking the function",
        ),
        ((TABLE,), {"names": list("abc")}, from_truth_table, "read from a truth table"),
        ((lambda x: x[:, 0] ^ x[:, 1],), {"n_inputs": 3}, from_boolean_callable, "read from a truth table"),
    ],
)
def test_the_verb_finds_what_the_entry_finds(arguments, options, entry, account):
    direct = entry(*arguments, **options)
    for found in (discover(*arguments, **options), discover(*arguments, strategy=direct.source, **options)):
        assert (found.graph, found.path, found.caveats) == (direct.graph, direct.path, direct.caveats)
        assert [str(e) for e in found.evidence] == [str(e) for e in direct.evidence]
        assert found.account == account
        assert bool(found.advice) == (found.source in ("data", "queries"))


def test_a_search_in_a_truth_table_needs_no_torch():
    code = (
        "import sys; from compsparse.discovery import discover, strategies;"
        "discover([0, 1, 1, 0]); assert len(strategies()) == 4; assert 'torch' not in sys.modules"
    )
    result = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


# ---- a strategy of a few lines -------------------------------------------------------------------


class ToyOptions(TypedDict, total=False):
    output: str


class Toy:
    """Believes whoever lists the inputs in a text."""

    name = "toy"
    options = ToyOptions

    def takes(self, data, y, options):
        return isinstance(data, str)

    def search(self, data, y=None, output="y"):
        inputs = tuple(data.split())
        tree = ModuleTree(frozenset(inputs), "prime", tuple(ModuleTree(frozenset([name])) for name in inputs))
        evidence = Evidence(
            tree.members,
            "prime",
            (output,),
            "letters",
            len(data),
            recurrence=0.5,
            parts=2,
            statement=f"said in {len(data)} letters",
        )
        return Findings(
            source=self.name,
            account="taken at its word",
            inputs=inputs,
            trees={output: tree},
            evidence=(evidence,),
            status=DiscoveryStatus.FINISHED,
            cost=Cost(0.0),
            advice=("Words are no evidence.",),
        )


@pytest.fixture
def toy():
    register(Toy())
    yield
    unregister("toy")


def test_a_new_strategy_is_one_class_and_one_registration(toy, tmp_path):
    found = discover("a b c", strategy="toy", output="z")
    assert (found.source, found.account) == ("toy", "taken at its word")
    assert found.graph["z"].parents == ("a", "b", "c")
    assert found.evidence[0].sentence == "said in 5 letters; found again in 50% of the resamples"
    assert "{a, b, c} said in 5 letters" in str(found)
    assert replace(discover("a b c", output="z"), cost=found.cost) == found
    assert Discovery.from_json(found.to_json()) == found
    page = discovery_page(tmp_path / "page.html", DiscoveryReport("T", found)).read_text(encoding="utf-8")
    assert "The function graph of z, taken at its word." in page
    assert "said in 5 letters" in page
    assert "<li>Words are no evidence.</li>" in page


def test_options_of_a_new_strategy_are_checked_too(toy):
    with pytest.raises(ConfigError, match="'toy' has no option 'outptu'; did you mean 'output'"):
        cs.discover("a b c", outptu="z")


def test_built_in_strategies_are_asked_first(toy):
    assert list(strategies()) == ["runs", "queries", "truth table", "data", "toy"]


def test_the_registry_holds_each_name_once_and_forgets(toy):
    with pytest.raises(ConfigError, match="there is a strategy 'toy' already"):
        register(Toy())
    with pytest.raises(ConfigError, match="non-empty text, got ''"):
        register(SimpleNamespace(name="", options=ToyOptions))
    unregister("toy")
    try:
        with pytest.raises(ConfigError, match="there is no strategy 'toy'"):
            discover("a b c", strategy="toy")
        with pytest.raises(ConfigError, match="give a target y"):
            discover("a b c")
        with pytest.raises(ConfigError, match="there is no strategy 'toy'"):
            unregister("toy")
    finally:
        register(Toy())


# ---- from findings to the record -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("of_search", "of_fit", "expected"),
    [
        ("FINISHED", "FINISHED", "FINISHED"),
        ("FINISHED", "OUT_OF_TIME", "FIT_CUT_SHORT"),
        ("FINISHED", "INTERRUPTED", "FIT_CUT_SHORT"),
        ("OUT_OF_TIME", "OUT_OF_TIME", "OUT_OF_TIME"),
        ("INTERRUPTED", "FINISHED", "INTERRUPTED"),
    ],
)
def test_a_fit_that_was_cut_short_is_said_and_its_time_counted(of_search, of_fit, expected):
    def fit(graph):
        time.sleep(0.01)
        return SimpleNamespace(graph=graph, status=TrainingStatus[of_fit])

    findings = replace(Toy().search("a b"), status=DiscoveryStatus[of_search], cost=Cost(7.0, networks=3), fit=fit)
    found = assembled(findings)
    assert found.status is DiscoveryStatus[expected]
    assert found.model.graph == found.graph
    assert found.cost.networks == 3
    assert found.cost.seconds >= 7.01


def test_completion_changes_the_graph_and_adds_what_is_to_be_known_of_it():
    def complete(graph):
        return FunctionGraph.from_expression("a*b"), (f"parents {graph['y'].parents}",)

    found = assembled(replace(Toy().search("a b"), caveats=("first",), complete=complete))
    assert found.graph == FunctionGraph.from_expression("a*b")
    assert found.caveats == ("first", "parents ('a', 'b')")

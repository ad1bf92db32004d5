"""What benchmarks/formulas.py counts and keeps; nothing is trained here."""

import argparse
import importlib.util
import json
import sys
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from compsparse.graph import FunctionGraph, complete
from compsparse.sweeps import Row, all_kinds, open_store
from compsparse.tasks import formulas

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    spec = importlib.util.spec_from_file_location("formula_benchmark", BENCHMARKS / "formulas.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    yield module
    for name in ("_report", "_runs", "kinds._distortions", "kinds.formulas", "kinds"):
        sys.modules.pop(name, None)


@pytest.fixture
def searches(bench):
    """The kind of run, with what it measures."""
    return sys.modules[bench.Job.__module__]


def asked(**given):
    usual = {"family": ["formulas"], "half": "both", "n_rows": None, "noise": [0.0], "n_seeds": None, "first_seed": 0}
    return argparse.Namespace(**(usual | {"names": None, "quick": False, "distortion": ["none"]} | given))


def set_of(*names):
    return frozenset(names)


def test_every_target_of_what_was_asked_runs_once(bench):
    whole = bench.jobs(asked(family=list(bench.SEEDS), n_rows=[1000, 4000], noise=[0.0, 0.05]))
    assert len({job.key for job in whole}) == len(whole) == 4 * (len(formulas()) + 2 * (3 * 10 + 20 + 5 * 10 + 30))
    unseen = bench.jobs(asked(half="unseen"))
    assert {job.name for job in unseen} == {law.name for law in formulas(half="unseen")}
    assert len(bench.jobs(asked(quick=True))) == 2 * bench.QUICK_FORMULAS
    with pytest.raises(SystemExit, match="no target of --family and --half is called 'philosophers-stone'"):
        bench.jobs(asked(names=["philosophers-stone"]))


def test_the_halves_of_random_targets_do_not_meet(bench):
    for family, name in (("trees", "tree 8"), ("dags", "dag"), ("dense", "cycle")):
        tuned, unseen = (bench.Job(family, name, 100, 0.0, 0, half).task() for half in ("tuned", "unseen"))
        assert tuned.graph != unseen.graph


def test_false_modules_are_told_from_regroupings_and_from_marked_ones(searches):
    true = FunctionGraph.from_groups(complete("a", "b", ["c", "d"]))
    assert searches.is_regrouping(set_of("a", "c", "d"), true.module_tree)
    assert not searches.is_regrouping(set_of("a", "c"), true.module_tree)
    found = FunctionGraph.from_groups([["a", "c"], ["b", "d"]])
    evidence = tuple(
        SimpleNamespace(members=members, approximate=members == set_of("a", "c"), channels=1 + ("b" in members))
        for members in found.modules
    )
    record = SimpleNamespace(graph=found, evidence=evidence, modules=found.modules)
    figures = searches.structure(record, true)
    assert figures["false"] == [["a", "c"], ["b", "d"]]
    assert figures["marked"] == [["a", "c"]]
    assert figures["several_channels"] == [["b", "d"]]
    assert (figures["n_false_unmarked"], figures["n_regrouped"], figures["exact"]) == (1, 0, False)


@pytest.mark.parametrize(
    ("approximate", "marked"),
    [
        (False, set()),
        (True, {set_of("a", "b"), set_of("c", "d")}),
        ([set_of("c", "d")], {set_of("c", "d")}),
        ((SimpleNamespace(members=set_of("a", "b")),), {set_of("a", "b")}),
    ],
)
def test_a_record_may_mark_its_modules_as_a_whole(searches, approximate, marked):
    graph = FunctionGraph.from_groups([["a", "b"], ["c", "d"]])
    record = SimpleNamespace(evidence=(), modules=graph.modules, approximate=approximate)
    assert searches.marked_approximate(record) == marked


def run(bench, name, seed=0, half="tuned", fit=True, **figures):
    usual = {"exact": True, "n_found": 2, "n_true": 2, "n_common": 2, "n_false_unmarked": 0, "n_kinds": 1}
    usual |= {"n_kinds_right": 1, "r2": 0.99, "r2_free": 0.99, "seconds": 1.0, "missing": [], "false": []}
    job = bench.Job("formulas", name, 1000, 0.0, seed, half, fit=fit, free=fit)
    return {"key": job.key, **asdict(job), **usual, "wrongly_inert": [], **figures}


def keep(bench, store, record):
    fields = {name: record[name] for name in bench.Job.field_names()}
    result = {name: value for name, value in record.items() if name not in fields and name != "key"}
    store.results.put(Row.of(bench.Job(**fields), result if "error" not in record else None, seconds=1.0))


def test_runs_are_kept_and_counted(bench, tmp_path, capsys):
    place = str(tmp_path / "runs.sqlite")
    good = run(bench, "refraction")
    poor = run(bench, "refraction", 1, exact=False, n_found=3, n_common=1, n_false_unmarked=2, r2=0.98)
    with open_store(place) as store:
        searched = run(bench, "refraction", fit=False)
        for record in (run(bench, "refraction", 2, error="it failed"), good, poor, searched):
            keep(bench, store, record)
    assert bench.read([place]) == [good, poor]  # that with a model stands for the search alone
    figures = bench.summarised([good, poor])
    assert figures["exact"] == 0.5
    assert figures["precision"] == 3 / 5
    assert figures["recall"] == 3 / 4
    assert figures["runs with a false module"] == 0.5
    assert figures["regret"] == 0.5
    with pytest.raises(SystemExit) as ended:
        bench.summary([good, poor])
    assert ended.value.code == 1  # half of the runs stay below the free fit
    last = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert last["falls_short"] == ["all runs: share with regret"]


def test_what_a_store_has_is_not_run_again(bench, tmp_path, capsys):
    place = str(tmp_path / "runs.sqlite")
    asked_for = asked(half="tuned", names=["refraction"], structure=True, no_free=False, time_limit=None, device=None)
    asked_for = argparse.Namespace(**vars(asked_for), fit_device=None, store=place, processes=1)
    record = run(bench, "refraction", fit=False)
    with open_store(place) as store:
        keep(bench, store, record)
    assert bench.run_all(asked_for) == [record]
    assert "1 runs, 1 of them kept from before" in capsys.readouterr().err


def test_benchmarks_have_a_folder_of_kinds():
    own = set(all_kinds(BENCHMARKS / "kinds")) - set(all_kinds())
    assert own == {"claims", "formulas", "p-star", "passes"}


def test_single_results_of_the_unseen_half_are_not_shown(bench, capsys):
    law = formulas(half="unseen")[0].name
    missed = run(bench, law, exact=False, half="unseen", false=[["a", "b"]], n_false_unmarked=1)
    with pytest.raises(SystemExit):
        bench.summary([missed])
    assert law not in capsys.readouterr().out


def test_distortions_draw_what_they_say_and_keep_the_function(bench):
    kinds = sys.modules["kinds._distortions"]
    task = next(law for law in formulas(half="tuned") if law.graph.n_inputs == 4).task()
    for name, draw in kinds.DISTORTIONS.items():
        sample, graph = draw(task, 500, np.random.default_rng(0)), kinds.graph_of(task, name)
        assert sample.X.shape == (500, graph.n_inputs), name
        np.testing.assert_allclose(graph(sample.X), sample.clean)
        assert graph.modules == task.graph.modules
    levels = kinds.DISTORTIONS["levels"](task, 500, np.random.default_rng(0)).X
    assert [len(np.unique(column)) for column in levels.T] == [8, 500, 8, 500]
    growing = kinds.DISTORTIONS["growing"](task, 20_000, np.random.default_rng(0))
    assert (growing.y / growing.clean - 1).std() == pytest.approx(0.1, rel=0.03)

"""Runs on hierarchies: packs, protocols, thresholds, curves and the rules of the claims."""

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from compsparse.claims import all_claims
from compsparse.claims.claim import Outcome
from compsparse.claims.sample_sizes import measure_p_star
from compsparse.claims.subjects import hierarchy_laws, hierarchy_transfer
from compsparse.errors import ConfigError, DataError
from compsparse.measures import Threshold, fit_law
from compsparse.networks.symbols import HierarchicalLCN
from compsparse.progress import Silent
from compsparse.sweeps import presets
from compsparse.sweeps.curves import curve_figure, curves, layer_figures, summary_table, sweep_page
from compsparse.sweeps.kinds.hierarchy import HierarchyRun, misclassified
from compsparse.sweeps.kinds.paper import srhm_protocol
from compsparse.sweeps.rows import Row

SMALL = HierarchyRun(n_train=150, n_features=4, n_empty=1, width=16, n_epochs=40, batch_size=32, n_test=500)
NETWORKS = ("cnn", "lcn", "fcn", "plain-cnn", "residual-cnn", "transformer")


def run(specs: list[HierarchyRun]) -> list[dict]:
    return HierarchyRun.run(specs, device="cpu", progress=Silent())


def test_a_run_is_the_same_alone_and_in_a_pack():
    specs = [replace(SMALL, n_train=n, seed=seed, sensitivities=True) for n in (100, 230) for seed in (0, 1)]
    assert len({s.pack_key() for s in specs}) == 1
    together = run(specs)
    for spec, result in zip(specs, together, strict=True):
        alone = run([spec])[0]
        assert alone["n_steps"] == result["n_steps"]
        assert alone["test_error"] == pytest.approx(result["test_error"], abs=0.01)
        assert alone["synonym"] == pytest.approx(result["synonym"], rel=1e-3)


def test_what_changes_the_program_splits_packs():
    key = SMALL.pack_key()
    assert replace(SMALL, multiplicity=2).pack_key() == key
    assert replace(SMALL, n_classes=4).pack_key() == key
    for other in ({"width": 8}, {"learning_rate": 0.2}, {"n_empty": 2}, {"n_classes": 3}, {"learner": "lcn"}):
        assert replace(SMALL, **other).pack_key() != key
    by_adam = replace(SMALL, optimizer="adamw")
    assert by_adam.pack_key() != replace(by_adam, n_train=151).pack_key()


@pytest.mark.parametrize("learner", NETWORKS)
def test_every_network_runs(learner):
    by_adam = {"optimizer": "adamw", "learning_rate": 0.003} if learner not in ("cnn", "lcn", "fcn") else {}
    result = run([replace(SMALL, learner=learner, n_epochs=3, sensitivities=True, **by_adam)])[0]
    assert 0 <= result["test_error"] <= 1
    assert len(result["synonym"]) == len(result["diffeomorphism"])
    json.dumps(result)


def test_clustering_learns_without_a_network():
    spec = HierarchyRun(n_train=400, n_features=6, learner="clustering")
    assert run([spec])[0]["test_error"] < 0.1
    assert run([replace(spec, n_train=20)])[0]["test_error"] > 0.3


def test_test_data_are_never_training_data():
    train, test = replace(SMALL, n_train=1000).split()
    rows = {row.tobytes() for row in train.X}
    assert not any(row.tobytes() in rows for row in test.X)


def test_errors_are_counted_per_replica():
    model = SMALL.model
    tests = [model.sample(n, random_state=n) for n in (70, 300)]
    network = HierarchicalLCN(model.n_inputs, 4, 4, model.patch, width=8, n_replicas=2, random_state=0)
    import torch

    for r, (error, sample) in enumerate(zip(misclassified(network, tests), tests, strict=True)):
        guess = network(torch.as_tensor(sample.X))[r].argmax(-1).numpy()
        assert error == pytest.approx(np.mean(guess != sample.y))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"n_train": 0}, "must be positive"),
        ({"n_train": 10**7}, "leave none to test on: the model has"),
        ({"n_train": 10, "multiplicity": 9}, "at most 8 of its own"),
        ({"n_train": 10, "learner": "clustering", "sensitivities": True}, "does not have"),
    ],
)
def test_impossible_runs_are_refused(fields, words):
    with pytest.raises(ConfigError, match=words):
        HierarchyRun(**fields)


def test_rates_of_the_paper():
    rates = {
        ("cnn", 2, 1): 0.1, ("cnn", 2, 4): 0.03, ("cnn", 2, 6): 0.01, ("cnn", 3, 2): 0.01, ("cnn", 3, 4): 0.003,
        ("cnn", 2, 0): 0.01, ("lcn", 2, 2): 0.01, ("lcn", 3, 4): 0.003, ("fcn", 2, 1): 0.01, ("fcn", 3, 2): 0.001,
    }  # fmt: skip
    for (learner, depth, s0), rate in rates.items():
        assert srhm_protocol(learner, depth, s0)["learning_rate"] == rate
    assert srhm_protocol("cnn", 2, 1, tuple_size=3)["learning_rate"] == 0.01
    assert {"rhm-quick", "srhm-figure-4b", "srhm-figure-4c", "srhm-figure-6"} <= set(presets())


# ---- thresholds ----------------------------------------------------------------------------------


def test_a_threshold_is_found_from_a_poor_guess(monkeypatch):
    asked = []

    def fake(specs, *, device, progress):
        asked.append({s.n_train for s in specs})
        return [{"test_error": min(0.9, 50 / s.n_train)} for s in specs]

    monkeypatch.setattr(HierarchyRun, "run", staticmethod(fake))
    for guess in (60, 500, 4000):
        found = measure_p_star(SMALL, guess, seeds=2)
        assert found.p_star.bracketed
        assert found.p_star.value == pytest.approx(500, rel=0.1)
    assert not set.intersection(*asked[:2]) or asked[0] != asked[1]
    assert found.curve()[max(found.curve())] == [50 / max(found.curve())] * 2


def test_a_threshold_beyond_the_model_is_said_to_be(monkeypatch):
    monkeypatch.setattr(HierarchyRun, "run", staticmethod(lambda specs, **_: [{"test_error": 0.9} for _ in specs]))
    found = measure_p_star(replace(SMALL, n_empty=0), 100)
    assert found.p_star.value == np.inf
    assert max(found.curve()) == SMALL.model.n_features**4 - 1


# ---- curves --------------------------------------------------------------------------------------


def rows() -> list[Row]:
    specs = [replace(SMALL, n_train=n, seed=s, width=w) for w in (8, 16) for n in (100, 200, 400) for s in (0, 1)]
    return [Row.of(s, {"test_error": 20 / s.n_train, "synonym": [0.5, 0.1 * s.seed]}, None, 1.0) for s in specs] + [
        Row.of(replace(SMALL, seed=9), None, "it failed", 1.0)
    ]


def test_curves_are_by_setting_with_seeds_as_spread(tmp_path):
    found = curves(rows(), HierarchyRun)
    assert [c.name for c in found] == ["width=8", "width=16"]
    assert found[0].values == {100: [0.2, 0.2], 200: [0.1, 0.1], 400: [0.05, 0.05]}
    assert found[0].reaches.value == pytest.approx(200)
    assert found[0].layers["synonym"][100] == [[0.5, 0.0], [0.5, 0.1]]
    assert len(curve_figure(found, HierarchyRun).rows) == 6
    assert [f.title for f in layer_figures(found, HierarchyRun)] == ["synonym: width=8", "synonym: width=16"]
    columns, lines = summary_table(found, HierarchyRun)
    assert lines[0][columns.index("test_error 0.1 at")] == "200"
    page = sweep_page(tmp_path / "page.html", "mine", rows(), HierarchyRun).read_text()
    assert "width" in page
    assert "200" in page


def test_a_sweep_without_results_has_no_page(tmp_path):
    with pytest.raises(DataError, match="no finished runs"):
        sweep_page(tmp_path / "page.html", "mine", [], HierarchyRun)


def test_a_script_needs_no_guard(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "from compsparse.sweeps import Sweep, run_sweep\n"
        "from compsparse.sweeps.kinds.hierarchy import HierarchyRun\n"
        "base = {'n_features': 4, 'n_epochs': 2, 'width': 4}\n"
        "sweep = Sweep('s', HierarchyRun, base, {'n_train': (20, 40)})\n"
        "print(run_sweep(sweep, 's.sqlite', workers=1).done)\n"
    )
    done = subprocess.run(
        [sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.stdout == "2\n", done.stderr


# ---- claims --------------------------------------------------------------------------------------


def measured(value: float, natural: int = 64) -> object:
    class Point:
        p_star = Threshold(value, value, value, 0.9, True)

    Point.natural = natural
    return Point()


@pytest.mark.parametrize(
    ("exponent", "noise", "outcome"),
    [(2.0, 0.01, Outcome.SUPPORTED), (3.0, 0.01, Outcome.REFUTED), (2.0, 1.5, Outcome.INCONCLUSIVE)],
)
def test_laws_are_judged_by_exponent_and_interval(exponent, noise, outcome):
    rng = np.random.default_rng(0)
    x = np.array([1.0, 2.0, 3.0, 4.0])
    y = 5 * x**exponent * np.exp(noise * rng.standard_normal(4))
    law = fit_law({"x": x}, y)
    finding = hierarchy_laws._finding(law, {"x": (2.0, 0.3)}, [measured(v) for v in y], figure=None)
    assert finding.outcome is outcome


def test_what_was_not_bracketed_supports_nothing():
    law = fit_law({"x": [1.0, 2.0, 4.0]}, [1.0, 4.0, 16.1])
    point = measured(4.0)
    point.p_star = replace(point.p_star, bracketed=False)
    finding = hierarchy_laws._finding(law, {"x": (2.0, 0.3)}, [point], figure=None)
    assert finding.outcome is Outcome.INCONCLUSIVE


def test_spread_data_keep_to_the_first_slots_and_to_the_rules():
    spec = replace(SMALL, n_empty=2)
    train, test = hierarchy_transfer._spread(spec, narrow=1, n_train=200)
    assert all(set((level % 3).ravel()) == {0, 1} for level in train.slots)
    np.testing.assert_array_equal(spec.model.read(train.X).y, train.y)
    assert not {row.tobytes() for row in train.X} & {row.tobytes() for row in test.X}


def test_hierarchies_have_their_claims():
    names = set(all_claims())
    assert {"hierarchy-sample-complexity", "sparse-hierarchy-cnn", "sparse-hierarchy-lcn"} <= names
    assert all(set(c.profiles) == {"quick", "full"} for n, c in all_claims().items() if "hierarchy" in n)

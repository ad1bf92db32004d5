from dataclasses import replace

import numpy as np
import pytest

from compsparse.claims.p_star import measure_p_star
from compsparse.errors import ConfigError
from compsparse.sweeps.kinds.hierarchy import HierarchyRun

SMALL = HierarchyRun(n_train=150, n_features=4, n_empty=1, width=16)


@pytest.mark.parametrize(("guess", "is_poor"), [(60, True), (500, False), (4000, True)])
def test_a_threshold_is_found_from_a_poor_guess(monkeypatch, guess, is_poor):
    rounds = []

    def fake(specs, *, device, progress):
        rounds.append([(s.n_train, s.seed) for s in specs])
        return [{"test_error": min(0.9, 50 / s.n_train)} for s in specs]

    monkeypatch.setattr(HierarchyRun, "run", staticmethod(fake))
    found = measure_p_star(SMALL, guess, n_seeds=2)
    assert found.p_star.bracketed
    assert found.p_star.value == pytest.approx(500, rel=0.1)
    assert (len(rounds) > 1) is is_poor
    asked = [run for runs in rounds for run in runs]
    assert len(set(asked)) == len(asked)  # no run twice
    assert set(asked) == {(n, seed) for n in found.curve() for seed in (0, 1)}
    assert found.curve()[max(found.curve())] == [50 / max(found.curve())] * 2


def test_seeds_count_from_the_first(monkeypatch):
    seeds = set()

    def fake(specs, *, device, progress):
        seeds.update(s.seed for s in specs)
        return [{"test_error": min(0.9, 50 / s.n_train)} for s in specs]

    monkeypatch.setattr(HierarchyRun, "run", staticmethod(fake))
    measure_p_star(SMALL, 500, n_seeds=2, first_seed=20_000)
    assert seeds == {20_000, 20_001}


def test_a_threshold_beyond_the_model_is_said_to_be(monkeypatch):
    asked = []

    def fake(specs, *, device, progress):
        asked.extend((s.n_train, s.seed) for s in specs)
        return [{"test_error": 0.9} for _ in specs]

    monkeypatch.setattr(HierarchyRun, "run", staticmethod(fake))
    found = measure_p_star(replace(SMALL, n_empty=0), 100)
    assert len(set(asked)) == len(asked)
    assert found.p_star.value == np.inf
    assert max(found.curve()) == SMALL.model.n_features**4 - 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_seeds": 0}, "n_seeds must be"),
        ({"guess": -1}, "guess must be"),
        ({"first_seed": -1}, "first_seed must be"),
        ({"device": "abacus"}, "cannot use device"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        measure_p_star(SMALL, **{"guess": 100, **settings})

import numpy as np
import pytest
from tests.browser import needs_browser, opened

from compsparse.claims import Claim, Finding, Outcome, all_claims, claims_page, get_claim, keep, kept, run_claim
from compsparse.claims.subjects import depth, locality, subgraph
from compsparse.claims.trials import Trials, run_trials
from compsparse.errors import ConfigError, DataError
from compsparse.graph import balanced_tree
from compsparse.networks import mirror
from compsparse.report import Figure
from compsparse.tasks import tanh_tree
from compsparse.training import TrainingConfig


def toy(profile, progress):
    progress.update(1, 1, "done")
    figure = Figure("A chart", ({"x": 1, "y": 2.0}, {"x": 2, "y": 3.0}), "x", "y")
    return Finding(Outcome.REFUTED, "1", "2 <b>", {"figure": 2.0}, (figure,), ("a caveat",))


TOY = Claim("toy", "One is two.", "Nobody 2020", "conjecture", toy)


def test_verdicts_are_kept_and_come_back(tmp_path):
    verdict = run_claim(TOY)
    keep(verdict, tmp_path)
    assert kept(tmp_path) == [verdict]
    assert verdict.outcome is Outcome.REFUTED
    with pytest.raises(ConfigError, match="no 'full' profile"):
        run_claim(TOY, "full")
    (tmp_path / "junk.json").write_text("{}")
    with pytest.raises(DataError, match="holds no verdict"):
        kept(tmp_path)


@needs_browser
@pytest.mark.parametrize(("width", "dark"), [(1200, False), (390, True)])
def test_the_page_of_claims_shows_every_chart(tmp_path, width, dark):
    page_path = claims_page(tmp_path / "claims.html", [run_claim(TOY)])
    with opened(page_path, width=width, dark=dark) as (page, troubles):
        page.wait_for_selector(".chart svg")
        assert page.locator(".chart svg").count() == 1
        assert page.locator(".verdict.refuted").count() == 2
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        assert troubles == []


def test_an_empty_store_is_said_so(tmp_path):
    with pytest.raises(DataError, match="no verdicts to report"):
        claims_page(tmp_path / "claims.html", kept(tmp_path))


def test_the_registry_knows_the_first_claims():
    assert {"depth-beats-width", "subgraph-suffices", "locality-not-sharing"} <= set(all_claims())
    with pytest.raises(ConfigError, match="did you mean 'depth-beats-width'"):
        get_claim("depth-beat-width")
    for claim in all_claims().values():
        assert claim.statement.endswith(".")
        assert claim.source


def test_trials_measure_each_seed_on_its_own_sample():
    task = tanh_tree(4)
    trials = run_trials(
        lambda r: mirror(task.graph, 6, n_replicas=r, random_state=0),
        task,
        200,
        TrainingConfig(n_steps=300),
        restarts=2,
    )
    assert trials.errors.shape == (3,)
    assert len(set(trials.errors)) == 3
    assert trials.high < 0.05
    assert trials.low <= trials.median <= trials.high


def flat(value, n=3):
    return Trials(np.full(n, value))


def test_depth_is_judged_by_what_was_measured():
    def points(shallow_errors):
        result = []
        for n, error in zip((4, 8, 16), shallow_errors, strict=True):
            result += [depth._Point(n, "mirrored", 100 * n, flat(0.001)), depth._Point(n, "shallow", 50 * n, flat(0.5))]
            result.append(depth._Point(n, "shallow", 400 * n**2, flat(error)))
        return result

    assert depth._judge((4, 8, 16), points([0.005, 0.005, 0.005])).outcome is Outcome.SUPPORTED
    assert depth._judge((4, 8, 16), points([0.5, 0.5, 0.5])).outcome is Outcome.SUPPORTED
    bounded = points([0.005, 0.005, 0.5])
    bounded = [p for p in bounded if (p.inputs, p.parameters) != (4, 6400)] + [
        depth._Point(4, "shallow", 50_000, flat(0.005))
    ]
    assert depth._judge((4, 8, 16), bounded).outcome is Outcome.INCONCLUSIVE
    equal = [depth._Point(n, f, 100 * n, flat(0.001)) for n in (4, 8, 16) for f in ("mirrored", "shallow")]
    assert depth._judge((4, 8, 16), equal).outcome is Outcome.REFUTED
    lost = [depth._Point(n, f, 100 * n, flat(0.5)) for n in (4, 8, 16) for f in ("mirrored", "shallow")]
    assert depth._judge((4, 8, 16), lost).outcome is Outcome.INCONCLUSIVE


def test_subgraphs_are_judged_by_what_was_measured():
    names = [
        "true graph",
        "+1 edge a node",
        "+2 edges a node",
        "+4 edges a node",
        "1 edge lost",
        "2 edges lost",
        "dense",
    ]

    def outcome(*errors):
        return subgraph._judge({n: flat(e) for n, e in zip(names, errors, strict=True)}).outcome

    assert outcome(1e-4, 1e-4, 2e-4, 2e-4, 0.1, 0.2, 0.05) is Outcome.SUPPORTED
    assert outcome(1e-4, 1e-2, 2e-2, 4e-2, 0.1, 0.2, 0.05) is Outcome.REFUTED
    assert outcome(1e-4, 1e-4, 1e-4, 1e-4, 1e-4, 1e-4, 0.05) is Outcome.REFUTED


def test_extra_and_lost_edges_are_what_they_say():
    graph, rng = balanced_tree(8), np.random.default_rng(0)
    richer = subgraph.with_extra_edges(graph, 2, rng)
    assert all(set(richer[n.name].parents) > set(n.parents) for n in graph.nodes)
    poorer = subgraph.without_edges(graph, 2, rng)
    assert poorer.n_edges == graph.n_edges - 2
    assert len(poorer.inert) == 2


def test_locality_is_judged_by_what_was_measured():
    def outcome(dense, local, shared):
        errors = {
            (name, n): flat(e)
            for name, e in zip(locality._NAMES, (dense, local, shared), strict=True)
            for n in (100, 1000)
        }
        return locality._judge((100, 1000), errors).outcome

    assert outcome(1e-1, 1e-3, 5e-4) is Outcome.SUPPORTED
    assert outcome(1e-1, 8e-2, 1e-4) is Outcome.REFUTED

import pytest
from tests.browser import needs_browser, opened

from compsparse.claims import Claim, Finding, Outcome, all_claims, claims_page, get_claim, keep, kept, run_claim
from compsparse.errors import ConfigError, DataError
from compsparse.report import Figure


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

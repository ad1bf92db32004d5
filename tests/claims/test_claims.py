import json
from dataclasses import replace

import pytest
from tests.browser import needs_browser, opened
from typer.testing import CliRunner

from compsparse.claims import (
    Claim,
    Finding,
    Outcome,
    UnreadableVerdicts,
    all_claims,
    claims_page,
    get_claim,
    keep,
    kept,
    run_claim,
)
from compsparse.cli import app
from compsparse.errors import CompsparseError, ConfigError, DataError
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
    with pytest.warns(UnreadableVerdicts, match=r"1 file of .*: junk.json holds no verdict \(it has no claim\)"):
        assert kept(tmp_path) == [verdict]
    with pytest.raises(ConfigError, match="profile must be one of 'quick', 'full', got 'quik'; did you mean"):
        run_claim(TOY, "quik")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "it is no JSON"),
        ("[" * 100_000, "it is no JSON"),
        ("[]", "it is no JSON object"),
        ({"outcome": "maybe"}, "its outcome is not one of supported"),
        ({"numbers": {"a": "text"}}, "its numbers is not numbers by name"),
        ({"numbers": [1]}, "its numbers is not"),
        ({"seconds": float("nan")}, "its seconds is not a finite number"),
        ({"figures": [{}]}, "a figure has no title"),
        ({"figures": 3}, "its figures is not a list"),
        ({"caveats": "text"}, "its caveats is not a list of texts"),
        ({"claim": None}, "its claim is not a text"),
        ({"more": 1}, "no place for 'more'"),
        (b"\xff\xfe", "not a text file"),
    ],
)
def test_folders_that_hold_no_verdict(tmp_path, text, message):
    verdict = run_claim(TOY)
    if isinstance(text, dict):
        text = json.dumps(verdict.to_dict() | text)
    (tmp_path / "a.json").write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(DataError, match=message):
        kept(tmp_path)
    keep(verdict, tmp_path)
    with pytest.warns(UnreadableVerdicts, match=message):
        assert kept(tmp_path) == [verdict]


def test_places_of_verdicts(tmp_path):
    verdict = run_claim(TOY)
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="there is no folder of verdicts"):
        kept(tmp_path / "none")
    for folder in (tmp_path / "file", tmp_path / "file" / "below", "/proc/none", ""):
        with pytest.raises(ConfigError, match="folder"):
            keep(verdict, folder)
    with pytest.raises(ConfigError, match="must hold no slash"):
        keep(replace(verdict, claim="../outside"), tmp_path / "results")
    assert not (tmp_path / "outside.quick.json").exists()
    assert keep(verdict, tmp_path / "new" / "deep").is_file()


def test_commands_check_before_they_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    keep(run_claim(TOY), tmp_path / "results")
    (tmp_path / "file").write_text("")
    for arguments, message in (
        (["run", "--results", "file"], "is no folder"),
        (["run", "--profile", "quik"], "did you mean 'quick'"),
        (["run", "nothing"], "there is no claim 'nothing'"),
        (["report", "--results", "none"], "there is no folder of verdicts none"),
        (["report", "--results", "results", "--out", "results/toy.quick.json"], "read by the same command"),
        (["report", "--results", "results", "--out", "none/a.html"], "there is no folder none"),
    ):
        error = CliRunner().invoke(app, ["claims", *arguments]).exception
        assert isinstance(error, CompsparseError)
        assert message in str(error)
    (tmp_path / "results" / "\x1b[2J[red].json").write_text("{}")
    shown = CliRunner().invoke(app, ["claims", "report", "--results", "results", "--out", "a.html"])
    assert shown.exit_code == 0
    assert "warning: 1 file of results left out: \\x1b[2J[red].json holds no verdict" in shown.output


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


CHECK = Claim("one", "One is one.", "Peano 1889", "proved", toy, is_check=True)


def test_checks_stand_apart_and_have_words_of_their_own(tmp_path):
    claim, check = run_claim(TOY), run_claim(CHECK)
    assert (claim.word, check.word) == ("refuted", "fails")
    keep(check, tmp_path)
    assert kept(tmp_path) == [check]
    page = claims_page(tmp_path / "claims.html", [check, claim]).read_text()
    claims, checks = page.split("<h2>Checks</h2>")
    assert ("toy (quick)" in claims, "toy (quick)" in checks) == (True, False)
    assert ("one (quick)" in claims, "one (quick)" in checks) == (False, True)


def test_verdicts_from_before_there_were_checks_are_claims(tmp_path):
    path = keep(run_claim(TOY), tmp_path)
    data = json.loads(path.read_text())
    del data["is_check"]
    path.write_text(json.dumps(data))
    assert kept(tmp_path) == [run_claim(TOY).__class__.from_dict(data)]
    assert not kept(tmp_path)[0].is_check


def test_checks_are_listed_apart():
    listed = CliRunner().invoke(app, ["claims", "list"], env={"COLUMNS": "200"}).output
    claims, checks = listed.split("\nChecks\n", maxsplit=1)
    for name, claim in all_claims().items():
        assert name in (checks if claim.is_check else claims)
    shown = json.loads(CliRunner().invoke(app, ["claims", "list", "--json"]).output)
    assert {c["name"] for c in shown["claims"] if c["is_check"]} == {
        "kernel-norms-bound-complexity",
        "memorisation-needs-n-neurons",
        "memorisation-cells",
        "l1-equals-l0",
        "unrolled-starts-as-ista",
        "ridge-powers-span-polynomials",
        "takagi-exponential-accuracy",
        "walsh-expansion-is-exact",
    }


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

import importlib
import inspect
import json
import math
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
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
from compsparse.clock import TimeIsOver, look_at_clock, within
from compsparse.digest import sealed
from compsparse.errors import CompsparseError, ConfigError, DataError
from compsparse.networks import dense
from compsparse.report import Figure
from compsparse.training import TrainingConfig, TrainingData, train

MISSING = object()


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
    with pytest.warns(UnreadableVerdicts, match=r"1 file of .*: junk.json holds no verdict \(it is no file of format"):
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
        ({"seconds": {"number": "nan"}}, "its seconds is not a finite number"),
        ({"numbers": {"a": {"number": "many"}}}, "'many' is no number"),
        ({"cut_short": 1}, "its cut_short is not true or false"),
        ({"claim": MISSING}, "it has no claim"),
        ({"format": "compsparse.verdict/1"}, "no file of format compsparse.verdict/2: run the claim again"),
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
        content = {"format": "compsparse.verdict/2", **verdict.to_dict(), **text}
        text = json.dumps(sealed({name: value for name, value in content.items() if value is not MISSING}))
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


def test_what_was_edited_is_refused_by_name(tmp_path):
    """Every single letter of a kept verdict, and every entry of it left out."""
    verdict = run_claim(TOY)
    path = keep(verdict, tmp_path)
    whole = path.read_text()
    content = json.loads(whole)
    edits = {whole.replace('"refuted"', '"supported"'), whole.replace("2.0", "3.0")}
    edits |= {json.dumps({k: v for k, v in content.items() if k != name}) for name in content}
    edits |= {whole[:i] + chr(ord(whole[i]) ^ 1) + whole[i + 1 :] for i in range(0, len(whole), 7)}
    for edit in edits - {whole}:
        path.write_text(edit)
        if _read(edit) == content:
            assert kept(tmp_path) == [verdict]  # spaces between entries are no content
            continue
        with pytest.raises(DataError, match=r"toy.quick.json holds no verdict \("):
            kept(tmp_path)
    path.write_text(whole.replace('"refuted"', '"supported"'))
    with pytest.raises(DataError, match=r"toy.quick.json holds no verdict .* digest does not .* run the claim again"):
        kept(tmp_path)


def _read(text):
    try:
        return json.loads(text)
    except ValueError:
        return None


def test_numbers_that_json_has_no_word_for_are_kept(tmp_path):
    row = {"x": 1.0, "y": math.inf, "of": "inf"}
    odd = replace(
        run_claim(TOY),
        numbers={"a": math.inf, "b": -math.inf, "c": np.float64(0.5)},
        figures=(Figure("A chart", (row,), "x", "y"),),
    )
    keep(odd, tmp_path)
    assert kept(tmp_path) == [odd]
    keep(replace(odd, numbers={"a": math.nan}), tmp_path)
    assert math.isnan(kept(tmp_path)[0].numbers["a"])


# ---- the time limit ----------------------------------------------------------------------------


def between_parts(profile, progress):
    for part in range(3):
        progress.update(part + 1, 3, f"part {part + 1}")
    return Finding(Outcome.SUPPORTED, "1", "1")


def inside_training(profile, progress):
    data = TrainingData(torch.zeros(4, 1), torch.zeros(4, 1))
    train(dense(1, 2), data, TrainingConfig(n_steps=10**8, evaluate_every=10**8), random_state=0)
    return Finding(Outcome.SUPPORTED, "1", "1")


@pytest.mark.parametrize(
    ("experiment", "limit", "told"),
    [
        (between_parts, 1e-9, r"limit of 1e-09 s was over after 1 of 3 parts \(part 1\): the rest was not measured"),
        (inside_training, 0.05, "limit of 0.05 s was over before the first measurement"),
    ],
)
def test_what_time_cut_short_decides_nothing_and_says_so(tmp_path, experiment, limit, told):
    claim = Claim("slow", "One is one.", "Peano 1889", "proved", experiment)
    verdict = run_claim(claim, time_limit=limit)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.cut_short
    assert re.search(told, verdict.measured)
    keep(verdict, tmp_path)
    assert kept(tmp_path) == [verdict]
    whole = run_claim(replace(claim, experiment=between_parts))
    keep(whole, tmp_path)
    keep(verdict, tmp_path)
    assert kept(tmp_path) == [whole]  # what was cut short takes no verdict's place


def test_time_that_is_over_takes_nothing_from_what_is_done():
    def last_part(profile, progress):
        progress.update(3, 3, "done")
        return Finding(Outcome.SUPPORTED, "1", "1")

    verdict = run_claim(Claim("done", "One is one.", "Peano 1889", "proved", last_part), time_limit=1e-9)
    assert verdict.outcome is Outcome.SUPPORTED
    with within(None):
        look_at_clock()
    with within(1e-9), within(1e9), pytest.raises(TimeIsOver):
        look_at_clock()


def test_the_command_names_what_it_had_no_time_for(tmp_path, monkeypatch):
    claims = {
        name: Claim(name, "One is one.", "Peano 1889", "proved", between_parts) for name in ("first", "second", "third")
    }
    monkeypatch.setattr("compsparse.claims.all_claims", lambda: claims)
    monkeypatch.setattr("compsparse.claims.get_claim", claims.get)
    common = ["claims", "run", "--results", str(tmp_path / "results")]
    done = CliRunner().invoke(app, [*common, "--time-limit", "1h", "--json"])
    assert json.loads(done.stdout)["not_run"] == []
    late = json.loads(CliRunner().invoke(app, [*common, "--time-limit", "0.0000001s", "--json"]).stdout)
    names = [v["claim"] for v in late["verdicts"]] + late["not_run"]
    assert names == list(claims)
    assert all(v["outcome"] == "inconclusive" for v in late["verdicts"])
    shown = CliRunner().invoke(app, [*common, "--time-limit", "0.0000001s"]).output
    assert "not run, because the time limit was over: " in shown
    assert isinstance(CliRunner().invoke(app, [*common, "--time-limit", "-1"]).exception, ConfigError)


def test_checks_are_listed_apart():
    listed = CliRunner().invoke(app, ["claims", "list"], env={"COLUMNS": "200"}).output
    claims, checks = listed.split("\nChecks\n", maxsplit=1)
    for name, claim in all_claims().items():
        assert name in (checks if claim.is_check else claims)
    shown = json.loads(CliRunner().invoke(app, ["claims", "list", "--json"]).output)
    assert {c["name"] for c in shown["claims"] if c["is_check"]} == {
        "kernel-norms-bound-complexity",
        "overlap-multiplicity",
        "depth-makes-pieces",
        "kolmogorov-needs-no-more-families",
        "memorisation-with-n-over-d-neurons",
        "written-answers-are-sparse-graphs",
        "memorisation-needs-n-neurons",
        "memorisation-cells",
        "l1-equals-l0",
        "unrolled-starts-as-ista",
        "ridge-powers-span-polynomials",
        "takagi-exponential-accuracy",
        "walsh-expansion-is-exact",
    }


@pytest.mark.parametrize("is_check", [False, True])
@pytest.mark.parametrize("cut_short", [False, True])
def test_a_verdict_is_a_sentence_of_at_most_25_words(is_check, cut_short):
    for outcome in Outcome:
        finding = Finding(outcome, measured="1", cut_short=cut_short)
        verdict = run_claim(replace(TOY, is_check=is_check, experiment=lambda profile, progress, f=finding: f))
        assert verdict.sentence.startswith(f"{verdict.word.capitalize()}: ")
        assert len(verdict.sentence.split()) <= 25
        assert ("time limit" in verdict.sentence) is cut_short


def test_a_verdict_shows_itself_in_a_notebook():
    claim = replace(TOY, statement="One <b>is</b> one.")
    shown = run_claim(claim)._repr_html_()
    assert shown.index("One &lt;b&gt;is&lt;/b&gt; one.") < shown.index("Refuted: ") < shown.index("<svg")


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
        experiment = claim.experiment
        subject = importlib.import_module(f"compsparse.claims.subjects.{experiment.subject}")
        assert list(inspect.signature(getattr(subject, experiment.name)).parameters) == ["profile", "progress"]


def test_listing_loads_no_subject_and_no_torch():
    code = (
        "import sys; from compsparse.cli import app; app(['claims', 'list', '--json'], standalone_mode=False);"
        "loaded = [m for m in sys.modules if m.startswith('compsparse.claims.subjects.')];"
        "assert not loaded and 'torch' not in sys.modules, loaded"
    )
    listed = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert listed.returncode == 0, listed.stderr
    assert {c["name"] for c in json.loads(listed.stdout)["claims"]} == set(all_claims())


def test_what_a_claim_expects_stands_in_its_verdict_unless_the_finding_says_it():
    claim = replace(TOY, expected="2", caveats=("of the claim",))
    told = run_claim(claim)
    assert (told.expected, told.caveats) == ("1", ("of the claim", "a caveat"))
    silent = run_claim(replace(claim, experiment=lambda profile, progress: Finding(Outcome.REFUTED)))
    assert (silent.expected, silent.caveats) == ("2", ("of the claim",))

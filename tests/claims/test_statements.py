"""The register of statements, the verdicts that ship, and the page that is written from both."""

import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from compsparse.claims import (
    STATES,
    Claim,
    Finding,
    KnownVerdict,
    Outcome,
    all_claims,
    all_statements,
    keep,
    known_verdicts,
    run_claim,
)
from compsparse.claims.known import is_firmer

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import write_theory  # noqa: E402

SAID = "a quick run"


def quickly(profile, progress):
    return Finding(Outcome.SUPPORTED, "1", SAID)


def test_the_page_is_written_from_the_register():
    page = write_theory.PAGE.read_text()
    assert write_theory.written(page) == page, "run python tools/write_theory.py"


def test_every_statement_says_how_far_it_is_carried():
    listed = all_statements()
    assert len(listed) >= 310
    assert {s.state for s in listed} <= set(STATES)
    for s in listed:
        where = f"{s.document}, {s.place}"
        assert all(s.corrections[i] in range(1, 21) for i in range(len(s.corrections))), where
        if s.state in ("judged", "part"):
            assert s.claims, where
        elif s.state == "definition":
            assert not s.claims, where
        else:
            assert s.claim.startswith("no experiment"), where
        if s.state == "built":
            assert re.search(r"`tests/\S+\.py`", s.claim), where
            assert all((ROOT / test).is_file() for test in re.findall(r"`(tests/\S+\.py)`", s.claim)), where


def test_every_claim_tests_a_statement():
    named = {name for s in all_statements() for name in s.claims}
    assert set(all_claims()) - named == set()
    for s in all_statements():
        texts = re.findall(r"`([a-z][a-z0-9]*(?:-[a-z0-9]+)+)`", s.claim)
        assert set(texts) <= set(all_claims()), f"{s.document}, {s.place}"


def test_no_quick_verdict_is_firmer_than_the_full_one():
    known = known_verdicts()
    for (name, profile), verdict in known.items():
        assert profile in all_claims()[name].profiles
        if profile == "quick" and (name, "full") in known:
            assert not is_firmer(verdict.outcome, known[name, "full"].outcome), name


@pytest.mark.parametrize(("full", "comes_out"), [("supported", "supported"), ("refuted", "inconclusive")])
def test_a_quick_run_decides_nothing_that_the_full_one_does_not(monkeypatch, full, comes_out):
    claim = Claim("toy", "One is one.", "Peano 1889", "proved", quickly, profiles=("quick", "full"))
    known = {("toy", "full"): KnownVerdict("toy", "full", Outcome(full), "0.9", "2026-11-16")}
    monkeypatch.setattr("compsparse.claims.running.known_verdicts", lambda: known)
    monkeypatch.setattr("compsparse.claims.known.known_verdicts", lambda: known)
    verdict = run_claim(claim)
    assert verdict.outcome.value == comes_out
    assert (f"its verdict of 2026-11-16 is {full} (0.9)" in verdict.measured) is (comes_out == "inconclusive")
    assert run_claim(claim, "full").outcome is Outcome.SUPPORTED


def test_verdicts_of_a_folder_take_the_place_of_those_that_ship(tmp_path, monkeypatch):
    monkeypatch.setattr(write_theory, "VERDICTS", tmp_path / "verdicts.toml")
    name = next(iter(all_claims()))
    found = run_claim(replace(all_claims()[name], experiment=quickly, name="toy"))
    for verdict in (
        found,
        replace(found, claim=name, outcome=Outcome.REFUTED),
        replace(found, claim=name, profile="full"),
    ):
        keep(verdict, tmp_path / "results")
    write_theory.take_over(tmp_path / "results")
    text = (tmp_path / "verdicts.toml").read_text()
    assert "[toy." not in text
    assert (
        text.index(f"[{name}.quick]")
        < text.index('outcome = "refuted"\nmeasured = "a quick run"')
        < text.index(f"[{name}.full]")
    )
    assert text.count(SAID) == 2
    assert text.count("\n[") >= len(known_verdicts())

"""The record of a discovery: figures in words, and JSON that is read back or refused in one sentence."""

import json
import math

import pytest

from compsparse.digest import sealed
from compsparse.discovery import AnswerNoise, Cost, Discovery, DiscoveryStatus, Evidence, Step
from compsparse.errors import DataError
from compsparse.graph import FunctionGraph

FOUND = Discovery(
    graph=FunctionGraph.from_expression("a*b + c"),
    evidence=(
        Evidence(frozenset("ab"), "prime", ("y",), "gain", -0.25, 0.05, recurrence=0.9, wording="{value} and more"),
        Evidence(frozenset("abc"), "complete", ("y",), "gain", math.nan, threshold=2.0, channels=2),
    ),
    status=DiscoveryStatus.OUT_OF_TIME,
    cost=Cost(1.5, 10, 20, 30),
    source="somewhere",
    account="found somewhere",
    path=(Step("merge", frozenset("ab"), "y", 0.5, math.nan),),
    noise=AnswerNoise(0.1, "estimated"),
    caveats=("take care",),
    advice=("always",),
)


def test_everything_is_read_back():
    again = Discovery.from_json(FOUND.to_json())
    assert str(again) == str(FOUND)
    assert again.to_dict() == FOUND.to_dict()
    assert math.isnan(again.evidence[1].value)


def test_figures_are_worded_by_who_measured_them():
    worded, unmeasured = FOUND.evidence
    assert worded.sentence == "{value} and more; came back in 90% of resamples"  # a text, never a template
    assert unmeasured.sentence == "not measured"
    assert Evidence(frozenset("a"), "prime", ("y",), "gain", 0.12345).sentence == "gain 0.123"


def changed(**changes):
    return json.dumps(sealed(FOUND.to_dict() | changes))


def with_evidence(**changes):
    return changed(evidence=[FOUND.to_dict()["evidence"][0] | changes])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not a discovery in JSON"),
        ("[1]", "expected a JSON object with format 'compsparse.discovery'"),
        ("{}", "expected a JSON object with format"),
        (changed(version=1), "format version 1, and this compsparse reads version 2: discover again"),
        (changed(version=None), "format version None"),
        (changed(source=3), "damaged or incomplete: .*expected a text, got 3"),
        (changed(advice=[None]), "damaged or incomplete"),
        (changed(status="DONE"), "damaged or incomplete"),
        (changed(graph={}), "."),
        (with_evidence(wording=["a"]), "expected a text"),
        (with_evidence(value="{0}"), "expected a number"),
        (with_evidence(recurrence=True), "expected a number"),
        (with_evidence(kind="odd"), "no kind of module: 'odd'"),
        (with_evidence(members=[1, 2]), "expected a text"),
        (with_evidence(surplus=1), "damaged or incomplete"),
        (changed(path=[{"action": "merge"}]), "damaged or incomplete"),
    ],
)
def test_bad_and_old_files_get_one_sentence(text, message):
    with pytest.raises(DataError, match=message) as caught:
        Discovery.from_json(text)
    assert "\n" not in str(caught.value)

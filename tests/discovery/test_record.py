"""The record of a discovery: figures in words, and JSON that is read back or refused in one sentence."""

import json
import math

import pytest

from compsparse.digest import sealed
from compsparse.discovery import AnswerNoise, Confidence, Cost, Discovery, DiscoveryStatus, Evidence, Step
from compsparse.errors import DataError
from compsparse.graph import FunctionGraph
from compsparse.models import Importance, Importances, PairStrength

FOUND = Discovery(
    graph=FunctionGraph.from_expression("a*b + c"),
    evidence=(
        Evidence(
            frozenset("ab"), "prime", ("y",), "gain", -0.25, 0.05, recurrence=0.9, parts=2, statement="{value} and more"
        ),
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
    influence=Importances(
        "effects within the data",
        (Importance("a", ("a",), 0.2, 0.01, 0.5, 0.02), Importance("c", ("c",), 0.5, 0.01, 0.5, 0.02)),
        (Importance("m0", ("a", "b"), 0.5, 0.01, 0.5, 0.02),),
        (PairStrength(("a", "b"), 0.3, 0.01),),
        n_evaluations=1000,
    ),
)


def test_everything_is_read_back():
    again = Discovery.from_json(FOUND.to_json())
    assert str(again) == str(FOUND)
    assert again.to_dict() == FOUND.to_dict()
    assert again.influence == FOUND.influence
    without = json.loads(FOUND.to_json())
    del without["influence"], without["digest"]  # as they were written before there were importances
    assert Discovery.from_dict(sealed(without)).influence is None
    assert math.isnan(again.evidence[1].value)


def test_figures_are_worded_by_who_measured_them():
    worded, unmeasured = FOUND.evidence
    assert worded.sentence == "{value} and more; found again in 90% of the resamples"  # a text, never a template
    assert unmeasured.sentence == "were not put to the test"
    assert Evidence(frozenset("a"), "prime", ("y",), "gain", 0.12345, parts=2).sentence == "gain 0.123"


@pytest.mark.parametrize(
    ("figures", "confidence"),
    [
        ({"value": math.nan}, Confidence.NOT_MEASURED),
        ({"value": -0.5, "spread": 0.1}, Confidence.STRONG),
        ({"value": -0.2, "spread": 0.1}, Confidence.LIKELY),
        ({"value": -0.5, "spread": 0.1, "doubts": ("inputs were left out",)}, Confidence.NOT_SURE),
        ({"value": 1.0, "threshold": 2.5}, Confidence.STRONG),
        ({"value": 2.0, "threshold": 2.5}, Confidence.LIKELY),
        ({"value": 2.0, "statistic": "cofactors"}, Confidence.EXACT),
        ({"value": 0.02, "spread": 0.01, "statistic": "held-out error"}, Confidence.STRONG),
        ({"value": 0.98, "spread": 0.01, "statistic": "held-out error"}, Confidence.LIKELY),
    ],
)
def test_a_word_says_how_sure_a_module_is(figures, confidence):
    entry = Evidence(**{"members": frozenset("ab"), "kind": None, "outputs": ("y",), "statistic": "gain"} | figures)
    assert entry.confidence is confidence
    assert entry.approximate is (confidence is Confidence.NOT_SURE)
    assert str(entry).startswith(f"{confidence.value}: {{a, b}} ")


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
        (changed(version=2), "format version 2, and this compsparse reads version 4: discover again"),
        (changed(version=None), "format version None"),
        (changed(source=3), "damaged or incomplete: .*expected a text, got 3"),
        (changed(advice=[None]), "damaged or incomplete"),
        (changed(status="DONE"), "damaged or incomplete"),
        (changed(graph={}), "."),
        (with_evidence(statement=["a"]), "expected a text"),
        (with_evidence(doubts=[1]), "expected a text"),
        (with_evidence(parts="2"), "expected a number of parts"),
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

"""What a discovery found, in a few sentences: for the top of a page and the end of a command."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from compsparse.discovery import Confidence, Discovery, Evidence
from compsparse.models.assessment import Assessment
from compsparse.models.scores import ClassScore, Score
from compsparse.report.evidence import listed
from compsparse.report.importance_charts import what_matters

_MOST_GROUPS = 6


def summary(found: Discovery, assessment: Assessment | None = None) -> list[str]:
    """Which inputs act, which of them act through one number, and how well that predicts."""
    sentences = [_which_act(found), *_groups(found), *_what_matters(found)]
    return sentences if assessment is None else [*sentences, *_accuracy(assessment)]


def _what_matters(found: Discovery) -> list[str]:
    sentence = "" if found.influence is None else what_matters(found.influence)
    return [sentence] if sentence else []


def _which_act(found: Discovery) -> str:
    graph = found.graph
    acting = [name for name in graph.inputs if name not in graph.unread]
    if not acting:
        return "No input was seen to act: nothing predicts better than a constant."
    if not graph.unread:
        return f"All {len(acting)} inputs act." if len(acting) > 1 else f"{acting[0]} acts."
    verb = "acts" if len(acting) == 1 else "act"
    if graph.not_looked_at:
        of_others = f"{len(graph.not_looked_at):,} were not looked at"
        of_others += f"; no effect of the other {len(graph.inert)} was seen" if graph.inert else ""
    else:
        of_others = "No effect of the others was seen"
    return f"{len(acting)} of {graph.n_inputs} inputs {verb}: {listed(acting)}. {of_others}."


def _groups(found: Discovery) -> list[str]:
    """The modules by how sure they are; what acts together where there are none."""
    by_confidence: dict[Confidence, dict[frozenset[str], str]] = {}
    for entry in found.evidence:
        if entry.members in found.modules:
            numbers = "" if entry.channels == 1 else f" (through {entry.channels} numbers)"
            group = "{" + listed(sorted(entry.members)) + "}" + numbers
            by_confidence.setdefault(entry.confidence, {})[entry.members] = group
    if not by_confidence and not found.parts:
        return _no_group(found)
    told = []
    for confidence in Confidence:
        if groups := list(by_confidence.get(confidence, {}).values()):
            each = "Each of these groups acts" if len(groups) > 1 else "This group of inputs acts"
            told.append(f"{each} through one number ({confidence.value}): {_listed_groups(groups)}.")
    return [*told, *_parts(found)]


def _parts(found: Discovery) -> list[str]:
    """The parts that share inputs: formulas, terms of sums, and groups that act through one number at given values."""
    formulas = [entry for entry in found.parts if entry.formula]
    terms = [entry for entry in found.parts if entry.is_term]
    groups = [entry for entry in found.parts if not (entry.is_term or entry.formula)]
    told = []
    if formulas:
        told.append(f"Inputs act together as {_listed_groups(e.formula for e in formulas)} ({_least_sure(formulas)}).")
    if terms:
        listed_terms = _listed_groups("{" + listed(sorted(e.members)) + "}" for e in terms)
        told.append(f"Inputs are shared by terms of a sum or a product ({_least_sure(terms)}): {listed_terms}.")
    if groups:
        listed_groups = _listed_groups(
            "{" + listed(sorted(e.members - e.shared)) + "} given " + listed(sorted(e.shared)) for e in groups
        )
        told.append(f"Through one number act, where other inputs have given values ({_least_sure(groups)}): ")
        told[-1] += f"{listed_groups}."
    return told


def _listed_groups(groups: Iterable[str]) -> str:
    groups = list(groups)
    more = f" and {len(groups) - _MOST_GROUPS} more" if len(groups) > _MOST_GROUPS else ""
    return ", ".join(groups[:_MOST_GROUPS]) + more


def _least_sure(entries: Sequence[Evidence]) -> str:
    return max((e.confidence for e in entries), key=list(Confidence).index).value


def _no_group(found: Discovery) -> list[str]:
    wide = [node for node in found.graph.nodes if node.arity > 2]
    if not wide:
        return []
    if all(node.kind == "complete" for node in wide):
        return ["They combine as in a sum or a product: every grouping of them holds, so none is drawn."]
    return [f"The {max(node.arity for node in wide)} inputs act together: no smaller group was found."]


def _accuracy(assessment: Assessment) -> list[str]:
    figures = ", ".join(f"{s.model.split(' (')[0]} {_figure(s)}" for s in (assessment.own, *assessment.others))
    measure = "Right on" if isinstance(assessment.own, ClassScore) else "R2 on"
    told = [f"{measure} {assessment.n_test:,} rows that none of them saw: {figures}."]
    if assessment.probabilities is None:
        sizes = np.sqrt(np.mean((assessment.observed - assessment.predicted) ** 2, axis=0))
        pairs = zip(assessment.targets, np.atleast_1d(sizes), strict=True)
        told.append("Typical error of the graph: " + ", ".join(f"{size:.3g} in {name}" for name, size in pairs) + ".")
    return told


def _figure(score: Score | ClassScore) -> str:
    return f"{score.accuracy:.1%}" if isinstance(score, ClassScore) else f"{score.r2:.3f}"

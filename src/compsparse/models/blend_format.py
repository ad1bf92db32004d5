"""Blends as JSON: what predicts beside a fitted graph. Reading one cannot run code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from compsparse.digest import check_seal, parse_json, sealed
from compsparse.errors import DataError
from compsparse.models.blending import Blend, HonestScore
from compsparse.models.boosting import BoostedTrees, Trees, checked_trees
from compsparse.models.fitted_graph import FittedGraph
from compsparse.models.json_format import (
    DAMAGE,
    code_from_dict,
    code_to_dict,
    finite_number,
    first_line,
    model_from_dict,
    model_to_dict,
    packed_array,
    unpacked_array,
)

_PARTS = ("roots", "feature", "threshold", "low", "high", "value")


def blend_to_dict(blend: Blend) -> dict[str, Any]:
    """All but the graph, with its digest."""
    return sealed(
        {
            "others": [_other_to_dict(model) for model in blend.others],
            "weights": packed_array(blend.model_weights),
            "class_shares": packed_array(blend.class_shares),
            "scores": [asdict(score) for score in blend.scores],
            "misses": packed_array(blend.misses),
        }
    )


def blend_from_dict(data: Any, graph: FittedGraph) -> Blend:
    """The blend that :func:`blend_to_dict` wrote."""
    if not isinstance(data, Mapping):
        raise DataError("expected a JSON object for what predicts beside the graph")
    content = check_seal(data, "what predicts beside the graph")
    try:
        return _blend(content, graph)
    except DAMAGE as error:
        raise DataError(f"what predicts beside the graph is damaged or incomplete: {first_line(error)}") from None


def blend_from_text(text: str, graph: FittedGraph) -> Blend | None:
    """What predicts beside a graph, from the text of the record of both; None where nothing does."""
    data = parse_json(text).get("blend")
    return None if data is None else blend_from_dict(data, graph)


def _blend(data: Mapping[str, Any], graph: FittedGraph) -> Blend:
    others = tuple(_other(entry) for entry in data["others"])
    weights, misses = unpacked_array("of models", data["weights"]), unpacked_array("of misses", data["misses"])
    shares = unpacked_array("of classes", data["class_shares"])
    n_outputs = len(graph.scale)
    n_columns = n_outputs if graph.classes is None else 1
    if weights.shape != (1 + len(others), n_columns) or (weights < 0).any():
        raise DataError("there must be one weight >= 0 for each model")
    if (graph.classes is None and misses.shape[1:] != (n_outputs,)) or (graph.classes and shares.shape != (n_outputs,)):
        raise DataError("the record speaks of other outputs than the graph has")
    if any(len(model.scale) != n_outputs for model in others):
        raise DataError("the models beside the graph have other outputs")
    scores = tuple(
        HonestScore(str(s["name"]), *(finite_number("a score", s[n]) for n in ("unexplained", "difference", "spread")))
        for s in data["scores"]
    )
    return Blend(graph=graph, others=others, model_weights=weights, class_shares=shares, scores=scores, misses=misses)


def _other_to_dict(model: FittedGraph | BoostedTrees) -> dict[str, Any]:
    if isinstance(model, FittedGraph):
        return {"network": model_to_dict(model)}
    kept = [{"start": t.start, **{name: packed_array(getattr(t, name)) for name in _PARTS}} for t in model.trees]
    return {"trees": kept, "code": code_to_dict(model.code), "centre": list(model.centre), "scale": list(model.scale)}


def _other(entry: Mapping[str, Any]) -> FittedGraph | BoostedTrees:
    if "network" in entry:
        return model_from_dict(entry["network"])
    code = code_from_dict(entry["code"])
    width = sum(column.width for column in code.inputs)
    trees = tuple(
        checked_trees(
            Trees(finite_number("the start of trees", t["start"]), *(unpacked_array(name, t[name]) for name in _PARTS)),
            width,
        )
        for t in entry["trees"]
    )
    centre, scale = (
        tuple(finite_number(f"the {name} of a target", v) for v in entry[name]) for name in ("centre", "scale")
    )
    if len(trees) != len(scale) or len(centre) != len(scale):
        raise DataError("the trees are of other outputs")
    return BoostedTrees(code=code, trees=trees, centre=centre, scale=scale)

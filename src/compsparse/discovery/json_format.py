"""Discoveries as JSON values: graph, evidence, models. Reading one cannot run code."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, get_args

from compsparse.checks import brief
from compsparse.digest import check_seal, sealed
from compsparse.discovery.record import AnswerNoise, Cost, Discovery, DiscoveryStatus, Evidence, Step
from compsparse.discovery.structure.turns import TurnTable
from compsparse.errors import DataError
from compsparse.graph.function_graph import Kind
from compsparse.graph.json_format import from_dict as graph_from_dict
from compsparse.graph.json_format import to_dict as graph_to_dict

if TYPE_CHECKING:
    from compsparse.models import Blend, FittedGraph, Importances

_FORMAT = "compsparse.discovery"
_VERSION = 4


def discovery_to_dict(found: Discovery) -> dict[str, Any]:
    """The whole record as plain data, with its digest."""
    return sealed(
        {
            "format": _FORMAT,
            "version": _VERSION,
            "graph": graph_to_dict(found.graph),
            "evidence": [_plain(asdict(e)) for e in found.evidence],
            "status": found.status.name,
            "cost": asdict(found.cost),
            "source": found.source,
            "account": found.account,
            "path": [_plain(asdict(s)) for s in found.path],
            "noise": None if found.noise is None else asdict(found.noise),
            "caveats": list(found.caveats),
            "advice": list(found.advice),
            "turns": {output: table.to_dict() for output, table in found.turns.items()},
            "influence": None if found.influence is None else found.influence.to_dict(),
            "model": None if found.model is None else found.model.to_dict(),
            "blend": None if found.blend is None else found.blend.to_dict(),
        }
    )


def discovery_from_dict(data: Any) -> Discovery:
    """Reads what :func:`discovery_to_dict` gave."""
    if not isinstance(data, dict) or not _is(data.get("format"), _FORMAT):
        raise DataError(f"not a discovery: expected a JSON object with format {_FORMAT!r}")
    if not _is(data.get("version"), _VERSION):
        raise DataError(
            f"the discovery has format version {brief(data.get('version'))}, and this compsparse reads version "
            f"{_VERSION}: discover again"
        )
    data = check_seal(data, "the discovery")
    try:
        model = _model(data["model"])
        return Discovery(
            graph=graph_from_dict(data["graph"]),
            evidence=tuple(_evidence(e) for e in data["evidence"]),
            status=DiscoveryStatus[data["status"]],
            cost=Cost(**data["cost"]),
            source=_text(data["source"]),
            account=_text(data["account"]),
            path=tuple(_step(s) for s in data["path"]),
            noise=None if data["noise"] is None else AnswerNoise(**data["noise"]),
            caveats=tuple(_text(s) for s in data["caveats"]),
            advice=tuple(_text(s) for s in data["advice"]),
            turns={_text(output): TurnTable.from_dict(table) for output, table in data["turns"].items()},
            influence=_influence(data.get("influence")),
            model=model,
            blend=_blend(data.get("blend"), model),
        )
    except KeyError as error:
        raise DataError(f"the discovery's JSON is damaged or incomplete: there is no {error}") from None
    except (TypeError, AttributeError, ValueError, RuntimeError, IndexError, OverflowError) as error:
        raise DataError(f"the discovery's JSON is damaged or incomplete: {error}") from None


def _is(value: Any, wanted: object) -> bool:
    """Equality that arrays cannot confuse."""
    return type(value) is type(wanted) and value == wanted


def _plain(entry: dict[str, Any]) -> dict[str, Any]:
    """Sets as sorted lists, NaN as null."""
    plain = {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in entry.items()}
    sets = {key: sorted(value) for key, value in entry.items() if isinstance(value, frozenset)}
    return plain | sets


def _nan(entry: dict[str, Any]) -> dict[str, float]:
    return {key: math.nan for key, value in entry.items() if value is None}


def _evidence(entry: dict[str, Any]) -> Evidence:
    members, outputs = _texts(entry["members"]), tuple(entry["outputs"])
    given = {"members": members, "outputs": outputs, "kind": entry["kind"], "doubts": tuple(entry["doubts"])}
    given["shared"] = _texts(entry["shared"])
    read = Evidence(**{**entry, **_nan(entry), **given})
    if read.kind is not None and read.kind not in get_args(Kind):
        raise ValueError(f"no kind of module: {read.kind!r}")
    for text in (read.statistic, read.statement, read.figures, read.formula, *read.doubts):
        _text(text)
    if isinstance(read.parts, bool) or not isinstance(read.parts, int):
        raise TypeError(f"expected a number of parts, got {read.parts!r}")
    _numbers(read.value, read.spread, read.threshold, read.recurrence)
    return read


def _step(entry: dict[str, Any]) -> Step:
    read = Step(**{**entry, **_nan(entry), "members": _texts(entry["members"])})
    for text in (read.action, read.output):
        _text(text)
    _numbers(read.error, read.spread)
    return read


def _texts(values: Any) -> frozenset[str]:
    return frozenset(_text(value) for value in values)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected a text, got {value!r}")
    return value


def _numbers(*values: Any) -> None:
    for value in values:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise TypeError(f"expected a number, got {value!r}")


def _influence(data: dict[str, Any] | None) -> Importances | None:
    """Discoveries that were written before importances were measured have none."""
    if data is None:
        return None
    from compsparse.models import Importances

    return Importances.from_dict(data)


def _model(data: dict[str, Any] | None) -> FittedGraph | None:
    if data is None:
        return None
    from compsparse.models import FittedGraph

    return FittedGraph.from_dict(data)


def _blend(data: dict[str, Any] | None, model: FittedGraph | None) -> Blend | None:
    if data is None or model is None:
        return None
    from compsparse.models import Blend

    return Blend.from_dict(data, model)

"""Fitted graphs as JSON: the graph, how each column is coded, weights as base64. Reading one cannot run code."""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from dataclasses import asdict
from itertools import pairwise
from typing import Any

import numpy as np
import torch

from compsparse.checks import check_count
from compsparse.digest import check_seal, parse_json, sealed
from compsparse.errors import CompsparseError, ConfigError, DataError
from compsparse.graph import FunctionGraph
from compsparse.graph.json_format import from_dict as graph_from_dict
from compsparse.graph.json_format import to_dict as graph_to_dict
from compsparse.models.fitted_graph import FittedGraph, over_columns
from compsparse.networks import MirrorConfig, make_plan, mirror
from compsparse.tables.coding import TableCode
from compsparse.tables.dates import ORDERS, ROUNDS
from compsparse.tables.inputs import DateColumn, Input, LeftOutColumn, MeanColumn, NumberColumn, TextColumn
from compsparse.tables.looking import Treatment
from compsparse.tables.notation import DECIMALS
from compsparse.training import TrainingStatus

MODEL_FORMAT = "compsparse.model"
MODEL_VERSION = 3
_KINDS = {
    "number": NumberColumn,
    "levels": TextColumn,
    "means": MeanColumn,
    "date": DateColumn,
    "left out": LeftOutColumn,
}
_STORED = {"float32": "<f4", "float64": "<f8", "int32": "<i4"}
DAMAGE = (
    *(KeyError, StopIteration, TypeError, ValueError, AttributeError, IndexError, RuntimeError, OverflowError),
    CompsparseError,
)
"""What reading values that are damaged may raise."""


def model_to_dict(model: FittedGraph) -> dict[str, Any]:
    """A model as JSON values, with their digest."""
    config = model.network.config
    if not isinstance(config.share, str):
        raise ConfigError("only models whose sharing is 'none', 'level' or 'all' can be written")
    return sealed(
        {
            "format": MODEL_FORMAT,
            "version": MODEL_VERSION,
            "graph": graph_to_dict(model.graph),
            **code_to_dict(model.code),
            "shape": {**asdict(config), "n_replicas": model.network.n_replicas},
            "weights": {name: packed_array(value.cpu().numpy()) for name, value in model.network.state_dict().items()},
            "targets": list(model.targets),
            "centre": list(model.centre),
            "scale": list(model.scale),
            "classes": None if model.classes is None else list(model.classes),
            "status": model.status.name,
            "seconds": model.seconds,
            "validation_loss": None if math.isnan(model.validation_loss) else model.validation_loss,
            "n_iter": model.n_iter,
        }
    )


def model_from_dict(data: Any, source: str = "the model") -> FittedGraph:
    """The model that :func:`model_to_dict` wrote; ``source`` begins the sentence about one that was changed."""
    if not isinstance(data, Mapping) or data.get("format") != MODEL_FORMAT:
        raise DataError(f"expected a JSON object with format {MODEL_FORMAT!r}")
    if data.get("version") not in range(1, MODEL_VERSION + 1):
        raise DataError(
            f"format version {data.get('version')!r} is unknown; this compsparse reads up to {MODEL_VERSION}"
        )
    content = check_seal(data, source)
    try:
        return _model(content)
    except DAMAGE as error:
        raise DataError(f"the model's JSON is damaged or incomplete: {first_line(error)}") from None


def model_from_text(text: str, source: str) -> FittedGraph:
    """The model in a JSON text, or in a record there that holds one; ``source`` names it in errors."""
    try:
        data = parse_json(text)
        if isinstance(data, dict) and data.get("format") != MODEL_FORMAT and "model" in data:
            if data["model"] is None:
                raise DataError("it is a graph without a fitted model")
            data = check_seal(data, "it")["model"]
        return model_from_dict(data, "it")
    except DataError as error:
        raise DataError(f"{source} holds no model that compsparse wrote: {first_line(error)}") from None


def _model(data: Mapping[str, Any]) -> FittedGraph:
    code = code_from_dict(data)
    graph = graph_from_dict(data["graph"])
    weights = {name: torch.as_tensor(unpacked_array(name, value)) for name, value in data["weights"].items()}
    columns = over_columns(graph, code)
    _check_shapes(columns, data["shape"], weights)
    network = mirror(columns, random_state=0, dtype=torch.float64, **data["shape"])
    network.load_state_dict(weights)
    targets, centre, scale = tuple(data["targets"]), tuple(data["centre"]), tuple(data["scale"])
    classes = None if data["classes"] is None else tuple(data["classes"])
    given = [len(targets), len(centre), len(scale)]
    if classes is not None:  # those of versions before 3 have no centre and no scale
        centre, scale = centre or (0.0,) * len(classes), scale or (1.0,) * len(classes)
        given = [len(classes), len(centre), len(scale)]
    if given != [network.n_outputs] * len(given):
        raise DataError(f"the network has {network.n_outputs} outputs, the record speaks of {max(given)}")
    return FittedGraph(
        graph=graph,
        code=code,
        network=network,
        targets=targets,
        centre=tuple(finite_number("the centre of a target", value) for value in centre),
        scale=tuple(_spread("the scale of a target", value) for value in scale),
        classes=classes,
        status=TrainingStatus[data["status"]],
        seconds=float(data["seconds"]),
        validation_loss=math.nan if data["validation_loss"] is None else float(data["validation_loss"]),
        n_iter=int(data["n_iter"]),
    )


def packed_array(values: np.ndarray) -> dict[str, Any]:
    """An array as its shape and base64, in as few bytes as hold it exactly."""
    whole = values.dtype.kind in "iu"
    # float32 is what is fitted; half the size of what predicts
    kind = "int32" if whole else "float32" if (values.astype("<f4") == values).all() else "float64"
    stored = np.asarray(values, dtype=_STORED[kind])
    return {"shape": list(values.shape), kind: base64.b64encode(stored.tobytes()).decode("ascii")}


def _check_shapes(graph: FunctionGraph, shape: Mapping[str, Any], weights: Mapping[str, torch.Tensor]) -> None:
    """Compares the network that is described with the weights that are there, before anything is made for it."""
    config = MirrorConfig(**{name: value for name, value in shape.items() if name != "n_replicas"})
    n_replicas = check_count("n_replicas", shape["n_replicas"])
    plan = make_plan(graph.pruned(), config.channels, config.out_channels, config.share)
    wanted: dict[str, tuple[int, ...]] = {}
    if len(weights) != 2 * len(plan.blocks) * (config.depth + 1):
        raise DataError("the weights are not those of the network that is described")
    for i, block in enumerate(plan.blocks):
        sizes = [block.fan_in, *[config.width] * config.depth, block.channels]
        for layer, (n_in, n_out) in enumerate(pairwise(sizes)):
            wanted[f"blocks.{i}.weights.{layer}"] = (n_replicas, block.count, n_out, n_in)
            wanted[f"blocks.{i}.biases.{layer}"] = (n_replicas, block.count, n_out)
    if wanted != {name: tuple(value.shape) for name, value in weights.items()}:
        raise DataError("the weights are not those of the network that is described")


def finite_number(what: str, value: Any) -> float:
    """A number that is finite.

    Raises:
        DataError: it is not.
    """
    number = float(value)
    if not math.isfinite(number):
        raise DataError(f"{what} must be a finite number, got {value!r}")
    return number


def _spread(what: str, value: Any) -> float:
    if not finite_number(what, value) > 0:
        raise DataError(f"{what} must be above zero, got {value!r}")
    return float(value)


def unpacked_array(name: str, entry: Mapping[str, Any]) -> np.ndarray:
    """The array that :func:`packed_array` wrote."""
    kind = next(kind for kind in _STORED if kind in entry)
    content = base64.b64decode(entry[kind], validate=True)
    array = np.frombuffer(content, dtype=_STORED[kind]).reshape(entry["shape"])
    if not np.isfinite(array).all():
        raise DataError(f"the weights {name!r} hold numbers that are not finite")
    return array.astype(np.int64 if kind == "int32" else np.float64)


# ---- columns --------------------------------------------------------------------------------------


def column_to_dict(column: Input) -> dict[str, Any]:
    """How a column is read, as JSON values."""
    kind = next(kind for kind, known in _KINDS.items() if isinstance(column, known))
    if isinstance(column, DateColumn):
        return {"kind": kind, **asdict(column), "coded": column_to_dict(column.coded)}
    return {"kind": kind, **asdict(column)}


def code_to_dict(code: TableCode) -> dict[str, Any]:
    """How a table is read, as JSON values."""
    return {
        "inputs": [column_to_dict(column) for column in code.inputs],
        "treatments": [asdict(treatment) for treatment in code.treatments],
        "na": list(code.na),
    }


def code_from_dict(data: Mapping[str, Any]) -> TableCode:
    """What :func:`code_to_dict` wrote."""
    treatments = (
        Treatment(str(t["column"]), tuple(map(str, t["inputs"])), str(t["sentence"]))
        for t in data.get("treatments", ())
    )
    inputs = tuple(_column(entry) for entry in data["inputs"])
    return TableCode(inputs, tuple(treatments), tuple(map(str, data.get("na", ()))))


def _column(entry: Mapping[str, Any]) -> Input:
    """The column of an entry; those of version 1 have no kind: they hold levels, or a mean and a scale."""
    kind = entry.get("kind", "levels" if "levels" in entry else "number")
    values: dict[str, Any] = {name: value for name, value in entry.items() if name != "kind"}
    what = f"column {entry['name']!r}"
    if kind == "levels":
        return TextColumn(**(values | {"levels": tuple(map(str, values["levels"]))}))
    if kind == "left out":
        return LeftOutColumn(**values)
    if kind == "date":
        coded = _column(values["coded"])
        if not isinstance(coded, (NumberColumn, TextColumn)):
            raise DataError(f"{what} must be coded as a number or as levels")
        if values["part"] not in ("days", *ROUNDS) or values["order"] not in ("", *ORDERS):
            raise DataError(f"{what} names a part of a date that is not known")
        return DateColumn(
            **(values | {"start": finite_number(f"the start of {what}", values["start"]), "coded": coded})
        )
    if kind == "means":
        return _mean_column(values, what)
    if values.get("decimal", ".") not in DECIMALS:
        raise DataError(f"{what} names a decimal sign that is not known")
    for name in {"mean", "low", "high"} & set(values):
        values[name] = finite_number(f"the {name} of {what}", values[name])
    values["knots"] = tuple(finite_number(f"a knot of {what}", knot) for knot in values.get("knots", ()))
    if any(not a < b for a, b in pairwise(values["knots"])):
        raise DataError(f"the knots of {what} must rise")
    return NumberColumn(**(values | {"scale": _spread(f"the scale of {what}", values["scale"])}))


def _mean_column(values: Mapping[str, Any], what: str) -> MeanColumn:
    rows = [
        [finite_number(f"a code of {what}", x) for x in row]
        for row in (*values["means"], values["rare"], values["missing"])
    ]
    levels = tuple(map(str, values["levels"]))
    if len({len(row) for row in rows}) != 1 or len(rows) != len(levels) + 2:
        raise DataError(f"{what} must hold one code for each level and target")
    *means, rare, missing = (tuple(row) for row in rows)
    return MeanColumn(values["name"], levels, tuple(means), rare, missing)


def first_line(error: BaseException) -> str:
    """An error in one line."""
    if isinstance(error, KeyError):
        return f"there is no {error}"
    return next(iter(str(error).strip().splitlines()), type(error).__name__)

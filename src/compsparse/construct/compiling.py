"""The verb: a function graph, a box and a tolerance become a network with a certificate."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, get_args

import numpy as np
import torch

from compsparse.boxes import Bounds, Side, read_box
from compsparse.certificate import Certificate, Rigour
from compsparse.checks import (
    RandomState,
    brief,
    check_choice,
    check_count,
    check_flag,
    check_mapping,
    check_number,
    suggests_options,
)
from compsparse.clock import Deadline, TimeIsOver, within
from compsparse.construct.assembly import stacked
from compsparse.construct.building import Built, build
from compsparse.construct.enclosure import bounds_on
from compsparse.construct.gadget import numbers_between
from compsparse.construct.kuhn import grid_for
from compsparse.construct.lowering import lower_graph
from compsparse.construct.opaque import DeclaredBounds, Opaque, estimated_bounds
from compsparse.construct.propagation import tightened
from compsparse.construct.record import PRECISIONS, Compiled, CompiledNode, Precision
from compsparse.construct.refutation import CertificateError, Seen, at, search
from compsparse.construct.subject import HoldsFunction, Subject, subject_of
from compsparse.construct.tolerances import StepError
from compsparse.errors import ConfigError
from compsparse.graph import FunctionGraph, Node
from compsparse.models import FittedGraph
from compsparse.networks import MirrorNetwork
from compsparse.surroundings import usual_settings

CompileMethod = Literal["auto", "steps", "uniform", "kuhn"]
_MOST_POINTS = 10_000_000
_SHORT_SEARCH = 1000
_LARGEST_GRID = 4
"""Arguments beyond which a node is never put on a grid by itself."""


@suggests_options
@usual_settings()
def compile(
    function: FunctionGraph | HoldsFunction | FittedGraph | MirrorNetwork | Callable[..., Any] | str,
    bounds: Bounds,
    tol: float = 1e-3,
    method: CompileMethod = "auto",
    *,
    dtype: Precision = "float64",
    declared: Mapping[str, DeclaredBounds] | None = None,
    estimate: bool = False,
    n_points: int = 20_000,
    time_limit: float | None = None,
    random_state: RandomState = None,
) -> Compiled:
    """An explicit sparse ReLU network whose largest error on a box is certified to be at most ``tol``.

    Args:
        function: a function graph of formulas, an expression, a Python function that can be traced, or something that
            was found or fitted: a discovery, a fitted graph, a mirrored network. A Python function is also called, with
            arrays and with numbers, and refused where it does not answer as its graph does.
        bounds: (low, high) of every input, by name or in order; one pair serves all.
        tol: the largest error allowed at any point of the box, rounding included.
        method: ``steps`` takes formulas apart into affine forms, ReLUs, curves of one variable with free knots, and
            products by depth; ``uniform`` does so with equal pieces; ``kuhn`` interpolates each node on a grid;
            ``auto`` takes the cheaper of steps and a grid, node by node.
        dtype: the precision in which the network computes, and in which it is written to files.
        declared: bounds on the derivatives of nodes without a formula; a function that cannot be traced is node ``f``.
        estimate: take bounds of nodes without a formula and without declared ones from samples. The certificate is
            then an estimate.
        n_points: points at which the error is searched. What the search sees can refute the certificate.
        time_limit: seconds for the construction. When they are over, the first network that keeps the tolerance is
            returned instead of a smaller one, after a short search.

    Raises:
        GraphError: a node has a pole or a jump in the box, or no formula and no bounds; or the function does not
            answer as its graph does.
        ConfigError: the bounds are no bounded box, ``tol`` is too small for the precision, or bounds that were
            declared or estimated do not hold.
        TimeIsOver: no network was built in time.

    >>> built = compile("max(a, b) - abs(c)", (-1, 1))
    >>> built.bound, built.size.units
    (0.0, 2)
    >>> built = compile("sin(2*a - b + a*b)", (-1, 1), tol=0.01)
    >>> built.certificate.upper <= 0.01, built.certificate.rigour.value
    (True, 'rigorous')
    """
    tol = check_number("tol", tol, above=0)
    check_choice("method", method, get_args(CompileMethod))
    kind = PRECISIONS[check_choice("dtype", dtype, PRECISIONS)]
    check_flag("estimate", estimate)
    check_count("n_points", n_points, most=_MOST_POINTS)
    known = {} if declared is None else dict(check_mapping("declared", declared))
    subject = subject_of(function, bounds, known, estimate=estimate)
    graph = subject.graph
    box = read_box(bounds, graph.inputs)
    sides = _sides_held(graph, box, kind)
    deadline = Deadline.after(time_limit)
    with within(time_limit):
        opaque = _opaque(graph, sides, known, estimate, random_state)
        built = _compiled(graph, sides, tol, method, kind, opaque)
    if deadline.is_over:
        n_points = min(n_points, _SHORT_SEARCH)
    network = stacked(graph.n_inputs, built.gadgets, built.program.outputs, kind)
    seen = search(network, subject, box, n_points=n_points, random_state=random_state)
    bound = max(built.bounds, default=0.0)
    certificate = _certificate(subject, opaque, bound + built.rounding, seen, tol, dtype)
    nodes = _nodes(built, opaque)
    return Compiled(graph, box, tol, method, dtype, network, certificate, nodes, bound, built.rounding, seen.largest)


# ---- what was asked for -----------------------------------------------------------------------


def _sides_held(graph: FunctionGraph, box: Sequence[Side], kind: torch.dtype) -> list[Side]:
    """The sides from the first to the last number of the type: a network of this type has no other inputs."""
    found = []
    for name, (low, high) in zip(graph.inputs, box, strict=True):
        ends = numbers_between(low, high, kind)
        if ends is None:
            raise ConfigError(
                f"there is no number of {str(kind)[6:]} on the side of {name!r}, from {low!r} to {high!r}"
            )
        found.append(ends)
    return found


def _opaque(
    graph: FunctionGraph,
    box: Sequence[Side],
    declared: Mapping[str, DeclaredBounds],
    estimate: bool,
    random_state: RandomState,
) -> dict[str, Opaque]:
    """Nodes without a formula, with their bounds; the graph above them must have formulas where samples are needed."""
    for name, bounds in declared.items():
        if name not in graph or name in graph.inputs:
            raise ConfigError(f"declared names {brief(name)}, which is no node")
        if not isinstance(bounds, DeclaredBounds) or len(bounds.lipschitz) != graph[name].arity:
            raise ConfigError(f"declared bounds of {name!r} must be DeclaredBounds with {graph[name].arity} slopes")
    found: dict[str, Opaque] = {}
    for node in graph.nodes:
        own = node.constituent
        if own is None or own.formula is not None or own.function is None:
            continue
        known = declared.get(node.name)
        if known is None and own.lipschitz is not None and np.isfinite(own.lipschitz).all():
            known = DeclaredBounds(own.lipschitz)
        if known is None and estimate:
            sides = _parent_ranges(graph, node, box, found)
            sampled = estimated_bounds(node.name, own.function, sides, random_state)
            found[node.name] = Opaque(node.name, own.function, sampled, is_estimated=True)
        elif known is not None:
            found[node.name] = Opaque(node.name, own.function, known, is_estimated=False)
    return found


def _parent_ranges(graph: FunctionGraph, node: Node, box: Sequence[Side], found: Mapping[str, Opaque]) -> list[Side]:
    above = [p for p in node.parents if p not in graph.inputs]
    sides = dict(zip(graph.inputs, box, strict=True))
    if above:
        sides = lower_graph(FunctionGraph(graph.inputs, graph.nodes, above).pruned(), box, 1.0, opaque=found).sides
    return [sides[p] for p in node.parents]


# ---- building ---------------------------------------------------------------------------------


def _compiled(
    graph: FunctionGraph,
    box: Sequence[Side],
    tol: float,
    method: str,
    kind: torch.dtype,
    opaque: Mapping[str, Opaque],
) -> Built:
    uniform = method == "uniform"

    def with_grids(grids: frozenset[str]) -> Built:
        return build(lower_graph(graph, box, tol, grids, opaque), tol, kind, uniform=uniform)

    if method == "kuhn":
        return with_grids(frozenset(n.name for n in graph.nodes))
    grids: frozenset[str] = frozenset()
    while True:
        try:
            best = with_grids(grids)
            break
        except StepError as error:
            # what cannot be taken apart may still be interpolated as a whole
            if method != "auto" or error.node in grids or not 2 <= graph[error.node].arity <= _LARGEST_GRID:
                raise
            grids |= {error.node}
    with contextlib.suppress(TimeIsOver):  # what is built keeps the tolerance; what follows makes it smaller
        if method == "auto":
            cheaper = grids | _cheaper_on_a_grid(best)
            if cheaper != grids:
                best = min(best, with_grids(cheaper), key=lambda built: built.n_units)
        best = tightened(best, box, tol, partial(build, best.program, dtype=kind, uniform=uniform))
    return best


def _cheaper_on_a_grid(built: Built) -> frozenset[str]:
    """Nodes that a grid with fewer units brings to the error that their steps have."""
    found, program = set(), built.program
    for node in program.graph.nodes:
        if not 2 <= node.arity <= _LARGEST_GRID or node.constituent is None or node.constituent.formula is None:
            continue
        units = sum(built.gadgets[s.wire].n_units for s in program.steps if s.node == node.name)
        own = _own_error(node.name, built)
        if units <= 3 * 2**node.arity or own == 0:
            continue
        with contextlib.suppress(ConfigError):
            grid_for(node.constituent.formula, [program.sides[p] for p in node.parents], own, most=units // 3)
            found.add(node.name)
    return frozenset(found)


def _own_error(name: str, built: Built) -> float:
    """The error of a node's value if everything before it were exact."""
    program = built.program
    if name not in program.forms:
        return 0.0
    errors = dict.fromkeys(program.ranges.wires, 0.0)
    for step in program.steps:
        if step.node == name:
            place = built.tolerances.places[step.wire]
            off = [form.error(errors) for form in step.forms]
            inherited = sum(s * e for s, e in zip(place.slopes, off, strict=True) if e)
            errors[step.wire] = built.gadgets[step.wire].error + place.cut + inherited
    return program.forms[name].error(errors)


def _error(name: str, built: Built) -> float:
    """The error of a node's value; that of a folded curve is what it makes of the error of its argument."""
    program, errors = built.program, dict.fromkeys(built.program.ranges.wires, 0.0) | built.errors
    if name in program.forms:
        return program.forms[name].error(errors)
    curve = program.curves[name]
    off = curve.base.error(errors)
    low, high = program.ranges.of(curve.base)
    slope = bounds_on(curve.formula, [(low - off, high + off)]).slopes[0] if off else 0.0
    return slope * off if off else 0.0


# ---- the record -------------------------------------------------------------------------------


def _certificate(
    subject: Subject, opaque: Mapping[str, Opaque], upper: float, seen: Seen, tol: float, dtype: Precision
) -> Certificate:
    graph = subject.graph
    given = ", ".join(o.name for o in opaque.values() if not o.is_estimated)
    guessed = ", ".join(o.name for o in opaque.values() if o.is_estimated)
    _check_not_refuted(graph, given, guessed, upper, seen, tol)
    quantity = "largest error of the network on the domain"
    if dtype != "float64":
        quantity += f", computed in {dtype}"
    if given:
        quantity += f", if the declared bounds of {given} hold"
    if subject.jump:
        quantity += f", with jumps of at most {subject.jump:.2g} closed where the sides of a choice meet up to rounding"
    assumes = [
        "the function is its formula in exact arithmetic, with numbers that are the doubles they are written as; parts "
        "without a variable are doubles too"
    ]
    if given:
        assumes.append(f"the declared bounds of {given} hold, also a little beyond the exact ranges")
    if guessed:
        assumes.append(f"the derivatives of {guessed} are nowhere larger than samples suggest")
    if seen.largest.value > upper:
        quantity += (
            ", against the formula in exact arithmetic (the function as it is computed was seen to be off by "
            f"{seen.largest.value:.3g} at {at(graph, seen.largest.point)})"
        )
    return Certificate(
        quantity,
        upper,
        seen.at_least,
        upper,
        Rigour.ESTIMATED if guessed else Rigour.DECLARED if given else Rigour.RIGOROUS,
        tuple(assumes),
        "interval bounds on ranges, slopes and second derivatives of every step; lower end by a search over "
        f"{seen.largest.n_points:,} points",
    )


def _check_not_refuted(graph: FunctionGraph, given: str, guessed: str, upper: float, seen: Seen, tol: float) -> None:
    """What the search saw must be allowed by what was computed."""
    place = at(graph, seen.largest.point)
    if seen.at_least > upper:
        off = f"at {place} the network is off by {seen.at_least:.4g}, and {upper:.4g} was computed"
        if guessed:
            raise ConfigError(
                f"the bounds of {guessed} that were estimated from samples do not hold: {off}; declare them"
            )
        if given:
            raise ConfigError(f"the declared bounds of {given} do not hold: {off}")
        raise CertificateError(f"the certificate does not hold: {off}. This is a fault of compsparse: please report it")
    if seen.largest.value > tol:
        raise ConfigError(
            f"the function itself, computed in double precision, is off from its formula: at {place} it differs from "
            f"the network by {seen.largest.value:.3g}, which is above tol = {tol:.3g}; rewrite the formula so that it "
            "loses fewer digits, or ask for a larger tol"
        )


def _nodes(built: Built, opaque: Mapping[str, Opaque]) -> tuple[CompiledNode, ...]:
    program, graph = built.program, built.program.graph
    factors = path_factors(graph, {name: b.slopes for name, b in program.node_bounds.items()})
    ends = {name: (bound,) for name, bound in zip(graph.outputs, built.bounds, strict=True)}
    found = []
    for node in graph.nodes:
        gadgets = [built.gadgets[s.wire] for s in program.steps if s.node == node.name]
        bounds, is_folded = program.node_bounds[node.name], node.name in program.curves
        rigour = Rigour.RIGOROUS
        if node.name in opaque:
            rigour = Rigour.ESTIMATED if opaque[node.name].is_estimated else Rigour.DECLARED
        found.append(
            CompiledNode(
                node.name,
                node.label,
                (*sorted(Counter(g.method for g in gadgets).items()), *([("folded into its readers", 1)] * is_folded)),
                sum(g.n_units for g in gadgets),
                _own_error(node.name, built),
                min([_error(node.name, built), *ends.get(node.name, ())]),
                bounds.side,
                bounds.slopes,
                factors[node.name],
                rigour,
            )
        )
    return tuple(found)


def path_factors(graph: FunctionGraph, slopes: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """The sum over all paths from a name to an output of the products of slopes along it.

    >>> graph = FunctionGraph.from_expression(["a + b", "a - b"])
    >>> path_factors(graph, {node.name: (1.0, 1.0) for node in graph.nodes})["a"]
    2.0
    """
    factors = {name: float(name in graph.outputs) for name in graph.index}
    for node in reversed(graph.nodes):
        for parent, slope in zip(node.parents, slopes[node.name], strict=True):
            if factors[node.name]:
                factors[parent] += factors[node.name] * slope
    return factors

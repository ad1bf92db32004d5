"""The verb: a function graph, a box and a tolerance become a network with a certificate."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol, get_args, runtime_checkable

import numpy as np

from compsparse.certificate import Certificate, Rigour
from compsparse.checks import (
    RandomState,
    brief,
    check_choice,
    check_count,
    check_flag,
    check_mapping,
    check_name_list,
    check_number,
)
from compsparse.construct.assembly import stacked
from compsparse.construct.building import Built, build
from compsparse.construct.continuity import without_choices
from compsparse.construct.enclosure import bounds_on
from compsparse.construct.fitted import fitted_graph_formulas, model_graph, network_graph
from compsparse.construct.kuhn import grid_for
from compsparse.construct.lowering import Program, lower_graph
from compsparse.construct.opaque import DeclaredBounds, Opaque, estimated_bounds
from compsparse.construct.record import Compiled, CompiledNode
from compsparse.construct.search import LargestError, largest_error
from compsparse.construct.tolerances import StepError
from compsparse.errors import ConfigError, GraphError, TraceError
from compsparse.graph import Constituent, FunctionGraph, Node, trace
from compsparse.models import FittedGraph
from compsparse.networks import MirrorNetwork

CompileMethod = Literal["auto", "steps", "uniform", "kuhn"]
Domain = Mapping[str, tuple[float, float]] | Sequence[tuple[float, float]] | tuple[float, float]
_MOST_POINTS = 10_000_000
_LARGEST_GRID = 4
"""Arguments beyond which a node is never put on a grid by itself."""


@runtime_checkable
class HoldsFunction(Protocol):
    """Something that was found and holds a function, such as a discovery."""

    @property
    def function(self) -> FunctionGraph | FittedGraph:
        """What is compiled."""


def compile(
    function: FunctionGraph | HoldsFunction | FittedGraph | MirrorNetwork | Callable[..., Any] | str,
    domain: Domain,
    tol: float = 1e-3,
    method: CompileMethod = "auto",
    *,
    declared: Mapping[str, DeclaredBounds] | None = None,
    estimate: bool = False,
    n_points: int = 20_000,
    random_state: RandomState = 0,
) -> Compiled:
    """An explicit sparse ReLU network whose largest error on a box is certified to be at most ``tol``.

    Args:
        function: a function graph of formulas, an expression, a Python function that can be traced, or something that
            was found or fitted: a discovery, a fitted graph, a mirrored network.
        domain: (low, high) of every input, by name or in order; one pair serves all.
        tol: the largest error allowed at any point of the domain, rounding in double precision included.
        method: ``steps`` takes formulas apart into affine forms, ReLUs, curves of one variable with free knots, and
            products by depth; ``uniform`` does so with equal pieces; ``kuhn`` interpolates each node on a grid;
            ``auto`` takes the cheaper of steps and a grid, node by node.
        declared: bounds on the derivatives of nodes without a formula; a function that cannot be traced is node ``f``.
        estimate: take bounds of nodes without a formula and without declared ones from samples. The certificate is
            then an estimate.
        n_points: points at which the error is searched, for the lower end of the certificate.

    Raises:
        GraphError: a node has a pole or a jump on the domain, or no formula and no bounds.
        ConfigError: the domain is not a bounded box, or ``tol`` is too small for double precision.

    >>> built = compile("max(a, b) - abs(c)", (-1, 1))
    >>> built.bound, built.size.units
    (0.0, 2)
    >>> built = compile("sin(2*a - b + a*b)", (-1, 1), tol=0.01)
    >>> built.certificate.upper <= 0.01, built.certificate.rigour.value
    (True, 'rigorous')
    """
    tol = check_number("tol", tol, above=0)
    check_choice("method", method, get_args(CompileMethod))
    check_flag("estimate", estimate)
    check_count("n_points", n_points, most=_MOST_POINTS)
    known = {} if declared is None else dict(check_mapping("declared", declared))
    graph = without_choices(_graph(function, domain, bool(known) or estimate)).pruned()
    box = check_domain(domain, graph.inputs)
    opaque = _opaque(graph, box, known, estimate, random_state)
    program, built = _compiled(graph, box, tol, method, opaque)
    network = stacked(graph.n_inputs, built.gadgets, built.outputs)
    observed = largest_error(network, graph, box, n_points=n_points, random_state=random_state)
    bound = max(built.bounds, default=0.0)
    certificate = _certificate(graph, opaque, bound, built.roundings["float64"], observed)
    nodes = _nodes(graph, program, built, opaque)
    return Compiled(graph, box, tol, method, network, certificate, nodes, bound, built.roundings, observed)


# ---- what was asked for -----------------------------------------------------------------------


def check_domain(domain: Any, names: Sequence[str]) -> tuple[tuple[float, float], ...]:
    """A bounded box with a side for every input: by name, in order, or one pair for all.

    >>> check_domain((0, 1), ["a", "b"])
    ((0.0, 1.0), (0.0, 1.0))
    """
    names = check_name_list("names", names)
    if isinstance(domain, Mapping):
        strange = [key for key in domain if key not in names]
        if strange:
            raise ConfigError(f"domain names {brief(strange[0])}, which is no input; the inputs are {', '.join(names)}")
        missing = [name for name in names if name not in domain]
        if missing:
            raise ConfigError(f"domain has no side for input {missing[0]!r}")
        sides = [domain[name] for name in names]
    else:
        try:
            sides = list(domain)
        except TypeError:
            raise ConfigError(f"domain must be (low, high) for every input, got {brief(domain)}") from None
        if len(sides) == 2 and all(isinstance(s, (int, float, np.number)) for s in sides):
            sides = [sides] * len(names)
        if len(sides) != len(names):
            raise ConfigError(f"domain must have one (low, high) for each of the {len(names)} inputs, got {len(sides)}")
    return tuple(_side(name, side) for name, side in zip(names, sides, strict=True))


def _side(name: str, side: Any) -> tuple[float, float]:
    try:
        low, high = side
    except (TypeError, ValueError):
        raise ConfigError(f"the side of input {name!r} must be (low, high), got {brief(side)}") from None
    low, high = (check_number(f"the side of input {name!r}", end) for end in (low, high))
    if not low < high:
        raise ConfigError(f"the side of input {name!r} must have low < high, got ({low:g}, {high:g})")
    return low, high


def _graph(function: Any, domain: Domain, may_be_opaque: bool) -> FunctionGraph:
    if isinstance(function, HoldsFunction):
        function = function.function
    if isinstance(function, FittedGraph):
        return fitted_graph_formulas(function)
    if isinstance(function, MirrorNetwork):
        return network_graph(function)
    if isinstance(function, FunctionGraph):
        return function
    if isinstance(function, str):
        return FunctionGraph.from_expression(function)
    found = model_graph(function, _n_sides(domain))
    if found is not None:
        return found
    if not callable(function):
        raise ConfigError(f"expected a function graph, an expression or a function, got {brief(function)}")
    names = list(domain) if isinstance(domain, Mapping) else None
    several = names is None and not _is_pair(domain)
    inputs: Any = names if names is not None else len(list(domain)) if several else None
    try:
        return trace(function, inputs if names is not None or _takes_one(function) else None, fuse=True)
    except TraceError as error:
        if not may_be_opaque:
            raise GraphError(
                f"{error}; a function that cannot be traced needs declared bounds, or estimate=True for an estimate"
            ) from None
    count = inputs if isinstance(inputs, int) else len(names or [])
    own = names or [f"x{i}" for i in range(count or len(inspect.signature(function).parameters))]
    called = _by_columns(function) if _takes_one(function) and len(own) > 1 else function
    return FunctionGraph(own, [Node("f", tuple(own), Constituent.from_callable(called, len(own), name="f"))])


def _n_sides(domain: Any) -> int | None:
    """How many inputs the domain is for, where it says so."""
    return len(domain) if isinstance(domain, Mapping) or not _is_pair(domain) else None


def _is_pair(domain: Any) -> bool:
    try:
        return len(domain) == 2 and all(isinstance(s, (int, float, np.number)) for s in domain)
    except TypeError:
        raise ConfigError(f"domain must be (low, high) for every input, got {brief(domain)}") from None


def _takes_one(function: Callable[..., Any]) -> bool:
    try:
        return len(inspect.signature(function).parameters) == 1
    except (TypeError, ValueError):
        return False


def _by_columns(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*columns: Any) -> Any:
        return function(np.stack(columns, axis=-1))

    return call


def _opaque(
    graph: FunctionGraph,
    box: Sequence[tuple[float, float]],
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


def _parent_ranges(
    graph: FunctionGraph, node: Node, box: Sequence[tuple[float, float]], found: Mapping[str, Opaque]
) -> list[tuple[float, float]]:
    above = [p for p in node.parents if p not in graph.inputs]
    sides = dict(zip(graph.inputs, box, strict=True))
    if above:
        part = FunctionGraph(graph.inputs, graph.nodes, above).pruned()
        bounds = lower_graph(part, box, 1.0, opaque=found).node_bounds
        sides |= {name: (bounds[name].lower, bounds[name].upper) for name in above}
    return [sides[p] for p in node.parents]


# ---- building ---------------------------------------------------------------------------------


def _compiled(
    graph: FunctionGraph,
    box: Sequence[tuple[float, float]],
    tol: float,
    method: str,
    opaque: Mapping[str, Opaque],
) -> tuple[Program, Built]:
    def with_grids(grids: frozenset[str]) -> tuple[Program, Built]:
        program = lower_graph(graph, box, tol, grids, opaque)
        outputs = [program.forms[name] for name in graph.outputs]
        return program, build(program, outputs, tol, uniform=method == "uniform")

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
    if method == "auto":
        cheaper = grids | _cheaper_on_a_grid(graph, box, *best)
        if cheaper != grids:
            other = with_grids(cheaper)
            best = min(best, other, key=lambda pair: sum(g.n_units for g in pair[1].gadgets.values()))
    return best


def _cheaper_on_a_grid(
    graph: FunctionGraph, domain: Sequence[tuple[float, float]], program: Program, built: Built
) -> frozenset[str]:
    """Nodes that a grid with fewer units brings to the error that their steps have."""
    found = set()
    sides = dict(zip(graph.inputs, domain, strict=True))
    for node in graph.nodes:
        if not 2 <= node.arity <= _LARGEST_GRID or node.constituent is None or node.constituent.formula is None:
            continue
        units = sum(built.gadgets[s.wire].n_units for s in program.steps if s.node == node.name)
        own = _own_error(node.name, program, built)
        if units <= 3 * 2**node.arity or own == 0:
            continue
        bounds = program.node_bounds
        box = [sides[p] if p in sides else (bounds[p].lower, bounds[p].upper) for p in node.parents]
        try:
            grid_for(node.constituent.formula, box, own, most=units // 3)
        except ConfigError:
            continue
        found.add(node.name)
    return frozenset(found)


def _own_error(name: str, program: Program, built: Built) -> float:
    """The error of a node's value if everything before it were exact."""
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


def _error(name: str, program: Program, built: Built) -> float:
    """The error of a node's value; that of a folded curve is what it makes of the error of its argument."""
    errors = {**dict.fromkeys(program.ranges.wires, 0.0), **built.errors}
    if name in program.forms:
        return program.forms[name].error(errors)
    curve = program.curves[name]
    off = curve.base.error(errors)
    low, high = program.ranges.of(curve.base)
    slope = bounds_on(curve.formula, [(low - off, high + off)]).slopes[0] if off else 0.0
    return slope * off if off else 0.0


# ---- the record -------------------------------------------------------------------------------


def _certificate(
    graph: FunctionGraph, opaque: Mapping[str, Opaque], bound: float, rounding: float, observed: LargestError
) -> Certificate:
    assumes = ["numbers in formulas are the doubles they are written as, and parts without a variable are doubles too"]
    given = [o for o in opaque.values() if not o.is_estimated]
    guessed = [o for o in opaque.values() if o.is_estimated]
    if given:
        assumes.append(
            f"the declared bounds of {', '.join(o.name for o in given)} hold, also a little beyond the exact ranges"
        )
    if guessed:
        names = ", ".join(o.name for o in guessed)
        assumes.append(f"the derivatives of {names} are nowhere larger than samples suggest")
    upper = bound + rounding
    return Certificate(
        "largest error of the network on the domain",
        upper,
        max(min(observed.value - 2 * rounding - 1e-12, upper), 0.0),
        upper,
        Rigour.ESTIMATED if guessed else Rigour.RIGOROUS,
        tuple(assumes),
        "interval bounds on ranges, slopes and second derivatives of every step; lower end by a search over "
        f"{observed.n_points:,} points",
    )


def _nodes(
    graph: FunctionGraph, program: Program, built: Built, opaque: Mapping[str, Opaque]
) -> tuple[CompiledNode, ...]:
    factors = path_factors(graph, {name: b.slopes for name, b in program.node_bounds.items()})
    found = []
    for node in graph.nodes:
        gadgets = [built.gadgets[s.wire] for s in program.steps if s.node == node.name]
        bounds, is_folded = program.node_bounds[node.name], node.name in program.curves
        rigour = Rigour.RIGOROUS
        if node.name in opaque and opaque[node.name].is_estimated:
            rigour = Rigour.ESTIMATED
        found.append(
            CompiledNode(
                node.name,
                node.label,
                (*sorted(Counter(g.method for g in gadgets).items()), *([("folded into its readers", 1)] * is_folded)),
                sum(g.n_units for g in gadgets),
                _own_error(node.name, program, built),
                _error(node.name, program, built),
                (bounds.lower, bounds.upper),
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

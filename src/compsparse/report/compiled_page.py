"""The page of a compiled network: the graph with units and error, the certificate in words, counts side by side."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

import numpy as np

from compsparse.construct import Compiled, UnitCounts, unit_counts
from compsparse.errors import ConfigError
from compsparse.graph import draw_svg
from compsparse.report.figure import Figure
from compsparse.report.page import Section, table, write_page


def compiled_page(path: str | Path, built: Compiled, others: Sequence[Compiled] = ()) -> Path:
    """Writes the page and returns its path; ``others`` are compiled for other tolerances, for the chart of rates."""
    drawing = f'<div class="graph">{units_drawing(built)}</div>'
    sections = [
        Section("The certificate", "".join(f"<p>{escape(s)}</p>" for s in certificate_sentences(built))),
        Section("The graph, with the units of every node", drawing + _node_table(built), (units_figure(built),)),
        Section("Counts side by side", *_counts(built, others)),
    ]
    title = f"Compiled: {', '.join(built.graph.outputs)}"
    return write_page(path, title, compiled_lead(built), sections, "Made by compsparse.")


def compiled_lead(built: Compiled) -> str:
    """The size of the network and its error, in a sentence."""
    return (
        f"{built.size.units:,} ReLUs in {built.size.depth} layers stand for a function of {built.graph.n_inputs} "
        f"inputs. {_quantity(built)}: at most {built.certificate.upper:.3g}."
    )


def units_drawing(built: Compiled) -> str:
    """The graph with the units of every node, as SVG."""
    labels = {node.name: f"{node.name}: {node.units:,} units" for node in built.nodes}
    hover = {node.name: f"{node.label}: error at most {node.error:.3g}" for node in built.nodes}
    return draw_svg(built.graph, labels=labels, hover=hover)


def units_figure(built: Compiled) -> Figure:
    """Units of every node."""
    rows = tuple({"node": node.name, "units": node.units} for node in built.nodes)
    return Figure("Units of every node", rows, "node", "units", mark="bars")


def rates_figure(counts: Sequence[UnitCounts]) -> Figure:
    """Units against the tolerance: built, counted, and for one grid over all inputs."""
    rows = []
    for found in counts:
        kinds = {
            "built": float(np.log10(max(found.units, 1))),
            "theorem, deep": found.log10_deep,
            "theorem, deep, with path factors": found.log10_deep_with_factors,
            "theorem, shallow": found.log10_shallow,
            "one grid over all inputs": found.log10_shallow_built,
        }
        rows += [
            {"tol": found.tol, "log10 of units": value, "network": kind}
            for kind, value in kinds.items()
            if np.isfinite(value)
        ]
    return Figure("Units against the tolerance", tuple(rows), "tol", "log10 of units", series="network", log_x=True)


def certificate_sentences(built: Compiled) -> list[str]:
    """What the certificate says, what was searched, and what is taken for granted."""
    point = ", ".join(
        f"{name} = {value:.4g}" for name, value in zip(built.graph.inputs, built.observed.point, strict=True)
    )
    sides = ", ".join(
        f"{name} from {low:g} to {high:g}" for name, (low, high) in zip(built.graph.inputs, built.domain, strict=True)
    )
    size = built.size
    return [
        f"The domain: {sides}.",
        f"{_quantity(built)}: at most {built.certificate.upper:.4g} "
        f"({built.certificate.rigour.value}: {built.certificate.rigour.sentence}).",
        f"In exact arithmetic the bound is {built.bound:.4g}; computing in {built.dtype} adds at most "
        f"{built.rounding:.2g}.",
        f"A search over {built.observed.n_points:,} points saw {built.observed.value:.4g}, at {point}.",
        f"Units are rows with a ReLU. {size.wires:,} further rows carry numbers past a layer; as pairs of ReLUs they "
        f"would make {size.strict_units:,} units. {size.parameters:,} parameters are not zero.",
        *(f"It takes for granted that {a}." for a in built.certificate.assumes),
    ]


def _quantity(built: Compiled) -> str:
    """What is bounded, with its conditions, as a sentence begins."""
    text = built.certificate.quantity
    return text[0].upper() + text[1:]


def _node_table(built: Compiled) -> str:
    rows = [
        [
            node.name,
            node.label,
            ", ".join(f"{count} x {name}" if count > 1 else name for name, count in node.methods) or "exact or folded",
            node.units,
            f"{node.own_error:.3g}",
            f"{node.error:.3g}",
            f"{node.range[0]:.4g} to {node.range[1]:.4g}",
            f"{node.path_factor:.3g}",
        ]
        for node in built.nodes
    ]
    columns = ["node", "function", "made by", "units", "own error", "error", "range", "path factor"]
    return table(columns, rows)


def _counts(built: Compiled, others: Sequence[Compiled]) -> tuple[str, tuple[Figure, ...]]:
    try:
        found = [unit_counts(b) for b in (built, *others)]
    except ConfigError:  # several outputs
        return "<p>A shallow network is counted for one output.</p>", ()
    own = found[0]
    rows: list[list[object]] = [
        ["this network", f"{own.units:,}"],
        ["theorem, deep: sum of eps^(-d/m), no constants", _power(own.log10_deep)],
        ["the same with path factors and the split", _power(own.log10_deep_with_factors)],
        ["theorem, shallow: eps^(-n/m), no constants", _power(own.log10_shallow)],
        ["one grid over all inputs, certified", _power(own.log10_shallow_built)],
    ]
    return table(["network", "units"], rows), (rates_figure(found),) if others else ()


def _power(log10: float) -> str:
    if np.isinf(log10):
        return "no bound"
    return f"{10**log10:,.0f}" if log10 < 7 else f"10^{log10:.1f}"

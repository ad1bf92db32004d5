"""``compsparse graph``."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Annotated

import typer

from compsparse.cli.app import JsonOption, app, out, print_json, say
from compsparse.errors import GraphError
from compsparse.files import check_writable, read_text, write_text
from compsparse.graph import FunctionGraph, draw_svg
from compsparse.text import printable


@app.command()
def graph(
    expression: Annotated[str, typer.Argument(help="An expression such as 'tanh(a*b + sin(c*d))', or a .json file.")],
    eps: Annotated[float, typer.Option(help="Accuracy for the unit counts of the Mhaskar-Poggio theorem.")] = 0.01,
    svg: Annotated[Path | None, typer.Option(help="Write a drawing to this file.")] = None,
    json_: JsonOption = False,
) -> None:
    """Show the function graph of an expression: its tree, its modules, its complexity."""
    if svg is not None:
        check_writable(svg)
    found = graph_from(expression)
    count = found.complexity(eps)
    if svg is not None:
        write_text(svg, draw_svg(found))
    modules = sorted((sorted(m) for m in found.modules), key=lambda m: (len(m), m))
    if json_:
        print_json(
            {
                "graph": json.loads(found.to_json()),
                "modules": modules,
                "log10_shallow": _finite(count.log10_shallow),
                "log10_deep": _finite(count.log10_deep),
                "assumptions": count.assumptions,
            }
        )
        return
    say(str(found))
    out.print()
    listed = ", ".join("{" + ", ".join(m) + "}" for m in modules) or "none"
    say(f"modules: {listed}")
    say(
        f"units for accuracy {eps:g}, up to constants: 10^{count.log10_deep:.1f} deep, "
        f"10^{count.log10_shallow:.1f} shallow",
    )
    for line in count.assumptions:
        say(f"  assuming {line}", style="dim")
    if svg is not None:
        say(f"drawing: {svg}")


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def graph_from(text: str) -> FunctionGraph:
    """The graph of an expression, or of a .json file."""
    if not text.endswith(".json"):
        return FunctionGraph.from_expression(text)
    try:
        return FunctionGraph.from_json(read_text(text))
    except GraphError as error:
        raise GraphError(f"cannot read {printable(text)}: {error}") from None

"""``compsparse graph``, ``compile`` and ``verify``."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from compsparse.boxes import read_box_text
from compsparse.cli.app import JsonOption, app, out, print_json, say, seconds
from compsparse.cli.tables import TimeLimitOption
from compsparse.clock import Deadline
from compsparse.errors import CompsparseError, GraphError
from compsparse.files import check_outputs, check_writable, read_text, write_text
from compsparse.graph import FunctionGraph, draw_svg
from compsparse.progress import shown
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
                "log10_shallow": count.log10_shallow,
                "log10_deep": count.log10_deep,
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


def graph_from(text: str) -> FunctionGraph:
    """The graph of an expression, or of a .json file."""
    if not text.endswith(".json"):
        return FunctionGraph.from_expression(text)
    try:
        return FunctionGraph.from_json(read_text(text))
    except GraphError as error:
        raise GraphError(f"cannot read {printable(text)}: {error}") from None


# ---- compiled networks ------------------------------------------------------------------------------


_COARSER = (30.0, 10.0, 3.0)


@app.command(name="compile")
def compile_command(
    expression: Annotated[str, typer.Argument(help="An expression such as 'tanh(a*b + sin(c*d))', or a .json file.")],
    bounds: Annotated[
        str,
        typer.Option("--bounds", "--domain", help="Sides of the box: 'a=-1:1,b=0:2', or '-1:1' for all inputs."),
    ],
    tol: Annotated[float, typer.Option(help="Largest error allowed anywhere in the box.")] = 1e-3,
    method: Annotated[str, typer.Option(help="auto, steps, uniform or kuhn.")] = "auto",
    onnx: Annotated[Path | None, typer.Option(help="Write the network as an ONNX model.")] = None,
    weights: Annotated[Path | None, typer.Option(help="Write the network to a safetensors file.")] = None,
    dtype: Annotated[str, typer.Option(help="float64 or float32: what the network computes in.")] = "float64",
    report: Annotated[Path | None, typer.Option(help="Write a page.")] = None,
    time_limit: TimeLimitOption = None,
    json_: JsonOption = False,
) -> None:
    """Build an explicit ReLU network for a function, with a certified error."""
    from compsparse.construct import compile as compile_graph

    check_outputs([onnx, weights, report])
    graph = graph_from(expression)
    sides, deadline = read_box_text(bounds), Deadline.after(seconds(time_limit))
    with shown("compiling"):
        built = compile_graph(graph, sides, tol, method, dtype=dtype, time_limit=seconds(time_limit))  # type: ignore[arg-type]
    if onnx is not None:
        built.to_onnx(onnx)
    if weights is not None:
        built.save(weights)
    if report is not None:
        from compsparse.report.compiled_page import compiled_page

        others = []
        for factor in _COARSER:
            left = deadline.left if deadline.is_set else None
            with suppress(CompsparseError):  # no time that is left is one too
                options = {"dtype": dtype, "n_points": 100, "time_limit": left}
                others.append(compile_graph(graph, sides, factor * tol, method, **options))  # type: ignore[arg-type]
        compiled_page(report, built, others)
    if json_:
        print(json.dumps(json.loads(built.to_json())))
        return
    say(str(built))
    for name, path in (("network", onnx), ("weights", weights), ("page", report)):
        if path is not None:
            say(f"{name}: {path}")


@app.command(name="verify")
def verify_command(
    file: Annotated[Path, typer.Argument(help="An ONNX or safetensors file that compsparse compile wrote.")],
    function: Annotated[str, typer.Option(help="The function, where the file cannot hold it: an expression.")] = "",
    n_points: Annotated[int, typer.Option(help="Points at which the error is searched.")] = 100_000,
    random_state: Annotated[int | None, typer.Option(help="Seed of the points; drawn by default.")] = None,
    json_: JsonOption = False,
) -> None:
    """Check the file of a compiled network: its digest, and its error by a new search. Exits with 1 if refuted."""
    from compsparse.construct import verify

    found = verify(file, graph_from(function) if function else None, n_points=n_points, random_state=random_state)
    if json_:
        stated = {"file": str(file), "holds": found.holds, "certificate": found.certificate.to_dict()}
        seen = {"error": found.observed.value, "point": list(found.observed.point), "n_points": found.observed.n_points}
        print(json.dumps({**stated, "domain": found.domain, "tol": found.tol, "dtype": found.dtype, "observed": seen}))
    else:
        say(str(found))
    if not found.holds:
        raise typer.Exit(1)

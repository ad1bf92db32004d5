"""``compsparse explain``: what a fitted model has learned."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from compsparse.checks import own_seed
from compsparse.cli import tables
from compsparse.cli.app import JsonOption, app, print_json, say, seconds
from compsparse.cli.discover import print_discovery
from compsparse.cli.interrupts import ending_gently
from compsparse.files import check_outputs, write_text


@app.command()
def explain(
    fitted: Annotated[
        Path, typer.Argument(metavar="MODEL", help="A fitted model: .onnx, .json of compsparse, or a pickle.")
    ],
    data: tables.DataArgument,
    target: Annotated[
        str | None, typer.Option(help="The column that the model predicts: its figures on the data are told too.")
    ] = None,
    out_: tables.ReportOption = tables.REPORT,
    model: Annotated[
        Path, typer.Option("--model", help="Where to write the network that stands for the model, as JSON.")
    ] = Path("explained.json"),
    time_limit: tables.TimeLimitOption = None,
    exclude: tables.ExcludeOption = None,
    trust_pickle: Annotated[
        bool, typer.Option("--trust-pickle", help="Open a pickle, which can run any program while it is read.")
    ] = False,
    effort: Annotated[float, typer.Option(help="Multiplies the training steps of every trial in the search.")] = 1.0,
    random_state: tables.RandomStateOption = None,
    json_: JsonOption = False,
) -> None:
    """Find the function graph of what a fitted model has learned, and say how faithful the graph is.

    The model is asked at the rows of the table and at rows like them.
    """
    from compsparse.discovery.fitted import explain as explain_model
    from compsparse.discovery.fitted.files import read_model
    from compsparse.models import FittedGraph, learned_nodes
    from compsparse.progress import shown
    from compsparse.report.discovery_page import DiscoveryReport, discovery_page
    from compsparse.report.summary import summary
    from compsparse.tables import inputs_and_targets, read_table

    check_outputs([out_, model], [fitted, data])
    seed = own_seed(random_state)
    asked = read_model(fitted, trust_pickle=trust_pickle)
    frame = read_table(data, texts=asked.code.texts) if isinstance(asked, FittedGraph) else read_table(data)
    X, y = frame, None
    if target is not None:
        X, targets = inputs_and_targets(frame, [target], tuple(exclude or ()))
        y = targets[target]
    elif exclude:
        X = frame.drop(columns=inputs_and_targets(frame, exclude)[1].columns)
    if not json_:
        say(f"asking {fitted.name} (random_state {seed}) …\n")
    with shown("explaining", n_stages=3) as progress, ending_gently(*tables.HEARD):
        found = explain_model(
            asked, X, y, effort=effort, time_limit=seconds(time_limit), random_state=seed, progress=progress
        )
    write_text(model, found.discovery.to_json())
    report = DiscoveryReport(
        f"What {fitted.name} has learned",
        found.discovery,
        verdict=found.fidelity.sentence,
        learned=learned_nodes(found.surrogate, X),
        model_path=str(model),
        data_path=str(data),
    )
    discovery_page(out_, report)
    if json_:
        print_json(_as_data(found) | {"random_state": seed, "report": str(out_), "model": str(model)})
        return
    say("\n".join([found.fidelity.sentence, *summary(found.discovery), ""]), style="bold")
    print_discovery(found.discovery)
    say(f"model: {model}\nreport: {out_}")


def _as_data(found: Any) -> dict[str, Any]:
    fidelity = found.fidelity
    figures = {"to_model": fidelity.to_model, "on_data": fidelity.measure or None}
    figures |= {"model_on_data": fidelity.model_on_data, "graph_on_data": fidelity.graph_on_data}
    record = found.discovery.to_dict()
    return {key: record[key] for key in ("status", "graph", "evidence", "caveats", "cost", "influence")} | {
        "of": found.of,
        "fidelity": figures,
        "modules": sorted(sorted(m) for m in found.modules),
        "inert": list(found.discovery.inert),
    }

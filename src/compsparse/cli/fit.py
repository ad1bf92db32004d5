"""``compsparse fit``: a known graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from compsparse.checks import check_device, own_seed
from compsparse.cli import tables
from compsparse.cli.app import JsonOption, app, err, print_json, print_scores, say, scores_as_data, seconds
from compsparse.cli.graph import graph_from
from compsparse.cli.interrupts import ending_gently
from compsparse.files import check_outputs

if TYPE_CHECKING:
    from compsparse.models import FittedGraph

_HEARD = "Ctrl-C: the fit ends with the best networks so far"


@app.command()
def fit(
    data: tables.DataArgument,
    target: tables.TargetOption,
    graph: Annotated[str, typer.Option(help="The function graph: an expression of the columns, or a .json file.")],
    out_: tables.ReportOption = tables.REPORT,
    model: tables.ModelOption = tables.MODEL,
    time_limit: tables.TimeLimitOption = None,
    classification: tables.ClassificationOption = None,
    exclude: tables.ExcludeOption = None,
    device: tables.DeviceOption = None,
    random_state: tables.RandomStateOption = None,
    json_: JsonOption = False,
) -> None:
    """Fit a network that mirrors a known graph, and compare it with dense models.

    Only the structure of the expression is used: constants and functions are learned. A third of the rows is held
    out for the test.
    """
    from compsparse.models import fit_model, learned_nodes
    from compsparse.progress import shown
    from compsparse.report.fit_page import FitReport, fit_page

    to_learn, to_compare = tables.deadlines(seconds(time_limit))
    check_outputs([out_, model], [data, *([graph] if graph.endswith(".json") else [])])
    check_device(device)
    seed, known = own_seed(random_state), graph_from(graph)
    split = tables.split_file(data, target, exclude, classification, seed)
    if not json_:
        say(str(known))
        n_train = len(split.target.values)
        say(f"\nfitting the mirrored network to {n_train:,} rows (random_state {seed}) …")
    with ending_gently(_HEARD), shown("fitting", err.is_terminal) as progress:
        fitted = fit_model(
            known,
            split.X,
            split.y,
            classification=split.classes is not None,
            random_state=seed,
            device=device,
            progress=progress,
            time_limit=tables.seconds_to_learn(to_learn),
        )
    fitted.save(model)
    if not json_:
        say(f"model: {model}")
    assessment = tables.compared(fitted, split, seed, to_compare, name="mirrored network (compsparse)")
    report = FitReport(
        data.name,
        fitted.graph,
        assessment,
        n_parameters=fitted.size.parameters,
        learned=learned_nodes(fitted, split.X),
        status=_cut_short(fitted),
        model_path=str(model),
        data_path=str(data),
        notes=tables.comparison_notes(assessment.others, to_compare),
    )
    fit_page(out_, report)
    if json_:
        told = {"status": fitted.status.name, "status_text": fitted.status.value, "random_state": seed}
        sizes = {"scores": scores_as_data(assessment.scores), "parameters": fitted.size.parameters}
        print_json(told | sizes | {"report": str(out_), "model": str(model)})
        return
    print_scores(assessment.scores)
    if assessment.better_elsewhere:
        say(assessment.better_elsewhere)
    for sentence in (_cut_short(fitted), *report.notes):
        if sentence:
            say(sentence, style="bold yellow")
    say(f"report: {out_}")


def _cut_short(model: FittedGraph) -> str:
    """What to say of a fit that was cut short."""
    from compsparse.training import TrainingStatus

    was_cut = model.status in (TrainingStatus.OUT_OF_TIME, TrainingStatus.INTERRUPTED)
    return model.status.value if was_cut else ""

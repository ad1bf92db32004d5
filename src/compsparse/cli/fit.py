"""``compsparse fit``: a known graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from compsparse.checks import check_device, own_seed
from compsparse.cli.app import JsonOption, app, err, print_json, print_scores, say, scores_as_data, seconds
from compsparse.cli.graph import graph_from
from compsparse.cli.interrupts import ending_gently
from compsparse.cli.tables import (
    COMPARISON_ENDS,
    MODEL,
    REPORT,
    ClassificationOption,
    DataArgument,
    DeviceOption,
    ExcludeOption,
    ModelOption,
    RandomStateOption,
    ReportOption,
    TargetOption,
    TimeLimitOption,
    comparison_notes,
    deadlines,
    seconds_to_learn,
    split_file,
)
from compsparse.files import check_outputs

if TYPE_CHECKING:
    from compsparse.models import FittedGraph

_HEARD = "Ctrl-C: the fit ends with the best networks so far"


@app.command()
def fit(
    data: DataArgument,
    target: TargetOption,
    graph: Annotated[str, typer.Option(help="The function graph: an expression of the columns, or a .json file.")],
    out_: ReportOption = REPORT,
    model: ModelOption = MODEL,
    time_limit: TimeLimitOption = None,
    classification: ClassificationOption = None,
    exclude: ExcludeOption = None,
    device: DeviceOption = None,
    random_state: RandomStateOption = None,
    json_: JsonOption = False,
) -> None:
    """Fit a network that mirrors a known graph, and compare it with dense models.

    Only the structure of the expression is used: constants and functions are learned. A third of the rows is held
    out for the test.
    """
    from compsparse.models import assess, fit_model, learned_nodes
    from compsparse.models.comparison import baseline_scores
    from compsparse.progress import shown
    from compsparse.report.fit_page import FitReport, fit_page

    to_learn, to_compare = deadlines(seconds(time_limit))
    check_outputs([out_, model], [data, *([graph] if graph.endswith(".json") else [])])
    check_device(device)
    seed, known = own_seed(random_state), graph_from(graph)
    split = split_file(data, target, exclude, classification, seed)
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
            time_limit=seconds_to_learn(to_learn),
        )
    fitted.save(model)
    if not json_:
        say(f"model: {model}")
    with ending_gently(COMPARISON_ENDS):
        others = baseline_scores(split, seed, to_compare)
    assessment = assess(fitted, split, name="mirrored network (compsparse)", others=others)
    report = FitReport(
        data.name,
        fitted.graph,
        assessment,
        n_parameters=fitted.size.parameters,
        learned=learned_nodes(fitted, split.X),
        status=_cut_short(fitted),
        model_path=str(model),
        data_path=str(data),
        notes=comparison_notes(others, to_compare),
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

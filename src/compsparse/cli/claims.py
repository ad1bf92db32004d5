"""``compsparse claims``."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.padding import Padding
from rich.text import Text

from compsparse.checks import check_choice
from compsparse.cli.app import JsonOption, app, cell, err, out, print_json, say, seconds
from compsparse.cli.tables import TimeLimitOption
from compsparse.clock import Deadline
from compsparse.files import check_folder, check_outputs
from compsparse.progress import shown
from compsparse.text import printable, shell_word

if TYPE_CHECKING:
    from compsparse.claims import Verdict

claims_app = typer.Typer(help="Run statements of the theory and see their verdicts.", no_args_is_help=True)
app.add_typer(claims_app, name="claims")

ResultsOption = Annotated[Path, typer.Option("--results", help="Folder of the verdicts.")]
_RESULTS = Path("claims-results")


@claims_app.command("list")
def claims_list(json_: JsonOption = False) -> None:
    """List the claims with their sources, then the checks: what only a mistake in a program could refute."""
    from compsparse.claims import all_claims

    claims = all_claims().values()
    if json_:
        parts = ("name", "statement", "source", "status", "is_check")
        print_json({"claims": [{k: getattr(c, k) for k in parts} for c in claims]})
        return
    for what, is_check in (("Claims", False), ("Checks", True)):
        out.print(Text(what, style="bold underline"))
        for c in claims:
            if c.is_check is is_check:
                about = f"  {c.status}; {', '.join(c.profiles)}"
                out.print(Text.assemble((printable(c.name), "bold"), (about, "dim")), highlight=False)
                for line in (c.statement, c.source):
                    out.print(Padding(cell(line), (0, 0, 0, 4)), highlight=False)


@claims_app.command("run")
def claims_run(
    names: Annotated[
        list[str] | None, typer.Argument(help="Which claims or checks; all that have the profile by default.")
    ] = None,
    profile: Annotated[str, typer.Option(help="quick (two CPU cores, at most two minutes) or full (a GPU).")] = "quick",
    results: ResultsOption = _RESULTS,
    time_limit: TimeLimitOption = None,
    json_: JsonOption = False,
) -> None:
    """Run claims and keep their verdicts; a refuted claim is a result, not an error.

    What the time limit cuts short decides nothing, and what it leaves no time for is named.
    """
    from compsparse.claims import PROFILES, all_claims, get_claim, keep, run_claim

    deadline = Deadline.after(seconds(time_limit))
    check_choice("profile", profile, PROFILES)
    check_folder(results)
    chosen = [get_claim(name) for name in names or all_claims()]
    if not names:
        chosen = [claim for claim in chosen if profile in claim.profiles]
    verdicts: list[Verdict] = []
    for claim in chosen:
        if deadline.is_over:
            break
        left = deadline.left if deadline.is_set else None
        with shown(claim.name) as progress:
            verdict = run_claim(claim, "full" if profile == "full" else "quick", progress, left)
        keep(verdict, results)
        verdicts.append(verdict)
        if not json_:
            _say_verdict(verdict)
    not_run = [claim.name for claim in chosen[len(verdicts) :]]
    if json_:
        shown_ = [{k: v for k, v in x.to_dict().items() if k != "figures"} for x in verdicts]
        print_json({"verdicts": shown_, "not_run": not_run})
        return
    if not_run:
        say(f"not run, because the time limit was over: {', '.join(not_run)}", style="yellow")
    where = "" if results == _RESULTS else f" --results {shell_word(results)}"
    say(f"see them all: compsparse claims report{where}", style="dim")


_COLOURS = {"supported": "green", "refuted": "red", "inconclusive": "yellow"}


def _say_verdict(verdict: Verdict) -> None:
    what = "check " if verdict.is_check else ""
    outcome = (verdict.word, _COLOURS[verdict.outcome.value])
    head = Text.assemble(what, (printable(verdict.claim), "bold"), ": ", outcome, f" ({verdict.seconds:.0f} s)")
    out.print(head, highlight=False)
    say(f"  expected: {verdict.expected}\n  measured: {verdict.measured}")


@claims_app.command("report")
def claims_report(
    out_: Annotated[Path, typer.Option("--out", help="Where to write the page.")] = Path("claims.html"),
    results: ResultsOption = _RESULTS,
) -> None:
    """Write one page with every verdict, its figures and its charts."""
    from compsparse.claims import UnreadableVerdicts, claims_page, kept

    check_outputs([out_], sorted(results.glob("*.json")) if os.path.isdir(results) else [])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UnreadableVerdicts)
        verdicts = kept(results)
    for warning in caught:
        say(f"warning: {warning.message}", style="yellow", to=err)
    say(f"report: {printable(claims_page(out_, verdicts))}")

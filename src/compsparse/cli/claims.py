"""``compsparse claims``."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
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
    from compsparse.claims import Claim, Verdict

claims_app = typer.Typer(help="Run statements of the theory and see their verdicts.", no_args_is_help=True)
app.add_typer(claims_app, name="claims")

ResultsOption = Annotated[Path, typer.Option("--results", help="Folder of the verdicts.")]
_RESULTS = Path("claims-results")


@claims_app.command("list")
def claims_list(
    words: Annotated[
        list[str] | None, typer.Argument(help="Tell more of the claims that have these words; by default, all names.")
    ] = None,
    json_: JsonOption = False,
) -> None:
    """List the claims by their sources, then the checks: what only a mistake in a program could refute."""
    from compsparse.claims import all_claims

    claims = [c for c in all_claims().values() if _has(c, words or ())]
    if json_:
        parts = ("name", "statement", "source", "status", "is_check")
        print_json({"claims": [{k: getattr(c, k) for k in parts} | {"verdicts": _known(c)} for c in claims]})
    elif words:
        for claim in claims:
            _tell_claim(claim)
        if not claims:
            say(f"no claim has the words {' '.join(words)!r}: compsparse claims list names them all")
    else:
        for heading, names in _by_source(claims).items():
            out.print(Text(heading, style="bold"), soft_wrap=True)
            for line in _packed([_with_sign(name) for name in names], out.width - 2):
                out.print(Padding(Text(line), (0, 0, 0, 2)), highlight=False)
        say(
            "  as last run: + supported or holds, x refuted, ~ open; no sign: not recorded",
            style="dim",
        )
        say("more of one: compsparse claims list NAME; to run it: compsparse claims run NAME", style="dim")


_SOURCES = {
    "Tomasini": "Random hierarchies (Cagnetta et al. 2024, Tomasini and Wyart 2024)",
    "Bruna": "Sparse inference, memorisation, depth (Bruna and others)",
    "Xu et al.": "Training with the square loss (Xu et al. 2022)",
    "Poggio": "Compositional sparsity (Poggio 2022 and 2023; Danhofer et al. 2025)",
    "Danhofer": "Compositional sparsity (Poggio 2022 and 2023; Danhofer et al. 2025)",
}
"""The heading of a source, by a word of it; the first word that is there counts."""


def _by_source(claims: Sequence[Claim]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {
        heading: [] for heading in [*dict.fromkeys(reversed(_SOURCES.values())), "Other sources", "Checks"]
    }
    for claim in claims:
        heading = next((told for word, told in _SOURCES.items() if word in claim.source), "Other sources")
        found["Checks" if claim.is_check else heading].append(claim.name)
    return {heading: names for heading, names in found.items() if names}


_SIGNS = {"supported": "+", "holds": "+", "refuted": "x", "fails": "x", "inconclusive": "~", "not made": "~"}


def _with_sign(name: str) -> str:
    """The name with the verdict of its last full run, or of the quick one where there is none."""
    from compsparse.claims import known_verdicts

    known = (known_verdicts().get((name, profile)) for profile in ("full", "quick"))
    last = next((verdict.word for verdict in known if verdict is not None), "")
    return printable(name) + _SIGNS.get(last, last)


def _packed(names: Sequence[str], width: int) -> list[str]:
    """The names in as few lines as that takes, each on the first line that has room: all are to fit on one screen."""
    lines: list[str] = []
    for name in sorted(names, key=len, reverse=True):
        place = next((i for i, line in enumerate(lines) if len(line) + 2 + len(name) <= width), None)
        if place is None:
            lines.append(name)
        else:
            lines[place] += f"  {name}"
    return lines


def _known(claim: Claim) -> dict[str, dict[str, str]]:
    """The verdicts of earlier runs that ship with the package, by profile."""
    from compsparse.claims import known_verdicts

    found = {p: known_verdicts().get((claim.name, p)) for p in claim.profiles}
    return {p: {"verdict": v.word, "measured": v.measured, "date": v.date} for p, v in found.items() if v}


def _has(claim: Claim, words: Sequence[str]) -> bool:
    text = f"{claim.name} {claim.statement} {claim.source}".lower()
    return all(word.lower() in text for word in words)


def _tell_claim(claim: Claim) -> None:
    about = f"  {'check, ' * claim.is_check}{claim.status}; {', '.join(claim.profiles)}"
    out.print(Text.assemble((printable(claim.name), "bold"), (about, "dim")), highlight=False)
    before = [f"{p}, run {v['date']}: {v['verdict']} ({v['measured']})" for p, v in _known(claim).items()]
    for line in (claim.statement, claim.source, *before):
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
        if not json_:
            _tell_claim(claim)
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
_MOST_CHART_LINES = 24


def _say_verdict(verdict: Verdict) -> None:
    """The chart first, then the verdict, then the rule and the figures; the statement stands above."""
    from compsparse.report.terminal_chart import text_chart

    width = max(30, min(out.width, 100) - 3)
    chart = [line for figure in verdict.figures[:1] for line in text_chart(figure, width, 6)]
    more = ["  … the page shows the rest"] if len(chart) > _MOST_CHART_LINES else []
    for line in (*chart[:_MOST_CHART_LINES], *more):
        say(f"  {line}")
    say(f"  {verdict.sentence} ({verdict.seconds:.0f} s)", style=f"bold {_COLOURS[verdict.outcome.value]}")
    for name, text in (("expected", verdict.expected), ("measured", verdict.measured)):
        out.print(Padding(cell(f"{name}: {text}"), (0, 0, 0, 4)), highlight=False)


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

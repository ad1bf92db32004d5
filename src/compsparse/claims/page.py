"""The page of claims: counts and one row a claim, then each with its charts; checks in a section of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from html import escape
from pathlib import Path

from compsparse.claims.claim import Verdict
from compsparse.claims.known import verdicts_in_short
from compsparse.claims.registry import all_claims
from compsparse.errors import ConfigError, DataError
from compsparse.files import check_writable
from compsparse.report.page import Section, write_page


def claims_page(path: str | Path, verdicts: Sequence[Verdict]) -> Path:
    """Writes the page and returns its path."""
    check_writable(path)
    if not isinstance(verdicts, Sequence) or not all(isinstance(v, Verdict) for v in verdicts):
        raise ConfigError(f"a page of claims is made of verdicts, got {verdicts!r}")
    if not verdicts:
        raise DataError("there are no verdicts to report: run `compsparse claims run` first")
    claims, checks = ([v for v in verdicts if v.is_check is is_check] for is_check in (False, True))
    sections = [Section("", _overview(claims, "claim")), *map(_section, claims)] if claims else []
    if checks:
        lead = "<p>Only a mistake in a program could make these fail: they say nothing of the world.</p>"
        sections += [Section("Checks", lead + _overview(checks, "check")), *map(_section, checks)]
    lead = "Statements of the theory of compositional sparsity, run and judged by what was measured."
    footer = (
        f"compsparse {escape(verdicts[0].version)}. A verdict holds for the settings that were run, not beyond them."
    )
    return write_page(path, "Claims of compositional sparsity", lead, sections, footer)


def _section(verdict: Verdict) -> Section:
    return Section(f"{verdict.claim} ({verdict.profile})", _detail(verdict), verdict.figures)


def _overview(verdicts: Sequence[Verdict], what: str) -> str:
    """How many came to which verdict, then a row each: the verdict first, then of which statement."""
    counts = ", ".join(f"{n} {word}" for word, n in Counter(v.word for v in verdicts).most_common())
    head = f"<th>{what}</th><th>verdict</th><th>earlier, quick / full</th><th>statement</th><th>source</th>"
    rows = "".join(
        f'<tr><td><a href="#{escape(_anchor(v))}"><code>{escape(v.claim)}</code></a></td><td>{_outcome(v)}</td>'
        f"<td>{_earlier(v)}</td><td>{escape(v.statement)}</td><td>{escape(v.source)} ({escape(v.status)})</td></tr>"
        for v in verdicts
    )
    table = f'<div class="scroll wide"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
    return f"<p>{len(verdicts)} in all: {counts}.</p>{table}"


def _anchor(verdict: Verdict) -> str:
    return f"{verdict.claim}-{verdict.profile}"


def _earlier(verdict: Verdict) -> str:
    """The verdicts that ship with the package."""
    return verdicts_in_short(verdict.claim) if verdict.claim in all_claims() else "-"


def _outcome(verdict: Verdict) -> str:
    return f'<span class="verdict {verdict.outcome.value}">{verdict.word}</span>'


def _detail(verdict: Verdict) -> str:
    caveats = "".join(f"<li>{escape(c)}</li>" for c in verdict.caveats)
    return (
        f'<div class="card" id="{escape(_anchor(verdict))}"><p>{escape(verdict.statement)}</p>'
        f'<p class="verdict {verdict.outcome.value}">{escape(verdict.sentence)}</p>'
        f"<p><b>Expected:</b> {escape(verdict.expected)}<br><b>Measured:</b> {escape(verdict.measured)}<br>"
        f"<b>Run:</b> {verdict.seconds:.0f} s</p>"
        + (f"<p><b>Caveats</b></p><ul>{caveats}</ul>" if caveats else "")
        + "</div>"
    )

"""Self-contained HTML pages: text, graphs and charts in one file that needs no network."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

from compsparse.files import write_text
from compsparse.optional import needs
from compsparse.report.figure import Figure
from compsparse.text import in_a_line, shell_word


@in_a_line
@dataclass(frozen=True)
class Section:
    """A part of a page: a heading, trusted HTML, and figures below it."""

    heading: str
    html: str = ""
    figures: tuple[Figure, ...] = ()


def render_page(title: str, lead: str, sections: Sequence[Section], footer: str = "") -> str:
    """The page as HTML text."""
    specs: dict[str, dict[str, Any]] = {}
    shown = []
    for section in sections:
        ids = []
        for figure in section.figures:
            name = f"chart-{len(specs)}"
            specs[name] = _spec(figure)
            ids.append({"id": name})
        shown.append({"heading": section.heading, "html": section.html, "figures": ids})
    template = resources.files("compsparse.report").joinpath("page.html").read_text(encoding="utf-8")
    library = _library() if specs else ""
    html: str = (
        environment(autoescape=True)
        .from_string(template)
        .render(
            title=title,
            lead=lead,
            sections=shown,
            footer=footer,
            library=library,
            policy=_policy([library, *re.findall(r"<script>(\n.*?)</script>", template, re.DOTALL)]),
            specs=json.dumps(specs).replace("<", "\\u003c"),
        )
    )
    return html


def environment(*, autoescape: bool) -> Any:
    """What turns templates into HTML."""
    return needs("jinja2", "pages", "report").Environment(autoescape=autoescape)


def write_page(path: str | Path, title: str, lead: str, sections: Sequence[Section], footer: str = "") -> Path:
    """Writes the page; the file appears whole or not at all."""
    return write_text(path, render_page(title, lead, sections, footer))


def _spec(figure: Figure) -> dict[str, Any]:
    spec = figure.chart().to_dict()
    return {**spec, "width": spec.get("width", 420)}


def _policy(scripts: Sequence[str]) -> str:
    """What the page may do: run these very scripts, style itself, show pictures that stand in it; no network at all."""
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts if script]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )


@lru_cache(maxsize=1)
def _library() -> str:
    """Vega, Vega-Lite and vega-embed as one script."""
    bundle: str = needs("vl_convert", "charts", "report").javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return bundle.replace("</script", "<\\/script")


def table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """An HTML table; numbers are set to the right."""
    numeric = [bool(rows) and all(isinstance(row[i], (int, float)) for row in rows) for i in range(len(columns))]
    head = "".join(f"<th{' class=number' * n}>{escape(c)}</th>" for c, n in zip(columns, numeric, strict=True))
    body = "".join(f"<tr>{''.join(_cell(v) for v in row)}</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def usage(python: str, model: str, model_path: str, data_path: str) -> str:
    """How to predict with a saved model, in Python and in a shell; ``python`` loads it as ``model``."""
    read = f"from compsparse.tables import read_table\n\ntable = read_table({data_path!r})"
    lines = f"{python}\n\n{read}\nprint({model}.predict(table))"
    shell = f"compsparse predict {shell_word(model_path)} {shell_word(data_path)} --out predictions.csv"
    return f"<pre><code>{escape(lines)}</code></pre><pre><code>{escape(shell)}</code></pre>"


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f'<td class="number">{value:.4g}</td>'
    if isinstance(value, int):
        return f'<td class="number">{value:,}</td>'
    return f"<td>{escape(str(value))}</td>"

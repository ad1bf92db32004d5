"""The register of statements: every one of the source documents, what carries it, and the verdicts on it.

A TOML file a document, or a part of one, stands in ``compsparse/claims/documents``.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Literal, get_args

from compsparse.checks import check_choice
from compsparse.claims.known import verdicts_in_short
from compsparse.claims.registry import all_claims
from compsparse.errors import ConfigError

State = Literal["judged", "part", "built", "definition", "beyond", "missing"]
"""How far a statement is carried; :data:`STATES` says what each word means."""
STATES: dict[State, str] = {
    "judged": "a claim or a check tests the statement as it is stated",
    "part": "a claim tests a part of it, or a case of it",
    "built": "code carries it and its tests decide it: an identity, a closed form",
    "definition": "it fixes words or a set-up, and there is nothing to test",
    "beyond": "no computation can decide it, and the row says why",
    "missing": "an experiment could test it, and none does yet",
}
_DOCUMENTS = "compsparse.claims"
_ALL_HIERARCHIES = "all claims on hierarchies"
_NAME = re.compile(r"`([a-z0-9-]+)`")


@dataclass(frozen=True)
class DocumentStatement:
    """A statement of a document.

    Attributes:
        document: its title.
        place: where the document says it.
        standing: how sure the document, or what is known since, is of it.
        corrections: rows of the table of corrections that it needs.
        carried: the code that carries it, or why none does.
        claim: the claims that test it, with what they leave out; or why none does.
    """

    document: str
    place: str
    says: str
    standing: str
    state: State
    carried: str
    claim: str = ""
    corrections: tuple[int, ...] = ()

    @property
    def claims(self) -> tuple[str, ...]:
        """The claims and checks that its row names."""
        if self.claim == _ALL_HIERARCHIES:
            return tuple(n for n, c in all_claims().items() if c.subject.startswith("hierarchy"))
        return tuple(name for name in _NAME.findall(self.claim) if name in all_claims())


@cache
def all_statements() -> tuple[DocumentStatement, ...]:
    """Every statement, in the order of the documents."""
    return tuple(statement for _, statements in _documents().values() for statement in statements)


@cache
def _documents() -> dict[str, tuple[str, list[DocumentStatement]]]:
    """By title, what is said before its statements and these."""
    found: dict[str, tuple[str, list[DocumentStatement]]] = {}
    for file in sorted((resources.files(_DOCUMENTS) / "documents").iterdir(), key=lambda file: file.name):
        told = tomllib.loads(file.read_text(encoding="utf-8"))
        _, statements = found.setdefault(told["title"], (told.get("lead", ""), []))
        statements += [_read(told["title"], row) for row in told["statement"]]
    return found


def _read(document: str, row: dict[str, Any]) -> DocumentStatement:
    corrections: tuple[int, ...] = tuple(row.pop("corrections", ()))
    texts: dict[str, Any] = {name: str(text).replace("\n", " ").strip() for name, text in row.items()}
    try:
        statement = DocumentStatement(document, corrections=corrections, **texts)
    except TypeError as error:
        raise ConfigError(f"the register of {document!r} has a row that is not read: {error}") from None
    check_choice(f"the state of {statement.place!r}", statement.state, get_args(State))
    return statement


# ---- as pages show it ------------------------------------------------------------------------------


def theory_tables() -> str:
    """A section a document, with a table of its statements: how far each is carried, and its verdicts."""
    sections = []
    for title, (lead, statements) in _documents().items():
        counts = ", ".join(f"{n} {state}" for state in STATES if (n := sum(s.state == state for s in statements)))
        head = "| Place | Statement | Status | State | Correction | Carried by | Claim | Verdict: quick / full |"
        rows = "\n".join(map(_row, statements))
        sections.append("\n\n".join(filter(None, [f"## {title}", lead, f"{counts[0].upper()}{counts[1:]}."])))
        sections[-1] += f"\n\n{head}\n{'|---' * 8}|\n{rows}"
    return "\n\n".join(sections)


def _row(statement: DocumentStatement) -> str:
    numbers = ", ".join(map(str, statement.corrections))
    correction = f"row{'s' * (len(statement.corrections) > 1)} {numbers}" if numbers else ""
    claim = statement.claim or "none: definition"
    verdicts = "" if statement.claim == _ALL_HIERARCHIES else "; ".join(map(verdicts_in_short, statement.claims))
    cells = (
        *(statement.place, statement.says, statement.standing, statement.state, correction),
        *(statement.carried, claim, verdicts),
    )
    return f"| {' | '.join(cells)} |"

"""Writes the tables of docs/theory.md from the register of statements; with a folder, takes its verdicts over before.

``python tools/write_theory.py [claims-results …]``: verdicts of ``compsparse claims run`` or of
``benchmarks/full_claims.py`` take the place of those that ship with the package.
"""

from __future__ import annotations

import argparse
import json
from datetime import UTC, datetime
from pathlib import Path

import compsparse
from compsparse.claims import KnownVerdict, all_claims, kept, known_verdicts
from compsparse.claims.statements import theory_tables

PAGE = Path(__file__).parent.parent / "docs" / "theory.md"
BEGINS, ENDS = "<!-- the register of statements: python tools/write_theory.py -->\n\n", "\n\n(theory-corrections)="
VERDICTS = Path(compsparse.__file__).parent / "claims" / "verdicts.toml"
HEAD = "# What each claim came to when it was last run; written by tools/write_theory.py.\n"


def written(page: str) -> str:
    """The page with the tables as the register has them."""
    before, rest = page.split(BEGINS)
    return before + BEGINS + theory_tables() + ENDS + rest.split(ENDS)[1]


def take_over(folder: Path) -> None:
    """Makes the verdicts of a folder the ones that ship."""
    known = dict(known_verdicts())
    for verdict in kept(folder):
        if verdict.claim in all_claims() and not verdict.cut_short:
            ran = datetime.fromtimestamp((folder / f"{verdict.claim}.{verdict.profile}.json").stat().st_mtime, UTC)
            profile = "full" if verdict.profile == "full" else "quick"
            told = KnownVerdict(verdict.claim, profile, verdict.outcome, verdict.measured, ran.date().isoformat())
            known[verdict.claim, profile] = told
    places = {name: place for place, name in enumerate(all_claims())}
    ordered = sorted(known.values(), key=lambda one: (places[one.claim], one.profile == "full"))
    VERDICTS.write_text(HEAD + "".join(map(_as_toml, ordered)), encoding="utf-8")


def _as_toml(one: KnownVerdict) -> str:
    texts = {"outcome": one.outcome.value, "measured": one.measured, "date": one.date}
    lines = "".join(f"{key} = {json.dumps(text, ensure_ascii=False)}\n" for key, text in texts.items())
    return f"\n[{one.claim}.{one.profile}]\n{lines}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path, help="folders of kept verdicts")
    for folder in parser.parse_args().folders:
        take_over(folder)
        known_verdicts.cache_clear()
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()

"""Claims and checks at their full profile, for a machine with a GPU; several at a time share it.

``python benchmarks/full_claims.py --subjects hierarchy memorisation --processes 4``
"""

from __future__ import annotations

import argparse
from pathlib import Path

from _report import finish
from _runs import add_store_option, ended
from kinds.claims import ClaimRun

from compsparse.claims import Claim, Verdict, all_claims, get_claim, keep


def chosen(names: list[str], subjects: list[str]) -> list[Claim]:
    """By name, or by the beginning of the subject that holds the experiment; all of them by default."""
    if names:
        return [get_claim(name) for name in names]
    wanted = tuple(subjects) or ("",)
    return [c for c in all_claims().values() if c.subject.startswith(wanted)]


def tell(verdict: Verdict) -> None:
    """A verdict in three lines."""
    what = "check " if verdict.is_check else ""
    print(f"{what}{verdict.claim} ({verdict.profile}): {verdict.word} in {verdict.seconds:.0f} s")
    print(f"  expected: {verdict.expected}\n  measured: {verdict.measured}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="claims or checks; all by default")
    parser.add_argument("--subjects", nargs="*", default=[], help="modules whose claims to run, by their beginnings")
    parser.add_argument("--results", type=Path, default=Path("claims-results"), help="the folder of verdicts")
    parser.add_argument("--processes", type=int, default=1, help="how many run at a time")
    add_store_option(parser)
    arguments = parser.parse_args()
    claims = chosen(arguments.names, arguments.subjects)
    runs = [ClaimRun(claim.name, claim.profiles[-1]) for claim in claims]
    rows, failures = ended(ClaimRun, runs, store=arguments.store, processes=arguments.processes)
    found = [Verdict.from_dict(row.result or {}) for row in rows]
    for verdict in found:
        tell(verdict)
        keep(verdict, arguments.results)
    failed = [row.spec["claim"] for row in failures]
    figures = {f"{v.claim}.{key}": value for v in found for key, value in v.numbers.items()}
    figures |= {f"{v.claim}.seconds": v.seconds for v in found} | {f"{name}.errors": 1.0 for name in failed}
    bars = {f"{v.claim}.seconds": ("<=", 600.0) for v in found} | {f"{name}.errors": ("<=", 0.0) for name in failed}
    finish(figures, bars)


if __name__ == "__main__":
    main()

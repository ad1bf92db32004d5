"""Claims and checks at their full profile, for a machine with a GPU; several at a time share it.

``python benchmarks/full_claims.py --subjects hierarchy memorisation --processes 4``
"""

from __future__ import annotations

import argparse
import multiprocessing
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

from _report import finish

from compsparse.claims import Claim, Verdict, all_claims, get_claim, keep, run_claim


def chosen(names: list[str], subjects: list[str]) -> list[Claim]:
    """By name, or by the beginning of the module that holds the experiment; all of them by default."""
    if names:
        return [get_claim(name) for name in names]
    modules = {claim.name: claim.experiment.__module__.rsplit(".", 1)[-1] for claim in all_claims().values()}
    wanted = tuple(subjects) or ("",)
    return [claim for claim in all_claims().values() if modules[claim.name].startswith(wanted)]


def run(name: str, folder: Path) -> Verdict:
    """Runs one claim at the largest profile it has, and keeps its verdict."""
    claim = get_claim(name)
    verdict = run_claim(claim, claim.profiles[-1])
    keep(verdict, folder)
    return verdict


def verdicts(claims: list[Claim], folder: Path, processes: int) -> tuple[list[Verdict], list[str]]:
    """All of them, told as they come, and the names of those whose experiment ended in an error."""
    found: list[Verdict] = []
    failed: list[str] = []
    # CUDA cannot be used in a forked process
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        futures = {pool.submit(run, claim.name, folder): claim.name for claim in claims}
        for future in as_completed(futures):
            if future.exception() is not None:
                failed.append(futures[future])
                print(f"{failed[-1]}: ended in {future.exception()!r}", flush=True)
                continue
            verdict = future.result()
            found.append(verdict)
            what = "check " if verdict.is_check else ""
            print(f"{what}{verdict.claim} ({verdict.profile}): {verdict.word} in {verdict.seconds:.0f} s")
            print(f"  expected: {verdict.expected}\n  measured: {verdict.measured}", flush=True)
    return found, failed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="claims or checks; all by default")
    parser.add_argument("--subjects", nargs="*", default=[], help="modules whose claims to run, by their beginnings")
    parser.add_argument("--results", type=Path, default=Path("claims-results"))
    parser.add_argument("--processes", type=int, default=1, help="how many run at a time")
    arguments = parser.parse_args()
    found, failed = verdicts(chosen(arguments.names, arguments.subjects), arguments.results, arguments.processes)
    figures = {f"{v.claim}.{key}": value for v in found for key, value in v.numbers.items()}
    figures |= {f"{v.claim}.seconds": v.seconds for v in found} | {f"{name}.errors": 1.0 for name in failed}
    bars = {f"{v.claim}.seconds": ("<=", 600.0) for v in found} | {f"{name}.errors": ("<=", 0.0) for name in failed}
    finish(figures, bars)


if __name__ == "__main__":
    main()

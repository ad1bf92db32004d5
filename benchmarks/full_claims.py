"""All claims at their full profile, for a machine with a GPU."""

from __future__ import annotations

import sys
from pathlib import Path

from _report import finish

from compsparse.claims import all_claims, keep, run_claim


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("claims-results")
    figures: dict[str, float] = {}
    for claim in all_claims().values():
        verdict = run_claim(claim, "full")
        keep(verdict, folder)
        print(f"{claim.name}: {verdict.outcome.value} in {verdict.seconds:.0f} s\n  expected: {verdict.expected}")
        print(f"  measured: {verdict.measured}", flush=True)
        figures |= {f"{claim.name}.{key}": value for key, value in verdict.numbers.items()}
        figures[f"{claim.name}.seconds"] = verdict.seconds
    finish(figures, {f"{name}.seconds": ("<=", 600) for name in all_claims()})


if __name__ == "__main__":
    main()

"""scikit-learn's contract at default settings: every public estimator, its seconds, what fails and what may fail."""

from __future__ import annotations

import argparse
import sys
import time
import warnings

from _report import finish, print_table
from sklearn.utils.estimator_checks import check_estimator

from compsparse import estimators

WEIGHTS = {"check_sample_weight_equivalence_on_dense_data": "weights and repeats are batched differently"}
"""What is expected to fail where networks are trained on batches."""
EXPECTED: dict[str, dict[str, str]] = {
    "SparseCoder": {},
    "MinimalReLURegressor": {},
    "GraphRegressor": WEIGHTS,
    "GraphClassifier": WEIGHTS,
    "CompositionalRegressor": WEIGHTS,
    "CompositionalClassifier": WEIGHTS,
}
MOST_SECONDS = 1200
LONGEST_SHOWN = 3


def checked(name: str) -> list[dict]:
    """The checks of one estimator as it is by default, each with its CPU seconds."""
    last, records = time.process_time(), []

    def heard(*, check_name: str, status: str, exception: Exception | None, **_: object) -> None:
        nonlocal last
        now = time.process_time()
        records.append({"check": check_name, "status": status, "seconds": now - last, "why": exception})
        print(f"{name}: {check_name} {status} {now - last:.0f} s", file=sys.stderr, flush=True)
        last = now

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of time limits, and of scikit-learn about checks that it skips
        model = getattr(estimators, name)()
        check_estimator(model, on_fail=None, callback=heard, expected_failed_checks=EXPECTED[name])
    return records


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=list(EXPECTED), default=list(EXPECTED))
    figures, bars, rows = {}, {}, []
    for name in parser.parse_args().only:
        records = checked(name)
        seconds = sum(r["seconds"] for r in records)
        counts = {s: sum(r["status"] == s for r in records) for s in ("passed", "skipped", "xfail", "failed")}
        longest = sorted(records, key=lambda r: -r["seconds"])[:LONGEST_SHOWN]
        rows.append([name, *counts.values(), ", ".join(f"{r['check']} {r['seconds']:.0f} s" for r in longest)])
        for record in records:
            if record["status"] == "failed":
                print(f"{name}: {record['check']} FAILED: {record['why']}")
            elif record["status"] == "xfail":
                print(f"{name}: {record['check']} fails as expected: {EXPECTED[name][record['check']]}")
        print(f"{name}: {seconds:.0f} s, {counts}", flush=True)
        figures |= {f"{name}, CPU seconds": seconds, f"{name}, failed": counts["failed"]}
        bars |= {f"{name}, CPU seconds": ("<=", MOST_SECONDS), f"{name}, failed": ("<=", 0)}
    print()
    print_table(["estimator", "passed", "skipped", "expected to fail", "failed", "longest"], rows)
    finish(figures, bars)


if __name__ == "__main__":
    main()

"""The page of a simulator: what its runs told, how well the surrogate does, and where to run next."""

from __future__ import annotations

from pathlib import Path

from compsparse.checks import check_kind, check_text
from compsparse.discovery import Discovery
from compsparse.discovery.runs.record import Surrogate
from compsparse.report.discovery_page import DiscoveryReport, discovery_page
from compsparse.report.page import Section, table

_MOST_POINTS = 10


def simulator_page(
    path: str | Path, found: Discovery, *, title: str = "A simulator", model_path: str = "model.json"
) -> Path:
    """Writes the page of a discovery from runs and returns its path.

    Args:
        found: from ``discover(f, bounds=…, n_runs=…)``.
        model_path: where the reader finds the discovery, written with ``found.to_json()``.

    Raises:
        ConfigError: the discovery holds no runs.
    """
    from compsparse.models import learned_nodes
    from compsparse.models.explaining_rows import example_rows

    check_kind("found", found, Discovery)
    check_text("title", title)
    surrogate = found.surrogate()
    assert found.runs is not None
    learned_from, X_test = found.runs.X[~found.runs.is_test], found.runs.X[found.runs.is_test]
    assessment = surrogate.assessment(found.runs, found.cost.seconds)
    report = DiscoveryReport(
        title,
        found,
        verdict=str(surrogate),
        learned=learned_nodes(surrogate.model, learned_from),
        assessment=assessment,
        examples=example_rows(surrogate.model, learned_from, X_test, assessment, 0),
        more=(_next_runs(found, surrogate),),
        model_path=model_path,
        data_path="points.csv",
    )
    return discovery_page(path, report)


def _next_runs(found: Discovery, surrogate: Surrogate) -> Section:
    planned = found.next_points(_MOST_POINTS, random_state=0)
    rows = [[*map(float, point), float(doubt)] for point, doubt in zip(planned.points, planned.doubt, strict=True)]
    shown = table([*surrogate.bounds, "expected error, share of the spread"], rows)
    return Section("Where to run next", f"<p>{planned}</p>{shown}")

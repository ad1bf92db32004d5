"""Public entry points of sweeps, claims, measures and charts, and the commands that use them, called tiny."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from odd import Entry

from compsparse import claims, files, measures, progress, sweeps, text
from compsparse.claims.p_star import measure_p_star
from compsparse.networks.symbols import HierarchicalCNN
from compsparse.report import Figure, text_chart
from compsparse.sweeps import engines
from compsparse.sweeps.curves import summary_table
from compsparse.sweeps.kinds.hierarchy import HierarchyRun
from compsparse.tasks.hierarchy import SparseRandomHierarchy

ENTRIES: list[Entry] = []
FOLDER = Path(tempfile.mkdtemp(prefix="compsparse-fuzz-"))
KINDS = FOLDER / "kinds"


def add(name: str, call: Callable[..., Any], arguments: Callable[[], Mapping[str, Any]] = dict) -> None:
    ENTRIES.append(Entry(name, call, arguments))


def add_fields(name: str, call: Callable[[dict[str, Any]], Any], whole: Callable[[], dict[str, Any]]) -> None:
    """One entry for every field of a mapping that is read."""
    for field in whole():
        add(
            f"{name}, {field}",
            lambda value, field=field: call({**whole(), field: value}),
            lambda field=field: {"value": whole()[field]},
        )


# ---- a kind of run, as a class and in a folder ---------------------------------------------------

_KIND = '''"""A kind of run that does next to nothing."""

from dataclasses import dataclass

from compsparse.sweeps import Spec


@dataclass(frozen=True)
class Half(Spec):
    """Half of a number."""

    kind = "half"
    curve = ("n", "half")
    level = 0.1

    n: int
    seed: int = 0

    @classmethod
    def run(cls, specs, *, device, progress):
        return [{"half": s.n / 2, "many": [1.0, 2.0]} for s in specs]


KINDS = [Half]
'''
KINDS.mkdir()
(KINDS / "half.py").write_text(_KIND, encoding="utf-8")
HALF = sweeps.get_kind("half", KINDS)
SWEEP = sweeps.Sweep("halves", HALF, {}, {"n": [1, 2], "seed": [0, 1]})
ROWS = [sweeps.Row.of(s, {"half": s.to_dict()["n"] / 2, "many": [1.0, 2.0]}, seconds=1.0) for s in SWEEP.specs()]
STORE = FOLDER / "kept.sqlite"
with sweeps.open_store(STORE) as _kept:
    for _row in ROWS:
        _kept.results.put(_row)
(FOLDER / "sweep.toml").write_text("kind = 'half'\n[grid]\nn = [1, 2]\nseed = [0, 1]\n", encoding="utf-8")
(FOLDER / "spill.jsonl").write_text(ROWS[0].to_json() + "\n", encoding="utf-8")
CURVES = sweeps.sweep_curves(ROWS, HALF)

# ---- specs, sweeps, searches ---------------------------------------------------------------------

add("Spec.from_dict", HALF.from_dict, lambda: {"data": {"n": 1}})
add("Spec.from_json", HALF.from_json, lambda: {"text": '{"n": 1}'})
add_fields("Spec.from_dict", HALF.from_dict, lambda: {"n": 1, "seed": 0})
add("HierarchyRun", HierarchyRun, lambda: asdict(HierarchyRun(n_train=20, n_features=4)))
add_fields("HierarchyRun.from_dict", HierarchyRun.from_dict, lambda: HierarchyRun(n_train=20, n_features=4).to_dict())

_SEARCH: dict[str, Any] = {
    "over": "n",
    "metric": "half",
    "threshold": 0.1,
    "start": 8,
    "most": 100,
    "least": 1,
    "factor": 4.0,
    "resolution": 1.3,
    "side": "below",
    "seed": "seed",
}
_ADAPTIVE = sweeps.Adaptive(**_SEARCH)
add("Adaptive", sweeps.Adaptive, lambda: _SEARCH)
add("Adaptive.next_values", _ADAPTIVE.next_values, lambda: {"curve": {8: 0.5}})
add("Adaptive.crossing", _ADAPTIVE.crossing, lambda: {"curve": {8: 0.5, 16: 0.01}})
add("Adaptive.values_left", _ADAPTIVE.values_left, lambda: {"curve": {8: 0.5}})
add("Adaptive.summary", _ADAPTIVE.summary, lambda: {"metrics": [0.5, None]})

add(
    "Sweep",
    sweeps.Sweep,
    lambda: {"name": "s", "kind": HALF, "base": {}, "grid": {"n": [1]}, "runs": ({},), "adaptive": None},
)
add("Sweep, base", lambda value: sweeps.Sweep("s", HALF, {"n": value}), lambda: {"value": 1})
add("Sweep, grid", lambda value: sweeps.Sweep("s", HALF, {}, {"n": value}), lambda: {"value": [1]})
add("Sweep, runs", lambda value: sweeps.Sweep("s", HALF, {"n": 1}, {}, [value]), lambda: {"value": {}})


def _table() -> dict[str, Any]:
    return {"name": "s", "kind": "half", "base": {}, "grid": {"n": [1]}, "runs": [{}]}


add("Sweep.from_dict", sweeps.Sweep.from_dict, lambda: {"data": _table(), "kinds": KINDS})
add_fields("Sweep.from_dict", lambda data: sweeps.Sweep.from_dict(data, kinds=KINDS), _table)
for _end in ("from", "to", "step", "factor"):
    add(
        f"Sweep.from_dict, range, {_end}",
        lambda value, end=_end: sweeps.Sweep.from_dict(
            {**_table(), "grid": {"n": {"from": 1, "to": 9, end: value}}}, kinds=KINDS
        ),
        lambda end=_end: {"value": {"from": 1, "to": 9}.get(end, 2)},
    )
add_fields(
    "Sweep.from_dict, adaptive",
    lambda search: sweeps.Sweep.from_dict({"kind": "half", "adaptive": search}, kinds=KINDS),
    lambda: dict(_SEARCH),
)
add("Sweep.from_toml", sweeps.Sweep.from_toml, lambda: {"path": FOLDER / "sweep.toml", "kinds": KINDS})
add("all_kinds", sweeps.all_kinds, lambda: {"kinds": KINDS})
add("get_kind", sweeps.get_kind, lambda: {"name": "half", "kinds": KINDS})
add("get_preset", sweeps.get_preset, lambda: {"name": "rhm-quick"})
add("presets", sweeps.presets)

# ---- rows, stores, runs --------------------------------------------------------------------------

add(
    "Row.of",
    sweeps.Row.of,
    lambda: {"spec": HALF(n=1), "result": {"half": 0.5}, "traceback": None, "seconds": 1.0},
)
add("Row.from_json", sweeps.Row.from_json, lambda: {"text": ROWS[0].to_json()})
add_fields("Row.from_columns", sweeps.Row.from_columns, ROWS[0].to_columns)


def _on_store(act: Callable[..., Any]) -> Callable[..., Any]:
    def call(**given: Any) -> Any:
        with sweeps.open_store(STORE) as kept:
            return act(kept, **given)

    return call


add(
    "open_store",
    lambda **given: sweeps.open_store(**given).close(),
    lambda: {"place": STORE, "create": True, "read_only": False},
)
add("Store.export", _on_store(lambda s, **given: s.export(**given)), lambda: {"path": FOLDER / "t.csv", "kind": "half"})
add(
    "Store.import_spill",
    _on_store(lambda s, **given: s.import_spill(**given)),
    lambda: {"path": FOLDER / "spill.jsonl"},
)
add("Store.compact", _on_store(lambda s, **given: s.compact(**given)), lambda: {"failed": False})
add("Results.get", _on_store(lambda s, **given: s.results.get(**given)), lambda: {"keys": [ROWS[0].key]})
add("Results.put", _on_store(lambda s, **given: s.results.put(**given)), lambda: {"row": ROWS[0]})
add(
    "Results.all",
    _on_store(lambda s, **given: list(s.results.all(**given))),
    lambda: {"kind": "half", "status": "done"},
)
add("Results.forget_failed", _on_store(lambda s, **given: s.results.forget_failed(**given)), lambda: {"keys": ["a"]})
add("SweepStates.all", _on_store(lambda s, **given: s.sweeps.all(**given)), lambda: {"last": 3})
add("get_engine", sweeps.get_engine, lambda: {"name": "local", "workers": 1, "device": None})
add(
    "LocalEngine",
    lambda **given: engines.get_engine("local") and _local()(**given),
    lambda: {"workers": 1, "device": None},
)


def _local() -> Any:
    from compsparse.sweeps.engines.local import LocalEngine

    return LocalEngine


add(
    "run_sweep",
    sweeps.run_sweep,
    lambda: {
        "sweep": SWEEP,
        "store": STORE,
        "engine": "local",
        "workers": 1,
        "device": None,
        "max_replicas": 2,
        "retry_failed": False,
        "wait": True,
        "lease_seconds": 60.0,
        "time_limit": None,
        "progress": None,
    },
)
add(
    "run_stage",
    sweeps.run_stage,
    lambda: {"spec": HALF(n=1), "store": STORE, "device": None, "progress": None},
)

# ---- curves and charts ---------------------------------------------------------------------------


def _drawn(value: Any) -> Any:
    rows = [replace(ROWS[0], result={"half": value, "many": [value]}), *ROWS[1:]]
    found = sweeps.sweep_curves(rows, HALF)
    return [f.chart().to_dict() for f in (sweeps.curve_figure(found, HALF), *sweeps.layer_figures(found, HALF))]


add("sweep_curves", sweeps.sweep_curves, lambda: {"rows": ROWS, "kind": HALF})
add("sweep_curves, metric", _drawn, lambda: {"value": 0.5})
add("curve_figure", sweeps.curve_figure, lambda: {"found": CURVES, "kind": HALF})
add("layer_figures", sweeps.layer_figures, lambda: {"found": CURVES, "kind": HALF})
add("summary_table", summary_table, lambda: {"found": CURVES, "kind": HALF})
add(
    "sweep_page",
    sweeps.sweep_page,
    lambda: {"path": FOLDER / "page.html", "name": "s", "rows": ROWS, "kind": HALF},
)


def _figure() -> dict[str, Any]:
    rows = ({"x": 1, "y": 2.0, "s": "a", "l": 1.0, "h": 3.0},)
    return {
        "title": "t",
        "rows": rows,
        "x": "x",
        "y": "y",
        "mark": "line",
        "series": "s",
        "low": "l",
        "high": "h",
        "log_x": False,
        "log_y": False,
        "diagonal": False,
        "x_title": "X",
        "y_title": "Y",
    }


add("Figure", lambda **given: Figure(**given).chart().to_dict(), _figure)
add("Figure.from_dict", Figure.from_dict, lambda: {"data": _figure()})
for _column in ("x", "y", "s", "l", "h"):
    for _mark in ("line", "points", "bars", "dots"):
        add(
            f"Figure, {_mark}, a value of {_column}",
            lambda value, column=_column, mark=_mark: (
                Figure(**{**_figure(), "mark": mark, "rows": [{**_figure()["rows"][0], column: value}]})
                .chart()
                .to_dict()
            ),
            lambda: {"value": 1.0},
        )
add(
    "Figure.save",
    lambda **given: Figure(**_figure()).save(**given),
    lambda: {"path": FOLDER / "chart.json"},
)

add("text_chart", text_chart, lambda: {"figure": Figure(**_figure()), "width": 60, "most_rows": 5})

# ---- measures ------------------------------------------------------------------------------------

add("first_crossing", measures.first_crossing, lambda: {"sizes": [1, 2], "values": [0.5, 0.0], "level": 0.1})
add(
    "threshold",
    measures.threshold,
    lambda: {
        "curves": {1: [0.5, 0.4], 2: [0.0]},
        "level": 0.1,
        "confidence": 0.9,
        "n_resamples": 20,
        "random_state": 0,
    },
)
add("threshold, a value", lambda value: measures.threshold({1: [0.5], 2: value}), lambda: {"value": [0.0]})
add(
    "fit_law",
    measures.fit_law,
    lambda: {"variables": {"m": [2, 4, 8]}, "y": [1, 2, 4], "groups": None, "confidence": 0.9},
)
add("Law", measures.fit_law({"m": [2, 4, 8]}, [1, 2, 5]), lambda: {"m": 3.0})

_MODEL = SparseRandomHierarchy(n_features=4, n_levels=2, n_empty=1)
_NETWORK = HierarchicalCNN(_MODEL.n_inputs, 4, 4, _MODEL.patch, 2, 8, n_replicas=2, random_state=0)
for _name in ("synonym_sensitivity", "diffeomorphism_sensitivity"):
    add(
        _name,
        getattr(measures, _name),
        lambda: {
            "network": _NETWORK,
            "sample": _MODEL.sample(10, 0),
            "level": 1,
            "random_state": 0,
            "allow_identity": True,
        },
    )

# ---- claims --------------------------------------------------------------------------------------


def _experiment(profile: str, listener: Any) -> claims.Finding:
    return claims.Finding(claims.Outcome.SUPPORTED, "1", "1", {"figure": 1.0}, (Figure(**_figure()),), ("little",))


_CLAIM = claims.Claim("toy", "One is one.", "Nobody 2020", "proved", _experiment)
_VERDICT = claims.run_claim(_CLAIM)
RESULTS = FOLDER / "results"
claims.keep(_VERDICT, RESULTS)

add(
    "Claim",
    claims.Claim,
    lambda: {
        "name": "toy",
        "statement": "One is one.",
        "source": "Nobody 2020",
        "status": "proved",
        "experiment": _experiment,
        "profiles": ("quick",),
        "is_check": False,
        "expected": "one",
        "caveats": ("little",),
    },
)
_INTERVAL, _STATED = claims.Interval(1.0, 2.0), claims.StatedExponent(2.0, (1.0, 3.0))
add("Interval", claims.Interval, lambda: {"low": 0.0, "high": 1.0})
add("Interval.over", _INTERVAL.over, lambda: {"other": _INTERVAL})
add("StatedExponent", claims.StatedExponent, lambda: {"value": 2.0, "rivals": (1.0, 3.0), "margin": 0.1})
add("judge_exponent", claims.judge_exponent, lambda: {"stated": _STATED, "interval": _INTERVAL})
_LAW = measures.fit_law({"x": [1, 2, 3]}, [1, 4, 10])
add("judge_law", claims.judge_law, lambda: {"law": _LAW, "stated": {"x": _STATED}})
add("judge_at_most", claims.judge_at_most, lambda: {"interval": _INTERVAL, "bar": 1.0, "refuted_above": 2.0})
add("judge_at_least", claims.judge_at_least, lambda: {"interval": _INTERVAL, "bar": 1.0, "refuted_below": 0.5})
add("judge_within", claims.judge_within, lambda: {"interval": _INTERVAL, "low": 1.0, "high": 3.0})
add("judge_equal", claims.judge_equal, lambda: {"differences": [0.01, -0.02, 0.0], "margin": 0.1})
add("share_interval", claims.share_interval, lambda: {"found": 3, "of": 13, "confidence": 0.9})
for _name in ("at_most", "at_least"):
    _options = {"what": "the error", "values": [0.1, 0.2], _name.removeprefix("at_"): 0.5}
    add(f"Premise.{_name}", getattr(claims.Premise, _name), lambda options=_options: dict(options))
add("Premise", claims.Premise, lambda: {"statement": "the data were fitted", "found": "they were", "holds": True})
add("all_of", claims.all_of, lambda: {"outcomes": [claims.Outcome.REFUTED]})
for _name in ("mean_interval", "geometric_interval"):
    add(_name, getattr(claims, _name), lambda: {"values": [1.0, 2.0], "confidence": 0.9})
add(
    "Finding",
    claims.Finding,
    lambda: {
        "outcome": claims.Outcome.REFUTED,
        "expected": "1",
        "measured": "2",
        "numbers": {"figure": 1.0},
        "figures": (),
        "caveats": (),
        "premises": (claims.Premise("the data were fitted", "they were", True),),
        "cut_short": False,
    },
)
add("get_claim", claims.get_claim, lambda: {"name": "depth-beats-width"})
add("run_claim", claims.run_claim, lambda: {"claim": _CLAIM, "profile": "quick", "progress": None, "time_limit": 60})
add("keep", claims.keep, lambda: {"verdict": _VERDICT, "folder": RESULTS})
add("kept", claims.kept, lambda: {"folder": RESULTS})
add("claims_page", claims.claims_page, lambda: {"path": FOLDER / "claims.html", "verdicts": [_VERDICT]})
add("Verdict.from_dict", claims.Verdict.from_dict, lambda: {"data": _VERDICT.to_dict()})
add_fields("Verdict.from_dict", claims.Verdict.from_dict, _VERDICT.to_dict)
add(
    "measure_p_star",
    measure_p_star,
    lambda: {
        "setting": HierarchyRun(n_train=20, n_features=4, learner="clustering", n_test=50),
        "guess": 30.0,
        "n_seeds": 1,
        "around": (0.5, 1.0, 2.0),
        "device": None,
        "progress": None,
    },
)

# ---- the floor -----------------------------------------------------------------------------------

add("printable", text.printable, lambda: {"text": "a", "several_lines": True})
add("check_writable", files.check_writable, lambda: {"path": FOLDER / "new"})
add("check_outputs", files.check_outputs, lambda: {"outputs": [FOLDER / "new"], "inputs": [STORE]})
add("check_folder", files.check_folder, lambda: {"path": FOLDER / "new"})
add("read_text", files.read_text, lambda: {"path": FOLDER / "sweep.toml"})
add("write_text", files.write_text, lambda: {"path": FOLDER / "written", "text": "a"})
add("check_progress", progress.check_progress, lambda: {"progress": None})


# ---- command lines -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Command:
    """A command line that works, in a folder of its own."""

    arguments: tuple[str, ...]

    def variants(self) -> Iterator[tuple[str, ...]]:
        """The same line with each argument after the command's name replaced by each odd text."""
        for place, word in enumerate(self.arguments):
            if place >= self._n_names and not word.startswith("--"):
                for odd in ODD_WORDS:
                    yield (*self.arguments[:place], odd, *self.arguments[place + 1 :])
        yield (*self.arguments, "--no-such-option")

    @property
    def _n_names(self) -> int:
        return 1 if self.arguments[:2] == ("sweep", "sweep.toml") else 2


ODD_WORDS = (
    "",
    "text",
    "nan",
    "-1",
    "0",
    "1.5",
    "1e30",
    "9" * 40,
    "\x1b[31m[red]:smile:",
    "/nonexistent/x",
    "folder",
    "binary",
    "empty",
    "postgresql://",
    "n" * 300,
)

COMMANDS = [
    Command(("sweep", "sweep.toml", "--kinds", "kinds", "--store", "kept.sqlite", "--workers", "1")),
    Command(
        (
            *("sweep", "run", "sweep.toml", "--kinds", "kinds", "--store", "kept.sqlite", "--engine", "local"),
            *("--device", "cpu", "--max-replicas", "2", "--report", "page.html", "--json"),
        )
    ),
    Command(("sweep", "presets", "--json")),
    Command(("sweep", "status", "--store", "kept.sqlite", "--last", "3")),
    Command(("store", "list", "--store", "kept.sqlite", "--json")),
    Command(("store", "list", "--store", "kept.sqlite", "--failed")),
    Command(("store", "export", "t.csv", "--store", "kept.sqlite", "--kind", "half")),
    Command(("store", "import", "spill.jsonl", "--store", "other.sqlite")),
    Command(("store", "compact", "--store", "kept.sqlite", "--failed")),
    Command(("claims", "list", "--json")),
    Command(("claims", "report", "--results", "results", "--out", "claims.html")),
    Command(
        (
            *("hierarchy", "sample", "--n-features", "4", "--n-classes", "3", "--multiplicity", "2"),
            *("--tuple-size", "2", "--n-levels", "2", "--n-empty", "1", "--placement", "A"),
            *("--rules-seed", "0", "--random-state", "0", "--n", "1", "--svg", "a.svg"),
        )
    ),
]


def make_folder(folder: Path) -> None:
    """Puts the files that :data:`COMMANDS` name into an empty folder."""
    for name in ("sweep.toml", "kept.sqlite", "spill.jsonl"):
        shutil.copy(FOLDER / name, folder / name)
    shutil.copytree(KINDS, folder / "kinds", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "folder").mkdir()
    (folder / "results").mkdir()
    claims.keep(_VERDICT, folder / "results")
    (folder / "binary").write_bytes(bytes(range(256)) * 10)
    (folder / "empty").write_bytes(b"")


def odd_commands() -> list[tuple[str, ...]]:
    """Every odd variant of every command line."""
    return [line for command in COMMANDS for line in command.variants()]

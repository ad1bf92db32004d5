"""Tables as people have them: what a discovery predicts beside untuned peers, in one run.

    python benchmarks/tables.py FOLDER                       # every .csv and .csv.gz of a folder, five splits each
    python benchmarks/tables.py FOLDER --names yacht energy --n-splits 1 --time-limit 60
    python benchmarks/tables.py --classes                    # four tables that scikit-learn carries

The last column is the target, or the one that FOLDER/targets.toml names: a line ``table = "column"`` for each, and
``classes = ["table", …]`` for those whose numbers are classes. A fifth of the rows is for the test. Of a split and a
model: the share of the target's variance that it leaves, or of the log loss of the class shares; "u" is what the peer
leaves over what the blend leaves, so that above 1 the blend is better. CatBoost, LightGBM and explainable boosting
take part where they are installed. The out-of-fold error is that of the record, in standard errors from the test's.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
import tomllib
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas
from _report import finish, print_table
from sklearn import datasets
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import compsparse as cs
from compsparse.models.comparison import dense_baselines, dense_classifiers

CLASS_TABLES = ("breast_cancer", "iris", "wine", "digits")
GRAPH, BLEND = "graph", "blend"
PEERS = {  # name: (module, of numbers, of classes, options)
    "CatBoost": ("catboost", "CatBoostRegressor", "CatBoostClassifier", {"verbose": 0, "thread_count": 1}),
    "LightGBM": ("lightgbm", "LGBMRegressor", "LGBMClassifier", {"verbosity": -1, "n_jobs": 1}),
    "explainable boosting": (
        "interpret.glassbox",
        "ExplainableBoostingRegressor",
        "ExplainableBoostingClassifier",
        {"n_jobs": 1},
    ),
}


@dataclass(frozen=True)
class Case:
    """A table and its target."""

    name: str
    X: pandas.DataFrame
    y: np.ndarray
    has_classes: bool


def cases(args: argparse.Namespace) -> Iterator[Case]:
    """The tables that were asked for."""
    if args.classes:
        for name in args.names or CLASS_TABLES:
            bunch = getattr(datasets, f"load_{name}")()
            columns = [f"x{i}" for i in range(bunch.data.shape[1])]
            yield Case(name, pandas.DataFrame(bunch.data, columns=columns), bunch.target, True)
        return
    if args.folder is None:
        raise SystemExit("give a folder of tables, or --classes")
    targets = _targets(args.folder)
    found = {path.name.split(".")[0]: path for path in sorted(args.folder.glob("*.csv*"))}
    for name in args.names or found:
        frame = pandas.read_csv(found[name])
        target = targets.get(name, frame.columns[-1])
        labelled = name in targets.get("classes", ()) or not pandas.api.types.is_numeric_dtype(frame[target])
        y = frame[target].to_numpy()
        yield Case(name, frame.drop(columns=target), pandas.factorize(y)[0] if labelled else y, labelled)


def _targets(folder: Path) -> Mapping[str, Any]:
    path = folder / "targets.toml"
    return tomllib.loads(path.read_text()) if path.exists() else {}


# ---- models --------------------------------------------------------------------------------------


def peers(y: np.ndarray, has_classes: bool, seed: int) -> dict[str, Any]:
    """Untuned models for a target, by name."""
    if has_classes:
        found = dense_classifiers(seed, len(y), int(np.bincount(y).min()))
        found["extra trees"] = ExtraTreesClassifier(500, min_samples_leaf=2, random_state=seed)
        found["linear"] = make_pipeline(StandardScaler(), LogisticRegression(max_iter=5000))
    else:
        found = dense_baselines(seed, len(y))
        found["extra trees"] = ExtraTreesRegressor(500, random_state=seed)
        found["linear"] = make_pipeline(StandardScaler(), RidgeCV())
    found = {name.split(" (")[0]: model for name, model in found.items()}
    for name, (module, of_numbers, of_classes, options) in PEERS.items():
        try:
            made = getattr(importlib.import_module(module), of_classes if has_classes else of_numbers)
        except ImportError:
            continue
        seeded = {"random_seed" if name == "CatBoost" else "random_state": seed}
        found[name] = made(**options, **seeded)
    return found


def losses(case: Case, model: Any, X: pandas.DataFrame, y: np.ndarray, train: np.ndarray) -> np.ndarray:
    """The loss of every test row, as a share of what a constant leaves on average."""
    if not case.has_classes:
        return np.asarray((y - np.ravel(model.predict(X))) ** 2 / np.var(y))
    shares = np.bincount(train) / len(train)
    given = np.clip(model.predict_proba(X)[np.arange(len(y)), y], 1e-6, 1)
    return np.asarray(-np.log(given) / -np.log(shares[y]).mean())


def run(case: Case, seed: int, args: argparse.Namespace) -> dict[str, Any]:
    """One split of a table: what every model leaves."""
    labels = case.y if case.has_classes else None
    X, X_test, y, y_test = train_test_split(case.X, case.y, test_size=0.2, random_state=seed, stratify=labels)
    started = time.perf_counter()
    found = cs.discover(X, y, classification=case.has_classes, time_limit=args.time_limit, random_state=seed)
    record: dict[str, Any] = {"seconds": time.perf_counter() - started, "modules": len(found.modules)}
    each = {
        GRAPH: losses(case, found.model, X_test, y_test, y),
        BLEND: losses(case, found.predictor, X_test, y_test, y),
    }
    for name, model in peers(y, case.has_classes, seed).items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            each[name] = losses(case, model.fit(X, y), X_test, y_test, y)
    record |= {name: float(loss.mean()) for name, loss in each.items()}
    if found.blend is not None:
        spread = each[BLEND].std() / np.sqrt(len(y_test))
        record["gap"] = (record[BLEND] - found.blend.scores[-1].unexplained) / spread
        if not case.has_classes:
            low, high = found.blend.predict_interval(X_test)
            record["covered"] = float(((y_test >= low) & (y_test <= high)).mean())
    return record


# ---- tables --------------------------------------------------------------------------------------


def summary(records: dict[str, list[dict[str, Any]]], reference: str) -> None:
    """Every table and the figures over all splits."""
    every = [record for own in records.values() for record in own]
    known = {"seconds", "modules", "gap", "covered"}
    models = [name for name in every[0] if name not in known]
    others = [name for name in models if name not in (GRAPH, BLEND)]
    shown = [*models, "u", "seconds"]
    print_table(
        ["table", "splits", *models, f"u of {reference}", "seconds"],
        [[name, len(own), *(_median(own, what, reference) for what in shown)] for name, own in records.items()],
    )
    gaps = np.array([record["gap"] for record in every if "gap" in record])
    covered = [record["covered"] for record in every if "covered" in record]
    best = [min(record[name] for name in others) for record in every]
    ratios = [record[reference] / record[BLEND] for record in every]
    figures = {
        "splits where the blend is at or above the best peer": float(
            np.mean([record[BLEND] <= b for record, b in zip(every, best, strict=True)])
        ),
        f"median of {reference} over blend": float(np.median(ratios)),
        f"least of {reference} over blend, by table": min(_median(own, "u", reference) for own in records.values()),
        f"median of {reference} over graph": float(np.median([r[reference] / r[GRAPH] for r in every])),
    }
    if len(gaps):
        figures["splits where out-of-fold and test loss agree"] = float((np.abs(gaps) <= 2).mean())
    if covered:
        figures["rows covered by 90% intervals"] = float(np.mean(covered))
    bars = {
        "splits where the blend is at or above the best peer": (">=", 0.5),
        f"median of {reference} over blend": (">=", 1.0),
        f"least of {reference} over blend, by table": (">=", 0.85),
        f"median of {reference} over graph": (">=", 0.9),
        "rows covered by 90% intervals": (">=", 0.88),
    }
    finish(figures, {name: bar for name, bar in bars.items() if name in figures})


def _median(own: list[dict[str, Any]], name: str, reference: str = "") -> float:
    return float(np.median([r[reference] / r[BLEND] if name == "u" else r[name] for r in own]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--classes", action="store_true", help="the tables of classes that scikit-learn carries")
    parser.add_argument("--names", nargs="+", help="tables, by their names")
    parser.add_argument("--n-splits", type=int, default=5)
    parser.add_argument("--time-limit", type=float, help="seconds of one discovery")
    args = parser.parse_args()
    records: dict[str, list[dict[str, Any]]] = {}
    for case in cases(args):
        for seed in range(args.n_splits):
            record = run(case, seed, args)
            records.setdefault(case.name, []).append(record)
            told = {name: round(value, 4) for name, value in record.items()}
            print(case.name, seed, told, file=sys.stderr, flush=True)
    if not records:
        raise SystemExit("there is no table")
    first = next(iter(records.values()))[0]
    summary(records, "CatBoost" if "CatBoost" in first else "gradient boosting")


if __name__ == "__main__":
    main()

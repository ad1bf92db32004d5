"""Discovery from data against targets whose graph is known, and against dense peers in the same run.

    python benchmarks/discovery.py                       # everything: hours on two cores
    python benchmarks/discovery.py --only tanh dag       # some targets
    python benchmarks/discovery.py --device cuda --workers 8 --peer-seeds 0

Every row of the table: exact-match rate, module F1, test R2 on 10,000 clean rows, CPU seconds, the best peer and
the ratio of unexplained variance best peer / ours (median over the seeds on which peers ran).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from _report import finish, print_table

from compsparse.discovery import Discovery
from compsparse.discovery.data.strategy import from_data
from compsparse.graph import FunctionGraph, compare_graphs, input_names, random_tree
from compsparse.tasks import Sample, Task, box, friedman1, random_target, shared_dag, sincos_tree, tanh_tree

N_TEST = 10_000
Verdict = Callable[[Discovery, FunctionGraph | None], bool]


@dataclass(frozen=True)
class Case:
    """A target at one sample size, what counts as right, and how often that is asked for."""

    name: str
    sample: Callable[[int, int], Sample]
    n: int
    graph: FunctionGraph | None
    right: Verdict
    least: float
    least_ratio: float | None = None
    most_seconds: float | None = None


def exact(found: Discovery, true: FunctionGraph | None) -> bool:
    return true is not None and compare_graphs(found.graph, true).exact


def nothing_claimed(found: Discovery, true: FunctionGraph | None) -> bool:
    return not found.modules


def dag_up_to_x6(found: Discovery, true: FunctionGraph | None) -> bool:
    """{0,1}, {0,1,2}, {3,4} found; beside them only what is true once x6, 0.23% of the variance, is out of sight."""
    sets = {frozenset(int(name[1:]) for name in members) for members in found.modules}
    needed = {frozenset({0, 1}), frozenset({0, 1, 2}), frozenset({3, 4})}
    hidden = {frozenset({5, 7}), frozenset({5, 6}), frozenset({5, 6, 7})}
    return needed <= sets <= needed | hidden and set(found.inert) <= {"x6"}


def friedman_inert(found: Discovery, true: FunctionGraph | None) -> bool:
    return found.inert == ("x5", "x6", "x7", "x8", "x9")


def friedman_complete(found: Discovery, true: FunctionGraph | None) -> bool:
    """The root is the complete node over {x0, x1}, x2, x3, x4."""
    root = found.graph.module_tree
    parts = {frozenset(child.members) for child in root.children}
    return root.kind == "complete" and parts == {frozenset(s) for s in (("x0", "x1"), ("x2",), ("x3",), ("x4",))}


def noise_sample(n: int, seed: int) -> Sample:
    rng = np.random.default_rng(seed)
    y = rng.standard_normal(n)
    return Sample(rng.uniform(-1, 1, (n, 8)), y, np.zeros(n))


def dense_sample(n: int, seed: int) -> Sample:
    """A random quadratic form and a sine over all inputs: no module anywhere; the function is the seed's."""
    rng = np.random.default_rng(seed % 1000)
    A, w = rng.standard_normal((8, 8)), rng.standard_normal(8)
    X = np.random.default_rng(seed).uniform(-1, 1, (n, 8))
    y = np.einsum("ni,ij,nj->n", X, A, X) + np.sin(2 * X @ w)
    return Sample(X, y, y)


def wide_task() -> Task:
    """Twenty inputs, twelve of them inert."""
    tree = random_tree(8, random_state=1)
    graph = FunctionGraph(input_names(20), tree.nodes, tree.outputs)
    return random_target(graph, random_state=1)


def several_outputs() -> Task:
    """Nine inputs, four outputs; a is used by three of them, b by two, one output uses both."""

    def h(a: str, b: str) -> str:
        return f"tanh(1.2*({a})*({b}) + ({a}) - 0.8*({b}) + 0.3)"

    a, b = h("x0", "x1"), "(sin(2*x2 + 1)*cos(1.5*x3) + 0.5*x2*x3)"
    texts = [h(a, "x4"), h(a, b), h(b, h("x5", "x6")), h(h("x7", "x8"), a)]
    return Task("several", FunctionGraph.from_expression(texts, input_names(9)), box(9))


def shared_once(found: Discovery, true: FunctionGraph | None) -> bool:
    """The modules of every output, each shared one with one node and with the right outputs."""
    users = {e.members: [] for e in found.evidence}
    for e in found.evidence:
        users[e.members].append(e.outputs)
    proper = {
        ("x0", "x1"): ("y0", "y1", "y3"),
        ("x2", "x3"): ("y1", "y2"),
        ("x5", "x6"): ("y2",),
        ("x7", "x8"): ("y3",),
    }
    expected = {frozenset(members): [outputs] for members, outputs in proper.items()}
    wholes = {found.inputs_of(output) for output in found.graph.outputs}
    right_wholes = {frozenset(f"x{i}" for i in s) for s in ((0, 1, 4), (0, 1, 2, 3), (2, 3, 5, 6), (0, 1, 7, 8))}
    return {m: u for m, u in users.items() if m not in wholes} == expected and wholes == right_wholes


def cases() -> list[Case]:
    tanh, sincos, dag = tanh_tree(), sincos_tree(), shared_dag()
    friedman, wide = friedman1(noise=0.05), wide_task()
    correlated = tanh.with_correlation(0.5)
    noisy = tanh.with_noise(0.05)
    return [
        Case("tanh 1000", tanh.sample, 1000, tanh.graph, exact, 0.9, 10, 45),
        Case("tanh 1000 noise 5%", noisy.sample, 1000, tanh.graph, exact, 0.9, 10, 45),
        Case("sincos 1000", sincos.sample, 1000, sincos.graph, exact, 0.7, 4, 45),
        Case("sincos 4000", sincos.sample, 4000, sincos.graph, exact, 0.9),
        Case("dag 1000", dag.sample, 1000, dag.graph, dag_up_to_x6, 0.9, 8, 45),
        Case("dag 4000", dag.sample, 4000, dag.graph, exact, 0.8, 8),
        Case("friedman inert", friedman.sample, 1000, friedman.graph, friedman_inert, 0.9),
        Case("friedman complete", friedman.sample, 1000, friedman.graph, friedman_complete, 0.8),
        Case("noise", noise_sample, 1000, None, nothing_claimed, 0.9),
        Case("dense", dense_sample, 1000, None, nothing_claimed, 0.9),
        Case("tanh correlated 2000", correlated.sample, 2000, tanh.graph, exact, 0.7),
        Case("several outputs", several_outputs().sample, 4000, None, shared_once, 0.8),
        Case("d=20, 12 inert", wide.sample, 4000, wide.graph, exact, 0.0, None, 600),
    ]


# ---- one seed ------------------------------------------------------------------------------------


def run_one(case: Case, seed: int, device: str | None, *, fit: bool, peers: bool) -> dict:
    sample, test = case.sample(case.n, seed), case.sample(N_TEST, 10_000 + seed)
    cpu, wall = time.process_time(), time.perf_counter()
    found = from_data(sample.X, sample.y, random_state=seed, device=device, fit=False)
    search_cpu, search_wall = time.process_time() - cpu, time.perf_counter() - wall
    result = {
        "case": case.name,
        "seed": seed,
        "right": bool(case.right(found, case.graph)),
        "f1": compare_graphs(found.graph, case.graph).f1 if case.graph is not None else float(not found.modules),
        "modules": sorted(sorted(m) for m in found.modules),
        "inert": list(found.inert),
        "search_cpu": search_cpu,
        "search_wall": search_wall,
        "networks": found.cost.networks,
    }
    if fit and (case.least_ratio is not None or case.name == "sincos 4000"):
        result |= _fit_and_score(found, sample, test, seed, device)
        result["wall"] = time.perf_counter() - wall
    if peers and case.least_ratio is not None:
        result["peers"] = {name: _peer_r2(name, sample, test, seed) for name in PEERS}
    return result


def _fit_and_score(found: Discovery, sample: Sample, test: Sample, seed: int, device: str | None) -> dict:
    from compsparse.models import fit_model

    model = fit_model(found.graph, sample.X, sample.y, random_state=seed, device=device)
    return {"r2": _r2(test.clean, model.predict(test.X))}


def _r2(y: np.ndarray, predicted: np.ndarray) -> float:
    return 1 - float(np.mean((y - predicted) ** 2) / np.var(y))


# ---- peers ---------------------------------------------------------------------------------------


def _boosting(seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(random_state=seed)


def _mlp(seed: int) -> Any:
    from sklearn.neural_network import MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(
        StandardScaler(), MLPRegressor(hidden_layer_sizes=(128, 128), max_iter=1000, random_state=seed)
    )


def _gaussian_process(seed: int) -> Any:
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    kernel = ConstantKernel() * RBF([1.0] * 8) + WhiteKernel(1e-3)
    return GaussianProcessRegressor(kernel, normalize_y=True, random_state=seed)


def _explainable_boosting(seed: int) -> Any:
    from interpret.glassbox import ExplainableBoostingRegressor

    return ExplainableBoostingRegressor(random_state=seed, n_jobs=1)


class _Kan:
    """pykan with the shape [8, 8, 4, 2, 1] of its own function-fitting examples, trained by L-BFGS."""

    def __init__(self, seed: int):
        self.seed = seed

    def fit(self, X: np.ndarray, y: np.ndarray) -> _Kan:
        from kan import KAN

        self.scale = float(y.std())
        rows = torch.as_tensor(X, dtype=torch.float32), torch.as_tensor(y[:, None] / self.scale, dtype=torch.float32)
        held = len(X) // 5
        data = {
            "train_input": rows[0][held:],
            "train_label": rows[1][held:],
            "test_input": rows[0][:held],
            "test_label": rows[1][:held],
        }
        # the best of four settings tried on tanh
        self.model = KAN([8, 8, 4, 2, 1], grid=3, k=3, seed=self.seed, auto_save=False)
        self.model.fit(data, opt="LBFGS", steps=50, lamb=1e-3)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return self.model(torch.as_tensor(X, dtype=torch.float32)).numpy()[:, 0] * self.scale


PEERS = {
    "boosting": _boosting,
    "mlp": _mlp,
    "gaussian process": _gaussian_process,
    "ebm": _explainable_boosting,
    "pykan": _Kan,
}
MOST_ROWS = {"gaussian process": 1000, "pykan": 4000}


def _peer_r2(name: str, sample: Sample, test: Sample, seed: int) -> float | None:
    """Test R2 of a peer on the rows it can take; None where it could not be fitted."""
    n = min(len(sample.X), MOST_ROWS.get(name, len(sample.X)))
    try:
        with warnings.catch_warnings(), open(os.devnull, "w") as nowhere:
            warnings.simplefilter("ignore")
            with redirect_stdout(nowhere), redirect_stderr(nowhere):
                model = PEERS[name](seed).fit(sample.X[:n], sample.y[:n])
        return _r2(test.clean, model.predict(test.X))
    except (ImportError, RuntimeError, ValueError, np.linalg.LinAlgError) as error:
        print(f"peer {name} failed: {error!r}", file=sys.stderr)
        return None


# ---- all of them ---------------------------------------------------------------------------------


def run_all(args: argparse.Namespace) -> list[dict]:
    """Every case and seed in a process of its own, so that workers do not share threads."""
    chosen = [c for c in cases() if not args.only or any(c.name.startswith(o) for o in args.only)]
    jobs = [(c.name, seed) for c in chosen for seed in range(args.first_seed, args.first_seed + args.seeds)]
    cores = max(1, (os.cpu_count() or 1) // args.workers)
    environment = {**os.environ, "OMP_NUM_THREADS": str(cores)}

    def run(job: tuple[str, int]) -> list[dict]:
        name, seed = job
        command = [sys.executable, __file__, "--one", name, "--first-seed", str(seed)]
        command += ["--peer-seeds", str(args.peer_seeds), *(["--device", args.device] if args.device else [])]
        command += ["--no-fit"] if args.no_fit else []
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            print(done.stderr[-2000:], file=sys.stderr)
            raise SystemExit(f"{name}, seed {seed} ended with an error")
        result = json.loads(done.stdout.strip().splitlines()[-1])
        if args.keep:
            with open(args.keep, "a", encoding="utf-8") as file:
                file.write(json.dumps(result) + "\n")
        print(f"{name}, seed {seed}: {'right' if result['right'] else result['modules']}", file=sys.stderr, flush=True)
        return [result]

    with ThreadPoolExecutor(args.workers) as pool:
        return [result for results in pool.map(run, jobs) for result in results]


def _median(values: list) -> float:
    values = [v for v in values if v is not None]
    return float(np.median(values)) if values else float("nan")


def summary(results: list[dict]) -> None:
    figures: dict[str, float] = {}
    bars: dict[str, tuple[str, float]] = {}
    rows = []
    for case in cases():
        mine = [r for r in results if r["case"] == case.name]
        if not mine:
            continue
        rate = sum(r["right"] for r in mine) / len(mine)
        r2 = _median([r.get("r2") for r in mine])
        best, ratio = _best_peer(mine)
        seconds = _median([r["search_wall"] for r in mine])
        rows.append([case.name, f"{sum(r['right'] for r in mine)}/{len(mine)}", _median([r["f1"] for r in mine]), r2])
        rows[-1] += [_median([r["search_cpu"] for r in mine]), seconds, best, ratio]
        figures[f"{case.name}: right"] = rate
        bars[f"{case.name}: right"] = (">=", case.least)
        if case.least_ratio is not None and np.isfinite(ratio):
            figures[f"{case.name}: unexplained, best peer / ours"] = ratio
            bars[f"{case.name}: unexplained, best peer / ours"] = (">=", case.least_ratio)
        if case.most_seconds is not None:
            figures[f"{case.name}: seconds"] = seconds
            bars[f"{case.name}: seconds"] = ("<=", case.most_seconds)
    print_table(["case", "right", "module F1", "test R2", "CPU s", "wall s", "best peer", "ratio"], rows)
    finish(figures, bars)


def _best_peer(results: list[dict]) -> tuple[str, float]:
    compared = [r for r in results if any(v is not None for v in r.get("peers", {}).values())]
    if not compared:
        return "", float("nan")
    medians = {name: _median([r["peers"][name] for r in compared]) for name in PEERS}
    best = max(medians, key=lambda name: -np.inf if np.isnan(medians[name]) else medians[name])
    ratios = [(1 - max(v for v in r["peers"].values() if v is not None)) / max(1 - r["r2"], 1e-12) for r in compared]
    return f"{best} {medians[best]:.3f}", float(np.median(ratios))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--peer-seeds", type=int, default=2, help="seeds on which the peers run too")
    parser.add_argument("--only", nargs="*", help="beginnings of case names")
    parser.add_argument("--no-fit", action="store_true", help="structure only: no final fit, no peers")
    parser.add_argument("--device")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--one", help="one case, printed as JSON; used by the workers")
    parser.add_argument("--keep", help="file to which every result is added as a line of JSON, as soon as it is there")
    parser.add_argument("--read", nargs="*", help="files of kept results to summarise instead of running")
    args = parser.parse_args()
    if args.one:
        case = next(c for c in cases() if c.name == args.one)
        peers = args.first_seed < args.peer_seeds and not args.no_fit
        print(json.dumps(run_one(case, args.first_seed, args.device, fit=not args.no_fit, peers=peers)))
        return
    if args.read:
        lines = [line for path in args.read for line in Path(path).read_text(encoding="utf-8").splitlines()]
        results = [json.loads(line) for line in lines]
    else:
        results = run_all(args)
    summary(results)


if __name__ == "__main__":
    main()

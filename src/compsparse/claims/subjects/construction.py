"""Explicit networks: how their units grow as the error shrinks, and what the memo's own construction reaches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np

from compsparse.claims.claim import Finding, Profile
from compsparse.claims.declared import Measured
from compsparse.claims.rules import Interval, StatedExponent, judge_at_least, judge_exponent
from compsparse.claims.seeds import FIRST_SEED
from compsparse.claims.shapes import each, figure_of, finding_of
from compsparse.construct import (
    ExplicitReLU,
    indicator_network,
    indicator_units,
    local_polynomials,
    shallow_log10_units,
)
from compsparse.construct import compile as compile_graph
from compsparse.graph import Constituent, FunctionGraph, Node
from compsparse.graph.formula import Formula, formula_value
from compsparse.graph.parser import parse_formula
from compsparse.progress import Progress
from compsparse.report.figure import Figure

_NODE = "sin(a + b/2 + a*b/2)"
_BOX = (-1.0, 1.0)
_JUDGED_SIZES = (4, 8)
"""Inputs of the trees whose exponents are judged; the chart over inputs has a smaller and a larger one too."""


def _tree(n: int) -> FunctionGraph:
    """A balanced tree of n inputs with the same smooth constituent at every node."""
    level = [f"x{i}" for i in range(n)]
    inputs, nodes = list(level), list[Node]()
    while len(level) > 1:
        pairs = [(f"v{len(nodes) + k}", a, b) for k, (a, b) in enumerate(zip(level[::2], level[1::2], strict=True))]
        nodes += [Node(name, (a, b), Constituent.from_expression(_NODE, ["a", "b"])) for name, a, b in pairs]
        level = [name for name, _, _ in pairs]
    return FunctionGraph(inputs, nodes)


# ---- deep against shallow counts ------------------------------------------------------------------


@dataclass(frozen=True)
class _Count:
    inputs: int
    tol: float
    log10_deep: float
    log10_shallow: float

    @property
    def both(self) -> dict[str, float]:
        return {"a grid a node": self.log10_deep, "one grid": self.log10_shallow}


def compiled_counts(profile: Profile, progress: Progress) -> Finding:
    """Units of compiled trees, a grid a node, and of one grid over all inputs, against the tolerance."""
    del profile
    tols = (0.01, 0.005, 0.0025)
    wanted = [(n, tol) for n in _JUDGED_SIZES for tol in tols] + [(n, tols[0]) for n in (2, 16)]
    counts = []
    for n, tol in each(wanted, progress, "{} inputs, tol {:g}"):
        graph = _tree(n)
        built = compile_graph(graph, _BOX, tol, "kuhn", n_points=50, random_state=0)
        shallow = shallow_log10_units(graph, built.domain, tol)
        counts.append(_Count(n, tol, float(np.log10(built.size.units)), shallow))
    return judge_counts(counts)


def judge_counts(every: list[_Count]) -> Finding:
    sizes, counts = _JUDGED_SIZES, [c for c in every if c.inputs in _JUDGED_SIZES]
    deep, shallow = ({n: _slopes(counts, n, what) for n in sizes} for what in ("log10_deep", "log10_shallow"))
    outcomes = [judge_exponent(StatedExponent(1.0, rivals=(n / 2,), margin=0.15), s) for n, s in deep.items()]
    outcomes += [
        judge_exponent(StatedExponent(n / 2, rivals=(1.0,), margin=0.15 * n / 2), s) for n, s in shallow.items()
    ]
    gap = {n: min(c.log10_shallow - c.log10_deep for c in counts if c.inputs == n) for n in sizes}
    outcomes.append(judge_at_least(Interval(gap[sizes[-1]], gap[sizes[-1]]), 1.0))
    points = [(c.tol, value, f"{kind}, n={c.inputs}") for c in counts for kind, value in c.both.items()]
    listed = [f"n={n}: deep {deep[n].text(2)}, shallow {shallow[n].text(2)}" for n in sizes]
    return finding_of(
        outcomes,
        measured="exponents between neighbouring tolerances: " + "; ".join(listed),
        numbers={f"log10_gap_{n}": gap[n] for n in sizes},
        figures=(
            figure_of("Units against the tolerance", points, "tol", "log10 of units", "network", log_x=True),
            _by_inputs(every),
        ),
    )


def _by_inputs(counts: list[_Count]) -> Figure:
    """The counts at the tolerance that every size has, against the number of inputs."""
    tol = max(c.tol for c in counts)
    shown = sorted((c for c in counts if c.tol == tol), key=lambda c: c.inputs)
    points = [(c.inputs, value, kind) for c in shown for kind, value in c.both.items()]
    title = f"Units against the number of inputs, tolerance {tol:g}"
    return figure_of(title, points, "inputs", "log10 of units", "network")


def _slopes(counts: list[_Count], n: int, what: str) -> Interval:
    """The least and the largest exponent of 1/tol between neighbouring tolerances."""
    mine = sorted((c for c in counts if c.inputs == n), key=lambda c: -c.tol)
    units, digits = [getattr(c, what) for c in mine], [-np.log10(c.tol) for c in mine]
    slopes = np.diff(units) / np.diff(digits)
    return Interval(float(slopes.min()), float(slopes.max()))


# ---- Lemma 2 --------------------------------------------------------------------------------------

_LEMMA_NODE = "sin(2*a - b + a*b)"
_CELLS = (8, 16, 32)


def lemma_two(profile: Profile, progress: Progress) -> Measured:
    """L2 and sup errors of the memo's indicator networks on binary trees, as cells grow in number."""
    sizes = (2, 4, 8) if profile == "quick" else (2, 4, 8, 16)
    formula = parse_formula(_LEMMA_NODE, ["a", "b"])
    networks = {k: indicator_network(formula, [_BOX, _BOX], k, ramp=0.2 / k).network for k in _CELLS}
    values: dict[str, np.ndarray] = {}
    points: list[tuple[float, float, str]] = []
    for n in each(sizes, progress, "{} inputs"):
        x = np.random.default_rng([FIRST_SEED, n]).uniform(*_BOX, (6000, n))
        exact = _up_the_tree(x, lambda pair: formula_value(formula, *pair.T))
        off = {k: _up_the_tree(x, partial(_first_output, networks[k])) - exact for k in _CELLS}
        l2 = {k: float(np.sqrt(np.mean(v**2))) for k, v in off.items()}
        values[f"L2 exponent, {n} inputs"] = -np.diff(np.log(list(l2.values()))) / np.diff(np.log(_CELLS))
        values[f"units over (n - 1) k^2, {n} inputs"] = np.array([indicator_units(k) / k**2 for k in _CELLS])
        points += [(k, e, f"L2, {n} inputs") for k, e in l2.items()]
    values["sup error, one node"] = np.array([_sup_error(networks[k], formula, k) for k in _CELLS])
    points += [(k, float(e), "sup, one node") for k, e in zip(_CELLS, values["sup error, one node"], strict=True)]
    figure = figure_of("Lemma 2: error against cells", points, "cells a side", "error", "norm", log_x=True, log_y=True)
    short = f"the printed count O(L eps^-2) is short of a factor L: {indicator_units(_CELLS[-1]):,} units a node at "
    return Measured(values, (figure,), caveats=(f"{short}{_CELLS[-1]} cells a side",))


def _first_output(network: ExplicitReLU, x: np.ndarray) -> np.ndarray:
    return network.values(x)[:, 0]


def _up_the_tree(x: np.ndarray, node: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Values of a binary tree of one constituent; those of a network may leave its box and are cut to it."""
    while x.shape[1] > 1:
        pairs = x.reshape(len(x), -1, 2)
        level = [np.asarray(node(np.clip(pairs[:, i], *_BOX))) for i in range(pairs.shape[1])]
        x = np.stack(level, axis=1)
    return x[:, 0]


def _sup_error(network: ExplicitReLU, formula: Formula, k: int) -> float:
    """At the corners of cells, where the sum of indicators is two."""
    corners = np.stack(np.meshgrid(*[np.linspace(*_BOX, k + 1)[1:-1]] * 2), axis=-1).reshape(-1, 2)
    return float(np.abs(network.values(corners)[:, 0] - formula_value(formula, *corners.T)).max())


# ---- all derivatives ------------------------------------------------------------------------------

_GRIDS = {1: (8, 16, 32, 64), 2: (6, 9, 13, 18), 3: (3, 4, 6)}
_OTHER_GRIDS = {(2, 1): (6, 10, 16, 24), (3, 1): (4, 6, 8, 10), (3, 3): (3, 4, 5)}
"""Cells a side by variables and derivatives: finer where there are few products, coarser where there are many."""
_FIRST_FUNCTION = FIRST_SEED + 100
"""Six functions of the seeds before were looked at when these were settled."""
_WAVES, _RATIO = 4, 1.5


def all_derivatives(profile: Profile, progress: Progress) -> Measured:
    """Units of networks of local polynomials against their error, for d variables and m derivatives."""
    n_functions = 20 if profile == "quick" else 60
    cells = list(product((1, 2, 3), (1, 2, 3)))
    values: dict[str, np.ndarray] = {}
    points: list[tuple[float, float, str]] = []
    for d, m in each(cells, progress, "{} variables, {} derivatives"):
        functions = [_rough(d, m, np.random.default_rng([_FIRST_FUNCTION, d, seed])) for seed in range(n_functions)]
        built = [
            local_polynomials(partial(_columns, functions), d, n, m, 5e-3 / n**m)
            for n in _OTHER_GRIDS.get((d, m), _GRIDS[d])
        ]
        x = np.random.default_rng(FIRST_SEED).random((1500, d))
        errors = np.array(
            [np.sqrt(np.mean((b.network.values(x) - _columns(functions, x)) ** 2, axis=0)) for b in built]
        )
        units = np.array([b.units_without_logarithm for b in built])
        slopes = [np.polyfit(np.log(1 / e), np.log(units), 1)[0] for e in errors.T]
        values[f"exponent less d/m, d={d}, m={m}"] = np.array(slopes) - d / m
        points += [(float(np.mean(e)), b.n_units, f"d={d}, m={m}") for e, b in zip(errors, built, strict=True)]
    figure = figure_of("Units of local polynomials", points, "error", "units", "class", log_x=True, log_y=True)
    return Measured(values, (figure,))


def _columns(functions: list[Callable[[np.ndarray], np.ndarray]], X: np.ndarray) -> np.ndarray:
    return np.stack([f(X) for f in functions], axis=1)


def _rough(d: int, m: int, rng: np.random.Generator) -> Callable[[np.ndarray], np.ndarray]:
    """Waves of all scales along random directions, whose heights fall as if m derivatives were bounded and no more."""
    scales = np.repeat(_RATIO ** np.arange(20), _WAVES)
    w = rng.standard_normal((len(scales), d))
    w *= (np.pi * scales / np.linalg.norm(w, axis=1))[:, None]
    phases = rng.uniform(0, 2 * np.pi, len(scales))
    return lambda X: np.cos(X @ w.T + phases) @ scales ** -float(m)

"""Explicit networks: how their units grow as the error shrinks, and what the memo's own construction reaches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from compsparse.claims.claim import Finding, Profile
from compsparse.claims.rules import Interval, StatedExponent, judge_at_least, judge_exponent
from compsparse.claims.seeds import FIRST_SEED
from compsparse.claims.shapes import each, figure_of, finding_of
from compsparse.construct import compile as compile_graph
from compsparse.construct import indicator_network, indicator_units, shallow_log10_units
from compsparse.graph import Constituent, FunctionGraph, Node
from compsparse.graph.formula import formula_value
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


@dataclass(frozen=True)
class _Measured:
    cells: int
    l2: float
    sup: float


def lemma_two(profile: Profile, progress: Progress) -> Finding:
    """L2 and sup errors of the memo's indicator network as its cells grow in number."""
    del profile
    formula = parse_formula("sin(2*a - b + a*b)", ["a", "b"])
    rng = np.random.default_rng(FIRST_SEED)
    measured = []
    for k in each((6, 12, 24), progress, "{} cells a side"):
        found = indicator_network(formula, [_BOX, _BOX], k, ramp=0.2 / k)
        x = rng.uniform(*_BOX, (4000, 2))
        corners = np.stack(np.meshgrid(*[np.linspace(*_BOX, k + 1)[1:-1]] * 2), axis=-1).reshape(-1, 2)
        off, at_corners = (
            np.abs(found.network.values(points)[:, 0] - formula_value(formula, *points.T)) for points in (x, corners)
        )
        measured.append(_Measured(k, float(np.sqrt(np.mean(off**2))), float(max(off.max(), at_corners.max()))))
    return judge_lemma_two(measured)


def judge_lemma_two(measured: list[_Measured]) -> Finding:
    k = np.array([m.cells for m in measured], dtype=float)
    steps = np.diff(np.log([m.l2 for m in measured])) / np.diff(np.log(k))
    rate = Interval(float(-steps.max()), float(-steps.min()))
    sup = Interval(min(m.sup for m in measured), max(m.sup for m in measured))
    points = [(m.cells, error, norm) for m in measured for norm, error in (("L2", m.l2), ("sup", m.sup))]
    return finding_of(
        [judge_exponent(StatedExponent(1.0, rivals=(0.5, 2.0), margin=0.2), rate), judge_at_least(sup, 0.5)],
        measured=f"L2 exponent {rate.text(2)}; sup error {sup.text(2)}",
        numbers={f"sup_{m.cells}": m.sup for m in measured} | {f"l2_{m.cells}": m.l2 for m in measured},
        figures=figure_of(
            "Lemma 2: error against cells", points, "cells a side", "error", "norm", log_x=True, log_y=True
        ),
        caveats=(
            f"the printed count O(L eps^-2) is short of a factor L: {indicator_units(measured[-1].cells):,} units at "
            f"{measured[-1].cells} cells a side",
        ),
    )

"""Claims on functions of bits: the Walsh expansion is exact, and real functions and graphs are approximated by bits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from compsparse.claims.claim import Finding, Outcome, Profile
from compsparse.claims.rules import StatedExponent, all_of, exponent_interval, judge_exponent
from compsparse.claims.seeds import FIRST_SEED
from compsparse.graph import FunctionGraph
from compsparse.measures import fit_law
from compsparse.progress import Progress
from compsparse.report.figure import Figure
from compsparse.representations.boolean import binarise, binarise_graph, spectrum
from compsparse.representations.boolean.reading import all_rows
from compsparse.tasks import sincos_tree, tanh_tree

_MEMO = "Poggio, Foundations of Deep Learning (CBMM Memo 138, 2023)"


# ---- the Walsh expansion ---------------------------------------------------------------------------


def walsh_expansion(profile: Profile, progress: Progress) -> Finding:
    """Polynomials of random functions against their tables, and Parseval."""
    sizes = range(1, 17 if profile == "full" else 13)
    worst_value = worst_energy = 0.0
    for done, n in enumerate(sizes):
        rng = np.random.default_rng(FIRST_SEED + n)
        for table in (rng.integers(0, 2, 1 << n), rng.standard_normal(1 << n)):
            s = spectrum(table)
            expected = 1 - 2 * table if s.is_boolean else table
            rows = rng.permutation(1 << n)[:2000]
            worst_value = max(worst_value, float(np.abs(s.polynomial()(all_rows(n)[rows]) - expected[rows]).max()))
            worst_energy = max(worst_energy, s.parseval_gap / s.mean_square)
        progress.update(done + 1, len(sizes), f"{n} bits")
    holds = worst_value <= 1e-9 and worst_energy <= 1e-9
    return Finding(
        Outcome.SUPPORTED if holds else Outcome.REFUTED,
        measured=f"largest difference {worst_value:.1e}, largest share by which the energy differs {worst_energy:.1e}",
        numbers={"largest difference": worst_value, "largest share of the energy": worst_energy},
    )


# ---- real functions --------------------------------------------------------------------------------

_STATED = StatedExponent(-1, rivals=(-0.5, -2.0))
_PLAIN = FunctionGraph.from_expression("sin(2*a - b + a*b)")
_PLAIN_LIPSCHITZ = (3.0, 2.0)  # on [-1, 1]^2


@dataclass(frozen=True)
class _Error:
    target: str
    cells: int
    error: float
    table: int
    bound: float


def bits_approximate(profile: Profile, progress: Progress) -> Finding:
    """Errors of functions and graphs on bits against the number of cells of a variable."""
    bits = (2, 3, 4, 5, 6, 7, 8) if profile == "full" else (3, 4, 5, 6, 7)
    trees = {"tanh tree of 8": tanh_tree(8).graph, "sincos tree of 8": sincos_tree(8).graph}
    found = []
    for done, b in enumerate(bits):
        made = binarise(_PLAIN, [(-1, 1)] * 2, b, lipschitz=_PLAIN_LIPSCHITZ)
        x = np.random.default_rng(FIRST_SEED + b).uniform(-1, 1, (50_000, 8))
        error = float(np.abs(made(x[:, :2]) - _PLAIN(x[:, :2])).max())
        found.append(_Error("function of 2", 1 << b, error, len(made.table), made.certificate.upper))
        for name, tree in trees.items():
            small = binarise_graph(tree, [(-1, 1)] * 8, b, random_state=FIRST_SEED)
            error = float(np.abs(small(x) - tree(x)).max())
            found.append(_Error(name, 1 << b, error, small.n_table_values, np.inf))
        progress.update(done + 1, len(bits), f"{b} bits a wire")
    return _judge_bits(found)


def _judge_bits(found: list[_Error]) -> Finding:
    targets = list(dict.fromkeys(e.target for e in found))
    intervals = {}
    for target in targets:
        mine = [e for e in found if e.target == target]
        law = fit_law({"cells": [e.cells for e in mine]}, [e.error for e in mine])
        intervals[target] = exponent_interval(law, "cells")
    bounded = all(e.error <= e.bound for e in found)
    outcome = all_of(
        [
            *(judge_exponent(_STATED, interval) for interval in intervals.values()),
            Outcome.SUPPORTED if bounded else Outcome.REFUTED,
        ]
    )
    finest = max(e.cells for e in found)
    return Finding(
        outcome,

        measured="; ".join(f"{target}: exponent {i.text()}" for target, i in intervals.items())
        + ("; below the bound" if bounded else "; ABOVE the bound"),
        numbers={
            **{f"exponent, {target} (low)": i.low for target, i in intervals.items()},
            **{f"exponent, {target} (high)": i.high for target, i in intervals.items()},
            **{f"table values, {e.target}, {e.cells} cells": float(e.table) for e in found if e.cells == finest},
        },
        figures=(
            Figure(
                "Largest error of functions on bits", tuple({"cells": e.cells, "error": e.error, "target": e.target}
                for e in found), "cells", "error", series="target", log_x=True, log_y=True,
                x_title="cells of a variable, k", y_title="largest error at 50,000 points",
            ),
        ),
        caveats=(

            f"a table of a whole tree of 8 inputs with {finest} cells a variable would have {finest}^8 values",
        ),
    )  # fmt: skip

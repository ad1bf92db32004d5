"""Claims on Boolean functions: small graphs of easy ones, machines as circuits, spectra, and bits for reals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
import torch

from compsparse.claims.claim import Finding, Profile
from compsparse.claims.rules import StatedExponent, fitted_exponent, judge_at_least, judge_at_most, judge_exponent
from compsparse.claims.seeds import FIRST_SEED
from compsparse.claims.shapes import each, figure_of, finding_of, fitted_exponents
from compsparse.construct import compile_circuit
from compsparse.graph import FunctionGraph
from compsparse.progress import Progress
from compsparse.representations.boolean import (
    binarise,
    binarise_graph,
    circuit_of,
    curtis_decomposition,
    evaluate_bits,
    least_gates,
    spectrum,
)
from compsparse.representations.boolean.bits import random_bits
from compsparse.representations.boolean.reading import all_rows
from compsparse.representations.machine import (
    TuringMachine,
    balance_machine,
    palindrome_machine,
    parity_machine,
    unroll,
)
from compsparse.tasks import (
    Task,
    comparator,
    majority_vote,
    multiplexer,
    parity_tree,
    ripple_adder,
    sincos_tree,
    tanh_tree,
)

# ---- Theorem 10 ------------------------------------------------------------------------------------

_ARITY = 4
_MOST_EXPONENT = 2.0
_LEAST_GROWTH = 0.6
_EASY: dict[str, Callable[[int], Task]] = {
    "sum": lambda n: ripple_adder(n // 2),
    "comparison": lambda n: comparator(n // 2),
    "choice by address": lambda n: multiplexer(n.bit_length() - 1),
    "parity": parity_tree,
    "majority": majority_vote,
}


@dataclass(frozen=True)
class _Size:
    family: str
    n: int
    nodes: int
    units: int
    exact: bool


def boolean_equivalence(profile: Profile, progress: Progress) -> Finding:
    """Sizes of graphs and networks of easy functions, and of those that a search finds for random functions."""
    easy = (16, 32, 64, 128, 256) if profile == "full" else (16, 32, 64, 128)
    random = (7, 8, 9, 10, 11, 12) if profile == "full" else (7, 9, 11, 12)
    wanted = [(family, n) for family in _EASY for n in easy] + [("random", n) for n in random]
    found = [
        _random_size(n) if family == "random" else _easy_size(family, n)
        for family, n in each(wanted, progress, "{}, {} inputs")
    ]
    return judge_equivalence(found)


def _easy_size(family: str, n: int) -> _Size:
    graph = _EASY[family](n).graph
    return _size(family, graph, random_bits(1000, graph.n_inputs, np.random.default_rng(FIRST_SEED + n)))


def _random_size(n: int) -> _Size:
    table = np.random.default_rng(FIRST_SEED + n).integers(0, 2, 1 << n)
    return _size("random", curtis_decomposition(table, _ARITY).graph, all_rows(n))


def _size(family: str, graph: FunctionGraph, X: np.ndarray) -> _Size:
    network = compile_circuit(graph, torch.float32)
    answers = network(torch.tensor(X, dtype=torch.float32)).numpy()
    exact = bool(np.array_equal(answers, evaluate_bits(graph, X)))
    return _Size(family, graph.n_inputs, graph.size, network.size.units, exact)


def judge_equivalence(found: list[_Size]) -> Finding:
    easy = sorted({size.family for size in found} - {"random"})
    points: list[tuple[float, float, str]] = [(s.n, s.nodes, s.family) for s in found]
    fitted = fitted_exponents(points)
    exponents = {family: fitted[family] for family in easy}
    random = [s for s in found if s.family == "random"]
    growth = fitted_exponent([2.0**s.n for s in random], [s.nodes for s in random])
    # correction 6: a network on the graph takes at most 2^(arity - 1) units a node
    linear = all(s.exact and s.units <= 2 ** (_ARITY - 1) * s.nodes for s in found)
    needed = {s.n: least_gates(s.n).lower for s in random}
    points += [(n, least, "most functions need") for n, least in needed.items()]
    worst = max(exponents, key=lambda family: exponents[family].high)
    return finding_of(
        [
            *(judge_at_most(interval, _MOST_EXPONENT) for interval in exponents.values()),
            judge_at_least(growth, _LEAST_GROWTH),
            linear,
        ],
        measured=f"largest exponent {exponents[worst].text()} ({worst}); random functions {growth.text()} an input; "
        f"networks {'exact' if linear else 'NOT exact'}, at most "
        f"{max(s.units / s.nodes for s in found):.2g} units a node",
        numbers={
            **{f"exponent, {family} (low)": i.low for family, i in exponents.items()},
            **{f"exponent, {family} (high)": i.high for family, i in exponents.items()},
            "growth of random functions (low)": growth.low,
            "growth of random functions (high)": growth.high,
            **{f"nodes, {s.family}, n={s.n}": float(s.nodes) for s in found},
            **{f"nodes most functions need, n={n}": least for n, least in needed.items()},
        },
        figures=figure_of(
            f"Nodes of at most {_ARITY} parents", points, "inputs", "nodes", "function", log_x=True, log_y=True,
            x_title="inputs, n", y_title="nodes",
        ),
    )  # fmt: skip


# ---- Turing machines -------------------------------------------------------------------------------

_MOST_IN_TIME = 2.0
_MACHINES: dict[str, tuple[TuringMachine, Callable[[int], int]]] = {
    "parity": (parity_machine(), lambda n: n + 1),
    "palindrome": (palindrome_machine(), lambda n: (n + 1) * (n + 2) // 2),
    "as many zeros as ones": (balance_machine(), lambda n: (n + 1) ** 2),
}


@dataclass(frozen=True)
class _Unrolled:
    machine: str
    n: int
    time: int
    gates: int
    arity: int
    agrees: bool


def machines_unroll(profile: Profile, progress: Progress) -> Finding:
    """Gates of unrolled machines against their time, and whether simulation, graph and network agree."""
    sizes = {"parity": (8, 16, 32, 64), "palindrome": (8, 16, 32, 64), "as many zeros as ones": (9, 11, 13, 15, 18)}
    if profile == "full":
        sizes = {name: (*ns, 128 if ns[-1] == 64 else 24) for name, ns in sizes.items()}
    wanted = [(name, n) for name, ns in sizes.items() for n in ns]
    found = [_unrolled(*case) for case in each(wanted, progress, "{}, {} bits")]
    return judge_machines(found)


def _unrolled(name: str, n: int) -> _Unrolled:
    machine, time = _MACHINES[name]
    unrolled = unroll(machine, n, time(n))
    X = all_rows(n) if n <= 10 else _strings(n, 2000)
    expected = machine.run(X, time(n))
    agrees = bool(expected.halts.all() and np.array_equal(unrolled(X), expected.accepts))
    if unrolled.n_gates <= 20_000:
        network = compile_circuit(unrolled.graph, torch.float32)
        values = network(torch.tensor(X, dtype=torch.float32)).numpy()[:, 0]
        agrees &= bool(np.array_equal(values, expected.accepts))
    return _Unrolled(name, n, time(n), unrolled.n_gates, unrolled.graph.max_arity, agrees)


def _strings(n: int, n_rows: int) -> np.ndarray:
    """A third random, a third palindromes, a third palindromes with one bit changed; half of all balanced."""
    rng = np.random.default_rng(FIRST_SEED + n)
    X = random_bits(n_rows, n, rng).copy()
    third = n_rows // 3
    X[third:, n - n // 2 :] = X[third:, : n // 2][:, ::-1]
    X[np.arange(third), rng.integers(0, n, third)] ^= 1
    balanced = rng.permuted(np.tile(np.arange(n) % 2, (n_rows // 2, 1)), axis=1)
    return np.concatenate([X, balanced.astype(np.uint8)])


def judge_machines(found: list[_Unrolled]) -> Finding:
    points = [(u.time, u.gates, u.machine) for u in found]
    exponents = fitted_exponents(points)
    agree = all(u.agrees for u in found)
    arity = max(u.arity for u in found)
    points += [(t, t**2, "steps squared") for t in (9, 100, max(u.time for u in found))]
    return finding_of(
        [*(judge_at_most(interval, _MOST_IN_TIME) for interval in exponents.values()), agree and arity <= 3],
        measured="; ".join(f"{name}: T^({interval.text()})" for name, interval in exponents.items())
        + f"; arity at most {arity}; answers {'agree' if agree else 'DIFFER'}",
        numbers={
            **{f"exponent in T, {name} (low)": i.low for name, i in exponents.items()},
            **{f"exponent in T, {name} (high)": i.high for name, i in exponents.items()},
            **{f"gates, {u.machine}, n={u.n}": float(u.gates) for u in found},
        },
        figures=figure_of(
            "Gates of unrolled Turing machines", points, "steps", "gates", "machine", log_x=True, log_y=True,
            x_title="steps of the machine, T", y_title="gates",
        ),
    )  # fmt: skip


# ---- correction 5 ----------------------------------------------------------------------------------

_FULL: dict[str, Callable[[int], FunctionGraph]] = {
    "conjunction": lambda n: circuit_of(_names(n), lambda b: {"y": b.all_of(*(b[x] for x in b.inputs))}),
    "inner product modulo 2": lambda n: circuit_of(
        _names(n), lambda b: {"y": b.parity_of(*(b.all_of(b[f"x{i}"], b[f"x{i + n // 2}"]) for i in range(n // 2)))}
    ),
    "majority": lambda n: majority_vote(n).graph,
    "parity": lambda n: parity_tree(n).graph,
}


def _names(n: int) -> list[str]:
    return [f"x{i}" for i in range(n)]


@dataclass(frozen=True)
class _Spectral:
    family: str
    n: int
    terms: int
    gates: int


def full_spectra(profile: Profile, progress: Progress) -> Finding:
    """Terms of the Walsh polynomial and gates of a circuit, for functions whose polynomial has all terms and others."""
    sizes = (4, 8, 12, 16, 20) if profile == "full" else (4, 8, 12, 16)
    found = []
    for family, n in each(product(_FULL, sizes), progress, "{}, {} inputs"):
        graph = _FULL[family](n)
        table = evaluate_bits(graph, all_rows(n))[:, 0]
        found.append(_Spectral(family, n, spectrum(table).sparsity, graph.size))
    return judge_spectra(found)


def judge_spectra(found: list[_Spectral]) -> Finding:
    families = list(dict.fromkeys(s.family for s in found))
    full = [f for f in families if all(s.terms == 1 << s.n for s in found if s.family == f)]
    exponents = fitted_exponents((s.n, s.gates, s.family) for s in found if s.family in full)
    points = [(s.gates, s.terms, s.family) for s in found]
    return finding_of(
        [judge_at_least(interval, _MOST_EXPONENT) for interval in exponents.values()],
        measured=(
            "; ".join(f"{f}: all 2^n coefficients, gates as n^({exponents[f].text()})" for f in full)
            or "no family has all coefficients"
        ),
        numbers={f"terms, {s.family}, n={s.n}": float(s.terms) for s in found}
        | {f"gates, {s.family}, n={s.n}": float(s.gates) for s in found},
        figures=figure_of("Terms of the polynomial against gates of a circuit", points, "gates", "terms", "function",
                          log_x=True, log_y=True, x_title="gates", y_title="Walsh coefficients that are not zero"),
    )  # fmt: skip


# ---- the Walsh expansion ---------------------------------------------------------------------------


def walsh_expansion(profile: Profile, progress: Progress) -> Finding:
    """Polynomials of random functions against their tables, and Parseval."""
    sizes = range(1, 17 if profile == "full" else 13)
    worst_value = worst_energy = 0.0
    for n in each(sizes, progress, "{} bits"):
        rng = np.random.default_rng(FIRST_SEED + n)
        for table in (rng.integers(0, 2, 1 << n), rng.standard_normal(1 << n)):
            s = spectrum(table)
            expected = 1 - 2 * table if s.is_boolean else table
            rows = rng.permutation(1 << n)[:2000]
            worst_value = max(worst_value, float(np.abs(s.polynomial()(all_rows(n)[rows]) - expected[rows]).max()))
            worst_energy = max(worst_energy, s.parseval_gap / s.mean_square)
    holds = worst_value <= 1e-9 and worst_energy <= 1e-9
    return finding_of(
        holds,
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
    for b in each(bits, progress, "{} bits a wire"):
        made = binarise(_PLAIN, [(-1, 1)] * 2, b, lipschitz=_PLAIN_LIPSCHITZ, random_state=0)
        x = np.random.default_rng(FIRST_SEED + b).uniform(-1, 1, (50_000, 8))
        error = float(np.abs(made(x[:, :2]) - _PLAIN(x[:, :2])).max())
        found.append(_Error("function of 2", 1 << b, error, len(made.table), made.certificate.upper))
        for name, tree in trees.items():
            small = binarise_graph(tree, [(-1, 1)] * 8, b, random_state=FIRST_SEED)
            error = float(np.abs(small(x) - tree(x)).max())
            found.append(_Error(name, 1 << b, error, small.n_table_values, np.inf))
    return judge_bits(found)


def judge_bits(found: list[_Error]) -> Finding:
    points = [(e.cells, e.error, e.target) for e in found]
    intervals = fitted_exponents(points)
    bounded = all(e.error <= e.bound for e in found)
    finest = max(e.cells for e in found)
    return finding_of(
        [*(judge_exponent(_STATED, interval) for interval in intervals.values()), bounded],
        measured="; ".join(f"{target}: exponent {i.text()}" for target, i in intervals.items())
        + ("; below the bound" if bounded else "; ABOVE the bound"),
        numbers={
            **{f"exponent, {target} (low)": i.low for target, i in intervals.items()},
            **{f"exponent, {target} (high)": i.high for target, i in intervals.items()},
            **{f"table values, {e.target}, {e.cells} cells": float(e.table) for e in found if e.cells == finest},
        },
        figures=figure_of(
            "Largest error of functions on bits", points, "cells", "error", "target",
            log_x=True, log_y=True, x_title="cells of a variable, k",
            y_title="largest error at 50,000 points",
        ),
        caveats=(f"a table of a whole tree of 8 inputs with {finest} cells a variable would have {finest}^8 values",),
    )  # fmt: skip

"""Claims on Boolean functions: easy ones have small graphs, machines unroll to circuits, full spectra say nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from compsparse.claims.claim import Finding, Outcome, Profile
from compsparse.claims.rules import Interval, all_of, exponent_interval, judge_at_least, judge_at_most
from compsparse.claims.seeds import FIRST_SEED
from compsparse.construct import compile_circuit
from compsparse.graph import FunctionGraph
from compsparse.measures import fit_law
from compsparse.progress import Progress
from compsparse.report.figure import Figure
from compsparse.representations.boolean import (
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
from compsparse.tasks import Task, comparator, majority_vote, multiplexer, parity_tree, ripple_adder

_MEMO = "Poggio, Foundations of Deep Learning (CBMM Memo 138, 2023)"


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
    found = []
    for i, (family, n) in enumerate(wanted):
        found.append(_random_size(n) if family == "random" else _easy_size(family, n))
        progress.update(i + 1, len(wanted), f"{family}, {n} inputs")
    return _judge_equivalence(found)


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


def _judge_equivalence(found: list[_Size]) -> Finding:
    easy = sorted({size.family for size in found} - {"random"})
    exponents = {family: _exponent([(s.n, s.nodes) for s in found if s.family == family]) for family in easy}
    random = [(s.n, s.nodes) for s in found if s.family == "random"]
    growth = _growth(random)
    # correction 6: a network on the graph takes at most 2^(arity - 1) units a node
    linear = all(s.exact and s.units <= 2 ** (_ARITY - 1) * s.nodes for s in found)
    outcome = all_of(
        [
            *(judge_at_most(interval, _MOST_EXPONENT) for interval in exponents.values()),
            judge_at_least(growth, _LEAST_GROWTH),
            Outcome.SUPPORTED if linear else Outcome.REFUTED,
        ]
    )
    rows = [{"inputs": s.n, "nodes": s.nodes, "function": s.family} for s in found]
    rows += [{"inputs": n, "nodes": least_gates(n).lower, "function": "most functions need"} for n, _ in random]
    worst = max(exponents, key=lambda family: exponents[family].high)
    return Finding(
        outcome,

        measured=f"largest exponent {exponents[worst].text()} ({worst}); random functions {growth.text()} an input; "
        f"networks {'exact' if linear else 'NOT exact'}, at most "
        f"{max(s.units / s.nodes for s in found):.2g} units a node",
        numbers={
            **{f"exponent, {family} (low)": i.low for family, i in exponents.items()},
            **{f"exponent, {family} (high)": i.high for family, i in exponents.items()},
            "growth of random functions (low)": growth.low,
            "growth of random functions (high)": growth.high,
            **{f"nodes, {s.family}, n={s.n}": float(s.nodes) for s in found},
            **{f"nodes most functions need, n={n}": least_gates(n).lower for n, _ in random},
        },
        figures=(
            Figure(
                f"Nodes of at most {_ARITY} parents", tuple(rows), "inputs", "nodes", series="function", log_x=True,
                log_y=True, x_title="inputs, n", y_title="nodes",
            ),
        ),

    )  # fmt: skip


def _exponent(points: list[tuple[int, int]]) -> Interval:
    law = fit_law({"n": [n for n, _ in points]}, [size for _, size in points])
    return exponent_interval(law, "n")


def _growth(points: list[tuple[int, int]]) -> Interval:
    """The interval of the slope of log2 of the size against n."""
    law = fit_law({"2^n": [2.0**n for n, _ in points]}, [size for _, size in points])
    return exponent_interval(law, "2^n")


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
    found = []
    for i, (name, n) in enumerate(wanted):
        found.append(_unrolled(name, n))
        progress.update(i + 1, len(wanted), f"{name}, {n} bits")
    return _judge_machines(found)


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


def _judge_machines(found: list[_Unrolled]) -> Finding:
    names = list(dict.fromkeys(u.machine for u in found))
    exponents = {
        name: exponent_interval(
            fit_law({"T": [u.time for u in found if u.machine == name]}, [u.gates for u in found if u.machine == name]),
            "T",
        )
        for name in names
    }
    agree = all(u.agrees for u in found)
    arity = max(u.arity for u in found)
    outcome = all_of(
        [
            *(judge_at_most(interval, _MOST_IN_TIME) for interval in exponents.values()),
            Outcome.SUPPORTED if agree and arity <= 3 else Outcome.REFUTED,
        ]
    )
    rows = [{"steps": u.time, "gates": u.gates, "machine": u.machine} for u in found]
    rows += [{"steps": t, "gates": t**2, "machine": "steps squared"} for t in (9, 100, max(u.time for u in found))]
    return Finding(
        outcome,

        measured="; ".join(f"{name}: T^({interval.text()})" for name, interval in exponents.items())
        + f"; arity at most {arity}; answers {'agree' if agree else 'DIFFER'}",
        numbers={
            **{f"exponent in T, {name} (low)": i.low for name, i in exponents.items()},
            **{f"exponent in T, {name} (high)": i.high for name, i in exponents.items()},
            **{f"gates, {u.machine}, n={u.n}": float(u.gates) for u in found},
        },
        figures=(
            Figure(
                "Gates of unrolled Turing machines", tuple(rows), "steps", "gates", series="machine", log_x=True,
                log_y=True, x_title="steps of the machine, T", y_title="gates",
            ),
        ),

    )  # fmt: skip


# ---- correction 5 ----------------------------------------------------------------------------------

_FULL: dict[str, Callable[[int], FunctionGraph]] = {
    "conjunction": lambda n: circuit_of(_names(n), lambda b: {"y": b.all_of(*(b[x] for x in b.inputs))}),
    "inner product modulo 2": lambda n: circuit_of(
        _names(n),
        lambda b: {"y": b.parity_of(*(b.all_of(b[f"x{i}"], b[f"x{i + n // 2}"]) for i in range(n // 2)))},
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
    wanted = [(family, n) for family in _FULL for n in sizes]
    found = []
    for i, (family, n) in enumerate(wanted):
        graph = _FULL[family](n)
        table = evaluate_bits(graph, all_rows(n))[:, 0]
        found.append(_Spectral(family, n, spectrum(table).sparsity, graph.size))
        progress.update(i + 1, len(wanted), f"{family}, {n} inputs")
    return _judge_spectra(found)


def _judge_spectra(found: list[_Spectral]) -> Finding:
    families = list(dict.fromkeys(s.family for s in found))
    full = [f for f in families if all(s.terms == 1 << s.n for s in found if s.family == f)]
    exponents = {f: _exponent([(s.n, s.gates) for s in found if s.family == f]) for f in full}
    outcome = all_of(judge_at_least(interval, _MOST_EXPONENT) for interval in exponents.values())
    rows = [{"gates": s.gates, "terms": s.terms, "function": s.family} for s in found]
    return Finding(
        outcome,

        measured=(
            "; ".join(f"{f}: all 2^n coefficients, gates as n^({exponents[f].text()})" for f in full)
            or "no family has all coefficients"
        ),
        numbers={f"terms, {s.family}, n={s.n}": float(s.terms) for s in found}
        | {f"gates, {s.family}, n={s.n}": float(s.gates) for s in found},
        figures=(
            Figure(
                "Terms of the polynomial against gates of a circuit", tuple(rows), "gates", "terms", series="function",
                log_x=True, log_y=True, x_title="gates", y_title="Walsh coefficients that are not zero",
            ),
        ),

    )  # fmt: skip

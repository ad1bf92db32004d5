"""Programs on words of bits and machines that write their answer, as graphs and exact networks of bounded arity."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
import torch

from compsparse.claims.claim import Profile
from compsparse.claims.declared import Measured
from compsparse.claims.rules import fitted_exponent
from compsparse.claims.seeds import FIRST_SEED
from compsparse.claims.shapes import each, figure_of, seen
from compsparse.construct import compile_circuit
from compsparse.graph import FunctionGraph
from compsparse.progress import Progress
from compsparse.representations.boolean import evaluate_bits
from compsparse.representations.boolean.reading import all_rows
from compsparse.representations.machine import (
    CompiledProgram,
    compile_program,
    divide,
    increment_machine,
    sine,
    square_root,
    unroll,
)

# ---- real functions to m bits ------------------------------------------------------------------------


@dataclass(frozen=True)
class _Computed:
    """A program that computes a real function to m bits, and its largest error over all inputs, in units of 2^-m."""

    program: CompiledProgram
    error: float


def _sum(m: int) -> _Computed:
    """a + b of m bits after the point, with a bit before it."""
    program = compile_program(lambda a, b: a + b, ["a", "b"], m + 1)
    a, b = _pairs(m)
    return _Computed(program, float(np.abs(program(a, b) - (a + b)).max()))


def _quotient(m: int) -> _Computed:
    """a / b for 0 <= a < b, to m bits: the whole part of 2^m a / b."""
    program = compile_program(lambda a, b: divide(a << m, b), ["a", "b"], 2 * m)
    a, b = _pairs(m)
    b = np.maximum(b, 1)
    a %= b
    return _Computed(program, float(np.abs(program(a, b) - 2.0**m * a / b).max()))


def _root(m: int) -> _Computed:
    """The root of x from 0 to 1, to m bits: the whole root of 2^2m x."""
    program = compile_program(square_root, ["a"], 2 * m)
    x = np.arange(2**m) << m
    return _Computed(program, float(np.abs(program(x) - np.sqrt(x)).max()))


def _sine(m: int) -> _Computed:
    """The sine of an angle from 0 to a right one, to m bits, with as many bits to spare as the steps may lose."""
    spare = math.ceil(math.log2(m)) + 2
    program = compile_program(sine, ["a"], m + spare + 3)
    angles = np.arange(int(2**m * math.pi / 2))
    found = program(angles << spare).astype(float)
    negative = found >= 2.0 ** (m + spare + 2)
    found = (found - negative * 2.0 ** (m + spare + 3)) / 2**spare
    return _Computed(program, float(np.abs(found - 2**m * np.sin(angles / 2**m)).max()))


def _pairs(m: int) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of words of m bits, or many of them."""
    if m <= 6:
        a, b = np.meshgrid(np.arange(2**m), np.arange(2**m))
        return a.ravel(), b.ravel()
    rng = np.random.default_rng([FIRST_SEED, m])
    return rng.integers(0, 2**m, 10_000), rng.integers(0, 2**m, 10_000)


_PROGRAMS: dict[str, Callable[[int], _Computed]] = {
    "sum": _sum, "quotient, long division": _quotient, "root, Newton": _root, "sine, CORDIC": _sine
}  # fmt: skip


_MOST_GATES = 2000
"""Of graphs whose networks are compared with them."""


def programs_are_sparse(profile: Profile, progress: Progress) -> Measured:
    """Gates of programs against the bits of their accuracy, and whether graphs and networks answer as they should."""
    accuracies = (4, 6, 8, 12) if profile == "quick" else (4, 6, 8, 10, 12, 14)
    values: dict[str, np.ndarray] = {}
    gates: dict[str, list[int]] = {name: [] for name in _PROGRAMS}
    for name, m in each(product(_PROGRAMS, accuracies), progress, "{} to {} bits"):
        found = _PROGRAMS[name](m)
        gates[name].append(found.program.n_gates)
        values[f"error in units of 2^-m, {name}, m={m}"] = np.array([found.error])
        values[f"arity, {name}, m={m}"] = np.array([found.program.graph.max_arity])
        if found.program.n_gates <= _MOST_GATES:
            values[f"network differs, {name}, m={m}"] = np.array([_share_that_differs(found.program.graph)])
    for name, counts in gates.items():
        interval = fitted_exponent(accuracies[: len(counts)], counts)
        values[f"exponent of the gates, {name}"] = np.array([interval.low, interval.high])
    points = [(m, g, name) for name, counts in gates.items() for m, g in zip(accuracies, counts, strict=False)]
    figure = figure_of("Gates of programs", points, "bits", "gates", "program", log_x=True, log_y=True,
                       x_title="bits of accuracy m")  # fmt: skip
    return Measured(values, (figure,))


def _share_that_differs(graph: FunctionGraph) -> float:
    """Of random inputs, those on which the graph's network does not answer what the graph answers."""
    X = np.random.default_rng(FIRST_SEED).integers(0, 2, (500, graph.n_inputs)).astype(np.uint8)
    answers = compile_circuit(graph, torch.float32)(torch.tensor(X, dtype=torch.float32)).numpy()
    return float((answers != evaluate_bits(graph, X)).any(1).mean())


# ---- a machine that writes its answer ------------------------------------------------------------------


def written_answers(profile: Profile, progress: Progress) -> Measured:
    """The machine that adds one, on all inputs of every length: the tape, the graph's outputs and arithmetic."""
    lengths = range(1, 11 if profile == "quick" else 15)
    machine, gates, wrong, arity = increment_machine(), [], [], []
    for n in each(lengths, progress, "{} bits"):
        cells, X = range(-1, n), all_rows(n)
        unrolled = unroll(machine, n, cells=cells)
        numbers = X @ (1 << np.arange(n)[::-1]) + 1
        expected = (numbers[:, None] >> np.arange(n + 1)[::-1]) & 1
        on_tape = machine.run(X, unrolled.time_bound, cells).tape == "1"
        wrong.append(float(((unrolled.tape(X) != expected) | (on_tape != expected)).any(1).mean()))
        gates.append(unrolled.n_gates)
        arity.append(unrolled.graph.max_arity)
    interval = fitted_exponent(list(lengths)[2:], gates[2:])
    values = {
        "wrong answers": np.array(wrong), "arity": np.array(arity),
        "exponent of the gates": np.array([interval.low, interval.high]),
    }  # fmt: skip
    figure = figure_of("Gates of a machine that adds one", zip(lengths, gates, strict=True), "bits", "gates")
    return Measured(values, (figure,), seen({"largest": float(gates[-1])}, "largest") + " gates")

"""Public entry points of Boolean functions, circuits and machines, called tiny."""

from __future__ import annotations

import numpy as np
from odd import Entry

from compsparse import construct, tasks
from compsparse.graph import FunctionGraph
from compsparse.representations import boolean, machine

_ROWS = np.array([[0, 1, 1], [1, 0, 1], [1, 1, 1], [0, 0, 0]])
_TABLE = [0, 1, 1, 0, 1, 0, 0, 1]
_GRAPH = tasks.ripple_adder(1).graph
_REAL = FunctionGraph.from_expression("a*b")
_MACHINE = machine.parity_machine()


def _first(x):
    return x[:, 0]


def _built(**given):
    b = boolean.CircuitBuilder(given.pop("inputs"))
    b.gate(given.pop("table"), given.pop("one"), given.pop("other"))
    return b.build(**given)


_SUM = machine.compile_program(lambda a, b: a + b, ["a", "b"], 3)

ENTRIES = [
    Entry(
        "walsh_transform",
        boolean.walsh_transform,
        lambda: {"values": np.ones(4), "overwrite": True, "n_threads": 1},
    ),
    Entry("spectrum", boolean.spectrum, lambda: {"table": _TABLE, "names": ["a", "b", "c"], "values": "auto"}),
    Entry(
        "Spectrum methods",
        lambda **given: [
            boolean.spectrum(_TABLE).coefficient(given.pop("members")),
            boolean.spectrum(_TABLE).stability(given.pop("rho")),
            boolean.spectrum(_TABLE).noise_sensitivity(given.pop("delta")),
            boolean.spectrum(_TABLE).degree_of_energy(given.pop("share")),
            boolean.spectrum(_TABLE).polynomial(**given),
        ],
        lambda: {"members": [0], "rho": 0.5, "delta": 0.1, "share": 0.9, "degree": 2, "n_terms": 1},
    ),
    Entry("WalshPolynomial.of", boolean.WalshPolynomial.of, lambda: {"n_inputs": 3, "terms": {(0, 1): 0.5}}),
    Entry("WalshPolynomial call", boolean.WalshPolynomial.of(3, {(0,): 1.0}), lambda: {"X": _ROWS}),
    Entry("circuit", _built, lambda: {
        "inputs": ["a", "b"], "table": [0, 0, 0, 1], "one": 2, "other": 4, "outputs": {"y": 6},
    }),
    Entry("evaluate_bits", boolean.evaluate_bits, lambda: {"graph": _GRAPH, "X": [[0, 1]]}),
    Entry("boolean_program", boolean.boolean_program, lambda: {"graph": _GRAPH}),
    Entry("gate_units", construct.gate_units, lambda: {"gate": np.array([[False, True], [True, True]])}),
    Entry("compile_circuit", construct.compile_circuit, lambda: {"graph": _GRAPH}),
    Entry("column_multiplicity", boolean.column_multiplicity, lambda: {"table": _TABLE, "members": [0, 1]}),
    Entry(
        "curtis_decomposition",
        boolean.curtis_decomposition,
        lambda: {"table": _TABLE, "most_arity": 3, "names": ["a", "b", "c"], "outputs": "y"},
    ),
    Entry("circuits_log2", boolean.circuits_log2, lambda: {"n_inputs": 3, "n_gates": 2}),
    Entry("least_gates", boolean.least_gates, lambda: {"n_inputs": 3, "share": 0.5}),
    Entry(
        "learn_heavy_terms",
        boolean.learn_heavy_terms,
        lambda: {"f": _first, "n_inputs": 3, "threshold": 0.9, "failure": 0.1, "random_state": 0},
        own=frozenset(["f"]),
    ),
    Entry(
        "learn_junta",
        boolean.learn_junta,
        lambda: {"f": _first, "n_inputs": 3, "size": 1, "failure": 0.1, "random_state": 0},
        own=frozenset(["f"]),
    ),
    Entry(
        "learn_low_degree",
        boolean.learn_low_degree,
        lambda: {"X": _ROWS, "y": [0, 1, 1, 0], "degree": 1, "failure": 0.1},
    ),
    Entry("junta_from_samples", boolean.junta_from_samples, lambda: {"X": _ROWS, "y": [0, 1, 1, 0], "size": 1}),
    Entry(
        "binarise",
        boolean.binarise,
        lambda: {
            "f": _first, "bounds": [(0, 1), (0, 1)], "n_bits": 2, "lipschitz": [1, 0], "names": ["a", "b"],
            "random_state": 0,
        },
        own=frozenset(["f"]),
    ),
    Entry(
        "BinarisedFunction methods",
        lambda **given: [
            boolean.binarise(_first, [(0, 1), (0, 1)], 2).bits(given.pop("X")),
            boolean.binarise(_first, [(0, 1), (0, 1)], 2).polynomial(**given),
        ],
        lambda: {"X": [[0.5, 0.5]], "n_terms": 2, "degree": 1},
    ),
    Entry(
        "binarise_graph",
        boolean.binarise_graph,
        lambda: {"graph": _REAL, "bounds": [(0, 1), (0, 1)], "n_bits": 2, "random_state": 0},
    ),
    *(
        Entry(f"tasks.{make.__name__}", make, lambda name=name: {name: 2})
        for make, name in (
            (tasks.ripple_adder, "n_bits"), (tasks.comparator, "n_bits"), (tasks.multiplexer, "n_address_bits"),
            (tasks.parity_tree, "n_inputs"), (tasks.majority_vote, "n_inputs"),
        )
    ),
    Entry("fair_bits", tasks.fair_bits, lambda: {"d": 2}),
    Entry("TuringMachine", machine.TuringMachine, lambda: {"rules": dict(_MACHINE.rules), "start": "even"}),
    Entry("TuringMachine.run", _MACHINE.run, lambda: {"X": _ROWS, "time_bound": 4, "cells": [0]}),
    Entry("TuringMachine.trace", _MACHINE.trace, lambda: {"x": [0, 1], "time_bound": 4}),
    Entry("unroll", machine.unroll, lambda: {"machine": _MACHINE, "n_inputs": 3, "time_bound": 4, "cells": [0]}),
    Entry(
        "compile_program",
        machine.compile_program,
        lambda: {"program": lambda a, b: a + b, "names": ["a", "b"], "n_bits": 3},
    ),
    Entry("CompiledProgram", lambda a, b: _SUM(a, b), lambda: {"a": [1, 2], "b": 3}),
    Entry("draw_tableau", machine.draw_tableau, lambda: {"trace": _MACHINE.trace([0, 1], 4), "most_rows": 3}),
]  # fmt: skip

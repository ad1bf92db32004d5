"""Turing machines and programs, and the circuits that they unroll to. Needs no torch."""

from compsparse.representations.machine.drawing import draw_tableau
from compsparse.representations.machine.programs import (
    CompiledProgram,
    Condition,
    Word,
    choose,
    compile_program,
    divide,
    sine,
    square_root,
)
from compsparse.representations.machine.turing import (
    MachineRun,
    MachineTrace,
    TuringMachine,
    balance_machine,
    increment_machine,
    palindrome_machine,
    parity_machine,
)
from compsparse.representations.machine.unrolling import UnrolledMachine, unroll

__all__ = [
    "CompiledProgram",
    "Condition",
    "MachineRun",
    "MachineTrace",
    "TuringMachine",
    "UnrolledMachine",
    "Word",
    "balance_machine",
    "choose",
    "compile_program",
    "divide",
    "draw_tableau",
    "increment_machine",
    "palindrome_machine",
    "parity_machine",
    "sine",
    "square_root",
    "unroll",
]

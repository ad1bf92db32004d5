"""Turing machines, their simulation on many inputs, and the circuits they unroll to. Needs no torch."""

from compsparse.representations.machine.drawing import draw_tableau
from compsparse.representations.machine.turing import (
    MachineRun,
    MachineTrace,
    TuringMachine,
    balance_machine,
    palindrome_machine,
    parity_machine,
)
from compsparse.representations.machine.unrolling import UnrolledMachine, unroll

__all__ = [
    "MachineRun",
    "MachineTrace",
    "TuringMachine",
    "UnrolledMachine",
    "balance_machine",
    "draw_tableau",
    "palindrome_machine",
    "parity_machine",
    "unroll",
]

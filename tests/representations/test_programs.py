"""Programs on words: arithmetic modulo 2^n for every input, and what has no graph."""

import math

import numpy as np
import pytest

from compsparse.errors import CompsparseError
from compsparse.representations.machine import (
    choose,
    compile_program,
    divide,
    increment_machine,
    sine,
    square_root,
    unroll,
)

N = 5
A, B = (g.ravel() for g in np.meshgrid(np.arange(2**N), np.arange(2**N)))


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (lambda a, b: a + b, (A + B) % 2**N),
        (lambda a, b: a - b, (A - B) % 2**N),
        (lambda a, b: a * b, (A * B) % 2**N),
        (lambda a, b: 3 * a + 7 - b, (3 * A + 7 - B) % 2**N),
        (lambda a, b: 1 - a, (1 - A) % 2**N),
        (lambda a, b: choose(a >= b, a, b), np.maximum(A, B)),
        (lambda a, b: choose(a < b, a, b), np.minimum(A, B)),
        (lambda a, b: choose((a > 3) & ~(b <= 7), a, b), np.where((A > 3) & (B > 7), A, B)),
        (lambda a, b: choose(a.equals(b) | (a >= 30), a, a.constant(0)), np.where((A == B) | (A >= 30), A, 0)),
        (lambda a, b: (a << 2) + (b >> 1), ((A << 2) + (B >> 1)) % 2**N),
        (lambda a, b: a.signed_shift(2), (np.where(A >= 16, A - 32, A) >> 2) % 2**N),
        (lambda a, b: choose(a.sign, b, a), np.where(A >= 16, B, A)),
        (divide, np.where(B == 0, 2**N - 1, A // np.maximum(B, 1))),
    ],
)
def test_programs_do_the_arithmetic_of_words(program, expected):
    compiled = compile_program(program, ["a", "b"], N)
    np.testing.assert_array_equal(compiled(A, B), expected)
    assert compiled.graph.max_arity <= 3


@pytest.mark.parametrize("n", [1, 2, 3, 7, 10])
def test_roots_are_whole_roots_of_all_words(n):
    numbers = np.arange(2**n)
    found = compile_program(square_root, ["a"], n)(numbers)
    np.testing.assert_array_equal(found, [math.isqrt(int(v)) for v in numbers])


def test_the_sine_is_off_by_the_bits_that_its_steps_cut_off():
    n = 14
    angles = np.arange(int(2 ** (n - 3) * math.pi / 2))
    found = compile_program(sine, ["a"], n)(angles).astype(float)
    found -= 2.0**n * (found >= 2.0 ** (n - 1))
    assert np.abs(found - 2 ** (n - 3) * np.sin(angles / 2 ** (n - 3))).max() < n


def test_gates_of_a_sum_are_those_of_a_ripple_adder():
    assert [compile_program(lambda a, b: a + b, ["a", "b"], n).n_gates for n in (2, 4, 8)] == [3, 7, 15]


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (lambda a: a if a >= 3 else a + 1, "cannot ask Python to decide"),
        (lambda a: 5, "Word"),
        (lambda a: a + 1.5, "words of one program"),
        (lambda a: choose(True, a, a), "condition"),
        (lambda a: a << -1, "places"),
        (7, "function of words"),
    ],
)
def test_what_has_no_graph_is_refused(program, message):
    with pytest.raises(CompsparseError, match=message):
        compile_program(program, ["a"], 4)


def test_a_loop_without_a_bound_is_refused_with_what_to_do():
    def collatz(a):
        while a > 1:
            a = a >> 1
        return a

    with pytest.raises(CompsparseError, match="loops need a known length"):
        compile_program(collatz, ["a"], 4)


@pytest.mark.parametrize("numbers", [(16,), (-1,), (0.5,), (1, 2)])
def test_numbers_that_are_no_words_are_refused(numbers):
    with pytest.raises(CompsparseError):
        compile_program(lambda a: a, ["a"], 4)(*numbers)


def test_outputs_keep_clear_of_inputs_by_their_names():
    assert compile_program(lambda out: out + 1, ["out"], 3)([6, 7]).tolist() == [7, 0]


@pytest.mark.parametrize("n", range(1, 9))
def test_one_is_added_on_the_tape_of_the_machine_and_of_its_graph(n):
    machine, cells = increment_machine(), range(-1, n)
    X = (np.arange(2**n)[:, None] >> np.arange(n)[::-1]) & 1
    expected = ((np.arange(2**n) + 1)[:, None] >> np.arange(n + 1)[::-1]) & 1
    unrolled = unroll(machine, n, cells=cells)
    np.testing.assert_array_equal(unrolled.tape(X), expected)
    np.testing.assert_array_equal(machine.run(X, unrolled.time_bound, cells).tape == "1", expected)
    assert unrolled(X).all()


def test_cells_that_no_head_can_reach_are_refused():
    with pytest.raises(CompsparseError, match="a cell"):
        unroll(increment_machine(), 3, cells=[99])

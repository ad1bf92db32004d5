"""Juntas: functions of many bits that depend on a few of them, found by queries or in samples."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from compsparse.checks import MOST_VARIABLES, RandomState, check_count, check_number, generator_from, input_names
from compsparse.errors import DataError
from compsparse.graph.function_graph import FunctionGraph, Node
from compsparse.representations.boolean.bits import check_bits, random_bits
from compsparse.representations.boolean.gates import constituent
from compsparse.representations.boolean.learning import Query, answers, as_truth
from compsparse.representations.boolean.reading import all_rows
from compsparse.sizes import check_size, check_work
from compsparse.text import in_a_line

_MOST_MEMBERS = 16
_MOST_SUBSETS = 5_000_000
_AT_ONCE = 1 << 26


@in_a_line
@dataclass(frozen=True, eq=False)
class Junta:
    """A Boolean function of a few of its inputs.

    Attributes:
        n_inputs: how many there are.
        members: positions of those that matter.
        table: truth values over the members' assignments, the first member as the most significant bit.
        n_values: values of the function that were used, asked or given.
        failure: probability that an input that matters was missed, at most; None from samples.
        n_consistent: sets of so few inputs that explain the samples as well, this one included; 1 by queries.
        n_unseen: assignments of the members that no sample has, and that are answered with false.
    """

    n_inputs: int
    members: tuple[int, ...]
    table: npt.NDArray[np.bool_]
    n_values: int
    failure: float | None = None
    n_consistent: int = 1
    n_unseen: int = 0

    @property
    def is_certain(self) -> bool:
        """Whether nothing else explains the samples, or the queries leave but a small chance of a miss."""
        return self.n_consistent == 1 and self.n_unseen == 0

    def __call__(self, X: Any) -> npt.NDArray[np.bool_]:
        """Truth values at rows of 0 and 1."""
        bits = check_bits("X", X, self.n_inputs)
        return np.asarray(self.table[_codes(bits, self.members)])

    @property
    def graph(self) -> FunctionGraph:
        """One node over the members; all other inputs are inert."""
        names = input_names(self.n_inputs)
        if not self.members:
            return FunctionGraph(names, [Node("y", names[:1], constituent(np.full(2, self.table[0])))])
        cube = self.table.reshape((2,) * len(self.members))
        return FunctionGraph(names, [Node("y", tuple(names[i] for i in self.members), constituent(cube))])


def learn_junta(
    f: Query, n_inputs: int, size: int, *, failure: float = 0.05, random_state: RandomState = None
) -> Junta:
    r"""A Boolean function of at most ``size`` inputs, by about \(2^k \log(k/\delta) + k \log n\) queries.

    Two random rows that agree on the inputs found so far and get different answers differ in another input that
    matters, which bisection finds. If one is missing, a pair does so with probability at least \(2^{-k}\).

    Args:
        f: takes rows of 0 and 1 of shape (m, n_inputs) and answers with truth values.
        size: k.
        failure: largest probability that an input that matters is missed.

    Raises:
        DataError: the function depends on more inputs, which the sentence names.

    >>> found = learn_junta(lambda x: x[:, 4] ^ (x[:, 70] & x[:, 71]), 100, 3, random_state=0)
    >>> found.members, found.table.astype(int).tolist()
    ((4, 70, 71), [0, 0, 0, 1, 1, 1, 1, 0])
    """
    n = check_count("n_inputs", n_inputs, most=MOST_VARIABLES)
    size = check_count("size", size, most=min(_MOST_MEMBERS, n))
    failure = check_number("failure", failure, above=0, below=1)
    search = _JuntaSearch(f, n, generator_from(random_state))
    members: list[int] = []
    tests = math.ceil(2**size * math.log((size + 1) / failure))
    while (new := search.another(members, tests)) is not None:
        members = sorted([*members, new])
        if len(members) > size:
            raise DataError(f"the function depends on more than {size} inputs: {members} all matter")
    check_size("the rows of the table", float(n) * 2 ** len(members), "ask for fewer inputs", bytes_each=1)
    rows = np.repeat(random_bits(1, n, search.rng), 1 << len(members), axis=0)
    rows[:, members] = all_rows(len(members)) if members else 0
    return Junta(n, tuple(members), search.asked(rows), search.n_queries, failure)


class _JuntaSearch:
    def __init__(self, f: Query, n: int, rng: np.random.Generator):
        self.f, self.n, self.rng, self.n_queries = f, n, rng, 0

    def asked(self, rows: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_]:
        self.n_queries += len(rows)
        return as_truth("the function's answer", answers(self.f, rows), len(rows))

    def another(self, members: list[int], tests: int) -> int | None:
        """An input that matters beside those known, or None if that many pairs of rows show none."""
        done, batch = 0, 16
        while done < tests:
            m = min(batch, tests - done, max(1, _AT_ONCE // self.n))
            one, other = random_bits(m, self.n, self.rng), random_bits(m, self.n, self.rng)
            other[:, members] = one[:, members]
            a, b = np.split(self.asked(np.concatenate([one, other])), 2)
            if (a != b).any():
                at = int(np.argmax(a != b))
                return self._bisected(one[at], other[at], a[at])
            done, batch = done + m, 4 * batch
        return None

    def _bisected(self, one: npt.NDArray[np.uint8], other: npt.NDArray[np.uint8], value: bool) -> int:
        """Of the inputs in which two rows of different values differ, one that changes the value by itself."""
        differing = np.flatnonzero(one != other)
        while len(differing) > 1:
            half = differing[: len(differing) // 2]
            between = one.copy()
            between[half] = other[half]
            if bool(self.asked(between[None])[0]) != value:
                differing = half
            else:
                one, differing = between, differing[len(half) :]
        return int(differing[0])


def junta_from_samples(X: Any, y: Any, size: int) -> Junta:
    """The fewest inputs, at most ``size``, that explain truth values without a contradiction; every set is tried.

    The record says how many sets of that size do as well: more than one means that the samples do not decide.

    Raises:
        DataError: no set of so few inputs explains the samples.
        ConfigError: there are too many sets to try.

    >>> rows = np.random.default_rng(0).integers(0, 2, (200, 30))
    >>> found = junta_from_samples(rows, rows[:, 3] & rows[:, 20], 3)
    >>> found.members, found.is_certain
    ((3, 20), True)
    """
    bits = check_bits("X", X)
    n = bits.shape[1]
    size = check_count("size", size, most=min(_MOST_MEMBERS, n))
    truth = as_truth("y", y, len(bits))
    if not len(bits):
        raise DataError("X has no rows to learn from")
    n_subsets = sum(math.comb(n, k) for k in range(size + 1))
    check_work("the number of sets of inputs", n_subsets, _MOST_SUBSETS, "ask for fewer inputs")
    for k in range(size + 1):
        consistent = list(_consistent(bits, truth, k))
        if consistent:
            return _junta(bits, truth, consistent)
    raise DataError(f"no {size} inputs explain the samples: of all such sets some assignment has both values")


def _consistent(bits: npt.NDArray[np.uint8], truth: npt.NDArray[np.bool_], k: int) -> Iterator[tuple[int, ...]]:
    """Sets of k inputs no assignment of which has both values."""
    for members in combinations(range(bits.shape[1]), k):
        codes = _codes(bits, members)
        seen = np.zeros((2, 1 << k), dtype=bool)
        seen[truth.astype(np.int8), codes] = True
        if not (seen[0] & seen[1]).any():
            yield members


def _junta(bits: npt.NDArray[np.uint8], truth: npt.NDArray[np.bool_], consistent: list[tuple[int, ...]]) -> Junta:
    members = consistent[0]
    codes = _codes(bits, members)
    table = np.zeros(1 << len(members), dtype=bool)
    table[codes[truth]] = True
    n_unseen = len(table) - len(np.unique(codes))
    n, n_values = bits.shape[1], len(bits)
    return Junta(n, members, table, n_values, n_consistent=len(consistent), n_unseen=n_unseen)


def _codes(bits: npt.NDArray[np.uint8], members: tuple[int, ...]) -> npt.NDArray[np.int64]:
    """Each row's assignment of some inputs as a number."""
    codes = np.zeros(len(bits), dtype=np.int64)
    for i in members:
        codes = codes << 1 | bits[:, i]
    return codes

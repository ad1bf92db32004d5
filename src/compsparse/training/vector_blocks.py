"""Products of rows of numbers in vector registers: the inner loops of the step kernel, in LLVM's instructions.

A loop along rows that a compiler vectorises loads and stores every sum again for each product. Here the sums of a
block stay in registers until they are complete. LLVM makes of vectors of eight whatever the processor has.
"""

from __future__ import annotations

from itertools import product
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 8
STRIP = 4 * LANES
"""Numbers that a block of one row takes; one of four rows takes half as many, for as many registers."""
_VECTOR = ir.VectorType(ir.FloatType(), LANES)
_INTEGER = ir.IntType(64)
_MAY = ("reassoc", "contract", "nsz", "arcp")


def _adding_multiples(n_into: int, n_vectors: int) -> Any:
    """Makes a block that adds multiples of any number of rows to ``n_into`` others, some numbers of each."""

    @intrinsic
    def add(
        typing: Any, table: Any, start: Any, into: Any, read: Any, weights: Any, per_into: Any, per_read: Any
    ) -> Any:
        """Args: (rows, length) numbers; the first of the numbers of a row; which rows; the weight of the k-th row of
        ``into`` and the i-th of ``read`` lies at ``k per_into + i per_read``. The rows of ``into`` are different.
        """

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            table, into, read, weights = _arrays(context, builder, signature, arguments, (0, 2, 3, 4))
            start, per_into, per_read = (arguments[i] for i in (1, 5, 6))
            columns = [builder.add(start, _INTEGER(LANES * v)) for v in range(n_vectors)]
            places = [table.vector(into.number(_INTEGER(k)), at) for k, at in product(range(n_into), columns)]
            sums = [_sum(builder, builder.load(place, align=4)) for place in places]
            first = [builder.mul(per_into, _INTEGER(k)) for k in range(n_into)]
            with cgutils.for_range(builder, read.length) as loop:
                row, along = read.number(loop.index), builder.mul(per_read, loop.index)
                xs = [builder.load(table.vector(row, at), align=4) for at in columns]
                ws = [weights.spread(builder.add(offset, along)) for offset in first]
                for total, (w, x) in zip(sums, product(ws, xs), strict=True):
                    _add_product(builder, total, w, x)
            for total, place in zip(sums, places, strict=True):
                builder.store(builder.load(total), place, align=4)
            return context.get_dummy_value()

        return types.void(table, types.intp, into, read, weights, types.intp, types.intp), generate

    return add


def _adding_products(n_rows: int, n_read: int) -> Any:
    """Makes a block that adds the inner products of ``n_rows`` rows of one table with ``n_read`` of another to sums."""

    @intrinsic
    def add(
        typing: Any, sums: Any, place: Any, per_row: Any, table: Any, row: Any, other: Any, read: Any, length: Any
    ) -> Any:
        """Args: the sum of the k-th row and the i-th read lies at ``place + k per_row + i``; (rows, length) numbers,
        and the first row; (rows, length) numbers, and the rows read; how many numbers of each row count.
        """

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            sums, table, other, read = _arrays(context, builder, signature, arguments, (0, 3, 5, 6))
            place, per_row, row, length = (arguments[i] for i in (1, 2, 4, 7))
            rows = [builder.add(row, _INTEGER(k)) for k in range(n_rows)]
            others = [read.number(_INTEGER(i)) for i in range(n_read)]
            zero = ir.Constant(_VECTOR, [0.0] * LANES)
            totals = [_sum(builder, zero) for _ in range(n_rows * n_read)]
            with cgutils.for_range_slice(builder, _INTEGER(0), length, _INTEGER(LANES)) as (at, _):
                xs = [builder.load(table.vector(r, at), align=4) for r in rows]
                ys = [builder.load(other.vector(r, at), align=4) for r in others]
                for total, (x, y) in zip(totals, product(xs, ys), strict=True):
                    _add_product(builder, total, x, y)
            found = _across(builder, [builder.load(total) for total in totals])
            kind = ir.VectorType(ir.FloatType(), n_read)
            for k in range(n_rows):
                at = builder.add(place, builder.mul(per_row, _INTEGER(k)))
                where = builder.bitcast(builder.gep(sums.data, [at]), kind.as_pointer())
                own = _shuffled(builder, found, found, range(n_read * k, n_read * (k + 1)))
                builder.store(builder.fadd(builder.load(where, align=4), own), where, align=4)
            return context.get_dummy_value()

        return types.void(sums, types.intp, types.intp, table, types.intp, other, read, types.intp), generate

    return add


add_multiples_to_four, add_multiples_to_one = _adding_multiples(4, 2), _adding_multiples(1, 4)
add_products_two_by_four, add_products_one_by_one = _adding_products(2, 4), _adding_products(1, 1)


class _Array:
    """A contiguous array of one or two dimensions while code is generated."""

    def __init__(self, builder: Any, data: Any, shape: list[Any]):
        self._builder, self.data, self.length, self._per_row = builder, data, shape[0], shape[-1]

    def number(self, index: Any) -> Any:
        return self._builder.load(self._builder.gep(self.data, [index]))

    def spread(self, index: Any) -> Any:
        """A number in all lanes."""
        undefined = ir.Constant(_VECTOR, ir.Undefined)
        single = self._builder.insert_element(undefined, self.number(index), ir.IntType(32)(0))
        return _shuffled(self._builder, single, undefined, [0] * LANES)

    def vector(self, row: Any, at: Any) -> Any:
        """Where some numbers of a row lie."""
        index = self._builder.add(self._builder.mul(row, self._per_row), at)
        return self._builder.bitcast(self._builder.gep(self.data, [index]), _VECTOR.as_pointer())


def _arrays(context: Any, builder: Any, signature: Any, arguments: Any, which: tuple[int, ...]) -> list[_Array]:
    found = []
    for i in which:
        kind = signature.args[i]
        if kind.layout != "C":
            raise TypeError(f"argument {i} is not contiguous")
        array = context.make_array(kind)(context, builder, arguments[i])
        found.append(_Array(builder, array.data, cgutils.unpack_tuple(builder, array.shape)))  # type: ignore[no-untyped-call]
    return found


def _sum(builder: Any, first: Any) -> Any:
    place = cgutils.alloca_once(builder, _VECTOR)  # type: ignore[no-untyped-call]
    builder.store(first, place)
    return place


def _add_product(builder: Any, total: Any, one: Any, other: Any) -> None:
    builder.store(builder.fadd(builder.load(total), builder.fmul(one, other, flags=_MAY), flags=_MAY), total)


def _across(builder: Any, vectors: list[Any]) -> Any:
    """The sums of up to eight vectors over their lanes, one in each lane of the result."""
    vectors = vectors + [ir.Constant(_VECTOR, [0.0] * LANES)] * (LANES - len(vectors))
    for bit in (4, 2, 1):
        # neighbours that differ in this bit of their lane become one; the lane with the bit takes the other vector's
        lower = [i if not i & bit else LANES + (i ^ bit) for i in range(LANES)]
        upper = [i | bit if not i & bit else LANES + i for i in range(LANES)]
        pairs = list(zip(vectors[:bit], vectors[bit:], strict=True))
        vectors = [builder.fadd(*(_shuffled(builder, *pair, lanes) for lanes in (lower, upper))) for pair in pairs]
    return vectors[0]


def _shuffled(builder: Any, one: Any, other: Any, lanes: Any) -> Any:
    """Chosen lanes of two vectors, the second's numbered after the first's."""
    return builder.shuffle_vector(one, other, ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), list(lanes)))

"""Between tables, where a row is an entity, and lanes, where a column is one.

Rows of tables are padded with zeros to a multiple of `QUAD` columns (`padded`), so that every
row is made of whole quads.
"""

# mypy: disable-error-code="no-untyped-call"
# Numba's interface for new instructions carries no annotations.
from __future__ import annotations

from typing import Any

from llvmlite import ir as llvm
from numba import types
from numba.core.cgutils import get_or_insert_function

from dmrank.compiled.compiling import compiled, inlined, instruction
from dmrank.compiled.lanes import (
    ALIGNMENT,
    FIRST_COLUMN,
    LANES,
    QUAD,
    element_address,
    lanes,
    quad,
)
from dmrank.support.arrays import Array

_INT = llvm.IntType(32)
# Four quads a, b, c, d are transposed in halves: first pairs of them, then pairs of pairs.
_HALF = 2 * QUAD
# float32 values in a cache line.
_LINE = 16


def padded(width: int) -> int:
    """Return the number of columns of a table whose rows hold ``width`` values.

    Examples
    --------
    >>> [padded(width) for width in (1, 4, 10)]
    [4, 4, 12]
    """
    return -(-width // QUAD) * QUAD


def _shuffle(builder: Any, a: Any, b: Any, order: list[int]) -> Any:
    return builder.shuffle_vector(a, b, llvm.Constant(llvm.VectorType(_INT, len(order)), order))


def _transpose(builder: Any, vectors: list[Any]) -> list[Any]:
    """Transpose two 4 x 4 matrices that lie side by side in four vectors of eight."""
    a, b, c, d = vectors
    low = [0, 8, 1, 9, 4, 12, 5, 13]
    high = [2, 10, 3, 11, 6, 14, 7, 15]
    ab_low, ab_high = (_shuffle(builder, a, b, order) for order in (low, high))
    cd_low, cd_high = (_shuffle(builder, c, d, order) for order in (low, high))
    even = [0, 1, 8, 9, 4, 5, 12, 13]
    odd = [2, 3, 10, 11, 6, 7, 14, 15]
    return [
        _shuffle(builder, ab_low, cd_low, even),
        _shuffle(builder, ab_low, cd_low, odd),
        _shuffle(builder, ab_high, cd_high, even),
        _shuffle(builder, ab_high, cd_high, odd),
    ]


def _row_number(context: Any, builder: Any, rows: Any, lane: int) -> Any:
    kind, value = rows
    data = context.make_array(kind)(context, builder, value).data
    number = builder.load(builder.gep(data, [llvm.Constant(_INT, lane)]))
    return kind.dtype, number


def _lanes_address(context: Any, builder: Any, array: Any, row: Any, further: int) -> Any:
    number = context.cast(builder, row[1], row[0], types.intp)
    number = builder.add(number, llvm.Constant(number.type, further))
    indices = ((types.intp, number), FIRST_COLUMN)
    return element_address(context, builder, array, indices, lanes)


@instruction
def gather_quads(
    typing_context: Any, table: Any, rows: Any, column: Any, out: Any, out_row: Any
) -> Any:
    """Carry the columns ``column`` to ``column + 3`` of sixteen rows of a table to lanes.

    Lane l of row ``out_row + q`` of ``out`` is element (rows[l], column + q) of the table.
    """
    del typing_context

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        table, rows, column, out, out_row = zip(sig.args, args, strict=True)

        def row_quad(lane: int) -> Any:
            indices = (_row_number(context, builder, rows, lane), column)
            return builder.load(
                element_address(context, builder, table, indices, quad), align=ALIGNMENT
            )

        halves = []
        for start in range(0, LANES, _HALF):
            side_by_side = [
                _shuffle(builder, row_quad(lane), row_quad(lane + QUAD), list(range(_HALF)))
                for lane in range(start, start + QUAD)
            ]
            halves.append(_transpose(builder, side_by_side))
        for q, (left, right) in enumerate(zip(*halves, strict=True)):
            pointer = _lanes_address(context, builder, out, out_row, q)
            builder.store(
                _shuffle(builder, left, right, list(range(LANES))), pointer, align=ALIGNMENT
            )
        return context.get_dummy_value()

    return types.void(table, rows, column, out, out_row), generate


@instruction
def scatter_quads(
    typing_context: Any, table: Any, rows: Any, column: Any, source: Any, source_row: Any
) -> Any:
    """Carry lanes to the columns ``column`` to ``column + 3`` of sixteen rows of a table.

    The inverse of `gather_quads`. A row that occurs twice gets the values of its last lane.
    """
    del typing_context

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        table, rows, column, source, source_row = zip(sig.args, args, strict=True)
        columns = []
        for q in range(QUAD):
            pointer = _lanes_address(context, builder, source, source_row, q)
            columns.append(builder.load(pointer, align=ALIGNMENT))
        for start in range(0, LANES, _HALF):
            order = list(range(start, start + _HALF))
            side_by_side = _transpose(builder, [_shuffle(builder, c, c, order) for c in columns])
            for lane in range(start, start + _HALF):
                both = side_by_side[lane % QUAD]
                begin = 0 if lane - start < QUAD else QUAD
                values = _shuffle(builder, both, both, list(range(begin, begin + QUAD)))
                indices = (_row_number(context, builder, rows, lane), column)
                pointer = element_address(context, builder, table, indices, quad)
                builder.store(values, pointer, align=ALIGNMENT)
        return context.get_dummy_value()

    return types.void(table, rows, column, source, source_row), generate


@instruction
def prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Ask for the cache line of an element, which will be needed soon.

    ``index`` counts the elements of a C-contiguous array of any shape.
    """
    del typing_context

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        data = context.make_array(sig.args[0])(context, builder, args[0]).data
        number = context.cast(builder, args[1], sig.args[1], types.intp)
        address = builder.bitcast(builder.gep(data, [number]), llvm.IntType(8).as_pointer())
        kind = llvm.FunctionType(llvm.VoidType(), [address.type, _INT, _INT, _INT])
        instruction = get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        read, keep, data_cache = (llvm.Constant(_INT, value) for value in (0, 3, 1))
        builder.call(instruction, [address, read, keep, data_cache])
        return context.get_dummy_value()

    return types.void(array, index), generate


@inlined
def prefetch_row(table: Array, row: int) -> None:
    """Ask for all cache lines of a row."""
    width = table.shape[1]
    for column in range(0, width, _LINE):
        prefetch(table, row * width + column)
    prefetch(table, row * width + width - 1)


@compiled
def gather(table: Array, rows: Array, out: Array) -> None:
    """Carry sixteen rows of a table to lanes."""
    for column in range(0, table.shape[1], QUAD):
        gather_quads(table, rows, column, out, column)


@compiled
def scatter(table: Array, rows: Array, source: Array) -> None:
    """Carry lanes to sixteen rows of a table."""
    for column in range(0, table.shape[1], QUAD):
        scatter_quads(table, rows, column, source, column)

"""Sixteen pairs at once: Numba types for float32 values in SIMD registers.

Code that is written for one pair computes sixteen when its numbers are `lanes`: ``+ - * /`` work
lane by lane, also with a scalar, and become vector instructions on every processor that has them.
Nothing is left to a vectoriser's mood, and a sum stays in a register. A `quad` is four neighbours
in a row of a table; `gather_quads` and `scatter_quads` carry quads of sixteen rows to and from
lanes. These values live in compiled code only; Python never sees one.

Nothing is relaxed: no operation is fused with another or moved, so that every bit is that of the
source, whatever else is compiled beside it and on whichever processor. (Fused multiplications were
not faster, and gave code that was just compiled other bits than the same code from the cache.)
"""

# mypy: disable-error-code="no-untyped-call"
# Numba's interface for new types carries no annotations.
from __future__ import annotations

import operator
from typing import Any, TypeAlias

from llvmlite import ir as llvm
from numba import types
from numba.core.cgutils import get_or_insert_function
from numba.core.typing.templates import ConcreteTemplate, infer_global, signature
from numba.extending import lower_builtin, models, register_model

from dmrank.compiled.compiling import instruction

LANES = 16
QUAD = 4

# What a type checker may believe of a lane value; the true type exists in compiled code only.
Lanes: TypeAlias = Any

_INT = llvm.IntType(32)
_INTS = llvm.VectorType(_INT, LANES)
_FLOATS = llvm.VectorType(llvm.FloatType(), LANES)
# Rows begin at any float32: no wider alignment may be assumed.
ALIGNMENT = 4
_MANTISSA_BITS = 23
_EXPONENT_BIAS = 127
_ONE_EXPONENT = _EXPONENT_BIAS << _MANTISSA_BITS
_MANTISSA_MASK = (1 << _MANTISSA_BITS) - 1


class VectorType(types.Type):
    """The Numba type of some float32 values in a register."""

    def __init__(self, length: int) -> None:
        self.length = length
        self.llvm_type = llvm.VectorType(llvm.FloatType(), length)
        super().__init__(name=f"float32 x {length}")


lanes = VectorType(LANES)
quad = VectorType(QUAD)
_SCALARS = (types.float32, types.float64, types.int64)


@register_model(VectorType)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, vector: VectorType) -> None:
        super().__init__(manager, vector, vector.llvm_type)


def _fill(context: Any, builder: Any, value: Any, value_type: Any, vector: VectorType) -> Any:
    """Return a vector as it is, and a scalar repeated."""
    if value_type is vector:
        return value
    scalar = context.cast(builder, value, value_type, types.float32)
    nothing = llvm.Constant(vector.llvm_type, llvm.Undefined)
    first = builder.insert_element(nothing, scalar, llvm.Constant(_INT, 0))
    zeros = llvm.Constant(llvm.VectorType(_INT, vector.length), [0] * vector.length)
    return builder.shuffle_vector(first, nothing, zeros)


def _define_operator(operation: Any, instruction: str) -> None:
    for vector in (lanes, quad):
        with_scalars = [(vector, scalar) for scalar in _SCALARS]
        operands = [(vector, vector), *with_scalars, *((b, a) for a, b in with_scalars)]
        template = type(
            f"_{instruction.title()}Typing",
            (ConcreteTemplate,),
            {"cases": [signature(vector, a, b) for a, b in operands]},
        )
        infer_global(operation)(template)

        def lower(
            context: Any, builder: Any, sig: Any, args: Any, vector: VectorType = vector
        ) -> Any:
            a, b = (
                _fill(context, builder, arg, kind, vector)
                for arg, kind in zip(args, sig.args, strict=True)
            )
            return getattr(builder, instruction)(a, b)

        for a, b in operands:
            lower_builtin(operation, a, b)(lower)


_define_operator(operator.add, "fadd")
_define_operator(operator.sub, "fsub")
_define_operator(operator.mul, "fmul")
_define_operator(operator.truediv, "fdiv")


@infer_global(operator.neg)
class _NegationTyping(ConcreteTemplate):
    cases = [signature(lanes, lanes)]  # noqa: RUF012


@lower_builtin(operator.neg, lanes)
def _negate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    del context, sig
    return builder.fneg(args[0])


def element_address(context: Any, builder: Any, array: Any, indices: Any, vector: Any) -> Any:
    """Return where element (row, column) of a C-contiguous float32 array is.

    ``array`` and ``indices`` are pairs of a Numba type and a value.
    """
    struct = context.make_array(array[0])(context, builder, array[1])
    row, column = (context.cast(builder, value, kind, types.intp) for kind, value in indices)
    if vector is lanes:
        width = llvm.Constant(row.type, LANES)
    else:
        width = builder.extract_value(struct.shape, 1)
    start = builder.add(builder.mul(row, width), column)
    return builder.bitcast(builder.gep(struct.data, [start]), vector.llvm_type.as_pointer())


FIRST_COLUMN = (types.intp, llvm.Constant(llvm.IntType(64), 0))


@instruction
def load(typing_context: Any, array: Any, row: Any) -> Any:
    """Return row ``row`` of a float32 array with `LANES` columns."""
    del typing_context

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        array, row = zip(sig.args, args, strict=True)
        pointer = element_address(context, builder, array, (row, FIRST_COLUMN), lanes)
        return builder.load(pointer, align=ALIGNMENT)

    return lanes(array, row), generate


@instruction
def store(typing_context: Any, array: Any, row: Any, value: Any) -> Any:
    """Write lanes to row ``row`` of a float32 array with `LANES` columns."""
    del typing_context, value

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        array, row, _ = zip(sig.args, args, strict=True)
        pointer = element_address(context, builder, array, (row, FIRST_COLUMN), lanes)
        builder.store(args[2], pointer, align=ALIGNMENT)
        return context.get_dummy_value()

    return types.void(array, row, lanes), generate


@instruction
def load_quad(typing_context: Any, array: Any, row: Any, column: Any) -> Any:
    """Return the elements (row, column) to (row, column + 3) of a float32 array."""
    del typing_context

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        array, *indices = zip(sig.args, args, strict=True)
        pointer = element_address(context, builder, array, indices, quad)
        return builder.load(pointer, align=ALIGNMENT)

    return quad(array, row, column), generate


@instruction
def store_quad(typing_context: Any, array: Any, row: Any, column: Any, value: Any) -> Any:
    """Write a quad to the elements (row, column) to (row, column + 3) of a float32 array."""
    del typing_context, value

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        array, *indices, _ = zip(sig.args, args, strict=True)
        pointer = element_address(context, builder, array, indices, quad)
        builder.store(args[3], pointer, align=ALIGNMENT)
        return context.get_dummy_value()

    return types.void(array, row, column, quad), generate


@instruction
def spread(typing_context: Any, scalar: Any) -> Any:
    """Return a scalar in every lane."""
    del typing_context

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return _fill(context, builder, args[0], sig.args[0], lanes)

    return lanes(scalar), generate


@instruction
def empty_quad(typing_context: Any) -> Any:
    """Return four zeros."""
    del typing_context

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        del context, builder, sig, args
        return llvm.Constant(quad.llvm_type, [0.0] * QUAD)

    return quad(), generate


@instruction
def where_less(typing_context: Any, a: Any, b: Any, then: Any, otherwise: Any) -> Any:
    """Return ``then`` in the lanes where a < b, else (also for NaN) ``otherwise``."""
    del typing_context

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        a, b, then, otherwise = (
            _fill(context, builder, arg, kind, lanes)
            for arg, kind in zip(args, sig.args, strict=True)
        )
        return builder.select(builder.fcmp_ordered("<", a, b), then, otherwise)

    return lanes(a, b, then, otherwise), generate


@instruction
def sum_of_lanes(typing_context: Any, value: Any) -> Any:
    """Return the sum of all lanes as a float64, in their order."""
    del typing_context, value

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        del context, sig
        double = llvm.DoubleType()
        total = llvm.Constant(double, 0.0)
        for lane in range(LANES):
            element = builder.extract_element(args[0], llvm.Constant(_INT, lane))
            total = builder.fadd(total, builder.fpext(element, double))
        return total

    return types.float64(lanes), generate


@instruction
def sqrt(typing_context: Any, value: Any) -> Any:
    """Return the square root of every lane."""
    del typing_context, value

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        del context, sig
        kind = llvm.FunctionType(_FLOATS, [_FLOATS])
        root = get_or_insert_function(builder.module, kind, f"llvm.sqrt.v{LANES}f32")
        return builder.call(root, args)

    return lanes(lanes), generate


def _repeated(value: int) -> Any:
    return llvm.Constant(_INTS, [value] * LANES)


@instruction
def power_of_two(typing_context: Any, exponent: Any) -> Any:
    """Return 2ⁿ for lanes that hold a whole number −126 ≤ n ≤ 127."""
    del typing_context, exponent

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        del context, sig
        biased = builder.add(builder.fptosi(args[0], _INTS), _repeated(_EXPONENT_BIAS))
        return builder.bitcast(builder.shl(biased, _repeated(_MANTISSA_BITS)), _FLOATS)

    return lanes(lanes), generate


@instruction
def exponent_of(typing_context: Any, value: Any) -> Any:
    """Return n of a positive normal number m·2ⁿ with 1 ≤ m < 2."""
    del typing_context, value

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        del context, sig
        biased = builder.lshr(builder.bitcast(args[0], _INTS), _repeated(_MANTISSA_BITS))
        return builder.sitofp(builder.sub(biased, _repeated(_EXPONENT_BIAS)), _FLOATS)

    return lanes(lanes), generate


@instruction
def mantissa_of(typing_context: Any, value: Any) -> Any:
    """Return m of a positive normal number m·2ⁿ with 1 ≤ m < 2."""
    del typing_context, value

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        del context, sig
        bits = builder.and_(builder.bitcast(args[0], _INTS), _repeated(_MANTISSA_MASK))
        return builder.bitcast(builder.or_(bits, _repeated(_ONE_EXPONENT)), _FLOATS)

    return lanes(lanes), generate

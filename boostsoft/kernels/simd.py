"""Eight float64 lanes as one value: the vectors that the hot loops are written in.

LLVM's own vectoriser gives up on loops that touch many arrays (it must prove that none overlaps another), and
then a kernel runs at a fifth of the machine's speed without a word. Here the lanes are explicit: a ``Vec8`` is
an LLVM ``<8 x double>``, which the compiler maps to one AVX-512 register, two of AVX2, or four of NEON.

Arithmetic operators work on two vectors. With ``NUMBA_DISABLE_JIT=1`` the same functions work on numpy arrays of
length 8, so that the kernels can be stepped through and their coverage measured.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic, models, overload, register_model

LANES = 8

_DOUBLES = ir.VectorType(ir.DoubleType(), LANES)
_LONGS = ir.VectorType(ir.IntType(64), LANES)


class Vec8Type(types.Type):
    """The Numba type of eight float64 lanes."""

    def __init__(self) -> None:
        super().__init__(name="Vec8")


vec8 = Vec8Type()


@register_model(Vec8Type)
class _Vec8Model(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, _DOUBLES)


def _pointer(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index]), _DOUBLES.as_pointer())


def _call(builder: Any, name: str, arguments: list[Any], returns: Any = _DOUBLES) -> Any:
    kinds = [argument.type for argument in arguments]
    function = builder.module.declare_intrinsic(name, fnty=ir.FunctionType(returns, kinds))
    return builder.call(function, arguments)


def _splat(builder: Any, scalar: Any) -> Any:
    one = builder.insert_element(ir.Constant(_DOUBLES, ir.Undefined), scalar, ir.Constant(ir.IntType(32), 0))
    mask = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(one, one, mask)


@intrinsic
def load(typingctx: Any, array: Any, index: Any) -> Any:
    """Eight consecutive elements of a 1-D float64 array, from ``index`` on."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        value = builder.load(_pointer(context, builder, signature.args[0], args[0], args[1]))
        value.align = 8
        return value

    return vec8(array, types.intp), codegen


@intrinsic
def store(typingctx: Any, array: Any, index: Any, value: Any) -> Any:
    """Write eight lanes to consecutive elements of a 1-D float64 array, from ``index`` on."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        instruction = builder.store(args[2], _pointer(context, builder, signature.args[0], args[0], args[1]))
        instruction.align = 8
        return context.get_dummy_value()

    return types.void(array, types.intp, vec8), codegen


@intrinsic
def splat(typingctx: Any, scalar: Any) -> Any:
    """One number in every lane."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _splat(builder, args[0])

    return vec8(types.float64), codegen


@intrinsic
def lane_sum(typingctx: Any, value: Any) -> Any:
    """Sum over the lanes, always in the same order of pairs."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        total, width = args[0], LANES
        while width > 1:
            width //= 2
            picks = [ir.VectorType(ir.IntType(32), width)(list(range(a, a + width))) for a in (0, width)]
            low, high = (builder.shuffle_vector(total, total, pick) for pick in picks)
            total = builder.fadd(low, high)
        return builder.extract_element(total, ir.Constant(ir.IntType(32), 0))

    return types.float64(vec8), codegen


def _binary(operation: str) -> Any:
    @intrinsic
    def apply(typingctx: Any, left: Any, right: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return getattr(builder, operation)(*args, flags=("contract",))

        return vec8(vec8, vec8), codegen

    return apply


def _overload_operator(symbol: Any, operation: str) -> None:
    apply = _binary(operation)

    @overload(symbol)
    def overloaded(left, right):  # type: ignore[no-untyped-def]
        if isinstance(left, Vec8Type) and isinstance(right, Vec8Type):
            return lambda left, right: apply(left, right)
        return None


_overload_operator(operator.add, "fadd")
_overload_operator(operator.sub, "fsub")
_overload_operator(operator.mul, "fmul")
_overload_operator(operator.truediv, "fdiv")


@intrinsic
def larger(typingctx: Any, left: Any, right: Any) -> Any:
    """The larger of two vectors, lane by lane."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", args[0], args[1]), args[0], args[1])

    return vec8(vec8, vec8), codegen


@intrinsic
def smaller(typingctx: Any, left: Any, right: Any) -> Any:
    """The smaller of two vectors, lane by lane."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.select(builder.fcmp_ordered("<", args[0], args[1]), args[0], args[1])

    return vec8(vec8, vec8), codegen


@intrinsic
def where_negative(typingctx: Any, sign: Any, negative: Any, otherwise: Any) -> Any:
    """``negative`` in the lanes where ``sign`` < 0, else ``otherwise``."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        zero = ir.Constant(_DOUBLES, [0.0] * LANES)
        return builder.select(builder.fcmp_ordered("<", args[0], zero), args[1], args[2])

    return vec8(vec8, vec8, vec8), codegen


@intrinsic
def nearest(typingctx: Any, value: Any) -> Any:
    """Round every lane to the nearest whole number, halves to even."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _call(builder, "llvm.rint.v8f64", [args[0]])

    return vec8(vec8), codegen


@intrinsic
def power_of_two(typingctx: Any, exponent: Any) -> Any:
    """2 to a whole power between -1022 and 1023, by writing the exponent bits."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        whole = builder.fptosi(args[0], _LONGS)
        biased = builder.add(whole, ir.Constant(_LONGS, [1023] * LANES))
        return builder.bitcast(builder.shl(biased, ir.Constant(_LONGS, [52] * LANES)), _DOUBLES)

    return vec8(vec8), codegen


if config.DISABLE_JIT:  # the same operations on numpy arrays of eight

    def load(array, index):  # noqa: D103
        return array[index : index + LANES].copy()

    def store(array, index, value):  # noqa: D103
        array[index : index + LANES] = value

    def splat(scalar):  # noqa: D103
        return np.full(LANES, scalar)

    def lane_sum(value):  # noqa: D103
        return float(np.sum(value))

    larger, smaller, nearest = np.maximum, np.minimum, np.rint

    def where_negative(sign, negative, otherwise):  # noqa: D103
        return np.where(sign < 0, negative, otherwise)

    def power_of_two(exponent):  # noqa: D103
        return np.ldexp(1.0, exponent.astype(np.int64))

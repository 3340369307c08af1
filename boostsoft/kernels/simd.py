"""Eight float64 lanes as one value: the vectors that the hot loops are written in.

LLVM's own vectoriser gives up on loops that touch many arrays (it must prove that none overlaps another), and
then a kernel runs at a fifth of the machine's speed without a word. Here the lanes are explicit: a ``Vec8`` is
an LLVM ``<8 x double>``, which the compiler maps to one AVX-512 register, two of AVX2, or four of NEON.

Arithmetic operators work on two vectors. With ``NUMBA_DISABLE_JIT=1`` the same functions work on numpy arrays of
length 8, so that the kernels can be stepped through and their coverage measured.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core.typing.templates import AbstractTemplate, ConcreteTemplate, infer_global
from numba.core.typing.templates import signature as typing_signature
from numba.extending import intrinsic, lower_builtin, models, register_model

LANES = 8
# added to a number below 2^51 it leaves the nearest whole number and, in its last bits, that plus float64's bias
ROUNDER = 1.5 * 2.0**52 + 1023.0
_ROUNDER_BITS, _ROOT_OF_HALF = (int(np.float64(x).view(np.int64)) for x in (ROUNDER, math.sqrt(0.5)))

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


class PointerType(types.Type):
    """The Numba type of a place in an array of numbers: one word, where an array is seven and a reference count.

    Passing an array to a function costs some ten nanoseconds; the engine's workspace has some eighty of them.
    """

    def __init__(self, dtype: types.Type) -> None:
        self.dtype = dtype
        super().__init__(name=f"Pointer({dtype})")


@register_model(PointerType)
class _PointerModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, dmm.lookup(fe_type.dtype).get_data_type().as_pointer())


def _address(context: Any, builder: Any, kind: Any, value: Any, index: Any) -> Any:
    start = value if isinstance(kind, PointerType) else context.make_array(kind)(context, builder, value).data
    return builder.gep(start, [index])


def _pointer(context: Any, builder: Any, kind: Any, value: Any, index: Any) -> Any:
    return builder.bitcast(_address(context, builder, kind, value, index), _DOUBLES.as_pointer())


def _call(builder: Any, name: str, arguments: list[Any]) -> Any:
    kinds = [argument.type for argument in arguments]
    function = builder.module.declare_intrinsic(name, fnty=ir.FunctionType(_DOUBLES, kinds))
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
def pointer(typingctx: Any, array: Any, index: Any) -> Any:
    """The place of an element; the array must be kept alive as long as the pointer is used."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _address(context, builder, signature.args[0], args[0], args[1])

    return PointerType(array.dtype)(array, types.intp), codegen


@infer_global(operator.getitem)
class _PointerGet(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        place, index = args
        if isinstance(place, PointerType) and isinstance(index, types.Integer):
            return typing_signature(place.dtype, place, types.intp)
        return None


@lower_builtin(operator.getitem, PointerType, types.Integer)
def _read(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return builder.load(builder.gep(args[0], [args[1]]))


@infer_global(operator.setitem)
class _PointerSet(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        place, index, _ = args
        if isinstance(place, PointerType) and isinstance(index, types.Integer):
            return typing_signature(types.void, place, types.intp, place.dtype)
        return None


@lower_builtin(operator.setitem, PointerType, types.Integer, types.Any)
def _write(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    builder.store(args[2], builder.gep(args[0], [args[1]]))


@intrinsic
def keep_alive(typingctx: Any, array: Any) -> Any:
    """A use of an array that does nothing: it is not released before."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        builder.asm(ir.FunctionType(ir.VoidType(), [data.type]), "", "r", [data], side_effect=True)
        return context.get_dummy_value()

    return types.void(array), codegen


@intrinsic
def splat(typingctx: Any, scalar: Any) -> Any:
    """One number in every lane."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _splat(builder, args[0])

    return vec8(types.float64), codegen


@intrinsic
def add_lane_sums(typingctx: Any, array: Any, index: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """Add the lane sums of four vectors to four consecutive elements of a 1-D float64 array."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        def pick(x: Any, y: Any, lanes: list[int]) -> Any:
            return builder.shuffle_vector(x, y, ir.VectorType(ir.IntType(32), len(lanes))(lanes))

        a, b, c, d = (builder.fadd(pick(v, v, [0, 1, 2, 3]), pick(v, v, [4, 5, 6, 7])) for v in args[2:])
        ab, cd = (builder.fadd(pick(v, w, [0, 4, 2, 6]), pick(v, w, [1, 5, 3, 7])) for v, w in ((a, b), (c, d)))
        total = builder.fadd(pick(ab, cd, [0, 1, 4, 5]), pick(ab, cd, [2, 3, 6, 7]))
        start = _address(context, builder, signature.args[0], args[0], args[1])
        place = builder.bitcast(start, ir.VectorType(ir.DoubleType(), 4).as_pointer())
        before = builder.load(place)
        before.align = 8
        builder.store(builder.fadd(before, total), place).align = 8
        return context.get_dummy_value()

    return types.void(array, types.intp, vec8, vec8, vec8, vec8), codegen


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


def _operator(symbol: Any, operation: str) -> None:
    """Give vectors an operator, known to Numba by its types at once: an overload would be a function to compile."""

    @infer_global(symbol)
    class _OnVectors(ConcreteTemplate):
        cases = [typing_signature(vec8, vec8, vec8)]  # noqa: RUF012

    @lower_builtin(symbol, vec8, vec8)
    def apply(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return getattr(builder, operation)(*args, flags=("contract",))


_operator(operator.add, "fadd")
_operator(operator.sub, "fsub")
_operator(operator.mul, "fmul")
_operator(operator.truediv, "fdiv")


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
def count_larger(typingctx: Any, count: Any, value: Any, threshold: Any) -> Any:
    """``count`` + 1 in the lanes where ``value`` > ``threshold``."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        more = builder.fadd(args[0], ir.Constant(_DOUBLES, [1.0] * LANES))  # one masked addition
        return builder.select(builder.fcmp_ordered(">", args[1], args[2]), more, args[0])

    return vec8(vec8, vec8, vec8), codegen


@intrinsic
def magnitude(typingctx: Any, value: Any) -> Any:
    """Absolute value of every lane."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _call(builder, "llvm.fabs.v8f64", [args[0]])

    return vec8(vec8), codegen


@intrinsic
def root(typingctx: Any, value: Any) -> Any:
    """Square root of every lane."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _call(builder, "llvm.sqrt.v8f64", [args[0]])

    return vec8(vec8), codegen


@intrinsic
def power_of_two(typingctx: Any, shifted: Any) -> Any:
    """2^n from ``ROUNDER`` + n, n whole and between -1022 and 1023: its last bits are the power's exponent."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(
            builder.shl(builder.bitcast(args[0], _LONGS), ir.Constant(_LONGS, [52] * LANES)), _DOUBLES
        )

    return vec8(vec8), codegen


@intrinsic
def shifted_exponent(typingctx: Any, value: Any) -> Any:
    """``ROUNDER`` + n for positive normal numbers 2^n m with m between the roots of 1/2 and 2: see ``power_of_two``."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        above = builder.sub(builder.bitcast(args[0], _LONGS), ir.Constant(_LONGS, [_ROOT_OF_HALF] * LANES))
        n = builder.ashr(above, ir.Constant(_LONGS, [52] * LANES))
        return builder.bitcast(builder.add(n, ir.Constant(_LONGS, [_ROUNDER_BITS] * LANES)), _DOUBLES)

    return vec8(vec8), codegen


def polynomial(coefficients: tuple[float, ...]) -> Any:
    """Make a function of eight points: sum of coefficients[i] x^i, by Horner's rule without a loop."""
    if config.DISABLE_JIT:
        return lambda x: np.polyval(coefficients[::-1], x)

    @intrinsic
    def evaluate(typingctx: Any, x: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            total = ir.Constant(_DOUBLES, [coefficients[-1]] * LANES)
            for coefficient in coefficients[-2::-1]:
                product = builder.fmul(total, args[0], flags=("contract",))
                total = builder.fadd(product, ir.Constant(_DOUBLES, [coefficient] * LANES), flags=("contract",))
            return total

        return vec8(vec8), codegen

    return evaluate


def combinations(rows: tuple[tuple[float, ...], ...]) -> Any:
    """Make a function that writes, for every row, the sum of its numbers times the vectors of a source, in a row, too.

    It takes the places of target and source, which may not overlap.
    """
    if config.DISABLE_JIT:
        matrix = np.array(rows)

        def combine(target, source):
            vectors = source[: LANES * matrix.shape[1]].reshape(-1, LANES)
            target[: LANES * len(rows)] = (matrix @ vectors).ravel()

        return combine

    @intrinsic
    def combine(typingctx: Any, target: Any, source: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            def place(start: Any, k: int) -> Any:
                index = ir.Constant(ir.IntType(64), LANES * k)
                return builder.bitcast(builder.gep(start, [index]), _DOUBLES.as_pointer())

            vectors = [builder.load(place(args[1], k), align=8) for k in range(len(rows[0]))]
            for k, row in enumerate(rows):
                total = ir.Constant(_DOUBLES, [0.0] * LANES)
                for number, vector in zip(row, vectors, strict=True):
                    if number != 0.0:
                        product = builder.fmul(vector, ir.Constant(_DOUBLES, [number] * LANES), flags=("contract",))
                        total = builder.fadd(total, product, flags=("contract",))
                builder.store(total, place(args[0], k), align=8)
            return context.get_dummy_value()

        return types.void(target, source), codegen

    return combine


@intrinsic
def rising_powers(typingctx: Any, x: Any) -> Any:
    """The powers x^1 .. x^LANES of a number, one in each lane."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        power = _splat(builder, args[0])
        total = power
        for bit in range(LANES.bit_length() - 1):  # lane m - 1 takes x^(m - 1) by its bits, once more than it has
            chosen = [LANES + lane if not lane >> bit & 1 else lane for lane in range(LANES)]
            one = ir.Constant(_DOUBLES, [1.0] * LANES)
            factor = builder.shuffle_vector(power, one, ir.Constant(ir.VectorType(ir.IntType(32), LANES), chosen))
            total = builder.fmul(total, factor)
            power = builder.fmul(power, power)
        return total

    return vec8(types.float64), codegen


if config.DISABLE_JIT:  # the same operations on numpy arrays of eight

    def load(array, index):  # noqa: D103
        return array[index : index + LANES].copy()

    def store(array, index, value):  # noqa: D103
        array[index : index + LANES] = value

    def splat(scalar):  # noqa: D103
        return np.full(LANES, scalar)

    def add_lane_sums(array, index, a, b, c, d):  # noqa: D103
        array[index : index + 4] += [a.sum(), b.sum(), c.sum(), d.sum()]

    def root(value):  # noqa: D103
        return np.sqrt(value)

    def rising_powers(x):  # noqa: D103
        return x ** np.arange(1.0, LANES + 1.0)

    def keep_alive(array):  # noqa: D103
        pass

    def pointer(array, index):  # noqa: D103
        return array[index:]

    def lane_sum(value):  # noqa: D103
        return float(np.sum(value))

    def count_larger(count, value, threshold):  # noqa: D103
        return count + (value > threshold)

    larger, smaller, magnitude = np.maximum, np.minimum, np.abs

    def where_negative(sign, negative, otherwise):  # noqa: D103
        return np.where(sign < 0, negative, otherwise)

    def power_of_two(shifted):  # noqa: D103
        return np.ldexp(1.0, (shifted - ROUNDER).astype(np.int64))

    def shifted_exponent(value):  # noqa: D103
        return ROUNDER + np.ceil(np.log2(value) - 0.5)

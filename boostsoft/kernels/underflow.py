"""Numbers too small to matter count as 0: x86 takes some hundred cycles for each operation that ends below 1e-308.

Products of chances get there: under Gumbel noise, that a document is not above a node falls as exp(-exp(-t)), and for
what a list of ten to thirty documents multiplies up its gradient took up to twice as long. The processor has a switch
for it, which belongs to a thread: a kernel sets it, and leaves it as it was. Other architectures need none.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

from .compile import routine

# where sigma, one over it, all gains of a query or all discounts are smaller, what matters may itself underflow
_LEAST_USUAL = 1e-75
_FLUSH = 0x8000  # of the control register: results below the normal numbers are 0
_HAS_SWITCH = llvm.get_process_triple().startswith("x86_64")
_WORD = ir.IntType(32)


def _call(builder: Any, name: str, place: Any) -> None:
    kind = ir.IntType(8).as_pointer()
    function = builder.module.declare_intrinsic(name, fnty=ir.FunctionType(ir.VoidType(), [kind]))
    builder.call(function, [builder.bitcast(place, kind)])


@routine
def all_tiny(numbers, low, high):
    """Whether none of these numbers is of a usual size."""
    for j in range(low, high):
        if abs(numbers[j]) >= _LEAST_USUAL:
            return False
    return True


@routine
def usual_scale(sigma, discount):
    """Whether underflow may be flushed, as far as the queries have this in common."""
    return _LEAST_USUAL < sigma < 1.0 / _LEAST_USUAL and not all_tiny(discount, 0, discount.size)


@intrinsic
def flush_underflow(typingctx: Any, wanted: Any) -> Any:
    """Let this thread's results below 1e-308 be 0 from now on, if that is wanted.

    Returns how it was before, for :func:`as_before`.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if not _HAS_SWITCH:
            return ir.Constant(_WORD, 0)
        place = cgutils.alloca_once(builder, _WORD)
        _call(builder, "llvm.x86.sse.stmxcsr", place)
        before = builder.load(place)
        flush = builder.select(args[0], ir.Constant(_WORD, _FLUSH), ir.Constant(_WORD, 0))
        builder.store(builder.or_(before, flush), place)
        _call(builder, "llvm.x86.sse.ldmxcsr", place)
        return before

    return types.uint32(types.boolean), codegen


@intrinsic
def as_before(typingctx: Any, before: Any) -> Any:
    """Leave the thread as :func:`flush_underflow` found it."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if _HAS_SWITCH:
            place = cgutils.alloca_once_value(builder, args[0])
            _call(builder, "llvm.x86.sse.ldmxcsr", place)
        return context.get_dummy_value()

    return types.void(before), codegen


if config.DISABLE_JIT:

    def flush_underflow(wanted: Any) -> Any:  # noqa: D103
        return 0

    def as_before(before: Any) -> Any:  # noqa: D103
        pass

"""Let some of a booster's threads call Python, and the others wait without a look at its lock."""

from __future__ import annotations

from functools import cache
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from .compile import kernel
from .shares import take_number
from .simd import PointerType

_JOB = (PointerType(types.int64),)


@intrinsic
def _number(typingctx: Any, address: Any) -> Any:
    """What a C function of nothing, such as omp_get_thread_num, returns."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        function = ir.FunctionType(ir.IntType(32), [])
        found = builder.call(builder.inttoptr(args[0], function.as_pointer()), [])
        return builder.sext(found, ir.IntType(64))

    return types.int64(types.int64), codegen


@intrinsic
def _call(typingctx: Any, address: Any) -> Any:
    """Call a C function of one pointer, which it does not look at."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        nothing = ir.IntType(8).as_pointer()
        function = ir.FunctionType(ir.VoidType(), [nothing])
        builder.call(builder.inttoptr(args[0], function.as_pointer()), [ir.Constant(nothing, None)])
        return context.get_dummy_value()

    return types.void(types.int64), codegen


@kernel
def _gate(job):
    """``job``: how many others have come; how many are let in beside the caller, whom Python's signals reach.

    And the addresses of what they call, and of what tells their number, the caller's being 0.
    """
    if _number(job[3]) == 0 or take_number(job) < job[1]:
        _call(job[2])


@cache
def gate_address() -> int:
    """Where the compiled gate is, a C function of a pointer to the job."""
    _gate.compile(_JOB)
    compiled = _gate.overloads[_JOB]
    address: int = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_cfunc_wrapper_name)
    return address

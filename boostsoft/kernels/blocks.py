"""The engines' functions for a block of nodes, and the one for few documents, called by address.

A compiled function contains, and optimises once more, the code of all that it calls. The loops over queries and nodes
(``expected``) serve all engines and need only one of them: so that engine is compiled apart, and its address
handed down; with it, for plain metrics, that of a cluster where documents are few.
"""

from __future__ import annotations

from functools import cache

from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic

from .absorbed import absorbed_block
from .block import rows_block
from .cascades import cascade_block
from .counted import counted_block
from .mixture import mixed_block
from .plain import odds_block
from .short import short_cluster
from .simd import PointerType
from .workspace import ABSORBED, CASCADES, COUNTED, MIXED, ODDS, ROWS, SHORT

_NUMBERS, _PLACES = PointerType(types.float64), PointerType(types.int64)
# law, family, filled, first, low, high, ranks, nobody, derive; least, growth, spread, faint_below; discount, workspace
_ARGUMENTS = (*(types.int64,) * 9, *(types.float64,) * 4, _NUMBERS, _NUMBERS, _PLACES, _PLACES, _PLACES)
# law, first, last, ranks, crowd, derive; least, h, eps; discount, workspace
_SHORT_ARGUMENTS = (*(types.int64,) * 6, *(types.float64,) * 3, _NUMBERS, _NUMBERS, _PLACES, _PLACES, _PLACES)
_ENGINES = {
    ROWS: (rows_block, _ARGUMENTS),
    ODDS: (odds_block, _ARGUMENTS),
    SHORT: (short_cluster, _SHORT_ARGUMENTS),
    MIXED: (mixed_block, _ARGUMENTS),
    CASCADES: (cascade_block, _ARGUMENTS),
    ABSORBED: (absorbed_block, _ARGUMENTS),
    COUNTED: (counted_block, _ARGUMENTS),
}


@cache
def block_address(engine):
    """Where an engine's function is; compiled, or read from the cache, when first asked for."""
    block, arguments = _ENGINES[engine]
    if config.DISABLE_JIT:
        return block
    block.compile(arguments)
    compiled = block.overloads[arguments]
    return compiled.library.get_pointer_to_function(compiled.fndesc.llvm_cfunc_wrapper_name)


@intrinsic
def _call(typingctx, address, arguments):
    wanted = _ARGUMENTS if len(arguments) == len(_ARGUMENTS) else _SHORT_ARGUMENTS

    def codegen(context, builder, signature, args):
        values = [
            context.cast(builder, builder.extract_value(args[1], k), kind, to)
            for k, (kind, to) in enumerate(zip(signature.args[1].types, wanted, strict=True))
        ]
        function = ir.FunctionType(ir.DoubleType(), [value.type for value in values])
        return builder.call(builder.inttoptr(args[0], function.as_pointer()), values)

    return types.float64(types.intp, arguments), codegen


if config.DISABLE_JIT:

    def call_block(address, *arguments):
        """Call the block at an address."""
        return address(*arguments)

else:
    from .compile import routine

    @routine
    def call_block(address, *arguments):
        """Call the block at an address."""
        return _call(address, arguments)

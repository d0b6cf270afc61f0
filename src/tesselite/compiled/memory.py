"""Memory operations that Numba lacks: prefetching, and copying rows."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


@intrinsic
def prefetch(typingctx: Any, array: Any, i: Any) -> Any:
    """Prefetch item i of a C-contiguous array, counted through all its axes, into the cache."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        byte, integer = ir.IntType(8).as_pointer(), ir.IntType(32)
        at = builder.bitcast(builder.gep(data, [args[1]]), byte)
        function = ir.FunctionType(ir.VoidType(), [byte, integer, integer, integer])
        target = cgutils.get_or_insert_function(builder.module, function, "llvm.prefetch.p0")
        builder.call(target, [at, integer(0), integer(3), integer(1)])  # for reading, into every level, data
        return context.get_dummy_value()

    return types.void(array, types.int64), codegen


@intrinsic
def copy_row(typingctx: Any, given: Any, i: Any, to: Any, row: Any) -> Any:
    """to[row] = given[i], for C-contiguous arrays (n, width) of one dtype and width."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        arrays = [context.make_array(signature.args[k])(context, builder, args[k]) for k in (0, 2)]
        width = builder.extract_value(arrays[0].shape, 1)
        source, target = (
            builder.gep(array.data, [builder.mul(args[k], width)]) for array, k in zip(arrays, (1, 3), strict=True)
        )
        cgutils.raw_memcpy(builder, target, source, width, arrays[0].itemsize)
        return context.get_dummy_value()

    return types.void(given, types.int64, to, types.int64), codegen

"""Blocks: a compiled objective as a C function of up to 64 rows, which the compiled search loop calls by address.

Passing an address keeps the loop's own machine code independent of the objective, so that the loop comes from the
disk cache and only the objective's few lines are compiled. How the loop uses it is in `tesselite.search.loop`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from tesselite.compiled.digest import function_digest
from tesselite.compiled.kernels import compile_cached, compile_source, kernel

_DOUBLES = types.CPointer(types.float64)
# rows (n, width), n, fitness (n,), features (n, d), status (n,): 0 is fine, 1 an exception
SIGNATURE = types.void(_DOUBLES, types.int64, _DOUBLES, _DOUBLES, types.CPointer(types.int64))

EXCEPTION = "exception in the compiled function"

# More features than this are copied in a loop, which needs them in an array or a tuple of floats.
_UNROLL = 64


@intrinsic
def _call(typingctx: Any, address: Any, rows: Any, n: Any, fitness: Any, features: Any, status: Any) -> Any:
    """Call the block at this address with data addresses."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        double, integer = ir.DoubleType().as_pointer(), ir.IntType(64)
        function = ir.FunctionType(ir.VoidType(), [double, integer, double, double, integer.as_pointer()])
        target = builder.inttoptr(args[0], function.as_pointer())
        builder.call(
            target,
            [
                builder.inttoptr(args[1], double),
                args[2],
                builder.inttoptr(args[3], double),
                builder.inttoptr(args[4], double),
                builder.inttoptr(args[5], integer.as_pointer()),
            ],
        )
        return context.get_dummy_value()

    return types.void(*[types.int64] * 6), codegen


@kernel()
def call_block(address: int, rows: Any, fitness: Any, features: Any, status: Any) -> None:
    """Evaluate contiguous rows (n, width) by the block at this address into fitness, features (n, d) and status."""
    _call(
        address,
        rows.ctypes.data,
        rows.shape[0],
        fitness.ctypes.data,
        features.ctypes.data,
        status.ctypes.data,
    )


def native_block(function: Callable[..., None]) -> Any:
    """Compile a block function written against `SIGNATURE`, kept on disk."""
    return compile_cached(
        function.__module__,
        lambda cache: numba.cfunc(SIGNATURE, nopython=True, cache=cache, error_model="numpy")(function),
    )


def block_of_function(function: Any, width: int, n_features: int, scenario: int | None) -> Any:
    """Compile a user's `@njit` function of one solution, `function(x) -> fitness, features`, into a block.

    With a scenario, its number (-1 for training) is handed over as second argument.
    """
    # What a division by zero does. Numba compiles callees by the model of their first caller, so with "numpy" here an
    # exception of the function would become a valid fitness, and the function itself would be changed for its owner.
    error_model = function.targetoptions.get("error_model", "python")
    call = "function(x)" if scenario is None else f"function(x, {scenario})"
    if n_features <= _UNROLL:
        copy = "\n".join(f"            features[{n_features} * i + {j}] = b[{j}]" for j in range(n_features))
    else:
        copy = f"            for j in range({n_features}):\n                features[{n_features} * i + j] = b[j]"
    source = f"""
def block(rows, n, fitness, features, status):
    solutions = carray(rows, (n, {width}))
    x = empty({width})
    for i in range(n):
        for j in range({width}):
            x[j] = solutions[i, j]  # a copy: what the function does to it must not reach the archive
        try:
            f, b = {call}
            if len(b) != {n_features}:
                raise ValueError("wrong number of features")
            fitness[i] = f
{copy}
            status[i] = 0
        except Exception:
            status[i] = 1
"""
    given: dict[str, Any] = {"carray": numba.carray, "empty": np.empty, "function": function}
    digest = function_digest(function)
    return compile_source(
        source,
        "block",
        given,
        None if digest is None else f"error_model {error_model}\n{digest}",
        lambda block, cache: numba.cfunc(SIGNATURE, nopython=True, cache=cache, error_model=error_model)(block),
    )


def evaluate(address: int, rows: Any, n_features: int, start: int, stop: int, out: tuple[Any, Any, Any]) -> None:
    """Evaluate rows start to stop into out = (fitness, features, status)."""
    fitness, features, status = out
    part = slice(start, stop)
    call_block(address, np.ascontiguousarray(rows[part]), fitness[part], features[part], status[part])

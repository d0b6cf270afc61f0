"""Four values of an offspring at once, spelled out for LLVM, which does not vectorise loops as short as a row.

Plain IEEE operations in the order of the scalar formula, so that the results are the same to the last bit. Which
operators use it is decided in `tesselite.emitters.breeding`.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types

from tesselite.compiled.vectors import data_pointer, load_lanes, splat, store_lanes, vector_operation

LANES = 4


@vector_operation
def step_lanes(
    typing: Any,
    elites: Any,
    mother: Any,
    father: Any,
    j: Any,
    noise: Any,
    at: Any,
    along: Any,
    sigma: Any,
    low: Any,
    high: Any,
    out: Any,
    i: Any,
) -> Any:
    """out[i, j + lane] = x + sigma z + along (y - x), clipped to low and high, for four lanes.

    x and y are rows `mother` and `father` of elites (k, width), z is noise[at:]; sigma, low and high are (width,).
    """
    whole = types.int64
    signature = types.void(elites, whole, whole, whole, noise, whole, types.float64, sigma, low, high, out, whole)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        vector = ir.VectorType(ir.DoubleType(), LANES)
        column = args[3]
        width = builder.extract_value(context.make_array(sig.args[0])(context, builder, args[0]).shape, 1)

        def lanes(k: int, offset: Any) -> Any:
            pointer = data_pointer(context, builder, sig.args[k], args[k])
            return load_lanes(builder, pointer, builder.add(offset, column), vector)

        zero = ir.Constant(ir.IntType(64), 0)
        x, y = (lanes(0, builder.mul(args[k], width)) for k in (1, 2))
        z, sigmas, lows, highs = lanes(4, args[5]), lanes(7, zero), lanes(8, zero), lanes(9, zero)
        moved = builder.fadd(x, builder.fmul(sigmas, z))
        moved = builder.fadd(moved, builder.fmul(splat(builder, args[6], vector), builder.fsub(y, x)))
        moved = builder.select(builder.fcmp_ordered(">=", moved, lows), moved, lows)  # low for NaN
        moved = builder.select(builder.fcmp_ordered(">", moved, highs), highs, moved)
        to = builder.add(builder.mul(args[11], width), column)
        store_lanes(builder, moved, data_pointer(context, builder, sig.args[10], args[10]), to)
        return context.get_dummy_value()

    return signature, generate

"""Four values of an offspring at once, spelled out for LLVM, which does not vectorise loops as short as a row.

Plain IEEE operations in the order of the scalar formula, so that the results are the same to the last bit. Which
operators use it is decided in `tesselite.emitters.breeding`.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types

from tesselite.tessellation.nearest.lanes import data_pointer, load_lanes, splat, store_lanes, vector_operation

LANES = 4


@vector_operation
def step_lanes(
    typing: Any,
    mothers: Any,
    mother: Any,
    fathers: Any,
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

    x and y are rows `mother` and `father` of (n, width) arrays, z is noise[at:]; sigma, low and high are (width,).
    """
    whole = types.int64
    signature = types.void(
        mothers, whole, fathers, whole, whole, noise, whole, types.float64, sigma, low, high, out, whole
    )

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        vector = ir.VectorType(ir.DoubleType(), LANES)
        column = args[4]
        width = builder.extract_value(context.make_array(sig.args[0])(context, builder, args[0]).shape, 1)

        def lanes(k: int, offset: Any) -> Any:
            pointer = data_pointer(context, builder, sig.args[k], args[k])
            return load_lanes(builder, pointer, builder.add(offset, column), vector)

        zero = ir.Constant(ir.IntType(64), 0)
        x, y = lanes(0, builder.mul(args[1], width)), lanes(2, builder.mul(args[3], width))
        z, sigmas, lows, highs = lanes(5, args[6]), lanes(8, zero), lanes(9, zero), lanes(10, zero)
        moved = builder.fadd(x, builder.fmul(sigmas, z))
        moved = builder.fadd(moved, builder.fmul(splat(builder, args[7], vector), builder.fsub(y, x)))
        moved = builder.select(builder.fcmp_ordered(">=", moved, lows), moved, lows)  # low for NaN
        moved = builder.select(builder.fcmp_ordered(">", moved, highs), highs, moved)
        to = builder.add(builder.mul(args[12], width), column)
        store_lanes(builder, moved, data_pointer(context, builder, sig.args[11], args[11]), to)
        return context.get_dummy_value()

    return signature, generate

"""Products of six rows with sixteen centroids at once in 16-bit integers: a filter that leaves few centroids to try.

The nearest centroid has the largest score y.z - |z|^2 / 2. With y and z rounded to 16 bits, a processor multiplies and
adds twice as many terms at a time as in single precision, and sums of integers are exact: a score is wrong by what the
rounding of y and z can do, no more, and the lengths of both errors are known. The nearest of those that remain is found
in double precision in `filtered`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba.core import types

from tesselite.compiled.vectors import LANES, cgutils, data_pointer, splat, vector_operation

ROWS = 6
COLUMNS = 16
LARGEST = 32_767  # the length of a row of integers at most: products then stay below 2^30, a bias below 2^28
LOWEST = -(2**31)  # score of a column that does not exist

_WHOLE = ir.IntType(64)
_INT = ir.IntType(32)
_SHORTS = ir.VectorType(ir.IntType(16), 2 * LANES)
_INTS = ir.VectorType(_INT, LANES)


def pack_pairs(rows: npt.NDArray[np.int16], height: int) -> npt.NDArray[np.int16]:
    """Rows (n * height, 2 * steps) as tiles (n, steps, height, 2): two terms of each row of a tile lie side by side."""
    n, width = rows.shape
    return np.ascontiguousarray(rows.reshape(n // height, height, width // 2, 2).transpose(0, 2, 1, 3))


def _load(builder: Any, pointer: Any, offset: Any, vector: Any) -> Any:
    at = builder.bitcast(builder.gep(pointer, [offset]), vector.as_pointer())
    return builder.load(at, align=vector.element.width // 8)


def _add_products(builder: Any, total: Any, a: Any, b: Any) -> Any:
    """The total (8 int32) plus a0 b0 + a1 b1, a2 b2 + a3 b3, ...; spelled so that LLVM finds the one instruction."""
    wide = ir.VectorType(_INT, 2 * LANES)
    index = ir.VectorType(_INT, LANES)
    products = builder.mul(builder.sext(a, wide), builder.sext(b, wide))
    even, odd = (
        builder.shuffle_vector(products, products, ir.Constant(index, list(range(h, 2 * LANES, 2)))) for h in (0, 1)
    )
    return builder.add(total, builder.add(even, odd))


def _scores(builder: Any, height: int, x: Any, stride: int, steps: Any, panel: Any, bias: Any) -> Any:
    """Scores of `height` rows, whose pairs are at x[j * stride + r], with the panel's sixteen columns: (height, 2)."""

    def whole(value: int) -> Any:
        return ir.Constant(_WHOLE, value)

    starts = [_load(builder, bias, whole(h * LANES), _INTS) for h in (0, 1)]
    totals = [[cgutils.alloca_once_value(builder, starts[h]) for h in (0, 1)] for _ in range(height)]
    with cgutils.for_range(builder, steps) as loop:
        at = builder.mul(loop.index, whole(2 * COLUMNS))
        columns = [_load(builder, panel, builder.add(at, whole(h * 2 * LANES)), _SHORTS) for h in (0, 1)]
        at = builder.mul(loop.index, whole(stride))
        for r in range(height):
            pair = builder.load(builder.gep(x, [builder.add(at, whole(r))]))
            row = builder.bitcast(splat(builder, pair, _INTS), _SHORTS)
            for h in (0, 1):
                builder.store(_add_products(builder, builder.load(totals[r][h]), row, columns[h]), totals[r][h])
    return [[builder.load(totals[r][h]) for h in (0, 1)] for r in range(height)]


def _maxima(height: int) -> Any:
    def maxima(
        typing: Any,
        x: Any,
        x_at: Any,
        steps: Any,
        panel: Any,
        panel_at: Any,
        bias: Any,
        bias_at: Any,
        out: Any,
        to: Any,
    ) -> Any:
        whole = types.int64
        signature = types.void(x, whole, whole, panel, whole, bias, whole, out, whole)

        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            def pointer(i: int) -> Any:
                return builder.gep(data_pointer(context, builder, sig.args[i], args[i]), [args[i + 1]])

            scores = _scores(builder, height, pointer(0), ROWS, args[2], pointer(3), pointer(5))
            best = pointer(7)
            for r in range(height):
                at = ir.Constant(_WHOLE, r * LANES)
                top = _load(builder, best, at, _INTS)
                for score in scores[r]:
                    top = builder.select(builder.icmp_signed(">", score, top), score, top)
                builder.store(top, builder.bitcast(builder.gep(best, [at]), _INTS.as_pointer()), align=4)
            return context.get_dummy_value()

        return signature, generate

    return vector_operation(maxima)


# tile_maxima(x, x_at, steps, panel, panel_at, bias, bias_at, out, to): enter the scores of six rows with a panel's
# sixteen columns into the rows' maxima, eight lanes a row at out[to:]. `x` holds pairs, int32, as `pack_pairs` lays
# them out; `panel` int16, `bias` and `out` int32. row_maxima: of the one row at x[x_at], in the same layout.
tile_maxima = _maxima(ROWS)
row_maxima = _maxima(1)


@vector_operation
def row_hits(
    typing: Any,
    x: Any,
    x_at: Any,
    steps: Any,
    panel: Any,
    panel_at: Any,
    bias: Any,
    bias_at: Any,
    limit: Any,
    out: Any,
) -> Any:
    """The mask of the panel's sixteen columns whose score with the row at x[x_at] is at least `limit`.

    All sixteen scores are written to out (16,), int32; all else as in `tile_maxima`.
    """
    whole = types.int64
    signature = types.int64(x, whole, whole, panel, whole, bias, whole, whole, out)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        def pointer(i: int) -> Any:
            return builder.gep(data_pointer(context, builder, sig.args[i], args[i]), [args[i + 1]])

        scores = _scores(builder, 1, pointer(0), ROWS, args[2], pointer(3), pointer(5))[0]
        bound = splat(builder, builder.trunc(args[7], _INT), _INTS)
        to = data_pointer(context, builder, sig.args[8], args[8])
        mask = ir.Constant(_WHOLE, 0)
        for h in (0, 1):
            at = builder.gep(to, [ir.Constant(_WHOLE, h * LANES)])
            builder.store(scores[h], builder.bitcast(at, _INTS.as_pointer()), align=4)
            hits = builder.bitcast(builder.icmp_signed(">=", scores[h], bound), ir.IntType(LANES))
            shift = ir.Constant(_WHOLE, h * LANES)
            mask = builder.or_(mask, builder.shl(builder.zext(hits, _WHOLE), shift))
        return mask

    return signature, generate


@vector_operation
def strided_maximum(typing: Any, values: Any, at: Any, stride: Any, n: Any) -> Any:
    """The largest of the n runs of eight int32 at values[at], values[at + stride], ..."""
    whole = types.int64
    signature = types.int64(values, whole, whole, whole)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        base = builder.gep(data_pointer(context, builder, sig.args[0], args[0]), [args[1]])
        top = cgutils.alloca_once_value(builder, ir.Constant(_INTS, [LOWEST] * LANES))
        with cgutils.for_range(builder, args[3]) as loop:
            value = _load(builder, base, builder.mul(loop.index, args[2]), _INTS)
            best = builder.load(top)
            builder.store(builder.select(builder.icmp_signed(">", value, best), value, best), top)
        lanes = builder.load(top)
        best = builder.extract_element(lanes, ir.Constant(_INT, 0))
        for i in range(1, LANES):
            value = builder.extract_element(lanes, ir.Constant(_INT, i))
            best = builder.select(builder.icmp_signed(">", value, best), value, best)
        return builder.sext(best, _WHOLE)

    return signature, generate


@vector_operation
def any_reaches(typing: Any, values: Any, at: Any, limit: Any) -> Any:
    """Whether any of the eight int32 values[at:at + 8] is at least `limit`."""
    signature = types.boolean(values, types.int64, types.int64)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        lanes = _load(builder, data_pointer(context, builder, sig.args[0], args[0]), args[1], _INTS)
        hits = builder.icmp_signed(">=", lanes, splat(builder, builder.trunc(args[2], _INT), _INTS))
        return builder.icmp_unsigned("!=", builder.bitcast(hits, ir.IntType(LANES)), ir.Constant(ir.IntType(LANES), 0))

    return signature, generate


@vector_operation
def project_rows(typing: Any, gaps: Any, d: Any, components: Any, at: Any, out: Any, to: Any, stride: Any) -> Any:
    """out[to + r * stride:] = products of row r of gaps (d, 6) with eight components, (d, 8) at components[at:]."""
    whole = types.int64
    signature = types.void(gaps, whole, components, whole, out, whole, whole)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        doubles = ir.VectorType(ir.DoubleType(), LANES)
        xs = data_pointer(context, builder, sig.args[0], args[0])
        vs = builder.gep(data_pointer(context, builder, sig.args[2], args[2]), [args[3]])
        target = builder.gep(data_pointer(context, builder, sig.args[4], args[4]), [args[5]])
        totals = [cgutils.alloca_once_value(builder, ir.Constant(doubles, None)) for _ in range(ROWS)]
        flags = ("contract",)
        with cgutils.for_range(builder, args[1]) as loop:
            at_v = builder.bitcast(
                builder.gep(vs, [builder.mul(loop.index, ir.Constant(_WHOLE, LANES))]), doubles.as_pointer()
            )
            columns = builder.load(at_v, align=8)
            at_x = builder.mul(loop.index, ir.Constant(_WHOLE, ROWS))
            for r in range(ROWS):
                value = builder.load(builder.gep(xs, [builder.add(at_x, ir.Constant(_WHOLE, r))]))
                product = builder.fmul(splat(builder, value, doubles), columns, flags=flags)
                builder.store(builder.fadd(builder.load(totals[r]), product, flags=flags), totals[r])
        for r in range(ROWS):
            row = builder.gep(target, [builder.mul(args[6], ir.Constant(_WHOLE, r))])
            builder.store(builder.load(totals[r]), builder.bitcast(row, doubles.as_pointer()), align=8)
        return context.get_dummy_value()

    return signature, generate

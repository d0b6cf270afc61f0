"""Products of six rows with sixteen centroids at once, in single precision: brute force at the speed of the processor.

The nearest centroid has the largest score x.c - |c|^2 / 2. A tile of 6 x 16 scores stays in registers, and instead of a
matrix only what is needed leaves them: the two best of each row, or which ones exceed a bound. That they are the right
ones is decided in double precision, by callers, where `score_margin` leaves doubt.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba.core import types

from tesselite.base.arrays import Floats, Singles
from tesselite.compiled.kernels import kernel
from tesselite.compiled.vectors import (
    LANES,
    cgutils,
    data_pointer,
    load_lanes,
    splat,
    store_lanes,
    vector_operation,
)

ROWS = 6
COLUMNS = 16
SEGMENT = 128  # terms that are summed in a row before they join the total: bounds the rounding error
NEVER = -1e30  # score of a column that does not exist

_VECTOR = ir.VectorType(ir.FloatType(), LANES)
_WHOLE = ir.IntType(64)


def _scores(builder: Any, xs: Any, x_at: Any, d: Any, panel: Any, panel_at: Any, bias: Any, bias_at: Any) -> Any:
    """The tile's twelve vectors of scores; rows are at xs[x_at + r * d:], the panel (d, 16) at panel[panel_at:]."""
    lanes = ir.Constant(_WHOLE, LANES)
    zero = ir.Constant(_VECTOR, None)
    segment = ir.Constant(_WHOLE, SEGMENT)
    row_at = [builder.add(x_at, builder.mul(d, ir.Constant(_WHOLE, r))) for r in range(ROWS)]
    flags = ("contract",)  # fused where the processor can: single precision is a filter here
    biases = [load_lanes(builder, bias, at, _VECTOR) for at in (bias_at, builder.add(bias_at, lanes))]
    totals = [[cgutils.alloca_once_value(builder, biases[h]) for h in (0, 1)] for _ in range(ROWS)]
    parts = [[cgutils.alloca_once(builder, _VECTOR) for _ in (0, 1)] for _ in range(ROWS)]

    def add_products(begin: Any, length: Any, sums: Any) -> None:
        with cgutils.for_range(builder, length) as loop:
            j = builder.add(begin, loop.index)
            at = builder.add(panel_at, builder.mul(j, ir.Constant(_WHOLE, COLUMNS)))
            columns = [load_lanes(builder, panel, to, _VECTOR) for to in (at, builder.add(at, lanes))]
            for r in range(ROWS):
                value = splat(builder, builder.load(builder.gep(xs, [builder.add(row_at[r], j)])), _VECTOR)
                for h in (0, 1):
                    product = builder.fmul(value, columns[h], flags=flags)
                    builder.store(builder.fadd(builder.load(sums[r][h]), product, flags=flags), sums[r][h])

    # The first segment joins the bias; in few dimensions it is the only one.
    short = builder.icmp_signed("<", d, segment)
    add_products(ir.Constant(_WHOLE, 0), builder.select(short, d, segment), totals)
    with builder.if_then(builder.not_(short)):
        n_segments = builder.sdiv(builder.add(d, ir.Constant(_WHOLE, SEGMENT - 1)), segment)
        with cgutils.for_range(builder, builder.sub(n_segments, ir.Constant(_WHOLE, 1))) as outer:
            begin = builder.mul(builder.add(outer.index, ir.Constant(_WHOLE, 1)), segment)
            rest = builder.sub(d, begin)
            for r in range(ROWS):
                for h in (0, 1):
                    builder.store(zero, parts[r][h])
            add_products(begin, builder.select(builder.icmp_signed("<", rest, segment), rest, segment), parts)
            for r in range(ROWS):
                for h in (0, 1):
                    builder.store(builder.fadd(builder.load(totals[r][h]), builder.load(parts[r][h])), totals[r][h])
    return [[builder.load(totals[r][h]) for h in (0, 1)] for r in range(ROWS)]


@vector_operation
def tile_top_two(
    typing: Any,
    xs: Any,
    x_at: Any,
    d: Any,
    panel: Any,
    panel_at: Any,
    bias: Any,
    bias_at: Any,
    number: Any,
    best: Any,
    second: Any,
    which: Any,
    at: Any,
) -> Any:
    """Enter a tile of scores into the running best, second best and their vector's number (2 `number` + half).

    `best` and `second` (float32) and `which` (int32) hold eight lanes for each of six rows from index `at` on.
    """
    whole = types.int64
    signature = types.void(xs, whole, whole, panel, whole, bias, whole, whole, best, second, which, whole)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        def pointer(i: int) -> Any:
            return data_pointer(context, builder, sig.args[i], args[i])

        scores = _scores(builder, pointer(0), args[1], args[2], pointer(3), args[4], pointer(5), args[6])
        bests, seconds, numbers = pointer(8), pointer(9), pointer(10)
        integers = ir.VectorType(ir.IntType(32), LANES)
        twice = builder.trunc(builder.mul(args[7], ir.Constant(_WHOLE, 2)), ir.IntType(32))
        halves = [splat(builder, builder.add(twice, ir.Constant(ir.IntType(32), h)), integers) for h in (0, 1)]
        for r in range(ROWS):
            offset = builder.add(args[11], ir.Constant(_WHOLE, r * LANES))
            top = load_lanes(builder, bests, offset, _VECTOR)
            runner_up = load_lanes(builder, seconds, offset, _VECTOR)
            which_at = builder.bitcast(builder.gep(numbers, [offset]), integers.as_pointer())
            where = builder.load(which_at, align=4)
            for h in (0, 1):
                score = scores[r][h]
                better = builder.fcmp_ordered(">", score, top)
                lesser = builder.select(better, top, score)
                runner_up = builder.select(builder.fcmp_ordered(">", lesser, runner_up), lesser, runner_up)
                top = builder.select(better, score, top)
                where = builder.select(better, halves[h], where)
            store_lanes(builder, top, bests, offset)
            store_lanes(builder, runner_up, seconds, offset)
            builder.store(where, which_at, align=4)
        return context.get_dummy_value()

    return signature, generate


@vector_operation
def tile_hits(
    typing: Any,
    xs: Any,
    x_at: Any,
    d: Any,
    panel: Any,
    panel_at: Any,
    bias: Any,
    bias_at: Any,
    bounds: Any,
    bounds_at: Any,
    tile: Any,
) -> Any:
    """Whether any score of row r is at least bounds[bounds_at + r]; then all are written to tile (6 * 16,)."""
    whole = types.int64
    signature = types.boolean(xs, whole, whole, panel, whole, bias, whole, bounds, whole, tile)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        def pointer(i: int) -> Any:
            return data_pointer(context, builder, sig.args[i], args[i])

        scores = _scores(builder, pointer(0), args[1], args[2], pointer(3), args[4], pointer(5), args[6])
        limits, out = pointer(7), pointer(9)
        hits = None
        for r in range(ROWS):
            scalar = builder.load(builder.gep(limits, [builder.add(args[8], ir.Constant(_WHOLE, r))]))
            limit = splat(builder, scalar, _VECTOR)
            for h in (0, 1):
                hit = builder.fcmp_ordered(">=", scores[r][h], limit)
                hits = hit if hits is None else builder.or_(hits, hit)
        any_hit = builder.icmp_unsigned(
            "!=", builder.bitcast(hits, ir.IntType(LANES)), ir.Constant(ir.IntType(LANES), 0)
        )
        with builder.if_then(any_hit, likely=False):
            for r in range(ROWS):
                for h in (0, 1):
                    store_lanes(builder, scores[r][h], out, ir.Constant(_WHOLE, r * COLUMNS + h * LANES))
        return any_hit

    return signature, generate


def panel_tables(rows: Floats) -> tuple[Singles, Singles]:
    """Panels and biases, flat, of (m, d) rows."""
    m, d = rows.shape
    n = -(-m // COLUMNS)
    padded = np.zeros((n * COLUMNS, d), np.float32)
    padded[:m] = rows
    bias = np.full(n * COLUMNS, NEVER, np.float32)
    bias[:m] = -0.5 * np.einsum("ij,ij->i", rows, rows)
    return np.ascontiguousarray(padded.reshape(n, COLUMNS, d).transpose(0, 2, 1)).ravel(), bias


def score_margin(d: int, longest: float) -> tuple[float, float]:
    """(a, b) so that a score of a row x is wrong by at most a * |x| + b, for centroids no longer than `longest`.

    Standard bounds of rounding in a sum: one unit, 2^-24, for each term that follows another, and for the inputs.
    """
    unit = 2.0**-24 * 1.01 * (min(d, SEGMENT) + -(-d // SEGMENT) + 5)
    return unit * longest + 1e-30, unit * 0.5 * longest * longest + 1e-30


class TopTwo(NamedTuple):
    """Best and second best score, and the best column, of each row i at i; eight lanes a row, the rest is scratch."""

    best: Singles
    second: Singles
    which: npt.NDArray[np.int32]


@kernel()
def new_top_two(n: int) -> TopTwo:
    """Room for n rows."""
    return TopTwo(np.empty(n * LANES, np.float32), np.empty(n * LANES, np.float32), np.empty(n * LANES, np.int32))


@kernel()
def top_two_rows(xs: Singles, n: int, d: int, panels: Singles, bias: Singles, n_panels: int, top_two: TopTwo) -> None:
    """Find the best two for rows 0..n of xs (six at a time, so padded to sixes)."""
    best, second, which = top_two.best, top_two.second, top_two.which
    tiles = -(-n // ROWS)
    for i in range(tiles * ROWS * LANES):
        best[i] = NEVER
        second[i] = NEVER
        which[i] = 0
    for q in range(n_panels):
        for t in range(tiles):
            x_at, column = t * ROWS * d, q * COLUMNS
            tile_top_two(xs, x_at, d, panels, column * d, bias, column, q, best, second, which, t * ROWS * LANES)
    for i in range(n):
        top, runner_up, column = np.float32(NEVER), np.float32(NEVER), 0
        for lane in range(LANES):
            at = i * LANES + lane
            if best[at] > top:
                runner_up = max(runner_up, top)
                top = best[at]
                column = which[at] * LANES + lane
            else:
                runner_up = max(runner_up, best[at])
            runner_up = max(runner_up, second[at])
        best[i], second[i], which[i] = top, runner_up, column

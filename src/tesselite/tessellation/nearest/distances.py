"""Eight distances at once: the vector operations that the indexes and Lloyd's algorithm are made of.

Plain IEEE operations in a fixed order, so that results are those of the scalar formula. What is searched with them
lives in `tree` and `lloyd`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import types

from tesselite.compiled.vectors import (
    LANES,
    call_for_each,
    cgutils,
    data_pointer,
    element,
    load_lanes,
    splat,
    store_lanes,
    vector_operation,
)


def _mask(builder: Any, sums: Any, limit: Any) -> Any:
    """Bits of the lanes whose sum is at most limit, as an int64."""
    below = builder.fcmp_ordered("<=", sums, limit)
    return builder.zext(builder.bitcast(below, ir.IntType(LANES)), ir.IntType(64))


def _lane_sums(enter: Callable[[Any, Any, Any], Any]) -> Any:
    """The operation that enters each axis' difference into a total of eight lanes: enter(builder, total, gap)."""

    def sums(typing: Any, data: Any, at: Any, stride: Any, x: Any, d: Any, limit: Any, out: Any, to: Any) -> Any:
        signature = types.int64(data, types.int64, types.int64, x, types.int64, data.dtype, out, types.int64)

        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return sum_lanes(context, builder, sig, args, enter)

        return signature, generate

    return vector_operation(sums)


def sum_lanes(context: Any, builder: Any, sig: Any, args: Any, enter: Callable[[Any, Any, Any], Any]) -> Any:
    """The code of such an operation."""
    vector = ir.VectorType(element(sig.args[0].dtype), LANES)
    pointer = data_pointer(context, builder, sig.args[0], args[0])
    xs = data_pointer(context, builder, sig.args[3], args[3])
    total = cgutils.alloca_once_value(builder, ir.Constant(vector, None))
    with cgutils.for_range(builder, args[4]) as loop:
        offset = builder.add(args[1], builder.mul(loop.index, args[2]))
        value = splat(builder, builder.load(builder.gep(xs, [loop.index])), vector)
        gap = builder.fsub(value, load_lanes(builder, pointer, offset, vector))
        builder.store(enter(builder, builder.load(total), gap), total)
    sums = builder.load(total)
    store_lanes(builder, sums, data_pointer(context, builder, sig.args[6], args[6]), args[7])
    return _mask(builder, sums, splat(builder, args[5], vector))


def absolute(builder: Any, gap: Any) -> Any:
    """A vector without its signs."""
    return call_for_each(builder, "fabs", gap)


def _larger(builder: Any, a: Any, b: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", b, a), b, a)


# lane_squares(data, at, stride, x, d, limit, out, to): squared distances from x (d,) to the eight points
# data[at + j * stride + lane], which are written to out[to : to + 8]; the result is the mask of those that are at most
# limit. The others do the same for p = 1, infinity and 0.5.
lane_squares = _lane_sums(lambda b, total, gap: b.fadd(total, b.fmul(gap, gap)))
lane_absolutes = _lane_sums(lambda b, total, gap: b.fadd(total, absolute(b, gap)))
lane_largest = _lane_sums(lambda b, total, gap: _larger(b, total, absolute(b, gap)))
lane_roots = _lane_sums(lambda b, total, gap: b.fadd(total, call_for_each(b, "sqrt", absolute(b, gap))))


@vector_operation
def lane_box_squares(
    typing: Any,
    low: Any,
    high: Any,
    at_low: Any,
    at_high: Any,
    stride: Any,
    x: Any,
    d: Any,
    limit: Any,
    out: Any,
    to: Any,
) -> Any:
    """Squared distances from x (d,) to eight boxes, and which are at most limit; all else as in `lane_squares`."""
    whole = types.int64
    signature = types.int64(low, high, whole, whole, whole, x, whole, low.dtype, out, whole)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return sum_boxes(context, builder, sig, args, lambda b, total, gap: b.fadd(total, b.fmul(gap, gap)))

    return signature, generate


def sum_boxes(context: Any, builder: Any, sig: Any, args: Any, enter: Callable[[Any, Any, Any], Any]) -> Any:
    """The code of `lane_box_squares`, with another operation for adding an axis' gap, 0 or above, to the total."""
    vector = ir.VectorType(element(sig.args[0].dtype), LANES)
    lows = data_pointer(context, builder, sig.args[0], args[0])
    highs = data_pointer(context, builder, sig.args[1], args[1])
    xs = data_pointer(context, builder, sig.args[5], args[5])
    zero = ir.Constant(vector, None)
    total = cgutils.alloca_once_value(builder, zero)
    with cgutils.for_range(builder, args[6]) as loop:
        step = builder.mul(loop.index, args[4])
        value = splat(builder, builder.load(builder.gep(xs, [loop.index])), vector)
        under = builder.fsub(load_lanes(builder, lows, builder.add(args[2], step), vector), value)
        over = builder.fsub(value, load_lanes(builder, highs, builder.add(args[3], step), vector))
        gap = builder.select(builder.fcmp_ordered(">", over, under), over, under)
        gap = builder.select(builder.fcmp_ordered(">", gap, zero), gap, zero)
        builder.store(enter(builder, builder.load(total), gap), total)
    sums = builder.load(total)
    store_lanes(builder, sums, data_pointer(context, builder, sig.args[8], args[8]), args[9])
    return _mask(builder, sums, splat(builder, args[7], vector))


@vector_operation
def lanes_at_most(typing: Any, data: Any, at: Any, limit: Any) -> Any:
    """The mask of the eight values data[at:at + 8] that are at most limit."""
    signature = types.int64(data, types.int64, data.dtype)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        vector = ir.VectorType(element(sig.args[0].dtype), LANES)
        values = load_lanes(builder, data_pointer(context, builder, sig.args[0], args[0]), args[1], vector)
        return _mask(builder, values, splat(builder, args[2], vector))

    return signature, generate


@vector_operation
def lanes_least(typing: Any, data: Any, at: Any) -> Any:
    """The least of the eight values data[at:at + 8]."""
    signature = data.dtype(data, types.int64)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        vector = ir.VectorType(element(sig.args[0].dtype), LANES)
        values = load_lanes(builder, data_pointer(context, builder, sig.args[0], args[0]), args[1], vector)
        half = LANES
        while half > 1:
            half //= 2
            index = ir.VectorType(ir.IntType(32), half)
            a = builder.shuffle_vector(values, values, ir.Constant(index, list(range(half))))
            b = builder.shuffle_vector(values, values, ir.Constant(index, list(range(half, 2 * half))))
            values = builder.select(builder.fcmp_ordered("<", a, b), a, b)
        return builder.extract_element(values, ir.Constant(ir.IntType(32), 0))

    return signature, generate


@vector_operation
def row_square(typing: Any, a: Any, at: Any, b: Any, to: Any, d: Any) -> Any:
    """Squared distance of a[at:at + d] (either width) and b[to:to + d] (float64), summed in lanes, then across."""
    whole = types.int64
    signature = types.float64(a, whole, b, whole, whole)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        double = ir.VectorType(ir.DoubleType(), LANES)
        given = element(sig.args[0].dtype)

        def widened(value: Any, kind: Any) -> Any:
            return value if given == ir.DoubleType() else builder.fpext(value, kind)

        lanes = ir.Constant(ir.IntType(64), LANES)
        xs = data_pointer(context, builder, sig.args[0], args[0])
        cs = data_pointer(context, builder, sig.args[2], args[2])
        total = cgutils.alloca_once_value(builder, ir.Constant(double, None))
        rest = cgutils.alloca_once_value(builder, ir.Constant(ir.DoubleType(), 0.0))
        n = builder.sdiv(args[4], lanes)
        with cgutils.for_range(builder, n) as loop:
            j = builder.mul(loop.index, lanes)
            x = widened(load_lanes(builder, xs, builder.add(args[1], j), ir.VectorType(given, LANES)), double)
            gap = builder.fsub(x, load_lanes(builder, cs, builder.add(args[3], j), double))
            builder.store(builder.fadd(builder.load(total), builder.fmul(gap, gap)), total)
        done = builder.mul(n, lanes)
        with cgutils.for_range(builder, builder.sub(args[4], done)) as loop:
            j = builder.add(done, loop.index)
            x = widened(builder.load(builder.gep(xs, [builder.add(args[1], j)])), ir.DoubleType())
            gap = builder.fsub(x, builder.load(builder.gep(cs, [builder.add(args[3], j)])))
            builder.store(builder.fadd(builder.load(rest), builder.fmul(gap, gap)), rest)
        sums = builder.load(total)
        result = builder.load(rest)
        for i in range(LANES):
            result = builder.fadd(result, builder.extract_element(sums, ir.Constant(ir.IntType(32), i)))
        return result

    return signature, generate

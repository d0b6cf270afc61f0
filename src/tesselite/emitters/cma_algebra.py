"""Linear algebra of CMA-ES, compiled: products with a triangular factor, rank-mu updates, Cholesky factors.

Rows are padded with zeros to whole lanes (see `compiled.lanes`). Of symmetric and triangular matrices only the upper
half is kept, in rows. Every sum has one fixed order, lane by lane, and fused multiplications, so the bits are the same
on any processor with the same build; a BLAS would choose the order by the processor.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tesselite.compiled.kernels import kernel
from tesselite.compiled.lanes import LANES, fused, load, read, spread, store, write


def padded(n: int) -> int:
    """The length of a row of n values in whole lanes."""
    return -(-n // LANES) * LANES


@kernel(inline="always")
def padded_width(n: int) -> int:
    """`padded`, for compiled code."""
    return (n + LANES - 1) // LANES * LANES


@kernel(allocates=False)
def multiply_upper(n: int, rows: int, z: Any, zs: int, factor: Any, fs: int, y: Any) -> None:
    """y = z U for the rows of z (rows, w) and an upper triangular U (w, w).

    zs and fs are where z and U begin in their arrays; y begins where z does.
    """
    w = padded_width(n)
    for c in range(0, w, LANES):
        stop = min(n, c + LANES)
        p = 0
        while p + 6 <= rows:
            at = zs + p * w
            a0 = a1 = a2 = a3 = a4 = a5 = spread(0.0)
            for j in range(stop):
                u = load(factor, fs + j * w + c)
                a0 = fused(read(z, at + j), u, a0)
                a1 = fused(read(z, at + w + j), u, a1)
                a2 = fused(read(z, at + 2 * w + j), u, a2)
                a3 = fused(read(z, at + 3 * w + j), u, a3)
                a4 = fused(read(z, at + 4 * w + j), u, a4)
                a5 = fused(read(z, at + 5 * w + j), u, a5)
            store(y, at + c, a0)
            store(y, at + w + c, a1)
            store(y, at + 2 * w + c, a2)
            store(y, at + 3 * w + c, a3)
            store(y, at + 4 * w + c, a4)
            store(y, at + 5 * w + c, a5)
            p += 6
        while p < rows:
            a0 = spread(0.0)
            for j in range(stop):
                a0 = fused(read(z, zs + p * w + j), load(factor, fs + j * w + c), a0)
            store(y, zs + p * w + c, a0)
            p += 1


@kernel(allocates=False)
def combine(n: int, rows: int, weights: Any, y: Any, ys: int, out: Any) -> None:
    """out (w,) = the sum of weights[p] times row p of y, which begins at ys."""
    w = padded_width(n)
    for c in range(0, w, LANES):
        a = spread(0.0)
        for p in range(rows):
            a = fused(weights[p], load(y, ys + p * w + c), a)
        store(out, c, a)


@kernel(allocates=False)
def add_products(n: int, decay: float, rows: int, scaled: Any, y: Any, matrix: Any, ms: int) -> None:
    """C = decay C + the sum of the outer products of rows of `scaled` and y, both (rows, w); upper half of C alone."""
    w = padded_width(n)
    for i in range(0, w, 4):
        row = ms + i * w
        for c in range(i // LANES * LANES, w, LANES):
            a0 = load(matrix, row + c) * decay
            a1 = load(matrix, row + w + c) * decay
            a2 = load(matrix, row + 2 * w + c) * decay
            a3 = load(matrix, row + 3 * w + c) * decay
            for p in range(rows):
                v = load(y, p * w + c)
                a0 = fused(read(scaled, p * w + i), v, a0)
                a1 = fused(read(scaled, p * w + i + 1), v, a1)
                a2 = fused(read(scaled, p * w + i + 2), v, a2)
                a3 = fused(read(scaled, p * w + i + 3), v, a3)
            store(matrix, row + c, a0)
            store(matrix, row + w + c, a1)
            store(matrix, row + 2 * w + c, a2)
            store(matrix, row + 3 * w + c, a3)


@kernel(allocates=False)
def factorise(n: int, matrix: Any, ms: int, out: Any, fs: int) -> bool:
    """U with U' U = C, for the upper half of C at ms, into `out` at fs; False unless C is positive definite.

    Four rows at a time: first the contributions of the rows above, then those of the four to each other.
    """
    w = padded_width(n)
    for i in range(0, n, 4):
        row = fs + i * w
        first = i // LANES * LANES
        for c in range(first, w, LANES):
            a0 = load(matrix, ms + i * w + c)
            a1 = load(matrix, ms + (i + 1) * w + c)
            a2 = load(matrix, ms + (i + 2) * w + c)
            a3 = load(matrix, ms + (i + 3) * w + c)
            for k in range(i):
                u = load(out, fs + k * w + c)
                a0 = fused(-read(out, fs + k * w + i), u, a0)
                a1 = fused(-read(out, fs + k * w + i + 1), u, a1)
                a2 = fused(-read(out, fs + k * w + i + 2), u, a2)
                a3 = fused(-read(out, fs + k * w + i + 3), u, a3)
            store(out, row + c, a0)
            store(out, row + w + c, a1)
            store(out, row + 2 * w + c, a2)
            store(out, row + 3 * w + c, a3)
        for r in range(i, min(i + 4, n)):
            at = fs + r * w
            for k in range(i, r):
                taken = -read(out, fs + k * w + r)
                for c in range(first, w, LANES):
                    store(out, at + c, fused(taken, load(out, fs + k * w + c), load(out, at + c)))
            pivot = read(out, at + r)
            if not (pivot > 0.0 and pivot < np.inf):
                return False
            inverse = 1.0 / np.sqrt(pivot)
            for c in range(first, w, LANES):
                store(out, at + c, load(out, at + c) * inverse)
        for r in range(i, min(i + 4, n)):
            for c in range(first, r):
                write(out, fs + r * w + c, 0.0)
    return True

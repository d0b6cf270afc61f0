"""A k-d tree of centroids in blocks of 32, eight children a node; and, without its nodes, brute force over the blocks.

Distances are sums over the axes, in order, of |x - c|^p in float64 (the largest |x - c| for p = inf). Lower bounds of
boxes are computed by the same operations in the same order, so rounding, which is monotone, cannot lift a bound above
the distance to a point in its box: pruning is exact to the last tie. (`pow` is not correctly rounded, hence a small
margin for other p.) The table for two features lives in `table`.

J. L. Bentley (1975), "Multidimensional binary search trees used for associative searching".
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tesselite.compiled import kernel

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

BLOCK = 32  # centroids in a block: eight vectors of four
FANOUT = 8  # children of a node
HEADER = (
    48  # ints: [n_levels, n_blocks, padded d, where ids start, ..., 8 + 2 l: where level l starts, its items]
)

# Which formula sums up an axis.
SQUARE, ABSOLUTE, LARGEST, ROOT, POWER = 0, 1, 2, 3, 4


def kind_of(p: float) -> int:
    """Which of the formulas a Minkowski p uses."""
    return {2.0: SQUARE, 1.0: ABSOLUTE, np.inf: LARGEST, 0.5: ROOT}.get(p, POWER)


@kernel()
def _select(order: Ints, values: Floats, first: int, last: int, at: int) -> None:
    """Reorder order[first:last] so that what belongs at index `at` by value is there, smaller before, larger after."""
    last -= 1
    while last > first:
        pivot = values[order[(first + last) >> 1]]
        i, j = first, last
        while i <= j:
            while values[order[i]] < pivot:
                i += 1
            while values[order[j]] > pivot:
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if at <= j:
            last = j
        elif at >= i:
            first = i
        else:
            return


@kernel()
def kd_order(points: Floats, leaf: int) -> Ints:
    """An order of the rows in which every aligned run of leaf * 2^i rows is compact: median splits of the widest side."""
    n, d = points.shape
    columns = np.ascontiguousarray(points.T)
    order = np.arange(n)
    stack = np.empty((128, 2), np.int64)
    stack[0, 0] = 0
    stack[0, 1] = n
    top = 1
    while top > 0:
        top -= 1
        first, last = stack[top, 0], stack[top, 1]
        if last - first <= leaf:
            continue
        axis, widest = 0, -1.0
        for j in range(d):
            low = high = columns[j, order[first]]
            for i in range(first + 1, last):
                value = columns[j, order[i]]
                low = min(low, value)
                high = max(high, value)
            if high - low > widest:
                axis, widest = j, high - low
        half = leaf
        while 2 * half < last - first:
            half *= 2
        _select(order, columns[axis], first, last, first + half)
        stack[top, 0], stack[top, 1] = first, first + half
        stack[top + 1, 0], stack[top + 1, 1] = first + half, last
        top += 2
    return order


def tree_tables(centroids: Floats, with_nodes: bool) -> tuple[Floats, Ints]:
    """The flat tables of a tree over (k, d) centroids; of brute force if it is to have no nodes."""
    k, d = centroids.shape
    padded = d + d % 2  # axes are summed in pairs; a zero more changes no sum
    n_blocks = -(-k // BLOCK)
    order = kd_order(centroids, BLOCK) if with_nodes else np.arange(k)
    ids = np.full(n_blocks * BLOCK, np.iinfo(np.int64).max)
    ids[:k] = order
    rows = np.zeros((n_blocks * BLOCK, padded))
    rows[:k, :d] = centroids[order]
    rows[k:, :d] = np.inf  # farther than any centroid
    blocks = np.ascontiguousarray(rows.reshape(n_blocks, BLOCK, padded).transpose(0, 2, 1))
    header = np.zeros(HEADER, np.int64)
    header[1:4] = n_blocks, padded, HEADER
    parts = [blocks.ravel()]
    if with_nodes and n_blocks > 1:
        low = blocks.min(axis=2)
        rows[k:] = -np.inf
        high = rows.reshape(n_blocks, BLOCK, padded).max(axis=1)
        start, level = blocks.size, 0
        while len(low) > 1:
            items = len(low)
            nodes = -(-items // FANOUT)
            boxes = np.full((nodes * FANOUT, 2, padded), np.inf)
            boxes[:items, 0], boxes[:items, 1] = low, high
            parts.append(
                np.ascontiguousarray(boxes.reshape(nodes, FANOUT, 2, padded).transpose(0, 2, 3, 1)).ravel()
            )
            level += 1
            header[8 + 2 * level : 10 + 2 * level] = start, items
            start += parts[-1].size
            low = np.minimum.reduceat(low, np.arange(0, items, FANOUT))
            high = np.maximum.reduceat(high, np.arange(0, items, FANOUT))
        header[0] = level
    return np.concatenate(parts), np.concatenate([header, ids])


@kernel()
def block_distances(
    x: Floats, floats: Floats, at: int, padded: int, kind: int, p: float, sums: Floats
) -> None:
    """sums[:32] = power sums of the distances from x (padded,) to the block of centroids at floats[at:]."""
    # Unsigned indexes: Python's negative ones would keep the inner loops from being vectorised.
    for i in range(BLOCK):
        sums[i] = 0.0
    if kind == SQUARE:
        for j in range(0, padded, 2):
            x0, x1 = x[j], x[j + 1]
            o = np.uintp(at + j * BLOCK)
            for i in range(BLOCK):
                u = x0 - floats[o + np.uintp(i)]
                v = x1 - floats[o + np.uintp(i + BLOCK)]
                sums[i] = (sums[i] + u * u) + v * v
        return
    for j in range(padded):
        x0 = x[j]
        o = np.uintp(at + j * BLOCK)
        if kind == ROOT:
            for i in range(BLOCK):
                sums[i] += np.sqrt(abs(x0 - floats[o + np.uintp(i)]))
        elif kind == ABSOLUTE:
            for i in range(BLOCK):
                sums[i] += abs(x0 - floats[o + np.uintp(i)])
        elif kind == LARGEST:
            for i in range(BLOCK):
                u = abs(x0 - floats[o + np.uintp(i)])
                sums[i] = u if u > sums[i] else sums[i]
        else:
            for i in range(BLOCK):
                u = abs(x0 - floats[o + np.uintp(i)])
                if u > 0.0:
                    sums[i] += u**p


@kernel()
def _box_bounds(x: Floats, floats: Floats, at: int, padded: int, kind: int, p: float, sums: Floats) -> None:
    """sums[:8] = lower bounds of the power sums from x (padded,) to the eight boxes of the node at floats[at:]."""
    for i in range(FANOUT):
        sums[i] = 0.0
    for j in range(padded):
        x0 = x[j]
        low = np.uintp(at + j * FANOUT)
        high = np.uintp(at + (padded + j) * FANOUT)
        if kind == SQUARE:
            for i in range(FANOUT):
                u = floats[low + np.uintp(i)] - x0
                v = x0 - floats[high + np.uintp(i)]
                u = v if v > u else u
                u = u if u > 0.0 else 0.0
                sums[i] += u * u
        else:
            for i in range(FANOUT):
                u = max(floats[low + np.uintp(i)] - x0, x0 - floats[high + np.uintp(i)], 0.0)
                if kind == ABSOLUTE:
                    sums[i] += u
                elif kind == LARGEST:
                    sums[i] = max(sums[i], u)
                elif kind == ROOT:
                    sums[i] += np.sqrt(u)
                elif u > 0.0:
                    sums[i] += u**p * (1.0 - 1e-13)


@kernel()
def _scan_block(sums: Floats, bits: Ints, ids: Ints, at: int, best: float, best_id: int) -> tuple[float, int]:
    """The better of the best so far and of a block with these sums (`bits` their bit patterns); the lower id on ties."""
    least = bits[0]  # sums are not negative, so their bits order them; a minimum of integers is vectorised
    for i in range(1, BLOCK):
        least = min(least, bits[i])
    first = -1
    for i in range(BLOCK):
        if bits[i] == least:
            first = i
            break
    if sums[first] <= best:
        if sums[first] < best:
            best, best_id = sums[first], ids[at + first]
        for i in range(first, BLOCK):
            if bits[i] == least and ids[at + i] < best_id:
                best_id = ids[at + i]
    return best, best_id


@kernel()
def tree_search(
    x: Floats,
    floats: Floats,
    ints: Ints,
    kind: int,
    p: float,
    sums: Floats,
    bits: Ints,
    stack: Ints,
    bounds: Floats,
) -> int:
    """Id of the centroid nearest to x (padded,); 0 if no distance is finite. The last four are for scratch."""
    padded, ids = ints[2], ints[3]
    best, best_id = np.inf, 0
    stack[0] = ints[0]
    stack[1] = 0
    bounds[0] = 0.0
    top = 1
    while top > 0:
        top -= 1
        level, item = stack[2 * top], stack[2 * top + 1]
        if bounds[top] > best:
            continue
        if level == 0:
            block_distances(x, floats, item * padded * BLOCK, padded, kind, p, sums)
            best, best_id = _scan_block(sums, bits, ints, ids + item * BLOCK, best, best_id)
            continue
        _box_bounds(x, floats, ints[8 + 2 * level] + item * 2 * padded * FANOUT, padded, kind, p, sums)
        base = top
        for i in range(min(FANOUT, ints[9 + 2 * level] - item * FANOUT)):
            if sums[i] <= best:
                slot = top  # keep the nearest box on top
                while slot > base and bounds[slot - 1] < sums[i]:
                    bounds[slot] = bounds[slot - 1]
                    stack[2 * slot + 1] = stack[2 * slot - 1]
                    slot -= 1
                bounds[slot] = sums[i]
                stack[2 * slot + 1] = item * FANOUT + i
                stack[2 * top] = level - 1
                top += 1
    return best_id


@kernel()
def brute_rows(
    points: Floats, out: Ints, start: int, stop: int, floats: Floats, ints: Ints, kind: int, p: float
) -> None:
    """out[start:stop] = ids of the nearest centroids by trying all; sixteen rows share each block while it is cached."""
    d = points.shape[1]
    n_blocks, padded, ids = ints[1], ints[2], ints[3]
    sums = np.empty(BLOCK)
    bits = sums.view(np.int64)
    x = np.zeros((16, padded))
    best = np.empty(16)
    for first in range(start, stop, 16):
        m = min(16, stop - first)
        for r in range(m):
            best[r] = np.inf
            out[first + r] = 0
            for j in range(d):
                x[r, j] = points[first + r, j]
        for block in range(n_blocks):
            for r in range(m):
                block_distances(x[r], floats, block * padded * BLOCK, padded, kind, p, sums)
                best[r], out[first + r] = _scan_block(
                    sums, bits, ints, ids + block * BLOCK, best[r], out[first + r]
                )

"""A k-d tree of centroids in blocks of 32, up to 64 children a node; without its nodes, brute force over the blocks.

Distances are sums over the axes, in order, of |x - c|^p in float64 (the largest |x - c| for p = inf). Lower bounds of
boxes are computed by the same operations in the same order, so rounding, which is monotone, cannot lift a bound above
the distance to a point in its box: pruning is exact to the last tie. (`pow` is not correctly rounded, hence a small
margin for other p.) The table for two features lives in `table`.

J. L. Bentley (1975), "Multidimensional binary search trees used for associative searching".
"""

from __future__ import annotations

import numpy as np

from tesselite.base.arrays import Floats, Ints
from tesselite.compiled.blocks import lookup_block
from tesselite.compiled.kernels import kernel
from tesselite.compiled.vectors import LANES, lowest_bit
from tesselite.tessellation.nearest.distances import (
    lane_absolutes,
    lane_box_squares,
    lane_largest,
    lane_roots,
    lane_squares,
    lanes_at_most,
    lanes_least,
)
from tesselite.tessellation.nearest.powers import LEAST, MOST, NEGLIGIBLE, TOLERANCE, lane_box_powers, lane_powers

BLOCK = 32  # centroids in a block: four vectors of eight
FANOUT = 64  # children of a node; wide, because a step down mispredicts branches and a box costs two nanoseconds
HEADER = (
    48  # ints: [n_levels, n_blocks, padded d, where ids start, formula, ..., 8 + 2 l: where level l starts, its items]
)

_MOST = float(np.finfo(np.float64).max)

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
    """An order of the rows in which aligned runs of leaf * 2^i rows are compact: median splits of the widest side."""
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


def tree_tables(centroids: Floats, p: float, with_nodes: bool) -> tuple[Floats, Ints]:
    """The flat tables of a tree over (k, d) centroids; of brute force without nodes. The last of the floats is p."""
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
    header[1:5] = n_blocks, padded, HEADER, kind_of(p)
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
            parts.append(np.ascontiguousarray(boxes.reshape(nodes, FANOUT, 2, padded).transpose(0, 2, 3, 1)).ravel())
            level += 1
            header[8 + 2 * level : 10 + 2 * level] = start, items
            start += parts[-1].size
            low = np.minimum.reduceat(low, np.arange(0, items, FANOUT))
            high = np.maximum.reduceat(high, np.arange(0, items, FANOUT))
        header[0] = level
    return np.concatenate([*parts, [p]]), np.concatenate([header, ids])


@kernel()
def _power_sums(floats: Floats, at: int, stride: int, x: Floats, d: int, p: float, limit: float, sums: Floats) -> int:
    """What lane_squares does, for any p; where the sum is above the limit, something else above it may be written."""
    mask = (1 << LANES) - 1
    if LEAST <= p <= MOST:
        mask = lane_powers(floats, at, stride, x, d, limit * (1.0 + TOLERANCE) + d * NEGLIGIBLE, sums, 0, p)
        for i in range(LANES):
            sums[i] = np.inf
    left, mask = mask, 0
    while left != 0:
        i = lowest_bit(left)
        left &= left - 1
        total = 0.0
        for j in range(d):
            u = abs(x[j] - floats[at + j * stride + i])
            if u > 0.0:
                total += u**p
            if total > limit:
                break
        sums[i] = total
        mask |= (1 << i) if total <= limit else 0
    return mask


@kernel()
def _other_bounds(x: Floats, floats: Floats, at: int, padded: int, kind: int, p: float, sums: Floats, to: int) -> None:
    """sums[to:] = lower bounds, for p other than 2, from x (padded,) to the boxes of the node at floats[at:]."""
    if kind == POWER and LEAST <= p <= MOST:
        for i in range(0, FANOUT, LANES):
            lane_box_powers(
                floats, floats, at + i, at + padded * FANOUT + i, FANOUT, x, padded, np.inf, sums, to + i, p
            )
        for i in range(FANOUT):
            sums[to + i] = max(sums[to + i] * (1.0 - 2.0 * TOLERANCE) - padded * NEGLIGIBLE, 0.0)
        return
    for i in range(FANOUT):
        sums[to + i] = 0.0
    for j in range(padded):
        for i in range(FANOUT):
            low, high = floats[at + j * FANOUT + i], floats[at + (padded + j) * FANOUT + i]
            u = max(low - x[j], x[j] - high, 0.0)
            if kind == ABSOLUTE:
                sums[to + i] += u
            elif kind == LARGEST:
                sums[to + i] = max(sums[to + i], u)
            elif kind == ROOT:
                sums[to + i] += np.sqrt(u)
            elif u > 0.0:
                sums[to + i] += u**p * (1.0 - 1e-13)


@kernel()
def scan_block(
    x: Floats,
    floats: Floats,
    block: int,
    ints: Ints,
    kind: int,
    p: float,
    sums: Floats,
    best: float,
    best_id: int,
) -> tuple[float, int]:
    """The better of the best so far and of the centroids of a block; the lower id on ties. `sums` is scratch."""
    padded, ids = ints[2], ints[3] + block * BLOCK
    at = block * padded * BLOCK
    for group in range(0, BLOCK, LANES):
        if kind == SQUARE:
            mask = lane_squares(floats, at + group, BLOCK, x, padded, best, sums, 0)
        elif kind == ROOT:
            mask = lane_roots(floats, at + group, BLOCK, x, padded, best, sums, 0)
        elif kind == ABSOLUTE:
            mask = lane_absolutes(floats, at + group, BLOCK, x, padded, best, sums, 0)
        elif kind == LARGEST:
            mask = lane_largest(floats, at + group, BLOCK, x, padded, best, sums, 0)
        else:
            mask = _power_sums(floats, at + group, BLOCK, x, padded, p, best, sums)
        if mask != 0:  # seldom; then mostly one lane is the least
            least = lanes_least(sums, 0)
            if least < best:
                best, best_id = least, np.iinfo(np.int64).max
            mask = lanes_at_most(sums, 0, best)
            while mask != 0:
                best_id = min(best_id, ints[ids + group + lowest_bit(mask)])
                mask &= mask - 1
    return best, best_id


@kernel()
def _visit(x: Floats, floats: Floats, ints: Ints, kind: int, p: float, level: int, node: int, bounds: Floats) -> int:
    """Write lower bounds of the node's children to bounds[64 * level:], infinite where there is none; the nearest."""
    padded = ints[2]
    at = ints[8 + 2 * level] + node * 2 * padded * FANOUT
    children = min(FANOUT, ints[9 + 2 * level] - node * FANOUT)
    to = FANOUT * level
    least, first = np.inf, 0
    if kind != SQUARE:
        _other_bounds(x, floats, at, padded, kind, p, bounds, to)
        for i in range(FANOUT):
            if i >= children:
                bounds[to + i] = np.inf
            elif bounds[to + i] < least:
                least, first = bounds[to + i], i
        return first
    for group in range(0, FANOUT, LANES):
        if group >= children:
            for i in range(group, FANOUT):
                bounds[to + i] = np.inf
            break
        mask = lane_box_squares(
            floats,
            floats,
            at + group,
            at + padded * FANOUT + group,
            FANOUT,
            x,
            padded,
            least,
            bounds,
            to + group,
        )
        if mask != 0:
            value = lanes_least(bounds, to + group)
            if value < least:
                least = value
                first = group + lowest_bit(lanes_at_most(bounds, to + group, value))
    return first


@kernel()
def tree_search(
    x: Floats, floats: Floats, ints: Ints, kind: int, p: float, sums: Floats, bounds: Floats, path: Ints
) -> int:
    """Id of the centroid nearest to x (padded,); 0 if no distance is finite.

    Scratch: `sums` (32,), `bounds` (6 * 64,), `path` (6 * 4,). Of each node the nearest child comes first, the others
    in any order as long as they are not too far. (No slices here: each would count references atomically.)
    """
    best, best_id = np.inf, 0
    top = ints[0]
    level, child = max(top, 1), 0  # without nodes: the only block, as the only child of a node
    if top > 0:
        child = _visit(x, floats, ints, kind, p, level, 0, bounds)
    at = 4 * level
    path[at], path[at + 1], path[at + 2], path[at + 3] = 0, child, -1, 0
    while True:
        if child >= 0:
            item = path[4 * level] * FANOUT + child
            if level == 1:
                best, best_id = scan_block(x, floats, item, ints, kind, p, sums, best, best_id)
            else:
                level -= 1
                child = _visit(x, floats, ints, kind, p, level, item, bounds)
                at = 4 * level
                path[at], path[at + 1], path[at + 2], path[at + 3] = item, child, -1, 0
                continue
        # The next child of this node that is near enough: path holds its group of eight and what is left of that.
        at = 4 * level
        child = -1
        while child < 0:
            group, mask = path[at + 2], path[at + 3]
            if mask == 0:
                group += 1
                if group * LANES >= min(FANOUT, ints[9 + 2 * level] - path[at] * FANOUT):
                    break
                path[at + 2] = group
                path[at + 3] = lanes_at_most(bounds, FANOUT * level + group * LANES, best)
                continue
            path[at + 3] = mask & (mask - 1)
            candidate = group * LANES + lowest_bit(mask)
            if (
                candidate != path[at + 1]
                and bounds[FANOUT * level + candidate] <= best
                and path[at] * FANOUT + candidate < ints[9 + 2 * level]
            ):
                child = candidate
        if child < 0:
            level += 1
            if level > top:
                return best_id


@kernel()
def finite(x: float) -> float:
    """x, or the finite number nearest to it, the lowest for NaN: so that what pads the tables is infinitely far."""
    if abs(x) <= _MOST:
        return x
    return _MOST if x > 0.0 else -_MOST


@kernel()
def new_scratch(ints: Ints) -> tuple[Floats, Floats, Floats, Ints]:
    """The scratch memory of a `tree_search`: x, sums, bounds and path."""
    return np.zeros(ints[2]), np.empty(FANOUT), np.empty(6 * FANOUT), np.empty(24, np.int64)


@lookup_block
def find_in_tree(points: Floats, floats: Floats, ints: Ints, niches: Ints) -> None:
    """Nearest centroids by the tree of `tree_tables`."""
    kind, p = ints[4], floats[floats.shape[0] - 1]
    x, sums, bounds, path = new_scratch(ints)
    for i in range(points.shape[0]):
        for j in range(points.shape[1]):
            x[j] = finite(points[i, j])
        niches[i] = tree_search(x, floats, ints, kind, p, sums, bounds, path)


@lookup_block
def find_by_all(points: Floats, floats: Floats, ints: Ints, niches: Ints) -> None:
    """Nearest centroids by trying all; 16 rows share each block of centroids while it is cached."""
    kind, p = ints[4], floats[floats.shape[0] - 1]
    n, d = points.shape
    sums = np.empty(FANOUT)
    x = np.zeros((16, ints[2]))
    best = np.empty(16)
    for first in range(0, n, 16):
        m = min(16, n - first)
        for r in range(m):
            best[r] = np.inf
            niches[first + r] = 0
            for j in range(d):
                x[r, j] = finite(points[first + r, j])
        for block in range(ints[1]):
            for r in range(m):
                i = first + r
                best[r], niches[i] = scan_block(x[r], floats, block, ints, kind, p, sums, best[r], niches[i])

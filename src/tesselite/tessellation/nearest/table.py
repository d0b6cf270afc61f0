"""The candidate table for two features: each square of a grid lists every centroid that can be nearest in it.

A centroid is left out of a square only if another one is nearer at all four corners, and therefore, the points nearer
to the other being a half-plane, in the whole square; by a margin that covers all rounding. One candidate is the
answer without any distance. Points outside the grid are searched in the tree.
"""

from __future__ import annotations

import numpy as np

from tesselite.base.arrays import Floats, Ints
from tesselite.compiled.blocks import lookup_block
from tesselite.compiled.kernels import kernel
from tesselite.compiled.memory import prefetch
from tesselite.tessellation.nearest.tree import SQUARE, finite, new_scratch, tree_search, tree_tables

TABLE, CENTROIDS, N_CENTROIDS = 5, 6, 7  # in the tree's header: where they start, and how many there are

_FETCHED = 32  # look-ups whose parts of the table are fetched ahead together
_SMALL = 4096  # a table of at most this many centroids is in the cache anyway
_MOST = 512  # centroids near a square
_MARGIN = 1e-9  # relative, on squared distances; rounding is of order 1e-15, a square's own bounds of order 1e-12


@kernel()
def bucket_sort(points: Floats, side: int, starts: Ints, members: Ints) -> None:
    """Sort rows of the unit square into side x side buckets: members[starts[b]:starts[b + 1]] is bucket b."""
    n = len(points)
    bucket = np.empty(n, np.int64)
    starts[:] = 0
    for i in range(n):
        u = min(max(int(points[i, 0] * side), 0), side - 1)
        v = min(max(int(points[i, 1] * side), 0), side - 1)
        bucket[i] = v * side + u
        starts[bucket[i] + 1] += 1
    for b in range(side * side):
        starts[b + 1] += starts[b]
    filled = starts[:-1].copy()
    for i in range(n):
        members[filled[bucket[i]]] = i
        filled[bucket[i]] += 1


@kernel(forceinline=True)
def _nearest_square(centroids: Floats, starts: Ints, members: Ints, buckets: int, x: float, y: float) -> float:
    """The squared distance of the centroid nearest to a point, ring by ring of buckets."""
    bu, bv = min(int(x * buckets), buckets - 1), min(int(y * buckets), buckets - 1)
    best = np.inf
    ring = 0
    while ring <= buckets:
        reach = (ring - 1) / buckets  # what rings from here on are at least away
        if ring > 0 and best < np.inf and reach > 0 and reach * reach > best:
            break
        for v in range(max(bv - ring, 0), min(bv + ring, buckets - 1) + 1):
            edge = v == bv - ring or v == bv + ring
            u = bu - ring
            while u <= bu + ring:
                if 0 <= u < buckets:
                    for m in range(starts[v * buckets + u], starts[v * buckets + u + 1]):
                        c = members[m]
                        dx, dy = centroids[c, 0] - x, centroids[c, 1] - y
                        best = min(best, dx * dx + dy * dy)
                u += 1 if edge or ring == 0 else 2 * ring
        ring += 1
    return best


@kernel(forceinline=True)
def _bucket_at(x: float, buckets: int) -> int:
    return min(max(int(np.floor(x)), 0), buckets - 1)


@kernel(forceinline=True)
def _gather(
    centroids: Floats, starts: Ints, members: Ints, buckets: int, x: float, y: float, radius: float, near: Ints,
    far: Floats,
) -> int:  # fmt: skip
    """Centroids within a radius of (x, y), nearest first, and their squared distances; how many, or -1 if too many."""
    limit = radius * radius * (1 + _MARGIN)
    n_near = 0
    u0, u1 = _bucket_at((x - radius) * buckets - 1e-6, buckets), _bucket_at((x + radius) * buckets + 1e-6, buckets)
    v0, v1 = _bucket_at((y - radius) * buckets - 1e-6, buckets), _bucket_at((y + radius) * buckets + 1e-6, buckets)
    for v in range(v0, v1 + 1):
        for m in range(starts[v * buckets + u0], starts[v * buckets + u1 + 1]):
            c = members[m]
            dx, dy = centroids[c, 0] - x, centroids[c, 1] - y
            d2 = dx * dx + dy * dy
            if d2 <= limit:
                if n_near == _MOST:
                    return -1
                slot = n_near  # nearest to the middle first: they exclude the others
                while slot > 0 and far[slot - 1] > d2:
                    far[slot] = far[slot - 1]
                    near[slot] = near[slot - 1]
                    slot -= 1
                far[slot] = d2
                near[slot] = c
                n_near += 1
    return n_near


@kernel(forceinline=True)
def _rule_out(
    centroids: Floats, row: int, column: int, h: float, near: Ints, n_near: int, corners: Floats, kept: Ints
) -> int:
    """Keep, in ascending order, those that no other one is nearer than at all four corners of a square; how many."""
    n_kept = 0
    for i in range(n_near):
        c = near[i]
        x0, x1 = centroids[c, 0] - column * h, centroids[c, 0] - (column + 1) * h
        y0, y1 = centroids[c, 1] - row * h, centroids[c, 1] - (row + 1) * h
        x0, x1, y0, y1 = x0 * x0, x1 * x1, y0 * y0, y1 * y1
        a, b, e, f = x0 + y0, x1 + y0, x0 + y1, x1 + y1
        ruled_out = False
        for q in range(n_kept):
            if (
                corners[q, 0] < a * (1 - _MARGIN)
                and corners[q, 1] < b * (1 - _MARGIN)
                and corners[q, 2] < e * (1 - _MARGIN)
                and corners[q, 3] < f * (1 - _MARGIN)
            ):
                ruled_out = True
                break
        if not ruled_out:
            corners[n_kept, 0], corners[n_kept, 1], corners[n_kept, 2], corners[n_kept, 3] = a, b, e, f
            kept[n_kept] = c
            n_kept += 1
    for i in range(1, n_kept):  # ascending ids: with a strict comparison the lowest wins a tie
        c = kept[i]
        slot = i
        while slot > 0 and kept[slot - 1] > c:
            kept[slot] = kept[slot - 1]
            slot -= 1
        kept[slot] = c
    return n_kept


@kernel()
def fill_table(centroids: Floats, side: int, starts: Ints, members: Ints, buckets: int, heads: Ints, ids: Ints) -> int:
    """Fill the heads (2 * side * side) and the ids of the table; how many ids there are, or -1 if there is no room.

    A square's head is two words of two ids each, ascending, the last one repeated; where there are more than four,
    -1 - count and where the square's ids start.
    """
    h = 1.0 / side
    half_diagonal = h * np.sqrt(0.5) * (1 + 1e-9)
    near = np.empty(_MOST, np.int64)
    far = np.empty(_MOST)
    corners = np.empty((_MOST, 4))
    kept = np.empty(_MOST, np.int64)
    used = 0
    for row in range(side):
        y = (row + 0.5) * h
        for column in range(side):
            x = (column + 0.5) * h
            # No centroid farther from the middle than this can be nearest anywhere in the square.
            radius = np.sqrt(_nearest_square(centroids, starts, members, buckets, x, y)) + 2 * half_diagonal
            n_near = _gather(centroids, starts, members, buckets, x, y, radius, near, far)
            if n_near < 0:
                return -1
            n_kept = _rule_out(centroids, row, column, h, near, n_near, corners, kept)
            at = 2 * (row * side + column)
            if n_kept <= 4:
                for q in range(n_kept, 4):
                    kept[q] = kept[n_kept - 1]
                heads[at] = kept[0] | (kept[1] << 32)
                heads[at + 1] = kept[2] | (kept[3] << 32)
            else:
                if used + n_kept > len(ids):
                    return -1
                heads[at] = -1 - n_kept
                heads[at + 1] = used
                for q in range(n_kept):
                    ids[used + q] = kept[q]
                used += n_kept
    return used


def table_tables(centroids: Floats, near: Ints | None = None) -> tuple[Floats, Ints] | None:
    """The flat tables for (k, 2) centroids: a tree's, and then centroids and table.

    The table is [side, heads, candidate ids]. Centroids may lie outside the unit square; `near` (ascending) are those
    that can be nearest to a point inside, all by default. None if a table does not pay: the centroids crowd so much
    that squares would have many candidates.
    """
    near = np.arange(len(centroids)) if near is None else near
    k = len(near)
    # Finer squares have fewer candidates; a million centroids must not need more than a few hundred megabytes.
    per_centroid = 3.0 if k <= 30_000 else 2.0 if k <= 300_000 else 1.5
    side = min(max(int(per_centroid * k**0.5), 1), 4096)
    buckets = max(int(k**0.5), 1)
    starts = np.empty(buckets * buckets + 1, np.int64)
    members = np.empty(k, np.int64)
    # What lies outside is put into the buckets at the border: it is farther than these say, and found with them.
    bucket_sort(np.ascontiguousarray(centroids[near]), buckets, starts, members)
    members = near[members]
    heads = np.empty(2 * side * side, np.int64)
    ids = np.empty(4 * side * side + 64, np.int64)
    if np.diff(starts).max() > 256:
        return None
    used = fill_table(centroids, side, starts, members, buckets, heads, ids)
    if used < 0:
        return None
    floats, ints = tree_tables(centroids, 2.0, with_nodes=True)
    ints[TABLE], ints[CENTROIDS], ints[N_CENTROIDS] = len(ints), len(floats), k
    return np.concatenate([floats, centroids.ravel()]), np.concatenate([ints, [side], heads, ids[:used]])


@kernel()
def _squared(x: float, y: float, floats: Floats, at: int) -> float:
    u = x - floats[np.uintp(at)]
    v = y - floats[np.uintp(at + 1)]
    return float(u * u + v * v)


@kernel()
def _fetch_candidates(points: Floats, start: int, stop: int, floats: Floats, ints: Ints) -> None:
    """Prefetch the squares of points [start, stop), and then their candidates.

    Look-ups are scattered over a large table: one after the other, each would wait for memory twice.
    """
    table, centroids = ints[TABLE], ints[CENTROIDS]
    side = ints[table]
    for again in range(2):
        for i in range(start, stop):
            x, y = points[i, 0], points[i, 1]
            if 0.0 <= x <= 1.0 and 0.0 <= y <= 1.0:
                column = min(int(x * side), side - 1)
                row = min(int(y * side), side - 1)
                head = table + 1 + 2 * (row * side + column)
                if again == 0:
                    prefetch(ints, head)
                elif ints[head] >= 0:
                    for word in (ints[head], ints[head + 1]):
                        prefetch(floats, centroids + 2 * (word & 0xFFFFFFFF))
                        prefetch(floats, centroids + 2 * (word >> 32))
                else:
                    prefetch(ints, table + 1 + 2 * side * side + ints[head + 1])


@kernel()
def _table_search(x: float, y: float, floats: Floats, ints: Ints) -> int:
    """Id of the centroid nearest to a point of the unit square."""
    at, centroids = ints[TABLE], ints[CENTROIDS]
    side = ints[at]
    column = min(int(x * side), side - 1)
    row = min(int(y * side), side - 1)
    at += 1
    head = np.uintp(at + 2 * (row * side + column))
    first, second = ints[head], ints[head + np.uintp(1)]
    if first >= 0:  # always four distances: this avoids a branch that could be mispredicted
        a, b, c, d = first & 0xFFFFFFFF, first >> 32, second & 0xFFFFFFFF, second >> 32
        best, best_id = _squared(x, y, floats, centroids + 2 * a), a
        other = _squared(x, y, floats, centroids + 2 * b)
        best_id = b if other < best else best_id
        best = other if other < best else best
        other = _squared(x, y, floats, centroids + 2 * c)
        best_id = c if other < best else best_id
        best = other if other < best else best
        other = _squared(x, y, floats, centroids + 2 * d)
        return int(d if other < best else best_id)
    at += 2 * side * side + second
    best, best_id = np.inf, 0
    for i in range(at, at - 1 - first):
        other = _squared(x, y, floats, centroids + 2 * ints[i])
        if other < best:
            best, best_id = other, int(ints[i])
    return best_id


@lookup_block
def find_in_table(points: Floats, floats: Floats, ints: Ints, niches: Ints) -> None:
    """Nearest centroids by the table of `table_tables`; points outside the unit square are searched in the tree."""
    large = ints[N_CENTROIDS] > _SMALL
    x, sums, bounds, path = new_scratch(ints)
    n = points.shape[0]
    for i in range(n):
        if large and i % _FETCHED == 0:
            _fetch_candidates(points, i, min(i + _FETCHED, n), floats, ints)
        if 0.0 <= points[i, 0] <= 1.0 and 0.0 <= points[i, 1] <= 1.0:
            niches[i] = _table_search(points[i, 0], points[i, 1], floats, ints)
        else:
            x[0], x[1] = finite(points[i, 0]), finite(points[i, 1])
            niches[i] = tree_search(x, floats, ints, SQUARE, 2.0, sums, bounds, path)

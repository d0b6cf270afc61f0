"""Compiled steps of Lloyd's algorithm on fixed samples, in spaces of low dimension; exact to the last tie.

All steps rest on one fact: if a sample's own centroid did not move away from it, only centroids that moved can take
it. The driver lives in `fixed`; the steps for many dimensions live in `staircase`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tesselite.base.arrays import Floats, Ints, Singles
from tesselite.compiled.kernels import kernel
from tesselite.compiled.vectors import lowest_bit
from tesselite.tessellation.nearest.distances import lane_box_squares, lane_squares

Flags = npt.NDArray[np.uint8]

BOX = 64  # consecutive centroids that share a bounding box
SHELLS = 32


class Samples(NamedTuple):
    """Samples (n, d) and centroids (k, d), the samples of each niche, and what is known of each."""

    points: Floats | Singles
    centroids: Floats
    members: Ints  # as `sort_by_niche` has them
    starts: Ints
    labels: Ints  # the niche of each sample, below 0: none yet
    squares: Floats  # distances from the own centroids
    changed: Flags  # of niches: a member came or went
    moved: Flags  # of centroids: it is bitwise different


class Buckets(NamedTuple):
    """Centroids of two features in side x side buckets, as `bucket_sort` has them, and which hold a moved one."""

    side: int
    starts: Ints
    ids: Ints
    dirty: Flags


@kernel(forceinline=True)
def _reassign(samples: Samples, i: int, niche: int) -> None:
    """Note that sample i goes to another niche."""
    old = samples.labels[i]
    samples.labels[i] = niche
    samples.changed[niche] = 1
    if old >= 0:
        samples.changed[old] = 1


@kernel()
def sort_by_niche(labels: Ints, starts: Ints, members: Ints) -> None:
    """members[starts[c]:starts[c + 1]] = the samples of niche c, ascending."""
    starts[:] = 0
    for i in range(len(labels)):
        starts[labels[i] + 1] += 1
    for c in range(len(starts) - 1):
        starts[c + 1] += starts[c]
    filled = starts[:-1].copy()
    for i in range(len(labels)):
        members[filled[labels[i]]] = i
        filled[labels[i]] += 1


@kernel()
def update_means(samples: Samples, first: int, last: int) -> int:
    """Move those centroids first..last whose niche changed members to their mean; how many niches are empty.

    Sums run over the members in ascending order, for any number of threads.
    """
    points, centroids, starts, moved = samples.points, samples.centroids, samples.starts, samples.moved
    d = points.shape[1]
    mean = np.empty(d)
    n_empty = 0
    for c in range(first, last):
        moved[c] = 0
        n = starts[c + 1] - starts[c]
        n_empty += 1 if n == 0 else 0
        if samples.changed[c] == 0 or n == 0:
            continue
        mean[:] = 0.0
        for m in range(starts[c], starts[c + 1]):
            for j in range(d):
                mean[j] += points[samples.members[m], j]
        for j in range(d):
            value = mean[j] / n
            if value != centroids[c, j]:
                centroids[c, j] = value
                moved[c] = 1
    return n_empty


@kernel(forceinline=True)
def _one_nearby(x: float, y: float, buckets: Buckets) -> int:
    """A centroid in the nearest ring of buckets that has any."""
    side, starts = buckets.side, buckets.starts
    u = min(max(int(x * side), 0), side - 1)
    v = min(max(int(y * side), 0), side - 1)
    ring = 0
    while True:
        for row in range(max(v - ring, 0), min(v + ring, side - 1) + 1):
            a = starts[row * side + max(u - ring, 0)]
            if starts[row * side + min(u + ring, side - 1) + 1] > a:
                return buckets.ids[a]
        ring += 1


@kernel(forceinline=True)
def _any_dirty(buckets: Buckets, u0: int, u1: int, v0: int, v1: int) -> bool:
    for row in range(v0, v1 + 1):
        for column in range(u0, u1 + 1):
            if buckets.dirty[row * buckets.side + column]:
                return True
    return False


@kernel()
def assign_on_grid(samples: Samples, buckets: Buckets, first: int, last: int) -> int:
    """Assign 2D samples first..last to their nearest centroids by a bucket grid; how many changed their niche.

    A sample searches the buckets that the circle through its old centroid touches; it is skipped if that centroid
    did not move and no bucket of them is dirty, that is, holds a moved centroid.
    """
    points, centroids, squares = samples.points, samples.centroids, samples.squares
    side, starts = buckets.side, buckets.starts
    n_changed = 0
    for i in range(first, last):
        x, y = points[i, 0], points[i, 1]
        old = samples.labels[i]
        best_id = old if old >= 0 else _one_nearby(x, y, buckets)
        dx, dy = x - centroids[best_id, 0], y - centroids[best_id, 1]
        best = dx * dx + dy * dy
        radius = np.sqrt(best) * (1 + 1e-9)
        u0 = min(max(int((x - radius) * side), 0), side - 1)
        u1 = min(max(int((x + radius) * side), 0), side - 1)
        v0 = min(max(int((y - radius) * side), 0), side - 1)
        v1 = min(max(int((y + radius) * side), 0), side - 1)
        if old >= 0 and best <= squares[i] and not _any_dirty(buckets, u0, u1, v0, v1):
            squares[i] = best
            continue
        for row in range(v0, v1 + 1):
            for m in range(starts[row * side + u0], starts[row * side + u1 + 1]):
                c = buckets.ids[m]
                dx, dy = x - centroids[c, 0], y - centroids[c, 1]
                square = dx * dx + dy * dy
                if square < best or (square == best and c < best_id):
                    best, best_id = square, c
        squares[i] = best
        if best_id != old:
            n_changed += 1
            _reassign(samples, i, best_id)
    return n_changed


@kernel()
def mark_dirty(samples: Samples, buckets: Buckets) -> None:
    """dirty[b] = 1 for the buckets that hold a moved centroid."""
    centroids, side = samples.centroids, buckets.side
    buckets.dirty[:] = 0
    for c in range(len(centroids)):
        if samples.moved[c]:
            u = min(max(int(centroids[c, 0] * side), 0), side - 1)
            v = min(max(int(centroids[c, 1] * side), 0), side - 1)
            buckets.dirty[v * side + u] = 1


class Packed(NamedTuple):
    """Rows laid out for range searches: columns (d, n), boxes of 8 rows and of 64, padded with infinity."""

    columns: Singles
    low: Singles
    high: Singles
    top_low: Singles
    top_high: Singles


@kernel()
def pack(rows: Floats, packed: Packed) -> None:
    """Lay (m, d) rows out."""
    columns, low, high, top_low, top_high = packed
    m, d = rows.shape
    n = columns.shape[1]
    for j in range(d):
        for i in range(n):
            columns[j, i] = np.float32(rows[i, j]) if i < m else np.float32(np.inf)
        for b in range(n // 8):
            least = most = columns[j, 8 * b]
            for i in range(8 * b + 1, min(8 * b + 8, m)):
                least = min(least, columns[j, i])
                most = max(most, columns[j, i])
            low[j, b] = least
            high[j, b] = most
        for b in range(top_low.shape[1]):
            if b < n // BOX:
                least, most = low[j, 8 * b], high[j, 8 * b]
                for i in range(8 * b + 1, 8 * b + 8):
                    if 8 * i < m:
                        least = min(least, low[j, i])
                        most = max(most, high[j, i])
                top_low[j, b] = least
                top_high[j, b] = most
            else:
                top_low[j, b] = np.inf
                top_high[j, b] = np.inf


class Near(NamedTuple):
    """The centroids that may take a member of one niche, nearest first in shells by their distance from its centroid.

    `ids` and `blocks`, eight centroids each, are in the order of shells; shell s ends at shell_ends[s]. `found` and
    `squares` are the same in the order in which they were found.
    """

    found: Ints
    squares: Singles
    ids: Ints
    blocks: Floats
    shell_ends: Ints


@kernel(allocates=False)
def _within(x: Singles, limit: float, packed: Packed, near: Near, scratch: Singles) -> int:
    """near.found[:result] = the packed rows whose squared distance from x is at most limit; these in near.squares."""
    columns, low, high, top_low, top_high = packed
    d = len(x)
    radius = np.float32(limit)
    count = 0
    n_top = top_low.shape[1]
    for a in range(0, n_top, 8):
        tops = lane_box_squares(top_low, top_high, a, a, n_top, x, d, radius, scratch, 0)
        while tops != 0:
            b = 8 * (a + lowest_bit(tops))
            tops &= tops - 1
            boxes = lane_box_squares(low, high, b, b, low.shape[1], x, d, radius, scratch, 0)
            while boxes != 0:
                r = 8 * (b + lowest_bit(boxes))
                boxes &= boxes - 1
                mask = lane_squares(columns, r, columns.shape[1], x, d, radius, scratch, 0)
                while mask != 0:
                    lane = lowest_bit(mask)
                    mask &= mask - 1
                    near.found[count] = r + lane
                    near.squares[count] = scratch[lane]
                    count += 1
    return count


@kernel(allocates=False)
def _measure_members(c: int, samples: Samples) -> tuple[bool, float]:
    """Enter the distances of niche c's members from its centroid: whether one grew, and the largest (squared)."""
    centroids, grew, largest = samples.centroids, False, 0.0
    for m in range(samples.starts[c], samples.starts[c + 1]):
        i = samples.members[m]
        square = 0.0
        for j in range(centroids.shape[1]):
            u = samples.points[i, j] - centroids[c, j]
            square += u * u
        grew |= square > samples.squares[i]
        samples.squares[i] = square
        largest = max(largest, square)
    return grew, largest


@kernel(allocates=False)
def _sort_in_shells(n_near: int, scale: float, centroids: Floats, near: Near) -> None:
    """Put the centroids found into shells, the squared distance times `scale`, and into blocks of eight."""
    ends, d = near.shell_ends, centroids.shape[1]
    ends[:] = 0
    for r in range(n_near):
        ends[min(int(near.squares[r] * scale), SHELLS - 1) + 1] += 1
    for s in range(SHELLS):
        ends[s + 1] += ends[s]
    for r in range(n_near):
        s = min(int(near.squares[r] * scale), SHELLS - 1)
        at = ends[s]  # where shell s begins now, and ends when all are in
        ends[s] += 1
        near.ids[at] = near.found[r]
        to = (at >> 3) * 8 * d + (at & 7)
        for j in range(d):
            near.blocks[to + 8 * j] = centroids[near.found[r], j]
    for at in range(n_near, (n_near + 7) & ~7):
        to = (at >> 3) * 8 * d + (at & 7)
        for j in range(d):
            near.blocks[to + 8 * j] = np.inf


@kernel(allocates=False)
def _reassign_members(c: int, scale: float, samples: Samples, near: Near, y: Floats, sums: Floats) -> int:
    """Move niche c's members to nearer centroids, if there are any; how many moved."""
    d = len(y)
    n_changed = 0
    for m in range(samples.starts[c], samples.starts[c + 1]):
        i = samples.members[m]
        best, best_id = samples.squares[i], c
        n = near.shell_ends[min(int((4.0 * best + _margin(best, d)) * scale), SHELLS - 1)]
        for j in range(d):
            y[j] = samples.points[i, j]
        for at in range(0, n, 8):
            mask = lane_squares(near.blocks, at * d, 8, y, d, best, sums, 0)
            while mask != 0:
                lane = lowest_bit(mask)
                mask &= mask - 1
                if sums[lane] < best or (sums[lane] == best and near.ids[at + lane] < best_id):
                    best, best_id = sums[lane], near.ids[at + lane]
        if best_id != c:
            samples.squares[i] = best
            _reassign(samples, i, best_id)
            n_changed += 1
    return n_changed


@kernel()
def assign_by_lists(samples: Samples, packed: Packed, mover_ids: Ints, movers: Packed, first: int, last: int) -> int:
    """Assign the samples of niches first..last to their nearest centroids; how many changed their niche.

    A niche's members can only go to centroids within twice their largest distance from its own centroid; these are
    gathered once, in shells by distance, and each member scans the shells within twice its own distance. If no
    member's distance grew, only centroids that moved (movers) can take one.
    """
    centroids = samples.centroids
    k, d = centroids.shape
    near = Near(
        np.empty(k, np.int64),
        np.empty(k, np.float32),
        np.empty(k + 8, np.int64),
        np.empty((k + 8) * d),
        np.empty(SHELLS + 1, np.int64),
    )
    x, y = np.empty(d, np.float32), np.empty(d)
    scratch, sums = np.empty(8, np.float32), np.empty(8)
    n_changed = 0
    for c in range(first, last):
        if samples.starts[c] == samples.starts[c + 1]:
            continue
        grew, largest = _measure_members(c, samples)
        if not grew and len(mover_ids) == 0:
            continue
        for j in range(d):
            x[j] = centroids[c, j]
        # What is farther than twice a member's distance cannot be nearer to it, not even by a tie. The margin is for
        # single precision: coordinates in [0, 1] are rounded by up to 3e-8.
        limit = 4.0 * largest + _margin(largest, d)
        if grew:
            n_near = _within(x, limit, packed, near, scratch)
        else:
            n_near = _within(x, limit, movers, near, scratch)
            for r in range(n_near):
                near.found[r] = mover_ids[near.found[r]]
        if n_near > 0:
            scale = SHELLS / limit
            _sort_in_shells(n_near, scale, centroids, near)
            n_changed += _reassign_members(c, scale, samples, near, y, sums)
    return n_changed


@kernel()
def _margin(square: float, d: int) -> float:
    """How much four times a squared distance must be raised to hold for single precision as well."""
    return 1e-5 * square + 1e-6 * math.sqrt(square * d) + 1e-12

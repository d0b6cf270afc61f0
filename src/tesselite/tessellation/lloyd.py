"""Compiled steps of Lloyd's algorithm on fixed samples, in spaces of low dimension; exact to the last tie.

All steps rest on one fact: if a sample's own centroid did not move away from it, only centroids that moved can take
it. The driver lives in `fixed`; the steps for many dimensions live in `staircase`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tesselite.compiled import kernel

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.uint8]

BOX = 64  # consecutive centroids that share a bounding box
SHELLS = 32


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
def update_means(
    points: Floats, members: Ints, starts: Ints, centroids: Floats, changed: Flags, moved: Flags
) -> int:
    """Move the centroids of niches whose membership changed to their members' mean; how many niches are empty.

    Sums run over the members in ascending order, whatever the number of threads was. `moved` says which centroids
    are bitwise different.
    """
    d = points.shape[1]
    mean = np.empty(d)
    n_empty = 0
    for c in range(len(centroids)):
        moved[c] = 0
        n = starts[c + 1] - starts[c]
        n_empty += 1 if n == 0 else 0
        if changed[c] == 0 or n == 0:
            continue
        mean[:] = 0.0
        for m in range(starts[c], starts[c + 1]):
            for j in range(d):
                mean[j] += points[members[m], j]
        for j in range(d):
            value = mean[j] / n
            if value != centroids[c, j]:
                centroids[c, j] = value
                moved[c] = 1
    return n_empty


@kernel()
def assign_on_grid(
    points: Floats,
    first: int,
    last: int,
    labels: Ints,
    squares: Floats,
    centroids: Floats,
    moved: Flags,
    side: int,
    starts: Ints,
    ids: Ints,
    dirty: Flags,
    changed: Flags,
) -> int:
    """Assign 2D samples first..last to their nearest centroids by a bucket grid; how many changed their niche.

    A sample searches the buckets that the circle through its old centroid touches; it is skipped if that centroid
    did not move and no bucket of them is dirty, that is, holds a moved centroid. Labels below 0 mean none yet.
    """
    n_changed = 0
    for i in range(first, last):
        x, y = points[i, 0], points[i, 1]
        old = labels[i]
        start = old
        if old < 0:  # any centroid nearby will do to begin with
            u = min(max(int(x * side), 0), side - 1)
            v = min(max(int(y * side), 0), side - 1)
            ring = 0
            while start < 0:
                for row in range(max(v - ring, 0), min(v + ring, side - 1) + 1):
                    a = starts[row * side + max(u - ring, 0)]
                    if starts[row * side + min(u + ring, side - 1) + 1] > a:
                        start = ids[a]
                        break
                ring += 1
        dx, dy = x - centroids[start, 0], y - centroids[start, 1]
        best = dx * dx + dy * dy
        best_id = start
        radius = np.sqrt(best) * (1 + 1e-9)
        u0 = min(max(int((x - radius) * side), 0), side - 1)
        u1 = min(max(int((x + radius) * side), 0), side - 1)
        v0 = min(max(int((y - radius) * side), 0), side - 1)
        v1 = min(max(int((y + radius) * side), 0), side - 1)
        if old >= 0 and best <= squares[i]:
            clean = True
            for row in range(v0, v1 + 1):
                for column in range(u0, u1 + 1):
                    if dirty[row * side + column]:
                        clean = False
                        break
            if clean:
                squares[i] = best
                continue
        for row in range(v0, v1 + 1):
            for m in range(starts[row * side + u0], starts[row * side + u1 + 1]):
                c = ids[m]
                dx, dy = x - centroids[c, 0], y - centroids[c, 1]
                square = dx * dx + dy * dy
                if square < best or (square == best and c < best_id):
                    best, best_id = square, c
        squares[i] = best
        if best_id != old:
            n_changed += 1
            labels[i] = best_id
            changed[best_id] = 1
            if old >= 0:
                changed[old] = 1
    return n_changed


@kernel()
def mark_dirty(centroids: Floats, moved: Flags, side: int, dirty: Flags) -> None:
    """dirty[b] = 1 for the buckets that hold a moved centroid."""
    dirty[:] = 0
    for c in range(len(centroids)):
        if moved[c]:
            u = min(max(int(centroids[c, 0] * side), 0), side - 1)
            v = min(max(int(centroids[c, 1] * side), 0), side - 1)
            dirty[v * side + u] = 1


@kernel()
def boxes_of(rows: Floats, low: Floats, high: Floats) -> None:
    """Bounding boxes (d, n_boxes) of each run of 64 rows (m, d)."""
    m, d = rows.shape
    for b in range(-(-m // BOX)):
        for j in range(d):
            least = most = rows[b * BOX, j]
            for i in range(b * BOX + 1, min(m, (b + 1) * BOX)):
                least = min(least, rows[i, j])
                most = max(most, rows[i, j])
            low[j, b] = least
            high[j, b] = most


@kernel()
def _near_boxes(x: Floats, low: Floats, high: Floats, n_boxes: int, limit: float, sums: Floats, hits: Ints) -> int:
    """hits[:result] = the boxes whose squared distance from x is at most limit."""
    for b in range(n_boxes):
        sums[b] = 0.0
    for j in range(len(x)):
        x0 = x[j]
        for b in range(n_boxes):
            u = low[j, b] - x0
            v = x0 - high[j, b]
            u = v if v > u else u
            u = u if u > 0.0 else 0.0
            sums[b] += u * u
    n_hits = 0
    for b in range(n_boxes):
        if sums[b] <= limit:
            hits[n_hits] = b
            n_hits += 1
    return n_hits


@kernel()
def assign_by_lists(
    points: Floats,
    first: int,
    last: int,
    members: Ints,
    niche_starts: Ints,
    labels: Ints,
    squares: Floats,
    centroids: Floats,
    low: Floats,
    high: Floats,
    movers: Floats,
    mover_ids: Ints,
    mover_low: Floats,
    mover_high: Floats,
    changed: Flags,
) -> int:
    """Assign the samples of niches first..last to their nearest centroids; how many changed their niche.

    A niche's members can only go to centroids within twice their largest distance from its own centroid; these are
    gathered once, in shells by distance, and each member scans the shells within twice its own distance. If no
    member's distance grew, only the movers, (m, d) centroids that moved, can take one.
    """
    k, d = centroids.shape
    columns = np.empty((d, k + 8))
    sums = np.empty(k + 8)
    bits = sums.view(np.int64)
    hits = np.empty(k // BOX + 1, np.int64)
    near = np.empty(k, np.int64)
    near_squares = np.empty(k)
    ids = np.empty(k, np.int64)
    shell_ends = np.empty(SHELLS + 1, np.int64)
    n_changed = 0
    for c in range(first, last):
        begin, end = niche_starts[c], niche_starts[c + 1]
        if begin == end:
            continue
        grew = False
        largest = 0.0
        for m in range(begin, end):
            i = members[m]
            square = 0.0
            for j in range(d):
                u = points[i, j] - centroids[c, j]
                square += u * u
            grew |= square > squares[i]
            squares[i] = square
            largest = max(largest, square)
        if not grew and len(movers) == 0:
            continue
        # A margin for rounding; what is farther cannot be nearer to a member, not even by a tie.
        limit = 4.0 * largest * (1 + 1e-9)
        n_near = 0
        scale = SHELLS / limit if limit > 0.0 else 0.0
        shell_ends[:] = 0
        if grew:
            n_hits = _near_boxes(centroids[c], low, high, -(-k // BOX), limit, sums, hits)
        else:
            n_hits = _near_boxes(
                centroids[c], mover_low, mover_high, -(-len(movers) // BOX), limit, sums, hits
            )
        for h in range(n_hits):
            at = hits[h] * BOX
            for r in range(at, min(at + BOX, k if grew else len(movers))):
                square = 0.0
                if grew:
                    for j in range(d):
                        u = centroids[r, j] - centroids[c, j]
                        square += u * u
                else:
                    for j in range(d):
                        u = movers[r, j] - centroids[c, j]
                        square += u * u
                if square <= limit:
                    near[n_near] = r if grew else mover_ids[r]
                    near_squares[n_near] = square
                    shell_ends[min(int(square * scale), SHELLS - 1) + 1] += 1
                    n_near += 1
        for s in range(SHELLS):
            shell_ends[s + 1] += shell_ends[s]
        for r in range(n_near):
            s = min(int(near_squares[r] * scale), SHELLS - 1)
            at = shell_ends[s]
            shell_ends[s] += 1
            ids[at] = near[r]
            for j in range(d):
                columns[j, at] = centroids[near[r], j]
        # shell_ends[s] is now where shell s ends.
        for m in range(begin, end):
            i = members[m]
            square = squares[i]
            n = shell_ends[min(int(4.0 * square * (1 + 1e-9) * scale), SHELLS - 1)]
            if n == 0:
                continue
            x0 = points[i, 0]
            for r in range(n):
                u = x0 - columns[0, r]
                sums[r] = u * u
            for j in range(1, d):
                x0 = points[i, j]
                for r in range(n):
                    u = x0 - columns[j, r]
                    sums[r] += u * u
            least = bits[0]
            for r in range(1, n):
                least = min(least, bits[r])
            best_id = c
            for r in range(n):
                if bits[r] == least:
                    if sums[r] < square:
                        square = sums[r]
                        best_id = ids[r]
                    elif sums[r] == square and ids[r] < best_id:
                        best_id = ids[r]
            if best_id != c:
                squares[i] = square
                labels[i] = best_id
                changed[c] = 1
                changed[best_id] = 1
                n_changed += 1
    return n_changed

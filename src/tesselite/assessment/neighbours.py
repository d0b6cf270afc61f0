"""Distance of every point to its nearest neighbour among the others, exact, in any Minkowski norm, in bounded memory.

They are used in `metrics`; the look-up of nearest centroids is in `tesselite.tessellation`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tesselite.base.arrays import Floats, Ints
from tesselite.base.threads import checked_threads, in_chunks
from tesselite.compiled.kernels import kernel
from tesselite.spaces.scaling import axis_gap
from tesselite.tessellation.voronoi import checked_p

_TREE_DIMENSIONS = 8  # beyond, a k-d tree looks at nearly every point
_BLOCK = 256  # rows of the matrix products: 256 x 10,000 values are 20 MB
_LANES = 64  # points that are compared side by side
_PAIRS = 4096  # candidate pairs whose differences are held at a time


@kernel()
def _nearest_rows(
    points: Floats, blocks: Floats, kind: int, p: float, bound: Floats, start: int, stop: int, out: Floats
) -> None:
    """out[i] = smallest sum of |difference|^p (kind 3: largest difference) to another row, for rows start to stop.

    `blocks` (n_blocks, d, 64) holds the same points, 64 side by side so that they vectorise, padded with infinity.
    bound[i] is a sum that is known to be reached: larger ones need not be finished.
    """
    d = points.shape[1]
    sums = np.empty(_LANES)
    for i in range(start, stop):
        best = bound[i]
        for b in range(blocks.shape[0]):
            sums[:] = 0.0
            if i // _LANES == b:
                sums[i % _LANES] = np.inf
            first = 0
            while first < d:
                last = min(first + 16, d)
                for a in range(first, last):
                    x = points[i, a]
                    if kind == 1:
                        for j in range(_LANES):
                            sums[j] += abs(x - blocks[b, a, j])
                    elif kind == 2:
                        for j in range(_LANES):
                            sums[j] += np.sqrt(abs(x - blocks[b, a, j]))
                    elif kind == 3:
                        for j in range(_LANES):
                            sums[j] = max(sums[j], abs(x - blocks[b, a, j]))
                    else:
                        for j in range(_LANES):
                            sums[j] += abs(x - blocks[b, a, j]) ** p
                first = last
                if sums.min() >= best:
                    break  # the rest can only make them larger
            best = min(best, sums.min())
        out[i] = best


@kernel()
def _nearest_by_kinds(points: Floats, kinds: Ints, p: float, start: int, stop: int, out: Floats) -> None:
    """The same for features of these kinds (see `spaces.scaling`), without blocks."""
    for i in range(start, stop):
        best = np.inf
        for k in range(points.shape[0]):
            total = 0.0 if k != i else np.inf
            for j in range(points.shape[1]):
                if total >= best:
                    break
                gap = axis_gap(kinds[j], points[i, j], points[k, j])
                if p == np.inf:
                    total = max(total, gap)
                elif gap > 0.0:
                    total += gap * gap if p == 2.0 else gap**p
            best = min(best, total)
        out[i] = best


def nearest_distances(points: Any, p: float = 2.0, threads: int | None = None, kinds: Ints | None = None) -> Floats:
    """Minkowski distance of order p (0 < p, infinity allowed) of each of (n, d) points to the nearest other; (n,).

    `kinds` (d,) are those of `FeatureSpace.kinds`, of which points are unit-scaled rows. Equal points are at distance 0
    from each other. The result does not depend on the number of threads. Raises
    ValueError for fewer than two points, another shape, or values that are not finite.
    """
    p = checked_p(p)
    rows = np.ascontiguousarray(points, dtype=np.float64)
    if rows.ndim != 2 or len(rows) < 2 or not rows.shape[1]:
        raise ValueError(f"points: expected at least two points of shape (n, d), got shape {rows.shape}")
    if not np.isfinite(rows).all():
        raise ValueError("points: expected finite values, got NaN or infinity")
    n_threads = checked_threads(threads)
    if kinds is not None and kinds.any():
        out = np.empty(len(rows))
        in_chunks(lambda start, stop: _nearest_by_kinds(rows, kinds, p, start, stop, out), len(rows), 64, n_threads)
        return out if p == np.inf else out ** (1.0 / p)
    if rows.shape[1] <= _TREE_DIMENSIONS and p >= 1.0:
        from scipy.spatial import cKDTree

        found, _ = cKDTree(rows).query(rows, k=2, p=p, workers=n_threads)
        return np.ascontiguousarray(found[:, 1])
    squares, neighbours = _nearest_squares(rows)
    if p == 2.0:
        return np.sqrt(squares)
    n, d = rows.shape
    # The nearest in the Euclidean norm is near in any other: it bounds the search early.
    differences = np.abs(rows - rows[neighbours])
    bound = differences.max(axis=1) if np.isinf(p) else (differences**p).sum(axis=1)
    bound *= 1.0 + 1e-12
    blocks = np.full((-(-n // _LANES) * _LANES, d), np.inf)
    blocks[:n] = rows
    blocks = np.ascontiguousarray(blocks.reshape(-1, _LANES, d).transpose(0, 2, 1))
    out = np.empty(n)
    kind = {1.0: 1, 0.5: 2, np.inf: 3}.get(p, 4)

    def work(start: int, stop: int) -> None:
        _nearest_rows(rows, blocks, kind, p, bound, start, stop, out)

    in_chunks(work, n, 64, n_threads)
    return out if p in (1.0, np.inf) else out ** (1.0 / p)


def _nearest_squares(rows: Floats) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Squared Euclidean distance of each row to the nearest other one, and which that is.

    A matrix product finds the candidates, up to its rounding error; those few are then compared exactly.
    """
    centred = rows - rows.mean(axis=0)  # small norms keep the rounding error of the product small
    squares = np.einsum("ij,ij->i", centred, centred)
    d, largest, eps = rows.shape[1], squares.max(), np.finfo(np.float64).eps
    # Rounding of the product and of the squares, and of the centring where the points lie far from the origin.
    slack = 8.0 * eps * (d * largest + np.abs(rows).max() * np.sqrt(d * largest))
    nearest = np.full(len(rows), np.inf)
    neighbours = np.zeros(len(rows), np.int64)
    for start in range(0, len(rows), _BLOCK):
        block = centred[start : start + _BLOCK]
        about = squares[None, :] - 2.0 * (block @ centred.T)
        own = np.arange(len(block))
        about[own, start + own] = np.inf
        neighbours[start : start + _BLOCK] = about.argmin(axis=1)
        at, other = np.nonzero(about <= about.min(axis=1)[:, None] + 2.0 * slack)
        for first in range(0, len(at), _PAIRS):
            i, j = start + at[first : first + _PAIRS], other[first : first + _PAIRS]
            difference = rows[i] - rows[j]
            np.minimum.at(nearest, i, (difference * difference).sum(axis=1))
    return nearest, neighbours

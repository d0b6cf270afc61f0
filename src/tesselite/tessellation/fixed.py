"""Lloyd's algorithm on a fixed set of samples (Algorithm 1 of the paper): the driver of the compiled steps.

Fresh samples in each iteration are in `fresh`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from tesselite.base.arrays import Floats, Ints
from tesselite.base.threads import in_chunks
from tesselite.spaces.features import FeatureSpace
from tesselite.tessellation import lloyd
from tesselite.tessellation.nearest.rings import build_index_for
from tesselite.tessellation.nearest.table import bucket_sort
from tesselite.tessellation.nearest.tree import kd_order


class LloydSamples:
    """Samples (n, d) for Lloyd's algorithm with k niches: the niche of each, and what a step leaves for the next."""

    def __init__(self, points: npt.NDArray[Any], k: int, threads: int) -> None:
        self.n, self.d = points.shape
        self.k = k
        self.threads = threads
        self.points = points
        self.labels = np.full(self.n, -1, np.int64)
        self.squares = np.full(self.n, np.inf)
        self.moved = np.ones(k, np.uint8)
        self.changed = np.zeros(k, np.uint8)
        self.starts = np.empty(k + 1, np.int64)
        self.members = np.arange(self.n)

    def arrays(self, centroids: Floats) -> lloyd.Samples:
        """All that, with the centroids, for compiled steps."""
        return lloyd.Samples(
            self.points, centroids, self.members, self.starts, self.labels, self.squares, self.changed, self.moved
        )

    def in_chunks(self, work: Callable[[int, int], int], n: int, chunk: int) -> int:
        """Have work(first, last) done for all of n, chunk by chunk; the sum of what it returns."""
        results: list[int] = []
        in_chunks(lambda first, last: results.append(work(first, last)), n, chunk, self.threads)
        return sum(results)

    def count_empty(self) -> int:
        """How many niches have no sample."""
        return int((np.bincount(self.labels, minlength=self.k) == 0).sum())

    def sort(self, average: bool) -> float:
        """Sort the assigned samples by niche; the error. Without `average` only centroids of empty niches will move."""
        lloyd.sort_by_niche(self.labels, self.starts, self.members)
        if not average:
            self.changed[:] = 0
        return float(self.squares.sum() / self.n)

    def reseed(self, centroids: Floats) -> int:
        """Put the centroid of each empty niche on one of the samples that are farthest from their centroids.

        Returns for how many there was a sample: none is left if all of them lie on centroids.
        """
        empty = np.flatnonzero(np.diff(self.starts) == 0)
        farthest = np.argsort(-self.squares, kind="stable")
        spots = farthest[self.squares[farthest] > 0.0][: len(empty)]
        centroids[empty[: len(spots)]] = self.points[spots]
        self.moved[empty[: len(spots)]] = 1
        return len(spots)


class FixedLloyd(LloydSamples):
    """The state of Lloyd's algorithm on fixed unit-scaled samples (n, d): `step` assigns and averages once.

    The niches are numbered in k-d order of the start, so that neighbours in number are neighbours in space. Along
    periodic features of the `space`, samples are averaged where they lie seen from their centroid, which may itself
    leave [0, 1). The shorter way round is never longer than that one, so the error never rises.
    """

    def __init__(
        self, points: Floats, centroids: Floats, p: float, threads: int, space: FeatureSpace | None = None
    ) -> None:
        super().__init__(np.ascontiguousarray(points[_near_in_order(points)]), len(centroids), threads)
        self.p = p
        self.space = space or FeatureSpace.unit(self.d)
        self.seen = self.points  # from the centroids: others along periodic features
        self.centroids = np.ascontiguousarray(centroids[kd_order(centroids, lloyd.BOX)])

    def step(self, average: bool = True) -> tuple[float, int]:
        """Assign all samples, then move the centroids: the error of the assignment, how many samples changed niche.

        Where none did but a niche is empty, it is the number of centroids that were put on samples for it. Without
        `average` only the centroids of empty niches move.
        """
        self.changed[:] = 0
        n_changed = self._assign()
        error = self.sort(average)
        n_empty = lloyd.update_means(self.arrays(self.centroids)._replace(points=self.seen), 0, self.k)
        n_reseeded = self.reseed(self.centroids) if n_empty else 0
        return error, n_changed or n_reseeded

    def _assign(self) -> int:
        if self.p != 2.0 or self.d > 10 or not self.space.plain:
            return self._assign_by_index()
        if self.d == 2:
            return self._assign_on_grid()
        if self.labels[0] < 0:
            return self._assign_by_index()
        return self._assign_by_lists()

    def _assign_by_index(self) -> int:
        new = build_index_for(self.space, self.centroids, self.p).query(self.points, self.threads)
        away = new != self.labels
        old = self.labels[away]
        self.changed[old[old >= 0]] = 1
        self.changed[new[away]] = 1
        self.labels = new
        gaps = self.space.gaps(self.points, self.centroids[new])
        if not self.space.plain:
            self.seen = self.centroids[new] + gaps
        if self.p == 2.0:
            self.squares = np.add.accumulate(gaps * gaps, axis=1)[:, -1].copy()
        else:
            self.squares = minkowski_squares(gaps, self.p)
        return int(away.sum())

    def _assign_on_grid(self) -> int:
        side = max(1, int(self.k**0.5))
        cells = side * side
        buckets = lloyd.Buckets(
            side, np.empty(cells + 1, np.int64), np.empty(self.k, np.int64), np.empty(cells, np.uint8)
        )
        bucket_sort(self.centroids, side, buckets.starts, buckets.ids)
        task = (self.arrays(self.centroids), buckets)
        lloyd.mark_dirty(*task)
        return self.in_chunks(functools.partial(lloyd.assign_on_grid, *task), self.n, self._chunk(self.n))

    def _assign_by_lists(self) -> int:
        mover_ids = np.flatnonzero(self.moved)
        movers = _packed(self.centroids[mover_ids])
        task = (self.arrays(self.centroids), _packed(self.centroids), mover_ids, movers)
        return self.in_chunks(functools.partial(lloyd.assign_by_lists, *task), self.k, self._chunk(self.k))

    def _chunk(self, n: int) -> int:
        return n if self.threads == 1 else n // (4 * self.threads) + 1


def _near_in_order(points: Floats) -> Ints:
    """An order of the samples in which neighbours follow each other: they then share what is in the cache."""
    n, d = points.shape
    if d != 2:
        return kd_order(points, 256)
    side = max(1, int((n / 8) ** 0.5))
    order = np.empty(n, np.int64)
    bucket_sort(points, side, np.empty(side * side + 1, np.int64), order)
    return order


def _packed(rows: Floats) -> lloyd.Packed:
    n, d = -(-len(rows) // lloyd.BOX) * lloyd.BOX, rows.shape[1]
    n_top = -(-n // lloyd.BOX // 8) * 8
    packed = lloyd.Packed(*(np.empty((d, width), np.float32) for width in (n, n // 8, n // 8, n_top, n_top)))
    lloyd.pack(rows, packed)
    return packed


def minkowski_squares(gaps: Floats, p: float) -> Floats:
    """Squared Minkowski distances (n,) of coordinate differences (n, d)."""
    if p == 2.0:
        return np.asarray(np.einsum("ij,ij->i", gaps, gaps))
    gaps = np.abs(gaps)
    if p == np.inf:
        return np.asarray(gaps.max(axis=1) ** 2)
    return np.asarray((gaps**p).sum(axis=1) ** (2.0 / p))

"""Lloyd's algorithm on a fixed set of samples (Algorithm 1 of the paper): the driver of the compiled steps.

Fresh samples in each iteration are in `fresh`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tesselite.base.threads import in_chunks
from tesselite.spaces.features import FeatureSpace
from tesselite.tessellation import lloyd
from tesselite.tessellation.nearest.rings import build_index_for
from tesselite.tessellation.nearest.table import bucket_sort
from tesselite.tessellation.nearest.tree import kd_order

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Singles = npt.NDArray[np.float32]


class FixedLloyd:
    """The state of Lloyd's algorithm on fixed unit-scaled samples (n, d): `step` assigns and averages once.

    The niches are numbered in k-d order of the start, so that neighbours in number are neighbours in space. Along
    periodic features of the `space`, samples are averaged where they lie seen from their centroid, which may itself
    leave [0, 1). The shorter way round is never longer than that one, so the error never rises.
    """

    def __init__(
        self, points: Floats, centroids: Floats, p: float, threads: int, space: FeatureSpace | None = None
    ) -> None:
        self.p = p
        self.space = space or FeatureSpace.unit(points.shape[1])
        self.threads = threads
        self.n, self.d = points.shape
        self.k = len(centroids)
        self.points = np.ascontiguousarray(points[_near_in_order(points)])
        self.seen = self.points  # from the centroids: others along periodic features
        self.centroids = np.ascontiguousarray(centroids[kd_order(centroids, lloyd.BOX)])
        self.labels = np.full(self.n, -1, np.int64)
        self.squares = np.full(self.n, np.inf)
        self.moved = np.ones(self.k, np.uint8)
        self.changed = np.zeros(self.k, np.uint8)
        self.starts = np.empty(self.k + 1, np.int64)
        self.members = np.empty(self.n, np.int64)

    def step(self, average: bool = True) -> tuple[float, int]:
        """Assign all samples, then move the centroids: the error of the assignment, how many samples changed niche.

        Where none did but a niche is empty, it is the number of centroids that were put on samples for it. Without
        `average` only the centroids of empty niches move.
        """
        self.changed[:] = 0
        n_changed = self._assign()
        error = float(self.squares.sum() / self.n)
        lloyd.sort_by_niche(self.labels, self.starts, self.members)
        if not average:
            self.changed[:] = 0
        n_empty = lloyd.update_means(
            self.seen, self.members, self.starts, self.centroids, self.changed, self.moved, 0, self.k
        )
        n_reseeded = self._reseed() if n_empty else 0
        return error, n_changed or n_reseeded

    def count_empty(self) -> int:
        """How many niches have no sample."""
        return int((np.bincount(self.labels, minlength=self.k) == 0).sum())

    def _reseed(self) -> int:
        """Put the centroid of each empty niche on one of the samples that are farthest from their centroids.

        Returns how many were moved: no sample is left if all of them lie on centroids.
        """
        empty = np.flatnonzero(np.diff(self.starts) == 0)
        farthest = np.argsort(-self.squares, kind="stable")
        spots = farthest[self.squares[farthest] > 0.0][: len(empty)]
        self.centroids[empty[: len(spots)]] = self.points[spots]
        self.moved[empty[: len(spots)]] = 1
        return len(spots)

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
        starts = np.empty(side * side + 1, np.int64)
        ids = np.empty(self.k, np.int64)
        dirty = np.empty(side * side, np.uint8)
        bucket_sort(self.centroids, side, starts, ids)
        lloyd.mark_dirty(self.centroids, self.moved, side, dirty)
        found: list[int] = []

        def assign(first: int, last: int) -> None:
            found.append(
                lloyd.assign_on_grid(
                    self.points,
                    first,
                    last,
                    self.labels,
                    self.squares,
                    self.centroids,
                    self.moved,
                    side,
                    starts,
                    ids,
                    dirty,
                    self.changed,
                )
            )

        in_chunks(assign, self.n, self._chunk(self.n), self.threads)
        return sum(found)

    def _assign_by_lists(self) -> int:
        packed = _packed(self.centroids)
        mover_ids = np.flatnonzero(self.moved)
        movers = _packed(self.centroids[mover_ids])
        samples = lloyd.Samples(self.points, self.members, self.starts, self.labels, self.squares, self.changed)
        found: list[int] = []

        def assign(first: int, last: int) -> None:
            found.append(lloyd.assign_by_lists(samples, first, last, self.centroids, packed, mover_ids, movers))

        in_chunks(assign, self.k, self._chunk(self.k), self.threads)
        return sum(found)

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

"""Lloyd's algorithm on fresh samples in each iteration, with the sums of past iterations decaying.

A fixed set of ten samples a niche leaves its noise in the centroids; fresh samples do not. Fixed
samples live in `fixed`.

L. Ju, Q. Du, M. Gunzburger (2002), "Probabilistic methods for centroidal Voronoi tessellations and their parallel
implementations", Algorithm 2: averages over past iterations. Our weights of the past, 1 - 1 / (1 + t / 2) up to 0.98,
were chosen by measurement.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tesselite.base.arrays import Floats, Ints
from tesselite.compiled.kernels import kernel
from tesselite.spaces.features import FeatureSpace
from tesselite.tessellation.fixed import minkowski_squares
from tesselite.tessellation.nearest.rings import build_index_for
from tesselite.tessellation.nearest.tree import kd_order

UnitSampler = Callable[[int, np.random.Generator], Floats]

_LONGEST_MEMORY = 0.98


@kernel()
def add_samples(points: Floats, labels: Ints, centroids: Floats, sums: Floats, counts: Floats) -> float:
    """Add each sample to the sums (k, d) and counts (k,) of its niche; the sum of squared distances to centroids."""
    total = 0.0
    for i in range(len(points)):
        c = labels[i]
        counts[c] += 1.0
        square = 0.0
        for j in range(points.shape[1]):
            u = points[i, j] - centroids[c, j]
            square += u * u
            sums[c, j] += points[i, j]
        total += square
    return total


class FreshLloyd:
    """The state of Lloyd's algorithm on fresh samples; `step` draws, assigns and averages once.

    A niche that no sample fell into keeps its centroid; one that stays empty until its past has faded, or that had no
    sample in the first two iterations, is put on a random sample. Along periodic features of the `space`, samples count
    where they lie seen from their centroid, which may itself leave [0, 1).
    """

    def __init__(
        self,
        sample: UnitSampler,
        n_samples: int,
        centroids: Floats,
        p: float,
        threads: int,
        rng: np.random.Generator,
        space: FeatureSpace | None = None,
    ) -> None:
        self.sample = sample
        self.space = space or FeatureSpace.unit(centroids.shape[1])
        self.n_samples = n_samples
        self.p = p
        self.threads = threads
        self.rng = rng
        self.centroids = np.ascontiguousarray(centroids[kd_order(centroids, 64)])
        self.sums = np.zeros_like(self.centroids)
        self.counts = np.zeros(len(centroids))
        self.iteration = 0

    def step(self) -> float:
        """One iteration; the mean squared distance of its samples to the centroids it began with."""
        points = self.sample(self.n_samples, self.rng)
        labels = build_index_for(self.space, self.centroids, self.p).query(points, self.threads)
        if not self.space.plain:
            points = self.centroids[labels] + self.space.gaps(points, self.centroids[labels])
        memory = min(1.0 - 1.0 / (1.0 + self.iteration / 2.0), _LONGEST_MEMORY)
        self.sums *= memory
        self.counts *= memory
        error = 0.0
        if self.p != 2.0:
            error = float(minkowski_squares(points - self.centroids[labels], self.p).mean())
        total = add_samples(points, labels, self.centroids, self.sums, self.counts)
        known = self.counts > 1e-3
        self.centroids[known] = self.sums[known] / self.counts[known, None]
        empty = np.flatnonzero(~known)
        if len(empty) and self.iteration > 0:
            spots = self.rng.integers(0, len(points), len(empty))
            self.centroids[empty] = points[spots]
        self.iteration += 1
        return total / self.n_samples if self.p == 2.0 else error


def nested_rows(k: int, d: int, rng: np.random.Generator, jitter: float) -> Floats:
    """k points spread evenly over the unit cube in rows of rows, shape (k, d): any number fits.

    Each is displaced by normal noise of `jitter` spacings.
    """
    points = np.full((k, d), 0.5)
    spans = [(0, k)]
    for axis in range(d):
        parts: list[tuple[int, int]] = []
        for first, last in spans:
            n = last - first
            slabs = min(n, max(1, round(n ** (1.0 / (d - axis)))))
            bounds = first + np.linspace(0, n, slabs + 1).round().astype(int)
            for i in range(slabs):
                points[bounds[i] : bounds[i + 1], axis] = (i + 0.5) / slabs
                parts.append((int(bounds[i]), int(bounds[i + 1])))
        spans = parts
    points = points + jitter * k ** (-1.0 / d) * rng.standard_normal((k, d))
    return np.asarray(points.clip(0.0, 1.0)[:, rng.permutation(d)])

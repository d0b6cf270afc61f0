"""Construction of a centroidal Voronoi tessellation (CVT): centroids spread evenly over a feature space.

What a tessellation is lives in `voronoi`; the compiled steps of the methods live in `lloyd` and its neighbours.

Algorithm 1 of Vassiliades et al. (2018), after L. Ju, Q. Du, M. Gunzburger (2002), "Probabilistic methods for
centroidal Voronoi tessellations and their parallel implementations".
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tesselite.feature_space import FeatureSpace
from tesselite.tessellation.voronoi import VoronoiTessellation, checked_p

Floats = npt.NDArray[np.float64]
Progress = Callable[[int, float], object]


@dataclass(frozen=True)
class ConstructionRecord:
    """How centroids came to be: `errors` holds the mean squared distance of the samples after each iteration."""

    method: str
    iterations: int
    converged: bool
    stopped: str
    errors: tuple[float, ...]
    seconds: float
    n_samples: int
    seed: int | None


def cvt(
    space: FeatureSpace,
    n_niches: int,
    n_samples: int | None = None,
    seed: int | None = None,
    p: float = 2.0,
    iterations: int = 100,
    tolerance: float = 0.0,
    samples: npt.ArrayLike | None = None,
    method: str = "lloyd",
    progress: Progress | None = None,
    threads: int | None = None,
) -> VoronoiTessellation:
    """Centroids spread over a space by Lloyd's algorithm on fixed samples."""
    from tesselite.tessellation.nearest import build_index

    began = time.perf_counter()
    p = checked_p(p)
    if not isinstance(n_niches, int | np.integer) or n_niches < 1:
        raise ValueError(f"n_niches: expected a whole number of at least 1, got {n_niches!r}")
    rng = np.random.default_rng(seed)
    if samples is None:
        points = space.to_unit(space.sample(n_samples or max(100_000, 10 * n_niches), rng))
    else:
        points = space.to_unit(np.asarray(samples, dtype=np.float64))
    centroids = points[rng.choice(len(points), n_niches, replace=False)].copy()
    labels = np.full(len(points), -1)
    errors: list[float] = []
    stopped = "iteration limit"
    for iteration in range(iterations):
        new = build_index(centroids, p).query(points, threads)
        errors.append(float(((points - centroids[new]) ** 2).sum(axis=1).mean()))
        if progress is not None:
            progress(iteration + 1, errors[-1])
        if np.array_equal(new, labels):
            stopped = "no sample changed its niche"
            break
        labels = new
        counts = np.bincount(labels, minlength=n_niches)
        for j in range(space.n):
            sums = np.bincount(labels, points[:, j], minlength=n_niches)
            centroids[:, j] = np.where(counts > 0, sums / np.maximum(counts, 1), centroids[:, j])
        if len(errors) > 1 and errors[-2] - errors[-1] < tolerance * errors[-2]:
            stopped = "tolerance"
            break
    record = ConstructionRecord(
        method,
        len(errors),
        stopped != "iteration limit",
        stopped,
        tuple(errors),
        time.perf_counter() - began,
        len(points),
        seed,
    )
    centroids = np.clip(space.from_unit(np.clip(centroids, 0.0, 1.0)), space.low, space.high)
    return VoronoiTessellation(space, centroids, p, record)

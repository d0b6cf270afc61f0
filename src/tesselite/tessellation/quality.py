"""How good a tessellation is: distances on fresh samples, against random points and the best known quantiser.

Construction lives in `cvt`.

J. H. Conway, N. J. A. Sloane, "Sphere Packings, Lattices and Groups", table 2.3: second moments of lattices.
"""

from __future__ import annotations

import functools
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tesselite.base.arrays import Floats
from tesselite.base.checks import checked_count
from tesselite.base.numbers import as_floats, shown
from tesselite.base.seeds import checked_seed
from tesselite.base.threads import checked_threads
from tesselite.spaces.features import FeatureSpace, Sampler
from tesselite.tessellation.samplers import Rows, with_sampler
from tesselite.tessellation.voronoi import VoronoiTessellation, p_to_json

# Normalised second moments of the best lattice quantisers, by dimension.
_MOMENTS = {
    1: 0.0833333,
    2: 0.0801875,
    3: 0.0785433,
    4: 0.0766032,
    5: 0.0756254,
    6: 0.0742437,
    7: 0.0731165,
    8: 0.0716821,
    12: 0.0700956,
    16: 0.0682981,
    24: 0.0657708,
}
_RANDOM_SAMPLES = 20_000


@dataclass(frozen=True)
class Quality:
    """Figures of a tessellation, in unit-scaled space and by its p, from `n_samples` fresh samples.

    `ratio_to_random`: mean squared distance over that of as many random points. `ratio_to_best`: the same over the
    best known lattice without borders (uniform boxes without labels, p = 2; otherwise None): 1 is perfect, and borders,
    which periodic features have none of, count against small numbers of niches and many dimensions. `volume_spread`:
    standard deviation of the niches' shares over their mean, less what sampling adds. `largest_volume`,
    `smallest_volume`: shares over the mean share. `empty_niches`: no sample fell in. `neighbour_*`: distances of
    centroids to their nearest other centroid (of the same labels).
    """

    n_niches: int
    dims: int
    p: float
    n_samples: int
    mean_squared_distance: float
    mean_distance: float
    largest_distance: float
    ratio_to_random: float
    ratio_to_best: float | None
    volume_spread: float
    smallest_volume: float
    largest_volume: float
    empty_niches: int
    neighbour_least: float
    neighbour_mean: float
    neighbour_most: float


def best_mean_squared_distance(n_niches: int, d: int) -> float:
    """Mean squared distance that the best known lattice with this density would have in the unit cube, without borders.

    For dimensions without a lattice of their own, the best product of lattices.
    """
    return float(d * np.exp(_log_moment(d) / d) * n_niches ** (-2.0 / d))


@functools.cache
def _log_moment(d: int) -> float:
    best = [0.0]  # best[i] = i * log of the least normalised second moment of a product in i dimensions
    for i in range(1, d + 1):
        best.append(min(best[i - n] + n * np.log(g) for n, g in _MOMENTS.items() if n <= i))
    return float(best[d])


def measure_quality(
    tessellation: VoronoiTessellation,
    n_samples: int = 100_000,
    seed: int = 0,
    threads: int | None = None,
    samples: Sampler | npt.ArrayLike | None = None,
) -> Quality:
    """Figures of a tessellation from fresh samples of its space; see `Quality`.

    `samples`: a callable (n, rng) -> (n, d) or an array (n, d) to draw from instead, in feature units.
    """
    n_samples = checked_count("n_samples", n_samples)
    threads = checked_threads(threads)
    space, p, k = tessellation.space, tessellation.p, tessellation.n_niches
    if samples is not None:
        space = with_sampler(space, samples if callable(samples) else Rows(_checked_rows(samples, space.n)))
    rng = np.random.default_rng([checked_seed(seed), 0x9A11])  # not the stream that built the centroids
    seen = _sampled(tessellation, space, n_samples, rng, threads)
    mean_square = seen.squares / n_samples
    random_points = space.sample(k, rng).clip(space.low, space.high)
    random_points[:, space.labelled] = tessellation.centroids[:, space.labelled]  # as many of each label
    by_random = _squares(VoronoiTessellation(space, random_points, p), seen.some, threads)[0].mean()
    volumes = seen.counts / (n_samples / k)
    if space.n == 2 and space.uniform and p == 2.0 and space.plain:
        from tesselite.tessellation.cells import measure_cells

        volumes = measure_cells(tessellation.unit_centroids, threads)[0] * k
        spread = float(volumes.std())
    else:
        spread = float(np.sqrt(max(volumes.var() - k / n_samples, 0.0)))
    neighbours = _neighbours(tessellation)
    lattice = space.uniform and p == 2.0 and not space.labels
    best = best_mean_squared_distance(k, space.n) if lattice else None
    return Quality(
        n_niches=k,
        dims=space.n,
        p=p,
        n_samples=n_samples,
        mean_squared_distance=mean_square,
        mean_distance=seen.distances / n_samples,
        largest_distance=float(np.sqrt(seen.largest_square)),
        ratio_to_random=float(mean_square / by_random) if by_random > 0.0 else 1.0,
        ratio_to_best=None if best is None else mean_square / best,
        volume_spread=spread,
        smallest_volume=float(volumes.min()),
        largest_volume=float(volumes.max()),
        empty_niches=int((volumes <= 0.0).sum()),
        neighbour_least=float(neighbours.min()),
        neighbour_mean=float(neighbours.mean()),
        neighbour_most=float(neighbours.max()),
    )


class _Sampled(NamedTuple):
    """Sums over samples: squared distances, distances; the largest square, samples per niche, and the first samples."""

    squares: float
    distances: float
    largest_square: float
    counts: npt.NDArray[np.int64]
    some: Floats


def _sampled(
    tessellation: VoronoiTessellation, space: FeatureSpace, n_samples: int, rng: np.random.Generator, threads: int
) -> _Sampled:
    """Look fresh samples up, in parts: they may fill the memory."""
    squares = distances = largest = 0.0
    counts = np.zeros(tessellation.n_niches, np.int64)
    some = np.empty((0, space.n))
    chunk = max(1, min(n_samples, 20_000_000 // space.n))
    for first in range(0, n_samples, chunk):
        points = space.to_unit(space.sample(min(chunk, n_samples - first), rng))
        found, niches = _squares(tessellation, points, threads)
        squares += float(found.sum())
        distances += float(np.sqrt(found).sum())
        largest = max(largest, float(found.max()))
        counts += np.bincount(niches, minlength=len(counts))
        some = some if len(some) else points[:_RANDOM_SAMPLES]
    return _Sampled(squares, distances, largest, counts, some)


def describe(tessellation: VoronoiTessellation, quality: Quality | None = None) -> dict[str, Any]:
    """Everything there is to print about a tessellation, ready for JSON: how it was built, and how good it is."""
    quality = quality or measure_quality(tessellation)
    record = tessellation.record
    built: dict[str, Any] = {}
    if record is not None:
        built = {key: value for key, value in asdict(record).items() if key not in ("errors", "p")}
        built["error"] = record.errors[-1] if record.errors else None
    figures = asdict(quality)
    figures["quality_samples"] = figures.pop("n_samples")
    return {
        **figures,
        **built,
        "p": p_to_json(quality.p),
        "fingerprint": tessellation.fingerprint(),
    }


def _squares(tessellation: VoronoiTessellation, points: Floats, threads: int) -> tuple[Floats, npt.NDArray[np.int64]]:
    from tesselite.tessellation.fixed import minkowski_squares

    niches = tessellation.niches_of_unit(points, threads)
    gaps = tessellation.space.gaps(points, tessellation.unit_centroids[niches])
    return minkowski_squares(gaps, tessellation.p), niches


def _neighbours(tessellation: VoronoiTessellation) -> Floats:
    """Euclidean distances of centroids to the nearest other one of the same labels, shape (m,)."""
    space, unit = tessellation.space, tessellation.unit_centroids
    if not space.labels:
        return _neighbour_distances(unit, space.periodic)
    from tesselite.tessellation.nearest.rings import group_of_labels

    groups, kept = group_of_labels(unit, space), ~space.labelled
    parts = [np.ascontiguousarray(unit[groups == group][:, kept]) for group in np.unique(groups)]
    found = [_neighbour_distances(part, space.periodic[kept]) for part in parts if len(part) > 1]
    return np.concatenate(found) if found else np.zeros(1)


def _neighbour_distances(unit_centroids: Floats, periodic: npt.NDArray[np.bool_], at_most: int = 2000) -> Floats:
    """Euclidean distance to the nearest other centroid, of all or of 2,000 centroids, shape (m,)."""
    k, d = unit_centroids.shape
    if k == 1:
        return np.zeros(1)
    some = unit_centroids[:: -(-k // at_most)]
    if d <= 12 or periodic.any():
        from scipy.spatial import cKDTree

        box = np.where(periodic, 1.0, 0.0) if periodic.any() else None
        return np.asarray(cKDTree(unit_centroids, boxsize=box).query(some, k=2)[0][:, 1])
    norms = (unit_centroids**2).sum(axis=1)
    found = np.empty(len(some))
    rows = max(1, 20_000_000 // k)
    for first in range(0, len(some), rows):
        part = some[first : first + rows]
        squares = norms - 2.0 * part @ unit_centroids.T + (part**2).sum(axis=1)[:, None]
        found[first : first + rows] = np.sqrt(np.partition(squares, 1, axis=1)[:, 1].clip(0.0))
    return found


def _checked_rows(samples: Any, d: int) -> npt.NDArray[np.float64]:
    expected = f"numbers of shape (n, {d}), or a callable"
    rows = as_floats("samples", samples, expected)
    if rows.ndim != 2 or rows.shape[1] != d or not len(rows):
        raise ValueError(f"samples: expected {expected}, got {shown(samples)}")
    return rows

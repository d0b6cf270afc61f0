"""GridArchive and CVTArchive with the interface of pyribs 0.12, on this library's look-up of niches.

Change the import from `ribs.archives` to `tesselite.interop.pyribs`: pyribs' emitters and schedulers run on these
archives as on its own. Their common part is in `cell_archive`. pyribs itself need not be installed.

Differences: the nearest centroid is always found exactly, in any option of `nearest_neighbors`, the lowest of equals;
centroids are constructed by this library; memory follows what is filled.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import numpy.typing as npt

from tesselite.base.arrays import Floats, Ints
from tesselite.interop.cell_archive import (
    ArchiveStats,
    Array,
    CellArchive,
    Common,
    Ranges,
    Shape,
    check_finite,
    check_shape,
    parsed_dtypes,
)
from tesselite.interop.field_store import FieldStore
from tesselite.spaces.features import FeatureSpace
from tesselite.tessellation.grid import GridTessellation
from tesselite.tessellation.voronoi import VoronoiTessellation

if TYPE_CHECKING:
    from tesselite.tessellation.nearest import Index

__all__ = ["ArchiveStats", "CVTArchive", "GridArchive", "k_means_centroids"]


class GridArchive(CellArchive):
    """pyribs' GridArchive: `dims` cells along each axis of the `ranges`; what lies outside goes to the nearest cell.

    The keywords are those of pyribs 0.12: `solution_dim`, `dims`, `ranges`, `epsilon`, `learning_rate`,
    `threshold_min`, `qd_score_offset`, `seed`, `dtype` or `solution_dtype`, `objective_dtype` and `measures_dtype`,
    and `extra_fields`.

    Example:
        >>> from tesselite.interop.pyribs import GridArchive
        >>> archive = GridArchive(solution_dim=2, dims=[4, 4], ranges=[(0, 1), (0, 1)])
        >>> archive.add([[1, 2], [3, 4]], [5.0, 6.0], [[0.1, 0.1], [0.1, 0.2]])["status"].tolist()
        [2, 2]
        >>> len(archive), archive.best_elite["solution"].tolist()
        (1, [3.0, 4.0])
    """

    def __init__(
        self,
        *,
        solution_dim: Shape,
        dims: Collection[int],
        ranges: Ranges,
        epsilon: float = 1e-6,
        **common: Unpack[Common],
    ) -> None:
        self.dims = np.array(dims, dtype=np.int32)
        if self.dims.ndim != 1 or len(self.dims) != len(ranges) or not (self.dims >= 1).all():
            raise ValueError(f"dims: expected a number of cells for each of {len(ranges)} ranges, got {dims!r:.80}")
        super().__init__(solution_dim, ranges, math.prod(self.dims.tolist()), parsed_dtypes(common), common)
        self.epsilon: Array = np.asarray(epsilon, dtype=self.dtypes["measures"])

    @property
    def boundaries(self) -> list[Array]:
        """The boundaries of the cells along each axis, (dims[i] + 1,)."""
        axes = zip(self.lower_bounds, self.upper_bounds, self.dims, strict=True)
        return [np.linspace(low, high, n + 1) for low, high, n in axes]

    def _cells_of(self, measures: Array) -> Ints:
        at = (self.dims * (measures - self.lower_bounds) + self.epsilon) / self.interval_size
        # Clipped before it is a whole number: one that is far outside would not fit into any.
        axes = np.clip(at, 0, self.dims - 1).astype(np.int64)
        return np.asarray(np.ravel_multi_index(tuple(axes.T), tuple(self.dims.tolist())), dtype=np.int64)

    def grid_to_int_index(self, grid_indices: npt.ArrayLike) -> Array:
        """The numbers (n,) of cells that are given by their places (n, measure_dim) along the axes."""
        places = np.asarray(grid_indices)
        check_shape("grid_indices", places, (self.measure_dim,), True)
        return np.ravel_multi_index(tuple(places.T), tuple(self.dims.tolist())).astype(self._index_dtype)

    def int_to_grid_index(self, int_indices: npt.ArrayLike) -> Array:
        """The places (n, measure_dim) along the axes of cells (n,)."""
        cells = np.asarray(int_indices)
        check_shape("int_indices", cells, (), True)
        return np.array(np.unravel_index(cells, tuple(self.dims.tolist())), dtype=np.int32).T

    def retessellate(self, new_dims: Collection[int]) -> None:
        """Reinsert all elites into a grid of other dimensions; the best of those that share a cell stays.

        ValueError unless the learning rate is 1 and there is a number for each axis.
        """
        if not np.isclose(self.learning_rate, 1):
            raise ValueError(f"retessellate: expected a learning rate of 1, got {self.learning_rate:g}")
        dims = np.array(new_dims, dtype=np.int32)
        if dims.shape != self.dims.shape or not (dims >= 1).all():
            raise ValueError(f"new_dims: expected {len(self.dims)} numbers of cells, got {new_dims!r:.80}")
        elites = {name: self._column(name) for name in self._store.names if name != "threshold"}
        self.dims = dims
        self._store = FieldStore(self._fields, math.prod(dims.tolist()))
        self._sum = 0.0
        self.add(**elites)

    def _tessellation(self, names: tuple[str, ...]) -> GridTessellation:
        bounds = zip(self.lower_bounds.tolist(), self.upper_bounds.tolist(), strict=True)
        return GridTessellation(FeatureSpace(dict(zip(names, bounds, strict=True))), self.dims.tolist())


class CVTArchive(CellArchive):
    """pyribs' CVTArchive: a cell for each centroid, which holds the measures nearest to it, in units of the measures.

    `centroids` is how many to construct (see `k_means_centroids` for `samples`), an array (n, measure_dim), or a
    `.npy` file of one. All options of `nearest_neighbors` find the same cells, by an exact index. Their own options
    count as far as they change what is nearest: p (`kdtree_query_kwargs`) and the metric (`sklearn_nn_kwargs`);
    ValueError for others that do.

    The other keywords are those of `GridArchive`, without `dims` and `epsilon`.
    """

    def __init__(
        self,
        *,
        solution_dim: Shape,
        centroids: int | npt.ArrayLike | str | Path,
        ranges: Ranges,
        samples: int | npt.ArrayLike = 100_000,
        k_means_kwargs: dict[str, Any] | None = None,
        nearest_neighbors: str = "scipy_kd_tree",
        kdtree_kwargs: dict[str, Any] | None = None,
        kdtree_query_kwargs: dict[str, Any] | None = None,
        chunk_size: int | None = None,
        sklearn_nn_kwargs: dict[str, Any] | None = None,
        **common: Unpack[Common],
    ) -> None:
        dtypes = parsed_dtypes(common)
        self._p, self._cosine = _metric(nearest_neighbors, kdtree_query_kwargs or {}, sklearn_nn_kwargs or {})
        kind, seed = dtypes["measures"], common.get("seed")
        if isinstance(centroids, int | np.integer):
            points, _ = k_means_centroids(
                centroids=int(centroids),
                ranges=ranges,
                samples=samples,
                dtype=kind,
                seed=seed,
                k_means_kwargs=k_means_kwargs,
            )
        elif isinstance(centroids, str | Path):
            points = np.load(centroids, allow_pickle=False).astype(kind)
        else:
            points = np.array(centroids, dtype=kind)
        check_shape("centroids", points, (len(ranges),), True)
        check_finite("centroids", points)
        if not len(points):
            raise ValueError("centroids: expected at least one, got none")
        self.centroids: Array = points
        super().__init__(solution_dim, ranges, len(points), dtypes, common)

    @functools.cached_property
    def _nearest(self) -> tuple[Index, Floats, float]:
        """An index of the centroids in a cube that holds them and the ranges, its corner and its size."""
        from tesselite.tessellation.nearest import build_index

        points = self._directions(self.centroids.astype(np.float64))
        held = points if self._cosine else np.vstack([points, self.lower_bounds, self.upper_bounds])
        corner, size = _cube(held)
        return build_index((points - corner) / size, self._p), corner, size

    def _directions(self, points: Floats) -> Floats:
        """The points, scaled to length 1 where their angles count."""
        if not self._cosine:
            return points
        lengths = np.linalg.norm(points, axis=1, keepdims=True)
        return points / np.where(lengths > 0, lengths, 1.0)

    def _cells_of(self, measures: Array) -> Ints:
        index, corner, size = self._nearest
        return index.query((self._directions(measures.astype(np.float64)) - corner) / size)

    def __getstate__(self) -> dict[str, Any]:
        """Without the index, whose machine code belongs to this process."""
        return {name: value for name, value in self.__dict__.items() if name != "_nearest"}

    def _tessellation(self, names: tuple[str, ...]) -> VoronoiTessellation:
        """Bounds that contain all centroids, of one width: our distances are those of scaled features."""
        if self._cosine:
            raise ValueError("to_archive: cells by angle have no niches here; use Euclidean distances")
        low, high = self.lower_bounds.astype(np.float64), self.upper_bounds.astype(np.float64)
        if len(set((high - low).tolist())) > 1 or ((self.centroids < low) | (self.centroids > high)).any():
            held = np.vstack([low, high, self.centroids])
            low, high = held.min(axis=0), held.max(axis=0)
            spare = ((high - low).max() - (high - low)) / 2
            low, high = low - spare, high + spare
        bounds = zip(low.tolist(), high.tolist(), strict=True)
        return VoronoiTessellation(FeatureSpace(dict(zip(names, bounds, strict=True))), self.centroids, self._p)


def k_means_centroids(
    *,
    centroids: int,
    ranges: Ranges,
    samples: int | npt.ArrayLike = 100_000,
    dtype: npt.DTypeLike = np.float64,
    seed: int | None = None,
    k_means_kwargs: Mapping[str, Any] | None = None,
) -> tuple[Array, Array]:
    """Centroids (n, d) of samples (m, d), by Lloyd's algorithm until it converges, and the samples.

    `samples` are drawn uniformly from the ranges, or given. Distances are in units of the measures, as in pyribs, but
    the centroids are other ones than pyribs' for the same seed. ValueError for options of scikit-learn.
    """
    from tesselite.tessellation.cvt import cvt

    if k_means_kwargs:
        raise ValueError(
            f"k_means_kwargs: expected none, got {', '.join(k_means_kwargs)}; they are options of scikit-learn: call "
            "ribs.archives.k_means_centroids with them and pass its centroids"
        )
    low, high = (np.array(side, dtype=dtype) for side in zip(*ranges, strict=True))
    if isinstance(samples, int | np.integer):
        points = np.random.default_rng(seed).uniform(low, high, size=(int(samples), len(low))).astype(dtype)
    else:
        points = np.asarray(samples, dtype=dtype)
    check_shape("samples", points, (len(low),), True)
    corner, size = _cube(points.astype(np.float64))
    names = [f"measures_{i}" for i in range(len(low))]
    space = FeatureSpace({name: (at, at + size) for name, at in zip(names, corner.tolist(), strict=True)})
    chosen = None if seed is None else int(seed)
    found = cvt(space, int(centroids), samples=points.astype(np.float64), seed=chosen).centroids
    return found.astype(dtype), points


def _cube(points: Floats) -> tuple[Floats, float]:
    """The corner and the size of a cube that holds points (n, d)."""
    corner = points.min(axis=0)
    return corner, float((points.max(axis=0) - corner).max()) or 1.0


_HARMLESS = {"workers", "eps", "algorithm", "leaf_size", "n_jobs", "n_neighbors", "radius"}  # how, not what, is found
_NORMS = {"euclidean": 2.0, "l2": 2.0, "manhattan": 1.0, "cityblock": 1.0, "l1": 1.0, "chebyshev": np.inf}


def _metric(option: str, query: Mapping[str, Any], sklearn: Mapping[str, Any]) -> tuple[float, bool]:
    """The order p of the distance that pyribs would use, and whether it is the angle that counts."""
    options: dict[str, tuple[str, Mapping[str, Any]]] = {
        "scipy_kd_tree": ("kdtree_query_kwargs", query),
        "brute_force": ("", {}),
        "sklearn_nn": ("sklearn_nn_kwargs", sklearn),
    }
    if option not in options:
        raise ValueError(f"nearest_neighbors: expected one of {', '.join(options)}, got {option!r}")
    name, given = options[option]
    unknown = set(given) - _HARMLESS - {"p"} - ({"metric"} if option == "sklearn_nn" else set())
    if unknown:
        raise ValueError(f"{name}: expected p, metric or what changes no result, got {sorted(unknown)[0]!r}")
    metric = given.get("metric", "minkowski")
    if metric == "minkowski":
        return float(given.get("p", 2.0)), False
    if metric != "cosine" and metric not in _NORMS:
        raise ValueError(f"{name}: expected metric minkowski, cosine, {', '.join(_NORMS)}, got {metric!r:.80}")
    return _NORMS.get(metric, 2.0), metric == "cosine"

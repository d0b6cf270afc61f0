"""VoronoiTessellation: niches around centroids, and which niche a feature vector belongs to.

How centroids are placed lives in `cvt`, how the nearest one is found in `nearest`.

Vassiliades, Chatzilygeroudis, Mouret (2018), "Using Centroidal Voronoi Tessellations to Scale Up the
Multi-dimensional Archive of Phenotypic Elites Algorithm", section II.
"""

from __future__ import annotations

import functools
import hashlib
import json
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from tesselite.base.arrays import Floats, Ints
from tesselite.base.numbers import as_float, as_floats
from tesselite.spaces.features import FeatureSpace
from tesselite.tessellation.protocol import Tessellation

if TYPE_CHECKING:
    from pathlib import Path

    from tesselite.compiled.blocks import Lookup
    from tesselite.spaces.features import Sampler
    from tesselite.tessellation.cvt import ConstructionRecord
    from tesselite.tessellation.nearest import Index
    from tesselite.tessellation.quality import Quality

_MOST_DRAWN = 200_000  # centroids that the page searches


def checked_p(p: float | str) -> float:
    """`p` as a float of at least 0.05, infinity (also as the text "inf") included; else ValueError.

    A squared distance is a sum over the features to the power 2 / p: d ** 40 for 0.05, which a double holds up to ten
    million features; p = 0.01 would overflow with 35.
    """
    expected = "a number of at least 0.05 (or infinity)"
    value = as_float("p", p, expected)
    if not value >= 0.05:
        raise ValueError(f"p: expected {expected}, got {p!r}")
    return value


def p_to_json(p: float) -> float | str:
    """`p` as JSON can hold it, which knows no infinity; `checked_p` takes it back."""
    return "inf" if p == np.inf else p


class VoronoiTessellation(Tessellation):
    """Niches of a feature space: each holds the points nearer to its centroid than to any other.

    `centroids` (n_niches, d) are in feature units and lie within the bounds. Distances are Minkowski distances of order
    `p` (at least 0.05, infinity allowed) in the unit-scaled space, where the centroids are `unit_centroids`. Along
    periodic features they are measured along the shorter arc. If a feature has labels, those of centroids are numbers,
    and only centroids with a point's own labels count; there must be at least one for each combination of labels.
    `record` describes how the centroids were constructed, if they were.

    Raises ValueError for centroids that have a wrong shape, are not finite or lie out of bounds.

    Example:
        >>> import tesselite as tl
        >>> space = tl.FeatureSpace({"speed": (0, 2), "height": (0, 1)})
        >>> niches = tl.VoronoiTessellation(space, [[0.5, 0.5], [1.5, 0.5]])
        >>> niches.niche_of([[0.1, 0.9], [1.9, 0.9]]).tolist()
        [0, 1]
    """

    kind = "voronoi"

    def __init__(
        self,
        space: FeatureSpace,
        centroids: npt.ArrayLike,
        p: float = 2.0,
        record: ConstructionRecord | None = None,
    ) -> None:
        if not isinstance(space, FeatureSpace):
            raise ValueError(f"space: expected a FeatureSpace, got {type(space).__name__}")
        space.check_bounded("space")
        self.space = space
        self.p = checked_p(p)
        self.centroids = _checked_centroids(space, centroids)
        self.unit_centroids: Floats = np.ascontiguousarray(space.to_unit(self.centroids))
        if not space.plain:
            self._check_labels()
        self.centroids.flags.writeable = False  # unit_centroids go to compiled code, which would be compiled again
        self.n_niches = len(self.centroids)
        self.record = record

    @functools.cached_property
    def index(self) -> Index:
        """The exact nearest-centroid index, built when it is first needed."""
        if self.space.plain:
            from tesselite.tessellation.nearest import build_index

            return build_index(self.unit_centroids, self.p)
        from tesselite.tessellation.nearest.rings import build_index_for

        return build_index_for(self.space, self.unit_centroids, self.p)

    def _check_labels(self) -> None:
        """ValueError unless each combination of labels has a centroid; places along periodic features are rounded."""
        from tesselite.tessellation.nearest.rings import count_groups, group_of_labels, on_rings

        self.unit_centroids = on_rings(self.unit_centroids, self.space)
        self.space.without_labels()
        found = len(np.unique(group_of_labels(self.unit_centroids, self.space)))
        if found < count_groups(self.space):
            raise ValueError(
                f"centroids: expected at least one for each of {count_groups(self.space)} combinations of labels, "
                f"got some for {found}"
            )

    @property
    def lookup(self) -> Lookup:
        """How compiled code finds a niche."""
        return self.index.lookup

    def niche_of(self, features: npt.ArrayLike, threads: int | None = None) -> int | npt.NDArray[np.int64]:
        """The niche of one feature vector (d,), as an int, or of each of (n, d) rows, as an int64 array (n,).

        The nearest centroid, the lowest niche on ties; rows outside the bounds go to the nearest niche as well.
        Raises ValueError for a wrong shape and for NaN or infinity.
        """
        niches = self.niches_of_unit(self._unit_rows(features), threads)
        return int(niches[0]) if np.ndim(features) == 1 else niches

    def niches_of_unit(self, unit: Floats, threads: int | None = None) -> Ints:
        """The niche of each of (n, d) unit-scaled rows, which are trusted to be finite."""
        if type(self).lookup is not VoronoiTessellation.lookup:  # a user's class with another one
            return super().niches_of_unit(unit)
        return self.index.query(unit, threads)

    def fingerprint(self) -> str:
        """A hexadecimal SHA-256 of the names, bounds, scales, p and centroids: equal for equal tessellations."""
        digest = hashlib.sha256()
        scales = {name: scale.name for name, scale in sorted(self.space.scales.items())}
        kinds = [] if self.space.plain else [self.space.kinds_to_dict()]
        digest.update(json.dumps(["voronoi", self.space.names, scales, self.p, *kinds]).encode())
        for values in (self.space.low, self.space.high, self.centroids):
            digest.update(np.ascontiguousarray(values, dtype="<f8").tobytes())
        return digest.hexdigest()

    def quality(
        self,
        n_samples: int = 100_000,
        seed: int = 0,
        threads: int | None = None,
        samples: Sampler | npt.ArrayLike | None = None,
    ) -> Quality:
        """How well the niches tile the space, judged by fresh samples; see `tesselite.tessellation.quality`."""
        from tesselite.tessellation.quality import measure_quality

        return measure_quality(self, n_samples, seed, threads, samples)

    def to_dict(self) -> dict[str, Any]:
        """The norm; the centroids are the block."""
        return {"p": p_to_json(self.p)}

    @classmethod
    def from_dict(cls, space: FeatureSpace, about: dict[str, Any]) -> Self:
        """The tessellation of a norm `p` and `centroids`."""
        return cls(space, about["centroids"], p=about["p"])

    @property
    def block(self) -> Floats:
        """The centroids."""
        return self.centroids

    def keep(self, file: Path) -> None:
        """Write the centroids."""
        self.save(file)

    def drawing(self) -> dict[str, Any] | None:
        """Centroids, unless they are very many, their norm costly to search, or features periodic or labels."""
        if self.p < 1 or self.n_niches > _MOST_DRAWN or not self.space.plain:
            return None
        return {"centroids": self.unit_centroids.astype(np.float32).ravel(), "p": p_to_json(self.p)}

    def centres(self, niches: Ints) -> Floats:
        """The centroids."""
        return self.centroids[niches]

    def could_hold(self, niches: Ints, features: Floats) -> bool:
        """Whether no centroid is nearer than that of the niche by more than a part in 100,000, features unscaled."""
        if self.p < 1:
            return False
        from scipy.spatial import cKDTree

        nearest, _ = cKDTree(self.centroids).query(features, p=self.p)
        away = features - self.centroids[niches]
        return bool((np.linalg.norm(away, self.p, axis=1) <= nearest * (1 + 1e-5) + 1e-12).all())

    @property
    def unknown_borders(self) -> str:
        """Polygons are those of p = 2."""
        if self.p != 2.0:
            return f"their borders are curved for p = {self.p:g}"
        return "" if self.space.plain else "of periodic or categorical features"

    def polygons(self, niches: Ints) -> list[Floats]:
        """The Voronoi cells."""
        from tesselite.tessellation.pictures import cell_polygons

        cells = cell_polygons(self)
        return [cells[niche] for niche in niches]

    def save(self, path: str | Path) -> None:
        """Write a file: `.parquet` with full provenance, `.npy`, or the authors' text format `.dat` / `.txt`."""
        from tesselite.tessellation.files import save_tessellation

        save_tessellation(self, path)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, VoronoiTessellation)
            and self.space == other.space
            and self.p == other.p
            and np.array_equal(self.centroids, other.centroids)
        )

    def __hash__(self) -> int:
        return hash((self.space, self.p, self.centroids.tobytes()))

    def __repr__(self) -> str:
        norm = "" if self.p == 2.0 else f", p={self.p:g}"
        return f"VoronoiTessellation({self.n_niches} niches{norm}, {self.space!r})"


def _checked_centroids(space: FeatureSpace, centroids: npt.ArrayLike) -> Floats:
    rows = np.array(as_floats("centroids", centroids, f"numbers of shape (n_niches, {space.n})"))
    if rows.ndim != 2 or rows.shape[1] != space.n or len(rows) == 0:
        raise ValueError(f"centroids: expected shape (n_niches, {space.n}) with at least one row, got {rows.shape}")
    bad = ~np.isfinite(rows)
    if bad.any():
        i, j = np.argwhere(bad)[0]
        raise ValueError(f"centroids: expected finite values, got {rows[i, j]} for {space.names[j]!r} in row {i}")
    rows = space.settled(rows)
    bad = (rows < space.low) | (rows > space.high)
    if bad.any():
        i, j = np.argwhere(bad)[0]
        if space.names[j] in space.labels:
            most = len(space.labels[space.names[j]]) - 1
            raise ValueError(f"centroids: expected {space.names[j]!r} to be a whole number from 0 to {most} in row {i}")
        raise ValueError(
            f"centroids: expected {space.names[j]!r} in [{space.low[j]:g}, {space.high[j]:g}], "
            f"got {rows[i, j]:g} in row {i}"
        )
    return rows

"""Nearest centroids where features are periodic or have labels, by the indices for plain features: exact as these.

- Along a periodic feature the nearest of a centroid's images, one to the left, one to the right, is within half a
  period. For points in [0, 1), only two can be: itself, and its copy a period above (below) if it lies in the lower
  (upper) half. So the index holds these 2 images for each of m periodic features, 2^m in all, side by side: image i
  belongs to centroid i >> m, and the lowest image of a tie to the lowest centroid. Where these would be too many, all
  centroids are compared.
- Unit-scaled places along periodic features are multiples of 2^-52, so that images and differences are exact, and
  distances the same whichever image they are measured from.
- Different labels never compete: each combination of labels has an index of its own over the other features.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from tesselite.base.arrays import Floats, Ints
from tesselite.compiled.blocks import Lookup, call_lookup, lookup_block
from tesselite.compiled.kernels import kernel
from tesselite.spaces.features import FeatureSpace
from tesselite.spaces.scaling import LINE, NAMES, RING, axis_gap
from tesselite.tessellation.nearest.index import Index, build_index
from tesselite.tessellation.nearest.table import find_in_table, table_tables

_MOST_VALUES = 1 << 24  # of images, 128 MB; beyond, all centroids are compared
_HEADER, _ROW = 3, 6  # ints before those of features, and ints for each group of labels


@kernel(allocates=False)
def _on_ring(x: float) -> float:
    """A unit-scaled place along a periodic feature, wrapped into [0, 1) and rounded to a multiple of 2^-52."""
    x = x - np.floor(x) + 1.0 - 1.0
    return x if 0.0 <= x < 1.0 else 0.0


@kernel()
def _place_on_rings(points: Floats, kinds: Ints) -> None:
    for i in range(points.shape[0]):
        for j in range(points.shape[1]):
            if kinds[j] == RING:
                points[i, j] = _on_ring(points[i, j])


def on_rings(unit: Floats, space: FeatureSpace) -> Floats:
    """A copy of unit-scaled rows (n, d) with their places along periodic features as the look-up takes them."""
    placed = np.array(unit, dtype=np.float64, order="C")
    _place_on_rings(placed, space.kinds)
    return placed


def images_of(unit_centroids: Floats, periodic: npt.NDArray[np.bool_]) -> Floats:
    """The 2^m images (k * 2^m, d) of (k, d) centroids along m periodic features, those of a centroid side by side."""
    images = unit_centroids[:, None, :]
    for j in np.flatnonzero(periodic):
        other = images.copy()
        other[..., j] += np.where(other[..., j] < 0.5, 1.0, -1.0)
        images = np.concatenate([images, other], axis=1)
    return np.ascontiguousarray(images.reshape(-1, unit_centroids.shape[1]))


def _near_square(images: Floats) -> Ints:
    """Of the images (n, 2) of centroids, those that can be nearest to a point of the unit square.

    No point of the square is farther from its nearest image than a lattice of points can be, and half a step of it.
    """
    side = max(1, int(len(images) ** 0.5))
    places = (np.arange(side) + 0.5) / side
    lattice = np.array(np.meshgrid(places, places)).reshape(2, -1).T
    gaps = lattice - images[build_index(images, kind="tree").query(lattice)]
    reach = float(np.sqrt((gaps * gaps).sum(axis=1).max())) + np.sqrt(0.5) / side + 1e-9
    return np.flatnonzero(((images >= -reach) & (images <= 1.0 + reach)).all(axis=1))


def _look_up_images(rows: Floats, rings: npt.NDArray[np.bool_], p: float, kind: str | None) -> Lookup:
    """The look-up of the images of centroids: by a table for two features, if one is periodic, or by any index."""
    images = images_of(rows, rings)
    if rings.any() and rows.shape[1] == 2 and p == 2.0 and kind in (None, "table"):
        table = table_tables(images, _near_square(images))
        if table is not None:
            return Lookup(find_in_table, *table)
        kind = "tree"
    return build_index(images, p, kind).lookup


@lookup_block
def find_around(points: Floats, floats: Floats, ints: Ints, niches: Ints) -> None:
    """Nearest centroids by comparing all. `floats` are p and the centroids, `ints` the kinds of the features."""
    p, d = floats[0], points.shape[1]
    k = (floats.shape[0] - 1) // d
    for i in range(points.shape[0]):
        best, niche = np.inf, 0
        for c in range(k):
            total = 0.0
            for j in range(d):
                gap = axis_gap(ints[j], points[i, j], floats[1 + c * d + j])
                if p == 2.0:
                    total += gap * gap
                elif p == np.inf:
                    total = max(total, gap)
                elif p == 0.5:
                    total += np.sqrt(gap)
                elif gap > 0.0:
                    total += gap**p
                if total > best:
                    break
            if total < best:
                best, niche = total, c
        niches[i] = niche


@lookup_block
def find_in_groups(points: Floats, floats: Floats, ints: Ints, niches: Ints) -> None:
    """Sort points by their labels, place them on the rings, and ask the look-up of their labels.

    `ints` are the number of groups, of periodic features with images and of features without labels; for each feature,
    its kind, its number of labels and the stride of their numbers; for each group, the address of its look-up, where
    its floats and ints begin and end, and where the niches of its centroids are; then these and the tables.
    """
    n_groups, doublings, n_kept, d = ints[0], ints[1], ints[2], points.shape[1]
    n = points.shape[0]
    groups = np.zeros(n, np.int64)
    starts = np.zeros(n_groups + 1, np.int64)
    for i in range(n):
        for j in range(d):
            at = _HEADER + 3 * j
            if ints[at] == NAMES:
                label = np.floor(points[i, j] * ints[at + 1])
                label = min(label, ints[at + 1] - 1.0) if label > 0.0 else 0.0
                groups[i] += np.int64(label) * ints[at + 2]
        starts[groups[i] + 1] += 1
    for g in range(n_groups):
        starts[g + 1] += starts[g]
    order = np.empty(n, np.int64)
    filled = starts[:-1].copy()
    kept = np.empty((n, n_kept))
    for i in range(n):
        to = filled[groups[i]]
        filled[groups[i]] += 1
        order[to] = i
        column = 0
        for j in range(d):
            kind = ints[_HEADER + 3 * j]
            if kind != NAMES:
                kept[to, column] = _on_ring(points[i, j]) if kind == RING else points[i, j]
                column += 1
    found = np.zeros(n, np.int64)
    for g in range(n_groups):
        first, last = starts[g], starts[g + 1]
        if last > first:
            at = _HEADER + 3 * d + _ROW * g
            own_floats, own_ints = floats[ints[at + 1] : ints[at + 2]], ints[ints[at + 3] : ints[at + 4]]
            call_lookup(ints[at], last - first, kept[first:last], own_floats, own_ints, found[first:last])
            for i in range(first, last):
                niches[order[i]] = ints[ints[at + 5] + (found[i] >> doublings)]


class _Grouped(Lookup):
    """A look-up that holds the addresses of others, valid in this process only: copies look them up again."""

    recipe: tuple[Any, ...]

    def __reduce__(self) -> Any:
        return _grouped, self.recipe


def _grouped(parts: list[Lookup], niches: list[Ints], features: list[tuple[int, int, int]], doublings: int) -> Lookup:
    """The look-up `find_in_groups` of a part for each group; `features` has kind, number of labels and stride."""
    n_kept = sum(kind != NAMES for kind, _, _ in features)
    header = [len(parts), doublings, n_kept, *(number for feature in features for number in feature)]
    at_ints, at_floats = len(header) + _ROW * len(parts), 0
    tables: list[Ints] = []
    for part, own in zip(parts, niches, strict=True):
        to_floats, to_ints = at_floats + len(part.floats), at_ints + len(part.ints)
        header += [part.block.address, at_floats, to_floats, at_ints, to_ints, to_ints]
        tables += [part.ints, own]
        at_floats, at_ints = to_floats, to_ints + len(own)
    ints = np.concatenate([np.array(header, np.int64), *tables])
    lookup = _Grouped(find_in_groups, np.concatenate([part.floats for part in parts]), ints)
    lookup.recipe = (parts, niches, features, doublings)
    return lookup


def group_of_labels(unit: Floats, space: FeatureSpace) -> Ints:
    """The number (n,) of the combination of labels of each of (n, d) unit-scaled rows, the last label fastest."""
    groups = np.zeros(len(unit), np.int64)
    for j in np.flatnonzero(space.labelled):
        n = len(space.labels[space.names[j]])
        groups = groups * n + np.floor(unit[:, j] * n).clip(0, n - 1).astype(np.int64)
    return groups


def count_groups(space: FeatureSpace) -> int:
    """How many combinations of labels there are."""
    return math.prod(len(labels) for labels in space.labels.values())


def build_index_for(space: FeatureSpace, unit_centroids: Floats, p: float = 2.0, kind: str | None = None) -> Index:
    """An exact index over (k, d) unit-scaled centroids of a space; each combination of labels has at least one.

    `kind` overrides the choice, as in `build_index`; "around" compares all centroids.
    """
    if space.plain:
        return build_index(unit_centroids, p, kind)
    kept, rings = ~space.labelled, space.periodic[~space.labelled]
    by_images = kind != "around" and unit_centroids.size << int(rings.sum()) <= _MOST_VALUES
    centroids = on_rings(unit_centroids, space)
    groups = group_of_labels(centroids, space)
    parts, niches = [], []
    for group in range(count_groups(space)):
        own = np.flatnonzero(groups == group)
        rows = np.ascontiguousarray(centroids[own][:, kept])
        if by_images:
            parts.append(_look_up_images(rows, rings, p, kind))
        else:
            kinds = np.where(rings, RING, LINE).astype(np.int64)
            parts.append(Lookup(find_around, np.concatenate([[p], rows.ravel()]), kinds))
        niches.append(own)
    features, stride = [], 1
    for name, number in zip(reversed(space.names), reversed(space.kinds.tolist()), strict=True):
        n = len(space.labels.get(name, "x"))
        features.append((number, n, stride))
        stride *= n
    lookup = _grouped(parts, niches, features[::-1], int(rings.sum()) if by_images else 0)
    return Index("images" if by_images else "around", centroids, lookup)

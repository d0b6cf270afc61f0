"""How niches grow with a search: the bounds follow what was seen, and the centroids follow the bounds.

The records by which such niches are asked for are in `growing`, what is remembered of the features in `seen`. The
paper's section VI leaves recomputing the tessellation during the run as future work; Vassiliades, Chatzilygeroudis and
Mouret (GECCO 2017 Companion) published variants whose details we do not know: the rules below are ours
(docs/deviations.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tesselite.base.arrays import Floats
from tesselite.base.seeds import Purpose, generator
from tesselite.compiled.kernels import kernel
from tesselite.spaces.features import FeatureSpace
from tesselite.tessellation.grid import GridTessellation
from tesselite.tessellation.growing import Adaptive, Clusters, Expanding, Growing
from tesselite.tessellation.kind import OnIteration
from tesselite.tessellation.protocol import Tessellation
from tesselite.tessellation.provisional import Provisional
from tesselite.tessellation.revision import Revision
from tesselite.tessellation.seen import SeenRanges, ThinnedFeatures
from tesselite.tessellation.voronoi import VoronoiTessellation

_CLUSTERING = 5  # iterations for the clusters of a generation
_ITERATIONS = 10  # of Lloyd's algorithm when niches adapt; they start from the old centroids
_RELEARN = 2  # times as many evaluations as when axes were last learned
_NOTHING = 1e-6  # of the longest distance from the mean: what is left of rows beside the axes found so far


def grown_bounds(
    given: Floats, seen: tuple[Floats, Floats], now: tuple[Floats, Floats] | None, margin: float, growth: float
) -> tuple[Floats, Floats] | None:
    """Low and high bounds (d,) for what was seen; None while it lies within the bounds of `now`.

    A bound that is `given` (2, d) stays. Another one lies a `margin` beyond what was seen, as a share of the range; it
    moves as soon as something was seen farther beyond it than the share `growth` of the present range. Without `now`,
    all bounds are new.
    """
    least = np.where(np.isinf(given[0]), seen[0], given[0])
    most = np.where(np.isinf(given[1]), seen[1], given[1])
    slack = margin * (most - least)
    low = np.where(np.isinf(given[0]), least - slack, least)
    high = np.where(np.isinf(given[1]), most + slack, most)
    if now is None:
        return low, high
    allowed = growth * (now[1] - now[0])
    lower, higher = least < now[0] - allowed, most > now[1] + allowed
    if not (lower | higher).any():
        return None
    return np.where(lower, low, now[0]), np.where(higher, high, now[1])


class Expansion(Revision):
    """Bounds that follow what was seen, and the same CVT or grid of the unit cube within them.

    A CVT of the unit cube is one within any bounds, since distances are measured in scaled features: mapped to the new
    bounds, the old centroids are already where Lloyd's algorithm would leave them.

    With more features than `Expanding.axes`, the CVT has that many dimensions, and is laid along axes that are
    learned from the elites: when there are first niches, and at changes when evaluations have doubled since then.
    """

    def __init__(self, how: Growing) -> None:
        self.how = how
        self.every = how.every
        self.given: Floats | None = None  # (2, d); infinite where open
        self.ranges: SeenRanges | None = None
        self.axes: Floats | None = None  # (m, d), in unit-scaled features
        self._learned = 0  # evaluations when the axes were learned

    def tell(self, features: Floats) -> None:
        """Take in the features of valid rows."""
        if self.ranges is None:
            self.ranges = SeenRanges(features.shape[1], self.how.outliers)
        self.ranges.see(features)

    def revise(self, tessellation: Tessellation, features: Floats, evaluations: int) -> Tessellation | None:
        """Other niches, if something was seen outside the bounds; the first ones as soon as bounds are known."""
        space = self._grown(tessellation)
        return None if space is None else self._niches(space, features, evaluations)

    def _grown(self, tessellation: Tessellation) -> FeatureSpace | None:
        """The features within wider bounds; None if they are wide enough, or not enough was seen for the first ones."""
        if isinstance(tessellation, Provisional):
            self.given = np.array([tessellation.features.low, tessellation.features.high])
        now = None if isinstance(tessellation, Provisional) else (tessellation.space.low, tessellation.space.high)
        seen = (np.empty(0), np.empty(0)) if self.ranges is None else self.ranges.bounds()
        if self.given is None or not len(seen[0]) or not np.isfinite(seen).all():
            return None
        flat = np.isinf(self.given).any(axis=0) & (seen[0] >= seen[1])
        if flat.any():
            j = int(np.argmax(flat))
            raise ValueError(
                f"features: {tessellation.space.names[j]!r} is {seen[0][j]:g} in all valid evaluations so far, so that "
                "its bounds cannot be found; give them, leave the feature out, or ask later (every=...)"
            )
        bounds = grown_bounds(self.given, seen, now, self.how.margin, self.how.growth)
        return None if bounds is None else tessellation.space.within(*bounds)

    def _niches(self, space: FeatureSpace, features: Floats, evaluations: int) -> Tessellation:
        if isinstance(self.how, Expanding) and self.how.shape is not None:
            return GridTessellation(space, self.how.shape)
        if isinstance(self.how, Expanding) and space.n > self.how.axes and evaluations >= _RELEARN * self._learned:
            found = spanning_axes(space.to_unit(features).clip(0.0, 1.0), self.how.axes)
            if len(found):  # else all elites are alike
                self.axes, self._learned = found, evaluations
        if self.axes is None:
            unit = unit_centroids(space.n, self.how, self.seed)
        else:
            unit = along_axes(unit_centroids(len(self.axes), self.how, self.seed), self.axes)
        return VoronoiTessellation(space, space.from_unit(unit).clip(space.low, space.high), self.how.p)

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """The bounds that are known, the outermost values and the axes."""
        if self.ranges is None:
            return {}
        known = {} if self.given is None else {"given": self.given}
        if self.axes is not None:
            known |= {"axes": self.axes, "learned": np.array([self._learned])}
        return {"lowest": self.ranges.lowest, "highest": self.ranges.highest, **known}

    def restore(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Go back to it."""
        if state:
            self.ranges = SeenRanges(state["lowest"].shape[1], self.how.outliers)
            self.ranges.lowest, self.ranges.highest = state["lowest"], state["highest"]
            self.given, self.axes = state.get("given"), state.get("axes")
            self._learned = int(state["learned"][0]) if "learned" in state else 0


@kernel()
def _orthonormal(rows: Floats, axes: Floats, lengths: Floats, nothing: float) -> int:
    """Fill `axes` (m, d) with directions of rows (n, d), which are used up, and return how many there are.

    Each is that of the row of which most is left beside the directions so far, the first of equals; how much was left
    of it is its length.
    """
    n, d = rows.shape
    for m in range(len(axes)):
        farthest, most = 0, 0.0
        for i in range(n):
            square = 0.0
            for j in range(d):
                square += rows[i, j] * rows[i, j]
            if square > most:
                farthest, most = i, square
        lengths[m] = np.sqrt(most)
        if lengths[m] <= nothing * lengths[0]:
            return m
        for j in range(d):
            axes[m, j] = rows[farthest, j] / lengths[m]
        for i in range(n):
            part = 0.0
            for j in range(d):
                part += rows[i, j] * axes[m, j]
            for j in range(d):
                rows[i, j] -= part * axes[m, j]
    return len(axes)


def spanning_axes(points: Floats, most: int) -> Floats:
    """At most `most` orthogonal axes (m, d) in which points (n, d) differ; fewer if they span fewer dimensions.

    The first leads from the mean to the point that is farthest from it, each further one to the point that is farthest
    from all that the axes before it span: rare points count as much as frequent ones. Where that is a share s of the
    first distance, the axis has the length sqrt(s): with equal ones, axes of next to no extent would decide in which
    niche a point is; with s, most niches would lie along the first axes (docs/growing.md).
    """
    n, d = points.shape
    axes, lengths = np.empty((most, d)), np.empty(most)
    mean = points.cumsum(axis=0)[-1] / n  # in order: the bytes do not depend on how wide a processor adds
    m = _orthonormal(points - mean, axes, lengths, _NOTHING)
    return axes[:m] * np.sqrt(lengths[:m] / lengths[0])[:, None]


def along_axes(unit: Floats, axes: Floats) -> Floats:
    """Points of the unit cube (k, m) laid along (m, d) axes through the middle of the unit cube of d features.

    Every feature gets the variance of the cube's coordinates, so that it fills its bounds, and is clipped at them.
    """
    placed, squares = np.zeros((len(unit), axes.shape[1])), np.zeros(axes.shape[1])
    for coordinates, axis in zip(unit.T, axes, strict=True):
        placed += (coordinates[:, None] - 0.5) * axis
        squares += axis * axis
    lengths = np.sqrt(squares)
    return np.asarray((0.5 + placed / np.where(lengths > 0.0, lengths, 1.0)).clip(0.0, 1.0))


class Adaptation(Expansion):
    """Centroids that follow the features seen so far, thinned, with a share of uniform ones.

    Niches are rebuilt when bounds have moved, or when enough new cells of the thinned features are known.
    """

    how: Adaptive

    def __init__(self, how: Adaptive) -> None:
        super().__init__(how)
        self.thinned: ThinnedFeatures | None = None
        self._used = 0  # of the rows found, when niches were last made

    def tell(self, features: Floats) -> None:
        """Take in the features of valid rows."""
        super().tell(features)
        if self.thinned is None:
            self.thinned = ThinnedFeatures(features.shape[1], self.how.n_kept)
        self.thinned.see(features)

    def revise(self, tessellation: Tessellation, features: Floats, evaluations: int) -> Tessellation | None:
        """Other niches, if something was seen outside the bounds, or much that is new inside."""
        space, thinned = self._grown(tessellation), self.thinned
        if thinned is None or (isinstance(tessellation, Provisional) and space is None):
            return None
        if space is not None:
            thinned.scale(space.low, space.high)
        elif thinned.found <= (1.0 + self.how.more) * self._used:
            return None
        self._used = thinned.found
        old = tessellation.centroids if isinstance(tessellation, VoronoiTessellation) else None
        rng = generator(self.seed, Purpose.TESSELLATION, evaluations)
        return adapted(space or tessellation.space, self.how, thinned.features, old, rng)

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """What `Expansion` remembers, and the thinned features."""
        if self.thinned is None:
            return {}
        counts = np.array([self.thinned.found, self.thinned.doublings, self._used])
        return {**super().state(), "features": self.thinned.features, "grid": self.thinned.grid, "counts": counts}

    def restore(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Go back to it."""
        super().restore(state)
        if state:
            found, doublings, self._used = map(int, state["counts"])
            self.thinned = ThinnedFeatures(state["features"].shape[1], self.how.n_kept)
            self.thinned.restore(state["features"], state["grid"], found, doublings)


class Clustering(Expansion):
    """Centroids that are the centres of clusters of the solutions' own features: more of them after each generation.

    It is asked before a batch is inserted. The elites and the rows of the batch are clustered by Lloyd's algorithm, a
    few iterations from the old centroids and from the rows that are farthest from them.
    """

    asked_first = True
    how: Clusters

    def __init__(self, how: Clusters) -> None:
        super().__init__(how)
        self._rows: Floats | None = None  # that came since niches were last made
        self._generation = 0

    def tell(self, features: Floats) -> None:
        """Take in the features of valid rows."""
        super().tell(features)
        self._rows = features if self._rows is None else np.concatenate([self._rows, features])

    def revise(self, tessellation: Tessellation, features: Floats, evaluations: int) -> Tessellation | None:
        """The clusters of the next generation."""
        space = self._grown(tessellation)
        if self._rows is None or (space is None and isinstance(tessellation, Provisional)):
            return None
        space = space or tessellation.space
        rows = np.concatenate([features, self._rows])
        _, first = np.unique(rows, axis=0, return_index=True)
        points = rows[np.sort(first)]
        points = points[~space.outside(points)]
        n_clusters = min(self.how.first + self.how.add * self._generation, self.how.n_niches)
        self._generation += 1
        self._rows = None
        old = tessellation.centroids if isinstance(tessellation, VoronoiTessellation) else None
        if len(points) < max(n_clusters, 0 if old is None else len(old)):
            return None
        rng = generator(self.seed, Purpose.TESSELLATION, evaluations)
        return clustered(space, points, n_clusters, old, self.how.p, int(rng.integers(2**32)))

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """What `Expansion` remembers, the generation, and the rows since the last one."""
        rows = {} if self._rows is None else {"rows": self._rows}
        return {**super().state(), "generation": np.array([self._generation]), **rows}

    def restore(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Go back to it."""
        if "lowest" in state:
            super().restore(state)
        self._generation, self._rows = int(state["generation"][0]), state.get("rows")


_kept: dict[tuple[int, int, int | None, float, int], Floats] = {}  # the CVT of the unit cube that was used last


def unit_centroids(
    n_features: int,
    how: Growing,
    seed: int,
    threads: int | None = None,
    on_iteration: OnIteration | None = None,
) -> Floats:
    """The centroids (n_niches, d) of a CVT of the unit cube; from the cache of the user, if it was made before."""
    from tesselite.tessellation.cvt import cvt

    n_samples = how.n_samples if isinstance(how, Expanding) else None
    key = n_features, how.n_niches, n_samples, how.p, seed
    if key not in _kept:
        space = FeatureSpace.unit(n_features)
        made = cvt(
            space, how.n_niches, n_samples, seed=seed, p=how.p, threads=threads, on_iteration=on_iteration, cache=True
        )
        _kept.clear()
        _kept[key] = made.centroids
    return _kept[key]


def adapted(
    space: FeatureSpace, how: Adaptive, seen: Floats, old: Floats | None, rng: np.random.Generator
) -> VoronoiTessellation:
    """Niches whose samples are the features seen (m, d) and a share of uniform ones, by Lloyd's algorithm from `old`.

    Uniform samples make up for what is missing to two for each niche.
    """
    from tesselite.tessellation.cvt import cvt

    inside = seen[~space.outside(seen)]
    n_uniform = round(how.uniform / (1.0 - how.uniform) * len(inside))
    n_uniform = max(n_uniform, 2 * how.n_niches - len(inside))
    samples = np.concatenate([inside, space.sample(n_uniform, rng)])
    return cvt(
        space,
        how.n_niches,
        seed=int(rng.integers(2**32)),
        p=how.p,
        samples=samples,
        start="random" if old is None else old.clip(space.low, space.high),
        iterations=_ITERATIONS,
    )


def clustered(
    space: FeatureSpace, points: Floats, n_clusters: int, old: Floats | None, p: float, seed: int
) -> VoronoiTessellation:
    """Niches around the centres of clusters of different points (m, d).

    Lloyd's algorithm starts from the old centroids and the points that are farthest from their nearest one, the first
    of equals; without old ones, from random points.
    """
    from tesselite.tessellation.cvt import cvt

    start: str | Floats = "random"
    if old is not None:
        before = VoronoiTessellation(space, old.clip(space.low, space.high), p)
        unit = space.to_unit(points)
        away = (np.abs(unit - before.unit_centroids[before.niches_of_unit(unit)]) ** min(p, 2.0)).sum(axis=1)
        far = np.argsort(-away, kind="stable")[: n_clusters - len(old)]
        start = np.concatenate([before.centroids, points[far]])
    return cvt(space, n_clusters, seed=seed, p=p, samples=points, start=start, iterations=_CLUSTERING)

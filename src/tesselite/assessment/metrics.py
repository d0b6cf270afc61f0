"""Metrics of one archive: how much of the space is filled, how good the elites are, how evenly they are spread.

Performance in other settings than the search's is in `scenarios`. Spread: Vassiliades et al. (2018), section IV-B.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tesselite.archive.archive import Archive
from tesselite.archive.figures import figures_of, qd_score
from tesselite.assessment.neighbours import nearest_distances
from tesselite.problems.problem import Problem
from tesselite.spaces.features import FeatureSpace
from tesselite.tessellation.cvt import cvt
from tesselite.tessellation.protocol import Tessellation

SPREAD_AT_MOST = 50_000
"""For larger archives the spread is skipped by default: its time grows with the square of their size."""


@dataclass(frozen=True)
class Metrics:
    """Figures of an archive. `qd_score` is None without a floor; `spread` is None for fewer than two elites, for elites
    that all coincide, and for archives larger than the limit of `measure`."""

    filled: int
    n_niches: int
    coverage: float
    qd_score: float | None
    floor: float | None
    best_fitness: float | None
    mean_fitness: float | None
    spread: float | None

    def to_dict(self) -> dict[str, Any]:
        """The same as a dictionary."""
        return asdict(self)


def spread(points: Archive | npt.ArrayLike, p: float = 2.0, threads: int | None = None) -> float | None:
    """Mean distance to the nearest neighbour over the largest such distance, in (0, 1]; the s of the paper.

    `points` is an archive, whose features are scaled to the unit cube, or an array (n, d), which is not scaled. 1 means
    perfectly even. `p` is the order of the Minkowski distance, the shorter arc along periodic features and 1 between
    different labels. None if it is not defined: fewer than two points, all distances 0, or a distance too large for a
    float.
    """
    kinds = None
    if isinstance(points, Archive):
        kinds = points.tessellation.space.kinds
        points = points.tessellation.space.to_unit(points.elites().features)
    points = np.asarray(points, dtype=np.float64)
    if len(points) < 2:
        return None
    distances = nearest_distances(points, p, threads, kinds)
    largest = float(distances.max())
    return float(distances.mean() / largest) if 0.0 < largest < np.inf else None


def measure(
    archive: Archive,
    *,
    floor: float | None = None,
    p: float = 2.0,
    spread_at_most: int = SPREAD_AT_MOST,
    threads: int | None = None,
) -> Metrics:
    """All metrics of an archive. `floor` is that of the QD score, the archive's own by default.

    The spread, in Minkowski norm `p`, is left out for archives of more than `spread_at_most` elites. `threads`
    is the number of threads, all cores by default.

    Example:
        >>> import tesselite as tl
        >>> found = tl.measure(tl.illuminate(tl.problems.sphere(3), grid=5, evaluations=2_000, seed=1))
        >>> found.coverage
        1.0
    """
    floor, figures = archive.floor if floor is None else float(floor), figures_of(archive)
    return Metrics(
        filled=figures["filled"],
        n_niches=archive.n_niches,
        coverage=figures["coverage"],
        qd_score=None if floor is None else qd_score(archive.elites().fitness, floor, archive.direction),
        floor=floor,
        best_fitness=figures["best_fitness"],
        mean_fitness=figures["mean_fitness"],
        spread=spread(archive, p, threads) if len(archive) <= spread_at_most else None,
    )


def in_niches(archive: Archive, n_niches: int) -> Archive:
    """An archive without niches, put into a CVT of `n_niches` within the bounds of the features, or their range where
    open. For reports on a population; to compare several, `project` them on a common tessellation.
    """
    return archive.moved_to(cvt(bounded_space(archive), n_niches, seed=0, cache=True))[0]


def bounded_space(archive: Archive) -> FeatureSpace:
    """The space of an archive's features; without niches, within the given bounds, or their range where open."""
    if archive.has_niches or not len(archive):
        return archive.tessellation.space
    given, features = archive.tessellation.given_space, archive.elites().features
    low = np.where(np.isinf(given.low), features.min(axis=0), given.low)
    high = np.where(np.isinf(given.high), features.max(axis=0), given.high)
    return given.within(low, np.where(high > low, high, low + np.maximum(1.0, np.spacing(np.abs(low)))))


def project(
    archive: Archive, tessellation: Tessellation, problem: Problem | None = None, threads: int | None = None
) -> Archive:
    """The archive's elites in the niches of another tessellation, the best of each niche kept.

    Archives of different tessellations become comparable on a common one; the bounds of the features may differ. If it
    has other features (another descriptor of the same task), pass the `problem` that computes them: the elites are
    evaluated again, on this many `threads` (all cores by default). Raises ValueError if the features differ in their
    names or labels and no such problem is given.

    Example:
        >>> import tesselite as tl
        >>> sphere = tl.problems.sphere(3)
        >>> fine = tl.illuminate(sphere, grid=20, evaluations=5_000, seed=1)
        >>> len(tl.project(fine, tl.GridTessellation(sphere.features, 2)))
        4
    """
    elites = archive.in_order_of_filling()
    common = archive.empty_copy(tessellation)
    if problem is not None:
        if problem.features != tessellation.space or problem.direction != archive.direction:
            raise ValueError(
                f"problem: expected one with the features of the tessellation and direction {archive.direction!r}, "
                f"got {problem!r}"
            )
        common.add_evaluated(elites.solutions, problem.evaluate(elites.solutions, threads=threads), 0)
        common.renumber(elites.evaluations)
        return common
    ours, theirs = archive.tessellation.space, tessellation.space
    if (ours.names, ours.labels) != (theirs.names, theirs.labels):
        raise ValueError(
            f"tessellation: expected one of {archive.tessellation.space!r}, got one of {tessellation.space!r}; "
            "give a problem that has these features, and the elites are evaluated again"
        )
    common.add(elites.solutions, elites.fitness, elites.features, records=elites.records)
    common.renumber(elites.evaluations)
    return common

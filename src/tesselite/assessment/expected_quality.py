"""Expected best performance, and expected quality as a CDF or CCDF, of an algorithm on a descriptor.

Both are medians over independent runs; they are computed from `Assessment`s, or from the histograms that a reproduction
keeps. Vassiliades et al. (2018), sections III-A and III-B.

An elite that is invalid in a setting (a robot that falls over) fails there: it counts as a solution that reaches no
fitness.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tesselite.archive.evaluation import Direction
from tesselite.archive.figures import worst
from tesselite.assessment.scenarios import Assessment
from tesselite.assessment.statistics import median
from tesselite.base.arrays import Floats, Ints
from tesselite.problems.problem import TRAINING


def share(fitness: Any, x: Any, direction: Direction) -> Any:
    """The share of solutions at least as good as x: P(X <= x) for "min" (CDF), P(X > x) for "max" (CCDF).

    `fitness` (n,), NaN for invalid solutions, which count in n and never reach x. `x` is a number or an array (m,).
    The inequality is strict for "max", as in the paper.
    """
    values = np.asarray(fitness, dtype=np.float64)
    if direction not in ("max", "min"):
        raise ValueError(f"direction: expected 'max' or 'min', got {direction!r}")
    if values.ndim != 1 or not len(values):
        raise ValueError(f"fitness: expected at least one value of shape (n,), got shape {values.shape}")
    valid = np.sort(values[~np.isnan(values)])
    up_to = np.searchsorted(valid, np.asarray(x, dtype=np.float64), side="right")
    reached = up_to if direction == "min" else len(valid) - up_to
    result = reached / len(values)
    return float(result) if np.ndim(x) == 0 else result


def _checked_levels(levels: Any) -> Floats:
    edges = np.asarray(levels, dtype=np.float64)
    if edges.ndim != 1 or not len(edges) or not (np.diff(edges) > 0).all():
        raise ValueError("levels: expected increasing values of shape (m,)")
    return edges


def even_levels(low: float, high: float, n: int) -> Floats:
    """`n` even levels from low to high, or around both if they are equal, so that the step there is seen."""
    if low == high:
        middle, most = float(low), float(np.finfo(np.float64).max)  # unlike NumPy's, these overflow silently
        margin = 0.05 * (abs(middle) or 1.0)
        low, high = max(middle - margin, -most), min(middle + margin, most)
    return np.linspace(low, high, n)


def histogram(fitness: Any, levels: Any) -> Ints:
    """How many values lie up to levels[0], above it and up to levels[1], ..., and above the last: (m + 1,) counts.

    From these counts and the number of solutions every share at a level follows exactly. NaN is not counted.
    """
    edges = _checked_levels(levels)
    values = np.asarray(fitness, dtype=np.float64)
    up_to = np.searchsorted(np.sort(values[~np.isnan(values)]), edges, side="right")
    return np.diff(np.concatenate([[0], up_to, [int((~np.isnan(values)).sum())]])).astype(np.int64)


def shares_of_histogram(counts: Any, n: int, direction: Direction) -> Floats:
    """The share of n solutions that reach each of m levels, from (m + 1,) counts of `histogram`; see `share`."""
    array = np.asarray(counts, dtype=np.int64)
    up_to = np.cumsum(array)
    reached = up_to[:-1] if direction == "min" else up_to[-1] - up_to[:-1]
    return reached / n


@dataclass(frozen=True)
class ExpectedQuality:
    """Median share of solutions that reach each level, over all runs and settings, with the quartiles.

    `levels`, `median`, `lower` and `upper` have shape (m,); `shares` (runs x settings, m) is what they come from.
    """

    direction: Direction
    levels: Floats
    shares: Floats

    @property
    def median(self) -> Floats:
        """The expected quality at each level."""
        return np.median(self.shares, axis=0)

    @property
    def lower(self) -> Floats:
        """The first quartile of the shares at each level."""
        return np.quantile(self.shares, 0.25, axis=0)

    @property
    def upper(self) -> Floats:
        """The third quartile of the shares at each level."""
        return np.quantile(self.shares, 0.75, axis=0)

    def column(self, x: float) -> Floats:
        """The share in each run and setting at the level x; ValueError if x is not one of the levels."""
        at = int(np.argmin(np.abs(self.levels - x)))
        if not np.isclose(self.levels[at], x, rtol=1e-9, atol=1e-12):
            raise ValueError(f"x: expected one of the levels, the nearest is {self.levels[at]:g}, got {x:g}")
        return np.ascontiguousarray(self.shares[:, at])

    def at(self, x: float) -> float:
        """The expected share of solutions that reach x, one of the levels."""
        return median(self.column(x))


def _settings(assessments: Sequence[Assessment], settings: Sequence[str] | None) -> tuple[str, ...]:
    if not assessments:
        raise ValueError("assessments: expected at least one")
    first = assessments[0]
    for other in assessments[1:]:
        if other.settings != first.settings or other.direction != first.direction:
            raise ValueError("assessments: expected the same direction and the same scenarios in all of them")
    chosen = tuple(settings) if settings is not None else first.scenarios or (TRAINING,)
    unknown = [name for name in chosen if name not in first.settings]
    if unknown or not chosen:
        raise ValueError(f"settings: expected some of {', '.join(first.settings)}, got {', '.join(unknown) or 'none'}")
    return chosen


def expected_best(assessments: Sequence[Assessment], settings: Sequence[str] | None = None) -> dict[str, float | None]:
    """Expected best performance: for each setting the median, over runs, of the best fitness in it.

    A run without a valid solution in a setting is infinitely bad there; None if that makes the median infinite.
    `settings` are training and all scenarios by default.
    """
    chosen = _settings(assessments, assessments[0].settings if assessments and settings is None else settings)
    nothing = worst(assessments[0].direction)
    result: dict[str, float | None] = {}
    for name in chosen:
        bests = [nothing if (best := one.best(name)) is None else best for one in assessments]
        middle = median(bests)
        result[name] = middle if np.isfinite(middle) else None
    return result


def expected_quality(
    assessments: Sequence[Assessment], levels: Any, settings: Sequence[str] | None = None
) -> ExpectedQuality:
    """Expected quality at increasing `levels` (m,): the median share over all runs x settings.

    20 runs and 10 scenarios make a median of 200 shares, as in the paper. `settings` are all scenarios by default; pass
    ["training"] for the quality in the setting of the search.
    """
    chosen = _settings(assessments, settings)
    edges = _checked_levels(levels)
    direction = assessments[0].direction
    shares = [share(one.fitness[name], edges, direction) for one in assessments for name in chosen]
    return ExpectedQuality(direction, edges, np.array(shares))


def expected_share(assessments: Sequence[Assessment], x: float, settings: Sequence[str] | None = None) -> float:
    """The expected share of solutions that reach x, any number: "what share walks faster than 0.2 m/s?" """
    return expected_quality(assessments, [x], settings).at(x)

"""Common niches, for comparing runs whose own niches differ, or that have none.

Coverage, filled niches and QD score depend on the niches they are counted in. Runs with the same fixed niches
(including CVTs of other seeds) are compared directly; all others by projection.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tesselite.archive.archive import Archive
from tesselite.base.checks import checked_count
from tesselite.spaces.features import FeatureSpace
from tesselite.tessellation.cvt import cvt
from tesselite.tessellation.kind import Niches
from tesselite.tessellation.protocol import Tessellation

_SAMPLES, _ITERATIONS = 20, 20  # for each niche, and of Lloyd's algorithm
_AT_MOST = 10_000  # niches by default


@dataclass(frozen=True)
class Common:
    """Where runs are compared: the niches, None for each run's own; and a note for readers."""

    niches: Tessellation | None
    note: str = ""


def common_niches(asked: Sequence[Niches], archives: Sequence[Archive], n_niches: int | None = None) -> Common:
    """Where these archives can be compared, of runs that asked for these niches.

    The common niches are a CVT of `n_niches`, by default of as many as the run with the fewest has, within the bounds
    that all runs share; where bounds are open or differ, within the range of all elites. ValueError if common niches
    are needed and the runs have different features.
    """
    spaces = [archive.tessellation.given_space for archive in archives]
    if n_niches is not None:
        n_niches = checked_count("n_niches", n_niches)
    elif _alike(asked, archives, spaces):
        return Common(None)
    if len({space.names for space in spaces}) > 1:
        return _of_other_features(spaces, needed=n_niches is not None or not all(a.has_niches for a in archives))
    space = _common_space(spaces, archives)
    k = n_niches or min(_AT_MOST, *(_count(of, archive) for of, archive in zip(asked, archives, strict=True)))
    made = cvt(space, k, _SAMPLES * k, seed=0, method="lloyd", start="random", iterations=_ITERATIONS, cache=True)
    why = "some runs have no niches" if not all(a.has_niches for a in archives) else "the runs have different niches"
    if n_niches is not None and _alike(asked, archives, spaces):
        why = "as asked"
    return Common(
        made,
        f"coverage, filled niches and QD score are those after projection on a common CVT of {k:,} niches ({why}); "
        "those of the runs themselves differ",
    )


def _alike(asked: Sequence[Niches], archives: Sequence[Archive], spaces: Sequence[FeatureSpace]) -> bool:
    """Whether all runs asked for the same niches, which stay."""
    fixed = all(of.revision is None for of in asked) and all(archive.has_niches for archive in archives)
    return fixed and all(of == asked[0] for of in asked) and all(space == spaces[0] for space in spaces)


def _of_other_features(spaces: Sequence[FeatureSpace], *, needed: bool) -> Common:
    first = spaces[0]
    other = next(space for space in spaces if space.names != first.names)
    features = f"{first.n} features ({', '.join(first.names[:4])}) and {other.n} ({', '.join(other.names[:4])})"
    if needed:
        raise ValueError(
            f"runs: expected the same features in all, to project them on common niches, got {features}; compare runs "
            "of the same features, or evaluate the elites again: tesselite.project(archive, tessellation, problem)"
        )
    return Common(None, f"the runs have different features, {features}: coverage, filled niches and QD score are those "
                        "of each run's own niches, and cannot be compared")  # fmt: skip


def _count(asked: Niches, archive: Archive) -> int:
    """How many niches a run has, or would have; of a population, how many solutions it keeps at most."""
    if archive.has_niches:
        return archive.n_niches
    return int(getattr(asked, "size", 0) or getattr(asked, "n_niches", 0) or max(1, len(archive)))


def _common_space(spaces: Sequence[FeatureSpace], archives: Sequence[Archive]) -> FeatureSpace:
    if not spaces[0].is_open and all(space == spaces[0] for space in spaces):
        return spaces[0]
    lows, highs = (np.array([getattr(space, side) for space in spaces]) for side in ("low", "high"))
    shared = (
        np.isfinite(lows[0]) & np.isfinite(highs[0]) & (lows == lows[0]).all(axis=0) & (highs == highs[0]).all(axis=0)
    )
    features = np.concatenate([archive.elites().features for archive in archives])
    if not len(features):
        raise ValueError("runs: expected at least one elite in one of them, found none")
    low = np.where(shared, lows[0], features.min(axis=0))
    high = np.where(shared, highs[0], features.max(axis=0))
    return spaces[0].within(low, np.where(high > low, high, low + 1.0))

"""Niches that grow with the search, as users ask for them and as a plan holds them. How they grow is in `growth`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from tesselite.spaces.features import FeatureSpace
from tesselite.tessellation.grid import GridTessellation
from tesselite.tessellation.kind import OnIteration
from tesselite.tessellation.provisional import Provisional
from tesselite.tessellation.rules import Rule, by_text
from tesselite.tessellation.voronoi import checked_p, p_to_json

if TYPE_CHECKING:
    from tesselite.tessellation.revision import Revision

_MOST = 100.0  # of shares


@dataclass(frozen=True, kw_only=True)
class Growing(Rule):
    """Niches within bounds that follow what was seen; `Expanding` says what the options mean."""

    apart = ("n_niches", "grid", "p")
    grows = True
    n_niches: int = field(kw_only=False)
    every: int = 1000
    margin: float = 0.01
    growth: float = 0.0
    outliers: int = 2
    ignore_bounds: bool = False
    p: float = 2.0

    def __post_init__(self) -> None:
        for name in ("n_niches", "every"):
            self._set_count(name)
        self._set_count("outliers", least=0)
        for name in ("margin", "growth"):
            self._set_share(name, _MOST)
        self._set("p", checked_p(self.p))
        self._set("ignore_bounds", bool(self.ignore_bounds))

    def tessellate(
        self, space: FeatureSpace, seed: int, threads: int | None = None, on_iteration: OnIteration | None = None
    ) -> Provisional:
        """What stands for the niches until bounds are known."""
        return Provisional(FeatureSpace(dict.fromkeys(space.names)).titled(space) if self.ignore_bounds else space)

    def checked(self, space: FeatureSpace, seed: int) -> Self:
        """The same; ValueError if they cannot grow over this space."""
        space.check_plain(self.kind)
        if self.ignore_bounds and not space.linear:
            raise ValueError("ignore_bounds: only valid for linear features; leave it out, or the scales")
        return self

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "p": p_to_json(self.p)}

    @property
    def label(self) -> str:
        return f"{self.kind} CVT of {self.n_niches:,} niches" + ("" if self.p == 2.0 else f", p = {self.p:g}")

    def command(self, folder: Path) -> list[str]:
        return [*self._size(), "--grow", self.text(), *(["-p", f"{self.p:g}"] if self.p != 2.0 else [])]

    def _size(self) -> list[str]:
        return ["--niches", str(self.n_niches)]


@dataclass(frozen=True, kw_only=True)
class Expanding(Growing):
    """Niches whose bounds follow the features seen: a CVT of `n_niches`, or a `grid` with these cells per feature.

    After every `every` evaluations, bounds that are open move to a `margin` beyond all features seen so far, as a share
    of their range, if something lies farther beyond them than the share `growth` of the range. The `outliers` lowest
    and highest values of each feature do not count. `ignore_bounds` finds all bounds, even given ones. `p`:
    Minkowski order of the CVT's distance; `n_samples`: samples for the CVT, as in `tesselite.cvt`. A CVT of more
    features than `axes` has only `axes` dimensions, along axes in which the elites differ (docs/growing.md). Give the
    result as `tessellation` to `tesselite.run`.

    Example:
        >>> import tesselite as tl
        >>> @tl.problem(solutions=tl.Box(2, 0, 1), features={"energy": None})
        ... def burn(x):
        ...     return -x[1], (1000 * x[0],)
        >>> found = tl.illuminate(burn, tessellation=tl.expanding(10), evaluations=3_000, seed=1)
        >>> 900 < found.tessellation.space.high[0] < 1100
        np.True_
    """

    kind = "expanding"
    n_niches: int = field(default=None, kw_only=False)  # type: ignore[assignment]  # as many as the grid has cells
    grid: Sequence[int] | None = None
    growth: float = 0.02  # a change for less costs more elites than the bounds are worth
    n_samples: int | None = None
    axes: int = 16

    def __post_init__(self) -> None:
        if self.grid is not None:
            if self.n_samples is not None:
                raise ValueError("n_samples: only valid for a CVT; leave it out, or the grid")
            try:
                cells = GridTessellation(FeatureSpace.unit(len(self.grid)), self.grid)
            except (TypeError, ValueError):
                expected = "grid: expected a whole number of cells for each feature, as in [64, 64]"
                raise ValueError(f"{expected}, got {self.grid!r:.80}") from None
            if self.n_niches not in (None, cells.n_niches):
                raise ValueError(f"n_niches: the grid has {cells.n_niches:,}, got {self.n_niches!r:.80}; leave it out")
            self._set("grid", cells.shape)
            self._set("n_niches", cells.n_niches)
        if self.n_niches is None:
            raise ValueError("expanding: expected either n_niches (for a CVT) or grid (cells for each feature)")
        super().__post_init__()
        self._set_count("axes")
        if self.n_samples is not None:
            self._set_count("n_samples", least=self.n_niches)

    def to_dict(self) -> dict[str, Any]:
        """JSON for settings.json, where the grid is the "shape"."""
        return {"shape" if name == "grid" else name: value for name, value in super().to_dict().items()}

    @classmethod
    def from_dict(cls, about: dict[str, Any]) -> Self:
        return super().from_dict({**about, "grid": about["shape"]})

    @property
    def shape(self) -> tuple[int, ...] | None:
        """The cells of the grid for each feature; None for a CVT."""
        return None if self.grid is None else tuple(self.grid)

    def tessellate(
        self, space: FeatureSpace, seed: int, threads: int | None = None, on_iteration: OnIteration | None = None
    ) -> Provisional:
        """What stands for the niches until bounds are known; their CVT of the unit cube is constructed now."""
        if self.shape is None:
            from tesselite.tessellation.growth import unit_centroids

            unit_centroids(min(space.n, self.axes), self, seed, threads, on_iteration)
        return super().tessellate(space, seed, threads, on_iteration)

    def checked(self, space: FeatureSpace, seed: int) -> Self:
        """The same; ValueError if they cannot grow over this space."""
        if not (space.is_open or self.ignore_bounds):
            raise ValueError(
                "expanding: all bounds of the features are given; leave one open (None), let all be found "
                "(ignore_bounds=True), or use a fixed CVT or grid"
            )
        if self.shape is not None and len(self.shape) != space.n:
            raise ValueError(f"grid: expected one number for each of {space.n} features, got {len(self.shape)}")
        return super().checked(space, seed)

    @property
    def revision(self) -> Revision:
        from tesselite.tessellation.growth import Expansion

        return Expansion(self)

    @property
    def label(self) -> str:
        return super().label if self.shape is None else f"expanding grid {'x'.join(map(str, self.shape))}"

    def _size(self) -> list[str]:
        return super()._size() if self.shape is None else ["--grid", "x".join(map(str, self.shape))]


@dataclass(frozen=True, kw_only=True)
class Adaptive(Growing):
    """A CVT of the features seen so far, for spaces of which only a small part can be reached.

    Its samples are the features seen, thinned to at most five per niche so that frequent visits do not dominate, and a
    fraction `uniform` of uniform samples. The niches are rebuilt when bounds move, or when the number of occupied cells
    has grown by the fraction `more`; the other arguments are those of `expanding`. Given bounds stay.
    """

    kind = "adaptive"
    uniform: float = 0.1
    more: float = 0.25

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set_share("uniform", 1.0)
        self._set_share("more", _MOST)

    @property
    def n_kept(self) -> int:
        """How many of the features seen are kept, at most."""
        return max(1000, 5 * self.n_niches)

    @property
    def revision(self) -> Revision:
        from tesselite.tessellation.growth import Adaptation

        return Adaptation(self)


@dataclass(frozen=True, kw_only=True)
class Clusters(Growing):
    """Cluster-Elites: niches around clusters of the solutions' own features, for reachable regions of any shape.

    There are `first` clusters after `every` evaluations, and `add` more after each further `every`, up to `n_niches`.
    The defaults are those of its authors (Vassiliades, Chatzilygeroudis, Mouret, 2017), with batches of 200. The other
    arguments are those of `expanding`.
    """

    kind = "clusters"
    every: int = 200
    first: int = 50
    add: int = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set_count("first")
        self._set_count("add", least=0)
        if self.first > self.n_niches:
            raise ValueError(f"first: expected at most n_niches, {self.n_niches}, got {self.first}")

    @property
    def revision(self) -> Revision:
        from tesselite.tessellation.growth import Clustering

        return Clustering(self)

    @property
    def label(self) -> str:
        return f"Cluster-Elites, {self.first:,} to {self.n_niches:,} niches"


KINDS: dict[str, type[Growing]] = {kind.kind: kind for kind in (Expanding, Adaptive, Clusters)}
expanding, adaptive, cluster_elites = Expanding, Adaptive, Clusters  # their public names


def growing_by_name(text: str, n_niches: int, grid: tuple[int, ...] | None, p: float) -> Growing:
    """The niches of a text such as "expanding:every=2000,margin=0.02"; ValueError if it is not one."""
    given: dict[str, Any] = {"n_niches": n_niches, "p": p}
    if grid is not None:
        if (name := text.partition(":")[0]) != Expanding.kind:
            raise ValueError(f"grow: {name} has no grid; expected --niches")
        given = {"grid": grid, "p": p}
    found: Growing = by_text("grow", KINDS, text, **given)
    return found

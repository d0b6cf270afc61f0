"""Populations without niches, as users ask for them and as a plan holds them. Selection is in `competition`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Self

from tesselite.spaces.features import FeatureSpace
from tesselite.tessellation.rules import Rule, by_text

if TYPE_CHECKING:
    from tesselite.tessellation.revision import Revision


@dataclass(frozen=True, kw_only=True)
class Population(Rule):
    """At most `size` solutions. Of those with equal features only the best is kept."""

    size: int = field(default=1024, kw_only=False)

    def __post_init__(self) -> None:
        self._set_count("size")

    def checked(self, space: FeatureSpace, seed: int) -> Self:
        """The same; ValueError for periodic features and labels."""
        space.check_plain(self.kind)
        return self

    @property
    def label(self) -> str:
        return f"population of {self.size:,} without niches ({self.text()})"

    @property
    def construction(self) -> str:
        return ""

    def command(self, folder: Path) -> list[str]:
        return ["--population", self.text()]


@dataclass(frozen=True, kw_only=True)
class Dns(Population):
    """Dominated novelty search: a population of `size` without niches, given as `tessellation` to `tesselite.run`.

    The solutions that stay are those with the largest mean distance, in feature space, to the `k` nearest better ones.
    If fitness is equal, the earlier evaluation counts as better.
    """

    kind = "dns"
    k: int = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set_count("k")

    @property
    def revision(self) -> Revision:
        from tesselite.tessellation.competition import Dominated

        return Dominated(self)


@dataclass(frozen=True, kw_only=True)
class Nslc(Population):
    """Novelty search with local competition: a population of `size` without niches, for `tesselite.run`.

    NSGA-II's selection keeps solutions that are novel (mean distance to the `k` nearest) or better than their
    neighbours (how many of these are worse).
    """

    kind = "nslc"
    k: int = 15

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set_count("k")

    @property
    def revision(self) -> Revision:
        from tesselite.tessellation.competition import LocalCompetition

        return LocalCompetition(self)


@dataclass(frozen=True, kw_only=True)
class Rts(Population):
    """Restricted tournament selection: a population of `size` without niches, for `tesselite.run`.

    A new solution replaces the nearest of `window` members drawn at random (None: of all) if it is better.
    """

    kind = "rts"
    window: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.window is not None:
            self._set_count("window")

    @property
    def revision(self) -> Revision:
        from tesselite.tessellation.competition import Tournament

        return Tournament(self)


KINDS: dict[str, type[Population]] = {kind.kind: kind for kind in (Dns, Nslc, Rts)}
dns, nslc, rts = Dns, Nslc, Rts  # their public names


def population_by_name(text: str) -> Population:
    """The population of a text such as "dns:size=1000,k=3"; ValueError if it is not one."""
    found: Population = by_text("population", KINDS, text)
    return found

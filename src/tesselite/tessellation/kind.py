"""Niches: the base of all kinds of niches in a plan. The kinds are in `niches`, `growing` and `own`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from tesselite.spaces.features import FeatureSpace
from tesselite.tessellation.protocol import Tessellation
from tesselite.tessellation.revision import Revision

if TYPE_CHECKING:
    from tesselite.tessellation.cvt import CvtJob

CENTROIDS_FILE = "centroids.parquet"  # in the folder of a run

OnIteration = Callable[[int, float], object]
"""Called with the number of the iteration and the error after each iteration of the construction of a CVT."""


@dataclass(frozen=True)
class Niches(ABC):
    """The part of a plan about niches. Each kind makes its tessellation and knows its JSON, label and command line."""

    @property
    def revision(self) -> Revision | None:
        """What changes the niches during the run; None if they stay."""
        return None

    @property
    def known_fingerprint(self) -> str | None:
        """That of the tessellation, where the plan knows it before the tessellation is made."""
        return None

    @property
    def grows(self) -> bool:
        """Whether there are other bounds or more niches as the run goes on."""
        return False

    def job(self, space: FeatureSpace, seed: int, threads: int | None = None) -> CvtJob | None:
        """What constructing them over this space will do; None if there is nothing to construct."""
        return None

    @property
    def imported(self) -> str:
        """The module:name of the user's that making it imports; empty if there is none."""
        return ""

    def checked(self, space: FeatureSpace, seed: int) -> Self:
        """The same with plain numbers; ValueError if it cannot be made over this space."""
        self.tessellate(space, seed)
        return self

    def check_storable(self) -> None:  # noqa: B027
        """ValueError unless the folder of a run can hold it."""

    @abstractmethod
    def tessellate(
        self, space: FeatureSpace, seed: int, threads: int | None = None, on_iteration: OnIteration | None = None
    ) -> Tessellation:
        """The tessellation of this space; ValueError if there is none."""

    def stored(self, space: FeatureSpace, seed: int, folder: Path) -> Tessellation:
        """The tessellation that the run in this folder began with."""
        return self.tessellate(space, seed)

    @abstractmethod
    def count_features(self, folder: Path) -> int:
        """The number of features of the run in this folder, 0 if not known yet."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """JSON for settings.json."""

    @property
    @abstractmethod
    def label(self) -> str:
        """A few words for people."""

    @property
    def construction(self) -> str:
        """How they are made, in words."""
        return ""

    @abstractmethod
    def command(self, folder: Path) -> list[str]:
        """The options of `tesselite run` that give these niches, those in the folder of a run, again."""

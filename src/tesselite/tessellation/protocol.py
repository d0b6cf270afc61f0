"""Tessellation: what cuts a feature space into niches. `grid` and `voronoi` come with the library, others are users'.

Users' tessellations are imported by name in `own`.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from tesselite.base.arrays import Floats, Ints
from tesselite.base.checks import is_whole
from tesselite.base.numbers import as_floats
from tesselite.spaces.features import FeatureSpace

if TYPE_CHECKING:
    from pathlib import Path

    from tesselite.compiled.blocks import Lookup


class Tessellation(ABC):
    """A division of a feature space into niches, numbered from 0 to `n_niches` - 1. It never changes.

    Your own subclass sets `space` and `n_niches`, and finds niches with a `lookup`, as machine code inside the search
    loop, or with `niches_of_unit`. With `to_dict`, its runs and archives can be saved, resumed and shown.
    """

    kind: ClassVar[str] = "own"  # in files
    space: FeatureSpace
    n_niches: int
    # Points per axis of the lattice that decides between solutions of equal fitness; none: the first stays.
    tie_breaking: npt.ArrayLike = ()
    counts_outside: ClassVar[bool] = True  # whether an archive counts rows outside the bounds

    def __init_subclass__(cls, **options: Any) -> None:
        """A class that finds niches in Python does not inherit a look-up, which would find others."""
        super().__init_subclass__(**options)
        if "niches_of_unit" in vars(cls) and "lookup" not in vars(cls):
            cls.lookup = None  # type: ignore[assignment, method-assign]

    @property
    def lookup(self) -> Lookup | None:
        """How compiled code finds a niche (`tesselite.lookup`); None if only Python does."""
        return None

    def niches_of_unit(self, unit: Floats) -> Ints:
        """The niche of each of (n, d) unit-scaled rows, which are trusted to be finite; rows may be out of bounds."""
        lookup = self.lookup
        if lookup is None:
            raise NotImplementedError(f"{type(self).__name__}: expected niches_of_unit(unit) or a lookup")
        niches = np.empty(len(unit), np.int64)
        lookup.find(np.ascontiguousarray(unit), niches)
        return niches

    def niche_of(self, features: npt.ArrayLike) -> int | npt.NDArray[np.int64]:
        """The niche of one feature vector (d,), as an int, or of each of (n, d) rows, as an int64 array (n,).

        Rows outside the bounds go to a niche as well. Raises ValueError for a wrong shape and for NaN or infinity.
        """
        niches = self.niches_of_unit(self._unit_rows(features))
        return int(niches[0]) if np.ndim(features) == 1 else niches

    def _unit_rows(self, features: npt.ArrayLike) -> Floats:
        """Features (d,) or (n, d), checked, as unit-scaled rows (n, d)."""
        features = self.space.encoded(features)
        rows = as_floats("features", features, f"numbers of shape ({self.space.n},) or (n, {self.space.n})")
        if rows.ndim not in (1, 2) or rows.shape[-1] != self.space.n:
            raise ValueError(f"features: expected shape ({self.space.n},) or (n, {self.space.n}), got {rows.shape}")
        several = rows.reshape(-1, self.space.n)
        if not np.isfinite(several).all():
            row = int(np.argmin(np.isfinite(several).all(axis=1)))
            raise ValueError(f"features: expected finite values, got {several[row]} in row {row}")
        return self.space.to_unit(several)

    @property
    def given_space(self) -> FeatureSpace:
        """The features as they were given; their bounds may be open where the niches are yet to be made."""
        return self.space

    def centres(self, niches: Ints) -> Floats:
        """A place (n, d) in the middle of each of niches (n,), in feature units; ValueError if they have none."""
        raise ValueError(f"archive: expected a grid or a CVT, whose niches have centres, got {self.kind!r} niches")

    def could_hold(self, niches: Ints, features: Floats) -> bool:
        """Whether rows (n, d) lie in these niches (n,), but for the rounding of other libraries; False if unknown."""
        return False

    # -- files -----------------------------------------------------------------------------------------------------

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The arguments of its class by name, apart from the space, as JSON can hold them."""

    @classmethod
    def from_dict(cls, space: FeatureSpace, about: dict[str, Any]) -> Self:
        """The tessellation of this space that `to_dict` described."""
        return cls(space, **about)  # type: ignore[call-arg]

    def fingerprint(self) -> str:
        """A digest of the content, equal for equal tessellations."""
        text = json.dumps([type(self).__name__, self.space.to_dict(), self.to_dict()], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def block(self) -> Floats | None:
        """Numbers, one row per niche, that a file holds in addition to `to_dict`; None if there are none."""
        return None

    def keep(self, file: Path) -> None:  # noqa: B027
        """Write what `to_dict` leaves out to this file in the folder of a run; by default nothing."""

    # -- pictures --------------------------------------------------------------------------------------------------

    def drawing(self) -> dict[str, Any] | None:
        """How the page finds niches of two features at any zoom; None draws a picture made by the look-up.

        The page knows {"grid": cells per axis, "shift": 0 or a half} and {"centroids": unit-scaled float32, "p": p}.
        """
        return None

    @property
    def unknown_borders(self) -> str:
        """Why niches of two features have no `polygons`; empty if they do."""
        return "their borders are not known"

    def polygons(self, niches: Ints) -> list[Floats]:
        """The corners (m, 2), in feature units, of each of these niches of two features."""
        raise NotImplementedError


def checked_tessellation(tessellation: Any) -> Tessellation:
    """The tessellation, if it is one; ValueError otherwise."""
    if not isinstance(tessellation, Tessellation):
        raise ValueError(
            "tessellation: expected a grid or a CVT (tesselite.cvt), or a subclass of tesselite.Tessellation, "
            f"got {tessellation!r:.80}"
        )
    space, n_niches = getattr(tessellation, "space", None), getattr(tessellation, "n_niches", None)
    if not isinstance(space, FeatureSpace):
        raise ValueError(f"tessellation: expected space to be a FeatureSpace, got {space!r:.80}")
    if not is_whole(n_niches, 1) or n_niches >= 2**63:  # type: ignore[operator]
        raise ValueError(f"tessellation: expected n_niches from 1 to 2^63 - 1, got {n_niches!r:.80}")
    return tessellation

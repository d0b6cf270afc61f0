"""What a tessellation must be able to do; `grid` and `voronoi` are the two that come with the library."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tesselite.spaces.features import FeatureSpace


class Tessellation(Protocol):
    """What cuts a feature space into numbered niches."""

    @property
    def space(self) -> FeatureSpace:
        """The feature space that is cut."""

    @property
    def n_niches(self) -> int:
        """The number of niches."""

    def niche_of(self, features: Any) -> Any:
        """The niche of one feature vector, or of each row."""

    def niches_of_unit(self, unit: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        """The niche of each unit-scaled row, trusted."""

    def fingerprint(self) -> str:
        """A digest of the content, equal for equal tessellations."""

"""Provisional: a placeholder for niches until the bounds of the features are known. Every feature vector has its
own."""

from __future__ import annotations

import hashlib
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from tesselite.base.arrays import Floats
from tesselite.spaces.features import FeatureSpace
from tesselite.tessellation.protocol import Tessellation


class Provisional(Tessellation):
    """A niche for each different feature vector, so that no solution is lost before there are real niches.

    Where bounds of `features` are open, those of `space` are made up. Rows outside are not counted: there is no nearest
    niche that they go to.
    """

    kind = "provisional"
    n_niches = 2**62
    counts_outside = False

    def __init__(self, features: FeatureSpace) -> None:
        self.features = features
        low, high = features.low.copy(), features.high.copy()
        open_low, open_high = np.isinf(low), np.isinf(high)
        low[open_low & open_high] = 0.0
        low[open_low & ~open_high] = high[open_low & ~open_high] - 1.0
        high[open_high] = low[open_high] + 1.0
        self.space = features.within(low, high)
        self._factors = np.random.default_rng(0).integers(0, 2**63, features.n, dtype=np.uint64) * np.uint64(2)
        self._factors += np.uint64(1)

    @property
    def given_space(self) -> FeatureSpace:
        """The features, with open bounds."""
        return self.features

    def niches_of_unit(self, unit: Floats) -> npt.NDArray[np.int64]:
        """The niche of each of (n, d) unit-scaled rows: 62 bits of a hash, which differ for different rows."""
        words = np.ascontiguousarray(unit + 0.0).view(np.uint64)  # -0.0 is 0.0
        words = (words ^ (words >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed: npt.NDArray[np.uint64] = (words ^ (words >> np.uint64(32))) @ self._factors
        return (mixed >> np.uint64(2)).astype(np.int64)

    def to_dict(self) -> dict[str, Any]:
        """The features with their open bounds."""
        return {"features": self.features.to_dict()}

    @classmethod
    def from_dict(cls, space: FeatureSpace, about: dict[str, Any]) -> Self:
        """Made from the features with open bounds."""
        return cls(space)

    def fingerprint(self) -> str:
        """A digest of the features and the known bounds."""
        text = repr(("provisional", self.features.to_dict()))
        return hashlib.sha256(text.encode()).hexdigest()

    def __repr__(self) -> str:
        return f"Provisional(a niche for each feature vector of {', '.join(self.space.names[:6])})"

"""Features scaled to the unit cube, compiled, where every axis is linear; other scales are in `feature_space`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tesselite.compiled import kernel

Floats = npt.NDArray[np.float64]


@kernel()
def scale_rows(
    features: Floats, valid: npt.NDArray[np.bool_], low: Floats, high: Floats, per_unit: Floats, unit: Floats
) -> int:
    """Fill unit (n, d) as `FeatureSpace.to_unit` and count the rows out of bounds; invalid rows become 0, uncounted."""
    n_outside = 0
    for i in range(features.shape[0]):
        outside = False
        for j in range(features.shape[1]):
            x = features[i, j]
            outside |= x < low[j] or x > high[j]
            unit[i, j] = (x - low[j]) * per_unit[j] if valid[i] else 0.0
        n_outside += valid[i] and outside
    return n_outside

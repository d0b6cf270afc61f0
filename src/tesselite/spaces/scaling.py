"""Checking and scaling of evaluated rows, compiled, for linear axes; other scales are in `feature_space`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tesselite.compiled.kernels import kernel

Floats = npt.NDArray[np.float64]


@kernel(allocates=False)
def scale_rows(
    features: Floats, valid: npt.NDArray[np.bool_], low: Floats, high: Floats, per_unit: Floats, unit: Floats
) -> int:
    """Fill unit (n, d) as `FeatureSpace.to_unit` and count the rows out of bounds; invalid rows become 0, uncounted."""
    n_outside = 0
    for i in range(features.shape[0]):
        outside = False
        for j in range(features.shape[1]):
            x = features[i, j]
            outside |= (x < low[j]) | (x > high[j])
            unit[i, j] = (x - low[j]) * per_unit[j]
        n_outside += valid[i] & outside
        if not valid[i]:
            unit[i] = 0.0
    return n_outside


@kernel(allocates=False)
def all_valid(fitness: Floats, features: Floats, valid: npt.NDArray[np.bool_]) -> bool:
    """Whether all rows are marked valid, and fitness (n,) and features (n, d) are finite throughout."""
    result = True
    for i in range(fitness.shape[0]):
        sum_of_zeros = fitness[i] * 0.0  # a product with 0 is 0 unless a factor is NaN or infinite
        for j in range(features.shape[1]):
            sum_of_zeros += features[i, j] * 0.0
        result &= valid[i] & (sum_of_zeros == 0.0)
    return result

"""Checking and scaling of evaluated rows, compiled, for linear, periodic and label axes; scales are in `features`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tesselite.base.arrays import Floats, Ints
from tesselite.compiled.kernels import kernel


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


LINE, RING, NAMES = 0, 1, 2  # kinds of features: between two bounds, periodic, labels


@kernel(allocates=False)
def _is_wrapped(x: float, low: float, high: float, per_unit: float) -> bool:
    """Whether a value lies in [low, high) and, after scaling and rounding, in [0, 1)."""
    return low <= x < high and (x - low) * per_unit < 1.0


@kernel(allocates=False)
def settle_rows(n: int, features: Floats, kinds: Ints, low: Floats, high: Floats, per_unit: Floats) -> None:
    """Wrap periodic features of the first n rows into [low, high), in place; values that are not labels are put
    outside.

    NaN and infinity stay.
    """
    for i in range(n):
        for j in range(kinds.shape[0]):
            x = features[i, j]
            if not np.isfinite(x):
                continue
            if kinds[j] == RING and not _is_wrapped(x, low[j], high[j], per_unit[j]):
                rest = np.fmod(x - low[j], high[j] - low[j])  # exact; NaN where the difference overflows
                x = low[j] + (rest + (high[j] - low[j]) if rest < 0.0 else rest)
                features[i, j] = x if _is_wrapped(x, low[j], high[j], per_unit[j]) else low[j]
            elif kinds[j] == NAMES and x != np.floor(x):
                features[i, j] = high[j] + 1.0


@kernel(allocates=False)
def axis_gap(kind: int, x: float, y: float) -> float:
    """Distance of two unit-scaled values of a feature; different labels are at distance 1."""
    gap = abs(x - y)
    if kind == RING:
        return min(gap, 1.0 - gap)
    if kind == LINE:
        return gap
    return 1.0 if gap > 0.0 else 0.0

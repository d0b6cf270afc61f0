"""Principal components of an archive's features: the directions, and the features, in which its elites differ most.

Pictures of them are drawn in `tesselite.report.pair_plots` and on the interactive page. Pearson (1901), "On lines and
planes of closest fit to systems of points in space".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tesselite.base.arrays import Floats
from tesselite.tessellation.nearest.principal import leading_components

_NO_SHARE = 1e-12  # of the variance, and (squared) of the features themselves: less than this is rounding
_SAME_WEIGHT = 1e-6


@dataclass(frozen=True)
class Components:
    """Where m rows are along c principal components, the largest first.

    `places` (m, c) are centred; `shares` (c,) of the variance are in [0, 1]; `axes` (c, d) are unit vectors. Beyond
    the number of directions in which the rows differ at all (`n_varying`) all three are 0.
    """

    places: Floats
    shares: Floats
    axes: Floats

    @property
    def n_varying(self) -> int:
        """How many of these components have any variance."""
        return int(np.count_nonzero(self.shares))


def principal_components(rows: Floats, n_components: int) -> Components:
    """The first components of rows (m, d), which are not scaled; signs are fixed: the largest weight is positive.

    It takes about a second for 10,000 rows of 1,000 features.
    """
    m, d = rows.shape
    found = Components(np.zeros((m, n_components)), np.zeros(n_components), np.zeros((n_components, d)))
    if m < 2:
        return found
    mean, axes, _ = leading_components(rows, n_components)
    centred = rows - mean
    total = float(np.einsum("ij,ij->", centred, centred))
    least = max(_NO_SHARE * total, _NO_SHARE**2 * m * float(mean @ mean))
    for i, axis in enumerate(axes):
        # Of weights that are equal up to rounding the first counts, so that all machines agree on the sign.
        sizes = np.abs(axis)
        axis = axis * np.sign(axis[np.argmax(sizes >= sizes.max() * (1.0 - _SAME_WEIGHT))])
        places = centred @ axis
        variance = float(places @ places)
        if variance <= least:
            break
        found.axes[i], found.shares[i], found.places[:, i] = axis, variance / total, places
    return found


def most_varied(rows: Floats, most: int) -> list[int]:
    """The columns of rows (m, d) with the largest variances, at most `most`, in their own order."""
    if rows.shape[1] <= most:
        return list(range(rows.shape[1]))
    variances = rows.var(axis=0) if len(rows) else np.zeros(rows.shape[1])
    return sorted(np.argsort(-variances, kind="stable")[:most].tolist())

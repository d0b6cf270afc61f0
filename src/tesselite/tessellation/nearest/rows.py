"""The compiled look-up that the search loop calls: one signature, whatever kind of index answers.

How the indexes are built lives in `tree`, `table` and `filtered`; which one to build is decided in `index`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tesselite.compiled.kernels import kernel
from tesselite.tessellation.nearest.filtered import filtered_rows
from tesselite.tessellation.nearest.table import fetch_candidates, table_search
from tesselite.tessellation.nearest.tree import FANOUT, brute_rows, finite, tree_search

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

BRUTE, TREE, TABLE, FILTERED = 0, 1, 2, 3  # the kinds of index; a table has a tree as well, for points outside

_FETCHED = 32  # look-ups whose parts of the table are fetched ahead together
_SMALL = 4096  # a table of so few centroids is in the cache anyway


@kernel()
def find_rows(
    points: Floats,
    out: Ints,
    start: int,
    stop: int,
    code: int,
    centroids: Floats,
    floats: Floats,
    ints: Ints,
    p: float,
) -> None:
    """out[start:stop] = ids of the centroids nearest to those rows of unit-scaled points, the lowest id on ties.

    `points` (n, d), `out` (n,), `centroids` (k, d) unit-scaled; `code`, `floats` and `ints` are an index's. Every
    row gets one of the k ids, whatever its values are; infinity counts as the largest finite number.
    """
    if code == FILTERED:
        filtered_rows(points, out, start, stop, centroids, floats, ints)
        return
    kind = 4
    if p == 2.0:
        kind = 0
    elif p == 1.0:
        kind = 1
    elif p == np.inf:
        kind = 2
    elif p == 0.5:
        kind = 3
    if code == BRUTE:
        brute_rows(points, out, start, stop, floats, ints, kind, p)
        return
    d = points.shape[1]
    sums = np.empty(FANOUT)
    bounds = np.empty(6 * FANOUT)
    path = np.empty(24, np.int64)
    x = np.zeros(ints[2])
    for i in range(start, stop):
        if code == TABLE and (i - start) % _FETCHED == 0 and len(centroids) > _SMALL:
            fetch_candidates(points, i, min(i + _FETCHED, stop), centroids, ints, ints[4])
        if code == TABLE and 0.0 <= points[i, 0] <= 1.0 and 0.0 <= points[i, 1] <= 1.0:
            out[i] = table_search(points[i, 0], points[i, 1], centroids, ints, ints[4])
        else:
            for j in range(d):
                x[j] = finite(points[i, j])
            out[i] = tree_search(x, floats, ints, kind, p, sums, bounds, path)

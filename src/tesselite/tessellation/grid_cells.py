"""The cell of a feature vector in a grid, compiled; what a grid is lives in `grid`."""

from __future__ import annotations

import numpy as np

from tesselite.base.arrays import Floats, Ints
from tesselite.compiled.blocks import lookup_block
from tesselite.tessellation.grid import UP_A_HAIR


@lookup_block
def find_cells(points: Floats, floats: Floats, ints: Ints, niches: Ints) -> None:
    """`floats` are the shift, which is 0, or a half for cells around whole numbers, and the cells per axis.

    `ints` are the strides of the niches' numbers. Every point gets a niche of the grid, whatever its values are; NaN
    counts as 0.
    """
    shift = floats[0]
    for i in range(points.shape[0]):
        niche = 0
        for j in range(points.shape[1]):
            cells = floats[1 + j]
            cell = np.floor(points[i, j] * cells * UP_A_HAIR + shift)
            cell = min(cell, cells - 1.0) if cell > 0.0 else 0.0
            niche += np.int64(cell) * ints[j]
        niches[i] = niche

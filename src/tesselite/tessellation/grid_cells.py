"""The cell of a feature vector in a grid, compiled; what a grid is lives in `grid`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tesselite.compiled.kernels import kernel
from tesselite.tessellation.grid import UP_A_HAIR

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@kernel()
def find_cells(unit: Floats, out: Ints, start: int, stop: int, cells: Floats, strides: Ints, shift: float) -> None:
    """out[start:stop] = the niches of those unit-scaled rows (n, d), in a grid of so many cells per axis.

    `shift` is 0, or a half for cells around whole numbers. Every row gets a niche of the grid, whatever its values
    are; NaN counts as 0.
    """
    for i in range(start, stop):
        niche = 0
        for j in range(cells.shape[0]):
            cell = np.floor(unit[i, j] * cells[j] * UP_A_HAIR + shift)
            cell = min(cell, cells[j] - 1.0) if cell > 0.0 else 0.0
            niche += np.int64(cell) * strides[j]
        out[i] = niche

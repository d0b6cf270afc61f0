"""What a search remembers of the features it has seen: their ranges, and a thinned set of them.

Both take bounded memory, and depend on the order of rows alone, not on how they were cut into batches. Niches are made
from them in `expanding` and `adaptive`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tesselite.base.arrays import Floats

HUGE = 1e100  # larger magnitudes count as infinite: they would stretch the bounds indefinitely
_CELLS = 1024  # along each feature, at first
_FAR = 40  # doublings of the first size, of which a third lies between the origin of the grid and the first range
_KEPT = 0.75  # of the rows that there is room for, at most, when cells become coarser


class SeenRanges:
    """The range of each feature, without the `outliers` lowest and the `outliers` highest values.

    `lowest` and `highest`, (outliers + 1, d), hold the most extreme values from the outside to the inside; infinite
    where fewer were seen.
    """

    def __init__(self, n_features: int, outliers: int) -> None:
        self.lowest: Floats = np.full((outliers + 1, n_features), np.inf)
        self.highest: Floats = np.full((outliers + 1, n_features), -np.inf)

    def see(self, features: Floats) -> None:
        """Take in rows (n, d), which are finite."""
        if not ((features < self.lowest[-1]) | (features > self.highest[-1])).any():  # as nearly always
            return
        usable = np.abs(features) <= HUGE
        low, high = np.where(usable, features, np.inf), np.where(usable, features, -np.inf)
        n = len(self.lowest)
        self.lowest = np.sort(np.concatenate([self.lowest, low]), axis=0)[:n]
        self.highest = -np.sort(-np.concatenate([self.highest, high]), axis=0)[:n]

    def bounds(self) -> tuple[Floats, Floats]:
        """Low and high (d,) of what counts; infinite where too little was seen."""
        return self.lowest[-1], self.highest[-1]


class ThinnedFeatures:
    """At most `at_most` rows of all that were seen: the first of each cell of a fine grid, so that frequent visits do
    not decide.

    The grid begins with 1,024 to 2,047 cells along the range of each feature. When there are too many rows, cells
    become coarser: they are doubled along one feature after the other, as often as it takes, and the first row of each
    cell stays. Sizes are powers of two, so that each cell is a part of a coarser one. Before ranges are known, the
    first `at_most` rows are kept as they are.
    """

    def __init__(self, n_features: int, at_most: int) -> None:
        self.at_most = at_most
        self.features: Floats = np.empty((0, n_features))
        self.found = 0  # rows that were the first of their cell when they came
        self.doublings = 0  # of single features' cells, one feature after the other
        self.grid: Floats = np.empty((0, n_features))  # its origin, and the binary logarithm of the cells' first sizes
        self._cells: set[int] = set()
        # A cell's 64-bit number: collisions are as rare as 2^-64 for each pair, and cost a row.
        self._factors = np.random.default_rng(0).integers(1, 2**63, n_features, dtype=np.uint64) * np.uint64(2)
        self._factors += np.uint64(1)

    def see(self, features: Floats) -> None:
        """Take in rows (n, d), in order."""
        if not len(self.grid):
            self._append(features[: self.at_most - len(self.features)])
            return
        while len(features):
            room, fresh, done = self.at_most - len(self.features), [], 0
            for cell in self._numbers(features, self.doublings).tolist():
                if cell not in self._cells:
                    self._cells.add(cell)
                    fresh.append(done)
                done += 1
                if len(fresh) > room:
                    break
            if fresh:
                self._append(features[fresh])
            if len(fresh) > room:
                self._coarsen()
            features = features[done:]

    def _append(self, features: Floats) -> None:
        self.found += len(features)
        self.features = np.concatenate([self.features, features])

    def scale(self, low: Floats, high: Floats) -> None:
        """Update the ranges (d,) of the features; cells never become smaller."""
        wanted = np.floor(np.log2((high - low) / _CELLS))
        if not len(self.grid):
            # A third of a large power of two below: no border of cells stays one however coarse they become, as one at
            # 0 would, so that any two points get into the same cell in the end.
            self.grid = np.array([low - np.ldexp(1.0, wanted.astype(np.int64) + _FAR) / 3.0, wanted])
        elif not (wanted > self.grid[1]).any():
            return
        self.grid[1] = np.maximum(self.grid[1], wanted)
        self._keep_first(self.doublings)

    def restore(self, features: Floats, grid: Floats, found: int, doublings: int) -> None:
        """Go back to what these attributes were."""
        self.features, self.grid, self.found, self.doublings = features, grid, found, doublings
        if len(grid):
            self._cells = set(self._numbers(features, doublings).tolist())

    def _numbers(self, features: Floats, doublings: int) -> npt.NDArray[np.uint64]:
        """The number of each row's cell after this many doublings."""
        d = features.shape[1]
        exponents = self.grid[1].astype(np.int64) + doublings // d + (np.arange(d) < doublings % d)
        cells = np.floor(np.ldexp(features - self.grid[0], -exponents))
        whole: npt.NDArray[np.uint64] = cells.clip(-(2.0**62), 2.0**62).astype(np.int64).astype(np.uint64)
        return whole @ self._factors

    def _keep_first(self, doublings: int) -> None:
        numbers, first = np.unique(self._numbers(self.features, doublings), return_index=True)
        self.doublings = doublings
        self.features = self.features[np.sort(first)]
        self._cells = set(numbers.tolist())

    def _coarsen(self) -> None:
        """Double cells until at most three quarters of the rows that there is room for stay, and not more often."""
        limit, few, many = _KEPT * self.at_most, self.doublings, self.doublings + 1

        def count(doublings: int) -> int:
            return len(np.unique(self._numbers(self.features, doublings)))

        while count(many) > limit:
            few, many = many, many + 2 * (many - self.doublings)
        while many - few > 1:
            middle = (few + many) // 2
            few, many = (middle, many) if count(middle) > limit else (few, middle)
        self._keep_first(many)

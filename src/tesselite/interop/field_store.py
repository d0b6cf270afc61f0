"""FieldStore: named arrays that share rows, one row for each filled cell, in the order in which cells were filled.

It holds the fields of another library's archive, of any shape and kind; its owner decides which elites enter. Rows grow
as cells fill, as in `tesselite.archive`, whose index from cells to rows it shares.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tesselite.archive.elitism import find_rows, new_index, set_row
from tesselite.base.arrays import Floats, Ints
from tesselite.base.interruption import uninterrupted
from tesselite.compiled.kernels import kernel
from tesselite.spaces.records import Values


class FieldStore:
    """Fields of the elites of up to `n_cells` cells; `fields` gives the shape and the dtype of each.

    `changes` counts what has changed the store.
    """

    def __init__(self, fields: Mapping[str, tuple[tuple[int, ...], Any]], n_cells: int) -> None:
        self.n_cells = n_cells
        self.changes = 0
        self._n = 0
        self._cells: Ints = np.empty(0, np.int64)
        self._arrays: Values = {name: np.empty((0, *shape), dtype) for name, (shape, dtype) in fields.items()}
        self._index = new_index(n_cells, 0)
        self._slots: Ints = np.empty(0, np.int64)  # room for `choose_best`, all -1 between its calls

    def __len__(self) -> int:
        return self._n

    @property
    def names(self) -> list[str]:
        """The fields, in order."""
        return list(self._arrays)

    @property
    def dtypes(self) -> dict[str, np.dtype[Any]]:
        """The kind of values of each field."""
        return {name: array.dtype for name, array in self._arrays.items()}

    @property
    def cells(self) -> Ints:
        """The filled cells (n,), in order of filling."""
        return self._cells[: self._n]

    def rows_of(self, cells: Ints) -> Ints:
        """The row of each cell, -1 where it is empty."""
        rows = np.empty(len(cells), np.int64)
        find_rows(*self._index, cells, rows)
        return rows

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        """The rows of a field themselves, (n, ...)."""
        return self._arrays[name][: self._n]

    @uninterrupted()
    def fill(self, cells: Ints) -> None:
        """Give these cells, different ones that are empty, the next rows; `put` sets what is in them."""
        first, last = self._n, self._n + len(cells)
        self._reserve(last)
        self._cells[first:last] = cells
        self._n = last
        note_rows(*self._index, self._cells, first, last)

    @uninterrupted()
    def put(self, rows: Ints, values: Mapping[str, npt.NDArray[Any]]) -> None:
        """Replace what is in these different rows."""
        for name, array in self._arrays.items():
            array[rows] = values[name]
        self.changes += 1

    def _reserve(self, n: int) -> None:
        if n <= len(self._cells):
            return
        size = min(max(n, 2 * len(self._cells), 256), self.n_cells)
        self._cells = np.concatenate([self._cells, np.empty(size - len(self._cells), np.int64)])
        for name, array in self._arrays.items():
            grown = np.empty((size, *array.shape[1:]), array.dtype)
            grown[: self._n] = array[: self._n]
            self._arrays[name] = grown
        self._slots = np.full(size, -1, np.int64)
        if len(self._index[0]):  # a hash table, which must stay at most half full
            self._index = new_index(self.n_cells, size)
            note_rows(*self._index, self._cells, 0, self._n)

    @uninterrupted()
    def clear(self) -> None:
        """Empty all cells."""
        self._n = 0
        self._index = new_index(self.n_cells, len(self._cells))
        self.changes += 1

    def best_of_rows(self, rows: Ints, scores: Floats, eligible: npt.NDArray[np.bool_]) -> tuple[Ints, Ints]:
        """Of the eligible candidates of each row the best, the first of equals.

        Returns their numbers (m,), and for each candidate (n,) which of these its row has; -1 if it is not eligible.
        """
        best, group = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
        m = choose_best(rows, scores, eligible, self._slots, best, group)
        return best[:m], group


@kernel(allocates=False)
def note_rows(keys: Any, index: Any, cells: Any, first: int, last: int) -> None:
    """Note rows first to last - 1 as those of their cells."""
    for row in range(first, last):
        set_row(keys, index, cells[row], row)


@kernel(allocates=False)
def choose_best(rows: Any, scores: Any, eligible: Any, slots: Any, best: Any, group: Any) -> int:
    """`FieldStore.best_of_rows`; returns how many there are. `slots` are -1, and stay so."""
    m = 0
    for i in range(rows.shape[0]):
        group[i] = -1
        if eligible[i]:
            k = slots[rows[i]]
            if k < 0:
                k = m
                slots[rows[i]] = k
                best[k] = i
                m += 1
            elif scores[i] > scores[best[k]]:
                best[k] = i
            group[i] = k
    for k in range(m):
        slots[rows[best[k]]] = -1
    return m

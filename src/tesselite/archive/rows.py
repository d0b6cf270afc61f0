"""Where an archive keeps its elites: rows that grow as niches fill, and the index from niches to rows."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tesselite.archive import elitism
from tesselite.base.arrays import Floats, Ints
from tesselite.base.checks import checked_count
from tesselite.base.interruption import uninterrupted
from tesselite.spaces.records import Records, Values
from tesselite.spaces.solutions import Rows

# Up to this many bytes, room for all niches is reserved at once: untouched memory costs nothing, and growing step by
# step would copy every elite several times.
_AT_ONCE = 1 << 28

_COLUMNS = ("_niches", "_fitness", "_features", "_solutions", "_evaluations")


def _checked_dtype(dtype: npt.DTypeLike) -> np.dtype[Any]:
    """The kind of a solution's values, in this machine's order of bytes; ValueError if a file could not hold it."""
    try:
        kind = np.dtype(dtype).newbyteorder("=")
    except TypeError:
        kind = np.dtype(object)
    if kind.kind not in "biuf" or kind.itemsize > 8:
        raise ValueError(f"dtype: expected booleans, whole numbers or floats of up to 8 bytes, got {dtype!r:.80}")
    return kind


class _OneAtATime:
    """A lock for one thread at a time: another one's attempt raises RuntimeError instead of waiting."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            raise RuntimeError(
                "archive: another thread is changing it; give each thread its own archive and merge them, "
                "or guard it with a lock"
            )

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def __reduce__(self) -> Any:  # a copy of an archive has a turn of its own
        return _OneAtATime, ()


class EliteRows:
    """Elites in order of filling: niches, fitness, features and records, solutions, evaluations, texts.

    Everything that changes them happens within `one_at_a_time`.
    """

    def __init__(
        self,
        n_niches: int,
        n_features: int,
        width: int,
        dtype: npt.DTypeLike,
        records: Records | Mapping[str, Any] | None,
    ) -> None:
        self.n_niches = n_niches  # filled or not
        self.records = records if isinstance(records, Records) else Records(records)
        self.width = checked_count("width", width, below=2**31, floats=False)  # number of values in a solution's row
        self.dtype: np.dtype[Any] = _checked_dtype(dtype)
        self._n_columns = n_features + self.records.width
        self._n = 0
        self._niches: Ints = np.empty(0, np.int64)
        self._fitness: Floats = np.empty(0, np.float64)
        self._features: Floats = np.empty((0, self._n_columns), np.float64)  # and records
        self._texts: Values = {name: np.empty(0, object) for name in self.records.texts}
        self._solutions: Rows = np.empty((0, self.width), self.dtype)
        self._evaluations: Ints = np.empty(0, np.int64)
        self._index: tuple[Ints, Ints] = elitism.new_index(self.n_niches, 0)
        self.one_at_a_time = _OneAtATime()

    def __len__(self) -> int:
        """The number of filled niches."""
        return self._n

    def reserve(self, n: int) -> None:
        """Make room for n more elites without another allocation.

        All that changes an archive begins with this: it raises ValueError if the rows are not as they were left.
        """
        keys, rows = self._index
        capacity = len(self._fitness)
        if not (
            self._n <= capacity == len(self._niches) == len(self._evaluations)
            and self._features.shape == (capacity, self._n_columns)
            and self._solutions.shape == (capacity, self.width)
            and self._solutions.dtype == self.dtype
            and len(rows) == (len(keys) or self.n_niches)
        ):
            raise ValueError("archive: its arrays were replaced or resized; change an archive only through its methods")
        need = min(self._n + n, self.n_niches)
        if need > len(self._fitness):
            size = min(max(need, 2 * len(self._fitness), 256), self.n_niches)
            if not len(keys) and self.n_niches * self._row_bytes() <= _AT_ONCE:
                size = self.n_niches
            for name in _COLUMNS:
                old = getattr(self, name)
                new = np.empty((size, *old.shape[1:]), old.dtype)
                new[: self._n] = old[: self._n]
                setattr(self, name, new)
            for name, texts in self._texts.items():
                self._texts[name] = np.concatenate([texts[: self._n], np.full(size - self._n, "", object)])
        # The compiled loop fills every row there is room for, so the index must hold them all at most half full.
        if len(keys) and 2 * len(self._fitness) > len(keys):
            index = elitism.new_index(self.n_niches, len(self._fitness))
            elitism.set_rows(*index, self._niches[: self._n])
            self._index = index

    def _row_bytes(self) -> int:
        return self.dtype.itemsize * self.width + 8 * (3 + self._features.shape[1])

    @property
    def capacity(self) -> int:
        """How many elites there is room for before the rows grow."""
        return len(self._fitness)

    @property
    def solutions(self) -> Rows:
        """The rows of solutions themselves, in order of filling; valid up to len(archive)."""
        return self._solutions

    def arrays(self) -> elitism.EliteArrays:
        """The rows and the index themselves."""
        return elitism.EliteArrays(
            self._niches,
            self._fitness,
            self._features,
            self._solutions.view(np.uint8),
            self._evaluations,
            *self._index,
        )

    def note_filled(self, n: int) -> None:
        """Record that n rows are filled now."""
        self._n = n

    def keep(self, rows: Ints | None) -> None:
        """Drop all elites but those in these different rows, which take this order; None keeps all."""
        if rows is None:
            return
        n = len(rows)
        with uninterrupted(), self.one_at_a_time:
            for values in (*(getattr(self, name) for name in _COLUMNS), *self._texts.values()):
                values[:n] = values[rows]
            self._n = n
            self._index = elitism.new_index(self.n_niches, len(self._fitness))
            elitism.set_rows(*self._index, self._niches[:n])

    def take_better(self, other: EliteRows, rule: elitism.Elitism) -> int:
        """Take over every elite of `other`, of the same kind, that is better than the one here; returns how many."""
        other.reserve(0)  # checks its rows
        self.reserve(len(other))
        niches, fitness = other._niches[: len(other)], other._fitness[: len(other)]
        rows = np.empty(len(other), np.int64)
        elitism.find_rows(*self._index, niches, rows)
        new = rows < 0
        ours = self._fitness[np.where(new, 0, rows)] if self._n else np.zeros(len(other))
        taken = new | (rule.sign * fitness > rule.sign * ours)
        for theirs in np.flatnonzero(~new & (fitness == ours)).tolist():
            taken[theirs] = other._tie_order(theirs, rule) < self._tie_order(int(rows[theirs]), rule)
        rows[new] = self._n + np.arange(new.sum())
        self._n += int(new.sum())
        for name in _COLUMNS:
            getattr(self, name)[rows[taken]] = getattr(other, name)[: len(other)][taken]
        for name, texts in self._texts.items():
            texts[rows[taken]] = other._texts[name][: len(other)][taken]
        elitism.set_rows(*self._index, self._niches[: self._n])
        return int(taken.sum())

    def _tie_order(self, row: int, rule: elitism.Elitism) -> tuple[Any, ...]:
        return (
            elitism.lattice_distance(self._features, row, rule),
            self._fitness[row].tobytes(),
            self._features[row].tobytes(),
            self._solutions[row].tobytes(),
            int(self._evaluations[row]),
            *(texts[row] for texts in self._texts.values()),
        )

"""Acceptance thresholds: a number for each niche, which rises slowly with the solutions found there.

Fontaine and Nikolaidis, "Covariance Matrix Adaptation MAP-Annealing", GECCO 2023: a solution that is better than its
niche's threshold t is worth f - t, and t becomes (1 - alpha) t + alpha f. They belong to an emitter; the archive keeps
the best of every niche, whatever the thresholds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tesselite.archive.elitism import find_row, new_index, set_row, set_rows
from tesselite.base.arrays import Floats, Ints
from tesselite.compiled.kernels import kernel


class Thresholds:
    """The thresholds of niches, in rows in the order of their first acceptance, for fitness that is maximised."""

    def __init__(self, alpha: float) -> None:
        self.alpha = alpha
        self._n_niches = 0
        self._highest = 0  # enough niches for the largest known number
        self._n = 0
        self._niches, self._values = np.empty(0, np.int64), np.empty(0)
        self._index = np.empty(0, np.int64), np.empty(0, np.int64)

    def __len__(self) -> int:
        return self._n

    def value(self, niche: int) -> float | None:
        """The threshold of a niche, None before its first acceptance."""
        row = int(find_row(*self._index, niche)) if self._n_niches else -1
        return None if row < 0 else float(self._values[row])

    def judge(self, n_niches: int, niches: Ints, fitness: Floats, least: float) -> Floats:
        """By how much n rows exceed their thresholds, as those are before them; then the thresholds rise row by row.

        `least` is the threshold of a niche that has accepted nothing. -inf where the niche is -1.
        """
        # Growing niches may have increased in number since the emitter was asked.
        index, known, values = self.arrays(max(n_niches, int(niches.max(initial=-1)) + 1), len(niches))
        worth = np.empty(len(niches))
        self._n = judge(self.alpha, least, niches, fitness, *index, self._n, known, values, worth)
        return worth

    def arrays(self, n_niches: int, n: int) -> tuple[tuple[Ints, Ints], Ints, Floats]:
        """The index, niches and thresholds themselves, for compiled code, with room for n more."""
        self._highest = max(self._highest, n_niches)
        self._reserve(self._highest, n)
        return self._index, self._niches, self._values

    def note_filled(self, n: int) -> None:
        """Record that there are n thresholds now."""
        self._n = n

    def _reserve(self, n_niches: int, n: int) -> None:
        """Reserve room for n more."""
        if n_niches == self._n_niches and self._n + n <= len(self._values):
            return
        self._n_niches = n_niches
        room = max(1024, 2 * self._n, self._n + n)
        for name in ("_niches", "_values"):
            old = getattr(self, name)
            grown = np.empty(room, old.dtype)
            grown[: self._n] = old[: self._n]
            setattr(self, name, grown)
        self._index = new_index(n_niches, room)
        set_rows(*self._index, self._niches[: self._n])

    def renumber(self, before: Ints, after: Ints) -> None:
        """Elites of the niches `before` are in `after` now: each takes its threshold along, the others are dropped."""
        known = dict(zip(self._niches[: self._n].tolist(), self._values[: self._n].tolist(), strict=True))
        moved = {new: known[old] for old, new in zip(before.tolist(), after.tolist(), strict=True) if old in known}
        self.restore({"niches": np.array(list(moved), np.int64), "thresholds": np.array(list(moved.values()))})

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Niches and thresholds."""
        return {"niches": self._niches[: self._n], "thresholds": self._values[: self._n]}

    def restore(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Take back what `state` returned."""
        self._niches, self._values = state["niches"].astype(np.int64), state["thresholds"].astype(np.float64)
        self._n, self._n_niches = len(self._niches), 0
        self._highest = int(self._niches.max(initial=-1)) + 1


@kernel(allocates=False)
def judge(
    alpha: float,
    least: float,
    niches: Any,
    fitness: Any,
    keys: Any,
    rows: Any,
    n: int,
    known: Any,
    values: Any,
    worth: Any,
) -> int:
    """`Thresholds.judge`; returns how many niches have one now."""
    for i in range(niches.shape[0]):
        worth[i] = -np.inf
        if niches[i] >= 0:
            row = find_row(keys, rows, niches[i])
            worth[i] = fitness[i] - (values[row] if row >= 0 else least)
    for i in range(niches.shape[0]):
        if niches[i] >= 0:
            row = find_row(keys, rows, niches[i])
            threshold = values[row] if row >= 0 else least
            if fitness[i] > threshold:
                if row < 0:
                    row = n
                    known[n] = niches[i]
                    set_row(keys, rows, niches[i], n)
                    n += 1
                values[row] = (1.0 - alpha) * threshold + alpha * fitness[i]
    return n

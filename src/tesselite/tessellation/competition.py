"""Selection in populations without niches: solutions compete with their neighbours in feature space.

The records by which such populations are asked for are in `population`. Distances are Euclidean, in features that are
scaled to their bounds; a feature whose bounds are open counts in its own units.

- `Dominated`: dominated novelty search (Bahlous-Boldi, Faldor et al. 2025, arXiv 2502.00593). Ties of fitness are
  decided by the number of the evaluation, so that of two equal solutions exactly one dominates the other.
- `LocalCompetition`: novelty with local competition (Lehman and Stanley 2011), selected as NSGA-II does.
- `Tournament`: restricted tournament selection (Harik 1995), in feature space.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tesselite.base.arrays import Floats, Ints
from tesselite.base.seeds import Purpose, generator
from tesselite.compiled.kernels import kernel
from tesselite.tessellation.protocol import Tessellation
from tesselite.tessellation.revision import Revision

if TYPE_CHECKING:
    from tesselite.tessellation.population import Dns, Nslc, Rts

REMEMBER_EVERY = 20  # novelty search with local competition keeps one of this many evaluations permanently


class Competition(Revision):
    """The selection of a population; it never makes niches."""

    every = 2**61
    selects = True

    def revise(self, tessellation: Tessellation, features: Floats, evaluations: int) -> Tessellation | None:
        """No niches."""
        return None


def ranks(fitness: Floats, evaluations: Ints) -> Ints:
    """The place (n,) of each row in the order of fitness, the best first; of equals, the earlier evaluation."""
    order = np.lexsort((evaluations, -fitness))
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    return places


@kernel()
def _take_in(a: int, b: int, points: Floats, i: int, j: int, squares: Floats, who: Ints, twice: bool) -> None:
    """Put j among the nearest of i, by distance and then number, if it is near enough and not there yet.

    Their points are the rows a and b.
    """
    k = squares.shape[1]
    worst = squares[i, k - 1]
    square = 0.0
    for axis in range(points.shape[1]):
        difference = points[a, axis] - points[b, axis]
        square += difference * difference
        if square > worst:
            return
    if square == worst and who[i, k - 1] >= 0 and who[i, k - 1] < j:
        return
    if twice:
        for c in range(k):
            if who[i, c] == j:
                return
    c = k - 1
    while c > 0 and (squares[i, c - 1] > square or (squares[i, c - 1] == square and (who[i, c - 1] > j))):
        squares[i, c], who[i, c] = squares[i, c - 1], who[i, c - 1]
        c -= 1
    squares[i, c], who[i, c] = square, j


@kernel()
def nearest_better(rows: Ints, others: Ints, places: Ints, points: Floats, squares: Floats, who: Ints) -> None:
    """Take those of `others` that have a better place than a row among the nearest of each of `rows`."""
    for a in range(len(rows)):
        i = rows[a]
        for b in range(len(others)):
            j = others[b]
            if places[j] < places[i]:
                _take_in(i, j, points, i, j, squares, who, True)


@kernel()
def _nearest_along(n: int, axis: int, points: Floats, order: Ints, numbers: Ints, squares: Floats, who: Ints) -> None:
    """The nearest of all points of each of the first n, but for those of the same number; points are in this order.

    It sorts them along an axis. From a row's own place, those on both sides are looked at, the nearer one along the
    axis first, until that alone is farther than the last of the nearest: rounded, too, a sum of squares is never less
    than one of them.
    """
    k, last = squares.shape[1], len(order) - 1
    for here in range(len(order)):
        i = order[here]
        if i >= n:
            continue
        before, after = here - 1, here + 1
        while before >= 0 or after <= last:
            to_before = points[here, axis] - points[before, axis] if before >= 0 else np.inf
            to_after = points[after, axis] - points[here, axis] if after <= last else np.inf
            nearer = min(to_before, to_after)
            if nearer * nearer > squares[i, k - 1]:
                break
            if to_before <= to_after:
                there = before
                before -= 1
            else:
                there = after
                after += 1
            if numbers[there] != numbers[here]:
                _take_in(here, there, points, i, order[there], squares, who, False)


def _none(n: int, k: int) -> tuple[Floats, Ints]:
    return np.full((n, k), np.inf), np.full((n, k), -1, np.int64)


def nearest_others(n: int, points: Floats, numbers: Ints, k: int) -> tuple[Floats, Ints]:
    """The k nearest points of other numbers, by distance and then row, of each of the first n: squares, and who."""
    squares, who = _none(n, k)
    axis = int(np.argmax(points.var(axis=0)))  # along which the search ends soonest
    order = np.argsort(points[:, axis])
    _nearest_along(n, axis, points[order], order, numbers[order], squares, who)
    return squares, who


class Dominated(Competition):
    """Keeps the rows whose mean distance to the k nearest better ones is largest.

    The nearest better ones of each row are kept from batch to batch: only new rows, and rows that have lost one of
    them, look at the whole population.
    """

    def __init__(self, how: Dns) -> None:
        self.how = how
        self._forget()

    def _forget(self) -> None:
        self._fitness: Floats = np.empty(0)
        self._squares, self._who = _none(0, self.how.k)

    def restore(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """The nearest better ones are found again."""
        self._forget()

    def select(self, fitness: Floats, points: Floats, evaluations: Ints, n_before: int) -> Ints | None:
        """The rows that stay."""
        n, k = len(fitness), self.how.k
        if n_before != len(self._fitness):  # restored
            self._forget()
        known, places = len(self._fitness), ranks(fitness, evaluations)
        squares, who = _none(n, k)
        squares[:known], who[:known] = self._squares, self._who
        better = np.flatnonzero(fitness[:known] != self._fitness)  # replaced by a better one of the same features
        fresh = np.concatenate([better, np.arange(known, n)])
        stale = np.concatenate([better, np.flatnonzero((who[:known] == -2).any(axis=1)), np.arange(known, n)])
        stale = np.unique(stale)
        squares[stale], who[stale] = _none(len(stale), k)
        nearest_better(stale, np.arange(n), places, points, squares, who)
        others = np.setdiff1d(np.arange(known), stale)
        nearest_better(others, fresh, places, points, squares, who)
        kept = np.arange(n)
        if n > self.how.size:
            counts = (who >= 0).sum(axis=1)
            sums = np.where(who >= 0, np.sqrt(squares), 0.0).cumsum(axis=1)[:, -1]
            distance = np.where(counts > 0, sums / np.maximum(counts, 1), np.inf)
            kept = np.sort(np.lexsort((places, -distance))[: self.how.size])
        renumbered = np.full(n + 1, -1, np.int64)  # the last is a placeholder
        renumbered[:n] = -2  # gone
        renumbered[kept] = np.arange(len(kept))
        self._fitness, self._squares, self._who = fitness[kept], squares[kept], renumbered[who[kept]]
        return None if len(kept) == n else kept


class LocalCompetition(Competition):
    """Keeps rows that are novel or better than their neighbours: selection by both, as in NSGA-II.

    Novelty is the mean distance to the k nearest in the population and among the remembered ones (each 20th evaluation,
    at most as many as the population); local competition counts how many of these k are worse.
    """

    def __init__(self, how: Nslc) -> None:
        self.how = how
        self._memory: Floats | None = None  # (r, d + 1), features and fitness
        self._numbers: Ints = np.empty(0, np.int64)

    def select(self, fitness: Floats, points: Floats, evaluations: Ints, n_before: int) -> Ints | None:
        """The rows that stay."""
        n, k = len(fitness), self.how.k
        rows = np.column_stack([points, fitness])
        new = n_before + np.flatnonzero(evaluations[n_before:] % REMEMBER_EVERY == 0)
        memory = rows[:0] if self._memory is None else self._memory
        self._memory = np.concatenate([memory, rows[new]])[-self.how.size :]
        self._numbers = np.concatenate([self._numbers, evaluations[new]])[-self.how.size :]
        if n <= self.how.size:
            return None
        everybody = np.concatenate([rows, self._memory])
        numbers = np.concatenate([evaluations, self._numbers])
        squares, who = nearest_others(n, np.ascontiguousarray(everybody[:, :-1]), numbers, k)
        near = who >= 0
        sums = np.where(near, np.sqrt(squares), 0.0).cumsum(axis=1)[:, -1]
        novelty = sums / np.maximum(near.sum(axis=1), 1)
        worse = (near & (everybody[who, -1] < fitness[:, None])).sum(axis=1)
        return np.sort(_selected(novelty, worse, ranks(fitness, evaluations), self.how.size))

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """The remembered ones."""
        return {} if self._memory is None else {"memory": self._memory, "numbers": self._numbers}

    def restore(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Go back to it."""
        if state:
            self._memory, self._numbers = state["memory"], state["numbers"]


def _fronts(novelty: Floats, worse: Ints) -> Ints:
    """The number of the non-dominated front of each row (n,), 0 for the first; both are to be large.

    In the order of novelty, a row belongs to the first front none of whose rows so far dominates it. Largest counts of
    earlier fronts are never smaller than those of later ones, so that it is found by bisection.
    """
    fronts = np.empty(len(novelty), np.int64)
    best: list[tuple[int, float]] = []  # of each front: minus the largest count so far, minus the novelty it had
    for i in np.lexsort((-worse, -novelty)).tolist():
        key = (-int(worse[i]), -float(novelty[i]))  # a row whose key is the same does not dominate
        at = bisect_left(best, key)
        if at < len(best):
            best[at] = key
        else:
            best.append(key)
        fronts[i] = at
    return fronts


def _selected(novelty: Floats, worse: Ints, places: Ints, size: int) -> Ints:
    """The rows that NSGA-II keeps: by front, then by crowding distance, then by place.

    Crowding decides within one front only: all rows of those before it stay, none of those after it.
    """
    fronts, crowding = _fronts(novelty, worse), np.zeros(len(novelty))
    size = min(size, len(fronts))
    members = np.flatnonzero(fronts == np.searchsorted(np.bincount(fronts).cumsum(), size))
    for values in (novelty[members], worse[members].astype(np.float64)):
        order = np.lexsort((places[members], values))
        ordered, sorted_members = values[order], members[order]
        span = ordered[-1] - ordered[0]
        crowding[sorted_members[[0, -1]]] = np.inf
        if span > 0.0:
            crowding[sorted_members[1:-1]] += (ordered[2:] - ordered[:-2]) / span
    return np.lexsort((places, -crowding, fronts))[:size]


class Tournament(Competition):
    """A new row replaces the nearest of `window` members, drawn at random, if it is better; of the whole population
    without a window."""

    def __init__(self, how: Rts) -> None:
        self.how = how

    def select(self, fitness: Floats, points: Floats, evaluations: Ints, n_before: int) -> Ints | None:
        """The rows that stay."""
        n, size = len(fitness), self.how.size
        if n <= size:
            return None
        members, everybody = np.arange(size), np.arange(size)
        held = points[:size].copy()
        for i in range(size, n):
            drawn = everybody
            if self.how.window is not None:
                rng = generator(self.seed, Purpose.TESSELLATION, int(evaluations[i]))
                drawn = rng.integers(0, size, self.how.window)
            away = held[drawn] - points[i]
            slot = drawn[np.argmin(np.einsum("ij,ij->i", away, away))]
            if fitness[i] > fitness[members[slot]]:
                members[slot] = i
                held[slot] = points[i]
        return members

"""The elitism rule, compiled, and the index from a niche's number to its row.

A candidate takes its niche if the niche is empty or its fitness is strictly better; the first of equals stays (but see
`beats`). This is lines 15-16 of Alg. 3 in the paper, implemented only here: `Archive.add` and the
compiled search loop both call `insert`. The index is an array where there are few niches and a hash table with
linear probing where there are many, so that memory follows what is filled.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tesselite.base.arrays import Floats, Ints
from tesselite.compiled.kernels import kernel, part
from tesselite.compiled.memory import copy_row, prefetch

# What happened to a candidate (see `tesselite.archive.elites.Status`).
REJECTED, NEW, IMPROVED, INVALID = 0, 1, 2, 3

DENSE_NICHES = 1 << 20  # up to here the index is an array (8 MiB), beyond it a hash table
EMPTY = -1

LARGE_INDEX = 32_768  # slots from which on an index is not in the cache anyway
FETCHED = 32  # candidates whose elites are fetched ahead together


class EliteArrays(NamedTuple):
    """The arrays of an archive: a row for each elite, and the index from a niche's number to its row.

    Solutions are rows of bytes, here and in `Candidates`, so that one compilation serves every dtype.
    """

    niches: Ints
    fitness: Floats
    features: Floats
    solutions: npt.NDArray[Any]
    evaluations: Ints
    keys: Ints
    rows: Ints


class Candidates(NamedTuple):
    """Evaluated solutions in rows, with the niches that they belong to."""

    niches: Ints
    fitness: Floats
    features: Floats
    solutions: npt.NDArray[Any]


class Elitism(NamedTuple):
    """What counts as better: `sign` is +1 to maximise and -1 to minimise fitness; between equals, see `beats`.

    The lattice belongs to `GridTessellation(cells="released")`: `points` per axis, and `low` and `per_unit` of the
    feature space. Without points, the first of equals stays.
    """

    sign: float
    points: Floats
    low: Floats
    per_unit: Floats


def new_index(n_niches: int, n_rows: int) -> tuple[Ints, Ints]:
    """An empty index (keys, rows) with room for n_rows filled niches; no keys where rows is indexed directly."""
    if n_niches <= DENSE_NICHES:
        return np.empty(0, np.int64), np.full(n_niches, EMPTY, np.int64)
    size = 64
    while size < 2 * n_rows:  # at most half full, so that probing stays short
        size *= 2
    return np.full(size, EMPTY, np.int64), np.full(size, EMPTY, np.int64)


@kernel(allocates=False)
def _first_slot(keys: Any, niche: int) -> int:
    """Where the search for a niche in the hash table begins."""
    hashed = np.uint64(niche) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64(hashed >> np.uint64(32)) & (keys.shape[0] - 1)


@kernel(allocates=False)
def _slot(keys: Any, niche: int) -> int:
    """The slot of the niche in the hash table, or the empty slot for it."""
    mask = keys.shape[0] - 1
    slot = _first_slot(keys, niche)
    while keys[slot] != -1 and keys[slot] != niche:
        slot = (slot + 1) & mask
    return slot


@kernel(allocates=False)
def find_row(keys: Any, rows: Any, niche: int) -> int:
    """The row of a niche's elite, or -1 if the niche is empty."""
    if keys.shape[0] == 0:
        return rows[niche]
    return rows[_slot(keys, niche)]


@kernel(allocates=False)
def find_rows(keys: Any, rows: Any, niches: Any, out: Any) -> None:
    """The row of each niche's elite, or -1, into `out`; also -1 for unknown niches."""
    for i in range(niches.shape[0]):
        known = niches[i] >= 0 and (keys.shape[0] > 0 or niches[i] < rows.shape[0])
        out[i] = find_row(keys, rows, niches[i]) if known else EMPTY


@kernel(allocates=False)
def set_row(keys: Any, rows: Any, niche: int, row: int) -> None:
    """Record that a niche's elite is in this row."""
    if keys.shape[0] == 0:
        rows[niche] = row
    else:
        slot = _slot(keys, niche)
        keys[slot] = niche
        rows[slot] = row


@kernel(allocates=False)
def set_rows(keys: Any, rows: Any, niches: Any) -> None:
    """Note rows 0, 1, ... as those of these niches."""
    for row in range(niches.shape[0]):
        set_row(keys, rows, niches[row], row)


@kernel(allocates=False)
def lattice_distance(features: Any, i: int, rule: Any) -> float:
    """How far, squared, row i of features (n, d) is from the nearest point of the rule's lattice."""
    total = 0.0
    for j in range(rule.points.shape[0]):
        last = rule.points[j] - 1.0
        if last > 0.0:
            p = min(max((features[i, j] - rule.low[j]) * rule.per_unit[j], 0.0), 1.0)
            away = p - np.floor(p * last + 0.5) / last
            total += away * away
    return total


@kernel(allocates=False, forceinline=True)
def beats(rule: Any, candidates: Any, i: int, elites: Any, row: int) -> bool:
    """Whether candidate i takes the place of the elite in this row: better, or as good and nearer to the lattice."""
    if rule.sign * candidates.fitness[i] > rule.sign * elites.fitness[row]:
        return True
    if rule.points.shape[0] == 0 or candidates.fitness[i] != elites.fitness[row]:
        return False
    return lattice_distance(candidates.features, i, rule) < lattice_distance(elites.features, row, rule)


@part()
def copy_candidate(candidates: Any, i: int, to: Any, row: int) -> None:
    """Write candidate i into a row of other candidates, or of elites."""
    niches, fitness = to.niches, to.fitness
    niches[row] = candidates.niches[i]
    fitness[row] = candidates.fitness[i]
    copy_row(candidates.features, i, to.features, row)
    copy_row(candidates.solutions, i, to.solutions, row)


@part()
def find_promising(n: int, rule: Any, candidates: Any, status: Any, elites: Any, out: Any) -> int:
    """Note in `out` which of n candidates of status 0 would take their niches now, and return how many.

    As elites only get better, a candidate that would not take its niche now never will.
    """
    fetch_elites(0, n, candidates.niches, elites)
    found = 0
    for i in range(n):
        out[found] = i
        row = find_row(elites.keys, elites.rows, candidates.niches[i])
        better = row < 0 or beats(rule, candidates, i, elites, row)
        found += (status[i] == 0) & better
    return found


@kernel(allocates=False, forceinline=True)
def insert(rule: Any, candidates: Any, i: int, evaluation: int, n_rows: int, elites: Any) -> int:
    """Decide candidate i and write it into its niche's row if it takes the niche; its status.

    A NEW one gets row n_rows, which the caller counts, and for which there must be room.
    """
    niche = candidates.niches[i]
    row = find_row(elites.keys, elites.rows, niche)
    status = IMPROVED
    if row < 0:
        row, status = n_rows, NEW
        set_row(elites.keys, elites.rows, niche, row)
    elif not beats(rule, candidates, i, elites, row):
        return REJECTED
    copy_candidate(candidates, i, elites, row)
    elites.evaluations[row] = evaluation
    return status


@kernel(allocates=False)
def _fetch(start: int, stop: int, niches: Any, fitness: Any, keys: Any, rows: Any) -> None:
    """Prefetch the slots, and then the fitness, of the elites that candidates [start, stop) meet."""
    for i in range(start, stop):
        if niches[i] >= 0:
            slot = niches[i] if keys.shape[0] == 0 else _first_slot(keys, niches[i])
            prefetch(rows, slot)
            if keys.shape[0] > 0:
                prefetch(keys, slot)
    for i in range(start, stop):
        if niches[i] >= 0:
            row = find_row(keys, rows, niches[i])
            if row >= 0:
                prefetch(fitness, row)


@part()
def fetch_elites(start: int, stop: int, niches: Any, elites: Any) -> None:
    """Prefetch the fitness of the elites that candidates [start, stop) meet."""
    if elites.rows.shape[0] >= LARGE_INDEX:
        _fetch(start, stop, niches, elites.fitness, elites.keys, elites.rows)


@part()
def fetch_rows(start: int, stop: int, niches: Any, elites: Any) -> None:
    """Prefetch all fields of the elites that candidates [start, stop) may replace."""
    keys, rows, features, solutions = elites.keys, elites.rows, elites.features, elites.solutions
    if rows.shape[0] >= LARGE_INDEX:
        _fetch(start, stop, niches, elites.fitness, keys, rows)
        d, width = features.shape[1], solutions.shape[1]
        for i in range(start, stop):
            row = find_row(keys, rows, niches[i])
            if row >= 0:
                prefetch(elites.evaluations, row)
                prefetch(features, row * d)
                for j in range(0, width, 64):
                    prefetch(solutions, row * width + j)


@kernel(allocates=False)
def insert_batch(
    rule: Any, n_niches: int, candidates: Any, valid: Any, evaluation: int, n_rows: int, elites: Any, status: Any
) -> int:
    """Insert a batch in order, row i being evaluation number `evaluation` + i; the new number of rows.

    If the niche of a valid row i is not one of n_niches, nothing is inserted and the result is -1 - i.
    """
    niches = candidates.niches
    n = niches.shape[0]
    for i in range(n):
        if niches[i] >= n_niches or (valid[i] and niches[i] < 0):
            return -1 - i
    for i in range(n):
        if i % FETCHED == 0:
            fetch_elites(i, min(i + FETCHED, n), niches, elites)
        status[i] = insert(rule, candidates, i, evaluation + i, n_rows, elites) if valid[i] else INVALID
        n_rows += status[i] == NEW
    return n_rows

"""The elitism rule, compiled, and the index from a niche's number to its row.

A candidate takes its niche if the niche is empty or its fitness is strictly better; the first of equals stays (but see
`beats`). This is lines 15-16 of Alg. 3 in the paper, and the only place where it stands: `Archive.add` and the
compiled search loop both call `compete`. The index is an array where there are few niches and a hash table with
linear probing where there are many, so that memory follows what is filled.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tesselite.compiled.fast_math import prefetch
from tesselite.compiled.kernels import kernel

# What happened to a candidate (see `tesselite.archive.archive.Status`).
REJECTED, NEW, IMPROVED, INVALID = 0, 1, 2, 3

DENSE_NICHES = 1 << 20  # up to here the index is an array (8 MiB), beyond it a hash table
EMPTY = -1

FETCHED = 32  # candidates whose elites are fetched ahead together

Ints = npt.NDArray[np.int64]


def new_index(n_niches: int, n_rows: int) -> tuple[Ints, Ints]:
    """An empty index (keys, rows) with room for n_rows filled niches; no keys where rows is indexed directly."""
    if n_niches <= DENSE_NICHES:
        return np.empty(0, np.int64), np.full(n_niches, EMPTY, np.int64)
    size = 64
    while size < 2 * n_rows:  # at most half full, so that probing stays short
        size *= 2
    return np.full(size, EMPTY, np.int64), np.full(size, EMPTY, np.int64)


@kernel()
def _first_slot(keys: Any, niche: int) -> int:
    """Where the search for a niche in the hash table begins."""
    hashed = np.uint64(niche) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64(hashed >> np.uint64(32)) & (keys.shape[0] - 1)


@kernel()
def _slot(keys: Any, niche: int) -> int:
    """Where the niche stands in the hash table, or the empty slot where it would."""
    mask = keys.shape[0] - 1
    slot = _first_slot(keys, niche)
    while keys[slot] != -1 and keys[slot] != niche:
        slot = (slot + 1) & mask
    return slot


@kernel()
def find_row(keys: Any, rows: Any, niche: int) -> int:
    """The row of a niche's elite, or -1 if the niche is empty."""
    if keys.shape[0] == 0:
        return rows[niche]
    return rows[_slot(keys, niche)]


@kernel()
def find_rows(keys: Any, rows: Any, niches: Any, out: Any) -> None:
    """The row of each niche's elite, or -1, into `out`; -1 also where there is no such niche."""
    for i in range(niches.shape[0]):
        known = niches[i] >= 0 and (keys.shape[0] > 0 or niches[i] < rows.shape[0])
        out[i] = find_row(keys, rows, niches[i]) if known else EMPTY


@kernel()
def set_row(keys: Any, rows: Any, niche: int, row: int) -> None:
    """Note that a niche's elite stands in this row."""
    if keys.shape[0] == 0:
        rows[niche] = row
    else:
        slot = _slot(keys, niche)
        keys[slot] = niche
        rows[slot] = row


@kernel()
def set_rows(keys: Any, rows: Any, niches: Any) -> None:
    """Note rows 0, 1, ... as those of these niches."""
    for row in range(niches.shape[0]):
        set_row(keys, rows, niches[row], row)


@kernel()
def lattice_distance(features: Any, i: int, ties: Any) -> float:
    """How far, squared, row i of features (n, d) is from the nearest point of a tie-breaking lattice; see `beats`."""
    counts, low, per_unit = ties
    total = 0.0
    for j in range(counts.shape[0]):
        if counts[j] > 1.0:
            p = min(max((features[i, j] - low[j]) * per_unit[j], 0.0), 1.0)
            away = p - np.floor(p * (counts[j] - 1.0) + 0.5) / (counts[j] - 1.0)
            total += away * away
    return total


@kernel()
def beats(
    sign: float, i: int, fitness: Any, features: Any, row: int, elite_fitness: Any, elite_features: Any, ties: Any
) -> bool:
    """Whether candidate i takes the place of the elite in this row: better, or as good and nearer to a lattice.

    The lattice, `ties` = (points per axis, low, per_unit), belongs to the rule of `GridTessellation(cells="released")`;
    without points, the first of equals stays. `sign` is +1 to maximise and -1 to minimise.
    """
    if sign * fitness[i] > sign * elite_fitness[row]:
        return True
    if ties[0].shape[0] == 0 or fitness[i] != elite_fitness[row]:
        return False
    return lattice_distance(features, i, ties) < lattice_distance(elite_features, row, ties)


@kernel()
def compete(
    sign: float,
    i: int,
    niches: Any,
    fitness: Any,
    features: Any,
    n_rows: int,
    elites: Any,
    ties: Any,
    keys: Any,
    rows: Any,
) -> Any:
    """Decide candidate i: (status, row of its niche's elite). A NEW one gets row n_rows, which the caller counts.

    The caller writes the row and guarantees room for it.
    """
    row = find_row(keys, rows, niches[i])
    if row < 0:
        set_row(keys, rows, niches[i], n_rows)
        return NEW, n_rows
    if beats(sign, i, fitness, features, row, elites[1], elites[2], ties):
        return IMPROVED, row
    return REJECTED, row


@kernel()
def find_promising(
    n: int,
    sign: float,
    niches: Any,
    fitness: Any,
    features: Any,
    status: Any,
    elites: Any,
    ties: Any,
    keys: Any,
    rows: Any,
    out: Any,
) -> int:
    """Note in `out` which of n candidates of status 0 would take their niches now, and return how many.

    As elites only get better, a candidate that would not take its niche now never will.
    """
    fetch_elites(0, n, niches, elites[1], keys, rows)
    found = 0
    for i in range(n):
        out[found] = i
        row = find_row(keys, rows, niches[i])
        better = row < 0 or beats(sign, i, fitness, features, row, elites[1], elites[2], ties)
        found += (status[i] == 0) & better
    return found


@kernel()
def fetch_elites(start: int, stop: int, niches: Any, elite_fitness: Any, keys: Any, rows: Any) -> None:
    """Have the elites that candidates start to stop meet fetched into the cache."""
    if rows.shape[0] < 32768:  # a small index is in the cache anyway
        return
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
                prefetch(elite_fitness, row)


@kernel()
def fetch_rows(start: int, stop: int, niches: Any, elites: Any, keys: Any, rows: Any) -> None:
    """Have all that is kept of the elites that candidates start to stop are about to replace fetched as well."""
    if rows.shape[0] < 32768:
        return
    _, elite_fitness, elite_features, elite_solutions, elite_evaluation = elites
    fetch_elites(start, stop, niches, elite_fitness, keys, rows)
    d, width = elite_features.shape[1], elite_solutions.shape[1]
    for i in range(start, stop):
        row = find_row(keys, rows, niches[i])
        if row >= 0:
            prefetch(elite_evaluation, row)
            prefetch(elite_features, row * d)
            for j in range(0, width, 8):
                prefetch(elite_solutions, row * width + j)


@kernel()
def insert_batch(
    sign: float,
    n_niches: int,
    niches: Any,
    fitness: Any,
    features: Any,
    solutions: Any,
    valid: Any,
    evaluation: int,
    n_rows: int,
    elites: Any,
    ties: Any,
    keys: Any,
    rows: Any,
    status: Any,
) -> int:
    """Decide a batch in order and write those who take their niche into the rows of `elites`; the new row count.

    `elites` are the arrays of niche, fitness, features, solutions and evaluation. Solutions are rows of bytes, here and
    in `elites`, so that one compilation serves every dtype. Row i is evaluation number `evaluation` + i. If the niche
    of a valid row i is not one of n_niches, nothing is inserted and the result is -1 - i.
    """
    for i in range(niches.shape[0]):
        if niches[i] >= n_niches or (valid[i] and niches[i] < 0):
            return -1 - i
    elite_niche, elite_fitness, elite_features, elite_solutions, elite_evaluation = elites
    for i in range(niches.shape[0]):
        if i % FETCHED == 0:
            fetch_elites(i, min(i + FETCHED, niches.shape[0]), niches, elite_fitness, keys, rows)
        if not valid[i]:
            status[i] = INVALID
            continue
        status[i], row = compete(sign, i, niches, fitness, features, n_rows, elites, ties, keys, rows)
        if status[i] == REJECTED:
            continue
        if status[i] == NEW:
            elite_niche[row] = niches[i]
            n_rows += 1
        elite_fitness[row] = fitness[i]
        elite_evaluation[row] = evaluation + i
        elite_features[row] = features[i]
        elite_solutions[row] = solutions[i]
    return n_rows

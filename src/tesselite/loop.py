"""The compiled search loop: batches of breeding, evaluation and look-up on all cores, insertion in order.

It does what `MapElites.ask`, `Problem.evaluate` and `MapElites.tell` do, bit for bit, for problems whose objective is
machine code (see `tesselite.block`); everything else runs through those. Results depend neither on the number of
threads nor on where a stretch of batches is cut.
"""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from tesselite import elitism
from tesselite.block import EXCEPTION, call_block
from tesselite.breeding import CHUNK, draw_parents, vary, words_per_offspring
from tesselite.compiled import kernel
from tesselite.crew import (
    MESSAGE,
    claim,
    dismiss,
    new_control,
    publish,
    report_done,
    wait_for_work,
    wait_until_done,
)
from tesselite.evaluation import FEATURES_NOT_FINITE, FITNESS_NOT_FINITE
from tesselite.tessellation.grid import GridTessellation
from tesselite.tessellation.grid_cells import find_cells
from tesselite.tessellation.nearest.rows import find_rows
from tesselite.tessellation.voronoi import VoronoiTessellation
from tesselite.variation import Operator

if TYPE_CHECKING:
    from tesselite.function_problem import CompiledProblem
    from tesselite.search import MapElites

GRID = -1  # in place of the code of a nearest-centroid index

# Positions in the array of counts that the loop keeps, and in the tally of a chunk (one cache line each).
_ROWS, _DONE, _BAD_FITNESS, _BAD_FEATURES, _EXCEPTIONS, _OUTSIDE, _PROMISING, _N_COUNTS = 0, 1, 2, 3, 4, 5, 6, 8


@kernel()
def _evaluate_chunk(
    start: int,
    stop: int,
    first: int,
    n_rows: int,
    variation: Any,
    address: int,
    low: Any,
    per_unit: Any,
    high: Any,
    lookup: Any,
    sign: float,
    elites: Any,
    keys: Any,
    rows: Any,
    batch: Any,
) -> None:
    """Breed, evaluate and locate rows start to stop of a batch whose row 0 is evaluation number `first`.

    Of these rows, count the invalid ones and note the promising ones: those that beat the elites as they are before
    the batch is inserted. Most do not, and are done with here, on all cores.
    """
    code, parameters, axis_low, axis_high, levels, selection_key, variation_key = variation
    index_code, cells, strides, centroids, floats, ints, p = lookup
    solutions, fitness, features, unit, niches, status, noise, parents, promising, tallies = batch
    elite_fitness, elite_solutions = elites[1], elites[3]
    chunk = start // CHUNK
    chosen = parents[chunk][:, : stop - start]
    draw_parents(selection_key, first + start, n_rows, chosen)
    vary(
        code,
        parameters,
        elite_solutions,
        elite_solutions,
        chosen,
        axis_low,
        axis_high,
        levels,
        variation_key,
        first + start,
        noise[chunk],
        solutions[start:stop],
    )
    call_block(address, solutions[start:stop], fitness[start:stop], features[start:stop], status[start:stop])
    for i in range(start, stop):
        finite = True
        for j in range(low.shape[0]):
            x = features[i, j]
            finite &= np.isfinite(x)
            unit[i, j] = (x - low[j]) * per_unit[j]
        if status[i] != 0:
            status[i] = _EXCEPTIONS
        elif not np.isfinite(fitness[i]):
            status[i] = _BAD_FITNESS
        elif not finite:
            status[i] = _BAD_FEATURES
        if status[i] != 0:
            for j in range(low.shape[0]):
                unit[i, j] = 0.0  # looked up all the same, never used
    if index_code == GRID:
        find_cells(unit, niches, start, stop, cells, strides)
    else:
        find_rows(unit, niches, start, stop, index_code, centroids, floats, ints, p)
    elitism.fetch_elites(start, stop, niches, elite_fitness, keys, rows)
    n_outside, n_promising = 0, 0
    tallies[chunk] = 0
    for i in range(start, stop):
        valid = status[i] == 0
        outside = False
        for j in range(low.shape[0]):
            outside |= (features[i, j] < low[j]) | (features[i, j] > high[j])
        n_outside += outside & valid
        promising[start + n_promising] = i
        n_promising += valid & elitism.can_enter(sign, niches[i], fitness[i], elite_fitness, keys, rows)
        if not valid:
            tallies[chunk, status[i]] += 1
    tallies[chunk, _OUTSIDE], tallies[chunk, _PROMISING] = n_outside, n_promising


@kernel()
def _insert(n_chunks: int, first: int, sign: float, batch: Any, elites: Any, keys: Any, rows: Any, counts: Any) -> None:
    """Insert the promising rows of the batch in order, as `Archive.add`, and add up what the chunks have counted."""
    solutions, fitness, features, _, niches, _, _, _, promising, tallies = batch
    elite_niche, elite_fitness, elite_features, elite_solutions, elite_evaluation = elites
    for chunk in range(n_chunks):
        for k in range(_BAD_FITNESS, _OUTSIDE + 1):
            counts[k] += tallies[chunk, k]
        for at in range(chunk * CHUNK, chunk * CHUNK + tallies[chunk, _PROMISING]):
            i = promising[at]
            result, row = elitism.compete(sign, niches[i], fitness[i], counts[_ROWS], elite_fitness, keys, rows)
            if result == elitism.REJECTED:
                continue
            if result == elitism.NEW:
                counts[_ROWS] += 1
                elite_niche[row] = niches[i]
            elite_fitness[row] = fitness[i]
            elite_evaluation[row] = first + i
            for j in range(features.shape[1]):
                elite_features[row, j] = features[i, j]
            for j in range(solutions.shape[1]):
                elite_solutions[row, j] = solutions[i, j]


@kernel()
def _run_batches(
    leader: bool,
    first: int,
    evaluations: int,
    batch_size: int,
    room: int,
    sign: float,
    variation: Any,
    address: int,
    low: Any,
    high: Any,
    per_unit: Any,
    lookup: Any,
    batch: Any,
    elites: Any,
    keys: Any,
    rows: Any,
    counts: Any,
    control: Any,
) -> None:
    """Run batches from evaluation number `first` until `evaluations` more are done or the room for elites runs out.

    The leader publishes batches and inserts their results; the other threads of the crew run the same function and
    only claim chunks, as the leader does too while there are any.
    """
    spins = 0
    while True:
        chunk, n_chunks, count = -1, 0, 0
        if leader:
            count = min(batch_size, evaluations - counts[_DONE])
            if count == 0 or counts[_ROWS] + count > room:
                dismiss(control)
                return
            n_chunks = (count + CHUNK - 1) // CHUNK
            control[MESSAGE] = count
            control[MESSAGE + 1] = first + counts[_DONE]
            control[MESSAGE + 2] = counts[_ROWS]
            publish(control, n_chunks)
        chunk = claim(control)
        while chunk >= 0:
            start = chunk * CHUNK
            _evaluate_chunk(
                start,
                min(start + CHUNK, control[MESSAGE]),
                control[MESSAGE + 1],
                control[MESSAGE + 2],
                variation,
                address,
                low,
                per_unit,
                high,
                lookup,
                sign,
                elites,
                keys,
                rows,
                batch,
            )
            report_done(control)
            spins = 0
            chunk = claim(control)
        if leader:
            wait_until_done(control, n_chunks)
            _insert(n_chunks, control[MESSAGE + 1], sign, batch, elites, keys, rows, counts)
            counts[_DONE] += count
        else:
            spins += 1
            if not wait_for_work(control, spins):
                return


def runs(search: MapElites) -> bool:
    """Whether the loop knows this search's parts: a built-in operator, linear features, a grid or centroids."""
    return (
        isinstance(search.variation, Operator)
        and search.archive.tessellation.space.linear
        and isinstance(search.archive.tessellation, GridTessellation | VoronoiTessellation)
    )


def _lookup(tessellation: Any) -> tuple[Any, ...]:
    """The tessellation in the form that the loop takes."""
    if isinstance(tessellation, GridTessellation):
        # Of the same types as with centroids, writable all of them: others would compile the whole loop again.
        none, cells = np.zeros((1, 1)), np.array(tessellation.shape, dtype=np.float64)
        return GRID, cells, tessellation.strides, none, np.zeros(1), np.zeros(1, np.int64), 2.0
    index = tessellation.index
    return (
        int(index.code),
        np.zeros(1),
        np.zeros(1, np.int64),
        tessellation.unit_centroids,
        index.floats,
        index.ints,
        float(tessellation.p),
    )


class CompiledLoop:
    """The loop made ready for one search and problem: scratch memory allocated once, the objective compiled."""

    def __init__(self, search: MapElites, problem: CompiledProblem, batch_size: int, threads: int) -> None:
        self._search = search
        self._batch_size = batch_size
        # More threads than chunks would only wait.
        self._helpers = min(threads, (batch_size + CHUNK - 1) // CHUNK) - 1
        self._pool = ThreadPoolExecutor(self._helpers) if self._helpers else None
        self._address = problem.block_address()
        space, width = problem.features, problem.solutions.width
        assert isinstance(search.variation, Operator)
        code, parameters, low, high, levels = search.variation.compiled(search.solution_space)
        self._variation = (code, parameters, low, high, levels, search.selection_key, search.variation_key)
        self._lookup = _lookup(search.archive.tessellation)
        n_chunks = (batch_size + CHUNK - 1) // CHUNK
        # NaN and 1 everywhere: reading what was never written shows.
        self._batch = (
            np.full((batch_size, width), np.nan),
            np.full(batch_size, np.nan),
            np.full((batch_size, space.n), np.nan),
            np.full((batch_size, space.n), np.nan),
            np.full(batch_size, -1, np.int64),
            np.ones(batch_size, np.int64),
            np.full((n_chunks, 2 * CHUNK * words_per_offspring(code, width)), np.nan),
            np.zeros((n_chunks, 2, CHUNK), np.int64),
            np.full(n_chunks * CHUNK, -1, np.int64),
            np.zeros((n_chunks, _N_COUNTS), np.int64),
        )

    def run(self, evaluations: int) -> None:
        """Spend this many evaluations on batches of offspring."""
        search, archive = self._search, self._search.archive
        space = archive.tessellation.space
        while evaluations > 0:
            archive.reserve(max(self._batch_size, len(archive)))
            counts = np.zeros(_N_COUNTS, np.int64)
            counts[_ROWS] = len(archive)
            control = new_control()
            task = (
                search.evaluations,
                evaluations,
                self._batch_size,
                # Every niche has a row of its own, so an archive with room for all never runs out of it.
                archive.capacity if archive.capacity < archive.n_niches else 2**62,
                archive.sign,
                self._variation,
                self._address,
                space.low,
                space.high,
                space.per_unit,
                self._lookup,
                self._batch,
                archive.arrays(),
                *archive.index(),
                counts,
                control,
            )
            helping = (
                [self._pool.submit(_run_batches, False, *task) for _ in range(self._helpers)] if self._pool else []
            )
            try:
                _run_batches(True, *task)
            finally:
                dismiss(control)  # an interrupt before the leader began must not leave the helpers waiting for ever
            for helper in helping:
                helper.result()
            archive.note_filled(int(counts[_ROWS]))
            archive.out_of_bounds += int(counts[_OUTSIDE])
            reasons = {
                FITNESS_NOT_FINITE: int(counts[_BAD_FITNESS]),
                FEATURES_NOT_FINITE: int(counts[_BAD_FEATURES]),
                EXCEPTION: int(counts[_EXCEPTIONS]),
            }
            archive.invalid += Counter({reason: n for reason, n in reasons.items() if n})
            search.evaluations += int(counts[_DONE])
            evaluations -= int(counts[_DONE])

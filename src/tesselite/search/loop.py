"""The compiled search loop: batches of breeding, evaluation and look-up on all cores, insertion in order.

It does what `MapElites.ask`, `Problem.evaluate` and `MapElites.tell` do, bit for bit, for problems whose objective is
machine code (see `compiled.blocks`); everything else runs through those. Results depend neither on the number of
threads nor on where a stretch of batches is cut.
"""

from __future__ import annotations

from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any

import numpy as np

from tesselite.archive import elitism
from tesselite.archive.evaluation import FEATURES_NOT_FINITE, FITNESS_NOT_FINITE
from tesselite.base.interruption import uninterrupted
from tesselite.compiled.blocks import EXCEPTION, call_block
from tesselite.compiled.crew import (
    MESSAGE,
    claim,
    dismiss,
    new_control,
    publish,
    report_done,
    wait_for_work,
    wait_until_done,
)
from tesselite.compiled.fast_math import unowned
from tesselite.compiled.kernels import kernel
from tesselite.emitters.breeding import CHUNK, draw_parents, vary, words_per_offspring
from tesselite.emitters.operators import Operator
from tesselite.tessellation.grid import GridTessellation
from tesselite.tessellation.grid_cells import find_cells
from tesselite.tessellation.nearest.rows import find_rows
from tesselite.tessellation.voronoi import VoronoiTessellation

if TYPE_CHECKING:
    from tesselite.problems.user_function import CompiledProblem
    from tesselite.search.map_elites import MapElites

GRID = -1  # in place of the code of a nearest-centroid index

# Positions in the array of counts that the loop keeps, and in the tally of a chunk (one cache line each).
_ROWS, _DONE, _BAD_FITNESS, _BAD_FEATURES, _EXCEPTIONS, _OUTSIDE, _NO_NICHE, _PROMISING, _N_COUNTS = *range(8), 8


@kernel()
def _evaluate(n: int, first: int, n_rows: int, variation: Any, address: int, elites: Any, scratch: Any) -> None:
    """Breed and evaluate n rows, the first of which is evaluation number `first`."""
    code, parameters, axis_low, axis_high, levels, selection_key, variation_key = variation
    solutions, fitness, features, _, _, status, noise, parents, _ = scratch
    draw_parents(selection_key, first, n_rows, parents[:, :n])
    vary(
        code,
        parameters,
        elites[3],
        elites[3],
        parents,
        axis_low,
        axis_high,
        levels,
        variation_key,
        first,
        noise,
        solutions[:n],
    )
    call_block(address, solutions[:n], fitness[:n], features[:n], status[:n])


@kernel()
def _locate(n: int, bounds: Any, lookup: Any, scratch: Any, tally: Any) -> None:
    """Find the niches of n evaluated rows; count those that are invalid or out of bounds.

    A row whose niche is not one of the tessellation's is counted and goes no further.
    """
    low, high, per_unit = bounds
    n_niches, index_code, cells, strides, centroids, floats, ints, p = lookup
    _, fitness, features, unit, niches, status, _, _, _ = scratch
    for i in range(n):
        bad, outside = fitness[i] * 0.0, False  # a product with 0 is 0 unless a factor is NaN or infinite
        for j in range(low.shape[0]):
            x = features[i, j]
            bad += x * 0.0
            outside |= (x < low[j]) | (x > high[j])
            unit[i, j] = (x - low[j]) * per_unit[j]
        if status[i] != 0 or bad != 0.0:
            if status[i] != 0:
                status[i] = _EXCEPTIONS
            else:
                status[i] = _BAD_FEATURES if np.isfinite(fitness[i]) else _BAD_FITNESS
            tally[status[i]] += 1
            unit[i] = 0.0  # looked up all the same, never used
        elif outside:
            tally[_OUTSIDE] += 1
    if index_code == GRID:
        find_cells(unit, niches, 0, n, cells, strides, floats[0])
    else:
        find_rows(unit, niches, 0, n, index_code, centroids, floats, ints, p)
    wrong = 0
    for i in range(n):
        wrong += (niches[i] < 0) | (niches[i] >= n_niches)
    if wrong > 0:
        tally[_NO_NICHE] += wrong
        for i in range(n):
            if niches[i] < 0 or niches[i] >= n_niches:
                status[i], niches[i] = _NO_NICHE, 0


@kernel()
def _keep_promising(
    n: int, start: int, sign: float, elites: Any, ties: Any, keys: Any, rows: Any, scratch: Any, batch: Any
) -> int:
    """Copy those of n rows that beat the elites, as they are before the batch, to the batch's rows from `start`.

    The others, nearly all in the end, need not wait for the insertion in order. Returns how many were copied.
    """
    solutions, fitness, features, _, niches, status, _, _, promising = scratch
    kept_solutions, kept_fitness, kept_features, kept_niches, kept_rows, _ = batch
    found = elitism.find_promising(n, sign, niches, fitness, features, status, elites, ties, keys, rows, promising)
    for k in range(found):
        i, to = promising[k], start + k
        kept_rows[to] = start + i
        kept_niches[to] = niches[i]
        kept_fitness[to] = fitness[i]
        for j in range(features.shape[1]):
            kept_features[to, j] = features[i, j]
        for j in range(solutions.shape[1]):
            kept_solutions[to, j] = solutions[i, j]
    return found


@kernel()
def _insert(
    n_chunks: int, first: int, sign: float, batch: Any, elites: Any, ties: Any, keys: Any, rows: Any, counts: Any
) -> None:
    """Insert the promising rows of the batch in order, as `Archive.add`, and add up what the chunks have counted."""
    solutions, fitness, features, niches, batch_rows, tallies = batch
    elite_niche, elite_fitness, elite_features, elite_solutions, elite_evaluation = elites
    for chunk in range(n_chunks):
        for k in range(_BAD_FITNESS, _NO_NICHE + 1):
            counts[k] += tallies[chunk, k]
        start = chunk * CHUNK
        stop = start + tallies[chunk, _PROMISING]
        elitism.fetch_rows(start, stop, niches, elites, keys, rows)
        for i in range(start, stop):
            result, row = elitism.compete(sign, i, niches, fitness, features, counts[_ROWS], elites, ties, keys, rows)
            if result == elitism.REJECTED:
                continue
            if result == elitism.NEW:
                counts[_ROWS] += 1
                elite_niche[row] = niches[i]
            elite_fitness[row] = fitness[i]
            elite_evaluation[row] = first + batch_rows[i]
            for j in range(features.shape[1]):
                elite_features[row, j] = features[i, j]
            for j in range(solutions.shape[1]):
                elite_solutions[row, j] = solutions[i, j]


@kernel()
def _run_batches(
    leader: bool,
    scratch: Any,
    first: int,
    evaluations: int,
    batch_size: int,
    room: int,
    sign: float,
    variation: Any,
    address: int,
    bounds: Any,
    lookup: Any,
    batch: Any,
    elites: Any,
    ties: Any,
    keys: Any,
    rows: Any,
    counts: Any,
    control: Any,
) -> None:
    """Run batches from evaluation number `first` until `evaluations` more are done or the room for elites runs out.

    The leader publishes batches and inserts their results; the other threads of the crew run the same function and
    only claim chunks, as the leader does too while there are any.
    """
    scratch, variation, bounds, lookup = unowned(scratch), unowned(variation), unowned(bounds), unowned(lookup)
    batch, elites, ties, keys, rows = unowned(batch), unowned(elites), unowned(ties), unowned(keys), unowned(rows)
    tallies, spins = batch[5], 0
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
            n = min(CHUNK, control[MESSAGE] - start)
            tallies[chunk] = 0
            _evaluate(n, control[MESSAGE + 1] + start, control[MESSAGE + 2], variation, address, elites, scratch)
            _locate(n, bounds, lookup, scratch, tallies[chunk])
            tallies[chunk, _PROMISING] = _keep_promising(n, start, sign, elites, ties, keys, rows, scratch, batch)
            report_done(control)
            spins = 0
            chunk = claim(control)
        if leader:
            if not wait_until_done(control, n_chunks):  # a helper failed
                return
            _insert(n_chunks, control[MESSAGE + 1], sign, batch, elites, ties, keys, rows, counts)
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
        none, shift = np.zeros((1, 1)), np.array([tessellation.shift])
        return GRID, tessellation.counts, tessellation.strides, none, shift, np.zeros(1, np.int64), 2.0
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


def _new_scratch(width: int, n_features: int, words: int) -> tuple[Any, ...]:
    """What a thread works in: solutions, fitness, features, unit features, niches, status, noise, parents, promising.

    NaN and 1 everywhere: reading what was never written shows.
    """
    return (
        np.full((CHUNK, width), np.nan),
        np.full(CHUNK, np.nan),
        np.full((CHUNK, n_features), np.nan),
        np.full((CHUNK, n_features), np.nan),
        np.full(CHUNK, -1, np.int64),
        np.ones(CHUNK, np.int64),
        np.full(2 * CHUNK * words, np.nan),
        np.zeros((2, CHUNK), np.int64),
        np.zeros(CHUNK, np.int64),
    )


class CompiledLoop:
    """The loop made ready for one search and problem: scratch memory allocated once, the objective compiled."""

    def __init__(self, search: MapElites, problem: CompiledProblem, batch_size: int, threads: int) -> None:
        space, width = problem.features, problem.solutions.width
        if (width, space.n) != (search.archive.width, search.archive.tessellation.space.n):
            raise ValueError(
                f"problem: expected solutions and features like the search's, {search.archive.width} and "
                f"{search.archive.tessellation.space.n} numbers, got {width} and {space.n}"
            )
        self._search = search
        self._archive = search.archive
        self._batch_size = batch_size
        # More threads than chunks would only wait.
        self._helpers = min(threads, (batch_size + CHUNK - 1) // CHUNK) - 1
        self._pool = ThreadPoolExecutor(self._helpers) if self._helpers else None
        self._address = problem.block_address()
        assert isinstance(search.variation, Operator)
        code, parameters, low, high, levels = search.variation.compiled(search.solution_space)
        if not len(low) == len(high) == width:
            raise ValueError(f"solution_space: expected {width} bounds, got {len(low)} low and {len(high)} high ones")
        self._variation = (code, parameters, low, high, levels, search.selection_key, search.variation_key)
        self._lookup = (search.archive.n_niches, *_lookup(search.archive.tessellation))
        words = words_per_offspring(code, width)
        self._scratch = [_new_scratch(width, space.n, words) for _ in range(self._helpers + 1)]
        n_chunks = (batch_size + CHUNK - 1) // CHUNK
        # Promising rows: solutions, fitness, features, niches, and where they stood in the batch; a tally per chunk.
        self._batch = (
            np.full((batch_size, width), np.nan),
            np.full(batch_size, np.nan),
            np.full((batch_size, space.n), np.nan),
            np.full(batch_size, -1, np.int64),
            np.full(batch_size, -1, np.int64),
            np.zeros((n_chunks, _N_COUNTS), np.int64),
        )

    def run(self, evaluations: int) -> None:
        """Spend this many evaluations on batches of offspring."""
        while evaluations > 0:
            evaluations -= self._stretch(evaluations)

    def _stretch(self, evaluations: int) -> int:
        """Batches while the archive has room for another, all noted before Ctrl-C counts; how many evaluations."""
        search, archive = self._search, self._archive
        space = archive.tessellation.space
        with uninterrupted(), archive.one_at_a_time:
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
                (space.low, space.high, space.per_unit),
                self._lookup,
                self._batch,
                archive.arrays(),
                archive.ties,
                *archive.index(),
                counts,
                control,
            )
            helping: list[Future[None]] = []
            try:
                for scratch in self._scratch[1:]:
                    assert self._pool
                    helping.append(self._pool.submit(_run_batches, False, scratch, *task))
                    helping[-1].add_done_callback(lambda helper: dismiss(control) if helper.exception() else None)
                _run_batches(True, self._scratch[0], *task)
            finally:  # whoever fails, nobody waits for ever, and what was inserted is noted
                dismiss(control)
                wait(helping)
                archive.note_filled(int(counts[_ROWS]))
            for helper in helping:
                helper.result()
            archive.out_of_bounds += int(counts[_OUTSIDE])
            reasons = {
                FITNESS_NOT_FINITE: int(counts[_BAD_FITNESS]),
                FEATURES_NOT_FINITE: int(counts[_BAD_FEATURES]),
                EXCEPTION: int(counts[_EXCEPTIONS]),
            }
            archive.invalid += Counter({reason: n for reason, n in reasons.items() if n})
            search.evaluations += int(counts[_DONE])
        if counts[_NO_NICHE]:
            raise ValueError(
                f"tessellation: expected niches from 0 to {archive.n_niches - 1}, got others for "
                f"{counts[_NO_NICHE]} rows"
            )
        return int(counts[_DONE])

"""The compiled search loop: batches of breeding, evaluation and look-up on all cores, insertion in order.

It does what `MapElites.ask`, `Problem.evaluate` and `MapElites.tell` do, bit for bit, for problems whose objective is
machine code (see `compiled.blocks`); everything else uses those methods. Results depend neither on the number of
threads nor on where a stretch of batches is cut.
"""

from __future__ import annotations

from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tesselite.archive import elitism
from tesselite.archive.evaluation import FEATURES_NOT_FINITE, FITNESS_NOT_FINITE, OUTSIDE
from tesselite.base.arrays import Floats, Ints
from tesselite.base.interruption import uninterrupted
from tesselite.compiled.blocks import CHUNK, EXCEPTION, Brood, call_lookup, call_objective
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
from tesselite.compiled.kernels import kernel, part
from tesselite.compiled.memory import copy_row
from tesselite.emitters.breeding import breed_chunk
from tesselite.emitters.operators import Operator
from tesselite.spaces.scaling import settle_rows

if TYPE_CHECKING:
    from tesselite.problems.user_function import CompiledProblem
    from tesselite.search.map_elites import MapElites

# Positions in the array of counts that the loop keeps, and in the tally of a chunk (one cache line each).
ROWS, DONE, _BAD_FITNESS, _BAD_FEATURES, _EXCEPTIONS, OUT_OF_BOUNDS, NO_NICHE, _PROMISING, N_COUNTS = *range(8), 8

_NO_KEY = np.uint64(0)

_REASONS = {_BAD_FITNESS: FITNESS_NOT_FINITE, _BAD_FEATURES: FEATURES_NOT_FINITE, _EXCEPTIONS: EXCEPTION}


class Parts(NamedTuple):
    """The parts of a search: addresses of its three blocks, and what they and the rule need besides rows."""

    variation: int
    selection_key: np.uint64
    objective: int
    lookup: int
    floats: Floats  # tables of the tessellation
    ints: Ints
    n_niches: int
    kinds: Ints  # of features; none if all are plain
    low: Floats  # of the feature space
    high: Floats
    per_unit: Floats
    refuses: npt.NDArray[np.bool_]  # features that are invalid outside their bounds
    rule: elitism.Elitism


class Scratch(NamedTuple):
    """A thread's scratch memory: a chunk of rows between parents and candidates."""

    brood: Brood  # its children are the candidates' solutions
    candidates: elitism.Candidates
    unit: Floats
    status: Ints
    promising: Ints


class Batch(NamedTuple):
    """The promising rows of a batch, chunk by chunk, where each stood in the batch, and a tally of each chunk.

    `refused` are those of rows refused by each feature, if there are features that refuse.
    """

    candidates: elitism.Candidates
    places: Ints
    tallies: Ints
    refused: Ints


class Evaluated(NamedTuple):
    """All rows of a stretch in order, for the history."""

    fitness: Floats
    features: Floats
    solutions: npt.NDArray[Any]
    status: Ints


class Stretch(NamedTuple):
    """How long to run: from evaluation number `first` for `evaluations`, or until the room for elites runs out."""

    first: int
    evaluations: int
    batch_size: int
    room: int
    counts: Ints
    refused: Ints
    control: Ints


@part()
def _evaluate(n: int, first: int, n_rows: int, parts: Any, scratch: Any) -> bool:
    """Breed and evaluate n rows, the first of which is evaluation number `first`; False if the variation failed."""
    brood, rows = scratch.brood, scratch.candidates
    if breed_chunk(parts.variation, parts.selection_key, first, n, n_rows, brood) < n:
        return False
    call_objective(parts.objective, n, brood.children, rows.fitness, rows.features, scratch.status)
    return True


@part()
def locate(n: int, parts: Any, scratch: Any, batch: Any, chunk: int) -> None:
    """Find the niches of n evaluated rows; count those that are invalid or out of bounds.

    A row whose niche is not one of the tessellation's is counted and dropped.
    """
    fitness, features, niches = scratch.candidates.fitness, scratch.candidates.features, scratch.candidates.niches
    unit, status, low, high, per_unit = scratch.unit, scratch.status, parts.low, parts.high, parts.per_unit
    tallies, refused, d = batch.tallies, batch.refused, low.shape[0]
    if parts.kinds.shape[0] > 0:
        settle_rows(n, features, parts.kinds, low, high, per_unit)
    for i in range(n):
        bad, outside = fitness[i] * 0.0, False  # a product with 0 is 0 unless a factor is NaN or infinite
        for j in range(d):
            x = features[i, j]
            bad += x * 0.0
            outside |= (x < low[j]) | (x > high[j])
            unit[i, j] = (x - low[j]) * per_unit[j]
        if status[i] != 0 or bad != 0.0:
            if status[i] != 0:
                status[i] = _EXCEPTIONS
            else:
                status[i] = _BAD_FEATURES if np.isfinite(fitness[i]) else _BAD_FITNESS
            tallies[chunk, status[i]] += 1
            for j in range(d):
                unit[i, j] = 0.0  # looked up anyway, never used
        elif outside:
            for j in range(refused.shape[1]):
                x = features[i, j]
                if parts.refuses[j] and (x < low[j] or x > high[j]):
                    status[i] = OUT_OF_BOUNDS
                    refused[chunk, j] += 1
                    break
            tallies[chunk, OUT_OF_BOUNDS] += status[i] == 0
    call_lookup(parts.lookup, n, unit, parts.floats, parts.ints, niches)
    wrong = 0
    for i in range(n):
        wrong += (niches[i] < 0) | (niches[i] >= parts.n_niches)
    if wrong > 0:
        tallies[chunk, NO_NICHE] += wrong
        for i in range(n):
            if niches[i] < 0 or niches[i] >= parts.n_niches:
                status[i], niches[i] = NO_NICHE, 0


@part()
def _keep_promising(n: int, start: int, rule: Any, elites: Any, scratch: Any, batch: Any) -> int:
    """Copy those of n rows that beat the elites, as they are before the batch, to the batch's rows from `start`.

    The others, nearly all later in a run, need no insertion in order. Returns how many were copied.
    """
    promising, places = scratch.promising, batch.places
    found = elitism.find_promising(n, rule, scratch.candidates, scratch.status, elites, promising)
    for k in range(found):
        places[start + k] = start + promising[k]
        elitism.copy_candidate(scratch.candidates, promising[k], batch.candidates, start + k)
    return found


@part()
def _note(n: int, start: int, scratch: Any, evaluated: Any) -> None:
    """Copy all n rows to the stretch's rows from `start`."""
    rows, status, all_fitness, all_status = scratch.candidates, scratch.status, evaluated.fitness, evaluated.status
    for i in range(n):
        all_fitness[start + i] = rows.fitness[i]
        all_status[start + i] = status[i]
        copy_row(rows.features, i, evaluated.features, start + i)
        copy_row(rows.solutions, i, evaluated.solutions, start + i)


@part()
def clear_tally(chunk: int, batch: Any) -> None:
    """Reset the counts of a chunk."""
    for k in range(N_COUNTS):
        batch.tallies[chunk, k] = 0
    for j in range(batch.refused.shape[1]):
        batch.refused[chunk, j] = 0


@part()
def add_tally(chunk: int, batch: Any, counts: Any, refused: Any) -> None:
    """Add a chunk's counts to those of the stretch."""
    for k in range(_BAD_FITNESS, NO_NICHE + 1):
        counts[k] += batch.tallies[chunk, k]
    for j in range(len(refused)):
        refused[j] += batch.refused[chunk, j]


@part()
def _insert(n_chunks: int, first: int, rule: Any, batch: Any, elites: Any, counts: Any, refused: Any) -> None:
    """Insert the promising rows of the batch in order, as `Archive.add`, and add up the counts of the chunks."""
    candidates, places, tallies = batch.candidates, batch.places, batch.tallies
    for chunk in range(n_chunks):
        add_tally(chunk, batch, counts, refused)
        start = chunk * CHUNK
        stop = start + tallies[chunk, _PROMISING]
        elitism.fetch_rows(start, stop, candidates.niches, elites)
        for i in range(start, stop):
            status = elitism.insert(rule, candidates, i, first + places[i], counts[ROWS], elites)
            counts[ROWS] += status == elitism.NEW


@kernel(allocates=False)
def _run_batches(leads: bool, parts: Any, scratch: Any, batch: Any, elites: Any, stretch: Any, evaluated: Any) -> None:
    """The loop, on each thread of the crew. The leader offers batches and inserts their results; all threads work on
    them. If `evaluated` is None, it is compiled without the history: a test in each chunk took 5 %.
    """
    control, counts, tallies = stretch.control, stretch.counts, batch.tallies
    count, n_chunks, spins = 0, 0, 0
    while True:
        if leads:
            count = min(stretch.batch_size, stretch.evaluations - counts[DONE])
            if count == 0 or counts[ROWS] + count > stretch.room:
                dismiss(control)
                return
            n_chunks = (count + CHUNK - 1) // CHUNK
            control[MESSAGE] = count
            control[MESSAGE + 1] = stretch.first + counts[DONE]
            control[MESSAGE + 2] = counts[ROWS]
            publish(control, n_chunks)
        chunk = claim(control)
        while chunk >= 0:
            start = chunk * CHUNK
            n = min(CHUNK, control[MESSAGE] - start)
            clear_tally(chunk, batch)
            if not _evaluate(n, control[MESSAGE + 1] + start, control[MESSAGE + 2], parts, scratch):
                control[MESSAGE + 3] = 1
                dismiss(control)
                return
            locate(n, parts, scratch, batch, chunk)
            if evaluated is not None:
                _note(n, control[MESSAGE + 1] - stretch.first + start, scratch, evaluated)
            tallies[chunk, _PROMISING] = _keep_promising(n, start, parts.rule, elites, scratch, batch)
            report_done(control)
            spins = 0
            chunk = claim(control)
        if leads:
            if not wait_until_done(control, n_chunks):  # another thread failed
                return
            _insert(n_chunks, control[MESSAGE + 1], parts.rule, batch, elites, counts, stretch.refused)
            counts[DONE] += count
        else:
            spins += 1
            if not wait_for_work(control, spins):
                return


def finds_niches(search: MapElites) -> bool:
    """Whether machine code finds this search's niches: linear features, a look-up that is a block."""
    tessellation = search.archive.tessellation
    return (
        not (search.revision is not None and search.revision.sees_all)
        and tessellation.space.linear
        and tessellation.lookup is not None
    )


def runs(search: MapElites) -> bool:
    """Whether the loop supports this search's parts: a compiled operator, linear features, niches that a block
    finds."""
    from tesselite.emitters.uniform_parents import Uniform  # here, or its changes would have kernels compiled again

    emitter = search.emitter
    return type(emitter) is Uniform and isinstance(emitter.variation, Operator) and finds_niches(search)


def check_problem(search: MapElites, problem: CompiledProblem) -> None:
    """ValueError unless the problem's solutions, features and records match the search's."""
    space, width = search.archive.tessellation.space, search.archive.width
    if (width, space.n) != (problem.solutions.width, problem.features.n):
        raise ValueError(
            f"problem: expected solutions and features like the search's, {width} and {space.n} numbers, "
            f"got {problem.solutions.width} and {problem.features.n}"
        )
    records = search.archive.records
    if problem.records != records:
        raise ValueError(f"problem: expected records like the search's, {records}, got {problem.records}")


def parts_of(
    search: MapElites, problem: CompiledProblem, variation: int = 0, selection_key: np.uint64 = _NO_KEY
) -> Parts:
    """The parts of a search of a compiled problem; without a variation where no parents are varied."""
    space, lookup = search.archive.tessellation.space, search.archive.tessellation.lookup
    assert lookup is not None
    return Parts(
        variation=variation,
        selection_key=selection_key,
        objective=problem.block_address(),
        lookup=lookup.block.address,
        floats=lookup.floats,
        ints=lookup.ints,
        n_niches=search.archive.n_niches,
        kinds=space.kinds[: 0 if space.plain else None],
        low=space.low,
        high=space.high,
        per_unit=space.per_unit,
        refuses=space.refuses,
        rule=search.archive.rule,
    )


def note_counts(search: MapElites, counts: Ints, refused: Ints) -> None:
    """Add the counts of a stretch of batches to the search and its archive."""
    archive = search.archive
    archive.out_of_bounds += int(counts[OUT_OF_BOUNDS])
    reasons = {reason: int(counts[status]) for status, reason in _REASONS.items()}
    for name, n in zip(archive.tessellation.space.names, refused.tolist(), strict=False):
        reasons[OUTSIDE + name] = n
    archive.count_invalid(Counter({reason: n for reason, n in reasons.items() if n}))
    search.evaluations += int(counts[DONE])


def check_niches(search: MapElites, counts: Ints) -> None:
    """ValueError if the tessellation has returned a niche that does not exist."""
    if counts[NO_NICHE]:
        raise ValueError(
            f"tessellation: expected niches from 0 to {search.archive.n_niches - 1}, got others for "
            f"{counts[NO_NICHE]} rows"
        )


def run_crew(kernel: Any, pool: ThreadPoolExecutor | None, first: Any, others: Any, control: Any) -> None:
    """Call kernel(True, *first) here and kernel(False, *other) on a thread for each of the others, until all are done.

    If one fails, no thread waits forever; the first error is raised.
    """
    helping: list[Future[None]] = []
    try:
        for other in others:
            assert pool
            helping.append(pool.submit(kernel, False, *other))
            helping[-1].add_done_callback(lambda helper: dismiss(control) if helper.exception() else None)
        kernel(True, *first)
    finally:
        dismiss(control)
        wait(helping)
    for helper in helping:
        helper.result()


def new_candidates(solutions: Floats, n_columns: int) -> elitism.Candidates:
    """Room for as many rows as solutions; NaN and -1 everywhere, so that reading unwritten values is noticed."""
    n = len(solutions)
    return elitism.Candidates(
        niches=np.full(n, -1, np.int64),
        fitness=np.full(n, np.nan),
        features=np.full((n, n_columns), np.nan),
        solutions=solutions.view(np.uint8),
    )


class CompiledLoop:
    """The loop made ready for one search and problem: scratch memory allocated once, the objective compiled."""

    def __init__(self, search: MapElites, problem: CompiledProblem, batch_size: int, threads: int) -> None:
        check_problem(search, problem)
        space, width, records = search.archive.tessellation.space, search.archive.width, search.archive.records
        n_columns = space.n + records.width  # records stand behind the features
        from tesselite.emitters.uniform_parents import Uniform

        emitter = search.emitter
        assert isinstance(emitter, Uniform)
        assert isinstance(emitter.variation, Operator)
        self._failure = emitter.variation.failure()
        low, high = emitter.brood.low, emitter.brood.high
        if not len(low) == len(high) == width:
            raise ValueError(f"solution_space: expected {width} bounds, got {len(low)} low and {len(high)} high ones")
        self._search = search
        self._archive = search.archive
        self._batch_size = batch_size
        # More threads than chunks would be idle.
        self._helpers = min(threads, (batch_size + CHUNK - 1) // CHUNK) - 1
        self._pool = ThreadPoolExecutor(self._helpers) if self._helpers else None
        self._parts = parts_of(search, problem, emitter.variation.address, emitter.selection_key)
        self._scratch = [self._new_scratch(emitter.brood, space.n, n_columns) for _ in range(self._helpers + 1)]
        n_chunks = (batch_size + CHUNK - 1) // CHUNK
        self._batch = Batch(
            candidates=new_candidates(np.full((batch_size, width), np.nan), n_columns),
            places=np.full(batch_size, -1, np.int64),
            tallies=np.zeros((n_chunks, N_COUNTS), np.int64),
            refused=np.zeros((n_chunks, space.n if space.refuses_some else 0), np.int64),
        )

    def _new_scratch(self, brood: Brood, n_features: int, n_columns: int) -> Scratch:
        children = np.full((CHUNK, brood.children.shape[1]), np.nan)
        return Scratch(
            brood=brood._replace(parents=np.zeros((2, CHUNK), np.int64), children=children),
            candidates=new_candidates(children, n_columns),
            unit=np.full((CHUNK, n_features), np.nan),
            status=np.ones(CHUNK, np.int64),
            promising=np.zeros(CHUNK, np.int64),
        )

    def _room_for_all(self, evaluations: int) -> Evaluated | None:
        """Where the rows of a stretch of this many evaluations go, if they are kept."""
        history = self._search.history
        if history is None:
            return None
        history.reserve(evaluations)
        n, solutions = history.n, history.solutions.view(np.uint8)
        return Evaluated(history.fitness[n:], history.columns[n:], solutions[n:], np.zeros(evaluations, np.int64))

    def _keep(self, rows: Evaluated, n: int) -> None:
        """Keep the n rows of a stretch, with the reasons that `Archive.add` would give."""
        history = self._search.history
        assert history is not None
        d, records = self._archive.tessellation.space.n, self._archive.records
        status, features = rows.status[:n], rows.features
        invalid = np.flatnonzero(status)
        nothing_known, failed = invalid[status[invalid] != OUT_OF_BOUNDS], invalid[status[invalid] == _EXCEPTIONS]
        rows.fitness[nothing_known], features[nothing_known, :d] = np.nan, np.nan
        features[failed, d:] = records.packed(records.missing(1), 1)
        reasons = {}
        for i in invalid.tolist():
            outside = status[i] == OUT_OF_BOUNDS
            reasons[i] = self._archive.refused(features[i : i + 1, :d])[0] if outside else _REASONS.get(status[i], "")
        history.count(self._search.evaluations, n, reasons)

    def can_run(self, evaluations: int) -> bool:
        """Whether it can spend this many evaluations."""
        return True

    def run(self, evaluations: int) -> None:
        """Spend this many evaluations on batches of offspring."""
        while evaluations > 0:
            evaluations -= self._stretch(evaluations)

    def _stretch(self, evaluations: int) -> int:
        """Batches while the archive has room for another; Ctrl-C is deferred until all are recorded. Returns the
        evaluations."""
        search, archive = self._search, self._archive
        with uninterrupted(), archive.one_at_a_time:
            archive.reserve(max(self._batch_size, len(archive)))
            counts = np.zeros(N_COUNTS, np.int64)
            counts[ROWS] = len(archive)
            control = new_control()
            stretch = Stretch(
                first=search.evaluations,
                evaluations=evaluations,
                batch_size=self._batch_size,
                # Every niche has a row of its own, so an archive with room for all never runs out of it.
                room=archive.capacity if archive.capacity < archive.n_niches else 2**62,
                counts=counts,
                refused=np.zeros(self._batch.refused.shape[1], np.int64),
                control=control,
            )
            evaluated = self._room_for_all(evaluations)
            task = self._batch, archive.arrays(), stretch, evaluated
            first, *others = (
                scratch._replace(brood=scratch.brood._replace(elites=archive.solutions)) for scratch in self._scratch
            )
            try:
                helpers = [(self._parts, other, *task) for other in others]
                run_crew(_run_batches, self._pool, (self._parts, first, *task), helpers, control)
            finally:  # what was inserted is recorded
                archive.note_filled(int(counts[ROWS]))
            if evaluated is not None:
                self._keep(evaluated, int(counts[DONE]))
            note_counts(search, counts, stretch.refused)
        if control[MESSAGE + 3]:
            raise ValueError(self._failure)
        check_niches(search, counts)
        return int(counts[DONE])

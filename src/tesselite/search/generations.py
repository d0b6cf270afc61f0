"""The compiled loop of CMA-MAE: whole generations of all strategies on all cores, insertion in order.

It does what `MapElites.ask`, `Problem.evaluate` and `MapElites.tell` do with this emitter, bit for bit, for problems
whose objective is machine code. A strategy learns, draws its next samples and has them evaluated on one thread, while
they are in its cache; what is left for one thread alone is the insertion and the thresholds. The emitter itself is in
`emitters.cma_emitters`, the loop of parents and operators in `search.loop`.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tesselite.archive import elitism
from tesselite.base.arrays import Floats, Ints
from tesselite.base.interruption import uninterrupted
from tesselite.compiled.blocks import CHUNK, call_objective
from tesselite.compiled.crew import (
    MESSAGE,
    dismiss,
    new_control,
    new_tickets,
    offer,
    report_done,
    rounds_offered,
    take,
    wait_for_work,
    wait_until_done,
)
from tesselite.compiled.kernels import kernel, part
from tesselite.emitters.cma_es import Workspace, draw_index, new_workspace, restart_at, sample_one, update_one
from tesselite.emitters.thresholds import judge
from tesselite.search.loop import (
    DONE,
    N_COUNTS,
    ROWS,
    add_tally,
    check_niches,
    check_problem,
    clear_tally,
    finds_niches,
    locate,
    new_candidates,
    note_counts,
    parts_of,
    run_crew,
)

if TYPE_CHECKING:
    from tesselite.problems.user_function import CompiledProblem
    from tesselite.search.map_elites import MapElites

# The leader's flags for a round: whether strategies learn, whether they sample, and the number of elites.
_LEARN, _SAMPLE, _ELITES = MESSAGE, MESSAGE + 1, MESSAGE + 2


class Scratch(NamedTuple):
    """What a thread works in, and strategies [start, stop) that it begins with: their state is in its cache."""

    start: int
    stop: int
    work: Workspace
    candidates: elitism.Candidates  # a chunk of rows; their solutions stay where they were drawn
    unit: Floats
    status: Ints


class Generation(NamedTuple):
    """The samples of k strategies, how they were ranked, and a tally for each chunk of them."""

    candidates: elitism.Candidates
    samples: Floats  # (k, batch, n), the candidates' solutions
    rows: Floats  # the same, (k * batch, n)
    signed: Floats  # fitness that is maximised
    classes: Ints  # (k, batch)
    values: Floats
    flat_values: Floats  # the same, (k * batch,)
    parents: Ints
    restart: Ints
    tallies: Ints
    refused: Ints


class Annealed(NamedTuple):
    """The thresholds."""

    alpha: float
    least: float
    keys: Ints
    rows: Ints
    niches: Ints
    values: Floats
    n: Ints  # how many there are, (1,)


class Stretch(NamedTuple):
    """How long to run: from evaluation number `first`, or until the room for elites or thresholds runs out."""

    first: int
    evaluations: int
    room: int
    room_thresholds: int
    counts: Ints
    refused: Ints
    control: Ints
    tickets: Ints


@part()
def _evaluate(i: int, batch: int, parts: Any, scratch: Any, generation: Any) -> None:
    """Evaluate the samples of strategy i and find their niches, a chunk at a time; -1 for those of invalid rows."""
    found, to = scratch.candidates, generation.candidates
    chunks = (batch + CHUNK - 1) // CHUNK
    for c in range(chunks):
        start = i * batch + c * CHUNK
        n = min(CHUNK, batch - c * CHUNK)
        chunk = i * chunks + c
        clear_tally(chunk, generation)
        call_objective(
            parts.objective, n, generation.rows[start : start + n], found.fitness, found.features, scratch.status
        )
        locate(n, parts, scratch, generation, chunk)
        for k in range(n):
            valid = scratch.status[k] == 0
            to.niches[start + k] = found.niches[k] if valid else -1
            to.fitness[start + k] = found.fitness[k]
            generation.signed[start + k] = parts.rule.sign * found.fitness[k]
            for j in range(found.features.shape[1]):
                to.features[start + k, j] = found.features[k, j]
            generation.classes[i, c * CHUNK + k] = 0 if valid else -1


@part()
def _insert(rule: Any, generation: Any, elites: Any, annealed: Any, stretch: Any) -> None:
    """Insert all samples in order, judge them by their thresholds, and add up the counts of the chunks."""
    candidates, counts = generation.candidates, stretch.counts
    n = candidates.niches.shape[0]
    first = stretch.first + counts[DONE]
    for i in range(n):
        if i % elitism.FETCHED == 0:
            elitism.fetch_elites(i, min(i + elitism.FETCHED, n), candidates.niches, elites)
        if candidates.niches[i] >= 0:
            counts[ROWS] += elitism.insert(rule, candidates, i, first + i, counts[ROWS], elites) == elitism.NEW
    annealed.n[0] = judge(
        annealed.alpha,
        annealed.least,
        candidates.niches,
        generation.signed,
        annealed.keys,
        annealed.rows,
        annealed.n[0],
        annealed.niches,
        annealed.values,
        generation.flat_values,
    )
    for chunk in range(generation.tallies.shape[0]):
        add_tally(chunk, generation, counts, stretch.refused)
    counts[DONE] += n


@part()
def _advance(
    i: int,
    parts: Any,
    setting: Any,
    stack: Any,
    key: Any,
    scratch: Any,
    generation: Any,
    solutions: Any,
    control: Any,
) -> None:
    """Let strategy i learn from its last samples, draw new ones and evaluate them, by the leader's flags."""
    if control[_LEARN] != 0 and not update_one(
        setting, stack, i, scratch.work, generation.classes, generation.values, generation.parents[i]
    ):
        generation.restart[i] = 1
    if control[_SAMPLE] != 0:
        if generation.restart[i] != 0:
            k = stack.sigma.shape[0]
            restart_at(setting, stack, i, solutions, draw_index(key, k + i, stack.generation[i], control[_ELITES]))
            generation.restart[i] = 0
        sample_one(setting, stack, key, i, scratch.work, generation.samples)
        _evaluate(i, setting.batch, parts, scratch, generation)


@kernel(allocates=False)
def _run_generations(
    leads: bool,
    parts: Any,
    setting: Any,
    stack: Any,
    key: Any,
    scratch: Any,
    generation: Any,
    elites: Any,
    solutions: Any,
    annealed: Any,
    stretch: Any,
) -> None:
    """The loop, on each thread of the crew. The leader offers strategies and inserts their samples; all threads work on
    them. A thread takes its own strategies first, then those that others have left, from the end. In the last round
    strategies only learn.
    """
    control, counts, tickets = stretch.control, stretch.counts, stretch.tickets
    k, n = stack.sigma.shape[0], generation.signed.shape[0]
    own = scratch.stop - scratch.start
    seen, spins, goes_on = 0, 0, True
    while True:
        if leads:
            goes_on = (
                counts[DONE] + n <= stretch.evaluations
                and counts[ROWS] + n <= stretch.room
                and annealed.n[0] + n <= stretch.room_thresholds
            )
            control[_LEARN] = counts[DONE] > 0
            control[_SAMPLE] = goes_on
            control[_ELITES] = counts[ROWS]
            offer(control, tickets, k)
        offered = rounds_offered(control)
        if offered != seen:
            seen, spins = offered, 0
            for step in range(own + k):
                i = scratch.start + step if step < own else own + k - 1 - step
                if take(tickets, i):
                    _advance(i, parts, setting, stack, key, scratch, generation, solutions, control)
                    report_done(control)
        if leads:
            if not wait_until_done(control, k):  # another thread failed
                return
            if not goes_on:
                dismiss(control)
                return
            _insert(parts.rule, generation, elites, annealed, stretch)
        else:
            spins += 1
            if not wait_for_work(control, spins):
                return


def runs(search: MapElites) -> bool:
    """Whether this loop supports the search's parts: CMA-MAE, linear features, niches that a block finds."""
    from tesselite.emitters.cma_emitters import CmaMae  # here, or its changes would have kernels compiled again

    return type(search.emitter) is CmaMae and finds_niches(search)


class CompiledGenerations:
    """The loop made ready for one search and problem: scratch memory allocated once, the objective compiled."""

    def __init__(self, search: MapElites, problem: CompiledProblem, threads: int) -> None:
        from tesselite.emitters.cma_emitters import CmaMae

        check_problem(search, problem)
        assert isinstance(search.emitter, CmaMae)
        self._search, self._archive, self._emitter = search, search.archive, search.emitter
        self._parts = parts_of(search, problem)
        space, width = search.archive.tessellation.space, search.archive.width
        n_columns = space.n + search.archive.records.width
        self._helpers = min(threads, self._emitter.emitters) - 1
        self._pool = ThreadPoolExecutor(self._helpers) if self._helpers else None
        made = self._emitter.in_whole()
        self._state = made
        drawn, w = made.stack.z.shape[1:]
        k, threads = self._emitter.emitters, self._helpers + 1
        self._scratch = [
            Scratch(
                start=t * k // threads,
                stop=(t + 1) * k // threads,
                work=new_workspace(made.setting.batch, drawn, w),
                candidates=new_candidates(np.empty((CHUNK, 1)), n_columns),
                unit=np.full((CHUNK, space.n), np.nan),
                status=np.ones(CHUNK, np.int64),
            )
            for t in range(threads)
        ]
        rows = made.samples.reshape(-1, width)
        n_chunks = self._emitter.emitters * -(-made.setting.batch // CHUNK)
        self._generation = Generation(
            candidates=new_candidates(rows, n_columns),
            samples=made.samples,
            rows=rows,
            signed=np.full(len(rows), np.nan),
            classes=made.classes,
            values=made.values,
            flat_values=made.values.reshape(-1),
            parents=self._emitter.parents(),
            restart=made.restart,
            tallies=np.zeros((n_chunks, N_COUNTS), np.int64),
            refused=np.zeros((n_chunks, space.n if space.refuses_some else 0), np.int64),
        )

    def can_run(self, evaluations: int) -> bool:
        """Whether there are whole generations to do, with thresholds that no elite can change, and no history."""
        emitter = self._emitter
        return (
            self._search.history is None
            and evaluations >= emitter.batch_size
            and emitter.is_between_generations
            and emitter.first_threshold(self._archive) is not None
        )

    def run(self, evaluations: int) -> None:
        """Spend this many evaluations, rounded down to whole generations."""
        while evaluations >= self._emitter.batch_size:
            least = self._emitter.first_threshold(self._archive)
            assert least is not None
            evaluations -= self._stretch(evaluations, least)

    def compile(self) -> None:
        """Compile the loop; nothing is evaluated."""
        self._stretch(0, 0.0)

    def _stretch(self, evaluations: int, least: float) -> int:
        """Generations while there is room for another; Ctrl-C is deferred until all are recorded. Returns the
        evaluations."""
        search, archive, emitter, made = self._search, self._archive, self._emitter, self._state
        n, thresholds = emitter.batch_size, emitter.thresholds
        with uninterrupted(), archive.one_at_a_time:
            archive.reserve(max(n, len(archive)))
            index, niches, values = thresholds.arrays(archive.n_niches, max(n, len(thresholds)))
            annealed = Annealed(emitter.alpha, least, *index, niches, values, np.array([len(thresholds)]))
            counts = np.zeros(N_COUNTS, np.int64)
            counts[ROWS] = len(archive)
            control = new_control()
            stretch = Stretch(
                first=search.evaluations,
                evaluations=evaluations,
                # Every niche has a row of its own, so where there is room for all of them it never runs out.
                room=archive.capacity if archive.capacity < archive.n_niches else 2**62,
                room_thresholds=len(values) if len(values) < archive.n_niches else 2**62,
                counts=counts,
                refused=np.zeros(self._generation.refused.shape[1], np.int64),
                control=control,
                tickets=new_tickets(emitter.emitters),
            )
            task = self._generation, archive.arrays(), archive.solutions, annealed, stretch
            first, *others = (
                (self._parts, made.setting, made.stack, made.key, scratch, *task) for scratch in self._scratch
            )
            try:
                run_crew(_run_generations, self._pool, first, others, control)
            finally:  # what was inserted is recorded
                archive.note_filled(int(counts[ROWS]))
                thresholds.note_filled(int(annealed.n[0]))
            emitter.forget_samples()
            note_counts(search, counts, stretch.refused)
        check_niches(search, counts)
        return int(counts[DONE])

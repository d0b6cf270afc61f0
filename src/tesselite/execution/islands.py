"""Islands: every worker searches for a while on its own, starting from the common archive, and then all are joined.

For problems so quick that sending single evaluations would cost more than doing them. Evaluations are numbered
throughout, and a number decides what is drawn for it; so islands never draw the same, and since joining archives
depends neither on order nor on repetition (`Archive.merge`), the result depends on the number of islands and on how
often they are joined, but not on their speed, nor on restarts.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

from tesselite.archive.elites import Elites
from tesselite.archive.history import EvaluatedRows, RowKind
from tesselite.base.checks import checked_count
from tesselite.base.threads import available_threads
from tesselite.emitters.emitter import Emitter
from tesselite.execution.execution import Job, OnWorkers, store
from tesselite.execution.workers import open_workers
from tesselite.execution.workers.farm import Halted
from tesselite.execution.workers.payload import Payload
from tesselite.execution.workers.task import Task, Workers, WorkersLost
from tesselite.problems.problem import Problem
from tesselite.search.map_elites import MapElites, NothingValid, batches, search_for, stop_if_nothing_is_valid
from tesselite.spaces.solutions import Rows
from tesselite.tessellation.protocol import Tessellation

EXCHANGES = 20  # in a run, by default
_POLL_SECONDS = 0.5


@dataclass(frozen=True)
class Stretch:
    """The task of an island: evaluations first to stop, starting from these elites."""

    elites: Elites
    first: int
    stop: int


@dataclass(frozen=True)
class Found:
    """What an island found: its elites, what it counted on the way, the first error, and all rows if they are kept."""

    elites: Elites
    invalid: Counter[str]
    out_of_bounds: int
    first_error: str
    history: EvaluatedRows | None = None


@dataclass(frozen=True)
class Island:
    """The constant part of a search: workers get it once."""

    problem_payload: Payload
    tessellation: Tessellation
    emitter: Emitter
    initial: int
    batch_size: int
    seed: int
    start: Rows | None
    keeps_history: bool = False

    def search(self, stretch: Stretch) -> Found:
        """Carry on from the elites of a stretch to its end."""
        problem: Problem = self.problem_payload.load()
        search = search_for(problem, self.tessellation, self.emitter, self.initial, self.seed, self.start)
        search.archive.restore(stretch.elites)
        search.evaluations = stretch.first
        if self.keeps_history:
            search.history = EvaluatedRows(RowKind.of(search.archive), stretch.stop - stretch.first)
        for _ in batches(search, problem, stretch.stop, batch_size=self.batch_size, threads=1):
            if stretch.first == 0:  # the others begin later
                stop_if_nothing_is_valid(search, problem, self.batch_size)
        archive = search.archive
        return Found(
            archive.in_order_of_filling(), archive.invalid, archive.out_of_bounds, search.first_error, search.history
        )


def search_island(island: Island, stretch: Stretch) -> Found | str:
    """The worker's task; returns a text if nothing was valid."""
    try:
        return island.search(stretch)
    except NothingValid as error:
        return str(error)


@dataclass(frozen=True)
class Islands(OnWorkers):
    """`n` searches side by side, each on a worker, that exchange elites every `exchange` evaluations.

    `retries` is how often an island is repeated if its worker dies; then WorkersLost is raised. Without
    `workers`, one process for each core, `n` at most.
    """

    kind = "islands"
    n: int = 2
    exchange: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        store(self, "n", checked_count("islands", self.n))
        if self.exchange is not None:
            store(self, "exchange", checked_count("exchange", self.exchange))
        if self.recycle_after is not None:
            raise ValueError(
                "recycle_after: not valid with islands, which evaluate inside their search; leave it out, "
                "or use worker_memory"
            )
        if self.timeout is not None:
            raise ValueError("timeout: not valid with islands, which evaluate inside their search; leave it out")

    def settled(self, evaluations: int) -> Islands:
        """With the number of evaluations between exchanges: 20 exchanges in all unless it was given."""
        return replace(self, exchange=self.exchange or max(1, evaluations // (EXCHANGES * self.n)))

    def open(self) -> AbstractContextManager[Workers | None]:
        """The workers, to be closed at the end."""
        workers = min(available_threads(), self.n) if self.workers is None else self.workers
        return open_workers(workers, memory=self.worker_memory)

    def steps(self, job: Job, workers: Workers | None) -> Iterator[MapElites]:
        """Spend the job's evaluations, yielding the search after every exchange."""
        assert workers is not None
        assert self.exchange is not None
        search, evaluations = job.search, job.evaluations
        tessellation = search.archive.tessellation
        payload = Payload.of(job.problem)
        island = Island(
            payload,
            tessellation,
            search.emitter,
            search.initial,
            job.batch_size,
            search.seed,
            search.start,
            keeps_history=search.history is not None,
        )
        workers.start(Payload.of(island))
        numbers = itertools.count()
        while search.evaluations < evaluations:
            if search.archive.tessellation is not tessellation:
                raise ValueError("change_tessellation: islands need fixed niches")
            first = search.evaluations
            share = min(self.exchange, -(-(evaluations - first) // self.n))
            elites = search.archive.in_order_of_filling()
            bounds = [min(first + i * share, evaluations) for i in range(self.n + 1)]
            stretches = [Stretch(elites, a, b) for a, b in itertools.pairwise(bounds) if a < b]
            for found in _all(workers, stretches, numbers, self.retries, job.halt):
                other = search.archive.empty_copy()
                other.restore(found.elites)
                search.archive.merge(other)
                search.archive.count_invalid(found.invalid)
                search.archive.out_of_bounds += found.out_of_bounds
                search.first_error = search.first_error or found.first_error
                if search.history is not None and found.history is not None:
                    search.history.extend(found.history)
            search.evaluations = bounds[-1]
            yield search

    @property
    def label(self) -> str:
        """A few words for people."""
        return f"{self.n} islands, exchange every {self.exchange:,}"

    def shown(self) -> list[tuple[str, str]]:
        """Names and values for people."""
        mine = [("Islands", str(self.n)), ("Exchange", f"every {self.exchange:,} evaluations")]
        return [*mine, *(row for row in super().shown() if row[0] != "Timeout")]

    def command(self) -> list[str]:
        """The options of `tesselite run`."""
        exchange = [] if self.exchange is None else ["--exchange", str(self.exchange)]
        return ["--islands", str(self.n), *exchange, *super().command()]


def _all(
    workers: Workers,
    stretches: list[Stretch],
    numbers: Iterator[int],
    retries: int,
    halt: Callable[[], bool] | None,
) -> list[Found]:
    """What each island found, in the order of islands, after any repetitions."""
    found: dict[int, Found] = {}
    out: dict[int, int] = {}
    waiting, losses = list(range(len(stretches))), Counter[int]()
    while len(found) < len(stretches):
        if halt and halt():
            raise Halted
        while waiting and workers.room() > 0:
            task = Task(next(numbers), search_island, (stretches[waiting[0]],))
            out[task.number] = waiting.pop(0)
            workers.submit(task)
        for outcome in workers.wait(_POLL_SECONDS):
            which = out.pop(outcome.task.number)
            if isinstance(outcome.value, str):
                raise NothingValid(outcome.value)
            if not outcome.lost:
                found[which] = outcome.value
                continue
            losses[which] += outcome.tries
            if losses[which] > retries:
                raise WorkersLost(f"workers: an island was lost {losses[which]} times in a row: {outcome.lost}")
            waiting.append(which)
    return [found[which] for which in range(len(stretches))]

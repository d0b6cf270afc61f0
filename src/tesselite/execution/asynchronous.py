"""MAP-Elites without generations: every result is inserted at once and a new solution is sent out. No worker waits for
the slowest of a batch. Which solutions are bred depends on the seed and on the order of the results, so a run
can be repeated exactly from that order (see `tesselite.execution.log`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tesselite.archive.elites import Added
from tesselite.base.interruption import uninterrupted
from tesselite.base.threads import available_threads
from tesselite.execution.events import BUDGET, WINDOW, Events, Since, value_at
from tesselite.execution.execution import Job, OnWorkers
from tesselite.execution.log import Logged
from tesselite.execution.workers import Workers
from tesselite.execution.workers.farm import Item, Result, evaluation_of
from tesselite.search.map_elites import MapElites
from tesselite.spaces.solutions import Rows


class SteadyState:
    """A search with pending solutions: `out` maps the number of each to its row, (width,).

    Numbers are given in the order of asking; `search.evaluations` counts the results. Pending solutions are saved with
    the search.
    """

    def __init__(self, search: MapElites) -> None:
        self.search = search
        self.out = search.pending

    @property
    def asked(self) -> int:
        """The number of solutions requested so far."""
        return self.search.evaluations + len(self.out)

    def ask(self) -> tuple[int, Rows]:
        """The next solution to evaluate and its number."""
        number = self.asked
        self.out[number] = row = self.search.propose(1, number)[0].copy()
        return number, row

    def ask_up_to(self, window: int, evaluations: int) -> list[tuple[int, Rows]]:
        """Ask until `window` solutions are pending or `evaluations` were requested; returns the new ones."""
        return [self.ask() for _ in range(min(window - len(self.out), evaluations - self.asked))]

    def tell(self, result: Result) -> Added:
        """Insert the solution of this number; ValueError if it is not pending."""
        if result.number not in self.out:
            raise ValueError(f"tell: expected the number of a solution that is out for evaluation, got {result.number}")
        search = self.search
        with uninterrupted():
            row = self.out.pop(result.number)
            return search.insert(row[None], evaluation_of([result], search.archive.records), result.number)


def replay(search: MapElites, log: Iterable[Logged], budgets: Since, windows: Since) -> None:
    """Bring a search to the state after these results of an asynchronous run, without evaluating anything.

    `budgets` are the planned evaluations, `windows` the solutions pending at a time. ValueError
    if a result is of another solution than the one that is out under its number.
    """
    state = SteadyState(search)
    for logged in log:
        state.ask_up_to(value_at(windows, search.evaluations), value_at(budgets, search.evaluations))
        row = state.out.get(logged.result.number)
        if row is not None and not logged.is_of(row):
            raise ValueError(
                f"evaluations.log: result {search.evaluations} belongs to a solution other than the one produced here; "
                "expected the variation and the seed that the run began with, and the log as it was written"
            )
        state.tell(logged.result)


def window_for(n_workers: int) -> int:
    """How many solutions are pending at a time: no worker waits while the results of another are inserted."""
    return 2 * n_workers


@dataclass(frozen=True)
class Asynchronous(OnWorkers):
    """Every result is inserted at once, and a new solution is sent out: no worker waits for the slowest of a batch. The
    result depends on the order of results, so all of them are logged.
    """

    kind = "asynchronous"
    keeps_log = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.workers is None:
            raise ValueError(
                "asynchronous: needs workers, such as --workers N or workers=N for N processes; "
                f"this machine has {available_threads()} cores"
            )

    def begin(self, job: Job, workers: Workers | None) -> None:
        """Record how many solutions are pending at a time, if that has changed."""
        assert workers is not None
        windows = job.events.changes(WINDOW)
        if not windows or windows[-1][1] != window_for(workers.n):
            job.events.record(WINDOW, job.search.evaluations, value=window_for(workers.n))

    def catch_up(self, search: MapElites, logged: Sequence[Logged], events: Events, planned: int) -> None:
        """Bring a search from its checkpoint to the end of its log; ValueError if they do not fit."""
        done = search.evaluations
        if len(logged) < done:
            raise ValueError(
                f"evaluations.log: expected the {done} results that are in the checkpoint, found {len(logged)}; "
                "the archive is complete and can be read, but the run cannot continue without its log"
            )
        replay(search, logged[done:], events.changes(BUDGET, planned), events.changes(WINDOW))

    def steps(self, job: Job, workers: Workers | None) -> Iterator[MapElites]:
        """Spend the job's evaluations, yielding the search after each.

        Where workers have joined, the larger window is recorded before the search is given back. Each result is in the
        log before any is inserted.
        """
        assert workers is not None
        search, evaluations, farm = job.search, job.evaluations, self.farm(job, workers)
        window = job.events.changes(WINDOW)[-1][1]
        state = SteadyState(search)
        state.ask_up_to(window, evaluations)
        for number, row in state.out.items():
            farm.submit(Item(number, row, None))
        while search.evaluations < evaluations:
            results = farm.completed()
            if job.log:
                for result in results:
                    job.log.append(result, state.out[result.number])
            for result in results:
                state.tell(result)
                if window_for(workers.n) > window:
                    window = window_for(workers.n)
                    job.events.record(WINDOW, search.evaluations, value=window)
                for number, row in state.ask_up_to(window, evaluations):
                    farm.submit(Item(number, row, None))
                yield search

    @property
    def label(self) -> str:
        """A few words for people."""
        return self.kind

    def shown(self) -> list[tuple[str, str]]:
        """Names and values for people."""
        return [("Order", "asynchronous"), *super().shown()]

    def command(self) -> list[str]:
        """The options of `tesselite run`. Results will come in another order; `tesselite replay` repeats the run."""
        return ["--asynchronous", *super().command()]

"""MAP-Elites without generations: every solution that comes back is inserted at once and replaced by a new one.

No worker waits for the slowest of a batch. Which solutions are bred depends on the seed and on the order in which
results came, so a run can be repeated exactly from that order (see `tesselite.execution.log`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from tesselite.archive.archive import Added
from tesselite.base.interruption import uninterrupted
from tesselite.execution.log import Logged
from tesselite.execution.workers.farm import Farm, Item, Result, evaluation_of
from tesselite.search.map_elites import MapElites
from tesselite.spaces.solutions import Rows


class SteadyState:
    """A search with solutions out for evaluation: `out` maps the number of each to its row, (width,).

    Numbers are given in the order of asking; `search.evaluations` counts what has come back. What is out is saved with
    the search.
    """

    def __init__(self, search: MapElites) -> None:
        self.search = search
        self.out = search.pending

    @property
    def asked(self) -> int:
        """How many solutions were asked for so far."""
        return self.search.evaluations + len(self.out)

    def ask(self) -> tuple[int, Rows]:
        """The next solution to evaluate and its number."""
        number = self.asked
        self.out[number] = row = self.search.propose(1, number)[0].copy()
        return number, row

    def ask_up_to(self, window: int, evaluations: int) -> list[tuple[int, Rows]]:
        """Ask until `window` solutions are out, or `evaluations` were asked for; the new ones."""
        return [self.ask() for _ in range(min(window - len(self.out), evaluations - self.asked))]

    def tell(self, result: Result) -> Added:
        """Insert the solution of this number; ValueError if it is not out."""
        if result.number not in self.out:
            raise ValueError(f"tell: expected the number of a solution that is out for evaluation, got {result.number}")
        search = self.search
        with uninterrupted():
            row = self.out.pop(result.number)
            added = search.archive.add_evaluated(row[None], evaluation_of([result]), result.number)
            search.evaluations += 1
            search.first_error = search.first_error or result.error
        return added


Since = list[list[int]]
"""Values that changed as a run went on: [from this many results on, value], ..."""


def value_at(changes: Since, results: int) -> int:
    """The value that holds after so many results."""
    return next(value for since, value in reversed(changes) if since <= results)


def replay(search: MapElites, log: Iterable[Logged], budgets: Since, windows: Since) -> None:
    """Bring a search to where these results of an asynchronous run lead, without evaluating anything.

    `budgets` tells how many evaluations there were to be, `windows` how many solutions were out at a time. ValueError
    if a result is of another solution than the one that is out under its number.
    """
    state = SteadyState(search)
    for logged in log:
        state.ask_up_to(value_at(windows, search.evaluations), value_at(budgets, search.evaluations))
        row = state.out.get(logged.result.number)
        if row is not None and not logged.is_of(row):
            raise ValueError(
                f"evaluations.log: result {search.evaluations} is of another solution than the one that is bred here; "
                "expected the variation and the seed that the run began with, and the log as it was written"
            )
        state.tell(logged.result)


def window_for(n_workers: int) -> int:
    """How many solutions are out at a time: none of the workers waits while the results of another are inserted."""
    return 2 * n_workers


def steady_steps(
    search: MapElites,
    farm: Farm,
    evaluations: int,
    *,
    windows: Since,
    note: Callable[[Result, Rows], object] | None = None,
) -> Iterator[MapElites]:
    """Spend exactly `evaluations` on a farm, giving the search back after each.

    `windows` says how many are out at a time; where workers have joined, it gets another entry before the search is
    given back. `note` is called with each result and its row before any is inserted.
    """
    state = SteadyState(search)
    state.ask_up_to(windows[-1][1], evaluations)
    for number, row in state.out.items():
        farm.submit(Item(number, row, None))
    while search.evaluations < evaluations:
        results = farm.completed()
        if note:
            for result in results:
                note(result, state.out[result.number])
        for result in results:
            state.tell(result)
            if window_for(farm.workers.n) > windows[-1][1]:
                windows.append([search.evaluations, window_for(farm.workers.n)])
            for number, row in state.ask_up_to(windows[-1][1], evaluations):
                farm.submit(Item(number, row, None))
            yield search

"""Where the evaluations of a run are done, and how its search makes use of that: in this process, on workers in
batches, on workers without batches (asynchronous), or as islands.

Each way is a source of steps: it advances the search and gives it back, again and again. `runs.run` saves between
steps, whatever the way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tesselite.archive.evaluation import Evaluation
from tesselite.base.importing import check_not_importing
from tesselite.base.threads import available_threads, checked_threads
from tesselite.execution.asynchronous import replay, steady_steps, window_for
from tesselite.execution.islands import EXCHANGES, island_steps
from tesselite.execution.log import EvaluationLog, Logged
from tesselite.execution.workers import Workers, open_workers
from tesselite.execution.workers.farm import RETRIES, Farm, Result, check_policy, evaluation_of
from tesselite.problems.problem import Problem
from tesselite.search.map_elites import MapElites, batches, checked_count, stop_if_nothing_is_valid
from tesselite.spaces.solutions import Rows

Halt = Callable[[], bool]


@dataclass(frozen=True)
class Execution:
    """What a user asked for. `workers` as in `open_workers`, None for this process.

    `retries` and `timeout` (seconds of one evaluation) are those of `workers.farm`. `asynchronous` and
    `islands` (their number; they exchange elites every `exchange` evaluations) change what a search finds, the rest
    does not.
    """

    workers: Any = None
    retries: int = RETRIES
    timeout: float | None = None
    asynchronous: bool = False
    islands: int | None = None
    exchange: int | None = None

    def __post_init__(self) -> None:
        if self.asynchronous and self.islands is not None:
            raise ValueError("expected only one of asynchronous and islands, got both")
        if self.exchange is not None and self.islands is None:
            raise ValueError("exchange: only valid together with islands")
        if not isinstance(self.timeout, int | float | np.integer | np.floating | None):
            raise ValueError(f"timeout: expected seconds above 0 (or None for no limit), got {self.timeout!r}")
        if self.islands is not None:
            self._store("islands", checked_count("islands", self.islands))
        if self.exchange is not None:
            self._store("exchange", checked_count("exchange", self.exchange))
        if isinstance(self.workers, int | np.integer) and not isinstance(self.workers, bool):
            self._store("workers", checked_count("workers", int(self.workers)))
        if isinstance(self.retries, np.integer):
            self._store("retries", int(self.retries))
        check_policy(self.retries, self.timeout)
        if self.timeout is not None:
            if self.islands is not None:
                raise ValueError("timeout: islands evaluate inside of their search; expected none")
            if self.workers is None:
                raise ValueError("timeout: needs workers, which can be stopped; this process cannot stop itself")
            object.__setattr__(self, "timeout", float(self.timeout))
        if self.asynchronous and self.workers is None:
            raise ValueError(
                "asynchronous: needs workers, such as --workers N or workers=N for N processes; "
                f"this machine has {available_threads()} cores"
            )

    def _store(self, name: str, value: int) -> None:
        """Keep 1e3 or a number of NumPy's as the int that workers and settings.json need."""
        object.__setattr__(self, name, value)  # frozen for everybody else

    @property
    def in_process(self) -> bool:
        """Whether evaluations are done here."""
        return self.workers is None and self.islands is None

    def options(self, evaluations: int, workers: Workers | None) -> dict[str, Any]:
        """What settings.json keeps, because it decides the result."""
        if self.islands is not None:
            exchange = self.exchange or max(1, evaluations // (EXCHANGES * self.islands))
            return {"islands": self.islands, "exchange": exchange}
        if self.asynchronous:
            assert workers is not None
            return {"asynchronous": True, "windows": [[0, window_for(workers.n)]], "budgets": [[0, evaluations]]}
        return {}

    def protection(self, workers: Workers | None) -> dict[str, Any]:
        """What settings.json keeps, because it protects the run: its workers, time limit and retries.

        An executor or a client cannot be kept; processes take its place, no more than cores.
        """
        if workers is None:
            return {}
        kept = self.workers if isinstance(self.workers, int | str) else min(workers.n, available_threads())
        return {"workers": kept, "timeout": self.timeout, "retries": self.retries}

    def open(self) -> AbstractContextManager[Workers | None]:
        """The workers, to be closed at the end; for islands without any, one process for each, up to one a core."""
        if self.workers is not None:
            return open_workers(self.workers)
        return nullcontext() if self.islands is None else open_workers(min(available_threads(), self.islands))


IN_PROCESS = Execution()


def steps_of(
    execution: Execution,
    workers: Workers | None,
    options: dict[str, Any],
    search: MapElites,
    problem: Problem,
    evaluations: int,
    *,
    batch_size: int,
    threads: int | None = None,
    milestone: int | None = None,
    log: EvaluationLog | None = None,
    halt: Halt | None = None,
) -> Iterator[MapElites]:
    """The steps that spend exactly `evaluations`, in this process or on workers, whose results go to the log.

    `options` are those of `Execution.options`, of the process that began the run. `halt` is asked now and then whether
    to stop at once, which raises Halted. NothingValid is raised where `stop_if_nothing_is_valid` says.
    """
    steps: Iterator[MapElites]
    if workers is None:
        steps = _in_process(search, problem, evaluations, batch_size, threads, milestone, log)
    elif "islands" in options:
        steps = island_steps(
            search,
            problem,
            workers,
            evaluations,
            islands=options["islands"],
            exchange=options["exchange"],
            batch_size=batch_size,
            retries=execution.retries,
            halt=halt,
        )
    else:
        farm = Farm(workers, problem, retries=execution.retries, timeout=execution.timeout, halt=halt)
        if options.get("asynchronous"):
            note = log.append if log else None
            steps = steady_steps(search, farm, evaluations, windows=options["windows"], note=note)
        else:
            steps = _in_batches(search, problem, farm, evaluations, batch_size, log)
    return _while_something_is_valid(steps, problem, min(batch_size, evaluations))


def _while_something_is_valid(steps: Iterator[MapElites], problem: Problem, first_batch: int) -> Iterator[MapElites]:
    for search in steps:
        stop_if_nothing_is_valid(search, problem, first_batch)
        yield search


def _in_process(
    search: MapElites,
    problem: Problem,
    evaluations: int,
    batch_size: int,
    threads: int | None,
    milestone: int | None,
    log: EvaluationLog | None,
) -> Iterator[MapElites]:
    """Batches evaluated here. A run that began on workers may have left results: these first."""
    known = _known(search, log)
    n_threads = checked_threads(threads)

    def evaluate(rows: Rows, first: int) -> Evaluation:
        results = _take_known(known, rows, first)
        missing = [number for number in range(first, first + len(rows)) if number not in results]
        here = problem.evaluate_checked(rows[[number - first for number in missing]], None, n_threads)
        for i, number in enumerate(missing):
            results[number] = Result(number, float(here.fitness[i]), here.features[i], here.reasons.get(i, ""))
        return replace(evaluation_of([results[number] for number in sorted(results)]), first_error=here.first_error)

    if known:
        for state in batches(search, problem, evaluations, batch_size=batch_size, evaluate=evaluate):
            yield state
            if not known:
                break
    yield from batches(search, problem, evaluations, batch_size=batch_size, threads=threads, milestone=milestone)


def _known(search: MapElites, log: EvaluationLog | None) -> dict[int, Logged]:
    """Results in the log, by number, that are not in the search yet."""
    read = log.read() if log else []
    return {logged.result.number: logged for logged in read if logged.result.number >= search.evaluations}


def _take_known(known: dict[int, Logged], rows: Rows, first: int) -> dict[int, Result]:
    """Take the results of these rows, the first of which has this number, out of the known ones."""
    taken = {number: known.pop(number, None) for number in range(first, first + len(rows))}
    return {n: logged.result for n, logged in taken.items() if logged is not None and logged.is_of(rows[n - first])}


def _in_batches(
    search: MapElites,
    problem: Problem,
    farm: Farm,
    evaluations: int,
    batch_size: int,
    log: EvaluationLog | None,
) -> Iterator[MapElites]:
    known = _known(search, log)

    def evaluate(rows: Rows, first: int) -> Evaluation:
        ours = _take_known(known, rows, first).values()
        note = (lambda result: log.append(result, rows[result.number - first])) if log else None
        return farm.evaluate(rows, first=first, known=ours, done=note)

    return batches(search, problem, evaluations, batch_size=batch_size, evaluate=evaluate)


@contextmanager
def evaluator(
    problem: Problem, execution: Execution, threads: int | None
) -> Iterator[Callable[[Rows, str | None], Evaluation]]:
    """What evaluates rows in a scenario, in this process or on workers, which are closed at the end."""
    check_not_importing()
    with execution.open() as workers:
        if workers is None:
            n_threads = checked_threads(threads)
            yield lambda rows, scenario: problem.evaluate_checked(rows, scenario, n_threads)
        else:
            yield Farm(workers, problem, retries=execution.retries, timeout=execution.timeout).evaluate


def catch_up(search: MapElites, logged: list[Logged], options: dict[str, Any]) -> None:
    """Bring an asynchronous search from its checkpoint to the end of its log; ValueError if they do not fit."""
    if len(logged) < search.evaluations:
        raise ValueError(
            f"evaluations.log: expected the {search.evaluations} results that are in the checkpoint, found "
            f"{len(logged)}; the archive is whole and can be read, but the run cannot go on without its log"
        )
    replay(search, logged[search.evaluations :], options["budgets"], options["windows"])

"""Evaluations on workers: which rows are sent together, what is retried, and when a row is abandoned.

A row is lost if its worker dies, late if it takes longer than `timeout` seconds, failed if the function raises. It is
then retried, alone, up to `retries` times; after that, it is invalid, with its reason. Anything that a function
returns, even NaN or a wrong shape, is an answer and is not retried. Every row gets exactly one result.
"""

from __future__ import annotations

import math
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tesselite.archive.evaluation import RAISED, Evaluation, reason_of
from tesselite.base.checks import checked_count, checked_seconds
from tesselite.base.logger import log
from tesselite.base.terminal import one_line
from tesselite.execution.workers.payload import Payload
from tesselite.execution.workers.task import Outcome, Task, Workers
from tesselite.problems.problem import Problem, Seeds
from tesselite.spaces.records import Records
from tesselite.spaces.solutions import Rows

RETRIES = 2
_SHORTEST = 0.005  # seconds that a chunk of quick rows takes at least, or messages would dominate
_LONGEST = 0.25  # and at most, if it has several: little should be lost with a worker
_FUTILE = 20  # a function that failed in this many retries without exception is not retried again
_POLL_SECONDS = 0.5  # how often control returns while nothing happens


class Halted(Exception):
    """`halt` asked to stop in the middle of a batch."""


@dataclass
class Item:
    """One evaluation: its number, its row, and how often it went wrong; `alone` after that.

    `losses` are those with a worker that may have died of another row.
    """

    number: int
    row: Rows
    scenario: str | None
    failures: int = 0
    alone: bool = False
    losses: int = 0


@dataclass(frozen=True)
class Result:
    """How one evaluation ended: fitness and features, NaN with a reason if it is invalid.

    `error` is the traceback, if a function raised; `tries` how often it was evaluated or lost. `records` are empty if
    it was lost.
    """

    number: int
    fitness: float
    features: npt.NDArray[np.float64]
    reason: str = ""
    error: str = ""
    tries: int = 1
    records: dict[str, Any] = field(default_factory=dict)


@dataclass
class _Chunk:
    items: list[Item]
    seconds: float  # that it may take


def evaluate_chunk(problem: Problem, rows: Rows, scenario: str | None, seeds: Seeds | None = None) -> Evaluation:
    """The worker's task; on one thread, since there are other workers. A row that makes it raise is invalid."""
    try:
        return problem.evaluate_seeded(rows, scenario, 1, seeds)
    except Exception as error:
        if len(rows) > 1:
            parts = [slice(i, i + 1) for i in range(len(rows))]
            return Evaluation.joined(
                [evaluate_chunk(problem, rows[i], scenario, None if seeds is None else seeds[i]) for i in parts]
            )
        nothing = np.full((1, problem.features.n), np.nan)
        reasons, records = {0: reason_of(error)}, problem.records.missing(1)
        return Evaluation.of([np.nan], nothing, reasons, traceback.format_exc(), records)


def checked_policy(retries: int, timeout: float | None) -> tuple[int, float | None]:
    """Both, checked; ValueError if they are invalid."""
    limit = None if timeout is None else checked_seconds("timeout", timeout, or_else=" (or None for no limit)")
    return checked_count("retries", retries, least=0), limit


class Farm:
    """A problem on workers. It takes evaluations by number and returns each once, in order of completion. `halt` is
    polled; if it returns True, Halted is raised. `seed` is that of the run, if there is one, for functions that take
    one. Workers are closed by whoever opened them.
    """

    def __init__(
        self,
        workers: Workers,
        problem: Problem,
        *,
        retries: int = RETRIES,
        timeout: float | None = None,
        halt: Callable[[], bool] | None = None,
        seed: int | None = None,
    ) -> None:
        retries, timeout = checked_policy(retries, timeout)
        self.workers = workers
        self.problem = problem
        self.retries = retries
        self.timeout = timeout
        self.halt = halt
        self.seed = seed
        self._waiting: deque[Item] = deque()
        self._suspects: deque[Item] = deque()
        self._on_trial: int | None = None  # the task of a suspect, which runs alone
        self._out: dict[int, _Chunk] = {}
        self._next_task = 0
        self._row_seconds: float | None = None
        self._futile_retries = 0
        self._retries_help = False
        workers.start(Payload.of(problem), timed=timeout is not None)

    # -- the batch as a whole --------------------------------------------------------------------------------------

    def evaluate(
        self,
        rows: Rows,
        scenario: str | None = None,
        *,
        first: int = 0,
        known: Iterable[Result] = (),
        done: Callable[[Result], object] | None = None,
    ) -> Evaluation:
        """Evaluate rows that are known to be of the problem's solutions; the result is that of `evaluate_rows`.

        Row i is number `first` + i. Rows whose result is `known` are not evaluated again. `done` is called with each
        other result on arrival.
        """
        results = {result.number - first: result for result in known}
        for i in range(len(rows)):
            if i not in results:
                self.submit(Item(first + i, rows[i], scenario))
        while len(results) < len(rows):
            for result in self.completed():
                results[result.number - first] = result
                if done:
                    done(result)
        return evaluation_of([results[i] for i in range(len(rows))], self.problem.records)

    # -- one by one ------------------------------------------------------------------------------------------------

    def submit(self, item: Item) -> None:
        """Queue an evaluation."""
        self._waiting.append(item)

    def completed(self) -> list[Result]:
        """Evaluations that have ended since; waits until there is one, and is empty only if none was submitted."""
        results: list[Result] = []
        while not results and (self._waiting or self._suspects or self._out):
            if self.halt and self.halt():
                raise Halted
            self._send()
            for outcome in self.workers.wait(self._patience()):
                results += self._take(outcome)
            results += self._give_up_late_ones()
        self._send()  # before the caller handles the results: workers should not wait for that
        return results

    def _send(self) -> None:
        while (room := self.workers.room()) > 0:
            if self._on_trial in self._out:
                return
            if self._suspects:
                if self._out:
                    return
                # Nothing else runs: if a worker dies now, we know why.
                self._on_trial = self._submit([self._suspects.popleft()])
            elif self._waiting:
                self._submit(self._next_chunk(room))
            else:
                return

    def _submit(self, items: list[Item]) -> int:
        rows, scenario = np.stack([item.row for item in items]), items[0].scenario
        seeds = None
        if self.seed is not None:
            seeds = self.problem.seeds_in(self.seed, [item.number for item in items])
        task = Task(self._next_task, evaluate_chunk, (rows, scenario, seeds), n_rows=len(rows))
        self._next_task += 1
        seconds = math.inf
        if self.timeout is not None:
            # A chunk that exceeds it is retried row by row, so an estimate is good enough for several rows.
            seconds = self.timeout + (len(items) - 1) * min(self._row_seconds or 0.0, self.timeout)
        self._out[task.number] = _Chunk(items, seconds)
        self.workers.submit(task)
        return task.number

    def _next_chunk(self, room: int) -> list[Item]:
        """Rows that are sent together: few messages at first, small chunks at the end so that all finish together."""
        size = 1
        if self._row_seconds is not None and not self._waiting[0].alone:
            row_seconds = max(self._row_seconds, 1e-7)
            # With many workers chunks must be longer, or this process could not answer them all in time.
            longest = max(_LONGEST, 2 * self.workers.n * self.workers.message_seconds)
            share = min(-(-len(self._waiting) // (2 * self.workers.n)), int(longest / row_seconds))
            enough = min(math.ceil(_SHORTEST / row_seconds), -(-len(self._waiting) // room))
            size = int(min(max(share, enough), self.workers.most_rows()))
        items = [self._waiting.popleft()]
        while len(items) < size and self._waiting:
            item = self._waiting[0]
            if item.alone or item.scenario != items[0].scenario:
                break
            items.append(self._waiting.popleft())
        return items

    def _patience(self) -> float:
        first = min(map(self._deadline, self._out), default=math.inf)
        return min(max(first - time.monotonic(), 0.0), _POLL_SECONDS)

    def _deadline(self, number: int) -> float:
        if self.timeout is None:
            return math.inf
        began = self.workers.began(number)
        return math.inf if began is None else began + self._out[number].seconds

    # -- how it ended ----------------------------------------------------------------------------------------------

    def _take(self, outcome: Outcome) -> Iterator[Result]:
        chunk = self._out.pop(outcome.task.number, None)
        if chunk is None:
            return  # abandoned before
        if outcome.lost:
            yield from self._try_again(chunk.items, outcome.lost, outcome.blamed, outcome.tries)
            return
        evaluated: Evaluation = outcome.value
        per_row = outcome.seconds / len(chunk.items)
        self._row_seconds = per_row if self._row_seconds is None else 0.7 * self._row_seconds + 0.3 * per_row
        unexplained = evaluated.first_error  # belongs to the first row that raised
        for i, item in enumerate(chunk.items):
            reason = evaluated.reasons.get(i, "")
            raised = reason.startswith(RAISED)
            error = ""
            if reason.startswith("exception"):
                error, unexplained = unexplained, ""
            if item.failures:
                self._retries_help |= not raised
                self._futile_retries += raised
            if raised and item.failures < self.retries and not self._is_futile():
                item.failures += 1
                item.alone = True
                log.info("evaluation %d is tried again: %s", item.number, one_line(reason))
                self._waiting.append(item)
                continue
            yield result_of(evaluated, i, item.number, error, item.failures + 1)

    def _is_futile(self) -> bool:
        return self._futile_retries >= _FUTILE and not self._retries_help

    def _try_again(self, items: list[Item], why: str, blamed: bool, tries: int) -> Iterator[Result]:
        """Rows of a chunk that was lost or late: retry them one by one, unless their retries are used up."""
        log.warning("evaluations without a result: %d, the first is %d: %s", len(items), items[0].number, one_line(why))
        for item in items:
            item.alone = True
        if not blamed:
            # The first loss may have another cause, such as a machine's time limit. After a second one it is tried
            # while nothing else runs, which costs the time of all workers.
            for item in items:
                item.losses += 1
                (self._suspects if item.losses > 1 else self._waiting).append(item)
            return
        if len(items) > 1:
            self._waiting.extend(items)
            return
        (item,) = items
        item.failures += tries
        if item.failures <= self.retries:
            (self._suspects if item.losses else self._waiting).append(item)
        else:
            nothing = np.full(self.problem.features.n, np.nan)
            yield Result(item.number, math.nan, nothing, why, tries=item.failures)

    def _give_up_late_ones(self) -> Iterator[Result]:
        now = time.monotonic()
        for number in [number for number in self._out if now >= self._deadline(number)]:
            chunk = self._out.pop(number)
            self.workers.give_up(number)
            yield from self._try_again(chunk.items, f"took longer than {self.timeout:g} s", blamed=True, tries=1)


def result_of(evaluated: Evaluation, i: int, number: int, error: str = "", tries: int = 1) -> Result:
    """Row i of an evaluation, as the result of evaluation `number`."""
    records = {name: values[i] for name, values in evaluated.records.items()}
    reason = evaluated.reasons.get(i, "")
    return Result(number, float(evaluated.fitness[i]), evaluated.features[i], reason, error, tries, records)


def evaluation_of(results: list[Result], records: Records) -> Evaluation:
    """Results in the order of rows, as one evaluation."""
    reasons = {i: result.reason for i, result in enumerate(results) if result.reason}
    first_error = next((result.error for result in results if result.error), "")
    features: Any = [result.features for result in results]
    recorded = records.stacked([result.records for result in results])
    return Evaluation.of([result.fitness for result in results], features, reasons, first_error, recorded)

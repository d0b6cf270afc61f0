"""Workers behind any `concurrent.futures.Executor`: loky, mpi4py.futures, processes of the standard library.

An executor reports neither which process died nor because of which task, and cannot stop a task. So everything that ran
when it broke is retried alone, and a process that hangs is abandoned; a function that makes executors, passed instead
of one, allows it to be replaced.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from tesselite.execution.workers.payload import Payload, remembered
from tesselite.execution.workers.task import Outcome, Task, Workers, WorkersLost

_REPLACED = 10  # executors in a row that break at once before we give up


class _HasNoProblem:
    """The answer of a process that has not received the problem."""


@dataclass(frozen=True)
class _CannotLoad:
    """The answer of a process that cannot load the problem: the traceback."""

    error: str


def _carry_out(payload: Payload | str, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """In the worker: (value, seconds), or that it needs the payload and not only its digest."""
    if isinstance(payload, str):
        try:
            problem = remembered(payload)
        except KeyError:
            return _HasNoProblem()
    else:
        try:
            problem = payload.load()
        except Exception:  # whatever the user's module raises when it is imported
            return _CannotLoad(traceback.format_exc())
    began = time.perf_counter()
    value = function(problem, *args)
    return value, time.perf_counter() - began


def _wait_a_little(problem: Any) -> None:
    """Wait until an executor gives the next task to another worker."""
    time.sleep(0.05)


class ExecutorWorkers(Workers):
    """An executor, or a function that makes one; `n` is the number of its workers, if it cannot be determined."""

    def __init__(self, executor: Executor | Callable[[], Executor], n: int | None = None) -> None:
        self._make = None if isinstance(executor, Executor) else executor
        self._executor = executor if isinstance(executor, Executor) else executor()
        found = n or getattr(self._executor, "_max_workers", None) or getattr(self._executor, "num_workers", None)
        if not isinstance(found, int):
            raise ValueError(f"workers: {self._executor!r} does not report its number of workers; pass it as n")
        self.n = found
        self._payload: Payload | None = None
        self._running: dict[Future[Any], Task] = {}
        self._began: dict[int, float] = {}
        self._hanging = 0
        self._broken_in_a_row = 0

    def start(self, payload: Payload, *, timed: bool = False) -> None:
        self._payload = payload
        self._warm_up()

    def _warm_up(self) -> None:
        """Start processes and load the problem before the first task, whose time may be limited."""
        assert self._payload is not None
        with suppress(BrokenExecutor):  # the first task will report it
            wait([self._executor.submit(_carry_out, self._payload, _wait_a_little, ()) for _ in range(self.n)])

    def room(self) -> int:
        return self.n - self._hanging - len(self._running)

    def submit(self, task: Task) -> None:
        self._submit(task, with_problem=False)

    def _submit(self, task: Task, with_problem: bool) -> None:
        assert self._payload is not None
        payload = self._payload if with_problem else self._payload.digest
        self._began[task.number] = time.monotonic()
        try:
            self._running[self._executor.submit(_carry_out, payload, task.function, task.args)] = task
        except BrokenExecutor as error:
            self._running[_failed(error)] = task

    def wait(self, seconds: float | None) -> list[Outcome]:
        outcomes: list[Outcome] = []
        error: BaseException | None = None
        n_running = len(self._running)
        for future in wait(self._running, seconds, FIRST_COMPLETED).done:
            task = self._running.pop(future)
            del self._began[task.number]
            try:
                answer = future.result()
            except (BrokenExecutor, CancelledError) as broken:
                error = broken
                alone = n_running == 1 and not self._hanging
                outcomes.append(Outcome(task, lost="its worker died", blamed=alone))
                continue
            if isinstance(answer, _HasNoProblem):
                self._submit(task, with_problem=True)
                continue
            if isinstance(answer, _CannotLoad):
                raise WorkersLost(f"workers: the problem cannot be loaded in a worker process\n{answer.error}")
            outcomes.append(Outcome(task, answer[0], seconds=answer[1]))
            self._broken_in_a_row = 0
        if error is not None:
            self._replace(f"the executor broke ({type(error).__name__}: {error})")
        return outcomes

    def began(self, number: int) -> float | None:
        # There are never more tasks than workers, so one that was submitted has begun, or is about to.
        return self._began.get(number)

    def give_up(self, number: int) -> None:
        future = next(future for future, task in self._running.items() if task.number == number)
        del self._running[future], self._began[number]
        if not future.cancel():
            self._hanging += 1
        if self._hanging >= self.n:
            self._replace("all workers of the executor hang")

    def _replace(self, why: str) -> None:
        """Make a new executor. What runs on the old one is lost and abandoned."""
        self._broken_in_a_row += 1
        if self._make is None:
            raise WorkersLost(f"workers: {why}; pass a function that creates an executor, so that it can be replaced")
        if self._broken_in_a_row > _REPLACED:
            raise WorkersLost(f"workers: {why}, {_REPLACED} times in a row without a single result")
        self._shut_down()
        # No task there will return: let `wait` find it broken.
        self._running = {_failed(BrokenExecutor(why)): task for task in self._running.values()}
        self._executor, self._hanging = self._make(), 0
        self._warm_up()

    def _shut_down(self) -> None:
        processes = list((getattr(self._executor, "_processes", None) or {}).values())
        if self._hanging:
            for process in processes:
                with suppress(Exception):
                    process.kill()
        with suppress(Exception):
            self._executor.shutdown(wait=False, cancel_futures=True)

    def close(self) -> None:
        """Take back what has not begun; an executor that was made here is shut down, a given one stays."""
        for future in self._running:
            future.cancel()
        if self._make is not None:
            self._shut_down()
        self._running = {}


def _failed(error: BaseException) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_exception(error)
    return future

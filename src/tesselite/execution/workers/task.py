"""Tasks and outcomes, and the protocol of all kinds of workers."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from tesselite.execution.workers.payload import Payload


class WorkersLost(RuntimeError):
    """There are no workers left, or they cannot start; the message says why and what to do."""


@dataclass(frozen=True)
class Task:
    """A call of a module's function on some worker: function(problem, *args). `number` identifies the task.

    `n_rows` is how many evaluations it is.
    """

    number: int
    function: Callable[..., Any]
    args: tuple[Any, ...]
    n_rows: int = 1


@dataclass(frozen=True)
class Outcome:
    """How a task ended: with a `value`, or `lost` (why there is none: its worker died, its cluster gave up).

    `blamed` says that only this task can have caused the loss. `tries` is how often it was started. `seconds` is the
    time that the worker spent.
    """

    task: Task
    value: Any = None
    lost: str = ""
    blamed: bool = True
    tries: int = 1
    seconds: float = 0.0


class Workers(ABC):
    """Sends tasks to workers and returns outcomes. Used from one thread. A task is executed at least once; the caller
    handles losses. `n` is the intended number of workers, `message_seconds` the approximate cost of a task and its
    answer in this process.
    """

    n: int
    message_seconds: float = 1e-4

    @abstractmethod
    def start(self, payload: Payload, *, timed: bool = False) -> None:
        """Give every worker, now and whenever one joins, what tasks work on. Called once, first. `timed` says that
        `began` will be called.
        """

    @abstractmethod
    def began(self, number: int) -> float | None:
        """When a worker began with the task of this number, on the clock of `time.monotonic`; None if none has."""

    @abstractmethod
    def room(self) -> int:
        """How many more tasks to submit now, so that workers are busy and none waits in a queue for long."""

    def most_rows(self) -> float:
        """How many evaluations the next task may have, for the worker that will get it; infinity for no limit."""
        return math.inf

    @abstractmethod
    def submit(self, task: Task) -> None:
        """Submit a task; only while there is room."""

    @abstractmethod
    def wait(self, seconds: float | None) -> list[Outcome]:
        """Outcomes that have arrived; waits up to this many seconds for one. May return none.

        Raises WorkersLost if there will be no more.
        """

    @abstractmethod
    def give_up(self, number: int) -> None:
        """Stop working on the task of this number: no outcome of it will come, and its worker is replaced."""

    @abstractmethod
    def close(self) -> None:
        """End the workers that were started here, at once."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

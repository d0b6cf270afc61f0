"""Where the evaluations of a search are done, and in which order: the base of all kinds of execution.

Each kind is a class of its own: `InProcess`, `Batches`, `Asynchronous` and `Islands`, a frozen record that a plan
holds. Its `steps` advance a search and yield it repeatedly; `runs` saves between steps.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Self

import numpy as np

from tesselite.base.checks import checked_bytes, checked_count, checked_processes
from tesselite.base.threads import available_threads
from tesselite.execution.events import Events
from tesselite.execution.log import EvaluationLog, Logged
from tesselite.execution.workers import Workers, open_workers
from tesselite.execution.workers.farm import RETRIES, Farm, checked_policy
from tesselite.problems.problem import Problem
from tesselite.search.map_elites import BATCH_SIZE, MapElites

Halt = Callable[[], bool]


@dataclass
class Job:
    """A search that is to spend `evaluations` in all, and its resources.

    `milestone`: stretches of compiled batches end at multiples of it. `log` keeps the results of workers. `halt` is
    polled; if it returns True, `Halted` is raised. `evaluated` is called in the middle of batches on workers, with the
    number of evaluations that are finished.
    """

    search: MapElites
    problem: Problem
    evaluations: int
    batch_size: int = BATCH_SIZE
    threads: int | None = None
    milestone: int | None = None
    log: EvaluationLog | None = None
    events: Events = field(default_factory=Events)
    halt: Halt | None = None
    evaluated: Callable[[int], object] | None = None


@dataclass(frozen=True)
class Execution(ABC):
    """How evaluations are done. `kind` names it in files."""

    kind: ClassVar[str]
    keeps_log: ClassVar[bool] = False  # whether the log of all results is kept

    @abstractmethod
    def open(self) -> AbstractContextManager[Workers | None]:
        """The workers, to be closed at the end; None in this process."""

    @abstractmethod
    def steps(self, job: Job, workers: Workers | None) -> Iterator[MapElites]:
        """Spend the job's evaluations exactly, yielding the search after each step."""

    def settled(self, evaluations: int) -> Self:
        """This execution with everything that decides the result written out, for a budget of this many."""
        return self

    def named(self, workers: Workers | None) -> Self:
        """The same as a file can hold it, now that the workers are open."""
        return self

    def begin(self, job: Job, workers: Workers | None) -> None:  # noqa: B027
        """Record what decides the result and depends on the workers there are now."""

    def catch_up(  # noqa: B027
        self, search: MapElites, logged: Sequence[Logged], events: Events, planned: int
    ) -> None:
        """Replay the log into a restored search, in a run planned for this many evaluations."""

    def to_dict(self) -> dict[str, Any]:
        """JSON for settings.json."""
        return {"kind": self.kind, **{part.name: getattr(self, part.name) for part in fields(self)}}

    def shown(self) -> list[tuple[str, str]]:
        """Names and values for people."""
        return []

    @property
    def label(self) -> str:
        """A few words for people, of what changes results; where evaluations are done does not."""
        return "one search"

    def command(self) -> list[str]:
        """The options of `tesselite run`."""
        return []

    def resume_options(self) -> list[str]:
        """The options of `tesselite resume` that repeat the limits of the run."""
        return []


@dataclass(frozen=True)
class WorkerChoice:
    """The workers and limits that a user asks for; None for what is not given. See `OnWorkers`."""

    workers: Any = None
    retries: int | None = None
    timeout: float | None = None
    recycle_after: int | None = None
    worker_memory: int | str | None = None

    def options(self) -> dict[str, Any]:
        """The given options, by name."""
        said = {part.name: getattr(self, part.name) for part in fields(self)}
        return {name: value for name, value in said.items() if value is not None}


ANY = WorkerChoice()


@dataclass(frozen=True)
class OnWorkers(Execution):
    """The base of executions on workers: which workers, and their limits.

    `workers` as in `open_workers`; `retries` and `timeout` (seconds of one evaluation) are those of `workers.farm`,
    `recycle_after` (evaluations) and `worker_memory` (bytes) those of `workers.processes`.
    """

    workers: Any = None
    retries: int = RETRIES
    timeout: float | None = None
    recycle_after: int | None = None
    worker_memory: int | None = None

    def __post_init__(self) -> None:
        if isinstance(self.workers, int | np.integer) and not isinstance(self.workers, bool):
            store(self, "workers", checked_processes("workers", int(self.workers)))
        retries, timeout = checked_policy(self.retries, self.timeout)
        store(self, "retries", retries)
        store(self, "timeout", timeout)
        if self.recycle_after is not None:
            store(self, "recycle_after", checked_count("recycle_after", self.recycle_after))
        if self.worker_memory is not None:
            store(self, "worker_memory", checked_bytes("worker_memory", self.worker_memory))
        for name in ("recycle_after", "worker_memory"):
            if getattr(self, name) is not None and not isinstance(self.workers, int | None):
                raise ValueError(
                    f"{name}: only for worker processes, as in workers=4 (--workers 4); an executor or a Dask "
                    "cluster has its own settings: max_tasks_per_child, --memory-limit and --lifetime"
                )

    def open(self) -> AbstractContextManager[Workers | None]:
        """The workers, to be closed at the end."""
        return open_workers(self.workers, self.recycle_after, self.worker_memory)

    def on(self, given: WorkerChoice) -> Self:
        """The same with other workers and limits, where some are given; an infinite timeout is none."""
        ours = isinstance(self.workers if given.workers is None else given.workers, int | None)
        before = {"workers": self.workers, "retries": self.retries, "timeout": self.timeout}
        if ours:  # others have no such limits
            before |= {"recycle_after": self.recycle_after, "worker_memory": self.worker_memory}
        made = {**before, **given.options()}
        if made["timeout"] == math.inf:
            made["timeout"] = None
        return replace(self, **{"recycle_after": None, "worker_memory": None, **made})

    def named(self, workers: Workers | None) -> Self:
        """The same with workers that a file can name: processes, no more than cores, for an executor or a client."""
        if workers is None or isinstance(self.workers, int | str):
            return self
        return replace(self, workers=min(workers.n, available_threads()))

    def farm(self, job: Job, workers: Workers) -> Farm:
        """The farm that evaluates the job's rows on these workers."""
        return Farm(
            workers, job.problem, retries=self.retries, timeout=self.timeout, halt=job.halt, seed=job.search.seed
        )

    def shown(self) -> list[tuple[str, str]]:
        """Names and values for people."""
        if isinstance(self.workers, int):
            workers = f"{self.workers} process{'es' if self.workers > 1 else ''}"
        else:
            workers = f"Dask, {self.workers}"
        limit = "no limit" if self.timeout is None else f"{self.timeout:g} s per evaluation"
        lines = [("Workers", workers), ("Timeout", limit), ("Retries", str(self.retries))]
        renewed = [] if self.recycle_after is None else [f"after {self.recycle_after:,} evaluations"]
        renewed += [] if self.worker_memory is None else [f"at {self.worker_memory / 1e6:,.0f} MB"]
        return [*lines, *([("Recycled", " or ".join(renewed))] if renewed else [])]

    def command(self) -> list[str]:
        """The options of `tesselite run`."""
        return self.resume_options()

    def resume_options(self) -> list[str]:
        """The options of `tesselite resume` that repeat the limits of the run."""
        words = ["--dask" if isinstance(self.workers, str) else "--workers", str(self.workers)]
        words += ["--timeout", f"{self.timeout:g}"] if self.timeout is not None else []
        words += ["--recycle-after", str(self.recycle_after)] if self.recycle_after is not None else []
        words += ["--worker-memory", str(self.worker_memory)] if self.worker_memory is not None else []
        return words + (["--retries", str(self.retries)] if self.retries != RETRIES else [])


def store(record: Execution, name: str, value: Any) -> None:
    """Set a field of a frozen record during its construction."""
    object.__setattr__(record, name, value)

"""The execution that a user's options, or a file, ask for."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from tesselite.archive.evaluation import Evaluation
from tesselite.base.importing import check_not_importing
from tesselite.base.threads import checked_threads
from tesselite.execution.asynchronous import Asynchronous
from tesselite.execution.batches import Batches
from tesselite.execution.execution import ANY, Execution, OnWorkers, WorkerChoice
from tesselite.execution.in_process import IN_PROCESS, InProcess
from tesselite.execution.islands import Islands
from tesselite.execution.workers.farm import Farm
from tesselite.problems.problem import Problem
from tesselite.spaces.solutions import Rows

_KINDS: dict[str, type[Execution]] = {one.kind: one for one in (InProcess, Batches, Asynchronous, Islands)}


def execution_of(
    given: WorkerChoice = ANY,
    *,
    asynchronous: bool = False,
    islands: int | None = None,
    exchange: int | None = None,
) -> Execution:
    """The execution that these options ask for; ValueError where one of them would be ignored."""
    if asynchronous and islands is not None:
        raise ValueError("expected only one of asynchronous and islands, got both")
    if exchange is not None and islands is None:
        raise ValueError("exchange: only valid together with islands")
    if islands is not None:
        return Islands(**given.options(), n=islands, exchange=exchange)
    if asynchronous:
        return Asynchronous(**given.options())
    if given.workers is not None:
        return Batches(**given.options())
    Batches(**replace(given, workers=1).options())  # errors in them are reported first
    for name in ("recycle_after", "worker_memory"):
        if getattr(given, name) is not None:
            raise ValueError(f"{name}: needs workers, such as --workers N or workers=N for N processes")
    if given.retries is not None:
        raise ValueError("retries: only valid together with workers (--workers, --dask) or islands")
    if given.timeout is not None:
        raise ValueError("timeout: needs workers, which can be stopped; this process cannot stop itself")
    return IN_PROCESS


def resumed(execution: Execution, given: WorkerChoice) -> Execution:
    """The last execution of a run, with other workers and limits where given.

    `workers=0` is this process, an infinite timeout no limit.
    """
    workers = given.workers
    if isinstance(execution, Batches) and isinstance(workers, int) and workers == 0:
        execution, given = IN_PROCESS, replace(given, workers=None)
    if isinstance(execution, OnWorkers):
        return execution.on(given)
    if given.retries is not None and not given.workers:
        raise ValueError("retries: only valid together with workers, and this run has none")
    timeout = None if given.timeout == math.inf else given.timeout
    return execution_of(replace(given, workers=given.workers or None, timeout=timeout))


def execution_from_dict(about: dict[str, Any]) -> Execution:
    """The inverse of `Execution.to_dict`; LookupError, TypeError or ValueError if it is damaged."""
    return _KINDS[about["kind"]](**{name: value for name, value in about.items() if name != "kind"})


@contextmanager
def evaluator(
    problem: Problem, execution: Execution, threads: int | None
) -> Iterator[Callable[[Rows, str | None], Evaluation]]:
    """A function that evaluates rows in a scenario, in this process or on workers, which are closed at the end."""
    check_not_importing()
    with execution.open() as workers:
        if workers is None:
            n_threads = checked_threads(threads)
            yield lambda rows, scenario: problem.evaluate_checked(rows, scenario, n_threads)
        else:
            assert isinstance(execution, OnWorkers)
            yield Farm(workers, problem, retries=execution.retries, timeout=execution.timeout).evaluate

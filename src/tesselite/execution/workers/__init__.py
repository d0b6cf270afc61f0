"""Workers: everything that evaluates a batch elsewhere, behind one signature.

    task        what travels to a worker and back, and the protocol of everything that carries it (`Workers`)
    payload     what every worker is given once: the problem
    processes   worker processes on this machine
    executor    any `concurrent.futures.Executor`
    dask_cluster  a Dask cluster
    farm        evaluations on workers: chunks, retries, time limits; the one that the search talks to

How a search uses them is in `tesselite.execution.asynchronous` and `tesselite.execution.islands`.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any, TypeAlias

from tesselite.execution.workers.task import Task, Workers, WorkersLost

if TYPE_CHECKING:
    import distributed

__all__ = ["Task", "Workers", "WorkersLike", "WorkersLost", "open_workers"]

WorkersLike: TypeAlias = "int | str | Executor | Callable[[], Executor] | Workers | distributed.Client"
"""What a user may pass as workers; see `open_workers`."""


def open_workers(wanted: Any, recycle_after: int | None = None, memory: int | None = None) -> Workers:
    """Workers from a user's argument; our processes are replaced after this many evaluations or bytes of memory.

    A number is that many processes here. "tcp://host:8786" is a Dask scheduler and "local:4" a Dask cluster of four
    processes here. An executor, a function that makes one (so that a broken one can be replaced), a Dask client and
    workers themselves are taken as they are. Raises ValueError for anything else.
    """
    if isinstance(wanted, Workers):
        return wanted
    if isinstance(wanted, int) and not isinstance(wanted, bool):
        from tesselite.execution.workers.processes import Processes

        return Processes(wanted, recycle_after=recycle_after, memory=memory)
    if isinstance(wanted, str) and wanted.strip().isdecimal():
        raise ValueError(f"workers: expected a number, got the text {wanted!r}; pass workers={wanted.strip()}")
    if isinstance(wanted, str) or type(wanted).__module__.startswith("distributed."):
        from tesselite.execution.workers.dask_cluster import DaskWorkers

        return DaskWorkers(wanted)
    if isinstance(wanted, Executor) or callable(wanted):
        from tesselite.execution.workers.executor import ExecutorWorkers

        return ExecutorWorkers(wanted)
    raise ValueError(
        "workers: expected a number of processes, an executor, a function that creates one, a Dask client or the "
        f"address of a Dask scheduler, got {wanted!r}"
    )

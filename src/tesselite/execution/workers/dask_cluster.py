"""Workers on a Dask cluster: one that runs already, or one of processes on this machine. Needs `distributed`.

The problem reaches every worker, also those that join later, by a plugin; tasks carry rows only. The scheduler holds no
more than two tasks a worker, and no results.
"""

from __future__ import annotations

import os
import signal
import time
import uuid
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from queue import Empty, SimpleQueue
from typing import Any

from tesselite.base.checks import checked_processes
from tesselite.base.importing import how_to_install
from tesselite.base.numbers import shown
from tesselite.execution.workers.payload import Payload, remembered
from tesselite.execution.workers.task import Outcome, Task, Workers, WorkersLost
from tesselite.execution.workers.watchdog import Watchdog

_COUNT_SECONDS = 2.0  # how often we ask for the number of workers
_ANSWER_SECONDS = 20.0  # after which an unresponsive worker or nanny counts as frozen
_BEGIN_SECONDS = 20.0  # and one that has a task but does not report its start
_LOCAL = "local:"
# For as long as our own cluster lives. A local cluster looks again some seconds after a worker was lost, and would then
# close the nanny of one that is just restarting, for good: with frequent crashes it soon has no workers at all.
_OWN_CLUSTER = {"distributed.deploy.lost-worker-timeout": "1000 days"}


def _carry_out(digest: str, number: int, topic: str, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """In the worker: (value, seconds). With a topic, the start of the task is published there."""
    problem = remembered(digest)
    if topic:
        _distributed().get_worker().log_event(topic, number)
    began = time.perf_counter()
    value = function(problem, *args)
    return value, time.perf_counter() - began


def _kill_worker(dask_worker: Any) -> None:
    """In the nanny of a worker that hangs: kill the worker. The nanny starts another one."""
    os.kill(dask_worker.pid, signal.SIGKILL)


class DaskWorkers(Workers):
    """A Dask client, the address of a scheduler, or "local:4" for a cluster of four processes here.

    `patience` is how many seconds we wait for a scheduler that does not answer. Where there are no workers for that
    long, a warning says so; in a cluster of ours, which no queue will give any, WorkersLost is raised.
    """

    message_seconds = 3e-3

    def __init__(self, cluster: Any, patience: float = 60.0) -> None:
        distributed = _distributed()
        self._patience = patience
        self._cluster: Any = None
        self._watchdog: Watchdog | None = None
        self._client: Any = None
        self._settings = ExitStack()
        if not isinstance(cluster, str):
            self._client, self._owned = cluster, False
        elif cluster.startswith(_LOCAL):
            self._client, self._owned = self._start_cluster(cluster), True
        elif "://" not in cluster and ":" not in cluster:
            raise ValueError(f"dask: expected tcp://HOST:PORT or local:N, got {cluster!r}")
        else:
            try:
                self._client, self._owned = distributed.Client(cluster, timeout=min(patience, 20.0)), True
            except OSError as error:
                raise ValueError(f"dask: no scheduler answers at {cluster} ({_first_line(error)})") from None
        self._prefix = f"tesselite-{uuid.uuid4().hex[:12]}"
        self._digest, self._topic = "", ""
        self._began: dict[int, float] = {}
        self._assigned: dict[tuple[str, str], float] = {}  # since when a worker has had a task: by key and address
        self._assigned_at = 0.0
        self._finished: SimpleQueue[Any] = SimpleQueue()
        self._running: dict[str, tuple[Any, Task]] = {}
        self._given_up: dict[str, Any] = {}
        self._counted_at = 0.0
        self._alive_at = self._with_workers_at = time.monotonic()
        self.n = 1
        self._count()

    def _start_cluster(self, text: str) -> Any:
        import dask

        number = text.removeprefix(_LOCAL)
        if not number.isdecimal() or len(number) > 9 or int(number) < 1:
            raise ValueError(f"dask: expected local:N with a number of workers, got {shown(text)}")
        n = checked_processes("dask", int(number))
        distributed = _distributed()
        self._settings.enter_context(dask.config.set(_OWN_CLUSTER))
        # One task at a time on a worker and no decisions by the scheduler: a dead worker identifies its task.
        settings = {"distributed.scheduler.allowed-failures": 0, "distributed.scheduler.worker-saturation": 1.0}
        with dask.config.set(settings):
            try:
                self._cluster = distributed.LocalCluster(
                    n_workers=n,
                    threads_per_worker=1,
                    processes=True,
                    memory_limit=0,
                    dashboard_address=None,
                    # It serves its state all the same, by default on a port that a second cluster would miss.
                    scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
                )
            except RuntimeError as error:
                self._settings.close()
                raise ValueError(
                    f"dask: the local cluster does not start ({error}); Dask's processes import a script that starts "
                    'them, so its code must be under `if __name__ == "__main__":`'
                ) from error
            self._watchdog = Watchdog()
            return distributed.Client(self._cluster)

    # -- tasks -----------------------------------------------------------------------------------------------------

    def start(self, payload: Payload, *, timed: bool = False) -> None:
        self._digest = payload.digest
        if timed:
            # How long a task waits in the scheduler, or for a worker that starts again, must not count.
            self._topic = f"{self._prefix}-begun"
            self._client.subscribe_topic(self._topic, self._note_beginning)
        try:
            self._client.register_plugin(_plugin(payload), name=f"{self._prefix}-problem")
        except Exception as error:  # whatever the problem's module raises on a worker
            raise WorkersLost(
                f"workers: the problem cannot be loaded on a Dask worker ({type(error).__name__}: {error})"
            ) from error

    def _note_beginning(self, event: tuple[float, int]) -> None:
        self._began[event[1]] = time.monotonic()

    def room(self) -> int:
        self._count()
        return self.n - len(self._running)

    def submit(self, task: Task) -> None:
        future = self._client.submit(
            _carry_out,
            self._digest,
            task.number,
            self._topic,
            task.function,
            task.args,
            key=f"{self._prefix}-{task.number}",
            pure=False,
        )
        self._running[future.key] = future, task
        future.add_done_callback(self._finished.put)

    def wait(self, seconds: float | None) -> list[Outcome]:
        done = []
        try:
            done.append(self._finished.get(timeout=seconds))
            while True:
                done.append(self._finished.get_nowait())
        except Empty:
            pass
        self._check_alive()
        for future in done:
            self._given_up.pop(future.key, None)
        done = [future for future in done if future.key in self._running]
        good = [future for future in done if future.status == "finished"]
        values = self._gather(good)
        outcomes: list[Outcome] = []
        for future in done:
            task = self._running[future.key][1]
            n_running = len(self._running)
            if future.key in values:
                value, took = values[future.key]
                outcomes.append(Outcome(task, value, seconds=took))
            else:
                outcomes.append(self._lost(future, task, alone=n_running == 1))
        for future in done:
            _, task = self._running.pop(future.key)
            self._began.pop(task.number, None)
        return outcomes

    def _gather(self, futures: list[Any]) -> dict[str, Any]:
        """Values by key; those whose worker died before we could fetch them are left out."""
        if not futures:
            return {}
        try:
            values = self._within_reason(self._client.gather, futures, errors="skip")
            if len(values) == len(futures):
                return dict(zip((future.key for future in futures), values, strict=True))
        except TimeoutError:  # one that has a result is frozen
            pass
        except Exception:  # the connection itself failed: `wait` handles it the next time
            return {}
        found = {}
        for future in futures:
            try:
                for value in self._within_reason(self._client.gather, [future], errors="skip"):
                    found[future.key] = value
            except TimeoutError:
                self._restart([address for holders in self._client.who_has([future]).values() for address in holders])
        return found

    def _within_reason(self, ask: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """The result of a method of the client; TimeoutError if some worker does not answer."""

        async def asked() -> Any:
            return await ask(*args, **options)

        return self._client.sync(asked, callback_timeout=_ANSWER_SECONDS)

    def _restart(self, addresses: list[str]) -> None:
        """Have the nannies of workers that hang kill them; those whose nanny is also frozen are abandoned."""
        try:
            self._within_reason(self._client.run, _kill_worker, workers=addresses, nanny=True)
        except TimeoutError:

            async def forget(dask_scheduler: Any, addresses: list[str]) -> None:
                for address in addresses:
                    await dask_scheduler.remove_worker(address, stimulus_id="tesselite-frozen")

            self._client.run_on_scheduler(forget, addresses=addresses)

    def _lost(self, future: Any, task: Task, alone: bool) -> Outcome:
        if future.status == "error":
            error = future.exception()
            if type(error).__name__ == "KilledWorker":
                # In our own cluster a worker has one task, so the cause is known.
                sure = alone or self._cluster is not None
                return Outcome(task, lost="its worker died", blamed=sure, tries=error.allowed_failures + 1)
            return Outcome(task, lost=f"Dask could not run it ({type(error).__name__}: {_first_line(error)})")
        return Outcome(task, lost="its result was lost with its worker", blamed=False)

    def began(self, number: int) -> float | None:
        if number in self._began or not self._topic:
            return self._began.get(number)
        self._note_assigned()
        key = f"{self._prefix}-{number}"
        # A worker that has had it for this long and has not reported its start is frozen.
        return min((at + _BEGIN_SECONDS for (had, _), at in self._assigned.items() if had == key), default=None)

    def _note_assigned(self) -> None:
        """Record which worker has which of our tasks, and since when."""
        now = time.monotonic()
        if now - self._assigned_at < _COUNT_SECONDS:
            return
        self._assigned_at = now
        try:
            places = [(key, address) for address, keys in self._client.processing().items() for key in keys]
        except Exception:
            return  # `wait` handles it the next time
        self._assigned = {place: self._assigned.get(place, now) for place in places if place[0] in self._running}

    def give_up(self, number: int) -> None:
        key = f"{self._prefix}-{number}"
        future, _ = self._running.pop(key)
        self._began.pop(number, None)
        try:
            busy = [address for address, keys in self._client.processing().items() if key in keys]
            if busy:
                # Not cancelled, but kept until the scheduler has noticed: the worker would be given another to kill.
                self._given_up[key] = future
                self._restart(busy)
            else:
                self._client.cancel([future], force=True)
        except Exception as error:
            raise WorkersLost(
                f"workers: a Dask worker hangs and cannot be restarted ({_first_line(error)}); it needs a nanny for "
                "that, which `dask worker` starts by default"
            ) from error

    # -- the cluster -----------------------------------------------------------------------------------------------

    def _count(self) -> None:
        """Update the number of workers."""
        now = time.monotonic()
        if now - self._counted_at < _COUNT_SECONDS:
            return
        self._counted_at = now
        if self._watchdog is not None:
            # A worker that is in C code would not notice that we are gone, and keep semaphores of the system for ever.
            self._watchdog.watch(nanny.pid for nanny in list(self._cluster.workers.values()) if nanny.pid)
        try:
            threads = sum(self._client.nthreads().values())
        except Exception:
            self._check_alive()
            return
        self.n = max(threads, 1)
        self._alive_at = now
        if threads:
            self._with_workers_at = now
        elif now - self._with_workers_at > self._patience:
            if self._cluster is not None:
                raise WorkersLost(
                    f"workers: the local Dask cluster has had no worker for {self._patience:g} s; see their "
                    "output above, and try the problem in this process, without workers"
                )
            # Not an error: a queue may take hours to grant them.
            warnings.warn(f"the Dask scheduler has had no worker for {self._patience:g} s; waiting", stacklevel=2)
            self._with_workers_at = now

    def _check_alive(self) -> None:
        if self._client.status == "running":
            return
        if time.monotonic() - self._alive_at > self._patience or self._client.status in ("closed", "closing"):
            raise WorkersLost("workers: the Dask scheduler is gone")

    def close(self) -> None:
        """Take back what runs; a cluster or client that was started here is closed, a given one stays."""
        futures = [future for future, _ in self._running.values()]
        self._running = {}
        try:
            if self._client.status == "running":
                self._client.cancel(futures, force=True)
                if self._digest and not self._cluster:
                    self._client.unregister_worker_plugin(f"{self._prefix}-problem")
        except Exception:
            pass  # the cluster may be gone: nothing is lost by that
        if self._owned:
            self._client.close(timeout=5)
        if self._cluster is not None:
            self._cluster.close(timeout=10)
        if self._watchdog is not None:
            self._watchdog.close()
        self._settings.close()


def _plugin(payload: Payload) -> Any:
    """A plugin that gives each worker the problem when it joins."""
    base: Any = _distributed().WorkerPlugin

    def setup(self: Any, worker: Any) -> None:
        self.payload.load()

    plugin = type("ProblemPlugin", (base,), {"setup": setup})()
    plugin.payload = payload
    return plugin


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [""])[0]


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise ValueError(f"dask: needs the package distributed: {how_to_install('distributed', 'dask')}") from None
    return distributed

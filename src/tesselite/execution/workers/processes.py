"""Worker processes on this machine: each gets one task at a time, and is replaced when it dies or hangs.

They are started as programs of their own, not as forks, and import neither the caller's script nor notebook: threads,
locks and compiled code of the parent cannot harm them, and a script needs no `if __name__ == "__main__"`. When the
parent is gone for any reason, a watchdog kills them and all that they have started.
"""

from __future__ import annotations

import itertools
import math
import os
import pickle
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from tesselite.execution.workers.payload import Payload
from tesselite.execution.workers.task import Outcome, Task, Workers, WorkersLost
from tesselite.execution.workers.watchdog import Watchdog

_FAILED_STARTS = 5  # workers in a row that die before they are ready before we give up
_LEAVING_SECONDS = 5.0  # that a replaced worker has to exit
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@dataclass
class _Worker:
    process: subprocess.Popen[bytes]
    connection: Connection
    ready: bool = False
    task: Task | None = None
    began: float = 0.0
    n_evaluated: int = 0


class Processes(Workers):
    """`n` worker processes, whose libraries of linear algebra use `threads` threads unless the user says otherwise.

    What they print goes to standard error. `on_report(task, content)` is called with what a task passes to `report`. A
    worker is replaced by a new one after `recycle_after` evaluations, or once it takes `memory` bytes after a task.
    """

    def __init__(
        self,
        n: int,
        *,
        threads: int = 1,
        on_report: Callable[[Task, Any], object] | None = None,
        recycle_after: int | None = None,
        memory: int | None = None,
    ) -> None:
        if n < 1:
            raise ValueError(f"workers: expected at least 1, got {n}")
        if os.name != "posix":
            raise ValueError("workers: worker processes need Linux or macOS; pass an executor or a Dask cluster")
        self.n = n
        self._threads = threads
        self._on_report = on_report
        self._recycle_after = math.inf if recycle_after is None else recycle_after
        self._memory = math.inf if memory is None else memory
        self._leaving: list[tuple[_Worker, float]] = []  # replaced ones, and when each is killed
        self._payload: Payload | None = None
        self._workers: list[_Worker] = []
        self._unsent: list[Task] = []
        self._failed_starts = 0
        self._watchdog: Watchdog | None = None

    @property
    def pids(self) -> list[int]:
        """The process numbers of the workers."""
        return [worker.process.pid for worker in self._workers]

    def start(self, payload: Payload, *, timed: bool = False) -> None:
        self._payload = payload
        self._watchdog = Watchdog()
        self._workers = []
        for _ in range(self.n):
            self._workers.append(_start_process(self._threads))
            self._watch()

    def _watch(self) -> None:
        if self._watchdog is not None:
            there = [*self._workers, *(worker for worker, _ in self._leaving)]
            self._watchdog.watch(-worker.process.pid for worker in there)  # each leads a group of its own

    def _renew(self, worker: _Worker) -> None:
        """Replace a worker that has ended."""
        self._workers[self._workers.index(worker)] = _start_process(self._threads)
        self._watch()

    def _recycle(self, worker: _Worker) -> None:
        """Let a worker exit after its share, and start another."""
        worker.connection.close()  # which makes it exit
        self._leaving.append((worker, time.monotonic() + _LEAVING_SECONDS))
        self._renew(worker)

    def _see_off(self) -> None:
        """End replaced workers, whether they have exited or not, with all that they have started."""
        now = time.monotonic()
        for worker, until in self._leaving:
            if worker.process.poll() is not None or now >= until:
                _end(worker)
        stayed = [(worker, until) for worker, until in self._leaving if worker.process.returncode is None]
        if len(stayed) < len(self._leaving):
            self._leaving = stayed
            self._watch()

    def most_rows(self) -> float:
        waiting = (worker for worker in self._workers if worker.ready and worker.task is None)
        return self._recycle_after - min((worker.n_evaluated for worker in itertools.islice(waiting, 1)), default=0)

    def room(self) -> int:
        return sum(worker.ready and worker.task is None for worker in self._workers) - len(self._unsent)

    def submit(self, task: Task) -> None:
        self._unsent.append(task)
        self._send()

    def _send(self) -> None:
        for worker in self._workers:
            if self._unsent and worker.ready and worker.task is None:
                task = self._unsent[0]
                try:
                    worker.connection.send_bytes(pickle.dumps((task.function, task.args), protocol=5))
                except OSError:
                    continue  # it has died, which `wait` will detect
                del self._unsent[0]
                worker.task, worker.began = task, time.monotonic()

    def wait(self, seconds: float | None) -> list[Outcome]:
        outcomes: list[Outcome] = []
        by_connection = {worker.connection: worker for worker in self._workers}
        for connection in wait(list(by_connection), seconds):
            worker = by_connection[connection]  # type: ignore[index]
            try:
                message, *content = pickle.loads(worker.connection.recv_bytes())
            except (EOFError, OSError):
                outcomes += self._bury(worker)
                continue
            if message == "hello":
                self._give_payload(worker)
            elif message == "ready":
                self._check_memory(content[0])
                worker.ready, self._failed_starts = True, 0
            elif message == "failed":
                raise WorkersLost(f"workers: the problem cannot be loaded in a worker process\n{content[0]}")
            elif message == "report":
                if self._on_report and worker.task:
                    self._on_report(worker.task, content[0])
            else:
                assert worker.task is not None
                outcomes.append(Outcome(worker.task, content[0], seconds=content[1]))
                worker.n_evaluated += worker.task.n_rows
                worker.task = None
                if worker.n_evaluated >= self._recycle_after or content[2] >= self._memory:
                    self._recycle(worker)
        for worker in list(self._workers):
            # A child that it has forked may hold its end of the connection open.
            if worker.process.poll() is not None and not worker.connection.poll():
                outcomes += self._bury(worker)
        if self._leaving:
            self._see_off()
        self._send()
        return outcomes

    def _check_memory(self, used: int) -> None:
        """WorkersLost if a worker has reached its limit of memory before it has done anything."""
        if used >= self._memory:
            raise WorkersLost(
                f"worker_memory: a worker takes {used / 1e6:,.0f} MB once the problem is loaded, which leaves nothing "
                f"of {self._memory / 1e6:,.0f} MB; expected a higher limit"
            )

    def _give_payload(self, worker: _Worker) -> None:
        assert self._payload is not None
        with suppress(OSError):  # if it has died, `wait` will detect it
            worker.connection.send_bytes(pickle.dumps(self._payload, protocol=5))

    def _bury(self, worker: _Worker) -> list[Outcome]:
        """Replace a worker that has died; the outcome of its task, if any."""
        _end(worker)
        how = _cause_of_death(worker.process.returncode)
        if not worker.ready:
            self._failed_starts += 1
            if self._failed_starts >= _FAILED_STARTS:
                raise WorkersLost(
                    f"workers: {self._failed_starts} worker processes in a row died while starting ({how}); "
                    "see their output above, and try the problem in this process, without workers"
                )
        self._renew(worker)
        return [] if worker.task is None else [Outcome(worker.task, lost=f"its worker died ({how})")]

    def _at(self, number: int) -> _Worker | None:
        """The worker that has the task of this number."""
        return next((worker for worker in self._workers if worker.task and worker.task.number == number), None)

    def began(self, number: int) -> float | None:
        worker = self._at(number)
        return worker.began if worker else None

    def give_up(self, number: int) -> None:
        worker = self._at(number)
        if worker:
            _end(worker)
            self._renew(worker)
        self._unsent = [task for task in self._unsent if task.number != number]

    def terminate(self) -> None:
        """Ask every busy worker, by SIGTERM, to end its task."""
        for worker in self._workers:
            if worker.task:
                worker.process.terminate()

    def close(self) -> None:
        for worker in [*self._workers, *(worker for worker, _ in self._leaving)]:
            _end(worker)
        self._workers, self._leaving, self._unsent = [], [], []
        if self._watchdog is not None:
            self._watchdog.close()
            self._watchdog = None


def _start_process(threads: int) -> _Worker:
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-m", "tesselite.execution.workers.processes", str(theirs.fileno())],
            stdin=subprocess.DEVNULL,  # reading standard input returns its end at once
            stdout=2,
            pass_fds=[theirs.fileno()],
            env={**dict.fromkeys(_THREADS, str(threads)), **os.environ, "PYTHONPATH": _python_path()},
            start_new_session=True,  # a signal from the keyboard is for the parent, which decides what to do
        )
    return _Worker(process, Connection(ours.detach()))


def _python_path() -> str:
    """So that the worker imports this very package, wherever it was imported from."""
    home = str(Path(__file__).parents[2])
    return os.pathsep.join([home, *filter(None, [os.environ.get("PYTHONPATH")])])


def _end(worker: _Worker) -> None:
    with suppress(ProcessLookupError):
        os.killpg(worker.process.pid, signal.SIGKILL)  # and everything that it has started, such as a hanging simulator
    worker.process.kill()
    worker.connection.close()
    worker.process.wait()


def _cause_of_death(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


# -- what runs in the worker process -----------------------------------------------------------------------------------


_parent: Connection | None = None


def report(content: Any) -> None:
    """In a task: send the parent a message. Does nothing outside of worker processes."""
    # The module that runs as a program is another one than the module that a task imports.
    home = sys.modules["__main__"]
    parent: Connection | None = getattr(home, "_parent", None) if _is_worker(home) else None
    if parent is not None:
        parent.send_bytes(pickle.dumps(("report", content), protocol=5))


def _is_worker(home: Any) -> bool:
    return getattr(getattr(home, "__spec__", None), "name", "") == "tesselite.execution.workers.processes"


def _work(connection: Connection) -> None:
    """Answer messages until the parent is gone."""
    import traceback

    def tell(*message: Any) -> None:
        connection.send_bytes(pickle.dumps(message, protocol=5))

    tell("hello")
    payload: Payload = pickle.loads(connection.recv_bytes())
    try:
        problem = payload.load()
    except BaseException:
        tell("failed", traceback.format_exc())
        return
    tell("ready", _memory())
    while True:
        function, args = pickle.loads(connection.recv_bytes())
        began = time.perf_counter()
        value = function(problem, *args)
        tell("done", value, time.perf_counter() - began, _memory())


def _memory() -> int:
    """The bytes of memory that this process uses; where that is unknown, its peak."""
    with suppress(OSError, ValueError):
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def _main() -> None:
    from tesselite.base import notices

    notices.turn_off()  # the parent shows them
    global _parent
    _parent = Connection(int(sys.argv[1]))
    with suppress(EOFError, ConnectionError):  # the parent is gone, or has closed the connection
        _work(_parent)


if __name__ == "__main__":
    _main()

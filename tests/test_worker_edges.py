"""Rare ends of runs on workers: kills at the last moment, machines that join and leave, full disks, orphaned
children."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

import tesselite as tl
import worker_problems as problems
from tesselite.archive.evaluation import Evaluation
from tesselite.base.interruption import uninterrupted
from tesselite.execution.asynchronous import Asynchronous
from tesselite.execution.execution import Job
from tesselite.execution.log import EvaluationLog
from tesselite.execution.workers import WorkersLost
from tesselite.execution.workers.executor import ExecutorWorkers
from tesselite.execution.workers.farm import Result
from tesselite.execution.workers.payload import Payload
from tesselite.execution.workers.processes import Processes
from tesselite.execution.workers.task import Outcome, Task, Workers
from tesselite.runs.folder import RunFolder
from tesselite.runs.run import replay, resume, run
from tesselite.search.map_elites import MapElites, batches

SETTINGS = {"evaluations": 120, "grid": [8, 8], "initial": 40, "batch_size": 20, "seed": 3}


def threads(n):
    return {"workers": lambda: ThreadPoolExecutor(n), "asynchronous": True}


# -- asynchronous runs -------------------------------------------------------------------------------------------------


def test_an_asynchronous_run_killed_before_its_last_save_gets_its_archive(tmp_path):
    summary = run(problems.good, out=tmp_path / "run", **threads(2), **SETTINGS)
    whole = (tmp_path / "run" / "archive.parquet").read_bytes()
    (tmp_path / "run" / "archive.parquet").unlink()  # all results are in the log, but nothing was saved
    lines = (tmp_path / "run" / "progress.csv").read_text().splitlines(keepends=True)
    (tmp_path / "run" / "progress.csv").write_text("".join(lines[:-1]))
    resumed = resume(tmp_path / "run", problems.good)
    assert resumed.archive.equals(summary.archive)
    assert (tmp_path / "run" / "archive.parquet").read_bytes() == whole
    rows = RunFolder.open(tmp_path / "run").read_progress()
    assert [row["evaluations"] for row in rows].count(120) == 1


def test_workers_that_join_get_work_and_the_run_can_still_be_replayed(tmp_path):
    pool = ThreadPoolExecutor(4)
    workers = ExecutorWorkers(pool, n=1)

    def join(search):
        workers.n = 1 if search.evaluations < 30 else 4

    summary = run(problems.uneven, out=tmp_path / "run", workers=workers, asynchronous=True, progress=join, **SETTINGS)
    windows = RunFolder.open(tmp_path / "run").read().events.changes("window")
    assert windows == [[0, 2], [31, 8]]
    assert replay(tmp_path / "run", problems.uneven).archive.equals(summary.archive)
    more = resume(tmp_path / "run", problems.uneven, evaluations=200, workers=lambda: ThreadPoolExecutor(2))
    windows = RunFolder.open(tmp_path / "run").read().events.changes("window")
    assert windows == [[0, 2], [31, 8], [120, 4]]
    assert replay(tmp_path / "run", problems.uneven).archive.equals(more.archive)
    pool.shutdown()


class Machines(Workers):
    """Eight workers in one thread; on request, all their running tasks are lost without blame."""

    n = 8

    def __init__(self, ends):
        self.ends, self.running, self.steps, self.busy = ends, {}, 0, []

    def start(self, payload, *, timed=False):
        pass

    def room(self):
        return self.n - len(self.running)

    def submit(self, task):
        self.running[task.number] = task

    def wait(self, seconds):
        self.steps += 1
        self.busy.append(len(self.running))
        if self.steps in self.ends:
            lost = [Outcome(task, lost="the time of its machine is up", blamed=False) for task in self.running.values()]
            self.running = {}
            return lost
        task = self.running.pop(min(self.running))
        rows = task.args[0]
        return [Outcome(task, Evaluation.of(np.ones(len(rows)), rows[:, :2]), seconds=1.0)]

    def began(self, number):
        return None

    def give_up(self, number):
        pass

    def close(self):
        pass


@pytest.mark.parametrize("ends", [(40, 80), (40, 42), (40, 42, 44)])
def test_all_workers_are_busy_again_after_machines_were_lost(ends):
    search = MapElites(problems.good.solutions, tl.GridTessellation(problems.good.features, 8), initial=20, seed=1)
    machines = Machines(ends)
    job, how = Job(search, problems.good, 400), Asynchronous(machines)
    how.begin(job, machines)
    assert job.events.changes("window") == [[0, 16]]
    for _ in how.steps(job, machines):
        pass
    assert search.evaluations == 400
    assert sum(search.archive.invalid.values()) == 0
    late = machines.busy[200:380]
    assert min(late) == 8


# -- processes, locks, files -------------------------------------------------------------------------------------------


def hang_with_a_child(_, file):
    child = subprocess.Popen(["sleep", "60"])
    Path(file).write_text(str(child.pid))
    time.sleep(60)


def die_beside_a_child(_, file):
    child = subprocess.Popen(["sleep", "60"], close_fds=False)
    Path(file).write_text(str(child.pid))
    os.kill(os.getpid(), signal.SIGKILL)


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_for(condition, seconds=30.0):
    until = time.monotonic() + seconds
    while not condition() and time.monotonic() < until:
        time.sleep(0.02)
    return condition()


@pytest.mark.skipif(not Path("/proc").exists(), reason="looks at /proc")
def test_what_a_worker_has_started_ends_with_it(tmp_path):
    file = tmp_path / "pid"
    with Processes(1) as workers:
        workers.start(Payload.of(None))
        workers.submit(Task(0, hang_with_a_child, (str(file),)))
        assert wait_for(lambda: workers.wait(0.05) == [] and file.exists() and file.read_text())
        child = int(file.read_text())
        assert is_alive(child)
        workers.give_up(0)
        assert wait_for(lambda: not is_alive(child))


@pytest.mark.skipif(not Path("/proc").exists(), reason="looks at /proc")
def test_a_death_is_noticed_though_a_child_holds_the_connection(tmp_path):
    with Processes(1) as workers:
        workers.start(Payload.of(None))
        workers.submit(Task(0, die_beside_a_child, (str(tmp_path / "pid"),)))
        outcomes: list[Outcome] = []
        assert wait_for(lambda: outcomes.extend(workers.wait(0.05)) or outcomes)
        assert "SIGKILL" in outcomes[0].lost
        assert wait_for(lambda: not is_alive(int((tmp_path / "pid").read_text())))


def test_a_run_that_goes_on_without_workers_uses_their_log(tmp_path):
    search = run(problems.good, out=tmp_path / "run", **{**SETTINGS, "evaluations": 60}).search
    log = EvaluationLog(tmp_path / "run", 2)
    for number, row in list(enumerate(search.propose(20, 60), 60))[3:18]:
        fitness, features = problems.value(row)
        log.append(Result(number, fitness, np.asarray(features, dtype=float), ""), row)
    log.close()
    calls = []
    counted = tl.problem(solutions=problems.BOX, features=problems.FEATURES, name="good")(
        lambda x: calls.append(1) or problems.value(x)
    )
    resume(tmp_path / "run", counted, evaluations=120)
    assert len(calls) == 60 - 15
    run(problems.good, out=tmp_path / "whole", **SETTINGS)
    assert (tmp_path / "run" / "archive.parquet").read_bytes() == (tmp_path / "whole" / "archive.parquet").read_bytes()


def test_a_folder_is_free_after_its_run_though_a_forked_process_has_the_file(tmp_path):
    run(problems.good, out=tmp_path / "run", **SETTINGS)
    sleeper = get_context("fork").Process(target=time.sleep, args=(30,))
    with RunFolder.open(tmp_path / "run"):
        sleeper.start()
    try:
        with RunFolder.open(tmp_path / "run"):
            pass
    finally:
        sleeper.kill()
        sleeper.join()


class BadPayload(Payload):
    def load(self):
        raise KeyError("SIMULATOR_HOME")


def test_a_problem_that_no_worker_can_make_ends_the_run_with_its_error():
    with ThreadPoolExecutor(1) as pool:
        workers = ExecutorWorkers(pool)
        workers.start(BadPayload(b"", "never loaded"))
        workers.submit(Task(0, hang_with_a_child, ()))
        assert workers.wait(30.0) == []  # it knows the digest only, and receives the rest
        with pytest.raises(WorkersLost, match=r"(?s)cannot be loaded in a worker process.*KeyError: 'SIMULATOR_HOME'"):
            workers.wait(30.0)


def test_half_a_record_is_taken_back(tmp_path):
    log = EvaluationLog(tmp_path, 2)
    row = np.zeros(3)
    log.append(Result(0, 1.0, np.zeros(2), ""), row)

    class Full:
        """A file on a disk that gets full in the middle of a record."""

        def __init__(self, file):
            self.file = file

        def fileno(self):
            return self.file.fileno()

        def write(self, data):
            return self.file.write(data[:10])

        def close(self):
            self.file.close()

    real = log._open
    log._open = Full(real)
    with pytest.raises(OSError, match="No space left"):
        log.append(Result(1, 2.0, np.zeros(2), ""), row)
    log._open = real
    log.append(Result(2, 3.0, np.zeros(2), ""), row)
    log.close()
    assert [logged.result.number for logged in EvaluationLog(tmp_path, 2).read()] == [0, 2]


# -- Ctrl-C in this process --------------------------------------------------------------------------------------------


def test_a_search_on_a_plain_function_goes_on_after_ctrl_c():
    calls = []

    @tl.problem(solutions=problems.BOX, features=problems.FEATURES)
    def stopped_once(x):
        calls.append(1)
        if len(calls) == 25:
            raise KeyboardInterrupt
        return problems.value(x)

    def search():
        return MapElites(problems.BOX, tl.GridTessellation(stopped_once.features, 6), initial=20, seed=4)

    def run(found):
        for _ in batches(found, stopped_once, 60, batch_size=20):
            pass

    interrupted, whole = search(), search()
    with pytest.raises(KeyboardInterrupt):
        run(interrupted)
    run(interrupted)
    run(whole)
    assert interrupted.archive.equals(whole.archive)


def test_a_handler_that_another_signal_sets_meanwhile_stays():
    usual = signal.getsignal(signal.SIGINT)

    def mine(number, frame):
        pass

    try:
        with uninterrupted():
            signal.signal(signal.SIGINT, mine)
        assert signal.getsignal(signal.SIGINT) is mine
    finally:
        signal.signal(signal.SIGINT, usual)


def test_a_thread_that_does_not_start_leaves_no_other_waiting(monkeypatch):
    from tesselite.search.loop import CompiledLoop

    arm = tl.problems.arm(3)
    search = MapElites(arm.solutions, tl.GridTessellation(arm.features, 20), initial=200, seed=1)
    for _ in batches(search, arm, 200, threads=1):
        pass
    loop = CompiledLoop(search, arm, 2000, 3)
    submit, futures = loop._pool.submit, []

    def fail_at_the_second(*args):
        if futures:
            raise RuntimeError("can't start new thread")
        futures.append(submit(*args))
        return futures[0]

    monkeypatch.setattr(loop._pool, "submit", fail_at_the_second)
    with pytest.raises(RuntimeError, match="new thread"):
        loop.run(4000)
    futures[0].result(timeout=30)

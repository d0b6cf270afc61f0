"""A Dask cluster started elsewhere: workers that die and join, and a scheduler that disappears."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from unittest.mock import Mock

import dask
import distributed  # noqa: F401 - importing it loads the settings that a test changes
import numpy as np
import pytest

import worker_problems as problems
from tesselite.execution.workers import WorkersLost, dask_cluster
from tesselite.execution.workers.dask_cluster import DaskWorkers
from tesselite.execution.workers.farm import Farm
from tesselite.execution.workers.payload import Payload
from tesselite.execution.workers.task import Task
from tesselite.runs.run import resume, run

HERE = Path(__file__).parent
SETTINGS = {"evaluations": 400, "grid": [8, 8], "initial": 100, "batch_size": 50, "seed": 3}


class Cluster:
    """A scheduler and workers as programs of their own, with Dask's own settings."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "scheduler.json"
        self.folder = folder
        self.workers: list[subprocess.Popen] = []
        self.scheduler = self._start("scheduler", "--port", "0", "--no-dashboard", "--no-show")
        until = time.monotonic() + 60
        while not self.file.exists() and time.monotonic() < until:
            time.sleep(0.05)
        self.address = json.loads(self.file.read_text())["address"]

    def _start(self, kind: str, *options: str) -> subprocess.Popen:
        command = [sys.executable, "-m", "dask", kind, "--scheduler-file", str(self.file), *options]
        return subprocess.Popen(
            command,
            cwd=self.folder,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )

    def add_worker(self) -> None:
        self.workers.append(self._start("worker", "--nthreads", "1", "--no-dashboard", "--local-directory", "scratch"))

    def close(self) -> None:
        for process in (*self.workers, self.scheduler):
            process.terminate()
        for process in (*self.workers, self.scheduler):
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@pytest.fixture
def cluster(tmp_path):
    made = Cluster(tmp_path)
    made.add_worker()
    made.add_worker()
    yield made
    made.close()


@pytest.fixture
def port_of_dask():
    """Taken, as by another cluster here."""
    with socket.socket() as taken:
        with suppress(OSError):  # by another cluster indeed
            taken.bind(("", 8787))
            taken.listen()
        yield


@pytest.mark.usefixtures("port_of_dask")
def test_a_local_cluster_keeps_workers_that_restart_and_is_given_up_without_any():
    rows = problems.BOX.random(4, np.random.default_rng(0))
    rows[:, 2] = [0.0, 0.95, 0.0, 0.0]  # one is poison
    until = time.monotonic() + 60
    # Dask looks after this time whether a worker is back, 15 s by default: with crashes every second, one never is.
    with dask.config.set({"distributed.deploy.lost-worker-timeout": "10ms"}):
        with DaskWorkers("local:1") as workers:
            farm = Farm(workers, problems.poison, retries=1, halt=lambda: time.monotonic() > until)
            assert list(farm.evaluate(rows).reasons) == [1]
            workers._patience = 0.5
            workers._cluster.scale(0)
            with pytest.raises(WorkersLost, match="the local Dask cluster has had no worker"):
                farm.evaluate(np.repeat(rows[:1], 10_000, axis=0))
        assert dask.config.get("distributed.deploy.lost-worker-timeout") == "10ms"


@pytest.mark.slow
def test_poison_on_a_cluster_with_its_own_settings(cluster):
    rows = problems.BOX.random(60, np.random.default_rng(0))
    bad = rows[:, 2] > 0.9
    assert 1 <= bad.sum() <= 4
    with DaskWorkers(cluster.address) as workers:
        evaluated = Farm(workers, problems.poison, retries=1).evaluate(rows)
    assert evaluated.valid.tolist() == (~bad).tolist()


@pytest.mark.slow
def test_workers_come_and_go(cluster):
    rows = problems.BOX.random(1000, np.random.default_rng(0))

    def change() -> None:
        time.sleep(2)
        cluster.add_worker()
        os.kill(cluster.workers[0].pid, signal.SIGKILL)  # a nanny and its worker

    thread = threading.Thread(target=change)
    thread.start()
    with DaskWorkers(cluster.address) as workers:
        farm, done = Farm(workers, problems.slow, retries=3), []
        for part in np.array_split(rows, 5):
            evaluated = farm.evaluate(part, done=done.append)
            assert evaluated.fitness.tobytes() == problems.good.evaluate(part).fitness.tobytes()
    thread.join()
    assert len(done) == 1000


@pytest.mark.slow
@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_scheduler_that_goes_away_leaves_a_run_that_can_be_resumed(cluster, tmp_path, asynchronous):
    folder = tmp_path / "run"

    def kill(search):
        if search.evaluations >= 200:
            cluster.scheduler.kill()

    how = {"workers": DaskWorkers(cluster.address, patience=3), "asynchronous": asynchronous}
    with pytest.raises(WorkersLost, match="tesselite resume"):
        run(problems.slow, out=folder, **how, progress=kill, **SETTINGS)
    summary = resume(folder, problems.slow, workers=2)
    assert summary.search.evaluations == 400
    if not asynchronous:
        run(problems.slow, out=tmp_path / "whole", **SETTINGS)
        assert (folder / "archive.parquet").read_bytes() == (tmp_path / "whole" / "archive.parquet").read_bytes()


def test_a_worker_that_does_not_begin_with_its_task_is_taken_for_frozen(monkeypatch):
    class Client:
        status = "running"

        def __init__(self):
            self.has = {"tcp://a": (), "tcp://b": ("other",)}

        def nthreads(self):
            return {"tcp://a": 1, "tcp://b": 1}

        def processing(self):
            return self.has

        def subscribe_topic(self, topic, call):
            pass

        def register_plugin(self, plugin, name):
            pass

        def submit(self, *args, key, pure):
            return Mock(key=key)

    now = [1000.0]
    monkeypatch.setattr(dask_cluster.time, "monotonic", lambda: now[0])
    client = Client()
    workers = DaskWorkers(client)
    workers.start(Payload.of(problems.good), timed=True)
    for number in (0, 1):
        workers.submit(Task(number, len, ()))
    key = next(iter(workers._running))
    assert workers.began(0) is None  # it waits for a worker, possibly for hours
    now[0] += 9000.0
    assert workers.began(0) is None
    client.has = {"tcp://a": (key,), "tcp://b": ("other",)}
    now[0] += 5.0
    had = now[0]
    assert workers.began(0) == had + dask_cluster._BEGIN_SECONDS
    now[0] += 5.0
    assert workers.began(0) == had + dask_cluster._BEGIN_SECONDS
    client.has = {"tcp://a": (), "tcp://b": ("other", key)}  # another has got it
    now[0] += 5.0
    assert workers.began(0) == now[0] + dask_cluster._BEGIN_SECONDS
    workers._note_beginning((0.0, 0))
    assert workers.began(0) == now[0]
    assert workers.began(1) is None


@pytest.mark.slow
@pytest.mark.parametrize("nanny", [False, True])
def test_a_worker_that_is_frozen_does_not_escape_the_time_limit(cluster, monkeypatch, nanny):
    """Neither with a task that it never begins, nor with a frozen nanny, as on a frozen machine."""
    monkeypatch.setattr(dask_cluster, "_BEGIN_SECONDS", 5.0)
    monkeypatch.setattr(dask_cluster, "_ANSWER_SECONDS", 5.0)
    rows = problems.BOX.random(30, np.random.default_rng(0))
    with DaskWorkers(cluster.address) as workers:
        farm = Farm(workers, problems.good, timeout=1.0)
        workers._client.wait_for_workers(2)
        info = workers._client.run(os.getpid)
        frozen = [info[min(info)]]
        if nanny:
            frozen.append(int(Path(f"/proc/{frozen[0]}/stat").read_text().rpartition(")")[2].split()[1]))
        for pid in frozen:
            os.kill(pid, signal.SIGSTOP)
        try:
            evaluated = farm.evaluate(rows)
        finally:
            if nanny:
                for pid in frozen:
                    os.kill(pid, signal.SIGKILL)
    assert evaluated.reasons == {}
    np.testing.assert_array_equal(evaluated.fitness, problems.good.evaluate(rows).fitness)

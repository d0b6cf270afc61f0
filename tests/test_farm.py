"""Evaluations on workers of every kind: the same results despite failures."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from loky import ProcessPoolExecutor as LokyExecutor

import worker_problems as problems
from tesselite.archive.evaluation import FITNESS_NOT_FINITE
from tesselite.execution.workers import Workers, WorkersLost, open_workers
from tesselite.execution.workers.dask_cluster import DaskWorkers
from tesselite.execution.workers.farm import Farm, Halted, Item, Result
from tesselite.execution.workers.payload import Payload
from tesselite.execution.workers.processes import Processes
from tesselite.execution.workers.task import Outcome, Task

ROWS = problems.BOX.random(120, np.random.default_rng(0))
BAD = ROWS[:, 2] > 0.9  # what is poison to `poison` and never ends in `hanging`
ONE_BAD = slice(int(np.argmax(BAD)) - 4, int(np.argmax(BAD)) + 5)


def processes_of_the_library() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(2, mp_context=get_context("spawn"))


KINDS = {
    "processes": lambda: 2,
    "library": lambda: processes_of_the_library,
    "loky": lambda: partial(LokyExecutor, 2),
    "dask": lambda: "local:2",
}


@pytest.fixture(params=KINDS)
def workers(request):
    with open_workers(KINDS[request.param]()) as opened:
        yield opened


@pytest.fixture(
    params=["processes", "dask", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("library", "loky"))]
)
def faulty_workers(request):
    with open_workers(KINDS[request.param]()) as opened:
        yield opened


@pytest.fixture
def processes():
    with Processes(2) as opened:
        yield opened


def same(ours, theirs):
    assert ours.fitness.tobytes() == theirs.fitness.tobytes()
    assert ours.features.tobytes() == theirs.features.tobytes()
    assert ours.valid.tolist() == theirs.valid.tolist()
    assert ours.reasons == theirs.reasons


# -- the same results ------------------------------------------------------------------------------------------------


def test_a_batch_is_what_this_process_makes_of_it(workers):
    farm = Farm(workers, problems.in_scenarios)
    for scenario in (None, "upside down"):
        same(farm.evaluate(ROWS, scenario), problems.in_scenarios.evaluate(ROWS, scenario))
    same(farm.evaluate(ROWS[:1]), problems.in_scenarios.evaluate(ROWS[:1]))
    assert len(farm.evaluate(ROWS[:0])) == 0


@pytest.mark.parametrize("problem", [problems.compiled, problems.of_main(0.25)], ids=["compiled", "closure"])
def test_problems_travel_by_name_or_by_value(processes, problem):
    same(Farm(processes, problem).evaluate(ROWS), problem.evaluate(ROWS))


def test_what_a_function_returns_counts_and_what_it_raises_is_tried_again(processes):
    farm, done = Farm(processes, problems.faulty), []
    rows = ROWS[:40]  # few of which raise: twenty tries that do not help would be enough
    evaluated = farm.evaluate(rows, first=1000, done=done.append)
    same(evaluated, problems.faulty.evaluate(rows))
    assert sorted(result.number for result in done) == list(range(1000, 1040))
    for result in done:
        raised = ROWS[result.number - 1000, 2] > 0.7
        assert result.tries == (3 if raised else 1)
        assert ("ArithmeticError: too large" in result.error) == raised
    assert evaluated.first_error


def test_a_function_that_always_raises_is_not_asked_again_for_ever(processes):
    farm, done = Farm(processes, problems.faulty), []
    rows = np.tile(ROWS[ROWS[:, 2] > 0.7], (10, 1))
    for _ in range(2):
        farm.evaluate(rows, done=done.append)
    assert done[0].tries > 1
    assert {result.tries for result in done[-len(rows) :]} == {1}


def test_a_function_that_raises_only_once_is_valid_at_last(processes, tmp_path, monkeypatch):
    monkeypatch.setenv("FLAKY_FOLDER", str(tmp_path))
    evaluated = Farm(processes, problems.flaky, retries=1).evaluate(ROWS[:40])
    assert evaluated.valid.all()
    same(evaluated, problems.good.evaluate(ROWS[:40]))


def test_without_retries_the_first_failure_counts(processes, tmp_path, monkeypatch):
    monkeypatch.setenv("FLAKY_FOLDER", str(tmp_path))
    evaluated = Farm(processes, problems.flaky, retries=0).evaluate(ROWS[:10])
    assert evaluated.reasons == dict.fromkeys(range(10), "exception: OSError")


# -- workers that die or hang ------------------------------------------------------------------------------------------


def test_poison_ends_as_invalid_and_everything_else_is_valid(faulty_workers):
    rows, bad = ROWS[ONE_BAD], BAD[ONE_BAD]
    assert bad.sum() == 1
    farm = Farm(faulty_workers, problems.poison, retries=1)
    evaluated = farm.evaluate(rows)
    assert evaluated.valid.tolist() == (~bad).tolist()
    assert all("its worker died" in reason for reason in evaluated.reasons.values())
    good = problems.good.evaluate(rows)
    assert evaluated.fitness[~bad].tobytes() == good.fitness[~bad].tobytes()
    assert farm.evaluate(rows[:1]).valid.all()  # the workers are there again


def test_what_hangs_is_given_up(faulty_workers):
    evaluated = Farm(faulty_workers, problems.hanging, retries=0, timeout=2.0).evaluate(ROWS[ONE_BAD])
    assert evaluated.valid.tolist() == (~BAD[ONE_BAD]).tolist()
    assert set(evaluated.reasons.values()) == {"took longer than 2 s"}


def test_workers_that_are_killed_from_outside_lose_nothing(processes):
    farm, done = Farm(processes, problems.slow, retries=5), []
    stop = threading.Event()
    killed = []

    def kill_now_and_then():
        while len(killed) < 3 and not stop.wait(0.3):
            pids = [worker.process.pid for worker in processes._workers if worker.ready]
            if pids:
                killed.append(pids[len(killed) % len(pids)])
                os.kill(killed[-1], signal.SIGKILL)

    rows = problems.BOX.random(300, np.random.default_rng(1))
    killer = threading.Thread(target=kill_now_and_then)
    killer.start()
    try:
        evaluated = farm.evaluate(rows, done=done.append)
    finally:
        stop.set()
        killer.join()
    assert len(killed) >= 2
    same(evaluated, problems.good.evaluate(rows))
    assert sorted(result.number for result in done) == list(range(300))  # each once


PARENT = """
import os, time
import worker_problems as problems
from tesselite.execution.workers import open_workers
from tesselite.execution.workers.farm import Farm

if __name__ == "__main__":
    farm = Farm(open_workers(WORKERS), problems.in_c)
    forked = os.fork()  # it holds all pipes to the workers open
    if not forked:
        time.sleep(600)
    print(forked, flush=True)
    farm.evaluate(problems.BOX.validate([[0.0, 0.0, 0.0], [0.5, 0.5, 0.5]]))
"""


@pytest.mark.parametrize("workers", [2, pytest.param("local:2", marks=pytest.mark.slow)])
def test_workers_end_when_their_parent_is_killed_whatever_they_are_doing(tmp_path, workers):
    """One is in C code that blocks all Python threads, one is stopped. No semaphore is left in the system."""
    environment = {**os.environ, "COUNT_FOLDER": str(tmp_path), "PYTHONWARNINGS": "ignore"}
    program = [sys.executable, "-c", PARENT.replace("WORKERS", repr(workers))]
    with subprocess.Popen(
        program, stdout=subprocess.PIPE, text=True, env=environment, cwd=Path(__file__).parent
    ) as parent:
        forked = int(parent.stdout.readline())
        try:
            wait_for(lambda: len(list(tmp_path.iterdir())) == 2)
            pids = [int(file.name) for file in tmp_path.iterdir()]
            semaphores = {file for pid in (parent.pid, *pids) for file in semaphores_of(pid)}
            assert semaphores or workers == 2  # Dask has some
            os.kill(pids[0], signal.SIGSTOP)
            parent.kill()
            wait_for(lambda: not any(map(is_alive, pids)))
        finally:
            for pid in [forked, *(int(file.name) for file in tmp_path.iterdir())]:
                if is_alive(pid):
                    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not any(file.exists() for file in semaphores))


def semaphores_of(pid):
    """The named semaphores that a process has open."""
    lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
    return {Path(line.split(maxsplit=5)[5]) for line in lines if "/dev/shm/sem." in line and "(deleted)" not in line}


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def is_alive(pid):
    """Whether a process runs, or is stopped; a zombie counts as gone."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_a_watchdog_that_was_killed_stops_nothing(processes):
    farm = Farm(processes, problems.good)
    processes._watchdog.process.kill()
    processes._watchdog.process.wait()
    for worker in processes._workers:
        os.kill(worker.process.pid, signal.SIGKILL)
    same(farm.evaluate(ROWS), problems.good.evaluate(ROWS))


def test_a_problem_that_cannot_be_made_there_stops_at_once(processes, monkeypatch):
    monkeypatch.setattr(problems.good, "spec", "worker_problems:nothing")
    with pytest.raises(WorkersLost, match=r"cannot be loaded in a worker process(.|\n)*has no 'nothing'"):
        Farm(processes, problems.good).evaluate(ROWS)


def test_workers_that_always_die_at_the_start_stop_it(processes, monkeypatch):
    monkeypatch.setenv("PYTHONHOME", "/nowhere")
    with pytest.raises(WorkersLost, match="5 worker processes in a row died while starting"):
        Farm(processes, problems.good).evaluate(ROWS)


def test_a_broken_executor_that_cannot_be_replaced_says_so():
    lost = pytest.raises(WorkersLost, match="pass a function that creates an executor")
    with processes_of_the_library() as pool, open_workers(pool) as opened, lost:
        Farm(opened, problems.poison).evaluate(ROWS)


def test_an_executor_that_is_given_stays_open():
    with ThreadPoolExecutor(2) as pool:
        with open_workers(pool) as opened:
            same(Farm(opened, problems.good).evaluate(ROWS), problems.good.evaluate(ROWS))
        assert pool.submit(int, "7").result() == 7


def test_halting_in_the_middle_of_a_batch(processes):
    farm = Farm(processes, problems.slow)
    seen: list[Result] = []
    farm.halt = lambda: len(seen) > 20
    with pytest.raises(Halted):
        farm.evaluate(ROWS, done=seen.append)
    assert 20 < len(seen) < 120


# -- the policy, without processes ------------------------------------------------------------------------------------


class Script(Workers):
    """Workers that end tasks as a test wants it: `fate(rows)` is why they are lost, or empty."""

    def __init__(self, fate, n=2, blamed=True):
        self.n, self.fate, self.blamed, self.tasks, self.sizes, self.given_up = n, fate, blamed, [], [], []

    def start(self, payload, *, timed=False):
        self.problem = payload.load()

    def room(self):
        return self.n - len(self.tasks)

    def submit(self, task: Task):
        self.tasks.append(task)
        self.sizes.append(len(task.args[0]))

    def wait(self, seconds):
        outcomes = []
        for task in self.tasks:
            lost = self.fate(task.args[0])
            value = None if lost else task.function(self.problem, *task.args)
            outcomes.append(
                Outcome(
                    task, value, lost, blamed=self.blamed or len(self.tasks) == 1, seconds=0.001 * len(task.args[0])
                )
            )
        self.tasks = []
        return outcomes

    def began(self, number):
        return None

    def give_up(self, number):
        self.given_up.append(number)

    def close(self):
        pass


def test_a_lost_chunk_is_tried_again_row_by_row_and_only_the_culprit_is_blamed():
    script = Script(lambda rows: "died" if (rows == ROWS[30]).all(axis=1).any() else "")
    farm, done = Farm(script, problems.good, retries=2), []
    evaluated = farm.evaluate(ROWS, done=done.append)
    assert evaluated.reasons == {30: "died"}
    tries = {result.number: result.tries for result in done}
    assert tries[30] == 3
    assert set(tries.values()) == {1, 3}


def test_who_may_be_innocent_is_tried_again_alone():
    script = Script(lambda rows: "died" if (rows == ROWS[0]).all(axis=1).any() else "", n=4, blamed=False)
    evaluated = Farm(script, problems.good, retries=1).evaluate(ROWS)
    assert evaluated.reasons == {0: "died"}


def test_chunks_follow_the_cost_of_rows():
    script = Script(lambda rows: "")
    farm = Farm(script, problems.good)
    farm.evaluate(np.repeat(ROWS, 10, axis=0))
    assert script.sizes[:2] == [1, 1]  # nothing is known yet
    assert max(script.sizes) == 250  # a quarter of a second at one millisecond a row
    assert script.sizes[-1] <= 5  # the end is cut finely
    assert sum(script.sizes) == 1200


def test_known_results_are_not_evaluated_again():
    script = Script(lambda rows: "")
    known = [Result(7, 0.5, np.zeros(2)), Result(9, np.nan, np.full(2, np.nan), FITNESS_NOT_FINITE)]
    evaluated = Farm(script, problems.good).evaluate(ROWS[:10], first=5, known=known)
    assert sum(script.sizes) == 8
    assert evaluated.fitness[2] == 0.5
    assert evaluated.reasons == {4: FITNESS_NOT_FINITE}


def test_each_submitted_item_comes_back_once():
    script = Script(lambda rows: "")
    farm = Farm(script, problems.good)
    for number in range(30):
        farm.submit(Item(number, ROWS[number], None))
    numbers = []
    while results := farm.completed():
        numbers += [result.number for result in results]
    assert sorted(numbers) == list(range(30))


# -- refusals ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (0, "at least 1"),
        (3.5, "expected a number of processes"),
        (None, "expected a number of processes"),
        ("local:none", "local:N"),
        ("nowhere", "tcp://HOST:PORT"),
    ],
)
def test_what_is_no_workers(wanted, message):
    with pytest.raises(ValueError, match=message):
        open_workers(wanted)


def test_a_scheduler_that_does_not_answer():
    with pytest.raises(ValueError, match="no scheduler answers at tcp"):
        DaskWorkers("tcp://127.0.0.1:9", patience=1)


@pytest.mark.parametrize("options", [{"retries": -1}, {"retries": 1.5}, {"timeout": 0}, {"timeout": float("nan")}])
def test_policies_that_make_no_sense(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        Farm(Script(None), problems.good, **options)


def test_an_executor_of_unknown_size():
    class Nameless(Executor):
        def submit(self, function, /, *args, **options) -> Future:
            raise NotImplementedError

    with pytest.raises(ValueError, match="pass it as n"):
        open_workers(Nameless())


def test_a_problem_that_cannot_travel():
    lock = threading.Lock()
    with pytest.raises(ValueError, match="cannot be sent to other processes"):
        Payload.of(problems.of_main(lock))

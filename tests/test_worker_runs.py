"""Runs on workers: the same bytes as without, despite kills; asynchronous runs and their log; islands."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import tesselite as tl
import worker_problems as problems
from hill_runs import command_of
from tesselite.base.threads import available_threads
from tesselite.cli import main
from tesselite.execution.asynchronous import SteadyState
from tesselite.execution.batches import Batches
from tesselite.execution.choice import execution_of
from tesselite.execution.execution import Job, WorkerChoice
from tesselite.execution.in_process import IN_PROCESS
from tesselite.execution.islands import Islands
from tesselite.execution.log import EvaluationLog
from tesselite.execution.workers import WorkersLost
from tesselite.execution.workers.executor import ExecutorWorkers
from tesselite.execution.workers.farm import Farm, Result
from tesselite.execution.workers.processes import Processes
from tesselite.report.page.packed_arrays import PackedArrays
from tesselite.report.page.run_data import describe_run, read_run
from tesselite.runs.carry_on import Interrupted
from tesselite.runs.folder import RunFolder
from tesselite.runs.run import replay, resume, run
from tesselite.search.map_elites import MapElites

HERE = Path(__file__).parent
SETTINGS = {"evaluations": 400, "grid": [8, 8], "initial": 100, "batch_size": 50, "seed": 3}
ON_TWO = {"workers": 2}
RECORD = 44  # bytes of a record of the log with two features


def archive_bytes(folder):
    return (folder / "archive.parquet").read_bytes()


def results_of(folder):
    return [logged.result for logged in EvaluationLog(folder, 2).read()]


def tesselite_run(folder, *options, problem="worker_problems:slow", **more):
    """The command line in a process of its own."""
    command = [sys.executable, "-m", "tesselite", "run", problem, "-o", str(folder), "-q", "--grid", "8", *options]
    return subprocess.Popen(
        [*command, "--initial", "100", "--batch-size", "50", "--seed", "3"],
        cwd=HERE,
        env={**os.environ, "PYTHONPATH": os.environ.get("PYTHONPATH", ""), **more},
        stderr=subprocess.PIPE,
        text=True,
    )


# -- in batches ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("problem", [problems.good, problems.faulty, problems.compiled], ids=lambda p: p.name)
def test_workers_leave_the_same_bytes(tmp_path, problem):
    run(problem, out=tmp_path / "here", **SETTINGS)
    run(problem, out=tmp_path / "there", **ON_TWO, **SETTINGS)
    assert archive_bytes(tmp_path / "here") == archive_bytes(tmp_path / "there")
    assert not (tmp_path / "there" / "evaluations.log").exists()


def test_failures_are_kept_with_their_solutions(tmp_path):
    summary = run(problems.faulty, out=tmp_path / "run", **ON_TWO, **SETTINGS)
    failures = [json.loads(line) for line in (tmp_path / "run" / "failures.jsonl").read_text().splitlines()]
    assert len(failures) == summary.search.archive.invalid.total()
    for failure in failures:
        evaluated = problems.faulty.evaluate(failure["solution"])
        assert evaluated.reasons == {0: failure["reason"]}
    raised = [failure for failure in failures if failure["reason"] == "exception: ArithmeticError"]
    assert raised[0]["tries"] == 3
    assert "too large" in raised[0]["error"]
    assert sorted({failure["evaluation"] for failure in failures}) == sorted(f["evaluation"] for f in failures)


@pytest.mark.parametrize("kind", [("--workers", "2"), pytest.param(("--dask", "local:2"), marks=pytest.mark.slow)])
def test_a_run_whose_main_process_is_killed_goes_on_without_loss(tmp_path, kind, monkeypatch):
    folder, marks = tmp_path / "run", tmp_path / "marks"
    marks.mkdir()
    monkeypatch.setenv("COUNT_FOLDER", str(marks))
    process = tesselite_run(
        folder, "--evaluations", "400", "--checkpoint", "1000", *kind, problem="worker_problems:counted"
    )
    log = folder / "evaluations.log"
    with process:
        until = time.monotonic() + 60
        while (not log.exists() or log.stat().st_size < 150 * RECORD) and time.monotonic() < until:
            time.sleep(0.02)
        process.kill()
    known = len(EvaluationLog(folder, 2).read())
    assert known >= 150
    before = sum(file.stat().st_size for file in marks.iterdir()) // 24
    resume(folder, problems.counted, workers=2)
    after = sum(file.stat().st_size for file in marks.iterdir()) // 24
    # Logged results were not evaluated again. Some that were running when the process died may have been.
    assert 400 - known <= after - before <= 400 - known + 5
    run(problems.good, out=tmp_path / "whole", **SETTINGS)
    ours, theirs = tl.Archive.load(folder / "archive.parquet"), tl.Archive.load(tmp_path / "whole" / "archive.parquet")
    assert ours.equals(theirs)


def test_an_interrupt_stops_in_the_middle_of_a_batch_and_nothing_is_lost(tmp_path):
    seen = []

    def interrupt(search):
        seen.append(search.evaluations)
        if len(seen) == 3:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(Interrupted):
        run(problems.slow, out=tmp_path / "run", **ON_TWO, progress=interrupt, **SETTINGS)
    known = len(EvaluationLog(tmp_path / "run", 2).read())
    calls = []
    counted = tl.problem(solutions=problems.BOX, features=problems.FEATURES, name=problems.slow.name)(
        lambda x: calls.append(1) or problems.slow.function(x)
    )
    resume(tmp_path / "run", counted, workers=0)  # without workers, too
    assert len(calls) == SETTINGS["evaluations"] - seen[-1] - known  # finished evaluations are not repeated
    run(problems.slow, out=tmp_path / "whole", **SETTINGS)
    assert archive_bytes(tmp_path / "run") == archive_bytes(tmp_path / "whole")


def test_results_of_other_solutions_are_not_taken_from_the_log(tmp_path):
    """The numbers of a batch can get other solutions: more evaluations make the last batch longer."""

    def interrupt(search):
        if search.evaluations == 200:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(Interrupted):
        run(problems.good, out=tmp_path / "run", **ON_TWO, progress=interrupt, **SETTINGS)
    log = EvaluationLog(tmp_path / "run", 2)
    for number in range(200, 230):
        log.append(Result(number, 99.0, np.zeros(2)), np.full(3, 0.5))
    log.close()
    resume(tmp_path / "run", problems.good, workers=2)
    run(problems.good, out=tmp_path / "whole", **SETTINGS)
    assert archive_bytes(tmp_path / "run") == archive_bytes(tmp_path / "whole")


def test_workers_that_are_lost_leave_a_run_that_can_be_resumed(tmp_path, monkeypatch):
    done = []

    def break_them(search):
        done.append(search.evaluations)
        if len(done) == 2:
            monkeypatch.setattr(Processes, "wait", lambda *_: (_ for _ in ()).throw(WorkersLost("they are gone")))

    with pytest.raises(WorkersLost, match=r"they are gone\n.*tesselite resume"):
        run(problems.good, out=tmp_path / "run", **ON_TWO, progress=break_them, **SETTINGS)
    monkeypatch.undo()
    resume(tmp_path / "run", problems.good, workers=2)
    run(problems.good, out=tmp_path / "whole", **SETTINGS)
    assert archive_bytes(tmp_path / "run") == archive_bytes(tmp_path / "whole")


# -- without batches -------------------------------------------------------------------------------------------------


def test_asynchronous_runs_spend_their_budget_exactly_and_can_be_replayed(tmp_path):
    summary = run(problems.uneven, out=tmp_path / "run", workers=2, asynchronous=True, **SETTINGS)
    assert summary.search.evaluations == 400
    assert not summary.search.pending
    results = results_of(tmp_path / "run")
    assert sorted(result.number for result in results) == list(range(400))
    assert [result.number for result in results] != list(range(400))  # quick ones have overtaken slow ones
    again = replay(tmp_path / "run", problems.uneven)
    assert again.archive.equals(summary.search.archive)
    assert again.archive.equals(tl.Archive.load(tmp_path / "run" / "archive.parquet"))
    with pytest.raises(ValueError, match="are not those that the run was started with"):
        replay(tmp_path / "run", tl.problems.sphere(3))


def test_a_run_that_is_still_active_can_be_replayed(tmp_path):
    folder, seen = tmp_path / "run", []

    def look(search):
        if len(seen) < 10:
            again = replay(folder, problems.uneven)
            if again.evaluations == search.evaluations:
                seen.append(again.archive.equals(search.archive))

    execution = {"workers": 2, "asynchronous": True}
    summary = run(problems.uneven, out=folder, **execution, progress=look, **SETTINGS)
    assert seen
    assert all(seen)
    assert replay(folder, problems.uneven).archive.equals(summary.archive)


def test_a_log_in_another_order_is_refused(tmp_path, monkeypatch):
    """The order decides what is bred: the test above can fail."""
    run(problems.uneven, out=tmp_path / "run", workers=2, asynchronous=True, **SETTINGS)
    log = tmp_path / "run" / "evaluations.log"
    records = np.frombuffer(log.read_bytes(), np.uint8).reshape(-1, RECORD)
    results = EvaluationLog(tmp_path / "run", 2).read()
    order = np.argsort([logged.result.number for logged in results])
    log.write_bytes(records[order].tobytes())
    with pytest.raises(ValueError, match=r"evaluations\.log: damaged in record"):
        replay(tmp_path / "run", problems.uneven)
    monkeypatch.setattr("tesselite.execution.log.EvaluationLog.read", lambda self: [results[i] for i in order])
    with pytest.raises(ValueError, match="belongs to a solution other than the one produced here"):
        replay(tmp_path / "run", problems.uneven)


def test_a_log_that_is_shorter_than_the_checkpoint_is_refused(tmp_path):
    """As a power cut could leave it, if the log were not written to disk before the checkpoint."""
    folder = tmp_path / "run"
    run(problems.good, out=folder, workers=2, asynchronous=True, **SETTINGS)
    log = folder / "evaluations.log"
    log.write_bytes(log.read_bytes()[: -15 * RECORD])
    with pytest.raises(ValueError, match="expected the 400 results that are in the checkpoint, found 385"):
        resume(folder, problems.good, evaluations=500, workers=2)


@pytest.mark.parametrize("checkpoint", ["0", pytest.param("1000", marks=pytest.mark.slow)])
def test_an_asynchronous_run_that_is_killed_goes_on(tmp_path, checkpoint):
    folder = tmp_path / "run"
    process = tesselite_run(
        folder, "--evaluations", "400", "--asynchronous", "--workers", "2", "--checkpoint", checkpoint
    )
    log = folder / "evaluations.log"
    with process:
        until = time.monotonic() + 60
        while (not log.exists() or log.stat().st_size < 150 * RECORD) and time.monotonic() < until:
            time.sleep(0.02)
        process.kill()
    known = results_of(folder)
    assert len(known) >= 150
    summary = resume(folder, problems.slow, workers=3)
    results = results_of(folder)
    assert [result.number for result in results[: len(known)]] == [result.number for result in known]
    assert sorted(result.number for result in results) == list(range(400))
    assert replay(folder, problems.slow).archive.equals(summary.search.archive)


def test_an_asynchronous_run_can_be_extended_and_still_replayed(tmp_path):
    how = {"workers": 2, "asynchronous": True}
    run(problems.uneven, out=tmp_path / "run", **how, **{**SETTINGS, "evaluations": 150})
    summary = resume(tmp_path / "run", problems.uneven, evaluations=300, workers=2)
    assert summary.search.evaluations == 300
    assert RunFolder.open(tmp_path / "run").read().events.changes("budget", 150) == [[0, 150], [150, 300]]
    assert replay(tmp_path / "run", problems.uneven).archive.equals(summary.search.archive)


def test_an_asynchronous_run_in_which_nothing_is_valid_says_why_and_can_be_started_again(tmp_path):
    @tl.problem(solutions=problems.BOX, features=problems.FEATURES)
    def broken(x):
        raise ZeroDivisionError("always")

    how = {"workers": lambda: ThreadPoolExecutor(1), "asynchronous": True}
    with pytest.raises(tl.NothingValid, match=r"(?s)none of the first 50 .*ZeroDivisionError: always"):
        run(broken, out=tmp_path / "run", **how, checkpoint_seconds=0, **SETTINGS)
    run(problems.good, out=tmp_path / "run", **how, **SETTINGS)


def test_an_asynchronous_run_that_was_stopped_before_anything_was_valid_goes_on_and_is_judged(tmp_path):
    def raising(x):
        raise ZeroDivisionError("always")

    def rare(x):
        return (1.0 if x[0] > 0.95 else np.nan), x[:2]

    def stop(search):
        if search.evaluations == 5:
            signal.raise_signal(signal.SIGINT)

    how = {"workers": lambda: ThreadPoolExecutor(1), "asynchronous": True}
    for name, function in {"raising": raising, "rare": rare}.items():
        problem = tl.problem(solutions=problems.BOX, features=problems.FEATURES)(function)
        folder = tmp_path / name
        with pytest.raises(Interrupted):
            run(problem, out=folder, **how, progress=stop, **SETTINGS)
        assert len(tl.Archive.load(folder / "archive.parquet")) == 0
        if function is raising:
            with pytest.raises(tl.NothingValid, match=r"(?s)none of the first 50 .*ZeroDivisionError: always"):
                resume(folder, problem, workers=how["workers"])
            assert replay(folder, problem).evaluations == 50
        else:
            summary = resume(folder, problem, workers=how["workers"])
            assert replay(folder, problem).archive.equals(summary.search.archive)


def test_steady_state_asks_and_tells_in_any_order():
    search = MapElites(problems.BOX, tl.GridTessellation(problems.good.features, 4), initial=5, seed=1)
    state = SteadyState(search)
    numbers = [number for number, _ in state.ask_up_to(8, 100)]
    assert numbers == list(range(8))
    for number in (3, 7, 0):
        fitness, features = problems.value(state.out[number])
        state.tell(Result(number, fitness, features))
    assert search.evaluations == 3
    assert state.asked == 8
    assert state.ask()[0] == 8
    assert {elite.evaluation for elite in search.archive} <= {0, 3, 7}
    with pytest.raises(ValueError, match="got 3"):
        state.tell(Result(3, 0.0, np.zeros(2)))


# -- islands ---------------------------------------------------------------------------------------------------------


def island_search():
    tessellation = tl.cvt(problems.good.features, 50, seed=1, n_samples=2000, method="lloyd", iterations=5)
    return MapElites(problems.BOX, tessellation, initial=100, seed=3)


def test_islands_depend_neither_on_the_number_of_workers_nor_on_losses(tmp_path, processes_of):
    found = []
    for n in (1, 2):
        with processes_of(n) as workers:
            search = island_search()
            steps = Islands(n=3, exchange=150, retries=50).steps(Job(search, problems.good, 2000, 50), workers)
            evaluations = []
            for state in steps:
                evaluations.append(state.evaluations)
                if n == 2 and len(evaluations) in (1, 3):
                    os.kill(workers.pids[len(evaluations) // 2], signal.SIGKILL)
            assert evaluations == [450, 900, 1350, 1800, 2000]
            found.append(search.archive)
    assert found[0].equals(found[1])
    assert found[0].coverage == 1.0


def test_islands_use_every_number_once_and_count_what_is_invalid(tmp_path):
    summary = run(problems.faulty, out=tmp_path / "run", workers=2, islands=2, **SETTINGS)
    archive = summary.search.archive
    assert summary.search.evaluations == 400
    assert len({elite.evaluation for elite in archive}) == len(archive)
    assert max(elite.evaluation for elite in archive) < 400
    assert archive.invalid.total() > 30
    for elite in archive:
        assert problems.faulty.evaluate(elite.solution).fitness[0] == elite.fitness


def test_a_run_on_islands_is_resumed_to_the_same_archive(tmp_path):
    def stop(search):
        if search.evaluations >= 200:
            signal.raise_signal(signal.SIGINT)

    how = {"workers": 2, "islands": 2, "exchange": 50}
    with pytest.raises(Interrupted):
        run(problems.compiled, out=tmp_path / "run", **how, progress=stop, **SETTINGS)
    resume(tmp_path / "run", problems.compiled)
    run(problems.compiled, out=tmp_path / "whole", **{**how, "workers": 1}, **SETTINGS)
    assert archive_bytes(tmp_path / "run") == archive_bytes(tmp_path / "whole")


def test_islands_where_nothing_is_valid_say_why(tmp_path):
    @tl.problem(solutions=problems.BOX, features=problems.FEATURES)
    def broken(x):
        raise ZeroDivisionError("always")

    with pytest.raises(tl.NothingValid, match="ZeroDivisionError: always"):
        tl.illuminate(broken, islands=2, workers=2, **SETTINGS)


@pytest.fixture
def processes_of():
    return Processes


# -- the command line ------------------------------------------------------------------------------------------------


def run_main(capsys, *args):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["tesselite", *map(str, args)])
        with pytest.raises(SystemExit) as ended:
            main()
    return ended.value.code or 0, capsys.readouterr()


def test_the_commands(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(HERE)
    code, said = run_main(
        capsys, "run", "worker_problems:uneven", "-o", tmp_path / "run", "--grid", "8", "--evaluations", "200",
        "--initial", "50", "--asynchronous", "--workers", "2", "--json", "-q",
    )  # fmt: skip
    assert code == 0, said.err
    assert json.loads(said.out)["evaluations"] == 200
    code, said = run_main(capsys, "replay", tmp_path / "run", "--json")
    assert code == 0
    assert json.loads(said.out)["identical"] is True
    log = tmp_path / "run" / "evaluations.log"
    log.write_bytes(log.read_bytes()[: RECORD * 120])
    code, said = run_main(capsys, "replay", tmp_path / "run")
    assert code == 1
    assert "differs" in said.out
    (tmp_path / "run" / "archive.parquet").unlink()
    code, said = run_main(capsys, "replay", tmp_path / "run")
    assert code == 0
    assert "nothing to compare with yet: the run's archive has 0 of these evaluations" in said.out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--workers", "0"], "workers: expected a whole number of at least 1, got 0"),
        (["--workers", "2", "--dask", "local:2"], "only one of --workers and --dask"),
        (["--asynchronous", "--islands", "2"], "only one of asynchronous and islands"),
        (["--exchange", "100"], "exchange: only valid together with islands"),
        (["--timeout", "5"], "timeout: needs workers"),
        (["--asynchronous"], "asynchronous: needs workers, such as --workers N"),
        (["--workers", "2", "--timeout", "-1"], "timeout: expected seconds above 0"),
        (["--workers", "2", "--retries", "-1"], "retries: expected a whole number of at least 0"),
        (["--islands", "0"], "islands: expected a whole number of at least 1"),
        (["--dask", "somewhere"], "expected tcp://HOST:PORT or local:N"),
    ],
)
def test_options_that_make_no_sense(tmp_path, capsys, options, message):
    code, said = run_main(capsys, "run", "sphere", "-o", tmp_path / "run", "--grid", "8", *options)
    assert code == 2
    assert message in said.err
    assert not (tmp_path / "run" / "settings.json").exists()


def test_numbers_of_any_kind_are_kept_as_whole_numbers():
    how = execution_of(WorkerChoice(np.int64(2), retries=np.int32(1)), islands=2.0, exchange=1e3)
    assert [how.workers, how.retries, how.n, how.exchange] == [2, 1, 2, 1000]
    assert {type(n) for n in (how.workers, how.retries, how.n, how.exchange)} == {int}
    for timeout in ("3", [3]):
        with pytest.raises(ValueError, match="timeout: expected seconds above 0"):
            execution_of(WorkerChoice(2, timeout=timeout))


def test_a_run_with_a_seed_needs_no_replay(tmp_path):
    run(problems.good, out=tmp_path / "run", **SETTINGS)
    with pytest.raises(ValueError, match="not an asynchronous run"):
        replay(tmp_path / "run", problems.good)


# -- what protects a run stays with it -------------------------------------------------------------------------------


def stop_at_200(run):
    if run.evaluations >= 200:
        signal.raise_signal(signal.SIGINT)


@pytest.fixture(scope="module")
def stopped_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("protected") / "run"
    with pytest.raises(Interrupted) as stopped:
        run(problems.good, out=folder, workers=2, retries=1, timeout=20.0, progress=stop_at_200, **SETTINGS)
    return folder, str(stopped.value)


@pytest.fixture
def stopped_folder(stopped_run, tmp_path):
    return Path(shutil.copytree(stopped_run[0], tmp_path / "run"))


@pytest.fixture
def opened(monkeypatch):
    """The workers that are opened, and the limits of a farm; everything runs on a thread."""
    seen = []

    def open_threads(wanted, *limits):
        seen.append(wanted)
        return ExecutorWorkers(lambda: ThreadPoolExecutor(wanted if isinstance(wanted, int) else 1))

    def farm(*args, **options):
        seen.append((options["retries"], options["timeout"]))
        return Farm(*args, **options)

    monkeypatch.setattr("tesselite.execution.execution.open_workers", open_threads)
    for module in ("execution", "choice"):
        monkeypatch.setattr(f"tesselite.execution.{module}.Farm", farm)
    return seen


def test_a_stopped_run_says_what_protects_it_and_keeps_it(stopped_run):
    folder, message = stopped_run
    assert message.endswith(f"continue with: tesselite resume {folder} --workers 2 --timeout 20 --retries 1")
    assert RunFolder.open(folder).read().plan.execution == Batches(2, retries=1, timeout=20.0)
    assert command_of(folder).split(" --seed")[0].endswith(" --workers 2 --timeout 20 --retries 1")
    shown = dict(describe_run(read_run(folder), PackedArrays())["settings"])
    assert shown["Workers"] == "2 processes"
    assert shown["Timeout"] == "20 s per evaluation"
    assert shown["Retries"] == "1"


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ({}, [2, (1, 20.0)]),
        ({"workers": 3}, [3, (1, 20.0)]),
        ({"workers": "local:2"}, ["local:2", (1, 20.0)]),
        ({"retries": 5, "timeout": 7}, [2, (5, 7.0)]),
        ({"timeout": np.inf}, [2, (1, None)]),
        ({"workers": 0}, []),
    ],
    ids=str,
)
def test_a_run_is_resumed_with_what_protected_it_unless_something_else_is_given(stopped_folder, opened, given, used):
    resume(stopped_folder, problems.good, **given)
    assert opened == used
    kept = RunFolder.open(stopped_folder).read().plan.execution
    assert kept == (Batches(used[0], *used[1]) if used else IN_PROCESS)


def test_the_command_line_uses_what_protected_a_run(stopped_folder, opened, capsys):
    assert run_main(capsys, "resume", stopped_folder, "--timeout", "inf", "--json")[0] == 0
    assert opened == [2, (1, None)]


def test_a_run_in_this_process_keeps_no_workers_and_refuses_what_needs_them(tmp_path):
    run(problems.good, out=tmp_path / "run", **SETTINGS)
    assert RunFolder.open(tmp_path / "run").read().plan.execution == IN_PROCESS
    with pytest.raises(ValueError, match="retries: only valid together with workers"):
        resume(tmp_path / "run", problems.good, evaluations=500, retries=1)
    with pytest.raises(ValueError, match="timeout: needs workers"):
        resume(tmp_path / "run", problems.good, evaluations=500, timeout=1)


def test_an_executor_is_replaced_by_processes(tmp_path):
    with ThreadPoolExecutor(64) as pool:
        run(problems.good, out=tmp_path / "run", workers=pool, timeout=20, **SETTINGS)
    kept = RunFolder.open(tmp_path / "run").read().plan.execution
    assert kept == Batches(min(64, available_threads()), retries=2, timeout=20.0)


# -- what else uses workers ------------------------------------------------------------------------------------------


def test_assessment_on_workers_is_the_same(tmp_path):
    archive = tl.illuminate(problems.in_scenarios, **SETTINGS)
    here = tl.assess(archive, problems.in_scenarios)
    there = tl.assess(archive, problems.in_scenarios, workers=2, out=tmp_path / "assessment.parquet")
    assert here.settings == there.settings == ("training", "upside down")
    for name in here.settings:
        assert here.fitness[name].tobytes() == there.fitness[name].tobytes()


def test_a_comparison_assesses_on_workers(tmp_path, capsys, opened):
    for name in ("a", "b"):
        run(problems.in_scenarios, out=tmp_path / name, **SETTINGS)
    words = [tmp_path / "a", "--against", tmp_path / "b", "-o", tmp_path / "c", "--json"]
    code, said = run_main(capsys, "compare", *words, "--workers", "2", "--timeout", "30", "--retries", "0")
    assert code == 0, said.err
    assert json.loads(said.out)["tests"]
    assert opened == [2, (0, 30.0)] * 2

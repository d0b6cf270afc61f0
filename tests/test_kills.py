"""A run that is killed at each of its file events in turn can be started or resumed, and ends with the same bytes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

# Each try is a fork of one warm process: it kills itself at the n-th file event in its folder. Records of the log are
# appended to an open file, which Python does not report as events, so every 20th counts as one, half written.
KILLING = """
import os, shutil, signal, sys, warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
import worker_problems
from hill_runs import make
from tesselite import Archive
from tesselite.archive import history
from tesselite.emitters.names import by_name
from tesselite.execution.log import EvaluationLog
from tesselite.runs.run import replay, resume, run

warnings.simplefilter("ignore")
home, (kind, *kept) = Path(sys.argv[1]), sys.argv[2].split(" with ")
history._PART_ROWS = 64
how = {"evaluations": 300, "initial": 100, "batch_size": 100, "seed": 5, "threads": 1}
how |= {"n_niches": 20} if kind == "cvt" else {"grid": [4, 4]}
problem = make()
on_workers = kind in ("workers", "asynchronous", "emitters")
if on_workers:
    problem, how["evaluations"] = worker_problems.faulty, 200
if kind == "asynchronous":  # which saves after every result here
    how |= {"asynchronous": True, "evaluations": 60, "initial": 30}
    history._PART_ROWS = 8
    if kept:  # and has twice as many events
        how |= {"evaluations": 30, "initial": 15}
if kept:
    how["history"] = True
if kind == "emitters":
    how |= {"emitter": by_name("bandit:cma_mae:emitters=2,batch=10+cma_me:emitters=2,batch=10"), "batch_size": 20}
events = ("open", "os.rename", "os.remove", "os.mkdir", "os.chmod", "os.truncate")

def workers(n):
    # A thread, which is there at once, or every tenth time a process: none of them touches the folder.
    on = 1 if n % 10 == 0 else lambda: ThreadPoolExecutor(1)
    return {"workers": on} if on_workers else {}

def start(folder, n):
    run(problem, out=folder, checkpoint_seconds=0.0, **workers(n), **how)

def killed_at(n, folder):
    seen, appended, append = [0], [0], EvaluationLog.append
    def happened():
        seen[0] += 1
        return seen[0] == n
    def kill():
        os.kill(os.getpid(), signal.SIGKILL)
    def count(event, args):
        if event in events and str(folder) in str(args[0]) and happened():
            kill()
    def half_written(log, *args):
        append(log, *args)
        appended[0] += 1
        if appended[0] % 20 == 0 and happened():
            os.truncate(log.file, log.file.stat().st_size - 7)
            kill()
    EvaluationLog.append = half_written
    sys.addaudithook(count)
    start(folder, n)

def logged(folder):
    read = EvaluationLog(folder, 2).read() if (folder / "settings.json").exists() else []
    return [(one.result.number, one.result.reason, str(one.result.fitness), str(one.result.features)) for one in read]

def parts(folder):
    return {file.name: file.read_bytes() for file in sorted((folder / "history").iterdir())}

def check(folder, known):
    if kept and kind == "asynchronous":
        assert history.load_history(folder)["evaluation"].to_pylist() == [one[0] for one in logged(folder)]
    elif kept:
        assert parts(folder) == right_parts
    if kind != "asynchronous":
        assert (folder / "archive.parquet").read_bytes() == right
        return
    log = logged(folder)  # what came depends on the order of results: nothing that was known is lost, and it replays
    assert log[: len(known)] == known
    assert sorted(one[0] for one in log) == list(range(how["evaluations"]))
    assert replay(folder, problem).archive.equals(Archive.load(folder / "archive.parquet"))

if __name__ == "__main__":
    start(home / "whole", 1)
    right = (home / "whole" / "archive.parquet").read_bytes()
    right_parts = parts(home / "whole") if kept else {}
    n = 0
    while True:
        n += 1
        folder = home / f"run{n}"
        child = os.fork()
        if not child:
            killed_at(n, folder)
            os._exit(0)
        if os.waitpid(child, 0)[1] == 0:
            break
        known = logged(folder)
        if (folder / "settings.json").exists():
            resume(folder, problem, threads=1, **workers(n))
        else:
            start(folder, n)
        try:
            check(folder, known)
            left = {file.name for file in folder.rglob("*") if file.name.startswith(".")}
            assert left <= {".lock"}, left
        except BaseException:
            print("killed at event", n, file=sys.stderr)
            raise
        shutil.rmtree(folder)
    print(n)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "least"),
    [
        ("grid", 30),
        ("cvt", 30),
        ("workers", 40),
        ("asynchronous", 40),
        ("grid with history", 50),
        ("workers with history", 50),
        ("asynchronous with history", 40),
        ("emitters", 40),
    ],
)
def test_a_kill_at_any_file_event_loses_nothing(tmp_path, kind, least):
    """Alone, on workers in batches (with emitters that learn, too) and without: there were at least this many
    events."""
    done = subprocess.run(
        [sys.executable, "-c", KILLING, str(tmp_path), kind],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parent,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > least

"""Real processes that are killed, stopped and resumed: the archive must come out byte for byte the same."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tesselite.archive.file import load_checkpoint
from tesselite.base.threads import available_threads

ARM = ("arm:6", "--niches", "300", "--evaluations", "2_000_000", "--batch-size", "64", "--checkpoint", "0.05")
PLAIN = ("plain_problem:hill", "--grid", "9x8", "--evaluations", "6000", "--batch-size", "60", "--checkpoint", "0.05")

PLAIN_PROBLEM = """
import tesselite as tl

@tl.problem(solutions=tl.Box(3, -1, 1), features={"a": (0, 1), "b": (-1, 2)})
def hill(x):
    if x[0] > 0.9:
        raise ZeroDivisionError
    return 1 / (1 + (x**2).sum()), (abs(x[0]) * 1.1, 2 * x[1] + x[2] / 7)
"""


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    folder = tmp_path_factory.mktemp("here")
    (folder / "plain_problem.py").write_text(PLAIN_PROBLEM)
    return folder


def tesselite(here: Path, *args: str, **options) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "tesselite", *args],
        cwd=here,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        **options,
    )


def finished(process: subprocess.Popen) -> str:
    try:
        out, err = process.communicate(timeout=1200)  # an empty cache on a busy machine compiles for minutes
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    assert process.returncode == 0, err
    return out


def archive(here: Path, name: str) -> bytes:
    return (here / name / "archive.parquet").read_bytes()


@pytest.fixture(scope="module")
def uninterrupted(here):
    """The archives of undisturbed runs."""

    def run(kind: tuple[str, ...]) -> bytes:
        if kind not in known:
            name = f"whole-{next(numbers)}"
            finished(tesselite(here, "run", *kind, "--seed", "7", "-o", name, "--quiet"))
            known[kind] = archive(here, name)
        return known[kind]

    known: dict[tuple[str, ...], bytes] = {}
    numbers = itertools.count()
    return run


def kill_and_resume(here: Path, kind: tuple[str, ...], name: str, waits: list[float], whole: bytes) -> int:
    """Kill a run after each of these times, resume, and compare the end; returns how many kills hit a living
    process."""
    hits = 0
    for wait in waits:
        # Killed before it wrote its settings, a run is simply started again.
        started = (here / name / "settings.json").exists()
        process = tesselite(here, *(("resume", name) if started else ("run", *kind, "--seed", "7", "-o", name)), "-q")
        time.sleep(wait)
        hits += process.poll() is None
        process.kill()
        process.communicate()
    started = (here / name / "settings.json").exists()
    again = ("resume", name, "--checkpoint", "0.05") if started else ("run", *kind, "--seed", "7", "-o", name)
    finished(tesselite(here, *again, "-q"))
    assert archive(here, name) == whole
    assert {f.name for f in (here / name).iterdir()} <= {
        ".lock", "settings.json", "events.jsonl", "progress.csv", "archive.parquet", "centroids.parquet"
    }  # fmt: skip
    return hits


def wait_for(file: Path, process: subprocess.Popen) -> None:
    while not file.exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.005)


@pytest.mark.parametrize("kind", [ARM, pytest.param(PLAIN, marks=pytest.mark.slow)], ids=["compiled", "plain"])
def test_a_killed_run_ends_with_the_same_bytes(here, uninterrupted, kind):
    whole = uninterrupted(kind)
    name = f"killed-{kind[0].partition(':')[0]}"
    process = tesselite(here, "run", *kind, "--seed", "7", "-o", name, "-q")
    wait_for(here / name / "archive.parquet", process)
    process.kill()
    process.communicate()
    _, state = load_checkpoint(here / name / "archive.parquet")
    assert state is not None
    assert state["evaluations"] < int(kind[4].replace("_", ""))
    kill_and_resume(here, kind, name, [], whole)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [ARM, PLAIN], ids=["compiled", "plain"])
def test_runs_killed_at_random_moments_end_with_the_same_bytes(here, uninterrupted, kind):
    whole = uninterrupted(kind)  # this one may have to compile
    began = time.perf_counter()
    finished(tesselite(here, "run", *kind, "--seed", "7", "-o", f"timed-{kind[0].partition(':')[0]}", "-q"))
    seconds = time.perf_counter() - began
    rng, hits, runs = np.random.default_rng(), 0, 0
    while hits < 20:
        # Several kills each, anywhere from the start of Python to after the end.
        waits = rng.uniform(0.0, seconds, rng.integers(1, 4)).tolist()
        hits += kill_and_resume(here, kind, f"random-{kind[0].partition(':')[0]}-{runs}", waits, whole)
        runs += 1


@pytest.mark.slow
@pytest.mark.parametrize("file", ["settings.json", "centroids.parquet", "progress.csv", "archive.parquet"])
def test_runs_killed_while_a_file_is_written_end_with_the_same_bytes(here, uninterrupted, file):
    whole = uninterrupted(ARM)
    for attempt in range(3):
        name = f"writing-{file}-{attempt}"
        process = tesselite(here, "run", *ARM, "--seed", "7", "-o", name, "-q")
        while not list((here / name).glob(f".{file}.*")) and process.poll() is None:
            pass  # the temporary file lives for a few milliseconds
        process.kill()
        process.communicate()
        kill_and_resume(here, ARM, name, [], whole)


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow)]
)
def test_a_stopped_run_says_how_to_resume_and_ends_with_the_same_bytes(here, uninterrupted, number, code):
    whole = uninterrupted(PLAIN)
    name = f"stopped-{code}"
    process = tesselite(here, "run", *PLAIN, "--seed", "7", "-o", name, "--json")
    wait_for(here / name / "archive.parquet", process)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == code, err
    assert out == ""
    assert f"stopped by {signal.Signals(number).name}; continue with: tesselite resume {name}\n" in err
    assert "Traceback" not in err
    _, state = load_checkpoint(here / name / "archive.parquet")
    assert state is not None
    assert state["evaluations"] in {*range(60, 1000, 60), *range(1000, 6000, 60)}  # whole batches
    about = json.loads(finished(tesselite(here, "resume", name, "--json")))
    assert about["evaluations"] == 6000
    assert archive(here, name) == whole


def test_a_second_interrupt_stops_in_the_middle_of_a_batch(here):
    (here / "sleeper.py").write_text(
        "import time, pathlib\n"
        + PLAIN_PROBLEM.replace("    if", "    pathlib.Path('sleeping').touch(); time.sleep(60)\n    if")
    )
    process = tesselite(here, "run", "sleeper:hill", "--grid", "5", "-o", "sleeper")
    wait_for(here / "sleeping", process)
    process.send_signal(signal.SIGINT)
    assert "press Ctrl-C again to stop immediately" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "stopped; continue with: tesselite resume sleeper" in err
    assert "Traceback" not in err


def test_one_and_two_threads_in_fresh_processes_give_the_same_bytes(here, uninterrupted):
    whole = uninterrupted(ARM)  # on as many threads as there are cores
    threads = "1" if available_threads() > 1 else "2"
    finished(tesselite(here, "run", *ARM, "--seed", "7", "-o", "threads", "--threads", threads, "-q"))
    assert archive(here, "threads") == whole

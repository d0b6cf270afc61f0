"""What a user sees during a run: one line at a time on a terminal, plain lines elsewhere."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import tesselite as tl
import worker_problems as problems
from tesselite.base.notices import notice, without_notices
from tesselite.cli import main, tessellating
from tesselite.execution.asynchronous import Asynchronous
from tesselite.execution.batches import Batches
from tesselite.report.live import Watched
from tesselite.report.page.run_data import read_run
from tesselite.runs.carry_on import Interrupted, RunDisplay
from tesselite.runs.display import _plain_lines, shown_run
from tesselite.runs.plan import Budget, Plan
from tesselite.runs.run import Options, continue_run, start_run
from tesselite.search import map_elites
from tesselite.tessellation.niches import Grid

HERE = Path(__file__).parent
SETTINGS = {"evaluations": 300, "initial": 100, "batch_size": 100, "seed": 3}
GRID = Grid((8, 8))


def plan_of(execution):
    return Plan.of(problems.good, GRID, Budget(300, 100, 100), execution=execution, seed=3)


def command(capsys, monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["tesselite", *map(str, words)])
    with pytest.raises(SystemExit):
        main()
    return capsys.readouterr()


# -- on a terminal -----------------------------------------------------------------------------------------------------


def test_a_terminal_shows_one_thing_at_a_time(tmp_path):
    """The construction of the niches first, then the search: the one never hides the other."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [
            *(
                sys.executable,
                "-m",
                "tesselite",
                "run",
                "worker_problems:good",
                "--niches",
                "30",
                "-o",
                tmp_path / "run",
            ),
            *("--evaluations", "1000", "--initial", "200", "--batch-size", "100", "--seed", str(os.getpid())),
        ],
        cwd=HERE,
        stdout=subprocess.PIPE,
        stderr=slave,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
            "TERM": "xterm-256color",
            "COLUMNS": "120",
        },
    )
    os.close(slave)
    shown = b""
    while True:
        try:
            part = os.read(master, 4096)
        except OSError:  # what Linux says when the other side is closed
            break
        if not part:
            break
        shown += part
    os.close(master)
    out = process.communicate()[0]
    assert process.returncode == 0
    assert b"30 of 30 niches" in out
    assert b"\x1b[" not in out
    before, _, after = shown.decode().partition("/1000")
    assert "preparing" in before
    assert "preparing" not in after
    assert "constructing" not in after
    assert "1000/1000" in shown.decode()
    assert "/s" in after
    assert "coverage 100.0%" in after
    assert "best" in after


# -- elsewhere ---------------------------------------------------------------------------------------------------------


def test_plain_lines_come_every_few_seconds(capsys, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr("tesselite.runs.display.time.perf_counter", lambda: clock[0])
    display, run = _plain_lines(50), SimpleNamespace(budget=200, evaluations=0)
    for seconds in range(12):
        clock[0] = seconds
        display.constructing(seconds, 0.5)
    for seconds in range(12, 24):
        clock[0] = seconds
        display.searching(run, 10 * (seconds - 12))
    assert capsys.readouterr().err.splitlines() == [
        "constructing the tessellation: iteration 5 of at most 50, error 0.5",
        "constructing the tessellation: iteration 10 of at most 50, error 0.5",
        "30 of 200 evaluations  10/s",
        "80 of 200 evaluations  10/s",
    ]


def test_quiet_shows_nothing(capsys):
    with shown_run(quiet=True) as display:
        assert display is None
        notice("compiling")
    notice("something else")
    with without_notices(quiet=False):
        notice("and more")
    assert capsys.readouterr().err == "something else\nand more\n"


def test_a_long_construction_is_forecast(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("tesselite.tessellation.cache.tessellation_cache", lambda: tmp_path)
    monkeypatch.setattr(tessellating, "_WORTH_A_FORECAST", 60)
    monkeypatch.setattr(tessellating, "_LONG_SECONDS", 0.0)
    words = ["cvt", "-d", "3", "--seed", "1", "-o", tmp_path / "c.parquet", "-n", "1000"]
    said = [command(capsys, monkeypatch, *words, *more).err for more in (["-k", "19"], ["-k", "20"], ["-k", "20"])]
    assert "up to" not in said[0]  # quicker than a forecast
    assert re.match(r"constructing 20 niches: up to about \d+ s\n", said[1])
    assert "up to" not in said[2]  # in the cache
    assert "up to" not in command(capsys, monkeypatch, *words, "-k", "21", "--quiet").err
    small = ["--niches", 30, "-p", 1, "--evaluations", 10, "-o", tmp_path / "run"]
    said = command(capsys, monkeypatch, "run", "worker_problems:good", *small).err
    assert "constructing 30 niches: up to about" in said


# -- on workers --------------------------------------------------------------------------------------------------------


class Seen(RunDisplay):
    """Notes what is shown; stops the run in the middle of its first batch."""

    def __init__(self, stop_at: int = -1) -> None:
        self.evaluations: list[int] = []
        self.stop_at = stop_at

    def searching(self, run, evaluations):
        if self.evaluations[-1:] != [evaluations]:
            self.evaluations.append(evaluations)
        assert run.evaluations <= evaluations <= run.budget == 300
        if evaluations == self.stop_at:
            signal.raise_signal(signal.SIGINT)


def test_results_are_shown_and_counted_before_their_batch_is_finished(tmp_path, capsys, monkeypatch):
    folder, seen = tmp_path / "run", Seen(stop_at=40)
    with pytest.raises(Interrupted):
        start_run(plan_of(Batches(1)), problems.good, folder, Options(display=seen))
    assert seen.evaluations[:41] == list(range(41))
    (folder / "archive.parquet").unlink()  # as while the first batch is under way
    finished = len(seen.evaluations) - 1
    assert finished < 100
    assert f"evaluations  {finished} of 300" in command(capsys, monkeypatch, "info", folder).out
    assert read_run(folder).evaluations == finished
    stamp = Watched(folder).stamp()
    with (folder / "evaluations.log").open("ab") as log:
        log.write(b"x")
    assert Watched(folder).stamp() != stamp  # the page receives new results
    again = Seen()
    continue_run(folder, problems.good, options=Options(display=again))
    assert sorted(again.evaluations) == again.evaluations
    assert set(range(finished, 301)) <= set(again.evaluations)
    assert read_run(folder).evaluations == 300
    assert read_run(folder).state == "finished"


def test_what_the_log_of_an_asynchronous_run_holds_is_counted(tmp_path):
    folder = tmp_path / "run"
    start_run(plan_of(Asynchronous(1)), problems.good, folder)
    assert read_run(folder).evaluations == 300
    (folder / "archive.parquet").unlink()
    assert read_run(folder).evaluations == 300
    assert read_run(folder).state == "stopped"  # resuming gives it its archive


# -- callbacks ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("out", [False, True])
def test_progress_is_called_at_evaluations_that_the_clock_does_not_change(tmp_path, monkeypatch, out):
    """`arm` is compiled: how far its loop runs at a time depends on how fast it is."""
    calls: dict[float, list[int]] = {0.0: [], 100.0: []}
    for seconds, seen in calls.items():
        monkeypatch.setattr(map_elites, "_STRETCH_SECONDS", seconds)
        tl.illuminate(
            tl.problems.arm(3),
            grid=8,
            evaluations=50_000,
            initial=300,
            batch_size=128,
            seed=1,
            progress=lambda run, seen=seen: seen.append(run.evaluations),
            out=tmp_path / f"{seconds}" if out else None,
        )
    assert calls[0.0] == calls[100.0]
    milestones = np.arange(250, 50_001, 250)  # a 200th of the budget
    ends = np.array([*range(128, 300, 128), *range(300, 50_000, 128), 50_000])  # of batches
    assert calls[0.0] == sorted({int(ends[ends >= milestone][0]) for milestone in milestones})


def test_progress_of_a_python_function_is_called_after_every_batch():
    seen: list[int] = []
    tl.illuminate(problems.good, grid=8, progress=lambda run: seen.append(run.evaluations), **SETTINGS)
    assert seen == [100, 200, 300]
